//! Where a configuration comes from, so that it can be read at start and again at a reload.
//!
//! Flags become a text of their own, one flag a line, so that a diagnostic points at a flag as it
//! points into a file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gateway_config::capability::unserved;
use gateway_config::front_door::{self, FrontDoor, Process};
use gateway_config::model::{AccessLog, PairFiles};
use gateway_config::{
    Diagnostic, Loaded, Place, Placed, Severity, Sources, check_files, codes, load_all_for,
    load_sources_for, value,
};
use gateway_pingora::{CAPABILITIES, check_certificates, check_names, check_suites, live_with};

use crate::cli::{self, Given};

/// A configuration that was read, or the reasons why not, with the texts both point into.
pub(crate) struct Outcome {
    /// The texts.
    pub(crate) sources: Sources,
    /// The snapshot with its warnings, or what refuses it.
    pub(crate) result: Result<Loaded, Vec<Diagnostic>>,
}

/// A text of a configuration, from somebody who does not write it into a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// What it is called; paths in it are relative to this name's directory.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
}

impl Given {
    /// Reads it. Nothing is remembered: reading again is a reload.
    pub(crate) fn load(&self) -> Outcome {
        let mut sources = Sources::default();
        let result = match self {
            Self::Files(paths) => {
                let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
                load_all_for(&paths, Some(CAPABILITIES), &mut sources)
            }
            Self::FrontDoor(flags) => {
                let (door, process, wrong) = options(flags, &mut sources);
                let expanded = front_door::expand(&door, &process, &mut sources);
                match expanded {
                    Ok(loaded) if wrong.is_empty() => Ok(loaded),
                    Ok(loaded) => Err(together(wrong, loaded.warnings)),
                    Err(mut found) => {
                        // An upstream that cannot be read is one that was meant.
                        let is_meant = |one: &Diagnostic| one.code == codes::NO_UPSTREAM_PARTS;
                        let is_meant = wrong.iter().any(is_meant);
                        found.retain(|one| !is_meant || one.code != codes::NO_NODE);
                        Err(together(wrong, found))
                    }
                }
            }
        };
        Outcome { sources, result }
    }

    /// Reads it and looks at the files it names, as who only checks does.
    pub(crate) fn load_with_files(&self) -> Outcome {
        self.load().with_files()
    }

    /// Reads it and looks at the files it names, as everything that starts does.
    pub(crate) fn load_for_serving(&self, shown: &[PairFiles]) -> Outcome {
        self.load().for_serving(shown)
    }
}

impl Outcome {
    /// Reads these documents, which are one configuration together.
    pub(crate) fn of(documents: &[Document]) -> Self {
        let mut sources = Sources::default();
        let add = |one: &Document| sources.add(&one.name, one.text.clone());
        let ids: Vec<_> = documents.iter().map(add).collect();
        let result = load_sources_for(&ids, CAPABILITIES, &mut sources);
        Outcome { sources, result }
    }

    /// Looks into the files it names, each of which has to be as it should.
    pub(crate) fn with_files(self) -> Self {
        self.judged(found_with_files)
    }

    /// Looks into the files it names, as everything that is served does: a certificate among several
    /// that cannot be used is lived with, and so is one in whose place another is `shown`.
    pub(crate) fn for_serving(self, shown: &[PairFiles]) -> Self {
        self.judged(|loaded, sources| live_with(loaded, found_with_files(loaded, sources), shown))
    }

    /// Refuses what the data plane of this build does not execute, a finding for each setting.
    pub(crate) fn served(self) -> Self {
        self.judged(|loaded, sources| unserved(loaded, CAPABILITIES, sources))
    }

    /// Adds what else is found in a configuration that makes sense; an error refuses it.
    fn judged(self, judge: impl Fn(&Loaded, &Sources) -> Vec<Diagnostic>) -> Self {
        let Self { sources, result } = self;
        let result = result.and_then(|loaded| {
            let found = judge(&loaded, &sources);
            let is_refused = found.iter().any(|one| one.severity == Severity::Error);
            let warnings = together(found, loaded.warnings);
            match is_refused {
                true => Err(warnings),
                false => Ok(Loaded { warnings, ..loaded }),
            }
        });
        Self { sources, result }
    }
}

fn found_with_files(loaded: &Loaded, sources: &Sources) -> Vec<Diagnostic> {
    let mut found = unserved(loaded, CAPABILITIES, sources);
    found.extend(check_files(&loaded.files));
    found.extend(check_certificates(&loaded.files));
    found.extend(check_names(loaded));
    found.extend(check_suites(loaded));
    found
}

fn together(mut found: Vec<Diagnostic>, more: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.extend(more);
    Diagnostic::sort(&mut found);
    found
}

