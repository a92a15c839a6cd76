//! The running process: logs, signals, and the one reload.
//!
//! Called by the commands that serve; gives back how the process ends. A reload that is refused
//! changes nothing and says why in the log.
//!
//! Source: the signals of the runtime contract.

use std::fs::OpenOptions;
use std::io;
use std::sync::Arc;

use gateway_config::Snapshot;
use gateway_config::model::AccessLog;
use gateway_pingora::{Engine, Fault};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tracing_appender::non_blocking::{NonBlocking, WorkerGuard};

use crate::exit::Exit;

/// Log lines that may wait to be written; beyond it they are dropped, never waited for.
const WAITING_LINES: usize = 8_192;

/// Serves `snapshot` until told to stop; `load` gives the snapshot that a reload asks for, or every
/// reason why there is none.
pub(crate) fn serve(snapshot: Snapshot, load: impl Fn() -> Result<Snapshot, String>) -> Exit {
    let _log = start_log();
    let access_log = match open_access_log(&snapshot.model().access_log) {
        Ok(access_log) => access_log,
        Err(error) => return refuse(&format!("the access log cannot be opened: {error}")),
    };
    let (writer, _access_log) = access_log.unzip();
    match start(snapshot, writer) {
        Ok(engine) => match run(engine, load) {
            Ok(exit) => exit,
            Err(error) => refuse(&format!("signals cannot be received: {error}")),
        },
        Err(fault) => refuse(&fault.to_string()),
    }
}

fn start(snapshot: Snapshot, writer: Option<NonBlocking>) -> Result<Engine, Fault> {
    let engine = Engine::start(Arc::new(snapshot), writer)?;
    for (listener, addr) in engine.addresses() {
        tracing::info!(listener = &**listener, addr = %addr, "listening");
    }
    Ok(engine)
}

/// Waits for signals until the process has ended its work.
fn run(engine: Engine, load: impl Fn() -> Result<Snapshot, String>) -> io::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        let mut hangup = signal(SignalKind::hangup())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        while !stops(&mut hangup, &mut interrupt, &mut terminate).await {
            reload(&engine, &load);
        }
        tracing::info!("draining");
        engine.drain();
        let ended = tokio::task::spawn_blocking(|| engine.join());
        Ok(tokio::select! {
            _ = ended => Exit::Fine,
            _ = interrupt.recv() => Exit::Interrupted,
            _ = terminate.recv() => Exit::Terminated,
        })
    });
    // A second signal does not wait for what the first one waits for.
    runtime.shutdown_background();
    ended
}

/// Whether the next signal asks for the end.
async fn stops(hangup: &mut Signal, interrupt: &mut Signal, terminate: &mut Signal) -> bool {
    tokio::select! {
        _ = hangup.recv() => false,
        _ = interrupt.recv() => true,
        _ = terminate.recv() => true,
    }
}

fn reload(engine: &Engine, load: &impl Fn() -> Result<Snapshot, String>) {
    let before = engine.snapshot();
    let applied = load().and_then(|snapshot| {
        let hash = snapshot.hash().to_owned();
        if hash != before.hash() {
            let next = snapshot.with_number(before.number() + 1);
            engine
                .apply(Arc::new(next))
                .map_err(|fault| fault.to_string())?;
        }
        Ok(hash)
    });
    match applied {
        Ok(hash) if hash == before.hash() => tracing::info!(snapshot = hash, "reload: unchanged"),
        Ok(hash) => tracing::info!(snapshot = hash, "reload: applied"),
        Err(why) => tracing::error!(snapshot = before.hash(), why, "reload: refused"),
    }
}

fn start_log() -> WorkerGuard {
    let (writer, guard) = non_blocking(io::stderr());
    // A second subscriber in one process would be a fault of ours; the first one goes on then.
    let _ = tracing_subscriber::fmt()
        .json()
        .with_writer(writer)
        .try_init();
    guard
}

fn open_access_log(to: &AccessLog) -> io::Result<Option<(NonBlocking, WorkerGuard)>> {
    Ok(match to {
        AccessLog::File(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path)?;
            Some(non_blocking(file))
        }
        AccessLog::Off => None,
        AccessLog::Stdout => Some(non_blocking(io::stdout())),
    })
}

fn non_blocking(to: impl io::Write + Send + 'static) -> (NonBlocking, WorkerGuard) {
    tracing_appender::non_blocking::NonBlockingBuilder::default()
        .buffered_lines_limit(WAITING_LINES)
        .lossy(true)
        .finish(to)
}

fn refuse(why: &str) -> Exit {
    tracing::error!(why, "not started");
    eprintln!("error: {why}");
    Exit::Configuration
}
