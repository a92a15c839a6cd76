//! How the process ends, and what its exit code says.

use std::process::{ExitCode, Termination};

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: all is well.
    Fine,
    /// 1: the configuration, or something it names, cannot be served.
    Configuration,
    /// 2: the command line cannot be understood, or a file it names cannot be written.
    Usage,
    /// 70: a bug of ours.
    Bug,
    /// 130: a second interrupt did not wait for the end of the drain.
    Interrupted,
    /// 143: neither did a second TERM.
    Terminated,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Configuration => 1,
            Self::Usage => 2,
            Self::Bug => 70,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

impl Termination for Exit {
    fn report(self) -> ExitCode {
        ExitCode::from(self.code())
    }
}

/// Prints what clap says, which is help and versions too, and ends accordingly.
pub(crate) fn usage(said: &clap::Error) -> Exit {
    // Nobody is left to be told that the terminal is gone.
    let _ = said.print();
    if said.use_stderr() {
        Exit::Usage
    } else {
        Exit::Fine
    }
}

/// A panic anywhere is a bug of ours: say so. On the main thread it ends the process with 70; on a
/// worker it ends one connection, and everybody else is served on.
pub(crate) fn own_up_to_panics() {
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("gatewayd: this is a bug of ours, please report it: {panic}");
        tracing::error!(%panic, "a bug of ours");
        if std::thread::current().name() == Some("main") {
            std::process::exit(i32::from(Exit::Bug.code()));
        }
    }));
}
