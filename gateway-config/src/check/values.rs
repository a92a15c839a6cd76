//! Reads single values: words, numbers, times, sizes, lists and networks, each within its bounds.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use toml::Spanned;

use super::Context;
use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::masking::HIDDEN;
use crate::names;
use crate::networks::{self, NetworkSet, Networks};
use crate::raw::{Leaf, List, Quantity};
use crate::secrets;
use crate::settings::{self as s, Kind, Setting};
use crate::source::{Place, Placed};
use crate::value;

/// The networks of `[address_sets]`, by name.
pub(crate) type Sets = BTreeMap<String, Arc<NetworkSet>>;

impl Context<'_> {
    /// A flag, or its default.
    pub(crate) fn flag(&self, leaf: &Leaf<bool>, setting: &Setting) -> bool {
        leaf.as_ref()
            .map_or_else(|| setting.is_on(), |leaf| *leaf.get_ref())
    }

    /// One word out of a few, or its default.
    pub(crate) fn word(&mut self, leaf: &Leaf<String>, setting: &Setting) -> &'static str {
        let default = match setting.short() {
            Kind::Word { default, .. } => default,
            _ => "",
        };
        let Some(leaf) = leaf else { return default };
        self.word_in(leaf, setting).unwrap_or(default)
    }

    /// One word out of a few; a finding when it is none.
    pub(crate) fn word_in(
        &mut self,
        leaf: &Spanned<String>,
        setting: &Setting,
    ) -> Option<&'static str> {
        let words = setting.words();
        let found = words.iter().find(|word| **word == leaf.get_ref().as_str());
        if found.is_none() {
            let title = format!("`{}` does not take this word", setting.key());
            let mut found = Diagnostic::error(codes::UNKNOWN_WORD, title)
                .at(&self.within(leaf), "not a word it knows");
            let text = leaf.get_ref().as_str();
            let is_name = setting.path == s::SITE_HOST.path
                && names::closest(text, words.iter().copied()).is_none()
                && text.contains('.')
                && value::is_site_host(text);
            found.cure(match is_name {
                true => {
                    Some("the names that a site takes are its `hosts`: hosts = [\"…\"]".to_owned())
                }
                false => names::help(text, words.iter().copied()),
            });
            self.push(found);
        }
        found.copied()
    }

    /// A list of words in the order in which they are written, each once; `None` when it is not there.
    pub(crate) fn words(&mut self, list: &List, setting: &Setting) -> Option<Vec<&'static str>> {
        self.not_empty(list, setting);
        let leaf = list.as_ref()?;
        Some(self.words_of(leaf.get_ref(), setting))
    }

    /// A list of words that is there.
    pub(crate) fn words_of(
        &mut self,
        list: &[Spanned<String>],
        setting: &Setting,
    ) -> Vec<&'static str> {
        let mut all: Vec<&'static str> = Vec::new();
        for one in list {
            match self.word_in(one, setting) {
                Some(word) if all.contains(&word) => {
                    let title = format!("`{word}` is listed twice");
                    self.refuse(codes::DEFINED_TWICE, title, one, "again here");
                }
                Some(word) => all.push(word),
                None => {}
            }
        }
        all
    }

    /// Refuses a list that is there and empty.
    pub(crate) fn not_empty(&mut self, list: &List, setting: &Setting) {
        if let Some(leaf) = list.as_ref().filter(|leaf| leaf.get_ref().is_empty()) {
            let title = format!("`{}` is empty", setting.key());
            self.refuse(codes::EMPTY_LIST, title, leaf, "leave it out instead");
        }
    }

    /// A list of texts, each of which has to pass.
    pub(crate) fn texts(
        &mut self,
        list: &List,
        setting: &Setting,
        is_legal: fn(&str) -> bool,
    ) -> Option<Vec<Arc<str>>> {
        let list = list.as_ref()?;
        let mut all = Vec::new();
        for one in list.get_ref() {
            self.token(one, setting, is_legal);
            all.push(one.get_ref().as_str().into());
        }
        Some(all)
    }

    /// Refuses a text that stands among some twice, be it in another case.
    pub(crate) fn each_once<'t>(&mut self, all: impl Iterator<Item = &'t Spanned<String>>) {
        self.once(all, |text| text.to_ascii_lowercase());
    }

    /// Refuses a text that stands among some twice; equal are those that come to the same.
    pub(crate) fn once<'t, K: Ord>(
        &mut self,
        all: impl Iterator<Item = &'t Spanned<String>>,
        comes_to: impl Fn(&'t str) -> K,
    ) {
        let mut known: BTreeMap<K, Place> = BTreeMap::new();
        for one in all {
            let place = self.place(one);
            if let Some(first) = known.get(&comes_to(one.get_ref())) {
                let title = format!("`{}` is listed twice", one.get_ref().escape_debug());
                self.push(Diagnostic::error(codes::DEFINED_TWICE, title).at_both(&place, first));
            } else {
                known.insert(comes_to(one.get_ref()), place);
            }
        }
    }

    /// A text that has to pass.
    pub(crate) fn token(
        &mut self,
        text: &Spanned<String>,
        setting: &Setting,
        is_legal: fn(&str) -> bool,
    ) -> Arc<str> {
        if !is_legal(text.get_ref()) {
            let name = match secrets::takes_names(setting) {
                true => secrets::name_alone(text.get_ref()),
                false => text.get_ref().clone(),
            };
            let title = format!(
                "`{}` cannot stand in `{}`",
                name.escape_debug(),
                setting.key()
            );
            self.refuse(codes::BAD_TOKEN, title, text, why(text.get_ref(), setting));
        }
        text.get_ref().as_str().into()
    }

    /// Texts in lower case, sorted, each once.
    pub(crate) fn folded(
        &mut self,
        list: &List,
        setting: &Setting,
        is_legal: fn(&str) -> bool,
    ) -> Option<Vec<Arc<str>>> {
        let mut all = self.texts(list, setting, is_legal)?;
        for one in &mut all {
            *one = one.to_ascii_lowercase().into();
        }
        all.sort();
        all.dedup();
        Some(all)
    }

    /// A list of networks, addresses and `@sets`; `None` when it is not there.
    pub(crate) fn networks(
        &mut self,
        list: &List,
        setting: &Setting,
        sets: &Sets,
    ) -> Option<Networks> {
        self.not_empty(list, setting);
        let list = list.as_ref()?.get_ref();
        self.each_network_once(list);
        let mut own = Vec::new();
        let mut named = Vec::new();
        for one in list {
            match one.get_ref().strip_prefix('@') {
                Some(name) => named.extend(self.set(one, (name, setting), sets)),
                None if sets.contains_key(one.get_ref()) => self.set_meant(one),
                None => own.extend(self.network(one, setting)),
            }
        }
        Some(Networks::with(own, named))
    }

    /// Refuses a network or set that stands in a list twice; one that cannot be read is told of alone.
    pub(crate) fn each_network_once(&mut self, list: &[Spanned<String>]) {
        let comes_to = |text: &str| match networks::read(text) {
            Ok(net) => Some(net.to_string()),
            Err(_) => {
                (text.starts_with('@') && secrets::is_like_network(text)).then(|| text.to_owned())
            }
        };
        let all = list.iter().filter(|one| comes_to(one.get_ref()).is_some());
        self.once(all, comes_to);
    }

    /// The set that a list names.
    fn set(
        &mut self,
        one: &Spanned<String>,
        (name, setting): (&str, &Setting),
        sets: &Sets,
    ) -> Option<Arc<NetworkSet>> {
        if let Some(known) = sets.get(name) {
            self.used_sets.insert(name.to_owned());
            return Some(Arc::clone(known));
        }
        let shown = shown_network(one.get_ref(), setting);
        let shown = shown.strip_prefix('@').unwrap_or(shown);
        let title = format!("there is no address set `{}`", shown.escape_debug());
        let place = self.inside(one, 1..one.get_ref().len());
        let mut found = Diagnostic::error(codes::UNDEFINED, title).at(&place, "no such set");
        let legal = sets.keys().map(String::as_str);
        let (_, help) = self.findings.budget.search(name, legal);
        found.cure(help.or_else(|| Some("define [address_sets.NAME] with `cidrs`".to_owned())));
        self.push(found);
        None
    }

    /// Tells of a set that is named as if it were a network.
    fn set_meant(&mut self, one: &Spanned<String>) {
        let name = one.get_ref();
        self.used_sets.insert(name.clone());
        let title = format!("`{name}` is not an address range");
        let place = self.within(one);
        self.push(
            Diagnostic::error(codes::BAD_NETWORK, title)
                .at(&place, "the name of a set stands behind an `@`")
                .help(format!("write \"@{name}\"")),
        );
    }

    /// A network or an address.
    pub(crate) fn network(&mut self, one: &Spanned<String>, setting: &Setting) -> Option<IpNet> {
        match networks::read(one.get_ref()) {
            Ok(net) => Some(net),
            Err(wrong) => {
                let shown = shown_network(one.get_ref(), setting);
                let title = format!("`{}` is not an address range", shown.escape_debug());
                let place = self.inside(one, wrong.at);
                let mut found = Diagnostic::error(codes::BAD_NETWORK, title).at(&place, wrong.why);
                found.cure(wrong.instead.map(|instead| format!("write {instead}")));
                self.push(found);
                None
            }
        }
    }

    /// A whole number within its bounds, when it is there.
    pub(crate) fn number(&mut self, leaf: &Leaf<i64>, setting: &Setting) -> Option<Placed<u64>> {
        self.number_of(leaf.as_ref()?, setting)
    }

    /// A whole number that is there, within its bounds.
    pub(crate) fn number_of(
        &mut self,
        leaf: &Spanned<i64>,
        setting: &Setting,
    ) -> Option<Placed<u64>> {
        let place = self.place(leaf);
        let value = u64::try_from(*leaf.get_ref()).ok();
        let placed = Placed::new(value.unwrap_or(0), place);
        if value.is_none() {
            self.push(out_of_range(setting, &placed.place));
            return None;
        }
        in_range(setting, &placed, self.findings).then_some(placed)
    }

    /// A whole number within its bounds and in its type, when it is there.
    pub(crate) fn maybe<T: TryFrom<u64>>(
        &mut self,
        leaf: &Leaf<i64>,
        setting: &Setting,
    ) -> Option<T> {
        let placed = self.number(leaf, setting)?;
        T::try_from(placed.value).ok()
    }

    /// A whole number, or its default.
    pub(crate) fn integer<T: TryFrom<u64> + Default>(
        &mut self,
        leaf: &Leaf<i64>,
        setting: &Setting,
    ) -> T {
        self.maybe(leaf, setting)
            .unwrap_or_else(|| setting.number())
    }

    /// A share in per cent, when it is there.
    pub(crate) fn share(&mut self, leaf: &Leaf<Quantity>, setting: &Setting) -> Option<u8> {
        let leaf = leaf.as_ref()?;
        let read = match leaf.get_ref() {
            Quantity::Number(_) => Err("a share needs its unit: %"),
            Quantity::Text(text) => value::share(text),
        };
        let value = self.quantity(leaf, setting, read, "write \"20%\"")?;
        let placed = Placed::new(value, self.place(leaf));
        let fits = in_range(setting, &placed, self.findings);
        u8::try_from(value).ok().filter(|_| fits)
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
        value
            .and_then(|value| T::try_from(value).ok())
            .unwrap_or_else(|| setting.number())
    }

    /// A length of time, when it is there.
    pub(crate) fn time(
        &mut self,
        leaf: &Leaf<Quantity>,
        setting: &Setting,
    ) -> Option<Placed<Duration>> {
        let leaf = leaf.as_ref()?;
        self.time_of(leaf, leaf.get_ref(), setting)
    }

    /// A length of time that is there; `at` is where it stands.
    pub(crate) fn time_of<T>(
        &mut self,
        at: &Spanned<T>,
        quantity: &Quantity,
        setting: &Setting,
    ) -> Option<Placed<Duration>> {
        let bare = matches!(
            setting.short(),
            Kind::Duration {
                bare_millis: true,
                ..
            }
        );
        let read = match quantity {
            Quantity::Number(number) if bare => value::duration_or_millis(&number.to_string()),
            Quantity::Number(_) => Err("a duration needs a unit: ms, s, m, h or d"),
            Quantity::Text(text) if bare => value::duration_or_millis(text),
            Quantity::Text(text) => value::duration(text),
        };
        let meant = match (quantity, &read) {
            (Quantity::Text(text), Err(_)) => value::in_one_unit(text),
            _ => None,
        };
        let cure = meant.map_or("write \"5s\" or \"500ms\"".to_owned(), |meant| {
            format!("write \"{meant}\"")
        });
        let value = self.quantity(at, setting, read, &cure)?;
        let placed = Placed::new(value, self.place(at));
        time_in_range(setting, &placed, self.findings).then_some(placed)
    }

    /// A length of time, or its default.
    pub(crate) fn duration(&mut self, leaf: &Leaf<Quantity>, setting: &Setting) -> Duration {
        self.time(leaf, setting)
            .map_or_else(|| setting.time(), |placed| placed.value)
    }

    fn quantity<T, V>(
        &mut self,
        at: &Spanned<T>,
        setting: &Setting,
        read: Result<V, &'static str>,
        cure: &str,
    ) -> Option<V> {
        match read {
            Ok(value) => Some(value),
            Err(why) => {
                let title = format!("`{}`: {why}", setting.key());
                let place = self.place(at);
                self.push(
                    Diagnostic::error(codes::BAD_QUANTITY, title)
                        .at(&place, "cannot be read")
                        .help(cure),
                );
                None
            }
        }
    }
}

