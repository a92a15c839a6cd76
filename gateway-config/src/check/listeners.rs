//! Checks listeners: where they listen, what they offer and whom they believe.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};

use toml::Spanned;

use super::tls::{self, Profiles};
use super::{Context, Names, Parts, Sets};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::model::{HeadLimits, Http2Limits, InFlight, Listener, Model, Site};
use crate::raw::{self, Leaf, Short, each};
use crate::settings as s;
use crate::value;

/// Adds the listeners of a configuration.
pub(super) fn check(
    cx: &mut Context<'_>,
    file: &raw::File,
    (names, sets): (&Names, &Sets),
    profiles: &mut Profiles,
    parts: &mut Parts,
) {
    for (key, raw) in &file.listeners {
        let from = format!("listener `{}`", key.get_ref());
        let profile = cx.refer((&from, "TLS profile"), &raw.tls, &names.tls);
        let profile = profile.and_then(|name| profiles.take(&name));
        let mut addresses = addresses(cx, &from, key, raw).into_iter();
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let bind = addresses.next().unwrap_or(nowhere);
        let mut one = Listener::new(key.get_ref().as_str().into(), bind);
        one.also_bind = addresses.collect();
        one.tls = profile.map(|tls| (*tls).clone());
        offers(cx, &from, raw, &mut one);
        trust(cx, &from, raw, sets, &mut one);
        one.in_flight = in_flight(cx, &from, &raw.in_flight);
        one.head = head(cx, &raw.head);
        one.http2_limits = http2(cx, &raw.http2);
        one.idle = cx.duration(&raw.idle, &s::LISTENER_IDLE);
        one.body_gap = cx.duration(&raw.body_gap, &s::LISTENER_BODY_GAP);
        one.handshake = cx.duration(&raw.handshake, &s::LISTENER_HANDSHAKE);
        one.write_gap = cx.duration(&raw.write_gap, &s::LISTENER_WRITE_GAP);
        one.tunnel_idle = cx.duration(&raw.tunnel_idle, &s::LISTENER_TUNNEL_IDLE);
        one.min_rate = cx.size(&raw.min_rate, &s::LISTENER_MIN_RATE);
        one.reuse_port = cx.flag(&raw.reuse_port, &s::LISTENER_REUSE_PORT);
        one.v6only = cx.flag(&raw.v6only, &s::LISTENER_V6ONLY);
        one.backlog = cx.integer(&raw.backlog, &s::LISTENER_BACKLOG);
        parts.listeners.push(one);
    }
}

/// The listeners of a file that no site names and that send nobody on. Where a site names none, it
/// may be any.
pub(super) fn unused<'f>(
    file: &'f raw::File,
    model: &Model,
) -> impl Iterator<Item = &'f Spanned<String>> {
    let written: Vec<_> = file
        .sites
        .values()
        .map(|site| each(&site.listener))
        .collect();
    let is_any_empty = written.iter().any(Vec::is_empty);
    let of_file = written.iter().flatten().map(|leaf| leaf.get_ref().as_str());
    let of_model = model.sites.iter().flat_map(Site::listeners);
    let named: BTreeSet<String> = of_file
        .chain(of_model.map(|name| &**name))
        .map(str::to_owned)
        .collect();
    let all = file.listeners.iter().filter(move |(key, raw)| {
        !is_any_empty && raw.redirect.is_none() && !named.contains(key.get_ref())
    });
    all.map(|(key, _)| key)
}

fn addresses(
    cx: &mut Context<'_>,
    from: &str,
    key: &Spanned<String>,
    raw: &raw::Listener,
) -> Vec<SocketAddr> {
    let all = each(&raw.bind);
    match &raw.bind {
        None => cx.missing(from, key, &s::LISTENER_BIND),
        Some(leaf) if all.is_empty() => {
            let title = format!("{from} has no address to bind");
            cx.refuse(codes::EMPTY_LIST, title, leaf, "leave it out instead");
        }
        Some(_) => {}
    }
    let v6only = cx.flag(&raw.v6only, &s::LISTENER_V6ONLY);
    all.iter()
        .filter_map(|leaf| cx.listen(leaf, v6only))
        .collect()
}

