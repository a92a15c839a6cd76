//! Walks the parsed file and finds every unknown setting and every value of a wrong kind at once.
//!
//! serde would stop at the first of them. Compares with [`SETTINGS`] only; what the values mean is
//! left to [`check`](crate::check).

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::names;
use crate::secrets;
use crate::settings::{Kind, RENAMED, SETTINGS, Setting};
use crate::source::{Origin, Place, Sources};

mod rename;

/// What the walk found, apart from the findings themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// A setting is unknown: something that seems to be missing may be what it was meant to be.
    pub(crate) has_unknown: bool,
    /// A value is of a wrong kind: the file cannot be read into its types.
    pub(crate) has_wrong_type: bool,
}

/// What the walk knows of the configuration besides its tree.
pub(crate) struct Walked {
    /// What was found.
    pub(crate) shape: Shape,
    /// Where values stand that are shown to nobody, also in a text that is refused.
    pub(crate) secrets: Vec<Place>,
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
        shape: Shape::default(),
        secrets: Vec::new(),
    };
    walk.table(root, "", "");
    Walked {
        shape: walk.shape,
        secrets: walk.secrets,
    }
}

struct Walk<'a> {
    sources: &'a Sources,
    origin: &'a Origin,
    children: BTreeMap<&'static str, BTreeMap<&'static str, &'static Setting>>,
    findings: &'a mut Findings,
    shape: Shape,
    secrets: Vec<Place>,
}

impl Walk<'_> {
    /// A table whose settings are those below `pattern`; `shown` is its path as written.
    fn table(&mut self, table: &DeTable<'_>, pattern: &str, shown: &str) {
        for (key, value) in table {
            let name: &str = key.get_ref();
            let known = self.children.get(pattern).and_then(|all| all.get(name));
            match known.copied() {
                Some(setting) => self.setting(setting, value, &join(shown, name)),
                None => {
                    // It may have been meant to be a secret, or to be around one.
                    if value.get_ref().is_table() {
                        self.hide(value);
                    }
                    self.unknown(key, pattern, shown);
                }
            }
        }
    }

    fn setting(&mut self, setting: &'static Setting, value: &Spanned<DeValue<'_>>, shown: &str) {
        let is_text = matches!(value.get_ref(), DeValue::Array(_) | DeValue::String(_));
        let may_be = is_text && secrets::is_around(setting.path);
        if setting.is_secret || may_be {
            self.hide(value);
        }
        self.value(setting.path, setting.kind, value, shown);
    }

    /// Remembers where a value stands that is shown to nobody, each of several for itself.
    fn hide(&mut self, value: &Spanned<DeValue<'_>>) {
        match value.get_ref() {
            DeValue::Array(all) => all.iter().for_each(|one| self.hide(one)),
            DeValue::Boolean(_) => {}
            DeValue::Table(all) => all.iter().for_each(|(_, one)| self.hide(one)),
            _ => self.secrets.push(self.place(value)),
        }
    }

    /// A value of a kind; the settings below it, if there are any, are those below `path`.
    fn value(&mut self, path: &str, kind: Kind, value: &Spanned<DeValue<'_>>, shown: &str) {
        match (kind, value.get_ref()) {
            (Kind::Table | Kind::TableOr(_), DeValue::Table(table)) => {
                self.table(table, path, shown);
            }
            (Kind::TableOr(short), _) => self.value(path, *short, value, shown),
            (Kind::Tables, DeValue::Table(tables)) => {
                let below = format!("{path}.*");
                for (name, one) in tables {
                    let shown = join(shown, name.get_ref());
                    match one.get_ref() {
                        DeValue::Table(table) => self.table(table, &below, &shown),
                        _ => self.wrong(one, &shown, "a table", "[NAME] with its settings below"),
                    }
                }
            }
            (Kind::TextByName | Kind::TextOrTrueByName, DeValue::Table(texts)) => {
                for (name, one) in texts {
                    let may_be_true = matches!(kind, Kind::TextOrTrueByName);
                    if !(may_be_true && one.get_ref().as_bool() == Some(true)) {
                        self.text(one, &join(shown, name.get_ref()));
                    }
                }
            }
            (Kind::Texts | Kind::TextOrTexts | Kind::Words { .. }, DeValue::Array(texts)) => {
                texts.iter().for_each(|one| self.text(one, shown));
            }
            (Kind::Integers { .. }, DeValue::Array(numbers)) => {
                for one in numbers.iter() {
                    match one.get_ref() {
                        DeValue::Integer(_) => self.number(one, shown),
                        _ => self.wrong(one, shown, "whole numbers", "numbers without quotes"),
                    }
                }
            }
            (Kind::TableList | Kind::Nodes, DeValue::Array(all)) => {
                self.entries(path, matches!(kind, Kind::Nodes), all, shown);
            }
            (Kind::Text | Kind::TextOrTexts | Kind::Word { .. }, DeValue::String(_))
            | (Kind::Bool { .. }, DeValue::Boolean(_))
            | (
                Kind::Duration { .. } | Kind::Share { .. } | Kind::Size { .. },
                DeValue::String(_),
            ) => {}
            (
                Kind::Duration { .. }
                | Kind::Integer { .. }
                | Kind::Integers { .. }
                | Kind::Share { .. }
                | Kind::Size { .. },
                DeValue::Integer(_),
            ) => self.number(value, shown),
            (kind, _) => {
                let (takes, example) = describe(kind);
                self.wrong(value, shown, takes, example);
            }
        }
    }

    fn entries(&mut self, path: &str, may_be_text: bool, all: &DeArray<'_>, shown: &str) {
        let below = format!("{path}.*");
        for one in all.iter() {
            match one.get_ref() {
                DeValue::Table(table) => self.table(table, &below, shown),
                DeValue::String(_) if may_be_text => {}
                _ if may_be_text => {
                    self.wrong(one, shown, "a node", r#""10.0.0.11:8080" or { addr = … }"#);
                }
                _ => self.wrong(one, shown, "tables", "[{ … }]"),
            }
        }
    }

    fn number(&mut self, value: &Spanned<DeValue<'_>>, shown: &str) {
        let fits = value
            .get_ref()
            .as_integer()
            .is_some_and(|number| i64::from_str_radix(number.as_str(), number.radix()).is_ok());
        if !fits {
            self.shape.has_wrong_type = true;
            self.findings.push(
                Diagnostic::error(codes::OUT_OF_RANGE, format!("`{shown}` is too large"))
                    .at(&self.place(value), "no setting takes this number"),
            );
        }
    }

    fn text(&mut self, value: &Spanned<DeValue<'_>>, shown: &str) {
        if !value.get_ref().is_str() {
            self.wrong(value, shown, "a text", "\"…\"");
        }
    }

    fn wrong(&mut self, value: &Spanned<DeValue<'_>>, shown: &str, takes: &str, example: &str) {
        self.shape.has_wrong_type = true;
        let is = match value.get_ref() {
            DeValue::String(_) => "a text",
            DeValue::Integer(_) => "a number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.findings.push(
            Diagnostic::error(codes::WRONG_TYPE, format!("`{shown}` takes {takes}"))
                .at(&self.place(value), format!("this is {is}"))
                .help(format!("write {example}")),
        );
    }

    fn unknown(&mut self, key: &Spanned<std::borrow::Cow<'_, str>>, pattern: &str, shown: &str) {
        self.shape.has_unknown = true;
        let name: &str = key.get_ref();
        let within = if shown.is_empty() {
            "at the top level".to_owned()
        } else {
            format!("in `[{shown}]`")
        };
        let mut found = Diagnostic::error(
            codes::UNKNOWN_SETTING,
            format!("unknown setting `{}` {within}", name.escape_debug()),
        )
        .at(&self.place(key), "not a setting here");
        let legal = self.children.get(pattern).into_iter().flatten();
        found.help = names::help(name, legal.map(|(key, _)| *key));
        self.findings.push(found);
    }

    fn place<T>(&self, value: &Spanned<T>) -> Place {
        self.sources.locate(self.origin, value.span())
    }
}

