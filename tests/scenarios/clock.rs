//! The wall clock jumps, as it does when a machine wakes up or is told the time: nothing that is waited
//! for follows it.
//!
//! `cargo xtask test` finds a library that shows a process another time, and says so where there is none.

use std::ffi::OsStr;
use std::fs;

use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;

#[test]
#[ignore = "wants libfaketime: run by `cargo xtask test`"]
#[expect(
    clippy::disallowed_methods,
    reason = "where the library is, is told by whoever has built it"
)]
fn a_wall_clock_that_jumps_costs_nothing() {
    let library = std::env::var_os("GATEWAY_FAKETIME").expect("where libfaketime is");
    let cluster = Cluster::of(&["a", "b"]);
    let plan = Door::before(&cluster);
    let time = plan.path("time");
    fs::write(&time, "+0").unwrap();
    let door = plan
        .told("LD_PRELOAD", &library)
        .told("FAKETIME_TIMESTAMP_FILE", time.as_os_str())
        .told("FAKETIME_NO_CACHE", OsStr::new("1"))
        .told("FAKETIME_DONT_FAKE_MONOTONIC", OsStr::new("1"))
        .opens();
    let mut resting = door.connect();
    let day = |answer: &str| httpdate::parse_http_date(answer).unwrap();
    let before = day(door.get("/schema").is(200).field("date").unwrap());

    for jump in ["+400d", "-400d", "+1d", "-1h", "+0"] {
        fs::write(&time, jump).unwrap();
        let probes = |name: &str| cluster[name].probes().len();
        let (a, b) = (probes("a"), probes("b"));

        resting.asks(&Request::get("/schema")).is(200);
        let answer = door.get("/schema");
        let now = day(answer.is(200).field("date").unwrap());
        let gap = now
            .duration_since(before)
            .unwrap_or_else(|gap| gap.duration());
        assert_eq!(
            gap.as_secs() > 1_800,
            jump != "+0",
            "{jump}: not another time"
        );
        wait::until("probes go on", wait::SOON, || {
            probes("a") > a + 1 && probes("b") > b + 1
        });
        assert!(door.is_in("a") && door.is_in("b"), "{jump}");
        door.post("/sql", "x").is(200);
    }
    assert_eq!(door.log().saying("rotation").len(), 2, "nobody left");
}
