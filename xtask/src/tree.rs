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
    /// Is every line of it a test, or a stage for tests?
    pub(crate) is_test: bool,
}

impl File {
    /// The last part of the path, without its extension.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split_once('.').map_or(name, |(stem, _)| stem)
    }

    /// A file on its own: what is a test in it can be told by its path alone.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            is_test: path.starts_with("tests/")
                || path.contains("/tests/")
                || path.ends_with("/tests.rs"),
        }
    }
}

/// The path of every file that is tracked, or would be once added; some may be deleted already.
pub(crate) fn paths(root: &Path) -> Result<Vec<String>> {
    let all = ["-z", "--cached", "--others", "--exclude-standard"];
    let mut git = program(root, "git", &["ls-files"]);
    if !root.join(".git").exists() {
        // Unpacked from an archive: nothing is tracked, and what is ignored stands there as well.
        let empty = root.join(".tools/empty.git");
        let place = empty.to_string_lossy();
        capture(&mut program(
            root,
            "git",
            &["init", "--quiet", "--bare", &place],
        ))?;
        git.env("GIT_DIR", &empty).env("GIT_WORK_TREE", root);
    }
    let listing = capture(git.args(all))?;
    let paths = listing.split('\0').filter(|path| !path.is_empty());
    Ok(paths.map(str::to_owned).collect())
}

/// Every text file among them.
pub(crate) fn files(root: &Path) -> Result<Vec<File>> {
    let mut files: Vec<File> = paths(root)?
        .iter()
        .filter_map(|path| {
            // Bytes that are no text, and paths deleted but not yet committed, have no lines to judge.
            let text = fs::read_to_string(root.join(path)).ok()?;
            Some(File::new(path, &text))
        })
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    mark_tests(&mut files);
    Ok(files)
}

/// Marks the files of modules that are declared under `#[cfg(test)]`.
fn mark_tests(files: &mut [File]) {
    let declared: Vec<String> = files.iter().flat_map(test_modules).collect();
    for file in files {
        let in_test = |module: &String| {
            let rest = file.path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        };
        file.is_test = file.is_test || declared.iter().any(in_test);
    }
}

/// The paths, without their ending, of the test modules that `file` declares.
fn test_modules(file: &File) -> Vec<String> {
    let Some(module) = file.path.strip_suffix(".rs") else {
        return Vec::new();
    };
    let folder = ["lib", "main"]
        .iter()
        .find_map(|head| module.strip_suffix(head)?.strip_suffix('/'))
        .unwrap_or(module);
    let declarations = file.text.split("#[cfg(test)]").skip(1);
    declarations
        .filter_map(|rest| rest.trim_start().split_once(';'))
        .filter_map(|(declaration, _)| declaration.split_once("mod "))
        .map(|(_, name)| name.trim())
        .filter(|name| name.chars().all(|c| c.is_alphanumeric() || c == '_'))
        .map(|name| format!("{folder}/{name}"))
        .collect()
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
    use super::{File, mark_tests, matches, paths, root};
    use crate::process::{capture, program};
    use std::fs;

    #[test]
    fn what_was_unpacked_from_an_archive_has_the_files_of_its_commit() {
        let place = std::env::temp_dir().join(format!("xtask-archive-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("target")).unwrap();
        fs::write(place.join("target/built"), "").unwrap();
        let ours = root().unwrap();
        let tar = place.join("sources.tar");
        let archive = ["archive", "--output", &tar.to_string_lossy(), "HEAD"];
        // Not everybody has the project from git; then this is the case itself.
        if ours.join(".git").exists() {
            capture(&mut program(&ours, "git", &archive)).unwrap();
            capture(&mut program(&place, "tar", &["-xf", "sources.tar"])).unwrap();
            fs::remove_file(tar).unwrap();
            let committed = ["ls-tree", "-r", "--name-only", "HEAD"];
            let committed = capture(&mut program(&ours, "git", &committed)).unwrap();
            let mut unpacked = paths(&place).unwrap();
            unpacked.sort();
            assert_eq!(unpacked, committed.lines().collect::<Vec<_>>());
            let commit = fs::read_to_string(place.join("gatewayd/commit.txt")).unwrap();
            let head = capture(&mut program(&ours, "git", &["rev-parse", "HEAD"])).unwrap();
            assert_eq!(commit, head);
        }
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_star_stands_for_anything() {
        assert!(matches("gateway-*/src/*", "gateway-core/src/pool/pick.rs"));
        assert!(matches("*/clock.rs", "gateway-pingora/src/clock.rs"));
        assert!(!matches("gateway-*/src/*", "gatewayd/src/main.rs"));
    }

    #[test]
    fn files_know_what_they_are() {
        let file = |path: &str| File::new(path, "");
        assert_eq!(file("a/src/pool.rs").stem(), "pool");
        assert!(file("tests/scenarios/retry.rs").is_test);
        assert!(file("gateway-core/src/pool/tests.rs").is_test);
        assert!(!file("gateway-core/src/pool.rs").is_test);
    }

    #[test]
    fn modules_declared_for_tests_are_tests() {
        let mut files = [
            File::new("a/src/lib.rs", "mod pool;\n#[cfg(test)]\nmod fixture;\n"),
            File::new("a/src/pool.rs", "#[cfg(test)]\npub(crate) mod model;\n"),
            File::new("a/src/fixture.rs", ""),
            File::new("a/src/pool/model/node.rs", ""),
            File::new("a/src/pool/pick.rs", ""),
        ];
        mark_tests(&mut files);
        let tests: Vec<bool> = files.iter().map(|file| file.is_test).collect();
        assert_eq!(tests, [false, false, true, true, false]);
    }
}
