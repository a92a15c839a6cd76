//! The start: which snapshot is served first.
//!
//! What its owner says, or else, where that is allowed, the last one that was good; for the
//! interface, which cannot be asked before it is there, the last one that was applied, or nothing.
//!
//! Source: adr/0034.

use std::net::TcpListener;
use std::num::NonZeroU16;

use gateway_config::model::Model;
use gateway_pingora::{Options, Threshold};

use super::*;
use crate::origin::Outcome;
use crate::state::Found;

/// What a start needs to know.
pub(crate) struct Start {
    /// Who says what is served.
    pub(crate) owner: Box<dyn Owner>,
    /// The state directory, and what was found in it.
    pub(crate) state: Option<(StateDir, Found)>,
    /// A configuration that cannot be served is answered with the last one that could.
    pub(crate) last_good: bool,
}

/// What is to be served first, and what stands behind it.
pub(crate) struct First {
    owner: Box<dyn Owner>,
    state: Option<StateDir>,
    /// What may be served, the best first.
    candidates: Vec<Candidate>,
    /// Why the best is not what it should be.
    not_as_said: Vec<String>,
    overrides: Overrides,
    not_remembered: Option<String>,
    last: u64,
    /// What was kept when the process before ended.
    before: Option<Kept>,
}

/// Something that may be served.
struct Candidate {
    loaded: Loaded,
    sources: gateway_config::Sources,
    documents: Option<Vec<Document>>,
    /// Its number, where it has one.
    kept: Option<u64>,
}

/// What a kept snapshot says.
pub(super) fn said(kept: &Kept) -> Said {
    let name = format!("snapshot {}", kept.number);
    Said::of(bundle::documents(&kept.text, &name), &[])
}

impl Start {
    /// Finds what may be served.
    ///
    /// # Errors
    /// What its owner says, where that cannot be served and nothing else may be.
    pub(crate) fn looks(self) -> Result<First, Findings> {
        let (state, found) = self.state.unzip();
        let found = found.unwrap_or_default();
        let (not_remembered, not_active) = (found.not_remembered(), found.not_active());
        let mut first = First {
            owner: self.owner,
            candidates: Vec::new(),
            not_as_said: Vec::new(),
            overrides: found.overrides,
            not_remembered,
            last: found.last,
            before: found.active,
            state,
        };
        let is_api = first.owner.who().takes_apply();
        if is_api {
            first.not_as_said.extend(not_active);
        }
        if !is_api {
            let said = first.owner.says(&[]);
            if let Err(findings) = first.may_be(said, None) {
                if !self.last_good {
                    return Err(findings);
                }
                first.not_as_said.push(findings.lines());
                first.add_kept();
                if first.candidates.is_empty() {
                    return Err(findings);
                }
            } else if self.last_good {
                first.add_kept();
            }
        } else {
            first.add_kept();
            first.add_nothing();
        }
        Ok(first)
    }
}

impl First {
    /// What somebody should know about it.
    pub(crate) fn warnings(&self) -> Option<Findings> {
        self.candidates.first().map(|one| Findings {
            found: one.loaded.warnings.clone(),
            sources: one.sources.clone(),
        })
    }

    /// Serves the best that can be served.
    ///
    /// # Errors
    /// Why the last one could not be.
    pub(crate) fn starts(
        mut self,
        around: &Arc<Around>,
        inherited: &[TcpListener],
        threshold: &Arc<Threshold>,
    ) -> Result<Arc<Reload>, Refused> {
        let mut refused = Refused::NothingBefore;
        for candidate in std::mem::take(&mut self.candidates) {
            let number = candidate.number(self.last, self.before.as_ref());
            let snapshot = Arc::new(candidate.loaded.snapshot.clone().with_number(number));
            let next = match around.next(snapshot.model()) {
                Ok(next) => next,
                Err(why) => {
                    refused = Refused::of_around(&why, &candidate.loaded, &candidate.sources);
                    self.not_as_said.push(refused.to_string());
                    continue;
                }
            };
            let options = Options {
                access_log: next.writer().flatten(),
                workers: self.overrides.workers.and_then(NonZeroU16::new),
                drained: self.overrides.drained.iter().cloned().collect(),
                inherited: inherited
                    .iter()
                    .filter_map(|one| one.try_clone().ok())
                    .collect(),
                threshold: Arc::clone(threshold),
            };
            match Engine::start(snapshot, options) {
                Ok(engine) => {
                    around.turn_to(next);
                    return Ok(self.runs(candidate, engine, around));
                }
                Err(fault) => {
                    refused = Refused::of_fault(fault, &candidate.loaded, &candidate.sources);
                    self.not_as_said.push(refused.to_string());
                }
            }
        }
        Err(refused)
    }

