//! The story, played and checked without anybody watching.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use gateway_tests::client::Answer;
use gateway_tests::curtain::Curtain;
use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Way};
use gateway_tests::{clock, wait};

/// One probe interval and its time limit, with room for a busy machine; far below the floor.
const AT_ONCE: Duration = Duration::from_secs(3);

type Checked = Result<(), String>;

/// Plays every chapter, stops at the first that fails.
pub(crate) fn play() -> Checked {
    let (cluster, door, _leash) = crate::stage();
    let begun = clock::now();
    let told = |claim: &str, chapter: Checked| {
        let seconds = begun.elapsed().as_secs_f32();
        match chapter {
            Ok(()) => {
                println!("ok      {seconds:5.1} s  {claim}");
                Ok(())
            }
            Err(why) => Err(format!("{claim}: {why}")),
        }
    };
    told(
        "what is written through the door is read through the door",
        write_and_read(&cluster, &door),
    )?;
    told(
        "a node that says it does not serve leaves at once",
        not_serving(&cluster, &door),
    )?;
    told("a write is never seen twice", never_twice(&cluster, &door))?;
    told(
        "a node stops and not one request fails",
        survive(&cluster, &door),
    )?;
    told(
        "with every node down the door says so",
        all_down(&cluster, &door),
    )?;
    told(
        "nodes that are back up are back in",
        all_back(&cluster, &door),
    )?;
    told("asked to stop, the door ends by itself", ending(&door))
}

fn write_and_read(cluster: &Cluster, door: &Door) -> Checked {
    expect(&door.post("/table/t/import", "1\n2\n3\n"), 200)?;
    for _ in 0..6 {
        let read = door.get("/table/t/records?after=1");
        expect(&read, 200)?;
        ensure(
            read.json()["records"] == serde_json::json!(["2", "3"]),
            || read.text(),
        )?;
    }
    let idle = cluster.nodes().iter().find(|node| node.seen().is_empty());
    ensure(idle.is_none(), || "one node was never asked".to_owned())
}

fn not_serving(cluster: &Cluster, door: &Door) -> Checked {
    let node = &cluster["c"];
    node.says_serving(false);
    becomes(door, "c", "out", AT_ONCE)?;
    node.forgets();
    for _ in 0..9 {
        expect(&door.get("/schema"), 200)?;
    }
    ensure(node.seen().is_empty(), || "it was still asked".to_owned())?;
    node.says_serving(true);
    becomes(door, "c", "in", AT_ONCE)
}

fn never_twice(cluster: &Cluster, door: &Door) -> Checked {
    for node in cluster.nodes() {
        node.always(Way::Resets);
    }
    let write = "a write whose answer is lost";
    let answer = door.post("/sql", write);
    expect(&answer, 502)?;
    ensure(answer.field("x-gateway-outcome") == Some("unknown"), || {
        format!("{:?}", answer.head)
    })?;
    for node in cluster.nodes() {
        node.always(Way::Plainly);
    }
    let seen = cluster.times_seen(write);
    ensure(seen == 1, || format!("seen {seen} times"))?;
    expect(&door.post("/sql", "the next write"), 200)
}

fn survive(cluster: &Cluster, door: &Door) -> Checked {
    let (curtain, answered) = (Curtain::default(), AtomicUsize::new(0));
    let reads = || -> Checked {
        while !curtain.is_down() {
            expect(&door.get("/table/t/records"), 200)?;
            answered.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let play = curtain.rises();
        let readers: Vec<_> = (0..4).map(|_| scope.spawn(reads)).collect();
        let more = |count: usize| {
            let goal = answered.load(Ordering::SeqCst) + count;
            wait::maybe(wait::SOON, || {
                (answered.load(Ordering::SeqCst) >= goal).then_some(())
            });
        };
        more(50);
        cluster["b"].dies();
        more(50);
        let left = becomes(door, "b", "out", wait::EVENTUALLY);
        more(50);
        drop(play);
        for reader in readers {
            reader.join().map_err(|_| "a reader gave up".to_owned())??;
        }
        left
    })?;
    expect(&door.post("/table/t/import", "4\n"), 200)
}

fn all_down(cluster: &Cluster, door: &Door) -> Checked {
    for node in cluster.nodes() {
        node.dies();
    }
    for node in crate::NAMES {
        becomes(door, node, "out", wait::EVENTUALLY)?;
    }
    let answer = door.get("/schema");
    expect(&answer, 503)?;
    ensure(answer.code() == "no_healthy_upstream", || answer.text())?;
    ensure(answer.field("retry-after") == Some("1"), || {
        format!("{:?}", answer.head)
    })?;
    expect(&door.get("/ready"), 503)
}

fn all_back(cluster: &Cluster, door: &Door) -> Checked {
    for node in cluster.nodes() {
        node.comes_back();
    }
    for node in crate::NAMES {
        becomes(door, node, "in", wait::EVENTUALLY)?;
    }
    let read = door.ask(&Request::get("/table/t/records?limit=1"));
    expect(&read, 200)?;
    ensure(read.json()["records"] == serde_json::json!(["1"]), || {
        read.text()
    })
}

fn ending(door: &Door) -> Checked {
    door.stops();
    let status = door.ends_within(wait::EVENTUALLY);
    ensure(status.success(), || status.to_string())
}

fn becomes(door: &Door, node: &str, state: &str, within: Duration) -> Checked {
    let seen = wait::maybe(within, || (door.node(node)["state"] == state).then_some(()));
    seen.ok_or_else(|| format!("after {within:?}: {}", door.get("/ready").text()))
}

fn expect(answer: &Answer, status: u16) -> Checked {
    ensure(answer.status == status && answer.is_whole, || {
        format!("wanted {status}, got {} {}", answer.status, answer.text())
    })
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(otherwise()) }
}
