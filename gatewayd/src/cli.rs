//! The command line: what may be said, and the only reader of the environment.
//!
//! Decides what is usage (exit 2): an unknown flag, a value that cannot be read. What can be read
//! and makes no sense is left to `gateway-config`, which says the same of a file.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use gateway_config::value;

use crate::release;

mod asked;
mod diff;
mod process;
mod reading;
mod running;

pub(crate) use asked::{Of, Trace};
pub(crate) use diff::{Compared, Diff};
pub(crate) use process::{Address, Control, Process};
pub(crate) use reading::read;
pub(crate) use running::{
    Count, Drain, Reach, Reload, Rollback, Running, Snapshots, Status, Stop, Workers,
};

/// An edge gateway, and one address before a database cluster.
#[derive(Debug, Parser)]
#[command(
    name = "gatewayd",
    version = release::WORDS,
    propagate_version = true,
    after_help = "Example:\n  gatewayd front-door 127.0.0.1:7650 --upstream a=127.0.0.1:7001 --upstream b=127.0.0.1:7002"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What is to be done.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check a configuration without starting anything
    #[command(
        subcommand_precedence_over_arg = true,
        after_help = "Examples:\n  gatewayd check --files gateway.toml\n  gatewayd check /etc/gateway/gateway.toml /etc/gateway/conf.d\n  gatewayd check front-door --cluster cluster.toml"
    )]
    Check(Check),
    /// Print the script with which a shell completes the command line
    #[command(
        after_help = "Example:\n  gatewayd completions bash > /etc/bash_completion.d/gatewayd"
    )]
    Completions(Completions),
    /// Print what differs between two configurations, by what the change costs
    #[command(
        after_help = "Examples:\n  gatewayd diff /etc/gateway/gateway.toml gateway.toml\n  gatewayd diff --old a.toml conf.d --new b.toml conf.d\n  gatewayd diff --running --state-dir /var/lib/gateway gateway.toml"
    )]
    Diff(Diff),
    /// Print the page about the settings
    #[command(hide = true)]
    Document,
    /// Take a node of a running process out of rotation
    #[command(after_help = "Example:\n  gatewayd drain shop/a --state-dir /var/lib/gateway")]
    Drain(Drain),
    /// Print a configuration with everything spelled out
    #[command(
        subcommand_precedence_over_arg = true,
        after_help = "Examples:\n  gatewayd effective --origin gateway.toml\n  gatewayd effective front-door --upstream a=127.0.0.1:7001\n  gatewayd effective --running --state-dir /var/lib/gateway"
    )]
    Effective(Effective),
    /// Explain the code of a diagnostic
    #[command(after_help = "Example:\n  gatewayd explain G0302")]
    Explain(Explain),
    /// Put one address before a cluster
    #[command(
        after_help = "Examples:\n  gatewayd front-door 127.0.0.1:7650 --cluster cluster.toml\n  gatewayd front-door 0.0.0.0:7650 --upstream a=10.0.0.11:7654 --tls-cert door.pem --tls-key door.key --upstream-ca ca.pem"
    )]
    FrontDoor(Box<ServedDoor>),
    /// Write the pages of the manual into a directory
    #[command(hide = true)]
    Manual(Manual),
    /// Let a running process read its configuration again, as SIGHUP does
    #[command(after_help = "Example:\n  gatewayd reload --state-dir /var/lib/gateway")]
    Reload(Reload),
    /// Let a running process serve a snapshot that it kept
    #[command(after_help = "Example:\n  gatewayd rollback 41 --state-dir /var/lib/gateway")]
    Rollback(Rollback),
    /// Serve a configuration
    #[command(
        after_help = "Examples:\n  gatewayd run --config /etc/gateway/gateway.toml\n  gatewayd run --config /etc/gateway/gateway.toml /etc/gateway/conf.d\n  gatewayd run --config api --state-dir /var/lib/gateway"
    )]
    Run(Run),
    /// Print what a configuration may say, as JSON Schema for editors
    #[command(after_help = "Example:\n  gatewayd schema > gateway.schema.json")]
    Schema,
    /// Print the snapshots that a running process kept
    #[command(after_help = "Example:\n  gatewayd snapshots --state-dir /var/lib/gateway")]
    Snapshots(Snapshots),
    /// Print what a running process serves, and how its nodes are
    #[command(after_help = "Example:\n  gatewayd status --watch --state-dir /var/lib/gateway")]
    Status(Status),
    /// Let a running process end: requests in flight end first
    #[command(after_help = "Example:\n  gatewayd stop --state-dir /var/lib/gateway")]
    Stop(Stop),
    /// Print the way a request would go, and why; nothing is sent
    #[command(
        override_usage = "gatewayd trace [OPTIONS] <METHOD> <URL> <--config <FILE>...|--control <unix:PATH>|--state-dir <DIR>>",
        after_help = "Examples:\n  gatewayd trace GET 'https://shop.example/cart?x=1' --state-dir /var/lib/gateway\n  gatewayd trace GET http://shop.example/cart -H 'cookie: beta=1' --from 192.0.2.7 --config gateway.toml"
    )]
    Trace(Trace),
    /// Let a node of a running process into rotation again
    #[command(after_help = "Example:\n  gatewayd undrain shop/a --state-dir /var/lib/gateway")]
    Undrain(Drain),
    /// Set the number of workers of a running process
    #[command(after_help = "Example:\n  gatewayd workers 4 --state-dir /var/lib/gateway")]
    Workers(Workers),
}

