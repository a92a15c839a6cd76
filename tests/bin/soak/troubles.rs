//! What we do to nodes, and what a client may see of each: the table by which a failed request is
//! excused.
//!
//! Source: the retry and errors sections of the front door; RFC 9110 §9.2.2.

use std::time::Duration;

use gateway_tests::node::{Greeting, Node, Ready, Way};

use crate::shape::BUDGET;

/// A way in which a node fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It answers when nobody waits any more.
    AnswersLate,
    /// Its answers break off in the middle.
    BreaksOff,
    /// It ends connections instead of answering.
    ClosesUnanswered,
    /// It is killed: connections end, new ones are refused.
    Dies,
    /// Its probes fail and succeed in turn; its requests are served.
    Flaps,
    /// Its process is stopped by a signal.
    Frozen,
    /// What it answers is no HTTP.
    Garbles,
    /// It takes requests and says nothing.
    Hangs,
    /// Its answers stop in the middle.
    HangsInBody,
    /// It refuses new connections, and serves those it has.
    Refuses,
    /// It resets connections instead of answering.
    Resets,
    /// It resets connections as soon as it has them.
    ResetsAtOnce,
}

/// Those that a stand-in node in this process can have.
pub(crate) const ALL: [Trouble; 11] = [
    Trouble::AnswersLate,
    Trouble::BreaksOff,
    Trouble::ClosesUnanswered,
    Trouble::Dies,
    Trouble::Flaps,
    Trouble::Garbles,
    Trouble::Hangs,
    Trouble::HangsInBody,
    Trouble::Refuses,
    Trouble::Resets,
    Trouble::ResetsAtOnce,
];

impl Trouble {
    /// The node has it from here on.
    pub(crate) fn begins(self, node: &Node) {
        match self {
            Trouble::AnswersLate => {
                let late = BUDGET + Duration::from_secs(1);
                node.always(Way::After(late, Box::new(Way::Plainly)));
            }
            Trouble::BreaksOff => node.always(Way::BreaksOffInBody),
            Trouble::ClosesUnanswered => node.always(Way::ClosesWithoutAnswer),
            Trouble::Dies => node.dies(),
            Trouble::Flaps | Trouble::Frozen => {}
            Trouble::Garbles => {
                node.always(Way::RawThenCloses(b"\x16\x03garbage\r\n\r\n".to_vec()))
            }
            Trouble::Hangs => node.always(Way::HangsBeforeHead),
            Trouble::HangsInBody => node.always(Way::HangsInBody),
            Trouble::Refuses => node.refuses(),
            Trouble::Resets => node.always(Way::Resets),
            Trouble::ResetsAtOnce => node.greets(Greeting::Resets),
        }
    }

    /// What it does again and again while it lasts.
    pub(crate) fn goes_on(self, node: &Node, round: u32) {
        if self == Trouble::Flaps {
            let fails = Ready::text("{}").with_status(500);
            let serves = Ready::serving(node.name(), round.is_multiple_of(3));
            node.is_ready(if round.is_multiple_of(2) {
                fails
            } else {
                serves
            });
        }
    }

    /// The node does its part again.
    pub(crate) fn ends(node: &Node) {
        node.always(Way::Plainly);
        node.greets(Greeting::Normal);
        node.says_serving(true);
        node.comes_back();
    }

    /// Whether a request put to the node may be answered with this status by the gateway.
    ///
    /// A read may be repeated until an answer has begun, so it fails only where the answer is there
    /// and unusable, or where the time is spent: a node that is silent is given the whole of it.
    pub(crate) fn explains(self, status: u16, is_repeatable: bool) -> bool {
        match self {
            Trouble::AnswersLate | Trouble::Frozen | Trouble::Hangs => status == 504,
            Trouble::BreaksOff | Trouble::Garbles => status == 502,
            Trouble::HangsInBody => status == 504,
            Trouble::ClosesUnanswered | Trouble::Dies | Trouble::Resets | Trouble::ResetsAtOnce => {
                status == 502 && !is_repeatable
            }
            Trouble::Flaps | Trouble::Refuses => false,
        }
    }

    /// Whether an answer that has begun may be cut.
    pub(crate) fn explains_cut(self) -> bool {
        matches!(
            self,
            Trouble::BreaksOff | Trouble::Dies | Trouble::HangsInBody
        )
    }
}
