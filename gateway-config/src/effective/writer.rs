//! A TOML text under construction.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::masking::{HIDDEN, is_unseen, without_query_values};
use crate::model::AccessLog;
use crate::networks::{NetworkSet, Networks};
use crate::secrets::is_harmless_field;
use crate::settings::{self as s, Setting};
use crate::value;

/// A TOML text under construction.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: String,
    hides_secrets: bool,
    /// The sets that lists have named so far.
    sets: BTreeMap<Arc<str>, Arc<NetworkSet>>,
}

impl Writer {
    /// One that shows no value of a secret setting.
    pub(super) fn hiding() -> Self {
        Self {
            hides_secrets: true,
            ..Self::default()
        }
    }

    /// Texts by name as a table on one line, `true` where any text will do.
    pub(super) fn by_name<'t>(
        &self,
        setting: &Setting,
        pairs: impl Iterator<Item = (&'t str, Option<&'t str>)>,
    ) -> String {
        let is_secret = self.hides_secrets && setting.is_secret;
        let is_field = [&s::REQUEST_SET, &s::RESPONSE_SET, &s::WHEN_HEADERS]
            .iter()
            .any(|one| one.path == setting.path);
        let is_hidden = |name: &str| is_secret && !(is_field && is_harmless_field(name));
        let value = |name: &str, text: Option<&str>| match text {
            Some(_) if is_hidden(name) => quote(HIDDEN),
            Some(text) => quote(text),
            None => "true".to_owned(),
        };
        let all: Vec<String> = pairs
            .map(|(name, text)| format!("{} = {}", key(name), value(name, text)))
            .collect();
        format!("{{ {} }}", all.join(", "))
    }

    /// Begins a table; its path is written as it is.
    pub(crate) fn table(&mut self, path: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.push(format_args!("[{path}]\n"));
    }

    /// Writes one setting.
    pub(crate) fn line(&mut self, setting: &Setting, value: impl Display) {
        self.pair(setting.key(), value);
    }

    /// Writes one key, already quoted where it needs to be.
    pub(crate) fn pair(&mut self, key: &str, value: impl Display) {
        self.push(format_args!("{key} = {value}\n"));
    }

    /// Writes `[logs]` with where the access log goes.
    pub(crate) fn access_log(&mut self, log: &AccessLog) {
        self.table("logs");
        match log {
            AccessLog::File(path) => self.path(&s::LOG_ACCESS, path),
            AccessLog::Off => self.line(&s::LOG_ACCESS, quote("off")),
            AccessLog::Stdout => self.line(&s::LOG_ACCESS, quote("stdout")),
        }
    }

    /// Writes one setting, where it is said.
    pub(super) fn maybe(&mut self, setting: &Setting, value: Option<impl Display>) {
        if let Some(value) = value {
            self.line(setting, value);
        }
    }

    /// Writes one text.
    pub(super) fn text(&mut self, setting: &Setting, text: &str) {
        self.line(setting, quote(text));
    }

    /// Writes a target that is asked for.
    pub(super) fn target(&mut self, setting: &Setting, target: &str) {
        match self.hides_secrets {
            true => self.text(setting, &without_query_values(target)),
            false => self.text(setting, target),
        }
    }

    /// Writes a list of texts, where there are any.
    pub(super) fn texts(&mut self, setting: &Setting, texts: &[Arc<str>]) {
        if !texts.is_empty() {
            self.line(setting, list(texts));
        }
    }

    /// Writes a list of words, in their order.
    pub(super) fn words(&mut self, setting: &Setting, words: &[&str]) {
        self.line(setting, word_list(words));
    }

    /// Writes a list of networks.
    pub(super) fn networks(&mut self, setting: &Setting, networks: &Networks) {
        let list = self.network_list(networks);
        self.line(setting, list);
    }

    /// A list of networks; the sets it names are remembered.
    pub(super) fn network_list(&mut self, networks: &Networks) -> String {
        let named = networks.sets().cloned();
        self.sets
            .extend(named.map(|set| (Arc::clone(set.name()), set)));
        quoted(networks.written())
    }

    /// Writes the sets that lists have named, each once.
    pub(super) fn sets(&mut self) {
        for (name, set) in std::mem::take(&mut self.sets) {
            self.table(&format!("address_sets.{}", key(&name)));
            self.line(&s::SET_CIDRS, quoted(set.written()));
        }
    }

    /// The text written.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(super) fn path(&mut self, setting: &Setting, path: &Path) {
        self.line(setting, quote(&path.to_string_lossy()));
    }

    pub(super) fn size(&mut self, setting: &Setting, bytes: u64) {
        self.line(setting, quote(&value::write_size(bytes)));
    }

    pub(super) fn time(&mut self, setting: &Setting, time: Duration) {
        self.line(setting, quote(&value::write_duration(time)));
    }

    fn push(&mut self, args: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.text.write_fmt(args);
    }
}

/// A text as a basic TOML string.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() || is_unseen(c) => {
                // Writing to a String does not fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A name as a TOML key, quoted when it has to be.
pub(crate) fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        quote(name)
    }
}

fn quoted(texts: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = texts.map(|text| quote(&text)).collect();
    format!("[{}]", all.join(", "))
}

fn list(texts: &[Arc<str>]) -> String {
    let all: Vec<&str> = texts.iter().map(|text| &**text).collect();
    word_list(&all)
}

/// Words as a list.
pub(super) fn word_list(words: &[&str]) -> String {
    let all: Vec<String> = words.iter().map(|word| quote(word)).collect();
    format!("[{}]", all.join(", "))
}

/// Pairs as a table on one line.
pub(super) fn inline(pairs: &[(&str, String)]) -> String {
    let all: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", all.join(", "))
}
