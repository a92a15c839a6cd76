//! A stand-in node in a process of its own, so that it can be stopped by a signal as a real one is.

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gateway_tests::log::Lines;
use gateway_tests::node::{Node, Store};
use gateway_tests::wait;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::bodies::{Bodies, number_of};
use crate::ledger::Ledger;
use crate::weather::lock;

/// The name of the node, and the argument that makes this program be one.
pub(crate) const NAME: &str = "node";
/// How often it tells what it saw.
const TELLS: Duration = Duration::from_millis(100);

/// Is the node: says where it listens, then what it saw, until it is killed.
pub(crate) fn serve() -> ExitCode {
    // Also when it is stopped, it ends with who started it.
    if let Err(error) = set_pdeathsig(Signal::SIGKILL) {
        eprintln!("node: {error}");
        return ExitCode::FAILURE;
    }
    let node = Node::start(NAME, Arc::new(Store::default()), None);
    node.closes_after_requests(usize::MAX);
    println!("{}", node.addr());
    loop {
        let (requests, fragments) = node.tells();
        for number in requests
            .iter()
            .filter_map(|seen| number_of(seen, NAME).ok().flatten())
        {
            println!("{number}");
        }
        for wrong in requests
            .iter()
            .filter_map(|seen| number_of(seen, NAME).err())
        {
            println!("{wrong}");
        }
        for number in fragments
            .iter()
            .filter_map(|bytes| crate::bodies::number_in(bytes))
        {
            println!("{number}");
        }
        if std::io::stdout().flush().is_err() {
            return ExitCode::FAILURE;
        }
        wait::maybe(TELLS, || None::<()>);
    }
}

/// The node, seen from the soak.
#[derive(Debug)]
pub(crate) struct Remote {
    child: Mutex<Child>,
    lines: Arc<Lines>,
    read: Mutex<usize>,
    /// Where it listens.
    pub(crate) addr: SocketAddr,
}

impl Remote {
    /// Starts it.
    pub(crate) fn start() -> Self {
        let this = std::env::current_exe().expect("the path of this program");
        let mut child = Command::new(this)
            .arg(NAME)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts again");
        let lines = Lines::follow(child.stdout.take().expect("a piped stdout"));
        let addr = wait::value("the address of the node", wait::SOON, || {
            lines.after(0).first()?.parse().ok()
        });
        Self {
            child: Mutex::new(child),
            lines,
            read: Mutex::new(1),
            addr,
        }
    }

    /// Stops its process, or lets it go on.
    pub(crate) fn is_frozen(&self, is_frozen: bool) {
        let id = i32::try_from(lock(&self.child).id()).expect("a process id");
        let signal = if is_frozen {
            Signal::SIGSTOP
        } else {
            Signal::SIGCONT
        };
        kill(Pid::from_raw(id), signal).expect("a child of ours");
    }

    /// Counts what it saw since it was last counted.
    pub(crate) fn count(&self, bodies: &Bodies, ledger: &Ledger) {
        let mut read = lock(&self.read);
        for line in self.lines.after(*read) {
            *read += 1;
            match line.parse() {
                Ok(number) => bodies.saw(NAME, number, ledger),
                Err(_) => ledger.differs(line),
            }
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        let _ = child.kill();
        let _ = child.wait();
    }
}