/// `check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Also look at the files it names: certificates, keys, directories, logs
    #[arg(long, global = true)]
    pub(crate) files: bool,
    /// For people, or for programs
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Say so when all is well
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// `completions`.
#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// `manual`.
#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// The directory
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// `effective`.
#[derive(Debug, Args)]
pub(crate) struct Effective {
    #[command(flatten)]
    pub(crate) subject: Subject,
    /// Say behind each setting where it was written; what a route takes from its pool is a default
    #[arg(long, global = true)]
    pub(crate) origin: bool,
    #[command(flatten)]
    pub(crate) running: Running,
}

/// What `check` and `effective` look at: files, or a front door's flags.
#[derive(Debug, Args)]
pub(crate) struct Subject {
    /// The configuration: files, and folders of them [default: gateway.toml]
    #[arg(value_name = "FILE", conflicts_with = "config")]
    paths: Vec<PathBuf>,
    /// The same, spelled as for `run`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    config: Vec<PathBuf>,
    #[command(subcommand)]
    door: Option<Door>,
}

/// A front door instead of a file.
#[derive(Debug, Subcommand)]
enum Door {
    /// The configuration of a front door, by its flags
    FrontDoor(Box<FrontDoor>),
}

/// A front door that is served.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServedDoor {
    #[command(flatten)]
    pub(crate) door: FrontDoor,
    #[command(flatten)]
    pub(crate) process: Process,
}

/// What a configuration comes from.
#[derive(Clone, Debug)]
pub(crate) enum Given {
    /// Files, and folders of them, which are one configuration together.
    Files(Vec<PathBuf>),
    /// The flags of a front door.
    FrontDoor(Box<FrontDoor>),
}

/// How findings are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One JSON document
    Json,
    /// With the lines they are about
    Text,
}

/// `explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The code, as in `error[G0302]`; all of them when absent
    pub(crate) code: Option<String>,
}

/// `run`.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The configuration: files, and folders whose *.toml are read in the order of their names; `api`:
    /// what was applied to the running process last
    #[arg(long, value_name = "FILE|api", num_args = 1.., required = true)]
    config: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) process: Process,
}

