//! Walks the parsed file and finds every unknown setting and every value of a wrong kind at once.
//!
//! serde would stop at the first of them. Compares with [`SETTINGS`] only; what the values mean is
//! left to [`check`](crate::check). A value of a wrong kind is taken out, so that the rest of the
//! file can be checked, and what its absence leads to is in [`Doubts`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::names;
use crate::secrets;
use crate::settings::{Kind, RENAMED, SETTINGS, Setting};
use crate::source::{Origin, Place, Sources};

mod doubts;
mod kinds;
mod rename;

use doubts::Doubted;
pub(crate) use doubts::Doubts;
use kinds::{describe, fits, is_leaf, takes_digits};

/// What the walk knows of the configuration besides its tree.
pub(crate) struct Walked {
    /// What may seem to be missing, or to stand alone, and was meant to be there.
    pub(crate) doubts: Doubts,
    /// Where values stand that are shown to nobody, also in a text that is refused.
    pub(crate) secrets: Vec<Place>,
    /// Where the names of settings stand that were taken out, as they are not sound.
    pub(crate) taken: Vec<Place>,
}

/// Walks a configuration, and gives settings that were renamed their name.
pub(crate) fn walk(
    sources: &Sources,
    origin: &Origin,
    root: &mut DeTable<'_>,
    findings: &mut Findings,
) -> Walked {
    let mut children: BTreeMap<&'static str, BTreeMap<&'static str, &'static Setting>> =
        BTreeMap::new();
    for setting in SETTINGS {
        let siblings = children.entry(setting.parent()).or_default();
        siblings.insert(setting.key(), setting);
    }
    rename::apply(RENAMED, root, &mut |key, renamed| {
        let place = sources.locate(origin, key.span());
        findings.push(rename::told(renamed, &place));
    });
    let mut walk = Walk {
        sources,
        origin,
        children,
        findings,
        within: Vec::new(),
        doubted: Vec::new(),
        meant: BTreeSet::new(),
        is_any_meant: false,
        secrets: Vec::new(),
        taken: Vec::new(),
    };
    walk.table(root, "", "");
    let doubted = Doubted {
        root,
        ways: &walk.doubted,
        meant: walk.meant,
    };
    let mut doubts = Doubts::new(doubted, sources, origin);
    if walk.is_any_meant {
        doubts.doubt_tables();
    }
    Walked {
        doubts,
        secrets: walk.secrets,
        taken: walk.taken,
    }
}

struct Walk<'a> {
    sources: &'a Sources,
    origin: &'a Origin,
    children: BTreeMap<&'static str, BTreeMap<&'static str, &'static Setting>>,
    findings: &'a mut Findings,
    /// The keys on the way to what is looked at.
    within: Vec<String>,
    /// The ways to what was unknown or of a wrong kind.
    doubted: Vec<Vec<String>>,
    /// The names of what was meant to be defined: under a table that is unknown, or as no table.
    meant: BTreeSet<String>,
    /// Whether a table that holds names is none, so that anything may be meant.
    is_any_meant: bool,
    secrets: Vec<Place>,
    taken: Vec<Place>,
}

