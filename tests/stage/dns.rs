//! A name server on loopback that means what it is told, and fails in whatever way it is told to.
//!
//! UDP, addresses of IPv4 only, one question a message: what a resolver asks for a host name.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::clock;

/// A running name server.
#[derive(Debug)]
pub struct NameServer {
    addr: SocketAddr,
    zone: Arc<Mutex<Zone>>,
}

#[derive(Debug, Default)]
struct Zone {
    names: BTreeMap<String, (Vec<Ipv4Addr>, u32)>,
    mood: Mood,
    asked: BTreeMap<String, usize>,
    waiting: Vec<(Instant, String, SocketAddr, Vec<u8>)>,
    most_at_once: usize,
    is_over: bool,
}

/// How questions are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mood {
    /// By what was told.
    #[default]
    Answers,
    /// With SERVFAIL.
    Fails,
    /// Not at all.
    Silent,
    /// As told, after so long.
    Slow(Duration),
}

const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// RFC 1035 §3.2.2.
const A: u16 = 1;
/// RFC 1035 §4.1.1.
const SERVFAIL: u8 = 2;
const NXDOMAIN: u8 = 3;

impl NameServer {
    /// Starts one that knows no name.
    #[must_use]
    pub fn start() -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let addr = socket.local_addr().expect("a bound socket has an address");
        let zone = Arc::new(Mutex::new(Zone::default()));
        let serves = Arc::clone(&zone);
        thread::spawn(move || serve(&socket, &serves));
        Self { addr, zone }
    }

    /// Where it is.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// From here on the name means these addresses, for so many seconds.
    pub fn says(&self, name: &str, addresses: &[[u8; 4]], ttl: u32) {
        let addresses = addresses.iter().copied().map(Ipv4Addr::from).collect();
        self.zone().names.insert(name.to_owned(), (addresses, ttl));
    }

    /// Answers nothing from here on.
    pub fn falls_silent(&self) {
        self.zone().mood = Mood::Silent;
    }

    /// Answers every question with a failure from here on.
    pub fn fails(&self) {
        self.zone().mood = Mood::Fails;
    }

    /// Knows no name any more.
    pub fn forgets(&self) {
        self.zone().names.clear();
    }

    /// Takes so long for each answer from here on.
    pub fn slows_down(&self, by: Duration) {
        self.zone().mood = Mood::Slow(by);
    }

    /// Answers at once again.
    pub fn comes_back(&self) {
        self.zone().mood = Mood::Answers;
    }

    /// How often it was asked for an address of IPv4 of this name.
    #[must_use]
    pub fn asked(&self, name: &str) -> usize {
        self.zone().asked.get(name).copied().unwrap_or(0)
    }

    /// How many names it was asked for.
    #[must_use]
    pub fn names_asked(&self) -> usize {
        self.zone().asked.len()
    }

    /// The most names that ever waited for an answer at the same time.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.zone().most_at_once
    }

    fn zone(&self) -> MutexGuard<'_, Zone> {
        lock(&self.zone)
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.zone().is_over = true;
    }
}

fn lock(zone: &Mutex<Zone>) -> MutexGuard<'_, Zone> {
    zone.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(socket: &UdpSocket, zone: &Mutex<Zone>) {
    let waits = socket.set_read_timeout(Some(LOOK_AGAIN));
    waits.expect("a time limit for a socket");
    let mut message = [0; 1_500];
    while !lock(zone).is_over {
        if let Ok((length, from)) = socket.recv_from(&mut message) {
            lock(zone).take(&message[..length], from);
        }
        for (to, answer) in lock(zone).due() {
            let _ = socket.send_to(&answer, to);
        }
    }
}

impl Zone {
    fn take(&mut self, question: &[u8], from: SocketAddr) {
        let Some((name, kind, end)) = asked(question) else {
            return;
        };
        if kind == A {
            *self.asked.entry(name.clone()).or_default() += 1;
        }
        let known = self.names.get(&name);
        let (code, addresses, ttl) = match (self.mood, known) {
            (Mood::Silent, _) => return,
            (Mood::Fails, _) => (SERVFAIL, &[][..], 0),
            (Mood::Answers | Mood::Slow(_), None) => (NXDOMAIN, &[][..], 0),
            (Mood::Answers | Mood::Slow(_), Some((all, ttl))) if kind == A => (0, &all[..], *ttl),
            (Mood::Answers | Mood::Slow(_), Some(_)) => (0, &[][..], 0),
        };
        let answer = answer(&question[..end], code, addresses, ttl);
        let after = match self.mood {
            Mood::Slow(by) => by,
            Mood::Answers | Mood::Fails | Mood::Silent => Duration::ZERO,
        };
        self.waiting
            .push((clock::now() + after, name, from, answer));
        let names: BTreeSet<&String> = self.waiting.iter().map(|(_, name, ..)| name).collect();
        self.most_at_once = self.most_at_once.max(names.len());
    }

    fn due(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let now = clock::now();
        let is_due = |one: &mut (Instant, String, SocketAddr, Vec<u8>)| one.0 <= now;
        let due = self.waiting.extract_if(.., is_due);
        due.map(|(_, _, to, answer)| (to, answer)).collect()
    }
}

/// The name and the type asked for, and where the question ends. RFC 1035 §4.1.2.
fn asked(message: &[u8]) -> Option<(String, u16, usize)> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        let label = message.get(at..at + length)?;
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
    (message.len() >= at + 4).then(|| (labels.join("."), kind, at + 4))
}

/// RFC 1035 §4.1: the same header and question, and these addresses.
fn answer(question: &[u8], code: u8, addresses: &[Ipv4Addr], ttl: u32) -> Vec<u8> {
    let mut answer = question.to_vec();
    // An answer, recursion wanted and available.
    answer[2] = 0x81;
    answer[3] = 0x80 | code;
    answer[4..12].copy_from_slice(&[0, 1, 0, addresses.len() as u8, 0, 0, 0, 0]);
    for address in addresses {
        // The name is the one asked for: a pointer to behind the header. Then A, IN.
        answer.extend([0xC0, 12, 0, 1, 0, 1]);
        answer.extend(ttl.to_be_bytes());
        answer.extend([0, 4]);
        answer.extend(address.octets());
    }
    answer
}
