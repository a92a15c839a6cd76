//! Whatever is asked for, and whatever is moved meanwhile: no byte from outside the root.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by stopping"
)]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use gateway_config::model::Files;
use gateway_files::{Answer, Asked, Body, Fault, Root};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use proptest::prelude::*;
use rustix::fs::{CWD, Mode, RenameFlags, mkfifoat, renameat_with};

const INSIDE: &str = "inside";
const OUTSIDE: &str = "OUTSIDE";

/// A directory with a root in it and secrets beside it.
struct Grove {
    _dir: tempfile::TempDir,
    top: PathBuf,
    root: Root,
}

impl Grove {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("root");
        fs::create_dir_all(top.join("a/b")).unwrap();
        fs::create_dir_all(top.join(".git")).unwrap();
        fs::create_dir_all(top.join(".well-known")).unwrap();
        let secret = dir.path().join("secret");
        fs::create_dir_all(secret.join("b")).unwrap();
        for name in ["f", "index.html", "b/f", "b/index.html", "f.br"] {
            fs::write(secret.join(name), OUTSIDE).unwrap();
        }
        for name in [
            "f",
            "index.html",
            "a/f",
            "a/b/f",
            "a/b/index.html",
            ".git/f",
            ".env",
            ".well-known/f",
            "%2e%2e",
            "a%2ff",
            "s p",
            "a/\u{e9}",
            "back\\slash",
        ] {
            fs::write(top.join(name), INSIDE).unwrap();
        }
        fs::write(top.join(OsStr::from_bytes(b"\xff")), INSIDE).unwrap();
        for (to, name) in [
            ("a", "in"),
            ("../f", "a/in"),
            ("../../root/f", "a/round"),
            ("../secret", "out"),
            ("../../secret/f", "a/out"),
            ("../secret/f", "f.br"),
            ("/", "slash"),
            ("..", "up"),
            ("/proc/self/cwd", "magic"),
            ("/proc/self/fd/0", "fd"),
            ("loop", "loop"),
        ] {
            symlink(to, top.join(name)).unwrap();
        }
        symlink(&secret, top.join("absolute")).unwrap();
        symlink(top.join("a"), top.join("absolute-in")).unwrap();
        mkfifoat(CWD, top.join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
        mkfifoat(CWD, top.join("a/index.html"), Mode::RUSR | Mode::WUSR).unwrap();
        let root = Root::open(&top).unwrap();
        Self {
            _dir: dir,
            top,
            root,
        }
    }

    fn ask(&self, target: &[u8], listing: bool) -> Answer {
        let files = Files {
            root: PathBuf::new(),
            index: "index.html".into(),
            listing,
            spa: None,
            precompressed: vec!["br", "gzip"],
        };
        let mut fields = HeaderMap::new();
        fields.insert("accept-encoding", HeaderValue::from_static("br, gzip"));
        let asked = Asked {
            method: &Method::GET,
            target,
            prefix: 0,
            fields: &fields,
            now: UNIX_EPOCH + Duration::from_secs(1_800_000_000),
        };
        let now = self.root.answer_now(&files, &asked);
        let answer = self.root.answer(&files, &asked);
        if let Some(now) = now {
            assert_eq!(now.status, answer.status);
            assert_eq!(now.fields, answer.fields);
        }
        answer
    }
}

fn content(body: Body) -> Vec<u8> {
    match body {
        Body::Empty => Vec::new(),
        Body::File(mut part) => {
            let mut bytes = vec![0; 64];
            let filled = part.read_blocking(&mut bytes).unwrap();
            bytes.truncate(filled);
            bytes
        }
        Body::Text(text) => text.to_vec(),
    }
}

