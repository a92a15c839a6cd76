//! What the gateway says of each configuration in `tests/config`.

use std::fs;

use gateway_tests::case::{self, Case};
use gateway_tests::gateway::runs_in;
use gateway_tests::scratch::Scratch;

use crate::Page;

/// A configuration and what is said of it.
pub(crate) struct Golden {
    pub(crate) case: Case,
    /// The findings, or what becomes of a sound one.
    pub(crate) said: String,
}

/// All of them, by name.
pub(crate) fn all() -> Vec<Golden> {
    case::all().into_iter().map(golden).collect()
}

fn golden(case: Case) -> Golden {
    let scratch = Scratch::new();
    case.lay(scratch.path());
    let said = if case.is_sound() {
        runs_in(scratch.path(), &["effective", case.path()]).stdout
    } else {
        let stderr = runs_in(scratch.path(), &case.check()).stderr;
        // A start has a log as well, whose lines are dated.
        let drawn: Vec<&str> = stderr
            .lines()
            .filter(|line| !line.starts_with('{'))
            .collect();
        drawn.join("\n")
    };
    // A file that a configuration names is told with its whole path, which is another one each time.
    let here = format!("{}/", scratch.path().display());
    let said = format!("{}\n", said.replace(&here, "").trim_end());
    Golden { case, said }
}

/// The files they belong in; one without its configuration is to go.
pub(crate) fn pages(goldens: &[Golden]) -> Vec<Page> {
    let page = |golden: &Golden| {
        let ending = match golden.case.is_sound() {
            true => "effective.toml",
            false => "diagnostics.txt",
        };
        (golden.case.beside(ending), Some(golden.said.clone()))
    };
    let mut pages: Vec<Page> = goldens.iter().map(page).collect();
    let listing = fs::read_dir(case::directory()).into_iter().flatten();
    let orphans: Vec<Page> = listing
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with(".diagnostics.txt"))
        .filter(|path| !pages.iter().any(|page| page.0 == *path))
        .map(|path| (path, None))
        .collect();
    pages.extend(orphans);
    pages
}

impl Golden {
    /// Its findings, one by one, as they are drawn.
    pub(crate) fn findings(&self) -> Vec<&str> {
        self.said
            .split("\n\n")
            .map(str::trim_end)
            .filter(|drawn| drawn.starts_with("error[") || drawn.starts_with("warning["))
            .collect()
    }
}
