//! The manual, and the scripts with which shells complete the command line: what a package installs.

use std::fs;
use std::path::Path;

use gateway_tests::gateway::runs;
use gateway_tests::scratch::Scratch;

use super::{Page, root};

/// Each shell with the file that it looks for.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "gatewayd"),
    ("fish", "gatewayd.fish"),
    ("zsh", "_gatewayd"),
];

/// A page for each command, a script for each shell; one of a command that is gone is to go.
pub(crate) fn pages() -> Result<Vec<Page>, String> {
    let scratch = Scratch::new();
    let made = scratch.path();
    let said = runs(&[Path::new("manual"), made]);
    if !said.status.success() {
        return Err(said.stderr);
    }
    let place = root().join("deploy/man");
    let mut pages = Vec::new();
    for entry in fs::read_dir(made).map_err(|why| why.to_string())? {
        let path = entry.map_err(|why| why.to_string())?.path();
        let name = path.file_name().unwrap_or_default();
        let text = fs::read_to_string(&path).map_err(|why| why.to_string())?;
        pages.push((place.join(name), Some(text)));
    }
    pages.sort();
    let there = fs::read_dir(&place).into_iter().flatten().flatten();
    let orphans: Vec<Page> = there
        .map(|entry| entry.path())
        .filter(|path| !pages.iter().any(|page| page.0 == *path))
        .map(|path| (path, None))
        .collect();
    pages.extend(orphans);
    pages.extend(SHELLS.map(|(shell, name)| {
        let script = runs(&["completions", shell]).stdout + "\n";
        (root().join("deploy/completions").join(name), Some(script))
    }));
    Ok(pages)
}
