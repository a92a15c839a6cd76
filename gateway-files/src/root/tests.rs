use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, symlink};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use rustix::fs::mkfifoat;

use super::*;

/// A root, and files outside it under the same names.
fn grown(dir: &Path) -> PathBuf {
    let top = dir.join("top");
    for folder in [&top.join("a/b"), &dir.join("a/b")] {
        fs::create_dir_all(folder).unwrap();
    }
    for name in ["f", "a/f", "a/b/f"] {
        fs::write(top.join(name), "").unwrap();
        fs::write(dir.join(name), "").unwrap();
    }
    for (to, name) in [
        ("..", "up"),
        ("../..", "a/up"),
        ("/", "slash"),
        ("/proc/self/root", "magic"),
        ("a", "in"),
        ("../a/b", "a/in"),
        ("../f", "out"),
        ("../top/f", "round"),
        ("loop", "loop"),
    ] {
        symlink(to, top.join(name)).unwrap();
    }
    mkfifoat(CWD, top.join("fifo"), Mode::RUSR).unwrap();
    top
}

/// The files beneath a directory, reached without passing a link, by their number.
fn inodes(top: &Path, found: &mut Vec<u64>) {
    for entry in fs::read_dir(top).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            inodes(&entry.path(), found);
        } else if kind.is_file() {
            found.push(entry.metadata().unwrap().ino());
        }
    }
}

/// The kernel holds a look-up beneath the root whatever it is given: the rules of
/// [`path`](crate::path) are not what keeps files outside.
#[test]
fn whatever_a_look_up_is_given_the_file_is_one_of_the_tree() {
    let dir = tempfile::tempdir().unwrap();
    let top = grown(dir.path());
    let root = Root::open(&top).unwrap();
    let (mut inside, mut found) = (Vec::new(), 0);
    inodes(&top, &mut inside);
    let whole = top.canonicalize().unwrap();
    let absolute = whole.join("f").into_os_string().into_string().unwrap();
    let words = [
        "a",
        "b",
        "f",
        "in",
        "up",
        "..",
        ".",
        "",
        "slash",
        "magic",
        "out",
        "round",
        "loop",
        "fifo",
        "top",
        "a/b",
        "../f",
        "/",
        &absolute,
        "etc/passwd",
    ];
    let path = prop::collection::vec(
        prop::sample::select(words.map(str::to_owned).to_vec()),
        0..6,
    );
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..40_000 {
        let path = path.new_tree(&mut runner).unwrap().current().join("/");
        for disk in [Disk::Avoid, Disk::Wait] {
            if let Ok(Found::File(file, metadata)) = root.find(path.as_bytes(), disk) {
                let link = format!("/proc/self/fd/{}", file.as_raw_fd());
                let link = fs::read_link(link).unwrap();
                assert!(link.starts_with(&whole), "{path} led to {link:?}");
                assert!(inside.contains(&metadata.ino()), "{path}");
                found += 1;
            }
        }
    }
    assert!(found > 500, "{found} files were found");
}

#[test]
fn what_is_no_file_and_no_directory_is_hidden_and_never_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let top = grown(dir.path());
    let _listening = std::os::unix::net::UnixListener::bind(top.join("socket")).unwrap();
    let root = Root::open(&top).unwrap();
    for name in [
        "fifo",
        "socket",
        "up/f",
        "slash",
        "round",
        "loop",
        "magic",
        "/etc/passwd",
    ] {
        let found = root.find(name.as_bytes(), Disk::Wait);
        assert!(matches!(found, Err(Missed::Hidden)), "{name}: {found:?}");
    }
    for name in ["nosuch", "f/", "f/x"] {
        let found = root.find(name.as_bytes(), Disk::Wait);
        assert!(matches!(found, Err(Missed::Nothing)), "{name}: {found:?}");
    }
    assert!(matches!(root.find(b"", Disk::Wait), Ok(Found::Directory)));
}

#[test]
fn each_refusal_of_the_kernel_has_its_answer() {
    for (why, answer) in [
        (Errno::NOENT, Missed::Nothing),
        (Errno::XDEV, Missed::Hidden),
        (Errno::ACCESS, Missed::Hidden),
        (Errno::MFILE, Missed::Busy),
        (Errno::NFILE, Missed::Busy),
        (Errno::IO, Missed::Broken),
    ] {
        assert_eq!(missed(why), answer, "{why}");
    }
}
