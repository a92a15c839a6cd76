//! `framing/`: raw bytes, and what the door makes of them.

use std::collections::BTreeMap;
use std::time::Duration;

use gateway_tests::client::Answer;
use gateway_tests::gateway::Door;
use gateway_tests::message::{Request, to_byte};
use gateway_tests::node::Cluster;
use gateway_tests::vector::{self, Vector, filled, same};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    send: String,
    #[serde(default)]
    fill: BTreeMap<String, Fill>,
    #[serde(default)]
    half_close: bool,
    status: Statuses,
    code: Option<String>,
    interim: Option<Vec<u16>>,
    #[serde(default)]
    connection: Fate,
    answers: Option<usize>,
    at_most_answers: Option<usize>,
    requests: Option<usize>,
    body: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Fill {
    text: String,
    times: usize,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Statuses {
    One(u16),
    Any(Vec<u16>),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fate {
    Closed,
    #[default]
    Either,
    Kept,
}

/// Long enough for a close that is coming, short enough to notice that it is not.
const CLOSE: Duration = Duration::from_secs(5);

#[test]
fn every_message_is_framed_by_the_rules() {
    let cluster = Cluster::of(&["a", "b"]);
    let door = Door::before(&cluster).set("--read-timeout", "1s").opens();

    vector::each("framing", |vector: &Vector<Exchange>| {
        cluster.forgets();
        let checked = exchange(&door, &vector.content);
        checked.and_then(|()| reached(&cluster, &vector.content))
    });
}

fn exchange(door: &Door, exchange: &Exchange) -> Result<(), String> {
    let mut client = door.connect();
    let is_head = exchange.send.starts_with("HEAD ");
    client.expects_answer_to(if is_head { "HEAD" } else { "GET" });
    client.says(bytes(exchange));
    if exchange.half_close {
        client.half_closes();
    }
    let wanted = exchange.answers.or(exchange.at_most_answers).unwrap_or(1);
    for number in 0..wanted {
        match client
            .listens()
            .map_err(|error| format!("no answer: {error}"))?
        {
            Some(answer) => judge(&answer, exchange)?,
            None if number > 0 && exchange.at_most_answers.is_some() => break,
            None if exchange.status.holds(0) => return Ok(()),
            None => return Err(format!("closed before answer {}", number + 1)),
        }
    }
    match exchange.connection {
        Fate::Either => Ok(()),
        Fate::Closed => match client.is_closed_within(CLOSE) {
            true => Ok(()),
            false => Err("the connection was not closed".to_owned()),
        },
        Fate::Kept => {
            client.sends(&Request::get("/health"));
            let next = client.listens().map_err(|error| error.to_string())?;
            match next.map(|answer| answer.status) {
                Some(200) => Ok(()),
                other => Err(format!("the connection was not kept: {other:?}")),
            }
        }
    }
}

fn judge(answer: &Answer, exchange: &Exchange) -> Result<(), String> {
    if !exchange.status.holds(answer.status) {
        return Err(format!("status {}: {}", answer.status, answer.text()));
    }
    if let Some(code) = &exchange.code {
        same("code", answer.code(), code.clone())?;
    }
    if let Some(interim) = &exchange.interim {
        same("interim", &answer.interim, interim)?;
    }
    Ok(())
}

fn reached(cluster: &Cluster, exchange: &Exchange) -> Result<(), String> {
    let from_body = usize::from(exchange.body.is_some());
    same(
        "requests at nodes",
        cluster.requests(),
        exchange.requests.unwrap_or(from_body),
    )?;
    same("stray bytes at nodes", cluster.fragments(), Vec::new())?;
    let Some(body) = &exchange.body else {
        return Ok(());
    };
    same("times the body was seen", cluster.times_seen(body), 1)?;
    let seen = cluster.nodes().iter().flat_map(|node| node.seen());
    let lengths: Vec<_> = seen
        .map(|seen| {
            let coding = seen.head.first("transfer-encoding").map(str::to_owned);
            (seen.head.first("content-length").map(str::to_owned), coding)
        })
        .collect();
    same(
        "framing at the node",
        lengths,
        vec![(Some(body.len().to_string()), None)],
    )
}

fn bytes(exchange: &Exchange) -> Vec<u8> {
    let fills: Vec<(&str, String)> = exchange
        .fill
        .iter()
        .map(|(name, fill)| (name.as_str(), fill.text.repeat(fill.times)))
        .collect();
    filled(&exchange.send, &fills)
        .chars()
        .map(to_byte)
        .collect()
}

impl Statuses {
    fn holds(&self, status: u16) -> bool {
        match self {
            Self::One(one) => *one == status,
            Self::Any(any) => any.contains(&status),
        }
    }
}
