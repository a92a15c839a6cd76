//! A gateway under way, and the one way to change it: write the file, send HUP, hear what came of it.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use gateway_tests::client::ask;
use gateway_tests::gateway::{Door, Plan, runs};
use gateway_tests::leash::Leash;
use gateway_tests::wait;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::house::read;

/// How long a reload may take on a busy machine.
const RELOAD: Duration = Duration::from_secs(20);

/// The process.
pub(crate) struct Running {
    /// As the stage knows it.
    pub(crate) door: Door,
    /// Where it keeps its state.
    pub(crate) state: PathBuf,
    read: usize,
    _leash: Leash,
}

impl Running {
    /// Starts it, and waits until it answers.
    pub(crate) fn starts(plan: Plan) -> Self {
        let state = plan.path("state");
        let door = plan.flag("--state-dir", &state.to_string_lossy()).opens();
        let running = Running {
            _leash: Leash::on(door.pid()),
            door,
            state,
            read: 0,
        };
        wait::until("its interface", wait::SOON, || !running.status().is_null());
        wait::until("the nodes in rotation", wait::SOON, || {
            ask(running.door.addr(), &read()).status == 200
        });
        running
    }

    /// The clear listener that stays.
    pub(crate) fn front(&self) -> SocketAddr {
        self.door.addr()
    }

    /// What it says of itself, asked over its interface; nothing when it does not answer.
    pub(crate) fn status(&self) -> Value {
        let state = self.state.to_string_lossy();
        let said = runs(&["status", "--format", "json", "--state-dir", &state]);
        serde_json::from_str(&said.stdout).unwrap_or_default()
    }

    /// Why it is not as it should be; empty when it is.
    pub(crate) fn degraded(&self) -> String {
        match self.status().get("degraded") {
            Some(Value::Array(why)) if why.is_empty() => String::new(),
            Some(why) => why.to_string(),
            None => "no answer".to_owned(),
        }
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
