//! `vectors/`: what a client is told, as files anybody can read.
//!
//! Each vector is asked of the same small tree, whose files were all written at
//! 14 November 2023, 22:13:20. `{tag}` in a field is the entity tag of what a request for the
//! same target would get without conditions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so by stopping"
)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use gateway_config::model::Files;
use gateway_files::{Answer, Asked, Body, Root};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    source: String,
    #[serde(default)]
    files: Setting,
    vector: Vec<Vector>,
}

/// The settings of a sheet or of one vector.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Setting {
    listing: bool,
    spa: Option<String>,
    precompressed: Vec<String>,
    prefix: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    claim: String,
    source: Option<String>,
    ask: String,
    #[serde(default)]
    with: Vec<String>,
    files: Option<Setting>,
    status: u16,
    body: Option<String>,
    /// Fields of the answer; an empty one is absent, `*` is any value.
    #[serde(default)]
    fields: BTreeMap<String, String>,
}

#[test]
fn every_vector_is_answered_as_it_says() {
    let dir = tempfile::tempdir().unwrap();
    let tree = grown(dir.path());
    let root = Root::open(&tree).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in sheets() {
        let sheet: Sheet = toml::from_str(&fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        for vector in &sheet.vector {
            count += 1;
            let setting = vector.files.as_ref().unwrap_or(&sheet.files);
            if let Err(why) = vector.holds(&root, setting) {
                let source = vector.source.as_ref().unwrap_or(&sheet.source);
                wrong.push(format!("{}\n  {source}\n  {why}", vector.claim));
            }
        }
    }
    assert!(count > 100, "{count} vectors were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

impl Vector {
    fn holds(&self, root: &Root, setting: &Setting) -> Result<(), String> {
        let fields = self.fields_sent(root, setting);
        let answer = asked(root, setting, &self.ask, &fields);
        same("status", answer.status.as_u16(), self.status)?;
        for (name, expected) in &self.fields {
            let lines = answer.fields.get_all(name);
            let found: Vec<_> = lines.iter().map(|one| one.to_str().unwrap()).collect();
            match (expected.as_str(), &found[..]) {
                ("", []) => {}
                ("*", [_]) => {}
                (expected, found) => same(name, found, [expected])?,
            }
        }
        let body = match answer.body {
            Body::Empty => None,
            Body::File(mut part) => {
                let mut bytes = vec![0; usize::try_from(part.left()).unwrap()];
                let mut filled = 0;
                while filled < bytes.len() {
                    filled += part.read_blocking(&mut bytes[filled..]).unwrap();
                }
                Some(String::from_utf8(bytes).unwrap())
            }
            Body::Text(text) => Some(String::from_utf8(text.to_vec()).unwrap()),
        };
        let has_length = answer
            .fields
            .get("content-length")
            .map(HeaderValue::as_bytes);
        if let Some(body) = &body {
            let length = body.len().to_string();
            same("length", has_length, Some(length.as_bytes()))?;
        }
        match self.body.as_deref() {
            Some("*") => same("a body", body.is_some(), true),
            expected => same("body", body.as_deref(), expected),
        }
    }

    fn fields_sent(&self, root: &Root, setting: &Setting) -> HeaderMap {
        let mut fields = HeaderMap::new();
        for line in self.with.iter().filter(|line| !line.contains("{tag}")) {
            add(&mut fields, line);
        }
        let (_, target) = self.ask.split_once(' ').unwrap();
        let mut bare = fields.clone();
        for name in ["if-match", "if-unmodified-since", "range"] {
            bare.remove(name);
        }
        let answer = asked(root, setting, &format!("GET {target}"), &bare);
        let tag = answer.fields.get("etag").map(|tag| tag.to_str().unwrap());
        for line in self.with.iter().filter(|line| line.contains("{tag}")) {
            let tag = tag.expect("what is asked for has a tag");
            add(&mut fields, &line.replace("{tag}", tag));
        }
        fields
    }
}

fn add(fields: &mut HeaderMap, line: &str) {
    let (name, value) = line
        .split_once(": ")
        .unwrap_or((line.trim_end_matches(':'), ""));
    let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
    fields.append(name, HeaderValue::from_str(value).unwrap());
}

fn asked(root: &Root, setting: &Setting, ask: &str, fields: &HeaderMap) -> Answer {
    let known = ["br", "gzip", "zstd"];
    let is_set = |one: &&str| setting.precompressed.iter().any(|set| set == one);
    let files = Files {
        root: PathBuf::new(),
        index: "index.html".into(),
        listing: setting.listing,
        spa: setting.spa.as_deref().map(Into::into),
        precompressed: known.into_iter().filter(is_set).collect(),
    };
    let (method, target) = ask.split_once(' ').expect("a method and a target");
    let asked = Asked {
        method: &Method::from_bytes(method.as_bytes()).unwrap(),
        target: target.as_bytes(),
        prefix: setting.prefix,
        fields,
        now: UNIX_EPOCH + Duration::from_secs(WRITTEN + 1_000),
    };
    root.answer(&files, &asked)
}

fn same<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(
    what: &str,
    found: T,
    expected: U,
) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found:?} and not {expected:?}")),
    }
}

fn sheets() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The tree that is asked, beside something that must never be seen.
fn grown(dir: &Path) -> PathBuf {
    let tree = dir.join("tree");
    for folder in [
        "dir/inner",
        "bare",
        "empty",
        ".git",
        ".well-known",
        "index-dir/index.html",
        "a b",
    ] {
        fs::create_dir_all(tree.join(folder)).unwrap();
    }
    for (name, content) in [
        ("index.html", "<p>top"),
        ("digits.txt", "0123456789"),
        ("empty.txt", ""),
        ("dir/index.html", "<p>dir"),
        ("dir/page.html", "<p>page"),
        ("bare/one.txt", "one"),
        ("bare/.hidden", "hidden"),
        (".env", "secret"),
        (".git/config", "secret"),
        (".well-known/x", "known"),
        ("a b/100%.txt", "odd"),
        ("%2e%2e", "twice"),
        ("unknown.nosuch", "?"),
        ("app.js", "plain"),
        ("app.js.br", "brotli"),
        ("app.js.gz", "gzip!"),
        ("app.js.zst", "zstandard"),
        ("only.js", "plain"),
        ("only.js.gz", "gzip!"),
        ("old.js", "plain"),
        ("dir.js", "plain"),
        ("bare.js.br", "brotli"),
    ] {
        write(&tree.join(name), content, WRITTEN);
    }
    write(&tree.join("old.js.br"), "stale", WRITTEN - 1);
    write(&tree.join("epoch.txt"), "epoch", 1);
    fs::create_dir(tree.join("dir.js.br")).unwrap();
    write(&dir.join("outside.txt"), "outside", WRITTEN);
    for (to, name) in [
        ("digits.txt", "link.txt"),
        ("dir", "linked"),
        ("../outside.txt", "leaves.txt"),
        ("..", "up"),
        ("/", "slash"),
        ("/proc/self/root", "magic"),
        ("circle", "circle"),
        ("nowhere", "dangling"),
    ] {
        symlink(to, tree.join(name)).unwrap();
    }
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mkfifoat(rustix::fs::CWD, tree.join("fifo"), mode).unwrap();
    tree
}

fn write(path: &Path, content: &str, at: u64) {
    fs::write(path, content).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_secs(at))
        .unwrap();
}

/// 14 November 2023, 22:13:20.
const WRITTEN: u64 = 1_700_000_000;
