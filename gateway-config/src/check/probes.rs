//! Checks how a pool's nodes are probed, and what probes and failures do to them.

use toml::Spanned;

use super::Context;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{Health, HttpProbe, Pool, Probe, ProbeKind};
use crate::raw::{self, each};
use crate::settings as s;
use crate::value;

/// Fills in the probe and the health rules of a pool.
pub(super) fn check(cx: &mut Context<'_>, key: &Spanned<String>, raw: &raw::Pool, pool: &mut Pool) {
    let none = raw::Probe::default();
    let probe = raw.probe.as_ref().unwrap_or(&none);
    pool.probe = timing(cx, key, probe);
    pool.probe.kind = match raw.probe {
        Some(_) => kind(cx, probe),
        None => ProbeKind::None,
    };
    let fall = cx.integer(&probe.fall, &s::PROBE_FALL);
    let rise = cx.integer(&probe.rise, &s::PROBE_RISE);
    pool.health = health(cx, key, &raw.ejection, (fall, rise));
}

fn kind(cx: &mut Context<'_>, raw: &raw::Probe) -> ProbeKind {
    let says_http =
        raw.path.is_some() || raw.method.is_some() || raw.host.is_some() || raw.expect.is_some();
    let kind = match &raw.kind {
        None if says_http => "http",
        None => cx.word(&raw.kind, &s::PROBE_KIND),
        // A word that is none may have been meant to be the one that takes them.
        Some(leaf) => cx.word_in(leaf, &s::PROBE_KIND).unwrap_or("http"),
    };
    if kind != "http" {
        let why = "only a probe of kind http asks for something";
        cx.no_effect(&raw.path, &s::PROBE_PATH, why);
        cx.no_effect(&raw.method, &s::PROBE_METHOD, why);
        cx.no_effect(&raw.host, &s::PROBE_HOST, why);
        cx.no_effect(&raw.expect, &s::PROBE_EXPECT, why);
    }
    match kind {
        "http" => ProbeKind::Http(Box::new(http(cx, raw))),
        "none" => ProbeKind::None,
        "tcp" => ProbeKind::Tcp,
        _ => ProbeKind::Ready,
    }
}

fn http(cx: &mut Context<'_>, raw: &raw::Probe) -> HttpProbe {
    let mut expect = Vec::new();
    for one in each(&raw.expect) {
        let status = cx.number_of(&one, &s::PROBE_EXPECT);
        let status = status.and_then(|placed| u16::try_from(placed.value).ok());
        if let Some(status) = status.filter(|status| expect.contains(status)) {
            let title = format!("`{status}` is listed twice");
            cx.refuse(codes::DEFINED_TWICE, title, &one, "again here");
        }
        expect.extend(status);
    }
    expect.sort_unstable();
    if let Some(leaf) = raw.expect.as_ref().filter(|_| each(&raw.expect).is_empty()) {
        let title = "`expect` is empty".to_owned();
        cx.refuse(codes::EMPTY_LIST, title, leaf, "leave it out instead");
    }
    if raw.expect.is_none() {
        expect.push(200);
    }
    HttpProbe {
        path: match &raw.path {
            Some(leaf) => cx.token(leaf, &s::PROBE_PATH, is_target),
            None => "/".into(),
        },
        method: match &raw.method {
            Some(leaf) => cx.token(leaf, &s::PROBE_METHOD, value::is_token),
            None => "GET".into(),
        },
        host: raw
            .host
            .as_ref()
            .map(|leaf| cx.token(leaf, &s::PROBE_HOST, value::is_authority)),
        expect,
    }
}

/// Whether a text is a request target in origin form.
fn is_target(text: &str) -> bool {
    text.starts_with('/')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

/// A timeout that nobody wrote is never longer than the interval.
fn timing(cx: &mut Context<'_>, key: &Spanned<String>, raw: &raw::Probe) -> Probe {
    let every = cx.time(&raw.every, &s::PROBE_EVERY);
    let timeout = cx.time(&raw.timeout, &s::PROBE_TIMEOUT);
    let interval = every
        .as_ref()
        .map_or_else(|| s::PROBE_EVERY.time(), |one| one.value);
    let may_outlive = cx.flag(&raw.may_outlive, &s::PROBE_MAY_OUTLIVE);
    let slow = timeout
        .as_ref()
        // An interval that cannot be read has been told, and is not the usual one.
        .filter(|one| {
            one.value > interval && !may_outlive && every.is_some() == raw.every.is_some()
        });
    if let Some(slow) = slow {
        let title = format!(
            "pool `{}`: a probe may not outlive its interval",
            key.get_ref()
        );
        let mut found = Diagnostic::error(codes::PROBE_OUTLIVES_INTERVAL, title)
            .at(&slow.place, "a probe may take this long …");
        if let Some(every) = &every {
            found = found.at(&every.place, "… but the next one starts after this");
        }
        let longest = value::write_duration(interval);
        cx.push(found.help(format!("a timeout of at most the interval, {longest}")));
    }
    let usual = s::PROBE_TIMEOUT.time().min(interval);
    Probe {
        kind: ProbeKind::None,
        every: interval,
        timeout: timeout.map_or(usual, |one| one.value),
        jitter: cx
            .share(&raw.jitter, &s::PROBE_JITTER)
            .unwrap_or_else(|| s::PROBE_JITTER.number()),
    }
}

fn health(
    cx: &mut Context<'_>,
    key: &Spanned<String>,
    raw: &raw::Ejection,
    (fall, rise): (u8, u8),
) -> Health {
    let min = cx.time(&raw.backoff.min, &s::BACKOFF_MIN);
    let max = cx.time(&raw.backoff.max, &s::BACKOFF_MAX);
    let usual = (s::BACKOFF_MIN.time(), s::BACKOFF_MAX.time());
    let backoff_min = min.as_ref().map_or_else(
        || max.as_ref().map_or(usual.0, |max| usual.0.min(max.value)),
        |min| min.value,
    );
    let backoff_max = max
        .as_ref()
        .map_or(usual.1.max(backoff_min), |max| max.value);
    if let (Some(min), Some(max)) = (&min, &max)
        && min.value > max.value
    {
        let title = format!(
            "pool `{}`: the shortest ejection is longer than the longest",
            key.get_ref()
        );
        cx.push(
            Diagnostic::error(codes::OUT_OF_RANGE, title)
                .at(&min.place, "the shortest …")
                .at(&max.place, "… and the longest"),
        );
    }
    Health {
        fall,
        rise,
        floor: cx.duration(&raw.floor, &s::EJECTION_FLOOR),
        keep_last: cx.flag(&raw.keep_last, &s::EJECTION_KEEP_LAST),
        count_traffic: cx.flag(&raw.count_traffic, &s::EJECTION_COUNT_TRAFFIC),
        failures: cx
            .maybe(&raw.failures, &s::EJECTION_FAILURES)
            .unwrap_or(fall),
        backoff_min,
        backoff_max,
    }
}