/// Pieces of which paths are made that mean something to this tree, or to a careless reader.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = [
        "a",
        "b",
        "f",
        "in",
        "out",
        "up",
        "slash",
        "magic",
        "fd",
        "loop",
        "fifo",
        "absolute",
        "absolute-in",
        "round",
        ".git",
        ".env",
        ".well-known",
        "index.html",
        "s%20p",
        "s p",
        "%ff",
        "%252e%252e",
        "%2e%2e",
        "..",
        ".",
        "%2e",
        "",
        "a%252ff",
        "a%2ff",
        "%c3%a9",
        "back%5cslash",
        "back\\slash",
        "secret",
        "root",
        "..%2f",
        "%2f..",
        "..%5c",
        "%00",
        "f%00",
        "proc",
        "self",
        "..;",
        "..%00",
        "%c0%ae%c0%ae",
        "f.br",
        "tmp",
        "etc",
        "passwd",
    ];
    prop_oneof![
        8 => prop::sample::select(known.to_vec()).prop_map(|text| text.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_asked_what_is_sent_lies_beneath_the_root(
        pieces in prop::collection::vec(piece(), 0..6),
        listing: bool,
    ) {
        thread_local!(static GROVE: Grove = Grove::new());
        let target = [b"/".to_vec(), pieces.join(&b'/')].concat();
        GROVE.with(|grove| {
            let answer = grove.ask(&target, listing);
            let path = target.split(|byte| *byte == b'?').next().unwrap();
            let mut asked = path.split(|byte| *byte == b'/');
            let is_hidden = asked.any(|one| matches!(one, b".git" | b".env"));
            if is_hidden {
                assert!(answer.status.is_client_error());
            }
            if let Some(location) = answer.fields.get("location") {
                let location = location.as_bytes();
                assert!(location.starts_with(b"/") && !location.starts_with(b"//"));
            }
            let bytes = content(answer.body);
            let text = String::from_utf8_lossy(&bytes);
            match answer.status {
                StatusCode::OK if text.starts_with("<!DOCTYPE") => {
                    assert!(!text.contains("secret") && !text.contains(">.env"));
                    assert!(!text.contains("out") && !text.contains("fifo"));
                }
                StatusCode::OK => assert_eq!(text, INSIDE),
                _ => assert!(bytes.is_empty()),
            }
        });
    }
}

#[test]
fn what_leads_out_is_404_however_it_is_reached() {
    let grove = Grove::new();
    for target in [
        "/out/f",
        "/out",
        "/out/",
        "/a/out",
        "/a/round",
        "/up/secret/f",
        "/slash/etc/passwd",
        "/magic",
        "/magic/Cargo.toml",
        "/fd",
        "/absolute/f",
        "/absolute-in/f",
        "/loop",
        "/fifo",
        "/a/",
        "/.env",
        "/.git/f",
        "/in/out",
    ] {
        for listing in [false, true] {
            let answer = grove.ask(target.as_bytes(), listing);
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{target}");
        }
    }
    let answer = grove.ask(b"/f", false);
    assert!(!answer.fields.contains_key("content-encoding"));
}

/// A directory and a link that leads out change places all the time.
#[test]
fn a_directory_that_turns_into_a_link_meanwhile_never_leads_out() {
    let grove = Grove::new();
    let (one, other) = (grove.top.join("a"), grove.top.join("out"));
    let (wanted, sink) = (grove.top.join("f.br"), grove.top.join("spare.br"));
    fs::write(&sink, INSIDE).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
                renameat_with(CWD, &wanted, CWD, &sink, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let mut seen = [0_u32; 2];
        for round in 0..40_000 {
            let target: &[u8] = [&b"/a/f"[..], b"/a/b/f", b"/a/b/", b"/f", b"/a/in"][round % 5];
            let Some(answer) = grove_answer(&grove, target) else {
                continue;
            };
            let is_shown = answer.status == StatusCode::OK;
            let bytes = content(answer.body);
            if bytes != if is_shown { INSIDE } else { "" }.as_bytes() {
                is_over.store(true, Ordering::Relaxed);
                panic!("{} showed {bytes:?}", String::from_utf8_lossy(target));
            }
            seen[usize::from(is_shown)] += 1;
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(
            seen.iter().all(|count| *count > 100),
            "both were met: {seen:?}"
        );
    });
}

/// Both ways of asking in turn.
fn grove_answer(grove: &Grove, target: &[u8]) -> Option<Answer> {
    let files = Files {
        root: PathBuf::new(),
        index: "index.html".into(),
        listing: true,
        spa: None,
        precompressed: vec!["br"],
    };
    let mut fields = HeaderMap::new();
    fields.insert("accept-encoding", HeaderValue::from_static("br"));
    let asked = Asked {
        method: &Method::GET,
        target,
        prefix: 0,
        fields: &fields,
        now: UNIX_EPOCH,
    };
    match target.len() % 2 {
        0 => Some(grove.root.answer(&files, &asked)),
        _ => grove.root.answer_now(&files, &asked),
    }
}

#[test]
fn the_root_is_the_directory_that_was_opened_whatever_it_is_called_later() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("1"), dir.path().join("2"));
    for (path, text) in [(&first, "one"), (&second, "two")] {
        fs::create_dir(path).unwrap();
        fs::write(path.join("f"), text).unwrap();
    }
    let current = dir.path().join("current");
    symlink(&first, &current).unwrap();
    let grove = Grove::new();
    let root = Root::open(&current).unwrap();
    fs::remove_file(&current).unwrap();
    symlink(&second, &current).unwrap();
    let held = Grove { root, ..grove };
    assert_eq!(content(held.ask(b"/f", false).body), b"one");
}

