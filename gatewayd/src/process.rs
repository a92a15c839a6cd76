//! The running process: logs, signals, the reload and whoever may call it.
//!
//! Called by the commands that serve; gives back how the process ends. What a change comes to is
//! left to [`reload`](crate::reload), who may ask for one to [`control`](crate::control).
//!
//! Source: the signals of the runtime contract.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use gateway_pingora::Threshold;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinError;

use crate::around::Around;
use crate::control::{Bound, Control, NotBound};
use crate::exit::Exit;
use crate::log::Log;
use crate::pages::Seen;
use crate::reload::{Findings, Generation, Owner, Refused, Reload, Start};
use crate::signals::{Signals, Told};
use crate::state::{Found, StateDir};
use crate::systemd::{self, Supervisor};
use crate::{cli, clock, log, render};

/// From one look at the state directory, and at the access log, to the next; and whether it is time to
/// look at certificates.
const LOOK: Duration = Duration::from_secs(1);
/// How long the end waits for a change that is being refused.
const LAST_WORD: Duration = Duration::from_secs(1);

/// Serves what `owner` says until told to stop.
pub(crate) fn serve(owner: Box<dyn Owner>, settings: &cli::Process) -> Exit {
    let inherited = systemd::inherited();
    let (_written, log) = log::start();
    match starts(owner, settings, inherited, log) {
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
    inherited: Vec<TcpListener>,
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
    let control = hears(settings).map_err(|why| NotStarted::Otherwise(why.to_string()))?;
    let around_it = Arc::clone(&around);
    let start = move |threshold: &_| first.starts(&around_it, &inherited, threshold);
    let (ask, stop) = mpsc::channel(1);
    let started = runtime.block_on(unless_told(&mut signals, &ask, start));
    let Some(started) = started else {
        // The nodes may be asked for longer than anybody wants to wait.
        runtime.shutdown_background();
        return Err(NotStarted::Told);
    };
    let started = started.map_err(|bug| because("a bug of ours", &bug))?;
    let reload = started.map_err(not_started)?;
    around.admin.shows(Seen::of(&reload));
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

/// Starts; `None` when the process is told to end before anybody could connect. After that the end is
/// asked for, and is the one of a process that serves.
async fn unless_told<T: Send + 'static>(
    signals: &mut Signals,
    ask: &mpsc::Sender<()>,
    start: impl FnOnce(&Arc<Threshold>) -> T + Send + 'static,
) -> Option<Result<T, JoinError>> {
    let threshold = Arc::<Threshold>::default();
    let crosses = Arc::clone(&threshold);
    let mut started = tokio::task::spawn_blocking(move || start(&crosses));
    tokio::select! {
        started = &mut started => return Some(started),
        () = signals.stop() => {}
    }
    if threshold.is_shut() {
        return None;
    }
    let _ = ask.try_send(());
    Some(started.await)
}

/// Who may tell the process something. Nobody, where the socket would be in the state directory only, and
/// that takes nothing: what is served does not depend on it.
fn hears(settings: &cli::Process) -> Result<Bound, NotBound> {
    match Control::bind(&settings.addresses(), &settings.control) {
        Err(why @ NotBound::Disk { .. }) if settings.control.at.is_empty() => {
            tracing::error!(%why, "nobody can tell the process anything");
            Control::bind(&[], &settings.control)
        }
        bound => bound,
    }
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
    let hangup = Arc::new(Notify::new());
    let hangs_up = hang_up(
        Arc::clone(reload),
        Arc::clone(&supervisor),
        Arc::clone(&hangup),
    );
    tokio::spawn(hangs_up);
    look_after_state(reload);
    look_at_files(reload);
    loop {
        tokio::select! {
            told = signals.next() => match told {
                Told::Reload => hangup.notify_one(),
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

/// The reloads of signals, one after the other: a refusal is in the log, and nobody else is there to be
/// told. Signals that come during one are one reload after it, which reads what is there then; systemd
/// takes `READY` for the end of the reload it was told of last, so none is told of before its turn.
async fn hang_up(reload: Arc<Reload>, supervisor: Arc<Supervisor>, hangup: Arc<Notify>) {
    loop {
        hangup.notified().await;
        supervisor.is_reloading();
        let outcome = match reload.reload(Generation::WhereNeeded).await {
            Ok(change) if change.is_unchanged => "reload unchanged",
            Ok(_) => "reload applied",
            Err(_) => "reload refused",
        };
        if reload.is_draining() {
            return;
        }
        supervisor.is_ready(&serving(&reload, outcome));
    }
}

/// Looks again and again whether the state directory is where it was, where there is one.
///
/// On a thread of its own: a disk may take its time, and a look each second would keep alive whatever
/// threads of the runtime once waited for something else.
fn look_after_state(reload: &Arc<Reload>) {
    let it = Arc::downgrade(reload);
    let looks = move || {
        while let Some(reload) = it.upgrade() {
            reload.looks_after_state();
            drop(reload);
            thread::sleep(LOOK);
        }
    };
    let thread = thread::Builder::new().name("state".into());
    if reload.has_state()
        && let Err(why) = thread.spawn(looks)
    {
        tracing::error!(%why, "nobody looks after the state directory");
    }
}

/// Looks at the access log, and at the files of certificates as often as the configuration wants it, on a
/// thread of its own for the same reason.
fn look_at_files(reload: &Arc<Reload>) {
    let it = Arc::downgrade(reload);
    let looks = move || {
        let mut looked: Option<Instant> = None;
        while let Some(reload) = it.upgrade() {
            reload.looks_after_access_log();
            let every = reload.snapshot().model().limits.certificate_poll;
            let now = clock::now();
            if looked.is_none_or(|looked| now.saturating_duration_since(looked) >= every) {
                reload.looks_at_certificates();
                looked = Some(now);
            }
            drop(reload);
            thread::sleep(LOOK);
        }
    };
    let thread = thread::Builder::new().name("files".into());
    if let Err(why) = thread.spawn(looks) {
        tracing::error!(%why, "nobody looks at the access log and at certificates again");
    }
}

/// What systemd shows of a process that serves.
fn serving(reload: &Reload, outcome: &str) -> String {
    format!("{outcome}; serving snapshot {}", reload.snapshot().hash())
}
