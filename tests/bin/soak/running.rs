//! A gateway under way, and the one way to change it: write the file, send HUP, hear what came of it.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use gateway_tests::client::ask;
use gateway_tests::gateway::{Door, Plan};
use gateway_tests::leash::Leash;
use gateway_tests::wait;
use nix::sys::signal::Signal;

use crate::house::read;

/// How long a reload may take on a busy machine.
const RELOAD: Duration = Duration::from_secs(20);

/// The process.
pub(crate) struct Running {
    /// As the stage knows it.
    pub(crate) door: Door,
    read: usize,
    _leash: Leash,
}

impl Running {
    /// Starts it, and waits until it answers.
    pub(crate) fn starts(plan: Plan) -> Self {
        let door = plan.opens();
        let leash = Leash::on(door.pid());
        wait::until("the nodes in rotation", wait::SOON, || {
            ask(door.addr(), &read()).status == 200
        });
        Running {
            door,
            read: 0,
            _leash: leash,
        }
    }

    /// The clear listener that stays.
    pub(crate) fn front(&self) -> SocketAddr {
        self.door.addr()
    }

    /// Reloads with this text, and gives the gateway's word for how it went, with what follows it.
    pub(crate) fn reloads(&mut self, text: &str) -> String {
        let path = self.door.scratch().path().join("gateway.toml");
        fs::write(path, text).expect("our own file");
        self.read += self.door.log().after(self.read).len();
        self.door.signal(Signal::SIGHUP);
        let said = wait::maybe(RELOAD, || {
            let lines = self.door.log().after(self.read);
            let mut said = lines
                .iter()
                .filter_map(|line| line.split_once("\"reload: "));
            said.next().map(|(_, how)| how.to_owned())
        });
        said.unwrap_or_else(|| "nothing".to_owned())
    }
}
