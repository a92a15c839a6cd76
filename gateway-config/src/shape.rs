//! Walks the parsed file and finds every unknown setting and every value of a wrong kind at once.
//!
//! serde would stop at the first of them. Compares with [`SETTINGS`] only; what the values mean is
//! left to [`check`](crate::check).

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::names;
use crate::settings::{Kind, SETTINGS, Setting};
use crate::source::{Place, SourceId, Sources};

/// What the walk found, apart from the findings themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// A setting is unknown: something that seems to be missing may be what it was meant to be.
    pub(crate) has_unknown: bool,
    /// A value is of a wrong kind: the file cannot be read into its types.
    pub(crate) has_wrong_type: bool,
}

/// Walks a file.
pub(crate) fn walk(
    sources: &Sources,
    id: SourceId,
    root: &DeTable<'_>,
    findings: &mut Findings,
) -> Shape {
    let mut children: BTreeMap<&'static str, Vec<&'static Setting>> = BTreeMap::new();
    for setting in SETTINGS {
        children.entry(setting.parent()).or_default().push(setting);
    }
    let mut walk = Walk {
        sources,
        id,
        children,
        findings,
        shape: Shape::default(),
    };
    walk.table(root, "", "");
    walk.shape
}

struct Walk<'a> {
    sources: &'a Sources,
    id: SourceId,
    children: BTreeMap<&'static str, Vec<&'static Setting>>,
    findings: &'a mut Findings,
    shape: Shape,
}

impl Walk<'_> {
    /// A table whose settings are those below `pattern`; `shown` is its path as written.
    fn table(&mut self, table: &DeTable<'_>, pattern: &str, shown: &str) {
        let legal = self.children.get(pattern).cloned().unwrap_or_default();
        for (key, value) in table {
            let name: &str = key.get_ref();
            match legal.iter().find(|setting| setting.key() == name) {
                Some(setting) => self.value(setting, value, &join(shown, name)),
                None => self.unknown(key, &legal, shown),
            }
        }
    }

    fn value(&mut self, setting: &'static Setting, value: &Spanned<DeValue<'_>>, shown: &str) {
        let below = format!("{}.*", setting.path);
        match (setting.kind, value.get_ref()) {
            (Kind::Table, DeValue::Table(table)) => self.table(table, setting.path, shown),
            (Kind::Tables, DeValue::Table(tables)) => {
                for (name, one) in tables {
                    let shown = join(shown, name.get_ref());
                    match one.get_ref() {
                        DeValue::Table(table) => self.table(table, &below, &shown),
                        _ => self.wrong(one, &shown, "a table", "[NAME] with its settings below"),
                    }
                }
            }
            (Kind::TextByName, DeValue::Table(texts)) => {
                for (name, one) in texts {
                    self.text(one, &join(shown, name.get_ref()));
                }
            }
            (Kind::Texts, DeValue::Array(texts)) => {
                texts.iter().for_each(|one| self.text(one, shown));
            }
            (Kind::Nodes, DeValue::Array(nodes)) => {
                for one in nodes.iter() {
                    match one.get_ref() {
                        DeValue::String(_) => {}
                        DeValue::Table(table) => self.table(table, &below, shown),
                        _ => {
                            self.wrong(one, shown, "a node", r#""10.0.0.11:8080" or { addr = … }"#)
                        }
                    }
                }
            }
            (Kind::Text | Kind::Word { .. }, DeValue::String(_))
            | (Kind::Bool { .. }, DeValue::Boolean(_))
            | (Kind::Duration { .. } | Kind::Size { .. }, DeValue::String(_)) => {}
            (
                Kind::Duration { .. } | Kind::Size { .. } | Kind::Integer { .. },
                DeValue::Integer(number),
            ) => {
                if i64::from_str_radix(number.as_str(), number.radix()).is_err() {
                    self.shape.has_wrong_type = true;
                    self.findings.push(
                        Diagnostic::error(codes::OUT_OF_RANGE, format!("`{shown}` is too large"))
                            .at(&self.place(value), "no setting takes this number"),
                    );
                }
            }
            (kind, _) => {
                let (takes, example) = describe(kind);
                self.wrong(value, shown, takes, example);
            }
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

    fn unknown(
        &mut self,
        key: &Spanned<std::borrow::Cow<'_, str>>,
        legal: &[&Setting],
        shown: &str,
    ) {
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
        .at(
            &self.sources.place(self.id, key.span()),
            "not a setting here",
        );
        found.help = names::help(name, legal.iter().map(|setting| setting.key()));
        self.findings.push(found);
    }

    fn place<T>(&self, value: &Spanned<T>) -> Place {
        self.sources.place(self.id, value.span())
    }
}

/// What a kind of setting takes, and an example.
fn describe(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Bool { .. } => ("true or false", "true or false without quotes"),
        Kind::Duration { .. } => ("a duration", "\"5s\""),
        Kind::Integer { .. } => ("a whole number", "a number without quotes"),
        Kind::Nodes => ("a list of nodes", r#"["10.0.0.11:8080"]"#),
        Kind::Size { .. } => ("a size", "\"64 KiB\""),
        Kind::Table => ("a table", "{ … } or a table of its own"),
        Kind::Tables => ("tables with names", "[….NAME] with its settings below"),
        Kind::Text | Kind::Word { .. } => ("a text", "\"…\""),
        Kind::TextByName => ("a table from names to texts", "{ name = \"…\" }"),
        Kind::Texts => ("a list of texts", "[\"…\"]"),
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
