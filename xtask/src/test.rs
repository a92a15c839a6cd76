//! `test`: everything a change must pass, in the order that finds most for the least time.
//!
//! Stops at the first step that fails. What could not be checked on this machine is said in
//! the summary, never left out of it.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::process::{program, run as run_program};
use crate::{
    Result, arch, clients, clock, delivery, deny, differential, disks, editors, generate, patches,
    size, tls_tools, vendor, workflows,
};

/// One line of the summary: a name, and how to do it.
pub(crate) struct Step {
    name: &'static str,
    act: Act,
}

/// `Some` in the answer: it was not checked, and why.
type Act = fn(&Path) -> Result<Option<String>>;

/// What a change must pass.
const ALL: &[Step] = &[
    step("vendor", |root| vendor::ensure(root).map(|_| None)),
    step("fmt", fmt),
    step("arch", |root| arch::run(root).map(done)),
    step("size", |root| size::run(root).map(done)),
    step("patches", |root| patches::check(root).map(done)),
    step("clippy of xtask", |root| cargo(root, XTASK_CLIPPY)),
    step("test of xtask", |root| cargo(root, XTASK_TEST)),
    step("clippy", |root| cargo(root, CLIPPY)),
    step("build", |root| cargo(root, BUILD)),
    step("generated", |root| generate::check(root).map(done)),
    step("test", |root| cargo(root, TEST)),
    step("foreign client", clients::check),
    step("clock", clock::check),
    step("disks", disks::check),
    step("differential", differential::check),
    step("soak", soak),
    step("doc test", |root| cargo(root, DOC_TEST)),
    step("doc", doc),
    step("editors", editors::check),
    step("tls tools", tls_tools::check),
    step("workflows", workflows::check),
    step("delivery", delivery::check),
    step("deny", |root| deny::check(root).map(done)),
    step("advisories", deny::check_advisories),
];

/// What is worth a minute before every commit.
pub(crate) const QUICK: &[Step] = &[
    step("fmt", fmt),
    step("arch", |root| arch::run(root).map(done)),
    step("size", |root| size::run(root).map(done)),
    step("patches", |root| patches::check(root).map(done)),
    step("clippy of xtask", |root| cargo(root, XTASK_CLIPPY)),
    step("clippy", |root| cargo(root, CLIPPY)),
];

const CLIPPY: &str = "clippy --locked --workspace --all-targets -- -D warnings";
/// All targets at once, so that tests and the binaries they start share one build.
pub(crate) const BUILD: &str = "build --locked --workspace --all-targets";
const TEST: &str = "test --locked --workspace --all-targets";
const DOC_TEST: &str = "test --locked --workspace --doc";
const DOC: &str = "doc --locked --workspace --no-deps --document-private-items";
const XTASK_CLIPPY: &str =
    "clippy --locked --manifest-path xtask/Cargo.toml --all-targets -- -D warnings";
const XTASK_TEST: &str = "test --quiet --locked --manifest-path xtask/Cargo.toml";

const fn step(name: &'static str, act: Act) -> Step {
    Step { name, act }
}

/// The command.
pub(crate) fn run(root: &Path) -> Result {
    play(root, ALL)
}

/// Plays `steps` in order and prints how each went.
pub(crate) fn play(root: &Path, steps: &[Step]) -> Result {
    let mut rows = Vec::new();
    let mut failure = None;
    for step in steps {
        println!("\n==> {}", step.name);
        let begun = Instant::now();
        let outcome = (step.act)(root);
        let took = begun.elapsed();
        match outcome {
            Ok(None) => rows.push(row(step.name, took, "ok")),
            Ok(Some(reason)) => {
                eprintln!("NOT CHECKED: {}: {reason}", step.name);
                rows.push(row(step.name, took, &format!("NOT CHECKED: {reason}")));
            }
            Err(message) => {
                rows.push(row(step.name, took, "FAILED"));
                failure = Some(format!("{} failed: {message}", step.name));
                break;
            }
        }
    }
    println!("\n{}", rows.join("\n"));
    match failure {
        Some(message) => Err(message),
        None => Ok(()),
    }
}

fn row(name: &str, took: Duration, outcome: &str) -> String {
    format!("{name:<16}{:>8.1} s  {outcome}", took.as_secs_f64())
}

fn done((): ()) -> Option<String> {
    None
}

fn cargo(root: &Path, line: &str) -> Result<Option<String>> {
    let words: Vec<&str> = line.split(' ').collect();
    run_program(&mut program(root, "cargo", &words)).map(done)
}

fn fmt(root: &Path) -> Result<Option<String>> {
    cargo(root, "fmt --check")?;
    cargo(root, "fmt --manifest-path xtask/Cargo.toml --check")
}

/// Long enough for every kind of reload and fault several times; the long run is for a release.
fn soak(root: &Path) -> Result<Option<String>> {
    let soak = root.join("target/debug/soak");
    let arguments = ["--minutes", "2"];
    run_program(&mut program(root, &soak.to_string_lossy(), &arguments)).map(done)
}

/// Private items are documented as well, so a link to one leads somewhere.
fn doc(root: &Path) -> Result<Option<String>> {
    let words: Vec<&str> = DOC.split(' ').collect();
    let flags = "-D warnings -A rustdoc::private_intra_doc_links";
    run_program(program(root, "cargo", &words).env("RUSTDOCFLAGS", flags)).map(done)
}

#[cfg(test)]
mod tests {
    use super::{play, step};
    use std::path::Path;

    #[test]
    fn the_first_failure_stops_the_rest() {
        let steps = [
            step("good", |_| Ok(None)),
            step("bad", |_| Err("broken".to_owned())),
            step("never", |_| Err("must not run".to_owned())),
        ];
        let failure = play(Path::new("."), &steps).unwrap_err();
        assert_eq!(failure, "bad failed: broken");
    }

    #[test]
    fn what_could_not_be_checked_fails_nothing() {
        let steps = [step("unreachable", |_| Ok(Some("no network".to_owned())))];
        assert!(play(Path::new("."), &steps).is_ok());
    }
}
