//! What a client sees of a gateway: one address that answers.

use std::net::SocketAddr;

use serde_json::Value;

use super::Metrics;
use crate::certs::Trust;
use crate::client::{Answer, Conversation};
use crate::message::Request;
use crate::wait;

/// One listener of a running gateway.
#[derive(Debug)]
pub struct Front {
    pub(super) addr: SocketAddr,
    pub(super) trust: Option<Trust>,
}

impl Front {
    /// The address it listens on.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// A fresh connection to it.
    #[must_use]
    pub fn connect(&self) -> Conversation {
        match &self.trust {
            None => Conversation::open(self.addr),
            Some(trust) => Conversation::open_tls(self.addr, trust, "door.test"),
        }
    }

    /// Asks on a connection of its own.
    #[track_caller]
    #[must_use]
    pub fn ask(&self, request: &Request) -> Answer {
        self.connect().asks(request)
    }

    /// `GET` on a connection of its own.
    #[track_caller]
    #[must_use]
    pub fn get(&self, target: &str) -> Answer {
        self.ask(&Request::get(target))
    }

    /// `POST` on a connection of its own.
    #[track_caller]
    #[must_use]
    pub fn post(&self, target: &str, body: &str) -> Answer {
        self.ask(&Request::post(target, body))
    }

    /// Lets its one worker take everything that was sent to it before.
    ///
    /// A worker reads its sockets in the order in which they became readable, so what was sent
    /// before the last of these round trips began has been read when it ends.
    #[track_caller]
    pub fn settles(&self) {
        for _ in 0..5 {
            self.get("/health").is(200);
        }
    }

    /// What its `/ready` says of a node.
    #[track_caller]
    #[must_use]
    pub fn node(&self, name: &str) -> Value {
        let ready = self.get("/ready").json();
        let nodes = ready["upstreams"].as_array().cloned().unwrap_or_default();
        let found = nodes.into_iter().find(|node| node["name"] == name);
        found.unwrap_or_else(|| panic!("no node {name} in {ready}"))
    }

    /// Whether a node is in rotation.
    #[track_caller]
    #[must_use]
    pub fn is_in(&self, name: &str) -> bool {
        self.node(name)["state"] == "in"
    }

    /// Waits until a node is in rotation.
    #[track_caller]
    pub fn sees_in(&self, name: &str) {
        wait::until(&format!("{name} in rotation"), wait::EVENTUALLY, || {
            self.is_in(name)
        });
    }

    /// Waits until a node is out of rotation.
    #[track_caller]
    pub fn sees_out(&self, name: &str) {
        wait::until(&format!("{name} out of rotation"), wait::EVENTUALLY, || {
            !self.is_in(name)
        });
    }

    /// Its metrics at this moment.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        let answer = self.get("/metrics");
        answer.is(200);
        Metrics::parse(&answer.text())
    }
}
