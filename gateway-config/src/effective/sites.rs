//! Writes sites.

use super::routes;
use super::writer::{Writer, inline, key, quote, word_list};
use crate::model::{Edits, FailureStyle, ForwardedFor, HostSent, Name, Rate, Segments, Site, Www};
use crate::settings::{self as s, Setting};
use crate::value;

/// One site, with its routes.
pub(super) fn site(out: &mut Writer, one: &Site) {
    let name = format!("sites.{}", key(&one.name));
    out.table(&name);
    let listeners: Vec<&str> = one.listeners().map(|name: &Name| &**name).collect();
    match listeners.as_slice() {
        [listener] => out.text(&s::SITE_LISTENER, listener),
        all => out.words(&s::SITE_LISTENER, all),
    }
    names(out, one);
    if let Some(tls) = &one.tls {
        out.text(&s::SITE_TLS, &tls.name);
    }
    if let Some(networks) = &one.allow_from {
        out.networks(&s::SITE_ALLOW_FROM, networks);
    }
    let segments = match one.segments {
        Segments::Decoded => "decoded",
        Segments::Normalised => "normalised",
    };
    out.text(&s::SITE_SEGMENTS, segments);
    out.line(&s::SITE_MERGE_SLASHES, one.merge_slashes);
    crossing(out, one);
    if let Some(compression) = &one.compression {
        let min_size = quote(&value::write_size(compression.min_size));
        let pairs = [
            (
                s::COMPRESSION_CODINGS.key(),
                word_list(&compression.codings),
            ),
            (s::COMPRESSION_MIN.key(), min_size),
        ];
        out.line(&s::SITE_COMPRESSION, inline(&pairs));
    }
    rate(out, &s::SITE_RATE, one.rate);
    edits(
        out,
        &name,
        (&s::SITE_REQUEST_EDITS, &s::REQUEST_SET, &s::REQUEST_REMOVE),
        &one.request_edits,
    );
    edits(
        out,
        &name,
        (
            &s::SITE_RESPONSE_EDITS,
            &s::RESPONSE_SET,
            &s::RESPONSE_REMOVE,
        ),
        &one.response_edits,
    );
    for each in &one.routes {
        routes::route(out, &name, each);
    }
}

/// The primary name comes first, which is what makes it so.
fn names(out: &mut Writer, one: &Site) {
    let mut hosts = one.hosts.clone();
    if let Some(primary) = &one.primary {
        hosts.retain(|host| host != primary);
        hosts.insert(0, primary.clone());
    }
    out.texts(&s::SITE_HOSTS, &hosts);
    if !one.hosts.is_empty() {
        out.line(&s::SITE_DEFAULT, one.is_default);
    }
    out.texts(&s::SITE_ALIASES, &one.aliases);
    let www = match one.www {
        Www::Add => "add",
        Www::Keep => "keep",
        Www::Remove => "remove",
    };
    out.text(&s::SITE_WWW, www);
    out.line(&s::SITE_HTTPS, one.https);
    if let Some(hsts) = &one.hsts {
        let pairs = [
            (
                s::HSTS_MAX_AGE.key(),
                quote(&value::write_duration(hsts.max_age)),
            ),
            (s::HSTS_SUBDOMAINS.key(), hsts.subdomains.to_string()),
            (s::HSTS_PRELOAD.key(), hsts.preload.to_string()),
        ];
        out.line(&s::SITE_HSTS, inline(&pairs));
    }
}

fn crossing(out: &mut Writer, one: &Site) {
    let failures = match one.failures {
        FailureStyle::Json => "json",
        FailureStyle::Text => "text",
    };
    out.text(&s::SITE_FAILURES, failures);
    if !one.error_pages.is_empty() {
        let pages = one.error_pages.iter();
        let pages: Vec<(String, _)> = pages
            .map(|page| (page.status.to_string(), page.file.to_string_lossy()))
            .collect();
        let pairs = pages
            .iter()
            .map(|(status, file)| (status.as_str(), Some(&**file)));
        out.line(
            &s::SITE_ERROR_PAGES,
            out.by_name(&s::SITE_ERROR_PAGES, pairs),
        );
    }
    if let Some(pool) = &one.endpoints {
        out.text(&s::SITE_ENDPOINTS, pool);
    }
    let forwarded_for = match one.forwarded_for {
        ForwardedFor::Append => "append",
        ForwardedFor::Replace => "replace",
    };
    out.text(&s::SITE_FORWARDED_FOR, forwarded_for);
    let fields = [
        (&s::SITE_REQUEST_FIELDS, &one.request_fields),
        (&s::SITE_RESPONSE_FIELDS, &one.response_fields),
    ];
    for (setting, fields) in fields {
        if let Some(fields) = fields {
            let fields: Vec<&str> = fields.iter().map(|field| &**field).collect();
            out.words(setting, &fields);
        }
    }
    let host = match one.host {
        HostSent::Client => "client",
        HostSent::Node => "node",
    };
    out.text(&s::SITE_HOST, host);
}

/// A bound on the requests of a client.
pub(super) fn rate(out: &mut Writer, setting: &Setting, rate: Option<Rate>) {
    if let Some(rate) = rate {
        let pairs = [
            (s::SITE_RATE_REQUESTS.key(), rate.requests.to_string()),
            (
                s::SITE_RATE_PER.key(),
                quote(&value::write_duration(rate.per)),
            ),
            (s::SITE_RATE_BURST.key(), rate.burst.to_string()),
        ];
        out.line(setting, inline(&pairs));
    }
}

fn edits(
    out: &mut Writer,
    site: &str,
    (table, set, remove): (&Setting, &Setting, &Setting),
    edits: &Edits,
) {
    if edits.is_empty() {
        return;
    }
    out.table(&format!("{site}.{}", table.key()));
    out.texts(remove, &edits.remove);
    if !edits.set.is_empty() {
        let pairs = edits.set.iter();
        let pairs = pairs.map(|(name, value)| (&**name, Some(&**value)));
        out.line(set, out.by_name(set, pairs));
    }
}
