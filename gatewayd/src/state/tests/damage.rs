//! Files that are not as they were written.

use proptest::prelude::*;

use super::*;

/// Every file there is, each with what is to be found when it is damaged.
const FILES: [&str; 4] = [
    "active",
    "runtime.json",
    "snapshots/1-00000000000000000000000000000001.toml",
    "snapshots/2-00000000000000000000000000000002.toml",
];

/// A state directory with two snapshots, written once and laid anew for each case.
struct Good {
    scratch: Scratch,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Good {
    fn new() -> Self {
        let scratch = Scratch::new();
        let (state, _) = scratch.opens();
        state.keep(&snapshot(1)).unwrap();
        state.keep(&snapshot(2)).unwrap();
        state.set_overrides(&overrides()).unwrap();
        let files = FILES.map(|name| {
            let path = scratch.state().join(name);
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        });
        Self {
            scratch,
            files: files.into(),
        }
    }

    fn lays(&self) {
        let _ = fs::remove_dir_all(self.scratch.state().join("set-aside"));
        for (path, bytes) in &self.files {
            let _ = fs::remove_file(path);
            fs::write(path, bytes).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    /// Does something to one file: it is named, out of the way and still there, and the rest is
    /// found as it was.
    fn survives(&self, which: usize, damage: impl FnOnce(&Path)) -> SetAside {
        self.lays();
        let path = &self.files[which].0;
        damage(path);
        let (state, found) = self.scratch.opens();
        let active = if which == 3 { snapshot(1) } else { snapshot(2) };
        assert_eq!(found.active.as_ref(), Some(&active));
        assert_eq!(found.last, 2);
        let expected = if which == 1 {
            Overrides::default()
        } else {
            overrides()
        };
        assert_eq!(found.overrides, expected);
        let named = found.set_aside.iter().find(|one| one.path == *path);
        let named = named.unwrap_or_else(|| panic!("{}: not named", FILES[which]));
        assert!(named.to.starts_with(self.scratch.state().join("set-aside")));
        assert!(fs::symlink_metadata(&named.to).is_ok());
        assert!(fs::symlink_metadata(path).is_err());
        drop(state);
        let (_state, again) = self.scratch.opens();
        assert_eq!((again.active, again.set_aside), (Some(active), vec![]));
        named.clone()
    }
}

#[test]
fn every_flipped_byte_is_noticed() {
    let good = Good::new();
    for which in 0..FILES.len() {
        for at in 0..good.files[which].1.len() {
            let mut bytes = good.files[which].1.clone();
            bytes[at] ^= 1 << (at % 8);
            good.survives(which, |path| fs::write(path, bytes).unwrap());
        }
    }
}

#[test]
fn every_truncation_is_noticed() {
    let good = Good::new();
    for which in 0..FILES.len() {
        for length in 0..good.files[which].1.len() {
            let bytes = &good.files[which].1[..length];
            good.survives(which, |path| fs::write(path, bytes).unwrap());
        }
    }
}

#[test]
fn bytes_put_in_the_place_of_others_are_noticed() {
    let good = Good::new();
    let new = prop::collection::vec(any::<u8>(), 0..40);
    proptest!(|(which in 0..FILES.len(), at: prop::sample::Index, old in 0..40_usize, new in new)| {
        let mut bytes = good.files[which].1.clone();
        let start = at.index(bytes.len());
        let end = (start + old).min(bytes.len());
        bytes.splice(start..end, new);
        prop_assume!(bytes != good.files[which].1);
        good.survives(which, |path| fs::write(path, bytes).unwrap());
    });
}

#[test]
fn a_file_of_another_kind_or_another_mode_is_noticed() {
    let good = Good::new();
    for which in 0..FILES.len() {
        let said = good.survives(which, |path| {
            let other = path.with_extension("other");
            fs::rename(path, &other).unwrap();
            symlink(good.scratch.join("moved"), path).unwrap();
            fs::rename(other, good.scratch.join("moved")).unwrap();
        });
        assert_eq!(said.because, "it is not a regular file");
        let said = good.survives(which, |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        });
        assert_eq!(said.because, "it is not a regular file");
        let said = good.survives(which, |path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        });
        assert_eq!(said.because, "its mode is 0644 instead of 0600");
        let said = good.survives(which, |path| {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(sealed::LARGEST + 1).unwrap();
        });
        assert_eq!(said.because, "it is too large");
    }
}

#[test]
fn a_whole_file_under_the_name_of_another_is_noticed() {
    let good = Good::new();
    for which in 0..FILES.len() {
        for other in (0..FILES.len()).filter(|other| *other != which) {
            let bytes = &good.files[other].1;
            let said = good.survives(which, |path| fs::write(path, bytes).unwrap());
            assert!(said.because.starts_with("it says of itself: "), "{said:?}");
        }
    }
}

#[test]
fn a_snapshot_that_is_gone_is_told_by_the_file_that_names_it() {
    let good = Good::new();
    good.lays();
    fs::remove_file(&good.files[3].0).unwrap();
    let (_state, found) = good.scratch.opens();
    assert_eq!((found.active, found.last), (Some(snapshot(1)), 2));
    assert_eq!(found.set_aside[0].path, good.files[0].0);
}

#[test]
fn what_is_not_ours_is_out_of_the_way_before_it_matters() {
    let good = Good::new();
    let shelf = good.scratch.state().join(SNAPSHOTS);
    for name in [
        "notes.txt",
        "02-ab.toml",
        "+3-ab.toml",
        "9-AB.toml",
        "99999999999999999-ab.toml",
    ] {
        fs::write(shelf.join(name), "x").unwrap();
    }
    fs::create_dir_all(shelf.join("directory/below")).unwrap();
    let (state, found) = good.scratch.opens();
    assert_eq!((found.active, found.last), (Some(snapshot(2)), 2));
    assert_eq!(found.set_aside.len(), 6);
    fs::write(shelf.join("later"), "x").unwrap();
    assert_eq!(state.snapshots().unwrap().len(), 2);
    assert!(scratch_has(&good.scratch, "set-aside/later.1"));
}

#[test]
fn a_snapshots_directory_that_is_a_file_is_set_aside() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.state()).unwrap();
    fs::write(scratch.state().join(SNAPSHOTS), "x").unwrap();
    let (state, found) = scratch.opens();
    assert_eq!(found.set_aside[0].because, "it is not a directory");
    state.keep(&snapshot(1)).unwrap();
}

