//! Refuses citations of decisions that nobody wrote down.

use std::collections::BTreeSet;

use crate::report::Finding;
use crate::tree::File;

/// Every `adr/NNNN` in `files` for which there is no page.
pub(crate) fn judge(files: &[File]) -> Vec<Finding> {
    let written: BTreeSet<&str> = files
        .iter()
        .filter_map(|file| number(file.path.strip_prefix("adr/")?))
        .collect();
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| !file.path.starts_with("xtask/")) {
        for (index, line) in file.text.lines().enumerate() {
            let cited = line.split("adr/").skip(1).filter_map(number);
            findings.extend(cited.filter(|n| !written.contains(n)).map(|n| Finding {
                path: file.path.clone(),
                line: Some(index + 1),
                message: format!("cites adr/{n}, which does not exist"),
            }));
        }
    }
    findings
}

/// The four digits that `text` begins with.
fn number(text: &str) -> Option<&str> {
    text.get(..4)
        .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::tree::File;

    #[test]
    fn a_decision_that_does_not_exist_is_red() {
        let files = [
            File::new("adr/0001-rooms.md", ""),
            File::new("a/src/pool.rs", "//! Source: adr/0001, adr/0002.\n"),
            File::new("README.md", "see adr/ for more\n"),
        ];
        let findings = judge(&files);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].message.contains("0002"));
    }
}
