//! Writes listeners and TLS profiles.

use super::writer::{Writer, inline, key, quote, word_list};
use crate::model::{Listener, Protocols, Tls};
use crate::settings::{self as s, Setting};

/// One listener.
pub(super) fn listener(out: &mut Writer, one: &Listener) {
    let name = format!("listeners.{}", key(&one.name));
    out.table(&name);
    let addresses: Vec<String> = one.addresses().map(|address| address.to_string()).collect();
    match addresses.as_slice() {
        [address] => out.text(&s::LISTENER_BIND, address),
        all => {
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            out.words(&s::LISTENER_BIND, &all);
        }
    }
    match &one.tls {
        Some(tls) => {
            out.text(&s::LISTENER_TLS, &tls.name);
            out.line(&s::LISTENER_STRICT_SNI, one.strict_sni);
            let offered = Protocols {
                http1: one.http1,
                http2: one.http2,
            };
            alpn(out, &s::LISTENER_ALPN, offered);
        }
        None => {
            out.line(&s::LISTENER_H2C, one.h2c);
            let redirect = if one.redirect_to_https {
                "https"
            } else {
                "none"
            };
            out.text(&s::LISTENER_REDIRECT, redirect);
        }
    }
    trust(out, one);
    bounds(out, one);
    out.table(&format!("{name}.head"));
    out.size(&s::HEAD_LINE, u64::from(one.head.line));
    out.size(&s::HEAD_FIELDS, u64::from(one.head.fields));
    out.line(&s::HEAD_COUNT, one.head.count);
    out.time(&s::HEAD_TIMEOUT, one.head.timeout);
    out.table(&format!("{name}.http2"));
    out.line(&s::HTTP2_STREAMS, one.http2_limits.streams);
    out.line(&s::HTTP2_RESETS, one.http2_limits.resets);
    out.line(&s::HTTP2_PINGS, one.http2_limits.pings);
    out.line(&s::HTTP2_SETTINGS, one.http2_limits.settings);
    out.line(&s::HTTP2_EMPTY_DATA, one.http2_limits.empty_data);
}

/// Whose word is taken, and how much is taken at once.
fn trust(out: &mut Writer, one: &Listener) {
    if !one.trusted_proxies.is_empty() {
        out.networks(&s::LISTENER_TRUSTED, &one.trusted_proxies);
    }
    if let Some(field) = &one.client_ip_header {
        out.text(&s::LISTENER_CLIENT_IP, field);
    }
    if let Some(networks) = &one.proxy_protocol_from {
        out.networks(&s::LISTENER_PROXY_FROM, networks);
    }
    if let Some(bound) = &one.in_flight {
        let pairs = [
            (s::LISTENER_IN_FLIGHT_MAX.key(), bound.max.to_string()),
            (
                s::LISTENER_IN_FLIGHT_FULL.key(),
                bound.when_full.to_string(),
            ),
        ];
        out.line(&s::LISTENER_IN_FLIGHT, inline(&pairs));
    }
}

fn bounds(out: &mut Writer, one: &Listener) {
    out.time(&s::LISTENER_IDLE, one.idle);
    out.time(&s::LISTENER_BODY_GAP, one.body_gap);
    out.time(&s::LISTENER_HANDSHAKE, one.handshake);
    out.time(&s::LISTENER_WRITE_GAP, one.write_gap);
    out.time(&s::LISTENER_TUNNEL_IDLE, one.tunnel_idle);
    out.size(&s::LISTENER_MIN_RATE, u64::from(one.min_rate));
    out.line(&s::LISTENER_REUSE_PORT, one.reuse_port);
    out.line(&s::LISTENER_V6ONLY, one.v6only);
    out.line(&s::LISTENER_BACKLOG, one.backlog);
}

/// One TLS profile.
pub(super) fn profile(out: &mut Writer, one: &Tls) {
    out.table(&format!("tls.{}", key(&one.name)));
    out.path(&s::TLS_CHAIN, &one.chain);
    out.path(&s::TLS_KEY, &one.key);
    if !one.also.is_empty() {
        let pair = |also: &crate::model::PairFiles| {
            let pairs = [
                (
                    s::TLS_ALSO_CHAIN.key(),
                    quote(&also.chain.to_string_lossy()),
                ),
                (s::TLS_ALSO_KEY.key(), quote(&also.key.to_string_lossy())),
            ];
            format!("  {},\n", inline(&pairs))
        };
        let all: String = one.also.iter().map(pair).collect();
        out.line(&s::TLS_ALSO, format!("[\n{all}]"));
    }
    out.text(&s::TLS_MIN, if one.tls12 { "1.2" } else { "1.3" });
    out.text(&s::TLS_MAX, if one.tls13 { "1.3" } else { "1.2" });
    let suites = one
        .suites
        .as_deref()
        .unwrap_or_else(|| s::TLS_SUITES.words());
    out.line(&s::TLS_SUITES, word_list(suites));
    if let Some(offered) = one.alpn {
        alpn(out, &s::TLS_ALPN, offered);
    }
    out.line(&s::TLS_RESUMPTION, one.resumption);
}

fn alpn(out: &mut Writer, setting: &Setting, offered: Protocols) {
    let mut words = Vec::new();
    words.extend(offered.http2.then_some("h2"));
    words.extend(offered.http1.then_some("http/1.1"));
    out.words(setting, &words);
}
