//! Names what an event changed in a pool, for the log and the metrics.
//!
//! Made by [`pool`](crate::pool); core writes no log of its own.
//!
//! Source: the health section of the front door: every change of rotation is one line.

use std::sync::Arc;

use gateway_config::model::Name;

use crate::health::Turn;
use crate::node::LiveNode;
use crate::ranges::RangeTurn;
use crate::readiness::Why;

/// A node that came into rotation or left it; one log line, one step of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// The node.
    pub node: Name,
    /// Its address as configured.
    pub addr: Arc<str>,
    /// Whether it is in rotation from here on.
    pub is_in: bool,
    /// Whether it was before.
    pub was_in: bool,
    /// Who brought it about.
    pub by: By,
    /// Why it left; `None` when it came in.
    pub why: Option<Why>,
    /// Nodes in rotation after the change.
    pub total_in: usize,
}

impl Rotation {
    pub(crate) fn of(node: &LiveNode, turn: Turn, by: By, total_in: usize) -> Self {
        let (is_in, why) = match turn {
            Turn::In => (true, None),
            Turn::Out(why) => (false, Some(why)),
        };
        Self {
            node: Arc::clone(node.name()),
            addr: Arc::clone(node.addr()),
            is_in,
            was_in: !is_in,
            by,
            why,
            total_in,
        }
    }
}

/// Who brought a change of rotation about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Its name has been resolved.
    Name,
    /// An operator's word.
    Operator,
    /// What a probe found.
    Probe,
    /// Another list of nodes.
    Reload,
    /// Failures of real requests.
    Traffic,
}

impl By {
    /// A stable label: `name`, `operator`, `probe`, `reload` or `traffic`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Operator => "operator",
            Self::Probe => "probe",
            Self::Reload => "reload",
            Self::Traffic => "traffic",
        }
    }
}

/// What an event changed; the caller logs it. Mostly empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Moves {
    /// Nodes that came into rotation or left it.
    pub rotations: Vec<Rotation>,
    /// Ranges that lost their last holder in rotation, or got one back.
    pub ranges: Vec<RangeTurn>,
}
