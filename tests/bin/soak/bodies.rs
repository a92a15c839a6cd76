//! Bodies of requests that may not be repeated, each unlike any other, and the count of how often
//! nodes saw each.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use gateway_tests::inbox::{find, latin};
use gateway_tests::message::Request;
use gateway_tests::node::Seen;

use crate::ledger::Ledger;
use crate::weather::lock;

/// The header field with the number of a body.
pub(crate) const FIELD: &str = "x-soak";

/// Numbers for bodies, and those that nodes have seen.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    next: AtomicU64,
    seen: Mutex<HashSet<u64>>,
}

/// A write with a body of its own.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    /// Its number.
    pub(crate) number: u64,
    /// Its body.
    pub(crate) body: String,
}

impl Bodies {
    /// The next write, of about this length.
    pub(crate) fn write(&self, length: usize) -> Write {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Write {
            number,
            body: body(number, length),
        }
    }

    /// A node saw these requests, and these beginnings of requests.
    pub(crate) fn count(&self, node: &str, told: (Vec<Seen>, Vec<Vec<u8>>), ledger: &Ledger) {
        let (requests, fragments) = told;
        for seen in requests {
            match number_of(&seen, node) {
                Ok(Some(number)) => self.saw(node, number, ledger),
                Ok(None) => {}
                Err(wrong) => ledger.differs(wrong),
            }
        }
        for number in fragments.iter().filter_map(|bytes| number_in(bytes)) {
            self.saw(node, number, ledger);
        }
    }

    /// A node saw this number, whole or not.
    pub(crate) fn saw(&self, node: &str, number: u64, ledger: &Ledger) {
        if !lock(&self.seen).insert(number) {
            ledger.seen_again(format!("write {number} was seen again, by node {node}"));
        }
    }
}

impl Write {
    /// The request.
    pub(crate) fn request(&self) -> Request {
        Request::post("/sql", &self.body).field(FIELD, &self.number.to_string())
    }
}

/// The number of a write, if it is one; an error when its body is not what was sent.
pub(crate) fn number_of(seen: &Seen, node: &str) -> Result<Option<u64>, String> {
    let number = seen
        .head
        .first(FIELD)
        .and_then(|number| number.parse().ok());
    let is_as_sent = |number: u64| seen.body == body(number, seen.body.len()).as_bytes();
    match number {
        Some(number) if !is_as_sent(number) => Err(format!(
            "node {node} read another body {number} than was sent"
        )),
        number => Ok(number),
    }
}

/// The number in the head of a request of which a part was read.
pub(crate) fn number_in(bytes: &[u8]) -> Option<u64> {
    let text = latin(&bytes[..find(bytes, b"\r\n\r\n")?]).to_ascii_lowercase();
    let (_, rest) = text.split_once(&format!("{}: ", FIELD.to_ascii_lowercase()))?;
    rest.split("\r\n").next()?.parse().ok()
}

fn body(number: u64, length: usize) -> String {
    let word = format!("{number};");
    let times = length / word.len() + 1;
    let mut body = word.repeat(times);
    body.truncate(length);
    body
}
