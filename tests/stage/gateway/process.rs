//! The binary itself: where it lies, and running it to its end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nix::unistd::Pid;

use crate::log::Lines;
use crate::wait;

/// Where the built binary lies.
///
/// # Panics
/// When it has not been built.
#[must_use]
pub fn binary() -> PathBuf {
    let path = named_by_environment().unwrap_or_else(beside_this_program);
    assert!(
        path.is_file(),
        "{} is missing: run `cargo xtask test`, or `cargo build -p gatewayd` first",
        path.display()
    );
    path
}

#[allow(
    clippy::disallowed_methods,
    reason = "the stage's only setting: which binary to drive"
)]
fn named_by_environment() -> Option<PathBuf> {
    std::env::var_os("GATEWAYD").map(PathBuf::from)
}

fn beside_this_program() -> PathBuf {
    let this = std::env::current_exe().expect("the path of this program");
    let directory = this.parent().expect("a program lies in a directory");
    let is_test = directory.file_name().is_some_and(|name| name == "deps");
    let built = if is_test {
        directory.parent().unwrap_or(directory)
    } else {
        directory
    };
    built.join("gatewayd")
}

/// A gateway process that has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// What it printed.
    pub stdout: String,
    /// What it complained of.
    pub stderr: String,
}

/// A child process that does not outlive what owns it.
#[derive(Debug)]
pub(super) struct Process {
    child: Mutex<Child>,
}

impl Process {
    pub(super) fn new(child: Child) -> Self {
        Self {
            child: Mutex::new(child),
        }
    }

    /// How it ended, once it has.
    pub(super) fn status(&self) -> Option<ExitStatus> {
        self.lock().try_wait().expect("a child of ours")
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.lock().id()).expect("a process id"))
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.lock();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Runs the binary with these arguments to its end.
///
/// # Panics
/// When it does not end by itself.
#[track_caller]
pub fn runs(arguments: &[impl AsRef<Path>]) -> Ended {
    runs_in(Path::new("."), arguments)
}

/// The same in a directory.
///
/// # Panics
/// When it does not end by itself.
#[track_caller]
pub fn runs_in(directory: &Path, arguments: &[impl AsRef<Path>]) -> Ended {
    runs_while(directory, arguments, |_| ())
}

#[track_caller]
pub(super) fn runs_while(
    directory: &Path,
    arguments: &[impl AsRef<Path>],
    meanwhile: impl FnOnce(Pid),
) -> Ended {
    let arguments: Vec<OsString> = arguments.iter().map(|a| a.as_ref().into()).collect();
    let mut child = spawn(&binary(), &arguments, directory, Stdio::null());
    let log = Lines::follow(child.stderr.take().expect("a piped stderr"));
    let out = Lines::follow(child.stdout.take().expect("a piped stdout"));
    let process = Process::new(child);
    meanwhile(process.pid());
    let Some(status) = wait::maybe(wait::EVENTUALLY, || process.status()) else {
        panic!("still running with {arguments:?}: {}", log.all().join("\n"));
    };
    wait::maybe(Duration::from_secs(1), || {
        (Arc::strong_count(&log) == 1 && Arc::strong_count(&out) == 1).then_some(())
    });
    Ended {
        status,
        stdout: out.all().join("\n"),
        stderr: log.all().join("\n"),
    }
}

/// A command of the binary that goes on, and what it prints.
#[derive(Debug)]
pub struct Followed {
    process: Process,
    out: Arc<Lines>,
    err: Arc<Lines>,
}

impl Followed {
    /// What it has printed so far.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.out.all()
    }

    /// What it has complained of so far.
    #[must_use]
    pub fn complains(&self) -> Vec<String> {
        self.err.all()
    }

    /// How it ends by itself.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    #[must_use]
    pub fn ends(&self) -> ExitStatus {
        wait::value("the end of the command", wait::SOON, || {
            self.process.status()
        })
    }
}

/// Starts the binary with these arguments and listens to it.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn follows(arguments: &[&str]) -> Followed {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let mut child = spawn(&binary(), &arguments, Path::new("."), Stdio::null());
    let out = Lines::follow(child.stdout.take().expect("a piped stdout"));
    let err = Lines::follow(child.stderr.take().expect("a piped stderr"));
    let process = Process::new(child);
    Followed { process, out, err }
}

pub(super) fn spawn(
    program: &Path,
    arguments: &[OsString],
    directory: &Path,
    stdin: Stdio,
) -> Child {
    Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the gateway's binary starts")
}