/// The `gateway.toml` that asks for the same front door, from whatever directory it is loaded.
pub(crate) fn printed(flags: &cli::FrontDoor) -> String {
    let (mut door, process, _) = options(flags, &mut Sources::default());
    if let Some(cluster) = &mut door.cluster {
        cluster.value = absolute(&cluster.value);
    }
    door.to_toml(&process)
}

/// What the flags say, with places; and what is wrong with single ones.
fn options(flags: &cli::FrontDoor, sources: &mut Sources) -> (FrontDoor, Process, Vec<Diagnostic>) {
    let line = Line::new(flags);
    let id = sources.add("command line", line.text.clone());
    let place = |flag: &str| sources.place(id, line.span(flag, 0));
    let time = |flag: &str, time: Option<Duration>| time.map(|time| Placed::new(time, place(flag)));
    let number = |flag: &str, number: Option<u64>| number.map(|n| Placed::new(n, place(flag)));
    let path = |flag: &str, path: &Option<String>| {
        let path = path.as_ref()?;
        Some(Placed::new(absolute(Path::new(path)), place(flag)))
    };
    let switch = |flag: &str, is_set: bool| is_set.then(|| place(flag));
    let mut door = FrontDoor::new(Placed::new("front-door".to_owned(), place(COMMAND)));
    door.listen = flags
        .addr
        .clone()
        .map(|addr| Placed::new(addr, place(ADDR)));
    door.cluster = flags
        .cluster
        .as_ref()
        .map(|path| Placed::new(path.into(), place("--cluster")));
    door.no_ddl = switch("--no-ddl", flags.no_ddl);
    door.allow_ops = switch("--allow-ops", flags.allow_ops);
    door.query_timeout = time("--query-timeout", flags.query_timeout);
    door.max_retries = number("--max-retries", flags.max_retries);
    door.in_flight = number("--in-flight", flags.in_flight);
    door.queue_wait = time("--queue-wait", flags.queue_wait);
    door.connect_timeout = time("--connect-timeout", flags.connect_timeout);
    door.health_interval = time("--health-interval", flags.health_interval);
    door.health_timeout = time("--health-timeout", flags.health_timeout);
    door.health_fail = number("--health-fail", flags.health_fail);
    door.health_pass = number("--health-pass", flags.health_pass);
    door.tls_cert = path("--tls-cert", &flags.tls_cert);
    door.tls_key = path("--tls-key", &flags.tls_key);
    door.upstream_ca = path("--upstream-ca", &flags.upstream_ca);
    door.insecure_skip_verify = switch("--insecure-skip-verify", flags.insecure_skip_verify);
    door.insecure_no_tls = switch("--insecure-no-tls", flags.insecure_no_tls);
    door.trust_forwarded_for = switch("--trust-forwarded-for", flags.trust_forwarded_for);
    door.read_timeout = time("--read-timeout", flags.read_timeout);
    let mut wrong = Vec::new();
    for (index, text) in flags.upstream.iter().enumerate() {
        let place: Place = sources.place(id, line.span("--upstream", index));
        match front_door::split_upstream(&Placed::new(text.clone(), place)) {
            Ok(upstream) => door.upstreams.push(upstream),
            Err(found) => wrong.push(found),
        }
    }
    wrong.extend(no_paths(flags, &place));
    let log = flags.access_log.clone();
    let log = log.map(|text| access_log(&Placed::new(text, place("--access-log"))));
    let process = Process {
        workers: number("--workers", flags.workers),
        access_log: log.and_then(|log| log.map_err(|found| wrong.push(found)).ok()),
    };
    (door, process, wrong)
}

/// What is wrong with flags that name no file.
fn no_paths(flags: &cli::FrontDoor, place: &dyn Fn(&str) -> Place) -> Vec<Diagnostic> {
    let paths = [
        ("--cluster", &flags.cluster),
        ("--tls-cert", &flags.tls_cert),
        ("--tls-key", &flags.tls_key),
        ("--upstream-ca", &flags.upstream_ca),
    ];
    let wrong = paths.iter().filter_map(|(flag, path)| {
        let text = Placed::new((*path).clone()?, place(flag));
        front_door::check_path(&text).err()
    });
    wrong.collect()
}

