//! A configuration that is refused is refused alike by `check`, at start and at a reload, and
//! nothing of it is applied.

use std::fs;

use gateway_tests::case::{self, Case};
use gateway_tests::gateway::{Door, Plan, runs_in};
use gateway_tests::node::Cluster;
use gateway_tests::scratch::Scratch;
use gateway_tests::wait;
use nix::sys::signal::Signal;
use serde_json::Value;

/// What `check` says of a configuration.
struct Verdict {
    drawn: String,
    /// The first lines, as a log carries them.
    lines: String,
}

/// Refused by `check --files` alone: a certificate that no listener is without is lived with (adr/0053).
const LIVED_WITH: &str = "unused-profile";

/// The refused ones among the configurations, and what `check` says of them.
fn refused() -> Vec<(Case, Verdict)> {
    let all = case::all().into_iter().filter(Case::is_configuration);
    let all = all.filter(|case| case.name != LIVED_WITH);
    all.filter_map(|case| {
        let scratch = Scratch::new();
        case.lay(scratch.path());
        let checked = runs_in(scratch.path(), &["check", "--files", case.path()]);
        let is_refused = checked.stderr.starts_with("error[");
        let code = if is_refused { 1 } else { 0 };
        assert_eq!(checked.status.code(), Some(code), "{}", case.name);
        is_refused.then(|| {
            let lines = placeless(&first_lines(&case, &scratch), &scratch);
            let drawn = placeless(&checked.stderr, &scratch);
            (case, Verdict { drawn, lines })
        })
    })
    .collect()
}

/// What is said of files, whatever directory they would be in.
fn placeless(said: &str, scratch: &Scratch) -> String {
    said.replace(&*scratch.path().to_string_lossy(), "…")
}

/// What the log says, made from what programs are told.
fn first_lines(case: &Case, scratch: &Scratch) -> String {
    let arguments = ["check", "--files", "--format", "json", case.path()];
    let document: Value =
        serde_json::from_str(&runs_in(scratch.path(), &arguments).stdout).unwrap();
    let all = document["diagnostics"].as_array().unwrap();
    let line = |one: &Value| {
        let text = |key: &str| one[key].as_str().unwrap_or_default();
        let place = match one["line"].is_u64() {
            true => format!("{}:{}:{}: ", text("file"), one["line"], one["column"]),
            false => String::new(),
        };
        format!(
            "{place}{}[{}]: {}",
            text("severity"),
            text("code"),
            text("title")
        )
    };
    let mut lines: Vec<String> = all.iter().take(20).map(line).collect();
    if all.len() > 20 {
        lines.push(format!("… and {} more", all.len() - 20));
    }
    lines.join("\n")
}

#[test]
fn what_check_refuses_is_refused_at_start_with_the_same_words() {
    let refused = refused();
    assert!(refused.len() >= 60, "only {} are refused", refused.len());
    for (case, verdict) in refused {
        let scratch = Scratch::new();
        case.lay(scratch.path());
        let started = runs_in(scratch.path(), &["run", "--config", case.path()]);
        assert_eq!(started.status.code(), Some(1), "{}", case.name);
        // A start has a log as well.
        let said = started.stderr.lines();
        let drawn: Vec<&str> = said.filter(|line| !line.starts_with('{')).collect();
        let drawn = placeless(&drawn.join("\n"), &scratch);
        assert_eq!(drawn.trim_end(), verdict.drawn.trim_end(), "{}", case.name);
        assert_eq!(started.stdout, "", "{}", case.name);
    }
}

#[test]
fn what_check_refuses_is_refused_at_a_reload_with_the_same_words_and_changes_nothing() {
    let cluster = Cluster::of(&["a"]);
    let sound = format!(
        "workers = 1\n[listeners.web]\nbind = \"127.0.0.1:0\"\n\
         [sites.shop]\nlistener = \"web\"\npool = \"shop\"\nendpoints = \"shop\"\n\
         [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\nprobe = {{ every = \"250ms\" }}\n",
        cluster["a"].addr()
    );
    let file = Plan::configured(&sound).opens();
    let folder = Plan::configured_by_folder(&sound).opens();
    for door in [&file, &folder] {
        door.sees_in("a");
    }
    for (case, verdict) in refused() {
        let door = if case.is_folder() { &folder } else { &file };
        assert_eq!(reloads(door, &case), verdict.lines, "{}", case.name);
        door.post("/sql", &case.name).is(200);
    }
    for door in [&file, &folder] {
        let said = door.log().saying("reload: refused");
        let snapshot = said[0].text("snapshot");
        assert!(said.iter().all(|entry| entry.text("snapshot") == snapshot));
        assert!(door.is_in("a"));
    }
}

/// Puts a configuration in the place of the one that is served, and reloads: why it is refused.
fn reloads(door: &Door, case: &Case) -> String {
    let before = door.log().saying("reload: refused").len();
    let _ = fs::remove_file(door.scratch().path().join("cluster.toml"));
    case.lay(door.scratch().path());
    door.signal(Signal::SIGHUP);
    let refused = wait::value(&format!("{} refused", case.name), wait::SOON, || {
        assert!(
            door.log().saying("reload: applied").is_empty(),
            "{}",
            case.name
        );
        door.log().saying("reload: refused").get(before).cloned()
    });
    placeless(&refused.text("why"), door.scratch())
}
