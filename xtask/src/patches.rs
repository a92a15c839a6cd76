//! `patches`: each patch has its record; with `--needed`, each is still needed.
//!
//! Leaves to [`record`] what a record is. A patch is needed when every test its record names fails
//! without it, or, where the record says so, when the gateway cannot be built. Names that the gateway
//! calls are left there, doing nothing, by a patch of the same name in `without/`.
//!
//! Source: adr/0017, adr/0054.

pub(crate) mod record;

use std::fs;
use std::path::Path;

use crate::Result;
use crate::canary::ground::{Ground, Source};
use crate::canary::verdict::Verdict;
use crate::process::logged;
use crate::report::{Finding, settle};
use crate::vendor::patches::{self, Patch};
use crate::{tree, vendor};
use record::Record;

const README: &str = "README.md";
/// The patches that read otherwise in a checkout of Pingora.
pub(crate) const CHECKOUT: &str = "checkout";
/// What is left of a patch that is left out.
const WITHOUT: &str = "without";
// Both choose the whole workspace, so that they share what is built of other crates.
const BUILD: &str = "build --workspace --bin gatewayd --test scenarios";
const TEST: &str = "test --workspace --test scenarios --";

/// The command.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result {
    let names = match arguments.split_first() {
        None => return check(root),
        Some((word, names)) if word == "--needed" => names,
        Some(_) => return Err("patches takes no argument but --needed [NNNN …]".to_owned()),
    };
    check(root)?;
    let folder = root.join(vendor::PATCHES);
    let all = patches::read(&folder)?;
    let chosen: Vec<&Patch> = match names {
        [] => all.iter().collect(),
        names => names
            .iter()
            .map(|name| one(&all, name))
            .collect::<Result<_>>()?,
    };
    let width = chosen.iter().map(|patch| patch.name.len()).max();
    let width = width.unwrap_or_default();
    let mut idle = Vec::new();
    for patch in chosen {
        let news = without(root, patch)?;
        println!("{:<width$}  {}", patch.name, news.words());
        if matches!(news, News::Idle(_)) {
            idle.push(patch.name.as_str());
        }
    }
    match idle.is_empty() {
        true => Ok(()),
        false => Err(format!("not needed here: {}", idle.join(", "))),
    }
}

/// Each patch has its record, and each record its patch and its tests.
pub(crate) fn check(root: &Path) -> Result {
    let folder = root.join(vendor::PATCHES);
    let mut all = patches::read(&folder)?;
    for others in [CHECKOUT, WITHOUT] {
        all = patches::with(all, patches::read(&folder.join(others))?)?;
    }
    let names: Vec<String> = all.into_iter().map(|patch| patch.name).collect();
    let tests: Vec<String> = tree::rust_files(root)?
        .into_iter()
        .map(|file| file.text)
        .collect();
    let said = record::breaches(&names, &records(&folder)?, &tests);
    let findings: Vec<Finding> = said.into_iter().map(finding).collect();
    settle("patches", &findings)
}

fn finding(message: String) -> Finding {
    Finding {
        path: format!("{}/{README}", vendor::PATCHES),
        line: None,
        message,
    }
}

/// What the README beside the patches says of them.
pub(crate) fn records(folder: &Path) -> Result<Vec<Record>> {
    let text = fs::read_to_string(folder.join(README)).map_err(|why| format!("{README}: {why}"))?;
    Ok(record::read(&text))
}

fn one<'a>(all: &'a [Patch], name: &str) -> Result<&'a Patch> {
    let mut found = all.iter().filter(|patch| patch.name.starts_with(name));
    match (found.next(), found.next()) {
        (Some(patch), None) => Ok(patch),
        _ => Err(format!("`{name}` does not name one patch")),
    }
}

/// What became of the gateway without a patch.
enum News {
    /// It cannot be built.
    Unbuilt(Vec<String>),
    /// The tests fail.
    Red(Vec<String>),
    /// Nothing of what the record says: these pass.
    Idle(Vec<String>),
}