/// `front-door`: one flag for each of its settings.
#[derive(Clone, Debug, Args)]
pub(crate) struct FrontDoor {
    /// Where to listen [default: 127.0.0.1:7650]
    #[arg(value_name = "ADDR")]
    pub(crate) addr: Option<String>,
    /// The cluster's own file: name and address of every node
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster: Option<String>,
    /// A node; goes before the address in the cluster's file
    #[arg(long, value_name = "NAME=ADDR")]
    pub(crate) upstream: Vec<String>,
    /// Carry the data routes only
    #[arg(long)]
    pub(crate) no_ddl: bool,
    /// Carry the operator's routes too
    #[arg(long)]
    pub(crate) allow_ops: bool,
    /// The budget of the four data routes that have 60s; keep it at or above the nodes' own
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) query_timeout: Option<Duration>,
    /// Further tries, each on another node [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) max_retries: Option<u64>,
    /// Requests in flight per node [default: 32]
    #[arg(long, value_name = "N")]
    pub(crate) in_flight: Option<u64>,
    /// Longest wait for a free slot [default: 5s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) queue_wait: Option<Duration>,
    /// Connect and handshake, each try [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) connect_timeout: Option<Duration>,
    /// From one probe of a node to the next; a bare number is milliseconds [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration_or_millis)]
    pub(crate) health_interval: Option<Duration>,
    /// How long a probe may take; a bare number is milliseconds [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration_or_millis)]
    pub(crate) health_timeout: Option<Duration>,
    /// Consecutive failures to leave rotation [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) health_fail: Option<u64>,
    /// Consecutive good probes to return [default: 2]
    #[arg(long, value_name = "N")]
    pub(crate) health_pass: Option<u64>,
    /// Certificate chain shown to clients; needs --tls-key
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<String>,
    /// Its private key, readable by its owner only
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<String>,
    /// TLS to the nodes, trusting only this file; the name checked is the node's name
    #[arg(long, value_name = "FILE")]
    pub(crate) upstream_ca: Option<String>,
    /// TLS to the nodes without checking their certificates
    #[arg(long)]
    pub(crate) insecure_skip_verify: bool,
    /// Allow clear text with clients and nodes on other machines
    #[arg(long)]
    pub(crate) insecure_no_tls: bool,
    /// Append to a client's X-Forwarded-For instead of replacing it
    #[arg(long)]
    pub(crate) trust_forwarded_for: bool,
    /// The whole request head, and each silence inside a body [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = value::duration)]
    pub(crate) read_timeout: Option<Duration>,
    /// Worker threads [default: available cores]
    #[arg(long, value_name = "N")]
    pub(crate) workers: Option<u64>,
    /// One line per request: off, stdout, or the file it is appended to, as a path with a / in it [default: stdout]
    #[arg(long, value_name = "off|stdout|FILE")]
    pub(crate) access_log: Option<String>,
    /// Print the gateway.toml that asks for the same, and end
    #[arg(long)]
    pub(crate) print_config: bool,
    #[command(flatten)]
    absent: Absent,
}

/// Flags that this front door does not have, understood so that the refusal can give the reason.
#[derive(Clone, Debug, Args)]
struct Absent {
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "")]
    discover: Option<OsString>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "")]
    discover_credentials: Option<OsString>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "")]
    admin_addr: Option<OsString>,
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "")]
    cluster_id: Option<OsString>,
}

/// What may be said, for those who describe it.
pub(crate) fn grammar() -> clap::Command {
    Cli::command()
}

/// Whether colours may be used on a stream that is, or is not, a terminal.
#[expect(clippy::disallowed_methods, reason = "this is the command line")]
pub(crate) fn may_colour(is_terminal: bool) -> bool {
    is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// What the environment says under a name.
#[expect(clippy::disallowed_methods, reason = "this is the command line")]
pub(crate) fn environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

impl Process {
    fn is_whole(&self) -> Result<(), clap::Error> {
        match self.wrong() {
            Some(said) => Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, said)),
            None => Ok(()),
        }
    }
}

impl Run {
    /// The files it is to serve; `None`: what was applied last.
    pub(crate) fn given(&self) -> Option<Given> {
        let is_api = self.config == [Path::new("api")];
        (!is_api).then(|| Given::Files(self.config.clone()))
    }

    fn has_state(&self) -> Result<(), clap::Error> {
        if self.given().is_none() && self.process.state_dir.is_none() {
            let said = "--config api needs --state-dir: what is applied is kept there";
            return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, said));
        }
        Ok(())
    }
}

impl Subject {
    fn is_one(&self) -> Result<(), clap::Error> {
        if let Some(Door::FrontDoor(door)) = &self.door {
            door.absent.refuse()?;
        }
        if self.door.is_some() && !(self.paths.is_empty() && self.config.is_empty()) {
            let said = "files or a front door's flags, not both";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, said));
        }
        Ok(())
    }

    /// What to look at; `gateway.toml` when nothing was said.
    pub(crate) fn given(self) -> Given {
        match self.door {
            Some(Door::FrontDoor(door)) => Given::FrontDoor(door),
            None if self.paths.is_empty() && self.config.is_empty() => {
                Given::Files(vec!["gateway.toml".into()])
            }
            // Only one of the two was said.
            None => Given::Files([self.paths, self.config].concat()),
        }
    }
}

