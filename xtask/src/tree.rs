//! The files of the project, as git sees them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::process::{capture, program};

/// The root of the checkout this tool was built in.
pub(crate) fn root() -> Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_path_buf)
        .ok_or_else(|| "xtask does not lie inside a checkout".to_owned())
}

/// One text file: its path from the root with `/` between the parts, and what is in it.
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    /// The last part of the path, without its extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split_once('.').map_or(name, |(stem, _)| stem)
    }

    /// Is every line of it a test, or a stage for tests?
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
    }
}

/// Every text file that is tracked, or would be once added.
pub(crate) fn files(root: &Path) -> Result<Vec<File>> {
    let listing = capture(&mut program(
        root,
        "git",
        &[
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
    ))?;
    let mut files: Vec<File> = listing
        .split('\0')
        .filter(|path| !path.is_empty())
        .filter_map(|path| {
            // Bytes that are no text, and paths deleted but not yet committed, have no lines to judge.
            let text = fs::read_to_string(root.join(path)).ok()?;
            Some(File {
                path: path.to_owned(),
                text,
            })
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(files)
}

/// The Rust among them.
pub(crate) fn rust_files(root: &Path) -> Result<Vec<File>> {
    let mut files = files(root)?;
    files.retain(|file| file.path.ends_with(".rs"));
    Ok(files)
}

/// Does `path` match `pattern`? `*` stands for any run of characters, `/` included.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == path,
        Some((head, tail)) => path.strip_prefix(head).is_some_and(|rest| {
            (0..=rest.len())
                .filter_map(|at| rest.get(at..))
                .any(|rest| matches(tail, rest))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::{File, matches};

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("gateway-*/src/*", "gateway-core/src/pool/pick.rs"));
        assert!(matches("*/clock.rs", "gateway-pingora/src/clock.rs"));
        assert!(!matches("gateway-*/src/*", "gatewayd/src/main.rs"));
    }

    #[test]
    fn files_know_what_they_are() {
        let file = |path: &str| File {
            path: path.to_owned(),
            text: String::new(),
        };
        assert_eq!(file("a/src/pool.rs").stem(), "pool");
        assert!(file("tests/scenarios/retry.rs").is_test());
        assert!(file("gateway-core/src/pool/tests.rs").is_test());
        assert!(!file("gateway-core/src/pool.rs").is_test());
    }
}