impl Walk<'_> {
    /// A table whose settings are those below `pattern`; `shown` is its path as written.
    fn table(&mut self, table: &mut DeTable<'_>, pattern: &str, shown: &str) {
        self.entries(table, |walk, key, value| {
            let name: &str = key.get_ref();
            let known = walk.children.get(pattern).and_then(|all| all.get(name));
            match known.copied() {
                Some(setting) => walk.setting(setting, value, &join(shown, name)),
                None => {
                    // It may have been meant to be a secret, or to be around one.
                    let may_be = secrets::may_be_unknown(pattern, name);
                    if may_be {
                        walk.hide_behind(key);
                    }
                    // Of what nobody knows nobody knows that it is no secret.
                    if may_be || has_table(value.get_ref()) || !walk.is_misspelt(pattern, name) {
                        walk.hide(value);
                    }
                    if let (DeValue::Table(inner), true) = (value.get_ref(), shown.is_empty()) {
                        let names = inner.keys().map(|name| name.get_ref().to_string());
                        walk.meant.extend(names);
                    }
                    walk.unknown((key, value.get_ref()), pattern, shown)
                }
            }
        });
    }

    /// Whether an unknown setting was meant to be one that there is, here or elsewhere.
    fn is_misspelt(&self, pattern: &str, name: &str) -> bool {
        let legal = self.children.get(pattern).into_iter().flatten();
        SETTINGS.iter().any(|one| one.key() == name)
            || names::closest(name, legal.map(|(key, _)| *key)).is_some()
    }

    /// Looks at every entry of a table, and takes those out that are not sound.
    fn entries(
        &mut self,
        table: &mut DeTable<'_>,
        mut is_sound: impl FnMut(&mut Self, &Key<'_>, &mut Spanned<DeValue<'_>>) -> bool,
    ) {
        let mut wrong = Vec::new();
        for (key, value) in table.iter_mut() {
            self.within.push(key.get_ref().to_string());
            if !is_sound(self, key, value) {
                self.taken.push(self.place(key));
                wrong.push(key.clone());
            }
            self.within.pop();
        }
        for key in wrong {
            table.remove(&key);
        }
    }

    fn setting(
        &mut self,
        setting: &Setting,
        value: &mut Spanned<DeValue<'_>>,
        shown: &str,
    ) -> bool {
        let is_text = matches!(value.get_ref(), DeValue::Array(_) | DeValue::String(_));
        // What is no text where the path of a key belongs may be the key.
        let is_key = matches!(setting.key(), "chain" | "key") && !value.get_ref().is_str();
        let may_be = is_key || is_text && secrets::is_around(setting.path);
        if setting.is_secret || may_be || is_torn_login(value.get_ref()) {
            self.hide(value);
        } else if secrets::takes_names(setting) {
            self.hide_names(value, setting);
        } else if secrets::takes_networks(setting) {
            self.hide_others(value);
        }
        self.value(setting, setting.kind, value, shown)
    }

    /// Remembers where a value stands that is shown to nobody, each of several for itself.
    fn hide(&mut self, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Array(all) => all.iter().for_each(|one| self.hide(one)),
            DeValue::Boolean(_) => {}
            DeValue::Table(all) => all.iter().for_each(|(name, one)| {
                self.hide_behind(name);
                self.hide(one);
            }),
            _ => self.secrets.push(self.place(value)),
        }
    }

    /// Remembers where something else than names stands in a list of them.
    fn hide_names(&mut self, value: &Spanned<DeValue<'_>>, setting: &Setting) {
        match value.get_ref() {
            DeValue::Array(all) => all.iter().for_each(|one| self.hide_names(one, setting)),
            DeValue::String(_) => self.hide_behind(value),
            DeValue::Table(all) if matches!(setting.kind, Kind::TextByName) => {
                all.keys().for_each(|name| self.hide_behind(name));
            }
            _ => self.hide(value),
        }
    }

    /// Remembers where something else than networks stands.
    fn hide_others(&mut self, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Array(all) => all.iter().for_each(|one| self.hide_others(one)),
            DeValue::String(text) if secrets::is_like_network(text) => {}
            _ => self.hide(value),
        }
    }

    /// Remembers where something stands behind a name, in the name's own place.
    fn hide_behind<T>(&mut self, name: &Spanned<T>) {
        let place = self.place(name);
        let text = self.sources.written(place.source);
        let written = text.get(place.span.clone()).unwrap_or_default();
        if let Some(at) = secrets::behind_name_alone(written) {
            let start = place.span.start;
            let span = start + at.start..start + at.end;
            self.secrets.push(self.sources.place(place.source, span));
        }
    }

    /// Whether a value is of a kind; the settings below it, if there are any, are those below the
    /// setting's path.
    fn value(
        &mut self,
        setting: &Setting,
        kind: Kind,
        value: &mut Spanned<DeValue<'_>>,
        shown: &str,
    ) -> bool {
        let place = self.place(value);
        match (kind, value.get_mut()) {
            (Kind::Table | Kind::TableOr(_), DeValue::Table(table)) => {
                self.table(table, setting.path, shown);
            }
            (Kind::TableOr(short), _) => return self.value(setting, *short, value, shown),
            (Kind::Tables, DeValue::Table(tables)) => self.tables(setting, tables, shown),
            (Kind::TextByName | Kind::TextOrTrueByName, DeValue::Table(texts)) => {
                let may_be_true = matches!(kind, Kind::TextOrTrueByName);
                self.entries(texts, |walk, name, one| {
                    let mut shown_name = name.get_ref().to_string();
                    if secrets::takes_names(setting) {
                        walk.hide_behind(name);
                        shown_name = secrets::name_alone(&shown_name);
                    }
                    (may_be_true && one.get_ref().as_bool() == Some(true))
                        || walk.text(one, &join(shown, &shown_name), setting)
                });
            }
            (Kind::Texts | Kind::TextOrTexts | Kind::Words { .. }, DeValue::Array(all)) => {
                keep(all, |one| self.text(one, shown, setting));
            }
            (Kind::Integers { .. }, DeValue::Array(all)) => keep(all, |one| match one.get_ref() {
                DeValue::Integer(_) => self.number(one, shown),
                _ => self.wrong(
                    one,
                    shown,
                    "whole numbers",
                    "numbers without quotes",
                    setting,
                ),
            }),
            (Kind::TableList | Kind::Nodes, DeValue::Array(all)) => {
                let may_be_text = matches!(kind, Kind::Nodes);
                keep(all, |one| self.entry(setting, may_be_text, one, shown));
            }
            (kind, leaf) if is_leaf(kind, leaf) => {}
            (kind, DeValue::Integer(number)) if takes_digits(kind) => {
                return fits(number) || self.too_large(&place, shown);
            }
            (kind, _) => {
                let (takes, example) = describe(kind);
                self.is_any_meant |= matches!(kind, Kind::Tables) && self.within.len() == 1;
                let example = match kind {
                    Kind::Tables => format!("[{shown}.NAME] with its settings below"),
                    _ => example.to_owned(),
                };
                return self.wrong(value, shown, takes, &example, setting);
            }
        }
        true
    }

    /// Tables under names of the operator's.
    fn tables(&mut self, setting: &Setting, tables: &mut DeTable<'_>, shown: &str) {
        let below = format!("{}.*", setting.path);
        self.entries(tables, |walk, name, one| {
            let shown = join(shown, name.get_ref());
            match one.get_mut() {
                DeValue::Table(table) => {
                    walk.table(table, &below, &shown);
                    true
                }
                _ => {
                    if walk.within.len() == 2 {
                        // It is taken out, and may be what others refer to.
                        walk.meant.insert(name.get_ref().to_string());
                    }
                    let example = format!("[{shown}] with its settings below");
                    walk.wrong(one, &shown, "a table", &example, setting)
                }
            }
        });
    }

    /// An entry of a list of tables, or of nodes.
    fn entry(
        &mut self,
        setting: &Setting,
        may_be_text: bool,
        one: &mut Spanned<DeValue<'_>>,
        shown: &str,
    ) -> bool {
        let below = format!("{}.*", setting.path);
        match one.get_mut() {
            DeValue::Table(table) => {
                self.table(table, &below, shown);
                true
            }
            DeValue::String(_) if may_be_text => true,
            _ if may_be_text => {
                let example = r#""10.0.0.11:8080" or { addr = … }"#;
                self.wrong(one, shown, "nodes", example, setting)
            }
            _ => self.wrong(one, shown, "tables", "[{ … }]", setting),
        }
    }

    fn number(&mut self, value: &Spanned<DeValue<'_>>, shown: &str) -> bool {
        let place = self.place(value);
        value.get_ref().as_integer().is_some_and(fits) || self.too_large(&place, shown)
    }

    fn too_large(&mut self, place: &Place, shown: &str) -> bool {
        let title = format!("`{shown}` is too large");
        let found = Diagnostic::error(codes::OUT_OF_RANGE, title);
        self.doubt(found.at(place, "no setting takes this number"))
    }

    fn text(&mut self, value: &Spanned<DeValue<'_>>, shown: &str, setting: &Setting) -> bool {
        value.get_ref().is_str() || self.wrong(value, shown, "a text", "\"…\"", setting)
    }

    fn wrong(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        shown: &str,
        takes: &str,
        example: &str,
        setting: &Setting,
    ) -> bool {
        let is = match value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a number",
            DeValue::Float(one) if one.as_str().ends_with("nan") => "not a number",
            DeValue::Float(one) if one.as_str().ends_with("inf") => "a number without end",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        if matches!(setting.kind, Kind::Table | Kind::Tables) && value.get_ref().is_str() {
            // The name of what it is for was left out, so it may be for anything.
            self.hide(value);
        }
        let found = Diagnostic::error(codes::WRONG_TYPE, format!("`{shown}` takes {takes}"))
            .at(&self.place(value), format!("this is {is}"))
            .help(format!("write {example}: {}", setting.sentence));
        self.doubt(found)
    }

    /// Tells of something that is not what it was meant to be; it is not sound.
    fn doubt(&mut self, found: Diagnostic) -> bool {
        self.doubted.push(self.within.clone());
        self.findings.push(found);
        false
    }

    fn unknown(
        &mut self,
        (key, value): (&Key<'_>, &DeValue<'_>),
        pattern: &str,
        shown: &str,
    ) -> bool {
        let name: &str = key.get_ref();
        let may_be = secrets::may_be_unknown(pattern, name);
        let alone = may_be.then(|| secrets::name_alone(name));
        let told = alone.as_deref().unwrap_or(name);
        let within = if shown.is_empty() {
            "at the top level".to_owned()
        } else {
            format!("in `[{shown}]`")
        };
        let mut found = Diagnostic::error(
            codes::UNKNOWN_SETTING,
            format!("unknown setting `{}` {within}", told.escape_debug()),
        )
        .at(&self.place(key), "not a setting here");
        let at_top = self.children.get("").and_then(|all| all.get(name));
        let legal = self.children.get(pattern).into_iter().flatten();
        found.cure(match at_top.map(|setting| setting.kind) {
            None if names::INCLUDES.contains(&name) => Some(names::NO_INCLUDES.to_owned()),
            None if shown.is_empty() && name == "routes" => {
                let first = value.as_table().and_then(|all| all.keys().next());
                let first = first.map_or("NAME", |first| first.get_ref());
                let first = first.escape_debug();
                Some(format!(
                    "a route stands in its site: [sites.NAME.routes.{first}]"
                ))
            }
            Some(Kind::Table | Kind::Tables) => Some(format!("[{name}] is a table of its own")),
            Some(_) => Some(format!(
                "`{name}` stands before the first line that begins with `[`"
            )),
            None => names::help(name, legal.map(|(key, _)| *key)),
        });
        self.doubt(found)
    }

    fn place<T>(&self, value: &Spanned<T>) -> Place {
        self.sources.locate(self.origin, value.span())
    }
}

type Key<'t> = Spanned<Cow<'t, str>>;

/// Whether an address has gaps in it before an `@`: what stands there may be a login.
fn is_torn_login(value: &DeValue<'_>) -> bool {
    let text = value.as_str().unwrap_or_default();
    let login = text
        .split_once("://")
        .and_then(|(_, rest)| rest.rsplit_once('@'));
    login.is_some_and(|(login, _)| login.contains(char::is_whitespace))
}

/// Whether a value is a table, or a list with one in it.
fn has_table(value: &DeValue<'_>) -> bool {
    match value {
        DeValue::Array(all) => all.iter().any(|one| has_table(one.get_ref())),
        other => other.is_table(),
    }
}

/// Keeps the entries of a list that are sound.
fn keep<'t>(all: &mut DeArray<'t>, mut is_sound: impl FnMut(&mut Spanned<DeValue<'t>>) -> bool) {
    let entries = std::mem::replace(all, DeArray::new()).into_iter();
    let sound = entries.filter_map(|mut one| is_sound(&mut one).then_some(one));
    *all = sound.collect();
}

fn join(shown: &str, name: &str) -> String {
    let name = name.escape_debug();
    if shown.is_empty() {
        name.to_string()
    } else {
        format!("{shown}.{name}")
    }
}
