//! What all clients of one act share.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use gateway_tests::certs::Trust;
use gateway_tests::curtain::Curtain;

use crate::bodies::Bodies;
use crate::house::{House, read};
use crate::ledger::Ledger;
use crate::weather::Weather;

/// Whom clients talk to, what they should get, and where they say what they got.
pub(crate) struct Scene<'soak> {
    /// What we are doing to the gateway.
    pub(crate) weather: &'soak Weather,
    /// What came of everything.
    pub(crate) ledger: &'soak Ledger,
    /// Bodies, each unlike any other.
    pub(crate) bodies: &'soak Bodies,
    /// When clients stop.
    pub(crate) curtain: &'soak Curtain,
    /// The clear listener that stays.
    pub(crate) front: SocketAddr,
    /// The encrypted one.
    pub(crate) safe: SocketAddr,
    /// Who signed its certificate.
    pub(crate) trust: Trust,
    /// The answer to a read.
    pub(crate) expected: Vec<u8>,
}

impl<'soak> Scene<'soak> {
    /// Before this gateway.
    pub(crate) fn of(
        house: &House,
        weather: &'soak Weather,
        ledger: &'soak Ledger,
        bodies: &'soak Bodies,
        curtain: &'soak Curtain,
    ) -> Self {
        Scene {
            weather,
            ledger,
            bodies,
            curtain,
            front: house.gateway.front(),
            safe: house.safe(),
            trust: house.authority.trust(),
            expected: house.nodes.answers(&read()),
        }
    }

    /// Whether clients should stop.
    pub(crate) fn is_over(&self) -> bool {
        self.curtain.is_down()
    }

    /// The pace of a client: a rate that two cores can bear, never a wait for something to happen.
    pub(crate) fn paces(&self, pause: Duration) {
        let slice = Duration::from_millis(50);
        let mut left = pause;
        while !self.is_over() && !left.is_zero() {
            let now = left.min(slice);
            thread::sleep(now);
            left -= now;
        }
    }
}
