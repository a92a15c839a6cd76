//! `review`: the numbers to look at before saying yes to a change.
//!
//! Judges nothing; the questions are in CONTRIBUTING.md.

use std::path::Path;

use crate::Result;
use crate::process::{capture, program};
use crate::rust_text::{code, functions, lines_without_tests};
use crate::tree::{File, files};

/// Marks of something unfinished, in pieces so that this file is not full of them.
const MARKS: [(&str, &str); 5] = [
    ("TO", "DO"),
    ("FIX", "ME"),
    ("XX", "X"),
    ("todo", "!("),
    ("unimplemented", "!("),
];

/// Compares the working tree with `[BASE]`, the last commit when none is given.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result {
    let base = match arguments {
        [] => "HEAD",
        [base] => base.as_str(),
        _ => {
            return Err("review takes one argument at most, the commit to compare with".to_owned());
        }
    };
    let diff = capture(&mut program(
        root,
        "git",
        &["diff", "-U0", base, "--", "*.rs"],
    ))?;
    let stat = capture(&mut program(root, "git", &["diff", "--stat", base]))?;
    let files = files(root)?;
    println!("Changed since {base}:\n{stat}");
    print_list("Public items that are new:", &added(&diff, is_public));
    print_list(
        "Packages and exceptions that are new:",
        &new_entries(root, base)?,
    );
    print_list("Longest files, tests not counted:", &longest_files(&files));
    print_list("Longest functions:", &longest_functions(&files));
    print_list("Marks of something unfinished:", &marks(&files));
    Ok(())
}

fn print_list(title: &str, lines: &[String]) {
    println!("{title}");
    if lines.is_empty() {
        println!("  none");
    }
    for line in lines {
        println!("  {line}");
    }
    println!();
}

/// Added lines of a diff that `keep` wants.
fn added(diff: &str, keep: fn(&str) -> bool) -> Vec<String> {
    diff.lines()
        .filter(|line| !line.starts_with("+++"))
        .filter_map(|line| line.strip_prefix('+'))
        .map(str::trim)
        .filter(|line| keep(line))
        .map(str::to_owned)
        .collect()
}

fn is_public(line: &str) -> bool {
    line.starts_with("pub ")
}

fn new_entries(root: &Path, base: &str) -> Result<Vec<String>> {
    let lists = [
        "diff",
        "-U0",
        base,
        "--",
        "*Cargo.toml",
        "deny.toml",
        "xtask/size-exceptions.toml",
    ];
    let diff = capture(&mut program(root, "git", &lists))?;
    Ok(added(&diff, |line| {
        line.contains('=') && !line.starts_with('#')
    }))
}

fn longest_files(files: &[File]) -> Vec<String> {
    let sizes = rust(files).map(|file| {
        let lines = lines_without_tests(&file.text, &code(&file.text));
        (lines, file.path.clone())
    });
    top(sizes.collect())
}

fn longest_functions(files: &[File]) -> Vec<String> {
    let sizes = rust(files).flat_map(|file| {
        functions(&code(&file.text))
            .into_iter()
            .map(|function| (function.lines, format!("{} {}", file.path, function.name)))
    });
    top(sizes.collect())
}

fn rust(files: &[File]) -> impl Iterator<Item = &File> {
    files
        .iter()
        .filter(|file| file.path.ends_with(".rs") && !file.is_test)
}

fn top(mut sizes: Vec<(usize, String)>) -> Vec<String> {
    sizes.sort_by(|a, b| b.cmp(a));
    sizes
        .into_iter()
        .take(8)
        .map(|(size, name)| format!("{size:>4} {name}"))
        .collect()
}

fn marks(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        for (index, line) in file.text.lines().enumerate() {
            if MARKS.iter().any(|(a, b)| line.contains(&format!("{a}{b}"))) {
                found.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{added, is_public, marks};
    use crate::tree::File;

    #[test]
    fn public_items_are_counted_when_they_are_added() {
        let diff = "+++ b/a.rs\n+pub fn new() {}\n-pub fn old() {}\n+    pub(crate) fn own() {}\n";
        assert_eq!(added(diff, is_public), ["pub fn new() {}"]);
    }

    #[test]
    fn unfinished_marks_are_found() {
        let file = File::new(
            "a.rs",
            &format!("fn f() {{ {}) }}\n", ["todo", "!("].concat()),
        );
        assert_eq!(marks(&[file]).len(), 1);
    }
}
