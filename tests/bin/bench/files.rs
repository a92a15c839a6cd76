//! Processor time per file of 64 KiB, beside nginx without `sendfile`: medians of ratios, in turns. The
//! servers share one processor, and the client has another to itself.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use gateway_tests::gateway::Plan;
use gateway_tests::ports::Reserved;
use gateway_tests::scratch::Scratch;
use gateway_tests::wait;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::load;

const BODY: usize = 64 * 1024;
const REQUESTS: u32 = 80_000;
const TURNS: usize = 7;

/// Prints each turn and the median.
pub(crate) fn measure() {
    let scratch = Scratch::new();
    let root = scratch.path().join("files");
    fs::create_dir(&root).expect("our own directory");
    fs::write(root.join("file.bin"), vec![b'x'; BODY]).expect("our own file");
    if !has_two_processors() {
        println!("NOT MEASURED: files need two processors");
        return;
    }
    stays_on(0);
    let Some(nginx) = Nginx::starts(&scratch, &root) else {
        println!("NOT MEASURED: files need nginx");
        return;
    };
    let text = format!(
        "workers = 1\n[logs]\naccess = \"off\"\n[listeners.door]\nbind = \"127.0.0.1:0\"\n\
         [sites.all]\nlistener = \"door\"\n[sites.all.routes.files]\npath = \"/\"\nfiles = {{ root = {root:?} }}\n"
    );
    let door = Plan::configured(&text).opens();
    stays_on(1);
    let ours = u32::try_from(door.pid().as_raw()).expect("a process");
    let mut ratios = Vec::new();
    for turn in 0..TURNS {
        let both = || (ticks(ours, door.addr()), ticks(nginx.worker, nginx.addr));
        let (ours, theirs) = match turn % 2 {
            0 => both(),
            _ => {
                let theirs = ticks(nginx.worker, nginx.addr);
                (ticks(ours, door.addr()), theirs)
            }
        };
        let ratio = f64::from(ours) / f64::from(theirs);
        println!("turn {turn}: ours {ours} ticks, nginx {theirs}, ratio {ratio:.2}");
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios.get(TURNS / 2).copied().unwrap_or(f64::NAN);
    println!("files of 64 KiB: {median:.2} of nginx, at most 1.10");
}

/// Whether the servers and their client can have one each.
pub(crate) fn has_two_processors() -> bool {
    thread::available_parallelism().is_ok_and(|processors| processors.get() >= 2)
}

/// Where this thread runs from now on, and what it starts.
pub(crate) fn stays_on(processor: usize) {
    let mut set = CpuSet::new();
    set.set(processor).expect("a number of a processor");
    sched_setaffinity(Pid::from_raw(0), &set).expect("a processor that is there");
}

/// Processor time, in ticks of the kernel, that a process takes for the load.
fn ticks(process: u32, addr: SocketAddr) -> u32 {
    let request = "GET /file.bin HTTP/1.1\r\nHost: door.test\r\n\r\n";
    let before = spent(process);
    load::run(addr, request, BODY, REQUESTS);
    spent(process) - before
}

/// utime and stime, proc_pid_stat(5).
pub(crate) fn spent(process: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("a process that runs");
    let (_, fields) = stat.rsplit_once(") ").expect("a name in parentheses");
    let numbers = fields.split(' ').skip(11).take(2);
    numbers
        .map(|one| one.parse::<u32>().expect("a number"))
        .sum()
}

struct Nginx {
    master: Child,
    worker: u32,
    addr: SocketAddr,
}

impl Nginx {
    fn starts(scratch: &Scratch, root: &Path) -> Option<Self> {
        let reserved = Reserved::take();
        let addr = reserved.addr();
        let text = format!(
            "worker_processes 1; daemon off; pid {dir}/pid; error_log {dir}/errors;\n\
             events {{ worker_connections 512; }}\n\
             http {{ access_log off; sendfile off; keepalive_requests 1000000;\n\
             server {{ listen {addr} reuseport; root {root}; }} }}\n",
            dir = scratch.path().display(),
            root = root.display()
        );
        let conf = scratch.file("nginx.conf", &text);
        let mut command = Command::new("nginx");
        command.arg("-c").arg(conf).stderr(Stdio::null());
        let master = command.spawn().ok()?;
        let children = format!("/proc/{0}/task/{0}/children", master.id());
        let worker = wait::value("nginx's worker", wait::SOON, || {
            fs::read_to_string(&children)
                .ok()?
                .split(' ')
                .next()?
                .parse()
                .ok()
        });
        Some(Nginx {
            master,
            worker,
            addr,
        })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let quit = Command::new("kill")
            .arg(self.master.id().to_string())
            .status();
        let _ = quit.and_then(|_| self.master.wait());
    }
}