#[test]
fn what_was_set_aside_is_not_overwritten_and_not_without_end() {
    let scratch = Scratch::new();
    drop(scratch.opens());
    for turn in 1..=40 {
        fs::write(scratch.state().join(OVERRIDES), format!("{turn}")).unwrap();
        let (_state, found) = scratch.opens();
        let said = &found.set_aside[0];
        assert_eq!(said.to == said.path, turn > 32, "{said:?}");
        assert_eq!(fs::read_to_string(&said.to).unwrap(), format!("{turn}"));
    }
    let (state, _) = scratch.opens();
    state.set_overrides(&overrides()).unwrap();
    drop(state);
    assert_eq!(scratch.opens().1.overrides, overrides());
    assert_eq!(
        fs::read_dir(scratch.state().join("set-aside"))
            .unwrap()
            .count(),
        32
    );
}

#[test]
fn a_number_is_not_given_twice_though_its_snapshot_was_damaged() {
    let good = Good::new();
    good.survives(3, |path| fs::write(path, "x").unwrap());
    let (state, found) = good.scratch.opens();
    assert_eq!((found.active, found.last), (Some(snapshot(1)), 2));
    state.keep(&snapshot(3)).unwrap();
    drop(state);
    assert_eq!(good.scratch.opens().1.active, Some(snapshot(3)));
}

fn scratch_has(scratch: &Scratch, name: &str) -> bool {
    scratch.files().iter().any(|one| one == name)
}
