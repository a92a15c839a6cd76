//! A system that does not let us write, for real.

use std::process::Command;

use super::*;

/// More than one block, so that a part of it fits.
fn large(number: u64) -> Kept {
    Kept {
        text: "# \n".repeat(100_000),
        ..snapshot(number)
    }
}

/// Tries to keep a snapshot where the system stops a file from growing.
#[test]
#[ignore = "the process that the next test limits"]
fn keeps_what_does_not_fit() {
    let Ok((state, found)) = StateDir::open(Path::new("state")) else {
        return;
    };
    let before = state.snapshots().unwrap();
    let kept = large(found.last + 1);
    let refused = state.keep(&kept).unwrap_err();
    assert!(matches!(refused, StateError::Write { .. }), "{refused}");
    println!("{refused}");
    let pool = "p".repeat(100_000);
    let much = Overrides {
        drained: BTreeSet::from([(pool, String::new())]),
        ..Overrides::default()
    };
    state.set_overrides(&much).unwrap_err();
    assert_eq!(state.snapshots().unwrap(), before);
}

#[test]
fn a_disk_that_takes_only_a_part_leaves_what_was_there() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    state.keep(&snapshot(1)).unwrap();
    for _ in 0..2 {
        state.set_overrides(&overrides()).unwrap();
    }
    drop(state);
    let before = scratch.files();
    for blocks in ["0", "1", "64"] {
        let limit = format!("ulimit -f {blocks}; trap '' XFSZ; exec \"$0\" \"$@\"");
        let ended = Command::new("sh")
            .args(["-c", &limit])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "state::tests::limits::keeps_what_does_not_fit"])
            .args(["--ignored", "--nocapture"])
            .current_dir(&*scratch)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(said.contains("File too large"), "{said}");
        assert!(said.contains("1 passed"), "{said}");
        assert_eq!(scratch.files(), before);
        let found = scratch.opens().1;
        assert_eq!(found.active, Some(snapshot(1)));
        assert_eq!(found.overrides, overrides());
        assert_eq!(found.set_aside, []);
    }
}

#[test]
fn more_than_is_read_back_is_not_written() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    let kept = Kept {
        text: " ".repeat(usize::try_from(sealed::LARGEST).unwrap()),
        ..snapshot(1)
    };
    let refused = state.keep(&kept);
    assert!(matches!(refused, Err(StateError::TooLarge { .. })));
    assert_eq!(scratch.files(), ["snapshots"]);
}

#[test]
fn a_snapshot_that_cannot_become_active_is_not_kept() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    state.keep(&snapshot(1)).unwrap();
    fs::remove_file(scratch.state().join(ACTIVE)).unwrap();
    fs::create_dir_all(scratch.state().join(ACTIVE).join("in-the-way")).unwrap();
    let refused = state.keep(&snapshot(2));
    assert!(matches!(refused, Err(StateError::Write { .. })));
    assert_eq!(state.snapshots().unwrap(), [snapshot(1)]);
}

#[test]
fn where_the_snapshots_were_removed_the_next_one_is_kept() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    state.keep(&snapshot(1)).unwrap();
    fs::remove_dir_all(scratch.state().join(SNAPSHOTS)).unwrap();
    let listed = state.snapshots();
    assert!(matches!(listed, Err(StateError::Read { .. })));
    state.keep(&snapshot(1)).unwrap();
    assert_eq!(state.snapshots().unwrap(), [snapshot(1)]);
    state.keep(&snapshot(2)).unwrap();
    let mode = fs::metadata(scratch.state().join(SNAPSHOTS)).unwrap();
    assert_eq!(mode.permissions().mode() & 0o7777, 0o700);
    assert_eq!(state.snapshots().unwrap(), [snapshot(2), snapshot(1)]);
}
