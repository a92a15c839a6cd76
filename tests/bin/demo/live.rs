//! The demonstration with somebody watching.

use std::collections::BTreeMap;
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::gateway::Door;
use gateway_tests::message::Request;
use gateway_tests::node::Cluster;
use gateway_tests::wait;
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};

const LOOK_AGAIN: Duration = Duration::from_millis(500);
const LAST_WORDS: Duration = Duration::from_secs(35);

/// Runs until Ctrl-C.
pub(crate) fn run() -> Result<(), String> {
    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&is_over)).map_err(|e| e.to_string())?;
    }
    let (cluster, door, _leash) = crate::stage();
    introduce(&cluster, &door);
    let wishes = typed();
    let mut stopped = BTreeMap::new();
    let mut shown = Table::default();
    while !is_over.load(Ordering::SeqCst) && door.is_running() {
        while let Ok(name) = wishes.try_recv() {
            shown.lines += 1;
            toggle(&cluster, &mut stopped, &name);
        }
        if let Some(fresh) = nodes(&door).filter(|fresh| fresh.is_news_after(&shown)) {
            draw(&shown, &fresh);
            shown = fresh;
        }
        wait::maybe(LOOK_AGAIN, || is_over.load(Ordering::SeqCst).then_some(()));
    }
    if !is_over.load(Ordering::SeqCst) {
        return Err(format!(
            "the gateway ended by itself: {}",
            door.log().all().join("\n")
        ));
    }
    println!("\nstopping");
    door.stops();
    door.ends_within(LAST_WORDS);
    Ok(())
}

fn introduce(cluster: &Cluster, door: &Door) {
    let addr = door.addr();
    println!("front door  http://{addr}");
    for node in cluster.nodes() {
        println!("node {}      http://{}", node.name(), node.addr());
    }
    println!("\ntry, in another terminal:");
    println!("  curl --data-binary $'41\\n42' http://{addr}/table/t/import");
    println!("  curl http://{addr}/table/t/records");
    println!("  curl http://{addr}/ready");
    println!("\ntype a, b or c and Enter to stop or start that node; Ctrl-C ends everything\n");
}

/// The words typed, from a thread of their own.
fn typed() -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line.trim().to_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}

fn toggle(cluster: &Cluster, stopped: &mut BTreeMap<String, bool>, name: &str) {
    let Some(node) = cluster.nodes().iter().find(|node| node.name() == name) else {
        return;
    };
    let is_stopped = stopped.entry(name.to_owned()).or_default();
    match *is_stopped {
        true => node.comes_back(),
        false => node.dies(),
    }
    *is_stopped = !*is_stopped;
}

/// The nodes as they were drawn.
#[derive(Debug, Default)]
struct Table {
    text: String,
    /// Who is in and who is out, without what merely counts.
    states: String,
    /// Lines on the screen since its first one, those typed below it included.
    lines: usize,
}

impl Table {
    /// A terminal shows every change; elsewhere each table is printed below the last one.
    fn is_news_after(&self, shown: &Self) -> bool {
        match io::stdout().is_terminal() {
            true => self.text != shown.text,
            false => self.states != shown.states,
        }
    }
}

/// The table, or nothing when the door does not answer (it may be stopping).
fn nodes(door: &Door) -> Option<Table> {
    let asked = thread::scope(|scope| {
        let ask = || {
            Conversation::open(door.addr())
                .sends(&Request::get("/ready"))
                .listens()
        };
        scope.spawn(ask).join()
    });
    let Ok(Ok(Some(answer))) = asked else {
        return None;
    };
    let ready = answer.json();
    let columns = [
        "name",
        "addr",
        "state",
        "serving",
        "consecutive_failures",
        "why",
    ];
    let mut rows = vec![["node", "addr", "state", "serving", "failures", "why"].map(str::to_owned)];
    let mut states = String::new();
    for node in ready["upstreams"].as_array().into_iter().flatten() {
        states += &word(node, "state");
        rows.push(columns.map(|column| word(node, column)));
    }
    let mut text = format!(
        "in rotation {} of {}\n",
        ready["in_rotation"], ready["total"]
    );
    for [name, addr, state, serving, failures, why] in rows {
        text += &format!("{name:<6}{addr:<23}{state:<7}{serving:<9}{failures:<10}{why}\n");
    }
    Some(Table {
        lines: text.lines().count(),
        text,
        states,
    })
}

fn word(node: &Value, key: &str) -> String {
    match node.get(key) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Draws over the last table on a terminal, below it elsewhere.
fn draw(shown: &Table, fresh: &Table) {
    if shown.lines > 0 && io::stdout().is_terminal() {
        print!("\x1b[{}A\x1b[J", shown.lines);
    }
    print!("{}", fresh.text);
    let _ = io::stdout().flush();
}
