//! Decides whether a file makes sense, and turns it into the model.
//!
//! Collects every finding and never stops at the first. A definition that is broken still counts
//! as defined, so one mistake is one finding. Reads no file but the cluster lists that front doors
//! name; certificates are left to [`files`](crate::files).
//!
//! Called by [`load`](crate::load) with a file whose [`shape`](crate::shape) is sound.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;

use crate::codes::{self, Code};
use crate::diagnostic::{Diagnostic, Findings};
use crate::files::NamedFile;
use crate::front_door;
use crate::model::{Listener, Model, Pool, Site};
use crate::names;
use crate::raw::{self, Leaf, Quantity};
use crate::settings::{Kind, Setting};
use crate::source::{Place, Placed, SourceId, Sources};
use crate::value;

mod door;
mod listeners;
mod pools;
mod process;
pub(crate) mod routes;
mod sites;

pub(crate) use pools::{Seen, default_queue, unverified};

/// What the tables of a file, or a front door, add up to.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) listeners: Vec<Listener>,
    pub(crate) sites: Vec<Site>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) files: Vec<NamedFile>,
}

/// Turns a file into the model; what is wrong with it is in the findings.
pub(crate) fn check(
    sources: &mut Sources,
    id: SourceId,
    file: &raw::File,
    findings: &mut Findings,
) -> (Model, Vec<NamedFile>) {
    let doors: Vec<_> = {
        let mut cx = Context {
            sources,
            id,
            findings,
        };
        file.front_door
            .iter()
            .map(|(name, raw)| door::read(&mut cx, name, raw))
            .collect()
    };
    let mut parts = Parts::default();
    for one in &doors {
        front_door::add(one, sources, findings, &mut parts);
    }
    let mut cx = Context {
        sources,
        id,
        findings,
    };
    let names = Names::collect(&mut cx, file);
    listeners::check(&mut cx, file, &names, &mut parts);
    pools::check(&mut cx, file, &mut parts);
    sites::check(&mut cx, file, &names, &mut parts);
    let model = process::check(&mut cx, file, &mut parts);
    (model, parts.files)
}

/// Who is defined, and where: what references are looked up in.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) listeners: BTreeMap<String, Place>,
    pub(crate) pools: BTreeMap<String, Place>,
    pub(crate) sites: BTreeMap<String, Place>,
    pub(crate) tls: BTreeMap<String, Place>,
}

impl Names {
    fn collect(cx: &mut Context<'_>, file: &raw::File) -> Self {
        let mut names = Self::default();
        cx.define("listener", file.listeners.keys(), &mut names.listeners);
        cx.define("pool", file.pools.keys(), &mut names.pools);
        cx.define("site", file.sites.keys(), &mut names.sites);
        cx.define("TLS profile", file.tls.keys(), &mut names.tls);
        for (key, door) in &file.front_door {
            cx.name("front door", key);
            let place = cx.place(key);
            let tables = [
                ("listener", &mut names.listeners),
                ("pool", &mut names.pools),
                ("site", &mut names.sites),
            ];
            for (what, known) in tables {
                cx.add_name(what, key.get_ref(), &place, known);
            }
            if door.tls_cert.is_some() || door.tls_key.is_some() {
                cx.add_name("TLS profile", key.get_ref(), &place, &mut names.tls);
            }
        }
        names
    }
}

/// What every check needs: the text, and where findings go.
pub(crate) struct Context<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) id: SourceId,
    pub(crate) findings: &'a mut Findings,
}

