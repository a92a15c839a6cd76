//! A writer that is stopped at any point.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;

/// Lays what a writer has done of keeping snapshot 2 after snapshot 1 when it is stopped.
fn stopped(does: impl FnOnce(&Path, &str, &str)) -> (Scratch, Found) {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    state.keep(&snapshot(1)).unwrap();
    drop(state);
    let text = seal(&name::label(&snapshot(2)), &snapshot(2).text);
    let named = seal(ACTIVE, name::file_name(&snapshot(2)).to_str().unwrap());
    does(&scratch.state(), &text, &named);
    let (_, found) = scratch.opens();
    assert!(!scratch.files().iter().any(|name| name.contains(".new")));
    (scratch, found)
}

fn put(path: PathBuf, text: &str) {
    fs::write(&path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

fn whole(state: &Path, text: &str) {
    put(
        state.join(SNAPSHOTS).join(name::file_name(&snapshot(2))),
        text,
    );
}

#[test]
fn a_part_of_the_snapshot_is_nothing() {
    for part in [0, 1, 90, 200] {
        let (_, found) = stopped(|state, text, _| {
            let part = text.get(..part).unwrap_or(text);
            put(state.join("snapshots/.new"), part);
        });
        assert_eq!(found.active, Some(snapshot(1)));
        assert_eq!(found.set_aside, []);
    }
}

#[test]
fn a_snapshot_that_did_not_become_active_is_set_aside() {
    for part in [None, Some(0), Some(50), Some(200)] {
        let (_, found) = stopped(|state, text, named| {
            whole(state, text);
            if let Some(part) = part {
                put(state.join(".new"), named.get(..part).unwrap_or(named));
            }
        });
        assert_eq!((found.active, found.last), (Some(snapshot(1)), 2));
        assert_eq!(found.set_aside.len(), 1);
    }
}

#[test]
fn a_snapshot_that_is_named_is_active_though_nothing_was_tidied_up() {
    let (scratch, found) = stopped(|state, text, named| {
        whole(state, text);
        put(state.join(ACTIVE), named);
    });
    assert_eq!(found.active, Some(snapshot(2)));
    assert_eq!(found.set_aside, []);
    scratch.opens().0.keep(&snapshot(3)).unwrap();
}

#[test]
fn the_very_first_snapshot_is_better_than_nothing() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    state.keep(&snapshot(1)).unwrap();
    drop(state);
    fs::remove_file(scratch.state().join(ACTIVE)).unwrap();
    assert_eq!(scratch.opens().1.active, Some(snapshot(1)));
}

#[test]
fn a_leftover_that_is_a_link_is_not_followed() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    fs::write(scratch.join("precious"), "x").unwrap();
    symlink(scratch.join("precious"), scratch.state().join(".new")).unwrap();
    state.set_overrides(&overrides()).unwrap();
    assert_eq!(fs::read_to_string(scratch.join("precious")).unwrap(), "x");
}

/// Keeps one snapshot after the other until it is killed.
#[test]
#[ignore = "the process that the next test kills"]
fn keeps_until_killed() {
    let Ok((state, found)) = StateDir::open(Path::new("state")) else {
        return;
    };
    for number in found.last + 1..found.last + 10_000 {
        state.keep(&snapshot(number)).unwrap();
        println!("kept {number}");
    }
}

#[test]
fn a_killed_process_leaves_what_it_kept_last_or_the_next() {
    let scratch = Scratch::new();
    drop(scratch.opens());
    for round in 0..12 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "state::tests::crash::keeps_until_killed"])
            .args(["--ignored", "--nocapture"])
            .current_dir(&*scratch)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut kept = lines.filter_map(|line| {
            let line = line.unwrap();
            line.split("kept ").nth(1)?.parse::<u64>().ok()
        });
        let first = kept.next().unwrap();
        // Somewhere in the middle of what follows.
        std::thread::sleep(Duration::from_micros(700 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let last = kept.last().unwrap_or(first);
        let (_, found) = scratch.opens();
        let active = found.active.unwrap();
        assert!([last, last + 1].contains(&active.number), "{last}");
        assert_eq!(active, snapshot(active.number));
        assert!(!scratch.files().iter().any(|name| name.contains(".new")));
    }
}
