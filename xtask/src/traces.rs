//! Refuses what belongs to one machine: absolute paths of it, and hosts it fetches from.

use crate::report::Finding;
use crate::tree::File;

/// Folders of a machine, in pieces so that this list does not find itself.
const FOLDERS: [&str; 4] = ["home", "root", "work", "tmp/bash"];
/// Hosts that packages come from, in pieces as well: name and ending.
const HOSTS: [(&str, &str); 5] = [
    ("crates", "io"),
    ("deb.debian", "org"),
    ("files.pythonhosted", "org"),
    ("pypi", "org"),
    ("registry.npmjs", "org"),
];

/// Every line of `file` that tells where it was written.
pub(crate) fn judge(file: &File) -> Vec<Finding> {
    // A lock file names its registry by design; nobody can write it otherwise.
    let is_lock = file.path.ends_with("Cargo.lock");
    let mut findings = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let mut refuse = |what: String| {
            findings.push(Finding {
                path: file.path.clone(),
                line: Some(index + 1),
                message: what,
            });
        };
        for folder in FOLDERS {
            if names_folder(line, folder) {
                refuse(format!("names a folder of one machine, {folder}"));
            }
        }
        for (name, ending) in HOSTS {
            if !is_lock && line.contains(&format!("{name}.{ending}")) {
                refuse(format!(
                    "names the host {name} dot {ending}; name the package instead"
                ));
            }
        }
    }
    findings
}

/// Does an absolute path in `line` begin with `folder`? `a/work/b` is a relative one.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(&format!("/{folder}/")).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| line.as_bytes().get(at));
        before.is_none_or(|b| {
            !b.is_ascii_alphanumeric() && !matches!(b, b'.' | b'_' | b'-' | b'}' | b'*')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::judge;
    use crate::tree::File;

    fn findings(path: &str, text: String) -> usize {
        judge(&File::new(path, &text)).len()
    }

    #[test]
    fn folders_of_a_machine_are_red() {
        for folder in ["home", "root", "work"] {
            assert_eq!(
                findings("README.md", format!("cd {}{folder}/x", '/')),
                1,
                "{folder}"
            );
        }
        assert_eq!(findings("README.md", "docs/work/x".to_owned()), 0);
    }

    #[test]
    fn hosts_are_red_outside_lock_files() {
        let line = format!("see https://{}.io/x", "crates");
        assert_eq!(findings("README.md", line.clone()), 1);
        assert_eq!(findings("Cargo.lock", line), 0);
        assert_eq!(findings("Cargo.toml", "[patch.crates-io]".to_owned()), 0);
    }
}
