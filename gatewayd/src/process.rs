//! The running process: logs, signals, the reload and whoever may call it.
//!
//! Called by the commands that serve; gives back how the process ends. What a change comes to is
//! left to [`reload`](crate::reload), who may ask for one to [`control`](crate::control).
//!
//! Source: the signals of the runtime contract.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;

use crate::around::Around;
use crate::cli;
use crate::control::Control;
use crate::exit::Exit;
use crate::log::Log;
use crate::pages::Seen;
use crate::reload::{Findings, Generation, Owner, Refused, Reload, Start};
use crate::signals::{Signals, Told};
use crate::state::{Found, StateDir};
use crate::systemd::{self, Supervisor};
use crate::{log, render};

/// How long the end waits for a change that is being refused.
const LAST_WORD: Duration = Duration::from_secs(1);
/// How long whoever asked for it has to hear why.
const HEARD: Duration = Duration::from_millis(50);

/// Serves what `owner` says until told to stop.
pub(crate) fn serve(owner: Box<dyn Owner>, settings: &cli::Process) -> Exit {
    let inherited: Arc<[TcpListener]> = systemd::inherited().into();
    let (_written, log) = log::start();
    match starts(owner, settings, &inherited, log) {
        Ok(running) => running.serve(),
        Err(NotStarted::Told) => {
            tracing::info!("told to end before anything was served");
            Exit::Fine
        }
        Err(NotStarted::Configuration(findings)) => {
            tracing::error!(why = findings.lines(), "not started");
            show(&findings);
            Exit::Configuration
        }
        Err(NotStarted::Otherwise(why)) => {
            tracing::error!(why, "not started");
            eprintln!("error: {why}");
            Exit::Configuration
        }
    }
}

/// Why the process does not serve.
enum NotStarted {
    Configuration(Findings),
    Otherwise(String),
    /// Somebody wanted it to end meanwhile.
    Told,
}

/// Everything that runs.
struct Running {
    runtime: tokio::runtime::Runtime,
    signals: Signals,
    around: Arc<Around>,
    reload: Arc<Reload>,
    /// Gone when the process ends, so that nobody is told a thing any more.
    control: Control,
    /// Somebody asked for the end.
    stop: mpsc::Receiver<()>,
}

fn starts(
    owner: Box<dyn Owner>,
    settings: &cli::Process,
    inherited: &Arc<[TcpListener]>,
    log: Log,
) -> Result<Running, NotStarted> {
    let because =
        |what: &str, why: &dyn std::fmt::Display| NotStarted::Otherwise(format!("{what}: {why}"));
    let state = settings.state_dir.as_deref().map(open).transpose();
    let state = state.map_err(|why| NotStarted::Otherwise(why.to_string()))?;
    let last_good = settings.last_good;
    let first = Start {
        owner,
        state,
        last_good,
    }
    .looks()
    .map_err(NotStarted::Configuration)?;
    first.warnings().iter().for_each(show);
    let around = Arc::new(Around::new(log));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|why| because("no runtime", &why))?;
    // Before anything is bound: a signal that comes while the nodes are asked for the first time
    // is heard.
    let signals = runtime.block_on(async { Signals::new() });
    let mut signals = signals.map_err(|why| because("no signals", &why))?;
    let control = Control::bind(&settings.addresses(), &settings.control)
        .map_err(|why| NotStarted::Otherwise(why.to_string()))?;
    let (around_it, inherited) = (Arc::clone(&around), Arc::clone(inherited));
    let mut start = runtime.spawn_blocking(move || first.starts(&around_it, &inherited));
    let started = runtime.block_on(async {
        tokio::select! {
            started = &mut start => Some(started),
            () = signals.stop() => None,
        }
    });
    let Some(started) = started else {
        // The nodes may be asked for longer than anybody wants to wait.
        runtime.shutdown_background();
        return Err(NotStarted::Told);
    };
    let started = started.map_err(|bug| because("a bug of ours", &bug))?;
    let reload = started.map_err(not_started)?;
    around.admin.shows(Seen::of(&reload));
    let (ask, stop) = mpsc::channel(1);
    let control = control
        .serve(&reload, ask)
        .map_err(|why| because("nobody can be heard", &why))?;
    Ok(Running {
        runtime,
        signals,
        around,
        reload,
        control,
        stop,
    })
}

fn open(path: &Path) -> Result<(StateDir, Found), crate::state::StateError> {
    let (state, found) = StateDir::open(path)?;
    tracing::info!(path = %state.path().display(), "state directory");
    for one in &found.set_aside {
        let (path, to) = (one.path.display(), one.to.display());
        tracing::error!(%path, %to, because = one.because, "set aside");
    }
    Ok((state, found))
}

fn not_started(refused: Refused) -> NotStarted {
    match refused.findings() {
        Some(findings) => NotStarted::Configuration(findings.clone()),
        None => NotStarted::Otherwise(refused.to_string()),
    }
}

fn show(findings: &Findings) {
    render::show(&findings.found, &findings.sources);
}

impl Running {
    fn serve(mut self) -> Exit {
        let exit = self.runtime.block_on(run(
            &self.reload,
            &mut self.signals,
            &self.around,
            &mut self.stop,
        ));
        self.control.ends();
        // A second signal does not wait for what the first one waits for.
        self.runtime.shutdown_background();
        self.around.close();
        exit
    }
}

/// Does what signals and callers tell, until the end of the work.
async fn run(
    reload: &Arc<Reload>,
    signals: &mut Signals,
    around: &Around,
    stop: &mut mpsc::Receiver<()>,
) -> Exit {
    let supervisor = Arc::new(Supervisor::found());
    supervisor.is_ready(&serving(reload, "started"));
    loop {
        tokio::select! {
            told = signals.next() => match told {
                Told::Reload => {
                    tokio::spawn(hang_up(Arc::clone(reload), Arc::clone(&supervisor)));
                }
                Told::Reopen => around.access_log.reopen(),
                Told::Stop(_) => break,
            },
            Some(()) = stop.recv() => break,
        }
    }
    tracing::info!("draining");
    supervisor.is_stopping("draining");
    let has_asked = reload.is_changing();
    reload.drain();
    let last = Arc::clone(reload);
    let ended = async {
        let _ = tokio::task::spawn_blocking(move || last.join()).await;
        if has_asked {
            let _ = tokio::time::timeout(LAST_WORD, reload.settles()).await;
            tokio::time::sleep(HEARD).await;
        }
    };
    let mut ended = std::pin::pin!(ended);
    loop {
        tokio::select! {
            () = &mut ended => return Exit::Fine,
            told = signals.next() => match told {
                Told::Stop(exit) => return exit,
                Told::Reload | Told::Reopen => {}
            },
        }
    }
}

/// The reload of a signal: a refusal is in the log, and nobody else is there to be told.
async fn hang_up(reload: Arc<Reload>, supervisor: Arc<Supervisor>) {
    supervisor.is_reloading();
    let outcome = match reload.reload(Generation::WhereNeeded).await {
        Ok(change) if change.is_unchanged => "reload unchanged",
        Ok(_) => "reload applied",
        Err(_) => "reload refused",
    };
    if !reload.is_draining() {
        supervisor.is_ready(&serving(&reload, outcome));
    }
}

/// What systemd shows of a process that serves.
fn serving(reload: &Reload, outcome: &str) -> String {
    format!("{outcome}; serving snapshot {}", reload.snapshot().hash())
}
