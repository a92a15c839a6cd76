use std::ops::Deref;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::*;

mod crash;
mod damage;
mod limits;

/// A directory that is gone after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gatewayd-state-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    fn opens(&self) -> (StateDir, Found) {
        StateDir::open(&self.state()).unwrap()
    }

    /// The names of all there is below the state directory.
    fn files(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut directories = vec![self.state()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.state()).unwrap();
                all.push(name.to_str().unwrap().to_owned());
                if path.is_dir() && !path.is_symlink() {
                    directories.push(path);
                }
            }
        }
        all.sort();
        all
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn snapshot(number: u64) -> Kept {
    Kept {
        number,
        hash: format!("{number:032x}"),
        text: format!("schema = 1\n# \u{e9} number {number}\n"),
        at: SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789 + number),
    }
}

fn overrides() -> Overrides {
    Overrides {
        workers: Some(3),
        drained: BTreeSet::from([("shop".to_owned(), "a\n\"".to_owned())]),
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

#[test]
fn what_is_kept_is_found_again() {
    let scratch = Scratch::new();
    let (state, found) = scratch.opens();
    assert_eq!((found.active, found.last), (None, 0));
    assert_eq!(found.overrides, Overrides::default());
    state.keep(&snapshot(1)).unwrap();
    state.keep(&snapshot(2)).unwrap();
    state.set_overrides(&overrides()).unwrap();
    drop(state);

    let (state, found) = scratch.opens();

    assert_eq!((found.active, found.last), (Some(snapshot(2)), 2));
    assert_eq!(found.overrides, overrides());
    assert_eq!(found.set_aside, []);
    assert_eq!(state.snapshots().unwrap(), [snapshot(2), snapshot(1)]);
    assert_eq!(state.path(), scratch.state());
}

#[test]
fn what_was_told_before_counts_where_the_last_of_it_is_damaged() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    state.set_overrides(&overrides()).unwrap();
    state.set_overrides(&Overrides::default()).unwrap();
    drop(state);
    let damages = |name: &str| fs::write(scratch.state().join(name), b"torn").unwrap();

    damages(OVERRIDES);
    let found = scratch.opens().1;
    assert_eq!(found.overrides, overrides());
    let said = found.not_remembered().unwrap();
    assert!(said.contains(OVERRIDES), "{said}");

    // What is set aside does not come back, and what was told is said anew with the next word.
    let (state, found) = scratch.opens();
    assert_eq!((found.overrides, found.set_aside.len()), (overrides(), 0));
    state.set_overrides(&overrides()).unwrap();
    drop(state);
    damages(OVERRIDES);
    damages(OVERRIDES_BEFORE);
    let found = scratch.opens().1;
    assert_eq!(
        (found.overrides, found.set_aside.len()),
        (Overrides::default(), 2)
    );
}

#[test]
fn nothing_is_written_into_a_directory_that_took_its_place() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    state.keep(&snapshot(1)).unwrap();
    let moved = scratch.join("moved");
    fs::rename(scratch.state(), &moved).unwrap();
    let (other, _) = scratch.opens();
    let before = scratch.files();

    let all = [
        state.keep(&snapshot(2)).unwrap_err(),
        state.set_overrides(&overrides()).unwrap_err(),
        state.snapshots().unwrap_err(),
    ];

    for error in all {
        assert!(matches!(error, StateError::Replaced { .. }), "{error}");
    }
    assert_eq!(scratch.files(), before);
    drop(other);
    fs::remove_dir_all(scratch.state()).unwrap();
    state.keep(&snapshot(2)).unwrap_err();
    assert!(!scratch.state().exists());
    fs::rename(&moved, scratch.state()).unwrap();
    state.keep(&snapshot(2)).unwrap();
}

#[test]
fn what_is_made_is_for_its_owner_alone() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    state.keep(&snapshot(1)).unwrap();
    state.set_overrides(&overrides()).unwrap();
    for name in scratch.files() {
        let path = scratch.state().join(name);
        let expected = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), expected, "{}", path.display());
    }
    assert_eq!(mode(&scratch.state()), 0o700);
}

#[test]
fn the_last_ten_are_kept_and_sorted_by_number() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    for number in 1..=13 {
        state.keep(&snapshot(number)).unwrap();
    }
    let kept: Vec<u64> = state
        .snapshots()
        .unwrap()
        .iter()
        .map(|k| k.number)
        .collect();
    assert_eq!(kept, [13, 12, 11, 10, 9, 8, 7, 6, 5, 4]);
}

#[test]
fn numbers_rise_and_the_same_again_is_no_change() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    state.keep(&snapshot(4)).unwrap();
    state.keep(&snapshot(4)).unwrap();
    let other = Kept {
        hash: "ab".to_owned(),
        ..snapshot(4)
    };
    for (kept, number) in [(other, 4), (snapshot(3), 3)] {
        let refused = state.keep(&kept).unwrap_err().to_string();
        let expected = format!("snapshot {number} cannot be kept after snapshot 4");
        assert_eq!(refused, expected);
    }
    assert_eq!(state.snapshots().unwrap(), [snapshot(4)]);
}

#[test]
fn what_cannot_be_a_file_name_is_refused() {
    let scratch = Scratch::new();
    let (state, _) = scratch.opens();
    for hash in ["", "../x", "AB", "é", "a b", &"a".repeat(65)] {
        let kept = Kept {
            hash: hash.to_owned(),
            ..snapshot(1)
        };
        let refused = state.keep(&kept);
        assert!(matches!(refused, Err(StateError::Name { .. })), "{hash}");
    }
    assert!(state.keep(&snapshot(1 << 53)).is_err());
    assert_eq!(scratch.files(), ["snapshots"]);
}

#[test]
fn a_second_process_is_refused_until_the_first_one_ends() {
    let scratch = Scratch::new();
    let first = scratch.opens();
    let refused = StateDir::open(&scratch.state()).unwrap_err().to_string();
    assert!(
        refused.ends_with("is in use by another process"),
        "{refused}"
    );
    drop(first);
    scratch.opens();
}

#[test]
fn a_directory_that_others_may_write_is_refused() {
    let scratch = Scratch::new();
    drop(scratch.opens());
    for (mode, is_refused) in [(0o770, true), (0o1777, true), (0o755, false)] {
        fs::set_permissions(scratch.state(), fs::Permissions::from_mode(mode)).unwrap();
        let opened = StateDir::open(&scratch.state());
        assert_eq!(opened.is_err(), is_refused, "{mode:o}");
    }
}

#[test]
fn a_path_that_is_no_directory_is_refused() {
    let scratch = Scratch::new();
    fs::write(scratch.state(), "").unwrap();
    let refused = StateDir::open(&scratch.state()).unwrap_err().to_string();
    assert!(refused.contains("cannot be opened"), "{refused}");
    assert!(StateDir::open(&scratch.state().join("below")).is_err());
}

#[test]
fn a_link_to_the_directory_is_the_owners_choice() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.join("elsewhere")).unwrap();
    fs::set_permissions(scratch.join("elsewhere"), fs::Permissions::from_mode(0o700)).unwrap();
    symlink(scratch.join("elsewhere"), scratch.state()).unwrap();
    let (state, _) = scratch.opens();
    state.keep(&snapshot(1)).unwrap();
    drop(state);
    assert_eq!(scratch.opens().1.active, Some(snapshot(1)));
}
