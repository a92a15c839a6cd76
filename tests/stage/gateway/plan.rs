//! How a gateway is to be started.

use std::ffi::{OsStr, OsString};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;

use nix::unistd::Pid;

use super::{Door, Ended, binary, runs_in, runs_while};
use crate::certs::{Authority, Trust};
use crate::disk::Disk;
use crate::node::Cluster;
use crate::scratch::Scratch;
use crate::wait;

/// A command line in the making.
#[derive(Debug)]
pub struct Plan {
    program: PathBuf,
    start: Vec<OsString>,
    flags: Vec<(String, Option<String>)>,
    pub(super) scratch: Scratch,
    waits_for_nodes: bool,
    trust: Option<Trust>,
    inherits: Option<TcpListener>,
}

impl Plan {
    /// `gatewayd front-door` on a free port before these nodes, probing often, with one worker.
    #[must_use]
    pub fn front_door(cluster: &Cluster) -> Self {
        let mut plan = Self::alone();
        for node in cluster.nodes() {
            plan = plan.flag("--upstream", &format!("{}={}", node.name(), node.addr()));
        }
        plan.waits_for_nodes = true;
        plan
    }

    /// The same without any node.
    #[must_use]
    pub fn alone() -> Self {
        let mut plan = Self::bare();
        plan.start.push("127.0.0.1:0".into());
        plan.set("--health-interval", "250")
            .set("--health-timeout", "1s")
            .set("--workers", "1")
    }

    /// `gatewayd front-door` and nothing else.
    #[must_use]
    pub fn bare() -> Self {
        Self {
            program: binary(),
            start: vec!["front-door".into()],
            flags: Vec::new(),
            scratch: Scratch::new(),
            waits_for_nodes: false,
            trust: None,
            inherits: None,
        }
    }

    /// The same with exactly these arguments after the address, defaults of the stage apart.
    #[must_use]
    pub fn with_arguments(listen: &str, arguments: &[String]) -> Self {
        let mut plan = Self::alone();
        plan.flags.retain(|(name, _)| !arguments.contains(name));
        plan.start = vec!["front-door".into(), listen.into()];
        plan.start.extend(arguments.iter().map(OsString::from));
        plan
    }

    /// `gatewayd run --config gateway.toml` with this text, in the directory where that lies.
    #[must_use]
    pub fn configured(text: &str) -> Self {
        let mut plan = Self::bare();
        let _ = plan.scratch.file("gateway.toml", text);
        plan.start = ["run", "--config", "gateway.toml"].map(Into::into).into();
        plan
    }

    /// The same from a folder, `conf.d`, in which this text is the one file.
    #[must_use]
    pub fn configured_by_folder(text: &str) -> Self {
        let mut plan = Self::bare();
        std::fs::create_dir(plan.path("conf.d")).expect("a directory in our own");
        let _ = plan.scratch.file("conf.d/gateway.toml", text);
        plan.start = ["run", "--config", "conf.d"].map(Into::into).into();
        plan
    }

    /// The same with these words instead of all before.
    #[must_use]
    pub fn instead(mut self, words: &[&str]) -> Self {
        self.start = words.iter().map(OsString::from).collect();
        self.flags.clear();
        self
    }

    /// Calls the binary by another name, without naming a subcommand.
    #[must_use]
    pub fn called(mut self, name: &str) -> Self {
        let path = self.scratch.path().join(name);
        std::os::unix::fs::symlink(&self.program, &path).expect("a link in our own directory");
        self.program = path;
        self.start.remove(0);
        self
    }

    /// Adds a flag with a value.
    #[must_use]
    pub fn flag(mut self, name: &str, value: &str) -> Self {
        self.flags.push((name.to_owned(), Some(value.to_owned())));
        self
    }