impl News {
    fn words(&self) -> String {
        let besides = |others: &[String]| match others.is_empty() {
            true => String::new(),
            false => format!(" (nor are {}, which need it)", others.join(", ")),
        };
        match self {
            Self::Unbuilt(others) => {
                format!("needed: nothing builds without it{}", besides(others))
            }
            Self::Red(others) => {
                format!("needed: its tests fail without it{}", besides(others))
            }
            Self::Idle(passing) => format!("NOT NEEDED: without it passes {}", passing.join(", ")),
        }
    }
}

/// Builds and tests the gateway without `patch`, and without those that only fit on top of it.
fn without(root: &Path, patch: &Patch) -> Result<News> {
    let ground = Ground::new(root, "needed");
    let folder = root.join(vendor::PATCHES);
    let record = records(&folder)?;
    let record = record.iter().find(|one| one.is_of(&patch.name));
    let tests = record.map(Record::tests).unwrap_or_default();
    let others = lay_out_without(root, &ground, patch)?;
    eprintln!("building without {}", patch.name);
    let builds = logged(&mut ground.cargo(BUILD), &ground.log("without-build"))?;
    match (builds, record.is_some_and(Record::is_the_build)) {
        (false, true) => return Ok(News::Unbuilt(others)),
        (true, true) => return Ok(News::Idle(vec!["the build".to_owned()])),
        (false, false) => return Err(unbuilt(patch)),
        (true, false) => {}
    }
    let log = ground.log("without-test");
    logged(ground.cargo(TEST).args(&tests), &log)?;
    let text = fs::read_to_string(&log).map_err(|why| format!("{}: {why}", log.display()))?;
    Ok(match passing(&text, &tests)? {
        passing if passing.is_empty() => News::Red(others),
        passing => News::Idle(passing),
    })
}

/// Lays out the workspace; names the patches that could not be laid on for want of `patch`.
fn lay_out_without(root: &Path, ground: &Ground, patch: &Patch) -> Result<Vec<String>> {
    let folder = root.join(vendor::PATCHES);
    let stand_ins = patches::read(&folder.join(WITHOUT))?.into_iter();
    let stand_ins: Vec<Patch> = stand_ins.filter(|one| one.name == patch.name).collect();
    let left_out: &[&str] = match stand_ins.is_empty() {
        true => &[&patch.name],
        false => &[],
    };
    let all = patches::with(patches::read(&folder)?, stand_ins)?;
    let laid = ground.lay_out(root, &Source::Registry, &all, left_out)?;
    let missing = laid.verdicts.into_iter();
    let missing: Vec<String> = missing
        .filter(|(_, verdict)| *verdict != Verdict::Applies)
        .map(|(name, _)| name)
        .collect();
    match missing.contains(&patch.name) {
        true => Err(format!("{WITHOUT}/{} does not apply", patch.name)),
        false => Ok(missing),
    }
}

fn unbuilt(patch: &Patch) -> String {
    let name = &patch.name;
    format!(
        "nothing builds without {name}, so its tests say nothing: \
         what the gateway calls belongs into {WITHOUT}/{name}, doing nothing"
    )
}

/// Which of `tests` did not fail; an error where one did not even run.
fn passing(log: &str, tests: &[String]) -> Result<Vec<String>> {
    let ended = |test: &str, how: &str| {
        let of = |line: &str| {
            let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
            Some(name.rsplit("::").next() == Some(test) && outcome == how)
        };
        log.lines().any(|line| of(line).unwrap_or_default())
    };
    let mut passing = Vec::new();
    for test in tests {
        match (ended(test, "FAILED"), ended(test, "ok")) {
            (true, _) => {}
            (false, true) => passing.push(test.clone()),
            (false, false) => return Err(format!("{test} did not run")),
        }
    }
    Ok(passing)
}

#[cfg(test)]
mod tests {
    use super::passing;

    #[test]
    fn a_test_that_passes_without_its_patch_is_named() {
        let log = "test upgrade::one ... FAILED\ntest upgrade::another ... ok\n";
        let names = |all: &[&str]| -> Vec<String> { all.iter().map(|n| (*n).to_owned()).collect() };
        assert!(passing(log, &names(&["one"])).unwrap().is_empty());
        assert_eq!(
            passing(log, &names(&["one", "another"])).unwrap(),
            ["another"]
        );
        assert!(passing(log, &names(&["other"])).is_err());
    }
}
