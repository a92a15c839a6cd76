//! Refuses names that say nothing: for files, and for types.

use crate::report::Finding;
use crate::rust_text::{code, line_of, occurrences};
use crate::tree::File;

/// Words that are a last word of no name. `Impl` is one only for types.
const EMPTY_WORDS: [&str; 10] = [
    "base", "common", "data", "handler", "helper", "impl", "info", "manager", "misc", "util",
];

/// What is wrong with the names in `file`, and with its own.
pub(crate) fn judge(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.stem() == "mod" {
        findings.push(finding(
            file,
            None,
            "a module is called `foo.rs` beside `foo/`, not `foo/mod.rs`".to_owned(),
        ));
    }
    for part in file.path.trim_end_matches(".rs").split('/') {
        let last = part.rsplit(['_', '-']).next().unwrap_or(part);
        if says_nothing(last) {
            findings.push(finding(
                file,
                None,
                format!("`{part}` does not say what is in it"),
            ));
        }
    }
    let code = code(&file.text);
    for keyword in ["enum", "struct", "trait", "type", "union"] {
        for at in occurrences(&code, keyword) {
            let rest = code.get(at + keyword.len()..).unwrap_or_default();
            let name: String = rest
                .trim_start()
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let is_traits = keyword == "type" && is_in_impl(&code, at);
            if says_nothing(&last_word(&name)) && !is_traits {
                let line = Some(line_of(&code, at));
                findings.push(finding(
                    file,
                    line,
                    format!("`{name}` does not say what it is"),
                ));
            }
        }
    }
    findings
}

/// Whether a type is one inside an `impl`, whose name is its trait's.
fn is_in_impl(code: &str, at: usize) -> bool {
    let (before, after) = code.split_at_checked(at).unwrap_or_default();
    let margin = before.rsplit('\n').next().unwrap_or_default();
    let is_given = after.split(';').next().is_some_and(|one| one.contains('='));
    !margin.is_empty() && margin.chars().all(char::is_whitespace) && is_given
}

/// `PoolManager` → `manager`.
fn last_word(name: &str) -> String {
    let start = name.rfind(char::is_uppercase).unwrap_or_default();
    name.get(start..).unwrap_or_default().to_lowercase()
}

fn says_nothing(word: &str) -> bool {
    let word = word.strip_suffix('s').unwrap_or(word);
    EMPTY_WORDS.contains(&word)
}

fn finding(file: &File, line: Option<usize>, message: String) -> Finding {
    Finding {
        path: file.path.clone(),
        line,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::tree::File;

    fn findings(path: &str, text: &str) -> usize {
        judge(&File::new(path, text)).len()
    }

    #[test]
    fn files_that_say_nothing_are_red() {
        for path in [
            "a/src/util.rs",
            "a/src/helpers.rs",
            "a/src/pool/mod.rs",
            "a/src/pool_manager.rs",
            "a/common/pool.rs",
        ] {
            assert_eq!(findings(path, ""), 1, "{path}");
        }
        assert_eq!(findings("a/src/database.rs", ""), 0);
    }

    #[test]
    fn types_that_say_nothing_are_red() {
        assert_eq!(
            findings(
                "a/src/pool.rs",
                "pub struct PoolManager;\nenum Info {}\ntrait Helper {}\n"
            ),
            3
        );
        assert_eq!(findings("a/src/pool.rs", "struct GateImpl;"), 1);
        assert_eq!(
            findings(
                "a/src/pool.rs",
                "struct DataPlane;\n// struct Data\nlet s = \"struct Info\";"
            ),
            0
        );
        assert_eq!(findings("a/src/pool.rs", "    type Info = Peer;"), 0);
        assert_eq!(
            findings("a/src/pool.rs", "    type Info;\ntype Data = u8;"),
            2
        );
    }
}