fn access_log(text: &Placed<String>) -> Result<Placed<AccessLog>, Diagnostic> {
    let log = match front_door::access_log(text)? {
        AccessLog::File(path) => AccessLog::File(absolute(&path)),
        word => word,
    };
    Ok(Placed::new(log, text.place.clone()))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Names of the two pieces of the command line that are no flags.
const COMMAND: &str = "front-door";
const ADDR: &str = "ADDR";

/// The command line as a text, and where in it each flag stands.
struct Line {
    text: String,
    spans: Vec<(&'static str, Range<usize>)>,
}

impl Line {
    fn new(flags: &cli::FrontDoor) -> Self {
        let mut line = Self {
            text: String::new(),
            spans: Vec::new(),
        };
        line.push(COMMAND, COMMAND);
        line.value(ADDR, flags.addr.as_deref());
        line.value("--cluster", flags.cluster.as_deref());
        for upstream in &flags.upstream {
            line.value("--upstream", Some(upstream));
        }
        for (flag, is_set) in [
            ("--no-ddl", flags.no_ddl),
            ("--allow-ops", flags.allow_ops),
            ("--insecure-skip-verify", flags.insecure_skip_verify),
            ("--insecure-no-tls", flags.insecure_no_tls),
            ("--trust-forwarded-for", flags.trust_forwarded_for),
        ] {
            if is_set {
                line.push(flag, flag);
            }
        }
        for (flag, time) in [
            ("--query-timeout", flags.query_timeout),
            ("--queue-wait", flags.queue_wait),
            ("--connect-timeout", flags.connect_timeout),
            ("--health-interval", flags.health_interval),
            ("--health-timeout", flags.health_timeout),
            ("--read-timeout", flags.read_timeout),
        ] {
            line.value(flag, time.map(value::write_duration).as_deref());
        }
        for (flag, number) in [
            ("--max-retries", flags.max_retries),
            ("--in-flight", flags.in_flight),
            ("--health-fail", flags.health_fail),
            ("--health-pass", flags.health_pass),
            ("--workers", flags.workers),
        ] {
            line.value(flag, number.map(|number| number.to_string()).as_deref());
        }
        line.value("--tls-cert", flags.tls_cert.as_deref());
        line.value("--tls-key", flags.tls_key.as_deref());
        line.value("--upstream-ca", flags.upstream_ca.as_deref());
        line.value("--access-log", flags.access_log.as_deref());
        line
    }

    fn value(&mut self, flag: &'static str, value: Option<&str>) {
        let Some(value) = value else { return };
        let shown: String = value.chars().flat_map(char::escape_debug).collect();
        match flag {
            ADDR => self.push(flag, &shown),
            flag => self.push(flag, &format!("{flag} {shown}")),
        }
    }

    fn push(&mut self, flag: &'static str, written: &str) {
        let start = self.text.len();
        self.text.push_str(written);
        self.spans.push((flag, start..self.text.len()));
        self.text.push('\n');
    }

    /// Where a flag stands; `nth` of those given several times.
    fn span(&self, flag: &str, nth: usize) -> Range<usize> {
        let mut all = self.spans.iter().filter(|(name, _)| *name == flag);
        all.nth(nth).map_or(0..0, |(_, span)| span.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> Given {
        let all = line.split(' ').map(std::ffi::OsString::from);
        match cli::read(all).unwrap() {
            cli::Command::FrontDoor(served) => Given::FrontDoor(Box::new(served.door)),
            _ => panic!("not a front door"),
        }
    }

    fn refused(line: &str) -> Vec<String> {
        let Outcome { sources, result } = flags(line).load();
        let found = result.unwrap_err();
        found
            .iter()
            .map(|one| one.first_line(&sources).to_string())
            .collect()
    }

    #[test]
    fn a_finding_points_at_its_flag() {
        assert_eq!(
            refused("gatewayd front-door --upstream a=localhost:1 --upstream =x --read-timeout 0s"),
            [
                "command line:3:1: error[G0408]: `=x` is not NAME=ADDR",
                "command line:4:1: error[G0204]: `read_timeout` takes 1ms to 1h",
            ]
        );
        assert_eq!(
            refused("gatewayd front-door --upstream a"),
            ["command line:2:1: error[G0408]: `a` is not NAME=ADDR"]
        );
        assert_eq!(
            refused("gatewayd front-door"),
            ["command line:1:1: error[G0301]: a front door without a node"]
        );
    }

    #[test]
    fn what_is_printed_asks_for_the_same_door() {
        let line = "gatewayd front-door 127.0.0.1:7650 --upstream b=localhost:1 \
                    --upstream a=localhost:2 --workers 3 --allow-ops --access-log off \
                    --health-interval 200 --max-retries 0 --trust-forwarded-for";
        let given = flags(&line.split_whitespace().collect::<Vec<_>>().join(" "));
        let Given::FrontDoor(door) = &given else {
            panic!()
        };
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", printed(door));
        let again = gateway_config::load_source(id, &mut sources).unwrap();
        let first = given.load().result.unwrap();
        assert_eq!(again.snapshot, first.snapshot);
    }
}
