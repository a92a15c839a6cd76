//! What one patch is to another Pingora, and what kind of news that makes.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::Result;
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

/// Lays `patches` on the tree below `place`, in their order; one that does not apply leaves it as it was.
///
/// # Errors
///
/// What was laid out cannot be copied.
pub(crate) fn lay(place: &Path, patches: &[&Patch]) -> Result<Vec<Verdict>> {
    let laid = patches.iter().map(|patch| patches::apply(place, patch));
    let laid: Vec<Result> = laid.collect();
    let mut verdicts = Vec::new();
    // Asked second: lines that are only added may fit twice.
    let there = match laid.iter().all(Result::is_ok) {
        true => BTreeSet::new(),
        false => taken_off(place, patches)?,
    };
    for (patch, laid) in patches.iter().zip(laid) {
        verdicts.push(match laid {
            Ok(()) => Verdict::Applies,
            Err(_) if there.contains(patch.name.as_str()) => Verdict::AlreadyThere,
            Err(said) => {
                let lines = said.lines().filter(|line| line.starts_with("error:"));
                Verdict::Conflicts(lines.collect::<Vec<_>>().join("\n"))
            }
        });
    }
    Ok(verdicts)
}

/// Which of `patches` come off a copy of the files they touch: from the last to the first, as one may
/// stand on another.
fn taken_off<'a>(place: &Path, patches: &[&'a Patch]) -> Result<BTreeSet<&'a str>> {
    let failed = |why: std::io::Error| format!("{}: {why}", place.display());
    let scratch = place.join(".taken-off");
    fs::create_dir_all(&scratch).map_err(failed)?;
    for file in patches.iter().flat_map(|patch| &patch.files) {
        let (from, to) = (place.join(file), scratch.join(file));
        if let (true, Some(folder)) = (from.is_file(), to.parent()) {
            fs::create_dir_all(folder).map_err(failed)?;
            fs::copy(from, to).map_err(failed)?;
        }
    }
    let last_first = patches.iter().rev();
    let there = last_first.filter(|patch| patches::take_off(&scratch, patch));
    let there = there.map(|patch| patch.name.as_str()).collect();
    fs::remove_dir_all(&scratch).map_err(failed)?;
    Ok(there)
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

    /// One that makes `to` of `from`, between `one` and `four`.
    fn patch(name: &str, from: &str, to: &str) -> Patch {
        let file = "pingora-core/src/lib.rs";
        let hunk = format!("@@ -1,3 +1,3 @@\n one\n-{from}\n+{to}\n four\n");
        let text = format!("--- a/{file}\n+++ b/{file}\n{hunk}");
        parse(name.to_owned(), text).unwrap()
    }

    fn after(name: &str, before: &str) -> (Verdict, String) {
        let (mut verdicts, text) =
            all_after(name, before, &[&patch("0001-one.patch", "two", "three")]);
        (verdicts.remove(0), text)
    }

    fn all_after(name: &str, before: &str, patches: &[&Patch]) -> (Vec<Verdict>, String) {
        let place: PathBuf =
            std::env::temp_dir().join(format!("xtask-lay-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(place.join("pingora-core/src")).unwrap();
        let file = place.join("pingora-core/src/lib.rs");
        fs::write(&file, before).unwrap();
        let verdicts = lay(&place, patches).unwrap();
        let text = fs::read_to_string(file).unwrap();
        fs::remove_dir_all(place).unwrap();
        (verdicts, text)
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
    fn patches_that_stand_on_each_other_are_all_there() {
        let first = patch("0001-one.patch", "two", "three");
        let second = patch("0002-two.patch", "three", "five");
        let both = [&first, &second];
        let (verdicts, text) = all_after("stacked", "one\nfive\nfour\n", &both);
        assert_eq!(verdicts, [Verdict::AlreadyThere, Verdict::AlreadyThere]);
        assert_eq!(text, "one\nfive\nfour\n");
        // The first one is upstream's, and the second is not yet.
        let (verdicts, text) = all_after("stacked-first", "one\nthree\nfour\n", &both);
        assert_eq!(verdicts, [Verdict::AlreadyThere, Verdict::Applies]);
        assert_eq!(text, "one\nfive\nfour\n");
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
