use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use super::*;

#[test]
fn a_socket_is_a_path_or_an_abstract_name() {
    let path = address(OsStr::new("/run/notify")).unwrap();
    assert_eq!(path.as_pathname().unwrap(), "/run/notify");
    let name = address(OsStr::new("@notify")).unwrap();
    assert_eq!(name.as_abstract_name().unwrap(), b"notify");
    for other in ["notify", "vsock:2:1234"] {
        let refused = address(OsStr::new(other)).unwrap_err().to_string();
        assert!(refused.contains(other), "{refused}");
    }
}

#[test]
fn a_status_is_one_line_that_fits() {
    assert_eq!(status_line("a\nMAINPID=1\r\0"), "STATUS=a MAINPID=1  \n");
    assert!(status_line(&"\u{1F600}".repeat(9000)).len() < 4096);
}

/// Takes what it was started with, and says where that listens.
#[test]
#[ignore = "the process that the next tests start"]
fn says_what_it_inherited() {
    for listener in inherited() {
        println!("socket={}", listener.local_addr().unwrap());
    }
    assert_eq!(inherited().len(), 0);
}

/// What a process says it inherited: a socket as descriptor 3 and the first of so many.
fn inherits(socket: OwnedFd, count: &str, pid: &str) -> Vec<String> {
    let start = format!("LISTEN_FDS={count} LISTEN_PID={pid} exec \"$0\" \"$@\" 3<&0 </dev/null");
    let ended = Command::new("sh")
        .args(["-c", &start])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "systemd::tests::says_what_it_inherited"])
        .args(["--ignored", "--nocapture"])
        .stdin(Stdio::from(socket))
        .output()
        .unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    assert!(said.contains("1 passed"), "{said}");
    let said = said.lines().filter_map(|line| line.split("socket=").nth(1));
    said.map(str::to_owned).collect()
}

#[test]
fn sockets_that_were_handed_over_are_taken_once() {
    for host in ["127.0.0.1:0", "[::1]:0"] {
        let socket = TcpListener::bind(host).unwrap();
        let addr = socket.local_addr().unwrap().to_string();
        assert_eq!(inherits(socket.into(), "1", "$$"), [addr]);
    }
}

#[test]
fn sockets_of_another_process_are_left_alone() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(inherits(socket.into(), "1", "1").is_empty());
}

#[test]
fn descriptors_that_nobody_can_listen_on_are_passed_over() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let connected = TcpStream::connect(addr).unwrap();
    assert!(inherits(connected.into(), "1", "$$").is_empty());
    let datagrams = UnixDatagram::unbound().unwrap();
    assert!(inherits(datagrams.into(), "1", "$$").is_empty());
    // The second of them is not open at all.
    assert_eq!(inherits(listener.into(), "2", "$$"), [addr.to_string()]);
}
