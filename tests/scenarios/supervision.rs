//! What a service manager is told, and that nobody waits for it.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::clock;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::message::Request;
use gateway_tests::supervisor::Supervisor;
use gateway_tests::wait;
use nix::sys::signal::Signal;
use nix::time::{ClockId, clock_gettime};

const MINIMAL: &str = r#"
workers = 1

[listeners.door]
bind = "127.0.0.1:0"

[sites.all]
listener = "door"
pool = "nobody"
endpoints = "nobody"

[pools.nobody]
nodes = ["127.0.0.1:1"]
probe = { every = "10s" }
"#;

fn watched(supervisor: &Supervisor) -> Plan {
    Plan::configured(MINIMAL).told("NOTIFY_SOCKET", supervisor.name())
}

fn monotonic() -> u128 {
    Duration::from(clock_gettime(ClockId::CLOCK_MONOTONIC).unwrap()).as_micros()
}

/// A reload, from its first word to its last.
fn reloads(door: &Door, supervisor: &Supervisor, outcome: &str) {
    let before = monotonic();
    door.signal(Signal::SIGHUP);

    let begun = supervisor.hears();
    assert_eq!(
        (&*begun[0], &*begun[2]),
        ("RELOADING=1", "STATUS=reloading")
    );
    let at = begun[1].strip_prefix("MONOTONIC_USEC=").unwrap();
    let at: u128 = at.parse().unwrap();
    assert!(before <= at && at <= monotonic(), "{before} {at}");

    let ended = supervisor.hears();
    assert_eq!(ended[0], "READY=1");
    let said = format!("STATUS={outcome}; serving snapshot ");
    assert!(ended[1].starts_with(&said), "{}", ended[1]);
}

#[test]
fn it_hears_of_start_reloads_and_the_end() {
    for supervisor in [Supervisor::at_a_path(), Supervisor::without_a_path()] {
        let door = watched(&supervisor).opens();

        let started = supervisor.hears();
        assert_eq!(started[0], "READY=1");
        assert!(started[1].starts_with("STATUS=started; serving snapshot "));
        door.get("/health").is(200);
        reloads(&door, &supervisor, "reload unchanged");
        door.stops();

        assert_eq!(supervisor.hears(), ["STOPPING=1", "STATUS=draining"]);
        assert!(door.ends_within(wait::SOON).success());
        assert!(supervisor.heard_all());
    }
}

#[test]
fn a_reload_that_is_refused_ends_as_well() {
    let supervisor = Supervisor::at_a_path();
    let door = watched(&supervisor).opens();
    assert_eq!(supervisor.hears()[0], "READY=1");

    let file = door.scratch().path().join("gateway.toml");
    fs::write(&file, "nonsense").unwrap();
    reloads(&door, &supervisor, "reload refused");
    fs::write(&file, MINIMAL.replace(":1\"", ":2\"")).unwrap();
    reloads(&door, &supervisor, "reload applied");
}

#[test]
fn hangups_during_a_reload_are_told_as_one_after_it() {
    let supervisor = Supervisor::at_a_path();
    let door = watched(&supervisor).opens();
    assert_eq!(supervisor.hears()[0], "READY=1");
    // A pool that has nobody in rotation waits for its first node.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let slow = MINIMAL.replace("127.0.0.1:1\"", &format!("{at}\""));
    let slow = slow.replace("every = \"10s\"", "every = \"10s\", timeout = \"8s\"");
    let file = door.scratch().path().join("gateway.toml");
    fs::write(&file, slow).unwrap();
    door.signal(Signal::SIGHUP);
    assert_eq!(supervisor.hears()[0], "RELOADING=1");
    let (probe, _) = silent.accept().unwrap();

    fs::write(&file, MINIMAL.replace(":1\"", ":2\"")).unwrap();
    for _ in 0..3 {
        door.signal(Signal::SIGHUP);
    }
    wait::stays("none is told of", Duration::from_millis(200), || {
        supervisor.heard_all()
    });
    drop(probe);

    let first = supervisor.hears();
    assert_eq!(first[0], "READY=1");
    assert!(first[1].contains("reload applied"), "{first:?}");
    let begun = supervisor.hears();
    assert_eq!(begun[0], "RELOADING=1", "{begun:?}");
    let ended = supervisor.hears();
    assert_eq!(ended[0], "READY=1");
    assert!(ended[1].contains("reload applied"), "{ended:?}");
    wait::stays("no more", Duration::from_millis(200), || {
        supervisor.heard_all()
    });
    let ready = door.get("/ready").json();
    assert_eq!(ready["upstreams"][0]["addr"], "127.0.0.1:2");
}

