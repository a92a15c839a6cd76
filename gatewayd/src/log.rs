//! The log: JSON lines on the standard error, written by somebody who may wait for its reader.

use std::io::{self, Write};

use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

/// Lines that may wait to be written; beyond it they are dropped, never waited for.
const WAITING_LINES: usize = 8_192;

/// Starts the log; what was logged has been written once the guard is dropped.
pub(crate) fn start() -> WorkerGuard {
    let (writer, guard) = non_blocking(io::stderr());
    // A second subscriber in one process would be a fault of ours; the first one goes on then.
    let _ = tracing_subscriber::fmt()
        .json()
        .with_writer(writer)
        .try_init();
    guard
}

/// A writer that never blocks: beyond the lines that may wait, lines are dropped.
pub(crate) fn non_blocking(to: impl Write + Send + 'static) -> (NonBlocking, WorkerGuard) {
    NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING_LINES)
        .lossy(true)
        .finish(to)
}
