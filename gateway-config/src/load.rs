//! The way from a file to a snapshot: text, syntax, shape, types, meaning; each step once.

use std::path::Path;

use serde::Deserialize;
use toml::de::{DeTable, Deserializer};

use crate::check::check;
use crate::codes::{self, Code};
use crate::diagnostic::{Diagnostic, Findings};
use crate::raw;
use crate::shape;
use crate::snapshot::{Loaded, Snapshot};
use crate::source::{SourceId, Sources};

/// Loads a configuration file. Touches no network; reads that file and the cluster lists it names.
///
/// # Errors
/// Every reason to refuse it at once, with warnings after them.
pub fn load(path: &Path, sources: &mut Sources) -> Result<Loaded, Vec<Diagnostic>> {
    match sources.open(path) {
        Ok(id) => load_source(id, sources),
        Err(why) => {
            let title = format!("{} cannot be read: {why}", path.display());
            Err(vec![Diagnostic::error(codes::UNREADABLE_SOURCE, title)])
        }
    }
}

/// Loads a configuration that is already among the sources.
///
/// # Errors
/// As [`load`].
pub fn load_source(id: SourceId, sources: &mut Sources) -> Result<Loaded, Vec<Diagnostic>> {
    let mut findings = Findings::default();
    let text = sources.text(id).to_owned();
    let Some((file, shape)) = read(id, &text, sources, &mut findings) else {
        return Err(findings.into_sorted());
    };
    let (model, files) = check(sources, id, &file, &mut findings);
    if shape.has_unknown {
        findings.forget(is_about_absence);
    }
    if findings.refuse() {
        return Err(findings.into_sorted());
    }
    Ok(Loaded {
        snapshot: Snapshot::new(model),
        warnings: findings.into_sorted(),
        files,
    })
}

/// Adds what the TOML parser found wrong.
pub(crate) fn syntax(
    sources: &Sources,
    id: SourceId,
    wrong: &[toml::de::Error],
    findings: &mut Findings,
) {
    for one in wrong {
        let message = one
            .message()
            .lines()
            .next()
            .unwrap_or("not TOML")
            .to_owned();
        let place = sources.place(id, one.span().unwrap_or(0..0));
        let found = Diagnostic::error(codes::SYNTAX, format!("this is not TOML: {message}"));
        findings.push(found.at(&place, "reading stopped here"));
    }
}

fn read(
    id: SourceId,
    text: &str,
    sources: &Sources,
    findings: &mut Findings,
) -> Option<(raw::File, shape::Shape)> {
    let (root, wrong) = DeTable::parse_recoverable(text);
    if !wrong.is_empty() {
        syntax(sources, id, &wrong, findings);
        return None;
    }
    let shape = shape::walk(sources, id, root.get_ref(), findings);
    if shape.has_wrong_type {
        return None;
    }
    match raw::File::deserialize(Deserializer::from(root)) {
        Ok(file) => Some((file, shape)),
        Err(why) => {
            let place = sources.place(id, why.span().unwrap_or(0..0));
            let found = Diagnostic::error(codes::WRONG_TYPE, "a value of the wrong kind");
            findings.push(found.at(&place, why.message().to_owned()));
            None
        }
    }
}

/// Findings that an unknown setting may have caused: it may be what seems to be missing.
fn is_about_absence(code: Code) -> bool {
    [
        codes::MISSING_SETTING,
        codes::NO_ACTION,
        codes::NOTHING_SERVED,
        codes::NO_NODE,
        codes::ONE_PATTERN,
        codes::UNDEFINED,
        codes::UNUSED,
        codes::HALF_TLS,
        codes::CLEAR_LISTENER,
        codes::CLEAR_NODE,
    ]
    .contains(&code)
}
