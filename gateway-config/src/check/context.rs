//! What every check needs: the texts, places in them, and where findings go.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;

use crate::codes::{self, Code};
use crate::diagnostic::{Diagnostic, Findings};
use crate::files::{FileRole, NamedFile};
use crate::masking::KEY_BEGINS;
use crate::names;
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
        let near = names::closest(name, known.keys().map(String::as_str));
        if let Some(place) = near.and_then(|near| known.get(near)) {
            found = found.at(place, "this one is defined");
        }
        found.help = names::help(name, known.keys().map(String::as_str))
            .or_else(|| Some(format!("no {what} is defined at all")));
        self.push(found);
        None
    }

    /// A path, seen from the file that names it.
    pub(crate) fn path(&self, leaf: &Spanned<String>) -> PathBuf {
        self.sources
            .resolve(self.place(leaf).source, leaf.get_ref())
    }

    /// The path of a file that has to hold something, remembered for the second pass.
    pub(crate) fn file(&mut self, leaf: &Spanned<String>, role: FileRole) -> PathBuf {
        let place = self.place(leaf);
        let text = leaf.get_ref();
        if text.contains(KEY_BEGINS) || text.contains('\n') || is_bare_key(text) {
            self.push(
                Diagnostic::error(
                    codes::SECRET_IN_FILE,
                    "a path is expected, not what the file holds",
                )
                .at(&place, "what is meant to be in a file of its own")
                .help("write it to a file that only its owner may read, and name that file here"),
            );
            return PathBuf::new();
        }
        let path = self.path(leaf);
        let named = Placed::new(path, place);
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

/// Whether a text is what stands between the first and the last line of a key or certificate: all
/// of them are a sequence of some hundred bytes, which begins with the same two letters.
fn is_bare_key(text: &str) -> bool {
    let is_code = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    text.starts_with("MI") && text.len() >= 64 && text.bytes().all(is_code)
}
