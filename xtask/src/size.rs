//! `size`: files, functions and signatures that grew past the house's numbers.
//!
//! The numbers are smoke alarms. `xtask/size-exceptions.toml` holds what is allowed past them,
//! at the size it has today; it may only shrink. Runs the guards of [`names`](crate::names),
//! [`traces`](crate::traces) and [`citations`](crate::citations) as well, since all walk the same
//! files.

mod exceptions;

use std::path::Path;

use crate::report::{Finding, settle};
use crate::rust_text::{Function, code, functions, lines_without_tests};
use crate::tree::{File, files};
use crate::{Result, citations, names, traces};

const ARGUMENTS: usize = 6;
const FILE: usize = 500;
const FLAT_FUNCTION: usize = 100;
const FUNCTION: usize = 60;
const HEAD: usize = 150;
const TEST_FILE: usize = 800;
const TEST_FUNCTION: usize = 100;
const TEST_TABLE: usize = 250;

/// Tables: length without branching costs nothing.
const FLAT_TABLES: [&str; 3] = ["allowlist.rs", "codes.rs", "settings.rs"];

/// The command.
pub(crate) fn run(root: &Path) -> Result {
    let files = files(root)?;
    let exceptions = exceptions::read(root)?;
    let mut findings = exceptions.growth(root)?;
    let mut breaches = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        breaches.extend(measure(file));
        findings.extend(names::judge(file));
    }
    findings.extend(exceptions.settle(breaches));
    for file in &files {
        findings.extend(traces::judge(file));
    }
    findings.extend(citations::judge(&files));
    settle("size", &findings)
}

/// Something longer than it should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) path: String,
    pub(crate) line: Option<usize>,
    /// What an exception calls it: `file`, or a function's name.
    pub(crate) what: String,
    pub(crate) measured: usize,
    pub(crate) limit: usize,
    pub(crate) unit: &'static str,
}

impl From<Breach> for Finding {
    fn from(breach: Breach) -> Self {
        Self {
            message: format!(
                "{} has {} {}, the house stops at {}",
                breach.what, breach.measured, breach.unit, breach.limit
            ),
            path: breach.path,
            line: breach.line,
        }
    }
}

/// Everything in `file` that is past a number.
pub(crate) fn measure(file: &File) -> Vec<Breach> {
    let code = code(&file.text);
    let mut breaches = Vec::new();
    if let Some((measured, limit)) = file_size(file, &code) {
        breaches.push(Breach {
            path: file.path.clone(),
            line: None,
            what: "file".to_owned(),
            measured,
            limit,
            unit: "lines",
        });
    }
    for function in functions(&code) {
        breaches.extend(function_size(file, &function));
    }
    breaches
}

/// Lines that count and how many may be there, when they are too many.
fn file_size(file: &File, code: &str) -> Option<(usize, usize)> {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let (measured, limit) = if file.is_test {
        (file.text.lines().count(), TEST_FILE)
    } else if FLAT_TABLES.contains(&name) {
        return None;
    } else if matches!(name, "lib.rs" | "main.rs") {
        (lines_without_tests(&file.text, code), HEAD)
    } else {
        (lines_without_tests(&file.text, code), FILE)
    };
    (measured > limit).then_some((measured, limit))
}

fn function_size(file: &File, function: &Function) -> Vec<Breach> {
    let lines = if file.is_test && function.branches == 0 {
        TEST_TABLE
    } else if file.is_test {
        TEST_FUNCTION
    } else if function.is_flat_match {
        FLAT_FUNCTION
    } else {
        FUNCTION
    };
    let breach = |measured, limit, unit| Breach {
        path: file.path.clone(),
        line: Some(function.line),
        what: function.name.clone(),
        measured,
        limit,
        unit,
    };
    let mut breaches = Vec::new();
    if function.lines > lines {
        breaches.push(breach(function.lines, lines, "lines"));
    }
    if function.arguments > ARGUMENTS {
        breaches.push(breach(function.arguments, ARGUMENTS, "arguments"));
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::measure;
    use crate::tree::File;

    fn file(path: &str, text: String) -> File {
        File::new(path, &text)
    }

    fn measured(path: &str, text: String) -> Vec<(String, usize)> {
        measure(&file(path, text))
            .into_iter()
            .map(|b| (b.what, b.measured))
            .collect()
    }

    #[test]
    fn a_long_file_is_red_and_its_tests_do_not_count() {
        let long = "const A: u8 = 1;\n".repeat(501);
        assert_eq!(
            measured("a/src/pool.rs", long.clone()),
            [("file".to_owned(), 501)]
        );
        let tested = format!(
            "{}#[cfg(test)]\nmod tests {{\n{long}}}\n",
            "const A: u8 = 1;\n".repeat(400)
        );
        assert!(measured("a/src/pool.rs", tested).is_empty());
        assert!(measured("a/src/settings.rs", long).is_empty());
    }

    #[test]
    fn a_head_and_a_test_file_have_numbers_of_their_own() {
        let lines = |count| "const A: u8 = 1;\n".repeat(count);
        assert_eq!(measured("a/src/lib.rs", lines(151)).len(), 1);
        assert!(measured("tests/scenarios/retry.rs", lines(800)).is_empty());
        assert_eq!(measured("tests/scenarios/retry.rs", lines(801)).len(), 1);
    }

    #[test]
    fn a_long_function_is_red_unless_it_is_one_flat_match() {
        let long = format!("fn f() {{\n{}}}\n", "    g();\n".repeat(59));
        assert_eq!(measured("a/src/pool.rs", long), [("f".to_owned(), 61)]);
        let flat = format!(
            "fn f(x: u8) {{\n    match x {{\n{}    }}\n}}\n",
            "        1 => (),\n".repeat(90)
        );
        assert!(measured("a/src/pool.rs", flat).is_empty());
    }

    #[test]
    fn a_table_in_a_test_may_be_long() {
        let table = |row: &str| format!("fn table() {{\n{}}}\n", row.repeat(200));
        assert!(measured("a/src/pool/tests.rs", table("    row(1);\n")).is_empty());
        let story = measured("a/src/pool/tests.rs", table("    if a { b() }\n"));
        assert_eq!(story, [("table".to_owned(), 202)]);
    }

    #[test]
    fn seven_arguments_are_red() {
        let wide = "fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8) {}\n".to_owned();
        assert_eq!(measured("a/src/pool.rs", wide), [("f".to_owned(), 7)]);
    }
}
