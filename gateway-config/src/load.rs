//! The way from files to a snapshot: text, syntax, shape, types, meaning; each step once.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use crate::capability::{self, Capability};
use crate::check::check;
use crate::codes::{self, Code};
use crate::diagnostic::{Diagnostic, Findings};
use crate::dialect;
use crate::document::{self, Read};
use crate::raw;
use crate::secrets;
use crate::shape;
use crate::snapshot::{Loaded, Snapshot};
use crate::source::{NotText, Origin, SourceId, Sources};

/// Loads a configuration: a file, or a folder whose `*.toml` files are one configuration together.
///
/// Touches no network; reads those files and the cluster lists they name.
///
/// # Errors
/// Every reason to refuse it at once, with warnings after them.
pub fn load(path: &Path, sources: &mut Sources) -> Result<Loaded, Vec<Diagnostic>> {
    load_all(&[path], sources)
}

/// Loads a configuration out of several files and folders, as if they were one folder. A file that
/// is named twice, itself and by its folder, is read once.
///
/// # Errors
/// As [`load`].
pub fn load_all(paths: &[&Path], sources: &mut Sources) -> Result<Loaded, Vec<Diagnostic>> {
    load_all_for(paths, None, sources)
}

/// The same for an engine that executes so much: when the configuration is refused, what is not
/// executed is told with the rest. In one that is sound, [`unserved`](crate::capability::unserved)
/// finds it.
///
/// # Errors
/// As [`load`].
pub fn load_all_for(
    paths: &[&Path],
    served: Option<&[Capability]>,
    sources: &mut Sources,
) -> Result<Loaded, Vec<Diagnostic>> {
    let mut ids = Vec::new();
    let mut known = BTreeSet::new();
    let mut findings = Findings::default();
    for path in paths {
        let files = match files_of(path) {
            Ok(files) => files,
            Err(why) => {
                findings.push(unreadable(path, &why));
                continue;
            }
        };
        for file in files {
            // What cannot be resolved cannot be opened either, or is a text that was put there.
            if !known.insert(fs::canonicalize(&file).unwrap_or_else(|_| file.clone())) {
                continue;
            }
            let opened = match file == *path {
                true => sources.open_given(&file),
                false => sources.open(&file),
            };
            match opened {
                Ok(id) => ids.push(id),
                Err(why) => {
                    let found = unreadable(&file, &why);
                    findings.push(not_text(found, &why, sources));
                }
            }
        }
    }
    load_texts(&ids, served, sources, findings)
}

/// Loads a configuration that is already among the sources.
///
/// # Errors
/// As [`load`].
pub fn load_source(id: SourceId, sources: &mut Sources) -> Result<Loaded, Vec<Diagnostic>> {
    load_sources(&[id], sources)
}

/// Loads a configuration whose texts are already among the sources.
///
/// # Errors
/// As [`load`].
pub fn load_sources(ids: &[SourceId], sources: &mut Sources) -> Result<Loaded, Vec<Diagnostic>> {
    load_texts(ids, None, sources, Findings::default())
}

/// The same for an engine that executes so much, as [`load_all_for`].
///
/// # Errors
/// As [`load`].
pub fn load_sources_for(
    ids: &[SourceId],
    served: &[Capability],
    sources: &mut Sources,
) -> Result<Loaded, Vec<Diagnostic>> {
    load_texts(ids, Some(served), sources, Findings::default())
}