/// Whether a number, share or size lies within the setting's bounds; a finding when not.
pub(crate) fn in_range(setting: &Setting, value: &Placed<u64>, findings: &mut Findings) -> bool {
    let fits = match setting.short() {
        Kind::Integer { min, max, .. }
        | Kind::Integers { min, max }
        | Kind::Share { min, max, .. }
        | Kind::Size { min, max, .. } => (min..=max).contains(&value.value),
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
    let fits = match setting.short() {
        Kind::Duration { min, max, .. } => (min..=max).contains(&value.value),
        _ => true,
    };
    if !fits {
        findings.push(out_of_range(setting, &value.place));
    }
    fits
}

fn out_of_range(setting: &Setting, place: &Place) -> Diagnostic {
    let (least, most) = match setting.short() {
        Kind::Duration { min, max, .. } => (value::write_duration(min), value::write_duration(max)),
        Kind::Size { min, max, .. } => (value::write_size(min), value::write_size(max)),
        Kind::Share { min, max, .. } => (format!("{min}%"), format!("{max}%")),
        Kind::Integer { min, max, .. } | Kind::Integers { min, max } => {
            (min.to_string(), max.to_string())
        }
        _ => (String::new(), String::new()),
    };
    Diagnostic::error(
        codes::OUT_OF_RANGE,
        format!("`{}` takes {least} to {most}", setting.key()),
    )
    .at(place, "out of range")
    .help(setting.sentence)
}

/// A network as a finding shows it: not what may be a secret in its place.
fn shown_network<'t>(text: &'t str, setting: &Setting) -> &'t str {
    match secrets::takes_networks(setting) && !secrets::is_like_network(text) {
        true => HIDDEN,
        false => text,
    }
}

/// Why a text cannot stand in a setting.
fn why(text: &str, setting: &Setting) -> &'static str {
    let is_host = ["aliases", "hosts"].contains(&setting.key());
    let is_edit = ["remove", "set"].contains(&setting.key());
    let is_client = setting.key() == "client_ip_header";
    match text {
        "" => "it is empty",
        _ if is_edit && value::is_token(text) => "the gateway writes this field itself",
        _ if is_client && value::is_token(text) => "no proxy writes an address there",
        _ if !is_host => "characters that are not allowed there",
        _ if text.contains("://") => "a name alone, without a scheme",
        _ if text.contains('/') => "a name alone, without a path",
        _ if text.starts_with('[') => {
            "an IPv6 address is no name; a site with `default = true` takes it"
        }
        _ if text.contains(':') => "a name alone, without a port",
        _ if text.contains('*') => "a `*` stands for the whole first label, `*.shop.example`",
        _ if !text.is_ascii() => "a name beyond ASCII is written as `xn--…`",
        _ if text.split('.').any(str::is_empty) => "there is an empty label",
        _ => "characters that are not allowed there",
    }
}