impl Effective {
    fn is_of_one(&self) -> Result<(), clap::Error> {
        let Subject {
            paths,
            config,
            door,
        } = &self.subject;
        let has_files = !(paths.is_empty() && config.is_empty());
        let said = match self.running.reach() {
            Some(_) if has_files || door.is_some() => {
                "what a running process serves, or a configuration, not both"
            }
            Some(_) if self.origin => "--origin is for files: a process does not keep their lines",
            Some(_) | None => return Ok(()),
        };
        Err(clap::Error::raw(ErrorKind::ArgumentConflict, said))
    }
}

impl Absent {
    fn refuse(&self) -> Result<(), clap::Error> {
        const NO_CREDENTIAL: &str = "the front door holds no credential, so it cannot ask a cluster who its nodes are; edit the node list and reload";
        const NO_LISTENER: &str = "the front door holds no credential and answers /health, /ready and /metrics where it listens; there is no second address";
        let refused = [
            ("--discover", &self.discover, NO_CREDENTIAL),
            (
                "--discover-credentials",
                &self.discover_credentials,
                NO_CREDENTIAL,
            ),
            ("--admin-addr", &self.admin_addr, NO_LISTENER),
            ("--cluster-id", &self.cluster_id, NO_CREDENTIAL),
        ];
        for (flag, value, reason) in refused {
            if value.is_some() {
                let said = format!("{flag} is refused: {reason}");
                return Err(clap::Error::raw(ErrorKind::UnknownArgument, said));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn reads(line: &str) -> Result<Command, clap::Error> {
        read(line.split(' ').map(OsString::from))
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_bare_number_is_milliseconds_for_probes_only() {
        let called = reads("gatewayd front-door --health-interval 200").unwrap();
        let Command::FrontDoor(served) = called else {
            panic!()
        };
        assert_eq!(
            served.door.health_interval,
            Some(Duration::from_millis(200))
        );
        let refused = reads("gatewayd front-door --read-timeout 200").unwrap_err();
        assert!(refused.to_string().contains("--read-timeout"));
    }

    #[test]
    fn flags_that_do_not_exist_are_refused_with_the_reason() {
        for flag in [
            "--discover",
            "--discover x",
            "--cluster-id 7",
            "--admin-addr :1",
        ] {
            for command in ["front-door", "check front-door"] {
                let refused = reads(&format!("gatewayd {command} {flag}")).unwrap_err();
                let name = flag.split(' ').next().unwrap();
                assert!(refused.to_string().contains(name), "{refused}");
                assert!(refused.to_string().contains("credential"), "{refused}");
                assert!(refused.use_stderr());
            }
        }
    }

    #[test]
    fn a_front_door_is_checked_like_a_file_and_not_together_with_one() {
        for line in [
            "gatewayd check --files front-door --upstream a=b:1",
            "gatewayd check front-door --upstream a=b:1 --files",
        ] {
            let Command::Check(check) = reads(line).unwrap() else {
                panic!()
            };
            assert!(check.files);
            assert!(matches!(check.subject.given(), Given::FrontDoor(_)));
        }
        for file in ["x.toml", "--config x.toml"] {
            let both = format!("gatewayd check {file} front-door");
            assert_eq!(reads(&both).unwrap_err().exit_code(), 2);
        }
    }

    fn files(line: &str) -> Vec<PathBuf> {
        let Command::Check(check) = reads(line).unwrap() else {
            panic!()
        };
        match check.subject.given() {
            Given::Files(files) => files,
            Given::FrontDoor(_) => panic!("no files in {line}"),
        }
    }

    #[test]
    fn files_may_be_named_in_two_ways() {
        let names = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(files("gatewayd check"), names(&["gateway.toml"]));
        for line in [
            "gatewayd check x.toml conf.d",
            "gatewayd check --config x.toml conf.d --files",
            "gatewayd check --config x.toml --config=conf.d",
        ] {
            assert_eq!(files(line), names(&["x.toml", "conf.d"]), "{line}");
        }
        for line in ["check a --config b", "check a front-door --upstream a=b:1"] {
            let refused = reads(&format!("gatewayd {line}")).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ArgumentConflict, "{line}");
        }
    }

    #[test]
    fn what_a_process_serves_has_no_files() {
        let running = "gatewayd effective --running --state-dir d";
        assert!(reads(running).is_ok());
        for more in ["x.toml", "--config x.toml", "--origin", "--control unix:s"] {
            let refused = reads(&format!("{running} {more}")).unwrap_err();
            assert_eq!(refused.exit_code(), 2, "{more}");
        }
    }
}