/// The same with what has been found so far: files that could not be read.
fn load_texts(
    ids: &[SourceId],
    served: Option<&[Capability]>,
    sources: &mut Sources,
    mut findings: Findings,
) -> Result<Loaded, Vec<Diagnostic>> {
    let is_any_missing = findings.refuse();
    let text = |id: &SourceId| (*id, sources.written(*id).to_owned());
    let texts: Vec<(SourceId, String)> = ids.iter().map(text).collect();
    let Read {
        origin,
        mut root,
        is_whole,
    } = document::read(&texts, sources, &mut findings);
    for (id, text) in texts.iter().filter(|_| is_whole) {
        newer_toml(*id, text, sources, &mut findings);
    }
    let mut walked = shape::walk(sources, &origin, root.get_mut(), &mut findings);
    for place in &walked.secrets {
        sources.mask(place);
    }
    if is_any_missing || !is_whole {
        // What the others define or refer to may be in the text that could not be read.
        walked.doubts.doubt_everything();
    }
    let Some(file) = read(root, &origin, sources, &mut findings) else {
        return Err(findings.into_sorted());
    };
    let (model, files) = check(sources, &origin, &file, &mut findings);
    for place in findings.places(codes::SECRET_IN_FILE) {
        sources.mask(&place);
    }
    findings.forget(|found| walked.doubts.explain(found, sources));
    if MEANT.iter().any(|code| findings.has(*code)) {
        findings.forget(|found| found.code == codes::UNUSED);
    }
    if findings.refuse() {
        let read = (&origin, &*sources);
        let of_engine = |served| capability::unserved_as_written(&model, served, read);
        for found in served.into_iter().flat_map(of_engine) {
            let place = found.labels.first().map(|label| &label.place);
            if !place.is_some_and(|place| walked.taken.contains(place)) {
                findings.push(found);
            }
        }
        return Err(findings.into_sorted());
    }
    Ok(Loaded {
        snapshot: Snapshot::new(model),
        warnings: findings.into_sorted(),
        files,
        origin,
    })
}

/// Findings about what may have been meant to use something: a reference that leads nowhere or is
/// not there, and a route that is refused for what it does.
const MEANT: &[Code] = &[
    codes::MISSING_SETTING,
    codes::NO_ACTION,
    codes::ONE_ACTION,
    codes::UNDEFINED,
];

/// The files that a path stands for: itself, or those of a folder, by name.
fn files_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        let is_hidden = file
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if !is_hidden && file.extension().is_some_and(|end| end == "toml") {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        let why = "there is no file in it whose name ends in .toml";
        return Err(io::Error::new(io::ErrorKind::NotFound, why));
    }
    Ok(files)
}

fn unreadable(path: &Path, why: &io::Error) -> Diagnostic {
    let title = format!("{} cannot be read: {why}", path.display());
    Diagnostic::error(codes::UNREADABLE_SOURCE, title)
}

/// Shows where a file is no text; nothing else in it is read, and what may be a secret is hidden.
fn not_text(found: Diagnostic, why: &io::Error, sources: &mut Sources) -> Diagnostic {
    let wrong = why.get_ref().and_then(|why| why.downcast_ref::<NotText>());
    let Some(NotText { place, is, .. }) = wrong else {
        return found;
    };
    let text = sources.written(place.source).to_owned();
    secrets::hide_in_broken(sources, place.source, &text);
    found.at(
        place,
        match is {
            Some(_) => "each character takes several bytes",
            None => "no character begins with this byte",
        },
    )
}

fn newer_toml(id: SourceId, text: &str, sources: &Sources, findings: &mut Findings) {
    for (span, what, instead) in dialect::newer(text) {
        let place = sources.place(id, span);
        let title = format!("{what} is TOML 1.1, which other tools may not read");
        findings.push(
            Diagnostic::warning(codes::NEWER_TOML, title)
                .at(&place, "not in TOML 1.0")
                .help(instead),
        );
    }
}

/// What a walk has been through can be read into its types; should it not, that is told.
fn read(
    root: Spanned<DeTable<'_>>,
    origin: &Origin,
    sources: &Sources,
    findings: &mut Findings,
) -> Option<raw::File> {
    match raw::File::deserialize(Deserializer::from(root)) {
        Ok(file) => Some(file),
        Err(why) => {
            let place = sources.locate(origin, why.span().unwrap_or(0..0));
            let found = Diagnostic::error(codes::WRONG_TYPE, "a value of the wrong kind");
            findings.push(found.at(&place, why.message().to_owned()));
            None
        }
    }
}