    /// Sets a flag that stands once, whatever it was.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.flags.retain(|flag| flag.0 != name);
        self.flag(name, value)
    }

    /// Adds a flag without a value.
    #[must_use]
    pub fn switch(mut self, name: &str) -> Self {
        self.flags.push((name.to_owned(), None));
        self
    }

    /// Writes a file for it and passes its path as a flag's value.
    #[must_use]
    pub fn file(self, flag: &str, name: &str, text: &str) -> Self {
        let path = self.scratch.file(name, text);
        self.flag(flag, &path.to_string_lossy())
    }

    /// A path in its own directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Speaks TLS to it, as `door.test` under this authority.
    #[must_use]
    pub fn over_tls(mut self, authority: &Authority) -> Self {
        self.trust = Some(authority.trust());
        self
    }

    /// Prints the door in full, changes one line of that, and runs what comes of it: a door is
    /// ordinary settings.
    #[must_use]
    pub fn but_with(mut self, line: &str, other: &str) -> Self {
        let mut arguments: Vec<OsString> = vec!["effective".into()];
        arguments.extend(self.arguments());
        let printed = runs_in(self.scratch.path(), &arguments).stdout;
        assert!(printed.contains(line), "no `{line}` in {printed}");
        let text = printed.replace(line, other);
        let file = self.scratch.file("expanded.toml", &text);
        self.start = vec!["run".into(), "--config".into(), file.into()];
        self.flags.clear();
        self
    }

    /// Gives the process so many descriptors and no more.
    #[must_use]
    pub fn with_descriptors(self, most: u32) -> Self {
        self.after_saying(&format!("ulimit -n {most}"))
    }

    /// Lets the process write files of so many blocks of 512 bytes and no more; what goes on beyond it
    /// fails as on a disk that is full.
    #[must_use]
    pub fn with_files_up_to(self, blocks: u32) -> Self {
        self.after_saying(&format!("trap '' XFSZ; ulimit -f {blocks}"))
    }

    /// Gives the process a disk of its own at a place, and nobody else.
    #[must_use]
    pub fn with_disk(self, disk: &Disk) -> Self {
        self.after_saying(&disk.mounted())
            .under("unshare", ["--user", "--map-root-user", "--mount"])
    }

    /// Starts it from a shell that has been told this.
    fn after_saying(mut self, words: &str) -> Self {
        let limit = format!("{words}; exec \"$0\" \"$@\"");
        let program = std::mem::replace(&mut self.program, "sh".into());
        let start = std::mem::take(&mut self.start);
        self.start = vec!["-c".into(), limit.into(), program.into()];
        self.start.extend(start);
        self
    }

    /// Starts it with this in its environment.
    #[must_use]
    pub fn told(self, name: &str, value: &OsStr) -> Self {
        let mut said = OsString::from(format!("{name}="));
        said.push(value);
        self.under("env", [said])
    }

    /// Starts it by another program that has been given these words.
    #[must_use]
    pub fn under<T: Into<OsString>>(
        mut self,
        program: &str,
        words: impl IntoIterator<Item = T>,
    ) -> Self {
        let ours = std::mem::replace(&mut self.program, program.into());
        let words = words.into_iter().map(Into::into);
        self.start.splice(0..0, words.chain([ours.into()]));
        self
    }

    /// Starts it as a service manager does that has bound this socket for it.
    #[must_use]
    pub fn inherits(mut self, socket: TcpListener) -> Self {
        let start = "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$0\" \"$@\" 3<&0 </dev/null";
        let program = std::mem::replace(&mut self.program, "sh".into());
        self.start
            .splice(0..0, ["-c".into(), start.into(), program.into()]);
        self.inherits = Some(socket);
        self
    }

    /// Does not wait for a node to be in rotation.
    #[must_use]
    pub fn without_waiting(mut self) -> Self {
        self.waits_for_nodes = false;
        self
    }

    /// Starts it, and waits until every node is in rotation.
    #[must_use]
    pub fn opens(self) -> Door {
        self.opens_while(|_| ())
    }

    /// The same; does something to the process before it says that it listens.
    #[must_use]
    pub fn opens_while(self, meanwhile: impl FnOnce(Pid)) -> Door {
        let (arguments, waits) = (self.arguments(), self.waits_for_nodes);
        let door = Door::start(
            &self.program,
            &arguments,
            self.inherits
                .map_or_else(Stdio::null, |socket| Stdio::from(OwnedFd::from(socket))),
            self.scratch,
            self.trust,
            meanwhile,
        );
        if waits {
            wait::until("all nodes in rotation", wait::SOON, || {
                let ready = door.get("/ready").json();
                ready["total"].is_u64() && ready["in_rotation"] == ready["total"]
            });
        }
        door
    }

    /// Starts it and waits for its end.
    #[must_use]
    pub fn is_refused(self) -> Ended {
        runs_in(self.scratch.path(), &self.arguments())
    }

    /// The same; does something to the process meanwhile.
    #[must_use]
    pub fn ends_while(self, meanwhile: impl FnOnce(Pid)) -> Ended {
        runs_while(self.scratch.path(), &self.arguments(), meanwhile)
    }

    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut arguments = self.start.clone();
        for (name, value) in &self.flags {
            arguments.push(name.into());
            arguments.extend(value.as_ref().map(OsString::from));
        }
        arguments
    }
}
