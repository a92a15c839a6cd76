//! What one patch is to another Pingora, and what kind of news that makes.

use std::path::Path;

use crate::vendor::patches::{self, Patch};

/// How one patch went.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It applies.
    Applies,
    /// What it says stands there already: upstream has taken it.
    AlreadyThere,
    /// It does not apply, and this is what git says.
    Conflicts(String),
}

impl Verdict {
    pub(crate) const fn word(&self) -> &'static str {
        match self {
            Self::Applies => "applies",
            Self::AlreadyThere => "already there",
            Self::Conflicts(_) => "conflicts",
        }
    }
}

/// Lays `patch` on the tree below `place`, which is as it was unless it applies.
pub(crate) fn lay(place: &Path, patch: &Patch) -> Verdict {
    match patches::apply(place, patch) {
        Ok(()) => Verdict::Applies,
        // Asked second: lines that are only added may fit twice.
        Err(_) if patches::is_there(place, patch) => Verdict::AlreadyThere,
        Err(said) => {
            let lines = said.lines().filter(|line| line.starts_with("error:"));
            Verdict::Conflicts(lines.collect::<Vec<_>>().join("\n"))
        }
    }
}

/// What the whole run is, in the order in which it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing to do.
    Fine,
    /// A patch does not apply.
    PatchConflicts,
    /// Something of ours does not compile.
    DoesNotCompile,
    /// A test fails.
    TestsFail,
    /// All is well, and a patch of ours is upstream's.
    PatchTaken,
}

impl Kind {
    /// The exit code. 1 is a canary that could not run, 2 one that was called wrongly.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::PatchConflicts => 3,
            Self::DoesNotCompile => 4,
            Self::TestsFail => 5,
            Self::PatchTaken => 6,
        }
    }

    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::PatchConflicts => "patch conflicts",
            Self::DoesNotCompile => "does not compile",
            Self::TestsFail => "tests fail",
            Self::PatchTaken => "patch taken",
        }
    }

    /// What is to be done about it.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            Self::Fine => "nothing to do",
            Self::PatchConflicts => {
                "write anew for this Pingora what conflicts, or drop it if it is not needed there; \
                 what fails after the patches may only follow from that"
            }
            Self::DoesNotCompile => {
                "every patch is there; what we call is not, or is called otherwise"
            }
            Self::TestsFail => "it compiles, and no longer does what these tests claim",
            Self::PatchTaken => "drop with the next pin what is already there",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, lay};
    use crate::vendor::patches::{Patch, parse};
    use std::fs;
    use std::path::PathBuf;

    fn patch() -> Patch {
        let text = "--- a/pingora-core/src/lib.rs\n+++ b/pingora-core/src/lib.rs\n@@ -1,3 +1,3 @@\n one\n-two\n+three\n four\n";
        parse("0001-one.patch".to_owned(), text.to_owned()).unwrap()
    }

    fn after(name: &str, before: &str) -> (Verdict, String) {
        let place: PathBuf =
            std::env::temp_dir().join(format!("xtask-lay-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("pingora-core/src")).unwrap();
        let file = place.join("pingora-core/src/lib.rs");
        fs::write(&file, before).unwrap();
        let verdict = lay(&place, &patch());
        let text = fs::read_to_string(file).unwrap();
        fs::remove_dir_all(place).unwrap();
        (verdict, text)
    }

    #[test]
    fn a_patch_that_fits_is_laid_on() {
        let (verdict, text) = after("fits", "one\ntwo\nfour\n");
        assert_eq!(verdict, Verdict::Applies);
        assert_eq!(text, "one\nthree\nfour\n");
    }

    #[test]
    fn a_patch_that_upstream_has_taken_is_told_from_one_that_conflicts() {
        let (verdict, text) = after("taken", "one\nthree\nfour\n");
        assert_eq!(verdict, Verdict::AlreadyThere);
        assert_eq!(text, "one\nthree\nfour\n");
    }

    #[test]
    fn a_patch_that_conflicts_says_where_and_changes_nothing() {
        let (verdict, text) = after("conflict", "one\nfive\nfour\n");
        let Verdict::Conflicts(said) = verdict else {
            panic!("{verdict:?}");
        };
        assert!(said.contains("pingora-core/src/lib.rs"), "{said}");
        assert_eq!(text, "one\nfive\nfour\n");
    }
}
