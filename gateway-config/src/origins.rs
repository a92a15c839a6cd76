//! Where in its files each setting of a configuration was written.
//!
//! Read again from the texts when somebody asks, since few do: a finding about something that is
//! not served, and whoever wants to see where a value comes from.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Findings;
use crate::document;
use crate::source::{Origin, Place, SourceId, Sources};

/// Where each setting was written, by the path of its keys; an entry of a list by
/// its number.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    places: BTreeMap<Vec<String>, Place>,
    texts: BTreeMap<Vec<String>, Vec<(String, Place)>>,
}

impl Origins {
    /// Reads the texts of a configuration that has been loaded.
    #[must_use]
    pub fn read(origin: &Origin, sources: &Sources) -> Self {
        let text = |id: SourceId| (id, sources.written(id).to_owned());
        let texts: Vec<(SourceId, String)> = origin.texts().map(text).collect();
        // They have been read before, so nothing new is found or hidden.
        let read = document::read(&texts, &mut sources.clone(), &mut Findings::default());
        let mut origins = Self::default();
        origins.table(read.root.get_ref(), &mut Vec::new(), &|span| {
            sources.locate(&read.origin, span)
        });
        origins
    }

    /// Where exactly this setting was written; `None` for a default.
    #[must_use]
    pub fn place(&self, path: &[String]) -> Option<&Place> {
        self.places.get(path)
    }

    /// Where this text was written among those that a setting has, or the only one it has.
    #[must_use]
    pub fn text(&self, path: &[String], text: &str) -> Option<&Place> {
        let all = self.texts.get(path)?;
        let found = all.iter().find(|(written, _)| written == text);
        let only = all.first().filter(|_| all.len() == 1);
        found.or(only).map(|(_, place)| place)
    }

    /// Where this setting was written, or else the innermost table around it that was.
    #[must_use]
    pub fn nearest(&self, path: &[String]) -> Option<&Place> {
        (1..=path.len())
            .rev()
            .find_map(|length| self.places.get(path.get(..length)?))
    }

    fn table(
        &mut self,
        table: &DeTable<'_>,
        path: &mut Vec<String>,
        place: &dyn Fn(Range<usize>) -> Place,
    ) {
        for (key, value) in table {
            path.push(key.get_ref().to_string());
            self.places.insert(path.clone(), place(key.span()));
            match value.get_ref() {
                DeValue::Array(all) => {
                    self.texts(path, all.iter(), place);
                    self.entries(all.iter(), path, place);
                }
                DeValue::Table(inner) => self.table(inner, path, place),
                _ => self.texts(path, std::iter::once(value), place),
            }
            path.pop();
        }
    }

    /// The tables among the entries of a list, by their number.
    fn entries<'v, 't: 'v>(
        &mut self,
        all: impl Iterator<Item = &'v Spanned<DeValue<'t>>>,
        path: &mut Vec<String>,
        place: &dyn Fn(Range<usize>) -> Place,
    ) {
        for (index, one) in all.enumerate() {
            if let DeValue::Table(inner) = one.get_ref() {
                path.push(index.to_string());
                self.table(inner, path, place);
                path.pop();
            }
        }
    }

    fn texts<'v, 't: 'v>(
        &mut self,
        path: &[String],
        values: impl Iterator<Item = &'v Spanned<DeValue<'t>>>,
        place: &dyn Fn(Range<usize>) -> Place,
    ) {
        let text = |one: &Spanned<DeValue<'_>>| {
            let text = one.get_ref().as_str()?;
            Some((text.to_owned(), place(one.span())))
        };
        self.texts
            .insert(path.to_vec(), values.filter_map(text).collect());
    }
}
