//! What every check needs: the texts, places in them, and where findings go.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;

use super::paths::check_path;
use crate::codes::{self, Code};
use crate::diagnostic::{Diagnostic, Findings};
use crate::files::{FileRole, NamedFile};
use crate::masking::KEY_BEGINS;
use crate::raw::Leaf;
use crate::settings::Setting;
use crate::source::{Origin, Place, Placed, Sources};
use crate::value;

/// What every check needs: the texts, and where findings and named files go.
pub(crate) struct Context<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) origin: &'a Origin,
    pub(crate) findings: &'a mut Findings,
    pub(crate) files: &'a mut Vec<NamedFile>,
    /// Address sets that some list has named.
    pub(crate) used_sets: BTreeSet<String>,
}

impl Context<'_> {
    /// Where a leaf or key stands.
    pub(crate) fn place<T>(&self, value: &Spanned<T>) -> Place {
        self.sources.locate(self.origin, value.span())
    }

    /// Where a piece of a text stands; the whole of it when it was written with escapes.
    pub(crate) fn inside(&self, text: &Spanned<String>, piece: Range<usize>) -> Place {
        let whole = self.place(text);
        let written = self.sources.written(whole.source).get(whole.span.clone());
        let written = written.unwrap_or("");
        let bare = written.get(1..written.len().saturating_sub(1));
        if bare == Some(text.get_ref().as_str()) {
            let start = whole.span.start + 1;
            self.sources
                .place(whole.source, start + piece.start..start + piece.end)
        } else {
            whole
        }
    }

    /// Where the whole of a text stands, without its quotes.
    pub(crate) fn within(&self, text: &Spanned<String>) -> Place {
        self.inside(text, 0..text.get_ref().len())
    }

    /// Adds a finding.
    pub(crate) fn push(&mut self, found: Diagnostic) {
        self.findings.push(found);
    }

    /// Adds a finding that refuses, at a leaf.
    pub(crate) fn refuse<T>(&mut self, code: Code, title: String, at: &Spanned<T>, label: &str) {
        let place = self.place(at);
        self.push(Diagnostic::error(code, title).at(&place, label));
    }

    /// Adds *this table lacks that setting*.
    pub(crate) fn missing<T>(&mut self, table: &str, at: &Spanned<T>, setting: &Setting) {
        let place = self.place(at);
        self.push(
            Diagnostic::error(
                codes::MISSING_SETTING,
                format!("{table} has no `{}`", setting.key()),
            )
            .at(&place, "defined here")
            .help(setting.sentence),
        );
    }

    /// Adds *that setting means nothing here*, when it is there.
    pub(crate) fn no_effect<T>(&mut self, leaf: &Leaf<T>, setting: &Setting, why: &str) {
        if let Some(leaf) = leaf {
            let title = format!("`{}` has no effect here", setting.key());
            self.refuse(codes::NO_EFFECT, title, leaf, why);
        }
    }

    /// Checks the characters of a name.
    pub(crate) fn name(&mut self, what: &str, key: &Spanned<String>) {
        if let Err((_, why)) = value::name(key.get_ref()) {
            let title = format!(
                "{what} `{}` has no legal name",
                key.get_ref().escape_debug()
            );
            self.refuse(codes::BAD_NAME, title, key, why);
        }
    }

    /// Looks a reference up; the name, when it is defined.
    pub(crate) fn refer(
        &mut self,
        from_what: (&str, &str),
        leaf: &Leaf<String>,
        known: &BTreeMap<String, Place>,
    ) -> Option<String> {
        self.refer_to(from_what, leaf.as_ref()?, known)
    }

    /// Looks a reference up that is there.
    pub(crate) fn refer_to(
        &mut self,
        (from, what): (&str, &str),
        leaf: &Spanned<String>,
        known: &BTreeMap<String, Place>,
    ) -> Option<String> {
        let name = leaf.get_ref();
        if known.contains_key(name) {
            return Some(name.clone());
        }
        let title = format!(
            "{from} names {what} `{}`, which is not defined",
            name.escape_debug()
        );
        let place = self.within(leaf);
        let mut found =
            Diagnostic::error(codes::UNDEFINED, title).at(&place, format!("no such {what}"));
        // What is defined under no legal name is told of there.
        let legal = known.keys().map(String::as_str);
        let legal = legal.filter(|one| value::name(one).is_ok());
        let (near, help) = self.findings.budget.search(name, legal);
        if let Some(place) = near.and_then(|near| known.get(near)) {
            found = found.at(place, "this one is defined");
        }
        let none = || {
            known
                .is_empty()
                .then(|| format!("no {what} is defined at all"))
        };
        found.cure(help.or_else(none));
        self.push(found);
        None
    }

    /// A path, seen from the file that names it; an empty one, and a finding, when it is none.
    pub(crate) fn path(&mut self, leaf: &Spanned<String>) -> PathBuf {
        let text = Placed::new(leaf.get_ref().clone(), self.place(leaf));
        if self.is_content(leaf) {
            return PathBuf::new();
        }
        match check_path(&text) {
            Ok(()) => self.sources.resolve(text.place.source, &text.value),
            Err(found) => {
                self.push(found);
                PathBuf::new()
            }
        }
    }

    /// Whether a text is what a file of certificates or keys holds; a finding when it is.
    pub(crate) fn is_content(&mut self, leaf: &Spanned<String>) -> bool {
        let text = leaf.get_ref();
        let is_content = text.contains(KEY_BEGINS) || is_bare_key(text);
        if is_content {
            let place = self.place(leaf);
            let title = "a path is expected, not what the file holds";
            let found = Diagnostic::error(codes::SECRET_IN_FILE, title);
            self.push(
                found
                    .at(&place, "what is meant to be in a file of its own")
                    .help(
                        "write it to a file that only its owner may read, and name that file here",
                    ),
            );
        }
        is_content
    }

    /// The path of a file that has to hold something, remembered for the second pass.
    pub(crate) fn file(&mut self, leaf: &Spanned<String>, role: FileRole) -> PathBuf {
        let path = self.path(leaf);
        if path.as_os_str().is_empty() {
            return path;
        }
        let named = Placed::new(path, self.place(leaf));
        self.files.push(NamedFile::new(&named, role));
        named.value
    }

    /// Takes the keys of some tables down as names.
    pub(super) fn define<'k>(
        &mut self,
        what: &str,
        keys: impl Iterator<Item = &'k Spanned<String>>,
        known: &mut BTreeMap<String, Place>,
    ) {
        for key in keys {
            self.name(what, key);
            let place = self.place(key);
            self.add_name(what, key.get_ref(), &place, known);
        }
    }

    /// Takes down a name that a front door gives.
    pub(super) fn add_name(
        &mut self,
        what: &str,
        name: &str,
        place: &Place,
        known: &mut BTreeMap<String, Place>,
    ) {
        match known.get(name) {
            Some(first) => self.findings.push(
                Diagnostic::error(
                    codes::DEFINED_TWICE,
                    format!("two {what}s are called `{name}`"),
                )
                .at(place, "the front door makes one of its own name")
                .at(first, "this one is defined"),
            ),
            None => {
                known.insert(name.to_owned(), place.clone());
            }
        }
    }
}

/// Whether a text is a key or certificate, or some lines of one: a sequence of some hundred bytes,
/// which begins with the same two letters, or lines that are nothing but its code.
fn is_bare_key(text: &str) -> bool {
    let is_code = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
    let is_several = text.trim().contains('\n');
    let is_marked = text.contains("-----BEGIN ") || text.contains("-----END ");
    let bare: String = text.split_whitespace().collect();
    let is_long = bare.len() >= 64 && bare.chars().all(is_code);
    is_marked || is_long && (is_several || bare.starts_with("MI"))
}
