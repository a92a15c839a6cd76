//! The checks of workflows, and the script that keeps the canary's one issue, before a `gh` of ours.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::{breaches, promised};

const PIN: &str = "a/b@0123456789012345678901234567890123456789 # v1";

fn workflow(uses: &str, run: &str) -> String {
    format!(
        "env:\n  RUSTUP_TOOLCHAIN: \"1.95\"\nsteps:\n  - uses: {uses}\n  - run: rustup toolchain install x\n  - run: {run}\n"
    )
}

#[test]
fn the_gate_runs_one_command_on_pinned_actions() {
    assert!(breaches("ci.yml", &workflow(PIN, ".ci/run"), "1.95").is_empty());
    for (text, version) in [
        (workflow("a/b@v1", ".ci/run"), "1.95"),
        (workflow("a/b@0123456789 # v1", ".ci/run"), "1.95"),
        (workflow(PIN.trim_end_matches(" # v1"), ".ci/run"), "1.95"),
        (workflow(PIN, "cargo test"), "1.95"),
        (workflow(PIN, ".ci/run"), "1.96"),
    ] {
        assert_eq!(breaches("ci.yml", &text, version).len(), 1, "{text}");
    }
    assert!(breaches("other.yml", &workflow(PIN, "echo"), "1.95").is_empty());
}

#[test]
fn the_promised_toolchain_is_the_manifests() {
    assert_eq!(
        promised("edition = \"2024\"\nrust-version = \"1.95\"\n"),
        Some("1.95")
    );
}

/// What the script asked of a `gh` that knows of `issue` (its number and state, or nothing).
fn asked(name: &str, code: &str, issue: &str) -> (bool, Vec<String>) {
    let place: PathBuf =
        std::env::temp_dir().join(format!("xtask-gh-{name}-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let gh = place.join("gh");
    let log = place.join("log");
    let text = format!(
        "#!/bin/sh\necho \"$1 $2 $3\" >> {}\n[ \"$2\" != list ] || echo '{issue}'\n",
        log.display()
    );
    fs::write(&gh, text).unwrap();
    fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
    let report = place.join("report");
    fs::write(&report, "found\n").unwrap();
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap());
    let status = Command::new("bash")
        .arg(crate::tree::root().unwrap().join(".github/canary-issue"))
        .args([code, &report.to_string_lossy(), "run-7"])
        .env("PATH", path)
        .status()
        .unwrap();
    let lines = fs::read_to_string(log).unwrap_or_default();
    fs::remove_dir_all(place).unwrap();
    let lines = lines.lines().filter(|line| !line.starts_with("issue list"));
    (status.success(), lines.map(str::to_owned).collect())
}

#[test]
fn there_is_one_issue_and_it_follows_what_is_found() {
    let all = [
        (
            "none",
            "3",
            "",
            vec!["label create upstream-canary", "issue create --title"],
        ),
        ("open", "4", "12 OPEN", vec!["issue edit 12"]),
        (
            "closed",
            "6",
            "12 CLOSED",
            vec!["issue reopen 12", "issue edit 12"],
        ),
        ("well", "0", "12 OPEN", vec!["issue close 12"]),
        ("still-well", "0", "12 CLOSED", vec![]),
        ("never", "0", "", vec![]),
    ];
    for (name, code, issue, wanted) in all {
        assert_eq!(
            asked(name, code, issue),
            (true, wanted.into_iter().map(str::to_owned).collect()),
            "{name}"
        );
    }
}

#[test]
fn a_canary_that_did_not_run_is_no_news() {
    for code in ["1", "2", "101", "137", ""] {
        let told = asked(&format!("broken-{code}"), code, "12 OPEN");
        assert_eq!(told, (false, Vec::new()), "{code}");
    }
}

/// Whether the canary's step that takes Pingora ends well before a `git` whose `ls-remote` ends so, and
/// what else it asked of it.
fn takes(name: &str, remote: &str) -> (bool, String) {
    let place = std::env::temp_dir().join(format!("xtask-git-{name}-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    let workflow = crate::tree::root()
        .unwrap()
        .join(".github/workflows/upstream-canary.yml");
    let workflow = fs::read_to_string(workflow).unwrap();
    let step = workflow.split("- name: Take Pingora").nth(1).unwrap();
    let script = step.split("run: |\n").nth(1).unwrap();
    let script = script.split("\n      - ").next().unwrap();
    let (git, log) = (place.join("git"), place.join("log"));
    let told = format!("echo \"$*\" >> {}", log.display());
    fs::write(
        &git,
        format!("#!/bin/sh\ncase $1 in ls-remote) {remote};; *) {told};; esac\n"),
    )
    .unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap());
    // As a forge starts it where no shell is named.
    let status = Command::new("bash")
        .args(["-e", "-c", script])
        .envs([
            ("PATH", &*path),
            ("ASKED", ""),
            ("PINGORA", "pingora"),
            ("RUNNER_TEMP", "t"),
        ])
        .status()
        .unwrap();
    let told = fs::read_to_string(log).unwrap_or_default();
    fs::remove_dir_all(place).unwrap();
    (status.success(), told)
}

#[test]
fn a_canary_that_hears_of_no_commit_stops_there() {
    assert_eq!(takes("gone", "exit 2"), (false, String::new()));
    let (is_done, told) = takes("there", "printf '0a1b2c\\trefs/heads/main\\n'");
    assert!(is_done && told.contains(" pingora 0a1b2c\n"), "{told}");
}
