//! Findings of the house guards, and how they and whole texts are shown.

use std::fmt;
use std::io::{ErrorKind, Write};

use crate::Result;

/// One breach: where, and what is wrong with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// Counted from 1; `None` when the whole file is meant.
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// Prints the findings of one guard; none is success.
pub(crate) fn settle(guard: &str, findings: &[Finding]) -> Result {
    for finding in findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("{guard}: nothing to object to");
            Ok(())
        }
        1 => Err(format!("{guard}: 1 finding")),
        count => Err(format!("{guard}: {count} findings")),
    }
}

/// Prints a text; whoever reads may have seen enough before its end.
pub(crate) fn print(text: &str) -> Result {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => Err(format!("cannot print: {why}")),
        _ => Ok(()),
    }
}