/// What a kind of setting takes, and an example.
fn describe(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Bool { .. } => ("true or false", "true or false without quotes"),
        Kind::Duration { .. } => ("a duration", "\"5s\""),
        Kind::Integer { .. } => ("a whole number", "a number without quotes"),
        Kind::Integers { .. } => ("a whole number, or several", "200 or [200, 204]"),
        Kind::Nodes => ("a list of nodes", r#"["10.0.0.11:8080"]"#),
        Kind::Share { .. } => ("a share", "\"20%\""),
        Kind::Size { .. } => ("a size", "\"64 KiB\""),
        Kind::Table => ("a table", "{ … } or a table of its own"),
        Kind::TableList => ("a list of tables", "[{ … }]"),
        Kind::TableOr(short) => describe(*short),
        Kind::Tables => ("tables with names", "[….NAME] with its settings below"),
        Kind::Text | Kind::Word { .. } => ("a text", "\"…\""),
        Kind::TextByName => ("a table from names to texts", "{ name = \"…\" }"),
        Kind::TextOrTexts => ("a text, or a list of texts", "\"…\" or [\"…\"]"),
        Kind::TextOrTrueByName => ("a table from names to texts or true", "{ name = \"…\" }"),
        Kind::Texts | Kind::Words { .. } => ("a list of texts", "[\"…\"]"),
    }
}

fn join(shown: &str, name: &str) -> String {
    let name = name.escape_debug();
    if shown.is_empty() {
        name.to_string()
    } else {
        format!("{shown}.{name}")
    }
}