#[test]
fn a_root_that_cannot_be_opened_says_which() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("f");
    File::create(&file).unwrap();
    for path in [file, dir.path().join("nosuch")] {
        let fault = Root::open(&path).unwrap_err();
        assert!(matches!(&fault, Fault::NotOpened { path: named, .. } if *named == path));
        assert!(fault.to_string().contains(path.to_str().unwrap()));
    }
}

#[test]
fn what_may_not_be_read_is_404_and_a_directory_may_be_passed_through() {
    use std::os::unix::fs::PermissionsExt;

    let grove = Grove::new();
    let forbid = |name: &str, mode| {
        let path = grove.top.join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let file = forbid("a/f", 0);
    if fs::read(file).is_ok() {
        // Nothing is forbidden to root.
        return;
    }
    assert_eq!(grove.ask(b"/a/f", false).status, StatusCode::NOT_FOUND);
    forbid("a/b", 0o300);
    for (target, status) in [("/a/b", 308), ("/a/b/", 200), ("/a/b/f", 200)] {
        assert_eq!(
            grove.ask(target.as_bytes(), true).status,
            status,
            "{target}"
        );
    }
    fs::remove_file(grove.top.join("a/b/index.html")).unwrap();
    assert_eq!(grove.ask(b"/a/b/", true).status, StatusCode::NOT_FOUND);
    forbid("a", 0);
    assert_eq!(grove.ask(b"/a/b/f", true).status, StatusCode::NOT_FOUND);
    forbid("a", 0o700);
}

#[test]
fn what_is_in_memory_needs_no_thread_that_may_sleep_and_a_listing_does() {
    let grove = Grove::new();
    let files = |listing| Files {
        root: PathBuf::new(),
        index: "index.html".into(),
        listing,
        spa: None,
        precompressed: Vec::new(),
    };
    let fields = HeaderMap::new();
    let asked = |target| Asked {
        method: &Method::GET,
        target,
        prefix: 0,
        fields: &fields,
        now: UNIX_EPOCH,
    };
    fs::create_dir(grove.top.join("bare")).unwrap();
    // The kernel may forget at any moment, but not at every one.
    let mut tries = (0..1_000).map(|_| {
        let waited = grove.root.answer(&files(true), &asked(b"/in/f"));
        assert_eq!(waited.status, StatusCode::OK);
        grove.root.answer_now(&files(true), &asked(b"/in/f"))
    });
    assert!(tries.any(|answer| answer.is_some()));
    assert!(
        grove
            .root
            .answer_now(&files(true), &asked(b"/bare/"))
            .is_none()
    );
}
