//! `canary`: takes another Pingora into a throw-away workspace, lays our patches on it one by one,
//! then compiles and tests the adapter there, and says how it went.
//!
//! Leaves to [`ground`] what the workspace is made of, and to [`report`] how it is told. The
//! project's own tree and its `vendor/pingora` are read and never written.
//!
//! Source: adr/0054.

pub(crate) mod ground;
mod report;
pub(crate) mod verdict;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::Result;
use crate::patches::{CHECKOUT, records};
use crate::process::logged;
use crate::report::print;
use crate::vendor::patches::{self, Patch};
use ground::{Ground, Source};
use report::{Report, Step};

const USAGE: &str = "\
usage: cargo xtask canary (--source DIR | --from-registry) [--scenarios] [--format text|json]

  --source DIR     a checkout of Pingora
  --from-registry  the release that is pinned, for rehearsal
  --scenarios      after the adapter's own tests, those of the whole gateway
";

/// So that a network that fails is told from what does not compile.
const FETCH: &str = "fetch";
/// The adapter by itself: what an upstream change breaks is seen here first.
const COMPILE: &str = "test -p gateway-pingora --no-run";
const TEST: &str = "test -p gateway-pingora";
/// The gateway is a program that the scenarios start.
// Both choose the whole workspace, so that they share what is built of other crates.
const BUILD: &str = "build --workspace --bin gatewayd --test scenarios --test vectors";
const SCENARIOS: &str = "test --workspace --test scenarios --test vectors";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    source: Source,
    scenarios: bool,
    json: bool,
}

/// The command. The code is the report's; one that was called wrongly is 2.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<ExitCode> {
    let asked = match parse(arguments) {
        Ok(asked) => asked,
        Err(message) => {
            eprint!("xtask canary: {message}\n\n{USAGE}");
            return Ok(ExitCode::from(2));
        }
    };
    let report = play(root, &asked)?;
    print(&match asked.json {
        true => format!("{:#}\n", report.json()),
        false => report.to_string(),
    })?;
    Ok(ExitCode::from(report.kind().code()))
}

fn parse(arguments: &[String]) -> Result<Asked> {
    let (mut source, mut scenarios, mut json) = (None, false, false);
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let found = match word {
            "--source" => {
                let folder = PathBuf::from(words.next().ok_or("--source wants a folder")?);
                if !folder.join("pingora-core/Cargo.toml").is_file() {
                    let folder = folder.display();
                    return Err(format!("{folder} is no checkout of Pingora"));
                }
                Some(Source::Checkout(folder))
            }
            "--from-registry" => Some(Source::Registry),
            "--scenarios" => {
                scenarios = true;
                None
            }
            "--format" => {
                json = match words.next() {
                    Some("json") => true,
                    Some("text") => false,
                    _ => return Err("--format wants text or json".to_owned()),
                };
                None
            }
            other => return Err(format!("no argument `{other}`")),
        };
        if found.is_some() && source.is_some() {
            return Err("one source at a time".to_owned());
        }
        source = source.or(found);
    }
    Ok(Asked {
        source: source.ok_or("it wants --source DIR or --from-registry")?,
        scenarios,
        json,
    })
}

fn play(root: &Path, asked: &Asked) -> Result<Report> {
    let ground = Ground::new(root, "canary");
    let patches: Vec<Patch> = asked.source.patches(root)?;
    eprintln!("laying out {}", asked.source);
    let laid = ground.lay_out(root, &asked.source, &patches, &[])?;
    let steps = [("compile", COMPILE), ("test", TEST)];
    let more = [("build", BUILD), ("scenarios", SCENARIOS)];
    let more = more.into_iter().filter(|_| asked.scenarios);
    let records = records(&root.join(crate::vendor::PATCHES))?;
    let mut report = Report::new(asked.source.to_string(), laid, records);
    let log = ground.log("fetch");
    eprintln!("cargo {FETCH}");
    if !logged(&mut ground.cargo(FETCH), &log)? {
        let said = fs::read_to_string(&log).map_err(|why| format!("{}: {why}", log.display()))?;
        if !is_of_the_manifests(&said) {
            return Err(format!("what this Pingora needs cannot be had:\n{said}"));
        }
        report.steps.push(Step::ended("compile", false, &log));
    }
    for (name, line) in steps.into_iter().chain(more) {
        report.steps.push(match report.has_failed_step() {
            true => Step::left_out(name),
            false => {
                eprintln!("cargo {line}");
                let log = ground.log(name);
                let passed = logged(&mut ground.cargo(line), &log)?;
                Step::ended(name, passed, &log)
            }
        });
    }
    Ok(report)
}

/// Whether cargo could fetch nothing because of what manifests ask for, which is news of Pingora.
fn is_of_the_manifests(said: &str) -> bool {
    let causes = [
        "failed to select a version",
        "failed to parse manifest",
        "failed to load manifest",
    ];
    causes.iter().any(|cause| said.contains(cause))
}

impl Source {
    /// The patches as they are for this source: a manifest is written otherwise in a checkout.
    fn patches(&self, root: &Path) -> Result<Vec<Patch>> {
        let folder = root.join(crate::vendor::PATCHES);
        let all = patches::read(&folder)?;
        match self {
            Self::Checkout(_) => patches::with(all, patches::read(&folder.join(CHECKOUT))?),
            Self::Registry => Ok(all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Asked, Source, is_of_the_manifests, parse};

    fn parsed(line: &str) -> crate::Result<Asked> {
        parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_asked_for() {
        let asked = parsed("--from-registry --scenarios --format json").unwrap();
        let wanted = Asked {
            source: Source::Registry,
            scenarios: true,
            json: true,
        };
        assert_eq!(asked, wanted);
    }

    #[test]
    fn a_network_that_fails_is_no_news_of_pingora() {
        let network = "error: failed to download from `https://registry.test/h2`\n\nCaused by:\n  [6] Could not resolve hostname\n";
        assert!(!is_of_the_manifests(network));
        let versions = "error: failed to select a version for `h2`.\n    ... required by package `pingora-core`\n";
        assert!(is_of_the_manifests(versions));
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (line, said) in [
            ("--format json", "it wants --source"),
            ("--from-registry --from-registry", "one source"),
            ("--from-registry --format yaml", "text or json"),
            ("--source", "wants a folder"),
            ("--source nowhere", "nowhere is no checkout"),
            ("--fast", "no argument `--fast`"),
        ] {
            let refused = parsed(line).unwrap_err();
            assert!(refused.contains(said), "{line}: {refused}");
        }
    }
}