impl Context<'_> {
    /// Where a leaf or key stands.
    pub(crate) fn place<T>(&self, value: &Spanned<T>) -> Place {
        self.sources.place(self.id, value.span())
    }

    /// Where a piece of a text stands; the whole of it when it was written with escapes.
    pub(crate) fn inside(&self, text: &Spanned<String>, piece: Range<usize>) -> Place {
        let span = text.span();
        let written = self.sources.text(self.id).get(span.clone()).unwrap_or("");
        let bare = written.get(1..written.len().saturating_sub(1));
        if bare == Some(text.get_ref().as_str()) {
            let start = span.start + 1;
            self.sources
                .place(self.id, start + piece.start..start + piece.end)
        } else {
            self.place(text)
        }
    }

    /// Adds a finding that refuses, at a leaf.
    pub(crate) fn refuse<T>(&mut self, code: Code, title: String, at: &Spanned<T>, label: &str) {
        let place = self.place(at);
        self.findings
            .push(Diagnostic::error(code, title).at(&place, label));
    }

    /// Adds *this table lacks that setting*.
    pub(crate) fn missing(&mut self, table: &str, key: &Spanned<String>, setting: &Setting) {
        let place = self.place(key);
        self.findings.push(
            Diagnostic::error(
                codes::MISSING_SETTING,
                format!("{table} `{}` has no `{}`", key.get_ref(), setting.key()),
            )
            .at(&place, "defined here")
            .help(setting.sentence),
        );
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
        (from, what): (&str, &str),
        leaf: &Leaf<String>,
        known: &BTreeMap<String, Place>,
    ) -> Option<String> {
        let leaf = leaf.as_ref()?;
        let name = leaf.get_ref();
        if known.contains_key(name) {
            return Some(name.clone());
        }
        let mut found = Diagnostic::error(
            codes::UNDEFINED,
            format!(
                "{from} names {what} `{}`, which is not defined",
                name.escape_debug()
            ),
        )
        .at(&self.inside(leaf, 0..name.len()), format!("no such {what}"));
        found.help = names::help(name, known.keys().map(String::as_str))
            .or_else(|| Some(format!("no {what} is defined at all")));
        self.findings.push(found);
        None
    }

    /// A flag, or its default.
    pub(crate) fn flag(&self, leaf: &Leaf<bool>, setting: &Setting) -> bool {
        let default = matches!(setting.kind, Kind::Bool { default: true });
        leaf.as_ref().map_or(default, |leaf| *leaf.get_ref())
    }

    /// One word out of a few, or its default.
    pub(crate) fn word(&mut self, leaf: &Leaf<String>, setting: &Setting) -> &'static str {
        let Kind::Word { default, words } = setting.kind else {
            return "";
        };
        let Some(leaf) = leaf else { return default };
        if let Some(word) = words.iter().find(|word| **word == leaf.get_ref().as_str()) {
            return word;
        }
        let title = format!("`{}` does not take this word", setting.key());
        let mut found = Diagnostic::error(codes::UNKNOWN_WORD, title).at(
            &self.inside(leaf, 0..leaf.get_ref().len()),
            "not a word it knows",
        );
        found.help = names::help(leaf.get_ref(), words.iter().copied());
        self.findings.push(found);
        default
    }

    /// A whole number within its bounds, when it is there.
    pub(crate) fn number(&mut self, leaf: &Leaf<i64>, setting: &Setting) -> Option<Placed<u64>> {
        let leaf = leaf.as_ref()?;
        let place = self.place(leaf);
        let value = u64::try_from(*leaf.get_ref()).ok();
        let placed = Placed::new(value.unwrap_or(0), place);
        if value.is_none() {
            self.findings.push(out_of_range(setting, &placed.place));
            return None;
        }
        in_range(setting, &placed, self.findings).then_some(placed)
    }

    /// A whole number, or its default.
    pub(crate) fn integer<T: TryFrom<u64> + Default>(
        &mut self,
        leaf: &Leaf<i64>,
        setting: &Setting,
    ) -> T {
        let value = self.number(leaf, setting).map(|placed| placed.value);
        T::try_from(value.unwrap_or_else(|| default_number(setting))).unwrap_or_default()
    }

    /// A number of bytes, when it is there.
    pub(crate) fn bytes(&mut self, leaf: &Leaf<Quantity>, setting: &Setting) -> Option<u64> {
        let leaf = leaf.as_ref()?;
        let read = match leaf.get_ref() {
            Quantity::Number(_) => Err("a size needs a unit: B, KiB, MiB or GiB"),
            Quantity::Text(text) => value::size(text),
        };
        let value = self.quantity(leaf, setting, read, "write \"64 KiB\"")?;
        let placed = Placed::new(value, self.place(leaf));
        in_range(setting, &placed, self.findings).then_some(value)
    }

    /// A number of bytes, or its default.
    pub(crate) fn size<T: TryFrom<u64> + Default>(
        &mut self,
        leaf: &Leaf<Quantity>,
        setting: &Setting,
    ) -> T {
        let value = self.bytes(leaf, setting);
        T::try_from(value.unwrap_or_else(|| default_number(setting))).unwrap_or_default()
    }

    /// A length of time, when it is there.
    pub(crate) fn time(
        &mut self,
        leaf: &Leaf<Quantity>,
        setting: &Setting,
    ) -> Option<Placed<Duration>> {
        let leaf = leaf.as_ref()?;
        let bare = matches!(
            setting.kind,
            Kind::Duration {
                bare_millis: true,
                ..
            }
        );
        let read = match leaf.get_ref() {
            Quantity::Number(number) if bare => value::duration_or_millis(&number.to_string()),
            Quantity::Number(_) => Err("a duration needs a unit: ms, s, m or h"),
            Quantity::Text(text) if bare => value::duration_or_millis(text),
            Quantity::Text(text) => value::duration(text),
        };
        let value = self.quantity(leaf, setting, read, "write \"5s\" or \"500ms\"")?;
        let placed = Placed::new(value, self.place(leaf));
        time_in_range(setting, &placed, self.findings).then_some(placed)
    }

    /// A length of time, or its default.
    pub(crate) fn duration(&mut self, leaf: &Leaf<Quantity>, setting: &Setting) -> Duration {
        self.time(leaf, setting)
            .map_or_else(|| default_time(setting), |placed| placed.value)
    }

    fn quantity<T>(
        &mut self,
        leaf: &Spanned<Quantity>,
        setting: &Setting,
        read: Result<T, &'static str>,
        cure: &str,
    ) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(why) => {
                let title = format!("`{}`: {why}", setting.key());
                let place = self.place(leaf);
                self.findings.push(
                    Diagnostic::error(codes::BAD_QUANTITY, title)
                        .at(&place, "cannot be read")
                        .help(cure),
                );
                None
            }
        }
    }

    fn define<'k>(
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

    fn add_name(
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

/// The default of a number or size; 0 for a setting that has none.
pub(crate) fn default_number(setting: &Setting) -> u64 {
    match setting.kind {
        Kind::Integer { default, .. } | Kind::Size { default, .. } => default.unwrap_or(0),
        _ => 0,
    }
}

/// The default of a duration.
pub(crate) fn default_time(setting: &Setting) -> Duration {
    match setting.kind {
        Kind::Duration { default, .. } => default,
        _ => Duration::ZERO,
    }
}

/// Whether a number or size lies within the setting's bounds; a finding when not.
pub(crate) fn in_range(setting: &Setting, value: &Placed<u64>, findings: &mut Findings) -> bool {
    let fits = match setting.kind {
        Kind::Integer { min, max, .. } | Kind::Size { min, max, .. } => {
            (min..=max).contains(&value.value)
        }
        _ => true,
    };
    if !fits {
        findings.push(out_of_range(setting, &value.place));
    }
    fits
}

/// Whether a duration lies within the setting's bounds; a finding when not.
pub(crate) fn time_in_range(
    setting: &Setting,
    value: &Placed<Duration>,
    findings: &mut Findings,
) -> bool {
    let fits = match setting.kind {
        Kind::Duration { min, max, .. } => (min..=max).contains(&value.value),
        _ => true,
    };
    if !fits {
        findings.push(out_of_range(setting, &value.place));
    }
    fits
}

fn out_of_range(setting: &Setting, place: &Place) -> Diagnostic {
    let (least, most) = match setting.kind {
        Kind::Duration { min, max, .. } => (value::write_duration(min), value::write_duration(max)),
        Kind::Size { min, max, .. } => (value::write_size(min), value::write_size(max)),
        Kind::Integer { min, max, .. } => (min.to_string(), max.to_string()),
        _ => (String::new(), String::new()),
    };
    Diagnostic::error(
        codes::OUT_OF_RANGE,
        format!("`{}` takes {least} to {most}", setting.key()),
    )
    .at(place, "out of range")
    .help(setting.sentence)
}
