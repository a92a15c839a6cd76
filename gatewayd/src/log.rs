//! The log: JSON lines on the standard error, written by somebody who may wait for its reader.

use std::io;

use gateway_config::model::LogLevel;
use tracing::level_filters::LevelFilter;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::Registry;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{Handle, Layer};
use tracing_subscriber::util::SubscriberInitExt;

use crate::lines::{Lines, Losses, Sink};

/// Lines that may wait to be written; beyond it they are dropped, never waited for.
const WAITING_LINES: usize = 8_192;
/// Where our own words begin. What libraries say may hold what a client sent, so of them no more is
/// written than `info`, whatever the level.
const OURS: [&str; 3] = ["gateway_core", "gateway_pingora", "gatewayd"];

/// How much is logged, and what could not be.
#[derive(Clone)]
pub(crate) struct Log {
    level: Handle<Targets, Registry>,
    dropped: ErrorCounter,
    losses: Losses,
}

/// Starts the log; what was logged has been written once the guard is dropped.
pub(crate) fn start() -> (WorkerGuard, Log) {
    let losses = Losses::default();
    let (writer, guard) = non_blocking(io::stderr(), losses.clone());
    let (filter, level) = Layer::new(targets(LogLevel::Info));
    let dropped = writer.error_counter();
    let lines = tracing_subscriber::fmt::layer().json().with_writer(writer);
    // A second subscriber in one process would be a fault of ours; the first one goes on then.
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(lines)
        .try_init();
    let log = Log {
        level,
        dropped,
        losses,
    };
    (guard, log)
}

impl Log {
    /// So much is logged from here on.
    pub(crate) fn turn_to(&self, level: LogLevel) {
        // It fails when there is no subscriber any more, and then nothing is logged either.
        let _ = self.level.reload(targets(level));
    }

    /// Lines that nobody took in time, or at all.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.dropped_lines() as u64 + self.losses.lines()
    }
}

fn targets(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let targets = Targets::new().with_default(level.min(LevelFilter::INFO));
    targets.with_targets(OURS.map(|ours| (ours, level)))
}

/// A writer that never blocks: beyond the lines that may wait, lines are dropped.
pub(crate) fn non_blocking(
    to: impl Sink + Send + 'static,
    losses: Losses,
) -> (NonBlocking, WorkerGuard) {
    NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING_LINES)
        .lossy(true)
        .finish(Lines::new(to, losses))
}
