//! Checks TLS profiles: certificates, versions, suites and what is offered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toml::Spanned;

use super::Context;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::files::FileRole;
use crate::model::{PairFiles, Protocols, Tls};
use crate::raw::{self, Leaf, List};
use crate::settings::{self as s, Setting};

/// The profiles of a configuration, and which of them somebody names.
#[derive(Debug, Default)]
pub(crate) struct Profiles {
    all: BTreeMap<String, Arc<Tls>>,
    used: BTreeSet<String>,
}

impl Profiles {
    /// A profile by its name, which is used from here on.
    pub(super) fn take(&mut self, name: &str) -> Option<Arc<Tls>> {
        self.used.insert(name.to_owned());
        self.all.get(name).cloned()
    }

    /// Whether somebody names it.
    pub(super) fn is_used(&self, name: &str) -> bool {
        self.used.contains(name)
    }
}

/// The profiles of a configuration.
pub(super) fn profiles(cx: &mut Context<'_>, file: &raw::File) -> Profiles {
    let mut profiles = Profiles::default();
    for (key, raw) in &file.tls {
        let table = format!("TLS profile `{}`", key.get_ref());
        let chain = pem(
            cx,
            (&table, key),
            &raw.chain,
            FileRole::Chain,
            &s::TLS_CHAIN,
        );
        let private = pem(cx, (&table, key), &raw.key, FileRole::Key, &s::TLS_KEY);
        let mut profile = Tls::new(key.get_ref().as_str().into(), chain, private);
        also(cx, &table, raw, &mut profile);
        let newest_first = |word: &str| word == "1.3";
        let min = cx.word(&raw.min, &s::TLS_MIN);
        let max = cx.word(&raw.max, &s::TLS_MAX);
        profile.tls12 = !newest_first(min);
        profile.tls13 = newest_first(max);
        if let (Some(min), Some(max)) = (&raw.min, &raw.max)
            && !profile.tls12
            && !profile.tls13
        {
            let (min, max) = (cx.place(min), cx.place(max));
            let title = format!("{table} speaks no version of TLS");
            cx.push(
                Diagnostic::error(codes::NO_VERSION, title)
                    .at(&min, "nothing older than this …")
                    .at(&max, "… and nothing newer than this"),
            );
        }
        profile.suites = suites(cx, raw);
        speaks_something(cx, &table, raw, &profile);
        profile.alpn = protocols(cx, &raw.alpn, &s::TLS_ALPN);
        profile.resumption = cx.flag(&raw.resumption, &s::TLS_RESUMPTION);
        profiles
            .all
            .insert(key.get_ref().clone(), Arc::new(profile));
    }
    profiles
}

/// Adds the further certificates. A pair that a profile has already would never be shown.
fn also(cx: &mut Context<'_>, table: &str, raw: &raw::Tls, profile: &mut Tls) {
    for one in raw.also.iter().flatten() {
        let (at, files) = ((table, one), one.get_ref());
        let certificate = PairFiles {
            chain: pem(cx, at, &files.chain, FileRole::Chain, &s::TLS_ALSO_CHAIN),
            key: pem(cx, at, &files.key, FileRole::Key, &s::TLS_ALSO_KEY),
        };
        let is_named = [&certificate.chain, &certificate.key]
            .iter()
            .all(|path| !path.as_os_str().is_empty());
        if is_named && profile.certificates().any(|known| known == certificate) {
            let title = format!("{table} has a certificate twice");
            cx.refuse(
                codes::DEFINED_TWICE,
                title,
                one,
                "its files are named above",
            );
        }
        profile.also.push(certificate);
    }
}

/// The protocols of a list; `None` when it is not there.
pub(super) fn protocols(cx: &mut Context<'_>, list: &List, setting: &Setting) -> Option<Protocols> {
    let words = cx.words(list, setting)?;
    Some(Protocols {
        http1: words.contains(&"http/1.1"),
        http2: words.contains(&"h2"),
    })
}

/// The suites listed; all there are is as good as no list.
fn suites(cx: &mut Context<'_>, raw: &raw::Tls) -> Option<Vec<&'static str>> {
    let mut suites = cx.words(&raw.suites, &s::TLS_SUITES)?;
    suites.sort_unstable();
    (suites.len() < s::TLS_SUITES.words().len()).then_some(suites)
}

/// Refuses suites of which none is of a version that is spoken. Those of TLS 1.3 name no key exchange.
fn speaks_something(cx: &mut Context<'_>, table: &str, raw: &raw::Tls, profile: &Tls) {
    let is_spoken = |suite: &&str| match suite.contains("_WITH_") {
        true => profile.tls12,
        false => profile.tls13,
    };
    // Of a word that is none, and of an empty list, nothing is known but that it is wrong.
    let is_suite = |one: &Spanned<String>| s::TLS_SUITES.words().contains(&one.get_ref().as_str());
    let is_sound = |list: &&Spanned<Vec<_>>| {
        let list = list.get_ref();
        (profile.tls12 || profile.tls13) && !list.is_empty() && list.iter().all(is_suite)
    };
    let Some(leaf) = raw.suites.as_ref().filter(is_sound) else {
        return;
    };
    let mut suites = profile.suites.iter().flatten();
    if profile.suites.is_some() && !suites.any(is_spoken) {
        let place = cx.place(leaf);
        let title = format!("{table} has no suite of a version that it speaks");
        cx.push(
            Diagnostic::error(codes::NO_VERSION, title)
                .at(&place, "all of the other version")
                .help("suites of TLS 1.3 have no `_WITH_` in their names, those of TLS 1.2 have"),
        );
    }
}

fn pem<T>(
    cx: &mut Context<'_>,
    (table, at): (&str, &Spanned<T>),
    leaf: &Leaf<String>,
    role: FileRole,
    setting: &Setting,
) -> std::path::PathBuf {
    match leaf {
        Some(leaf) => cx.file(leaf, role),
        None => {
            cx.missing(table, at, setting);
            std::path::PathBuf::new()
        }
    }
}