/// Which protocols are spoken, and whether anything but a redirect is.
fn offers(cx: &mut Context<'_>, from: &str, raw: &raw::Listener, one: &mut Listener) {
    let offered = tls::protocols(cx, &raw.alpn, &s::LISTENER_ALPN);
    one.h2c = cx.flag(&raw.h2c, &s::LISTENER_H2C);
    one.redirect_to_https = cx.word(&raw.redirect, &s::LISTENER_REDIRECT) == "https";
    one.strict_sni = cx.flag(&raw.strict_sni, &s::LISTENER_STRICT_SNI);
    if raw.tls.is_none() {
        let said = raw.strict_sni.clone().filter(|leaf| *leaf.get_ref());
        cx.no_effect(&said, &s::LISTENER_STRICT_SNI, "this listener has no `tls`");
        one.strict_sni = false;
    }
    if raw.tls.is_some() {
        one.http1 = offered.is_none_or(|offered| offered.http1);
        one.http2 = offered.is_none_or(|offered| offered.http2);
        one.h2c = false;
        let said = raw.h2c.clone().filter(|leaf| *leaf.get_ref());
        cx.no_effect(&said, &s::LISTENER_H2C, "this listener has TLS; see `alpn`");
        let said = raw.redirect.clone().filter(|_| one.redirect_to_https);
        cx.no_effect(
            &said,
            &s::LISTENER_REDIRECT,
            "this listener has TLS already",
        );
    } else if let Some(leaf) = &raw.alpn {
        let place = cx.place(leaf);
        let title = format!("{from} offers protocols and has no TLS");
        cx.push(
            Diagnostic::error(codes::HTTP2_WITHOUT_TLS, title)
                .at(&place, "offered in a handshake that there is not")
                .help("for HTTP/2 without TLS write h2c = true"),
        );
    }
}

/// Whose word is taken for where a client is.
fn trust(cx: &mut Context<'_>, from: &str, raw: &raw::Listener, sets: &Sets, one: &mut Listener) {
    let trusted = cx.networks(&raw.trusted_proxies, &s::LISTENER_TRUSTED, sets);
    one.trusted_proxies = trusted.unwrap_or_default();
    one.proxy_protocol_from = cx.networks(&raw.proxy_protocol_from, &s::LISTENER_PROXY_FROM, sets);
    if let Some(leaf) = &raw.client_ip_header {
        let tells = |name: &str| value::is_token(name) && !value::is_framing(name);
        let name = cx.token(leaf, &s::LISTENER_CLIENT_IP, tells);
        one.client_ip_header = Some(name.to_ascii_lowercase().into());
        if raw.trusted_proxies.is_none() {
            let title =
                format!("{from} reads the client's address from a field that anybody can send");
            let place = cx.place(leaf);
            cx.push(
                Diagnostic::error(codes::NO_EFFECT, title)
                    .at(
                        &place,
                        "believed of trusted proxies only, and there are none",
                    )
                    .help("say who may send it: trusted_proxies = [\"192.0.2.0/28\"]"),
            );
        }
    }
}

fn in_flight(
    cx: &mut Context<'_>,
    from: &str,
    leaf: &Leaf<Short<i64, raw::InFlight>>,
) -> Option<InFlight> {
    let leaf = leaf.as_ref()?;
    let usual = s::LISTENER_IN_FLIGHT_FULL.number();
    match leaf.get_ref() {
        Short::Short(max) => {
            let max = Spanned::new(leaf.span(), *max);
            Some(InFlight {
                max: cx.maybe(&Some(max), &s::LISTENER_IN_FLIGHT)?,
                when_full: usual,
            })
        }
        Short::Long(long) => {
            if long.max.is_none() {
                cx.missing(
                    &format!("`in_flight` of {from}"),
                    leaf,
                    &s::LISTENER_IN_FLIGHT_MAX,
                );
            }
            Some(InFlight {
                max: cx.integer(&long.max, &s::LISTENER_IN_FLIGHT_MAX),
                when_full: cx.integer(&long.when_full, &s::LISTENER_IN_FLIGHT_FULL),
            })
        }
    }
}

fn head(cx: &mut Context<'_>, raw: &raw::Head) -> HeadLimits {
    HeadLimits {
        line: cx.size(&raw.line, &s::HEAD_LINE),
        fields: cx.size(&raw.fields, &s::HEAD_FIELDS),
        count: cx.integer(&raw.count, &s::HEAD_COUNT),
        timeout: cx.duration(&raw.timeout, &s::HEAD_TIMEOUT),
    }
}

fn http2(cx: &mut Context<'_>, raw: &raw::Http2) -> Http2Limits {
    Http2Limits {
        streams: cx.integer(&raw.streams, &s::HTTP2_STREAMS),
        resets: cx.integer(&raw.resets, &s::HTTP2_RESETS),
        pings: cx.integer(&raw.pings, &s::HTTP2_PINGS),
        settings: cx.integer(&raw.settings, &s::HTTP2_SETTINGS),
        empty_data: cx.integer(&raw.empty_data, &s::HTTP2_EMPTY_DATA),
    }
}
