//! The running process: logs, signals, and the one reload.
//!
//! Called by the commands that serve; gives back how the process ends. A reload that is refused
//! changes nothing and says why in the log.
//!
//! Source: the signals of the runtime contract.

use std::net::TcpListener;
use std::sync::Arc;

use gateway_config::Snapshot;
use gateway_pingora::{Engine, Fault, Options};
use tracing_appender::non_blocking::NonBlocking;

use crate::access_file::AccessFile;
use crate::exit::Exit;
use crate::log;
use crate::signals::{Signals, Told};
use crate::systemd::{self, Supervisor};

/// Serves `snapshot` until told to stop; `load` gives the snapshot that a reload asks for, or every
/// reason why there is none.
pub(crate) fn serve(snapshot: Snapshot, load: impl Fn() -> Result<Snapshot, String>) -> Exit {
    let inherited = systemd::inherited();
    let _log = log::start();
    let access_log = match AccessFile::open(&snapshot.model().access_log) {
        Ok(access_log) => access_log,
        Err(error) => return refuse(&format!("the access log cannot be opened: {error}")),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return refuse(&format!("no runtime: {error}")),
    };
    // Before anything is bound: a signal that comes while the nodes are asked for the first time
    // is kept, and is not the end.
    let signals = match runtime.block_on(async { Signals::new() }) {
        Ok(signals) => signals,
        Err(error) => return refuse(&format!("no signals: {error}")),
    };
    let exit = match start(snapshot, access_log.writer.clone(), inherited) {
        Ok(engine) => runtime.block_on(run(engine, signals, &access_log, load)),
        Err(fault) => return refuse(&fault.to_string()),
    };
    // A second signal does not wait for what the first one waits for.
    runtime.shutdown_background();
    exit
}

/// Does what signals tell, until the end of the work.
async fn run(
    engine: Engine,
    mut signals: Signals,
    access_log: &AccessFile,
    load: impl Fn() -> Result<Snapshot, String>,
) -> Exit {
    let supervisor = Supervisor::found();
    supervisor.is_ready(&serving(&engine, "started"));
    loop {
        match signals.next().await {
            Told::Reload => {
                supervisor.is_reloading();
                let outcome = reload(&engine, &load);
                supervisor.is_ready(&serving(&engine, outcome));
            }
            Told::Reopen => access_log.reopen(),
            Told::Stop(_) => break,
        }
    }
    tracing::info!("draining");
    supervisor.is_stopping("draining");
    engine.drain();
    let mut ended = tokio::task::spawn_blocking(|| engine.join());
    loop {
        tokio::select! {
            _ = &mut ended => return Exit::Fine,
            told = signals.next() => match told {
                Told::Stop(exit) => return exit,
                Told::Reload | Told::Reopen => {}
            },
        }
    }
}

fn start(
    snapshot: Snapshot,
    writer: Option<NonBlocking>,
    inherited: Vec<TcpListener>,
) -> Result<Engine, Fault> {
    let options = Options {
        access_log: writer,
        inherited,
        ..Options::default()
    };
    let engine = Engine::start(Arc::new(snapshot), options)?;
    say_where(&engine);
    Ok(engine)
}

/// What systemd shows of a process that serves.
fn serving(engine: &Engine, outcome: &str) -> String {
    format!("{outcome}; serving snapshot {}", engine.snapshot().hash())
}

/// One word or two for how it went; the log has the whole of it.
fn reload(engine: &Engine, load: &impl Fn() -> Result<Snapshot, String>) -> &'static str {
    let before = engine.snapshot();
    // Applied also when its text is the same: the files it names are read again.
    let applied = load().and_then(|snapshot| {
        let hash = snapshot.hash().to_owned();
        let is_same = hash == before.hash();
        let next = snapshot.with_number(before.number() + u64::from(!is_same));
        let prepared = engine
            .prepare(Arc::new(next))
            .map_err(|fault| fault.to_string())?;
        if prepared.activate().is_new_generation {
            say_where(engine);
        }
        Ok(hash)
    });
    match applied {
        Ok(hash) if hash == before.hash() => {
            tracing::info!(
                snapshot = hash,
                "reload: unchanged but for the files it names"
            );
            "reload unchanged"
        }
        Ok(hash) => {
            tracing::info!(snapshot = hash, "reload: applied");
            "reload applied"
        }
        Err(why) => {
            tracing::error!(snapshot = before.hash(), why, "reload: refused");
            "reload refused"
        }
    }
}

/// Says where each listener listens, which may be a port that the system picked.
fn say_where(engine: &Engine) {
    for (listener, addr) in engine.addresses() {
        tracing::info!(listener = &*listener, addr = %addr, "listening");
    }
}

fn refuse(why: &str) -> Exit {
    tracing::error!(why, "not started");
    eprintln!("error: {why}");
    Exit::Configuration
}