#[test]
fn a_watchdog_hears_twice_as_often_as_it_asks_to() {
    let supervisor = Supervisor::at_a_path();
    let _door = watched(&supervisor)
        .told("WATCHDOG_USEC", "400000".as_ref())
        .opens();
    let mut said = [supervisor.hears(), supervisor.hears()];
    said.sort();
    assert_eq!((&*said[0][0], &*said[1][0]), ("READY=1", "WATCHDOG=1"));

    let begun = clock::now();
    for _ in 0..4 {
        assert_eq!(supervisor.hears(), ["WATCHDOG=1"]);
    }

    // Four times 200 ms, the first of them perhaps under way.
    let passed = begun.elapsed();
    assert!(passed >= Duration::from_millis(550), "{passed:?}");
    assert!(passed <= Duration::from_millis(1400), "{passed:?}");
}

#[test]
fn a_watchdog_of_another_process_hears_nothing() {
    let supervisor = Supervisor::at_a_path();
    let _door = watched(&supervisor)
        .told("WATCHDOG_USEC", "2000".as_ref())
        .told("WATCHDOG_PID", "1".as_ref())
        .opens();
    assert_eq!(supervisor.hears()[0], "READY=1");
    wait::stays("silence", Duration::from_millis(100), || {
        supervisor.heard_all()
    });
}

#[test]
fn nobody_waits_for_one_that_does_not_listen() {
    let supervisor = Supervisor::at_a_path();
    let door = watched(&supervisor)
        .told("WATCHDOG_USEC", "1000".as_ref())
        .opens();
    // Until its queue and ours are full.
    wait::stays("it runs", Duration::from_millis(500), || door.is_running());
    let reloads = || {
        let said = "reload: unchanged but for the files it names";
        door.log().saying(said).len()
    };
    for turn in 1..=3 {
        door.signal(Signal::SIGHUP);
        wait::until("the reload", wait::SOON, || reloads() == turn);
    }
    door.get("/health").is(200);
    door.stops();
    assert!(door.ends_within(Duration::from_secs(2)).success());
}

#[test]
fn one_that_is_not_there_is_named_and_not_missed() {
    for (name, said) in [
        ("/nowhere/notify", "systemd does not hear"),
        ("notify", "systemd is not told anything"),
    ] {
        let door = Plan::configured(MINIMAL)
            .told("NOTIFY_SOCKET", name.as_ref())
            .opens();
        let _ = door.log().waits_for(said, |_| true);
        door.get("/health").is(200);
        door.stops();
        assert!(door.ends_within(wait::SOON).success());
    }
}

#[test]
fn a_socket_that_was_bound_for_it_is_used_with_whoever_waits_there_already() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = socket.local_addr().unwrap();
    let mut early = Conversation::open(addr);
    early.sends(&Request::get("/health"));
    let text = MINIMAL
        .replace("127.0.0.1:0", &addr.to_string())
        .replace("workers = 1", "workers = 2");

    let door = Plan::configured(&text).inherits(socket).opens();

    assert_eq!(door.addr(), addr);
    early.hears().is(200);
    for _ in 0..8 {
        door.get("/health").is(200);
    }
}

#[test]
fn a_socket_that_was_lent_outlives_the_process_and_serves_the_next_one() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = socket.local_addr().unwrap();
    let text = MINIMAL.replace("127.0.0.1:0", &addr.to_string());
    let lends = || Plan::configured(&text).inherits(socket.try_clone().unwrap());
    let first = lends().opens();
    first.get("/health").is(200);
    first.stops();
    assert!(first.ends_within(wait::SOON).success());

    let mut between = Conversation::open(addr);
    let second = lends().opens();

    between.asks(&Request::get("/health")).is(200);
    second.get("/health").is(200);
}

#[test]
fn a_listener_on_a_socket_that_was_lent_goes_and_comes_back() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = socket.local_addr().unwrap();
    let side = format!(
        "[listeners.side]\nbind = \"{addr}\"\n\
         [sites.side]\nlistener = \"side\"\npool = \"nobody\"\nendpoints = \"nobody\"\n"
    );
    let with = format!("{MINIMAL}{side}");
    let door = Plan::configured(&with).inherits(socket).opens();
    Conversation::open(addr)
        .asks(&Request::get("/health"))
        .is(200);
    let file = door.scratch().path().join("gateway.toml");
    let turns_to = |text: &str, turn: usize| {
        fs::write(&file, text).unwrap();
        door.signal(Signal::SIGHUP);
        wait::until("the reload", wait::SOON, || {
            assert_eq!(door.log().saying("reload: refused").len(), 0);
            door.log().saying("reload: applied").len() == turn
        });
    };

    turns_to(MINIMAL, 1);
    let mut between = Conversation::open(addr);
    turns_to(&with, 2);

    between.asks(&Request::get("/health")).is(200);
    Conversation::open(addr)
        .asks(&Request::get("/health"))
        .is(200);
}

#[test]
fn a_socket_on_an_address_that_nobody_asks_for_is_named() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = socket.local_addr().unwrap().to_string();

    let door = Plan::configured(MINIMAL).inherits(socket).opens();

    let message = "an inherited socket is on no listener's address";
    let said = door.log().waits_for(message, |_| true);
    assert_eq!(said.text("addr"), addr);
}
