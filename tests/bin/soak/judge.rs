//! Decides whether a request that was not served needed to fail.

use std::io;
use std::time::{Duration, Instant};

use crate::troubles::Trouble;
use crate::weather::{Cause, Change, Door, Weather};

/// What may have to do with a failure, for whoever reads of it.
const LATELY: Duration = Duration::from_millis(500);

/// One request, or one frame, of a client, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    /// Which client.
    pub(crate) client: &'static str,
    /// Through which listener.
    pub(crate) door: Door,
    /// When its first byte was sent, or its connection asked for.
    pub(crate) begun: Instant,
    /// When its connection was last heard of before that.
    pub(crate) last_heard: Instant,
    /// Whether it may be put to another node after it has been put to one.
    pub(crate) is_repeatable: bool,
    /// Whether the listener was leaving already when the connection was made.
    pub(crate) is_late: bool,
    /// What the client saw.
    pub(crate) saw: Saw,
}

/// What a client may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Saw {
    /// What it asked for, every byte of it.
    Served,
    /// Another status, with the sentence of the failure.
    Status(u16, String),
    /// An answer that began and did not come to its end.
    Cut(u16),
    /// The end of the connection, or something that is no answer, in place of one.
    Closed(String),
    /// No connection at all.
    NotTaken(String),
    /// An answer with other bytes than asked for.
    Differs(String),
    /// Nothing, for longer than anything may take, and no end either.
    Silence,
}

impl Saw {
    /// What it is when nothing could be read.
    pub(crate) fn failing(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Saw::Silence,
            _ => Saw::Closed(error.to_string()),
        }
    }
}

/// What is made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was served.
    Served,
    /// What we did leaves no other way: this.
    HadToFail(String),
    /// Nothing that we did explains it; what was under way meanwhile and just before.
    NeedNotHaveFailed(Vec<String>),
}

/// The verdict at the time `now`.
pub(crate) fn judge(weather: &Weather, exchange: &Exchange, now: Instant) -> Verdict {
    if exchange.saw == Saw::Served {
        return Verdict::Served;
    }
    let meanwhile = weather.between(exchange.begun, now);
    match explained(weather, exchange, &meanwhile, now) {
        Some(why) => Verdict::HadToFail(why),
        None => {
            let lately = exchange.begun.checked_sub(LATELY).unwrap_or(exchange.begun);
            let lately = weather.between(lately, now);
            Verdict::NeedNotHaveFailed(lately.into_iter().map(|one| one.what).collect())
        }
    }
}

fn explained(
    weather: &Weather,
    one: &Exchange,
    meanwhile: &[Change],
    now: Instant,
) -> Option<String> {
    // Who begins after the process was told to end may find it gone.
    let after_end = || weather.stopped().is_some_and(|end| one.begun >= end);
    let cut = || weather.may_be_cut(one.door, one.last_heard, now);
    let because = |holds: bool, why: &str| holds.then(|| why.to_owned());
    let ended = || because(after_end(), "begun after SIGTERM");
    let moved = || because(one.is_late, "connected to a listener that had moved");
    let drained = || because(cut(), "cut at the drain deadline");
    match &one.saw {
        Saw::Served | Saw::Differs(_) | Saw::Silence => None,
        Saw::NotTaken(_) => ended().or_else(moved),
        Saw::Closed(_) => ended().or_else(moved).or_else(drained),
        Saw::Cut(_) => node(meanwhile, |_, trouble| trouble.explains_cut()).or_else(drained),
        Saw::Status(503, sentence) => ended().filter(|_| sentence.contains("shutting down")),
        Saw::Status(status, sentence) => node(meanwhile, |node, trouble| {
            trouble.explains(*status, one.is_repeatable)
                && sentence.contains(&format!("node {node} at "))
        }),
    }
}

/// The trouble of a node that explains it.
fn node(meanwhile: &[Change], explains: impl Fn(&str, Trouble) -> bool) -> Option<String> {
    meanwhile.iter().find_map(|one| match one.cause {
        Cause::Node(node, trouble) => explains(node, trouble).then(|| format!("{trouble:?}")),
        Cause::Nothing | Cause::SideLeaves | Cause::Stop | Cause::WorkerLeaves => None,
    })
}
