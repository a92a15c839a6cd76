//! The commit that is built, in the words of `--version`.
//!
//! Source: adr/0054; `gatewayd/build.rs` finds the same where nobody tells it.

use std::path::Path;

use crate::Result;
use crate::process::{capture, program};

/// What `--version` says of the commit, where it is not asked of git.
pub(crate) const TOLD: &str = "GATEWAYD_COMMIT";
/// What `git archive` writes the commit into.
const ARCHIVED: &str = "gatewayd/commit.txt";

/// What is told in the environment; or git's word, marked where what is built is not what was
/// committed; or that of the archive.
pub(crate) fn of(root: &Path) -> Result<String> {
    if let Some(told) = std::env::var_os(TOLD) {
        return Ok(told.to_string_lossy().into_owned());
    }
    if root.join(".git").exists() {
        return checked_out(root);
    }
    let said = std::fs::read_to_string(root.join(ARCHIVED)).unwrap_or_default();
    let commit = said.trim().get(..12);
    let commit = commit.filter(|commit| commit.bytes().all(|b| b.is_ascii_hexdigit()));
    Ok(commit.unwrap_or("unknown commit").to_owned())
}

fn checked_out(root: &Path) -> Result<String> {
    let git = |words: &[&str]| capture(&mut program(root, "git", words));
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"])?;
    let mark = if changes.is_empty() { "" } else { "-dirty" };
    Ok(format!("{}{mark}", commit.trim()))
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::process::{capture, program};
    use std::fs;

    #[test]
    fn what_was_changed_after_its_commit_says_so() {
        let place = std::env::temp_dir().join(format!("xtask-commit-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("file"), "one").unwrap();
        assert_eq!(of(&place).unwrap(), "unknown commit");
        let who = "-c user.name=a -c user.email=a@b.test commit --quiet -m one";
        for line in ["init --quiet", "add file", who] {
            let words: Vec<&str> = line.split(' ').collect();
            capture(&mut program(&place, "git", &words)).unwrap();
        }
        fs::write(place.join("beside"), "").unwrap();
        assert_eq!(of(&place).unwrap().len(), 12);
        fs::write(place.join("file"), "two").unwrap();
        let said = of(&place).unwrap();
        fs::remove_dir_all(place).unwrap();
        assert!(said.ends_with("-dirty") && said.len() == 18, "{said}");
    }

    #[test]
    fn sources_out_of_an_archive_say_their_commit() {
        let place = std::env::temp_dir().join(format!("xtask-archived-{}", std::process::id()));
        fs::create_dir_all(place.join("gatewayd")).unwrap();
        fs::write(place.join("gatewayd/commit.txt"), "0123456789abcdef\n").unwrap();
        let said = of(&place).unwrap();
        fs::remove_dir_all(place).unwrap();
        assert_eq!(said, "0123456789ab");
    }
}
