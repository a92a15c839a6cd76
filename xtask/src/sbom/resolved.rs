//! What the product needs, as cargo resolves it for the product alone.
//!
//! `cargo metadata` joins what every package of the workspace asks of another, tests included, so it
//! cannot say what is in the binary; `cargo tree` can.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::PRODUCT;
use crate::Result;
use crate::process::{capture, program};

const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// A package's name and version.
pub(crate) type Key = (String, String);

/// The packages that build the product.
pub(crate) struct Resolved {
    pub(crate) product: Key,
    /// What each needs.
    pub(crate) edges: BTreeMap<Key, BTreeSet<Key>>,
    /// Those that are in the binary.
    pub(crate) shipped: BTreeSet<Key>,
}

impl Resolved {
    /// Asks cargo.
    pub(crate) fn of(root: &Path) -> Result<Self> {
        let tree = |edges| {
            let line = [
                "tree",
                "--locked",
                "--package",
                PRODUCT,
                "--target",
                PLATFORM,
            ];
            let how = ["--prefix", "depth", "--edges", edges];
            capture(program(root, "cargo", &line).args(how))
        };
        Self::new(&tree("normal,build")?, &tree("normal,no-proc-macro")?)
    }

    /// Reads two trees: of all that builds, and of all that is shipped.
    pub(super) fn new(builds: &str, shipped: &str) -> Result<Self> {
        let mut edges: BTreeMap<Key, BTreeSet<Key>> = BTreeMap::new();
        let mut above: Vec<Key> = Vec::new();
        for line in builds.lines() {
            let (depth, key) = package(line)?;
            above.truncate(depth);
            edges.entry(key.clone()).or_default();
            if let Some(needs) = above.last().and_then(|one| edges.get_mut(one)) {
                needs.insert(key.clone());
            }
            above.push(key);
        }
        let shipped: Result<BTreeSet<Key>> =
            shipped.lines().map(|line| Ok(package(line)?.1)).collect();
        let first = builds.lines().next().ok_or("cargo tree said nothing")?;
        let (_, product) = package(first)?;
        Ok(Self {
            product,
            edges,
            shipped: shipped?,
        })
    }
}

/// The depth, the name and the version of a line like `2serde v1.0.0 (*)`.
fn package(line: &str) -> Result<(usize, Key)> {
    let name = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let depth = line.get(..line.len() - name.len()).unwrap_or_default();
    let mut words = name.split(' ');
    let found = || {
        let name = words.next()?.to_owned();
        let version = words.next()?.strip_prefix('v')?.to_owned();
        Some((depth.parse().ok()?, (name, version)))
    };
    let mut found = found;
    found().ok_or_else(|| format!("cargo tree says `{line}`"))
}