    fn runs(mut self, candidate: Candidate, engine: Engine, around: &Arc<Around>) -> Arc<Reload> {
        say_where(&engine);
        let (at, snapshot) = (clock::wall(), engine.snapshot());
        let (number, hash) = (snapshot.number(), snapshot.hash().to_owned());
        let known = self.before.filter(|before| before.number == number);
        let since = known.as_ref().map_or(at, |known| known.at);
        let who = self.owner.who();
        let mut not_kept = None;
        if known.is_none()
            && number > self.last
            && let Some(state) = &self.state
        {
            let text = snapshot.canonical();
            let kept = state.keep(&Kept {
                number,
                hash: hash.clone(),
                text,
                at,
            });
            not_kept = kept.err().map(|why| why.to_string());
        }
        if let Some(documents) = &candidate.documents {
            let _ = self.owner.is_told(documents);
        }
        for why in self.not_as_said.iter().chain(&not_kept) {
            tracing::error!(why, "degraded");
        }
        let differs = candidate.kept.is_some() && !who.takes_apply();
        Arc::new(Reload {
            around: Arc::clone(around),
            state: self.state,
            who,
            turn: Arc::new(tokio::sync::Mutex::new(Turn {
                owner: self.owner,
                last: self.last.max(number),
            })),
            status: Mutex::new(Status {
                active: Active {
                    number,
                    hash,
                    since,
                    differs,
                },
                overrides: self.overrides,
                not_as_said: self.not_as_said,
                not_kept,
                not_remembered: self.not_remembered,
                away: None,
                access_log: None,
                certificates: engine.broken_certificates(),
                refusal: None,
                applied: 0,
                unchanged: 0,
            }),
            events: broadcast::Sender::new(EVENTS),
            is_draining: AtomicBool::new(false),
            turning: Mutex::new(()),
            engine: Arc::new(engine),
        })
    }

    fn may_be(&mut self, said: Said, kept: Option<u64>) -> Result<(), Findings> {
        let Outcome { sources, result } = said.outcome;
        match result {
            Ok(loaded) => {
                let documents = said.documents;
                self.candidates.push(Candidate {
                    loaded,
                    sources,
                    documents,
                    kept,
                });
                Ok(())
            }
            Err(found) => Err(Findings { found, sources }),
        }
    }

    /// What is kept, the active one and those before it.
    fn add_kept(&mut self) {
        let kept = self.state.as_ref().map(StateDir::snapshots);
        let active = self.before.as_ref().map_or(0, |before| before.number);
        let kept = kept.and_then(Result::ok).unwrap_or_default();
        for one in kept.iter().filter(|one| one.number <= active) {
            if let Err(findings) = self.may_be(said(one), Some(one.number)) {
                let why = format!(
                    "snapshot {} cannot be served: {}",
                    one.number,
                    findings.lines()
                );
                self.not_as_said.push(why);
            }
        }
    }

    /// Nothing at all, until somebody applies something.
    fn add_nothing(&mut self) {
        let loaded = Loaded {
            snapshot: Snapshot::new(Model::new()),
            warnings: Vec::new(),
            files: Vec::new(),
            origin: gateway_config::Origin::default(),
        };
        let sources = gateway_config::Sources::default();
        let (documents, kept) = (None, Some(0));
        self.candidates.push(Candidate {
            loaded,
            sources,
            documents,
            kept,
        });
    }
}

impl Candidate {
    /// The number it is served with: the one it has, or the next.
    fn number(&self, last: u64, before: Option<&Kept>) -> u64 {
        let same = before.filter(|before| before.hash == self.loaded.snapshot.hash());
        let known = self.kept.or(same.map(|before| before.number));
        known.unwrap_or(last + 1)
    }
}
