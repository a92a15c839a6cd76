//! Reads the patch files and applies them; a patch that changes nothing is an error.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::process::{capture, program};

/// One `NNNN-name.patch`.
#[derive(Debug)]
pub(crate) struct Patch {
    /// Its file name.
    pub(crate) name: String,
    pub(crate) text: String,
    /// The crates it touches, each once.
    pub(crate) crates: Vec<String>,
    /// The files it touches, `crate/path/in/it`.
    pub(crate) files: Vec<String>,
}

/// What Pingora speaks HTTP/2 with.
const HTTP2: &str = "h2";

fn is_engine(name: &str) -> bool {
    name.starts_with("pingora-") || name == HTTP2
}

/// Every patch in `folder`, in the order of the numbers.
pub(crate) fn read(folder: &Path) -> Result<Vec<Patch>> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry
            .map_err(failed)?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".patch") {
            names.push(name);
        }
    }
    names.sort();
    names
        .into_iter()
        .map(|name| {
            let text = fs::read_to_string(folder.join(&name)).map_err(failed)?;
            parse(name, text)
        })
        .collect()
}

/// `all`, with the `others` in the places of those they are called like.
pub(crate) fn with(mut all: Vec<Patch>, others: Vec<Patch>) -> Result<Vec<Patch>> {
    for other in others {
        let mut places = all.iter_mut();
        match places.find(|patch| patch.name == other.name) {
            Some(place) => *place = other,
            None => return Err(format!("another {}, of which there is none", other.name)),
        }
    }
    Ok(all)
}

/// Finds out what a patch touches from its `--- a/…` and `+++ b/…` lines.
pub(crate) fn parse(name: String, text: String) -> Result<Patch> {
    let numbered = name
        .split_once('-')
        .is_some_and(|(number, _)| number.len() == 4 && number.bytes().all(|b| b.is_ascii_digit()));
    if !numbered {
        return Err(format!("{name}: a patch is called NNNN-name.patch"));
    }
    let mut files: Vec<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("--- a/").or(line.strip_prefix("+++ b/")))
        .map(|path| path.trim_end().to_owned())
        .collect();
    files.sort();
    files.dedup();
    if files.is_empty() {
        return Err(format!("{name}: no line says `--- a/CRATE/FILE`"));
    }
    let mut crates = Vec::new();
    for file in &files {
        match file.split_once('/') {
            Some((owner, _)) if is_engine(owner) => crates.push(owner.to_owned()),
            _ => {
                return Err(format!(
                    "{name}: {file} does not start with one of Pingora's crates, or `{HTTP2}`"
                ));
            }
        }
    }
    crates.dedup();
    Ok(Patch {
        name,
        text,
        crates,
        files,
    })
}

/// Applies `patch` below `staging`, and proves that each file it names is another one afterwards.
pub(crate) fn apply(staging: &Path, patch: &Patch) -> Result {
    let before = contents(staging, patch);
    git_apply(staging, patch, &[]).map_err(|error| {
        format!(
            "{} does not apply to the pinned release:\n{error}",
            patch.name
        )
    })?;
    let after = contents(staging, patch);
    for ((file, before), after) in patch.files.iter().zip(before).zip(after) {
        if before == after {
            return Err(format!("{} left {file} as it was", patch.name));
        }
    }
    Ok(())
}

/// Takes `patch` off where what it says stands below `staging`; answers whether it did.
pub(crate) fn take_off(staging: &Path, patch: &Patch) -> bool {
    git_apply(staging, patch, &["--reverse"]).is_ok()
}

/// In a repository `git apply` quietly skips paths it takes for foreign ones; below this ceiling
/// it finds no repository, and either applies everything or fails.
fn git_apply(staging: &Path, patch: &Patch, how: &[&str]) -> Result {
    let staging = staging
        .canonicalize()
        .map_err(|error| format!("cannot find {}: {error}", staging.display()))?;
    let ceiling = staging.parent().unwrap_or(&staging);
    let scratch = staging.join(".patch");
    fs::write(&scratch, &patch.text).map_err(|error| format!("cannot write a patch: {error}"))?;
    let said = capture(
        program(
            &staging,
            "git",
            &["apply", "-p1", "--whitespace=nowarn", ".patch"],
        )
        .args(how)
        .env("GIT_CEILING_DIRECTORIES", ceiling)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE"),
    );
    fs::remove_file(&scratch).map_err(|error| format!("cannot remove a patch: {error}"))?;
    said.map(drop)
}

fn contents(staging: &Path, patch: &Patch) -> Vec<Option<Vec<u8>>> {
    patch
        .files
        .iter()
        .map(|file| fs::read(staging.join(file)).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{apply, parse, with};
    use std::fs;
    use std::path::PathBuf;

    const PATCH: &str = "\
why it is there
--- a/pingora-core/src/lib.rs
+++ b/pingora-core/src/lib.rs
@@ -1,2 +1,2 @@
 one
-two
+three
";

    fn staging(name: &str, text: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("xtask-apply-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("pingora-core/src")).unwrap();
        fs::write(folder.join("pingora-core/src/lib.rs"), text).unwrap();
        folder
    }

    #[test]
    fn a_patch_names_the_crates_and_files_it_touches() {
        let patch = parse("0001-one.patch".to_owned(), PATCH.to_owned()).unwrap();
        assert_eq!(patch.crates, ["pingora-core"]);
        assert_eq!(patch.files, ["pingora-core/src/lib.rs"]);
    }

    #[test]
    fn a_patch_that_reads_otherwise_somewhere_is_one_that_there_is() {
        let patch = |name: &str, text: &str| parse(name.to_owned(), text.to_owned()).unwrap();
        let all = || {
            vec![
                patch("0001-one.patch", PATCH),
                patch("0002-two.patch", PATCH),
            ]
        };
        let other = PATCH.replace("three", "four");
        let taken = with(all(), vec![patch("0002-two.patch", &other)]).unwrap();
        assert_eq!([&*taken[0].text, &*taken[1].text], [PATCH, &other]);
        assert!(with(all(), vec![patch("0003-three.patch", &other)]).is_err());
    }

    #[test]
    fn a_patch_without_a_number_or_for_a_foreign_crate_is_refused() {
        assert!(parse("one.patch".to_owned(), PATCH.to_owned()).is_err());
        assert!(parse("0001-one.patch".to_owned(), "prose\n".to_owned()).is_err());
        let foreign = PATCH.replace("pingora-core", "tokio");
        assert!(parse("0001-one.patch".to_owned(), foreign).is_err());
    }

    #[test]
    fn a_patch_is_applied() {
        let patch = parse("0001-one.patch".to_owned(), PATCH.to_owned()).unwrap();
        let folder = staging("fits", "one\ntwo\n");
        apply(&folder, &patch).unwrap();
        let text = fs::read_to_string(folder.join("pingora-core/src/lib.rs")).unwrap();
        assert_eq!(text, "one\nthree\n");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_hunk_that_does_not_fit_fails_loudly() {
        let patch = parse("0001-one.patch".to_owned(), PATCH.to_owned()).unwrap();
        let folder = staging("misfit", "one\nfour\n");
        let refused = apply(&folder, &patch).unwrap_err();
        assert!(
            refused.contains("0001-one.patch does not apply"),
            "{refused}"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
