//! The way a request would go, as a message: asked of the snapshot and of the data plane, which
//! decide the same where a request is there.
//!
//! Read downward as a request goes: listener, head, site, client, redirect, endpoint, route, node.
//! The first of them that ends the way says so, and nothing behind it is told. Called by the
//! interface for what is served, and by the command line for a file.
//!
//! Invariant: no value of a field is in the answer.

use gateway_config::canonical::{Came, WhyMoved};
use gateway_config::model::{Listener, Site};
use gateway_config::networks::Networks;
use gateway_config::{Endpoint, Found, FoundBy, Snapshot, without_logins};
use gateway_pingora::{ListenerView, PoolView, explain};

use crate::proto::config::{Connection, Moved, TraceRequest, TraceResponse, trace_response};

mod asked;
mod bounds;
mod route;

use asked::Asked;

/// What a request is traced through.
pub(crate) struct Traced<'a> {
    /// The configuration.
    pub(crate) snapshot: &'a Snapshot,
    /// The process that serves it, if one does.
    pub(crate) running: Option<Running>,
}

/// What is known of a running process.
pub(crate) struct Running {
    /// Its pools.
    pub(crate) pools: Vec<PoolView>,
    /// Its listeners, with the ports that the system picked.
    pub(crate) listeners: Vec<ListenerView>,
}

/// Why a question makes no sense. Quotes nothing of it that may be a secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Odd(pub(crate) String);

impl Traced<'_> {
    /// Which way the request goes, and why.
    ///
    /// # Errors
    /// [`Odd`], when it is no request that could be sent, or names a listener that there is not.
    pub(crate) fn answer(&self, request: &TraceRequest) -> Result<TraceResponse, Odd> {
        let mut asked = Asked::read(request)?;
        let listener = self.listener(&asked, &request.listener)?;
        // Who says where it is from says who stands before us; a proxy may speak for another.
        let trusted = &listener.trusted_proxies;
        let is_trusted = asked.client.is_some_and(|peer| trusted.contains(peer));
        if let Some(peer) = asked.client {
            let (client, is_https) = explain::origin(listener, peer, &asked.fields);
            asked.client = Some(client);
            asked.is_https |= is_https;
        }
        let mut told = TraceResponse {
            listener: listener.name.to_string(),
            authority: asked.authority.clone(),
            hash: self.snapshot.hash().to_owned(),
            connection: Some(self.connection(listener)),
            ..TraceResponse::default()
        };
        note_scheme(&asked, listener, &mut told);
        let found = self.snapshot.site(&listener.name, asked.host());
        if is_shown_nothing(listener, found.as_ref()) {
            told.outcome = NO_HANDSHAKE.to_owned();
            return Ok(told);
        }

        let limits = &listener.head;
        if let Some(refusal) = explain::refused(&asked.method, &asked.target, &asked.fields, limits)
        {
            told.ends(refusal.status, &refusal.sentence);
            return Ok(told);
        }
        let Some(Found { site, by }) = found else {
            told.ends(
                421,
                "no site of the listener has this name, and none takes others",
            );
            return Ok(told);
        };
        told.site = site.name.to_string();
        told.set_site_found_by(found_by(by));
        if let Some(connection) = &mut told.connection {
            connection.tls_profile = profile(listener, site);
        }
        if (!is_trusted && is_misdirected(&asked, listener, site, &mut told))
            || self.is_kept_out(&asked, site, &mut told)
            || is_by_method(&asked, site, &mut told)
            || self.is_moved(&asked, listener, (site, by), &mut told)
            || is_of_ours(&asked, site, &mut told)
        {
            return Ok(told);
        }
        self.route(&asked, (listener, site), &mut told);
        Ok(told)
    }

    /// The listener that was named, or the first one that fits the URL: TLS for https, and the port
    /// where one is written.
    fn listener(&self, asked: &Asked, named: &str) -> Result<&Listener, Odd> {
        let all = &self.snapshot.model().listeners;
        if !named.is_empty() {
            let found = all.iter().find(|one| *one.name == *named);
            return found.ok_or_else(|| {
                let named = without_logins(named);
                Odd(format!("there is no listener `{}`", named.escape_debug()))
            });
        }
        let fits = |one: &&Listener| one.tls.is_some() == asked.is_https;
        let is_on = |one: &&Listener, port: u16| self.ports(one).contains(&port);
        let mut fitting = all.iter().filter(fits);
        let found = match asked.port {
            Some(port) => fitting.find(|one| is_on(one, port)),
            None => {
                let usual = if asked.is_https { 443 } else { 80 };
                let exact = fitting.clone().find(|one| is_on(one, usual));
                exact.or_else(|| fitting.next())
            }
        };
        found.ok_or_else(|| {
            let spoken = if asked.is_https { "TLS" } else { "clear text" };
            let port = asked.port.map(|port| format!(" on port {port}"));
            let names: Vec<&str> = all.iter().map(|one| &*one.name).take(20).collect();
            Odd(format!(
                "no listener speaks {spoken}{}; name the one that is meant: {}",
                port.unwrap_or_default(),
                names.join(", ")
            ))
        })
    }

    fn addresses(&self, listener: &Listener) -> Vec<std::net::SocketAddr> {
        let running = self.running.iter().flat_map(|running| &running.listeners);
        let mut bound = running.filter(|one| one.name == listener.name);
        bound.next().map_or_else(
            || listener.addresses().collect(),
            |view| view.addresses.clone(),
        )
    }

    fn ports(&self, listener: &Listener) -> Vec<u16> {
        let addresses = self.addresses(listener).into_iter();
        addresses.map(|addr| addr.port()).collect()
    }

    fn connection(&self, listener: &Listener) -> Connection {
        let spoken = [
            (listener.http1, "http/1"),
            (listener.http2 || listener.h2c, "http/2"),
        ];
        let spoken = spoken.iter().filter(|(is_spoken, _)| *is_spoken);
        let proxies = listener.proxy_protocol_from.iter();
        let addresses = self.addresses(listener).into_iter();
        Connection {
            tls: listener.tls.is_some(),
            protocols: spoken.map(|(_, word)| (*word).to_owned()).collect(),
            addresses: addresses.map(|addr| addr.to_string()).collect(),
            tls_profile: String::new(),
            proxy_header_from: proxies.flat_map(Networks::written).collect(),
        }
    }

    fn is_kept_out(&self, asked: &Asked, site: &Site, told: &mut TraceResponse) -> bool {
        let Some(allowed) = &site.allow_from else {
            return false;
        };
        match asked.client {
            Some(client) if allowed.contains(client) => false,
            Some(_) => {
                told.ends(403, "the site is not for clients from there");
                true
            }
            None => {
                told.note("the site is for clients from some networks only: say where it is from");
                false
            }
        }
    }

    fn is_moved(
        &self,
        asked: &Asked,
        listener: &Listener,
        (site, by): (&Site, FoundBy),
        told: &mut TraceResponse,
    ) -> bool {
        let redact = &self.snapshot.model().logs.redact;
        let came = Came {
            authority: &asked.authority,
            is_named: by != FoundBy::Default,
            is_https: asked.is_https,
            is_sent_on: listener.redirect_to_https,
            target: asked.target.as_bytes(),
        };
        let Some(moved) = site.moved(&came, self.snapshot.model().https_port(site)) else {
            return false;
        };
        let word = |why: &WhyMoved| match why {
            WhyMoved::Alias => "alias",
            WhyMoved::Https => "https",
            WhyMoved::Www => "www",
        };
        let location = route::location(&moved.to, redact);
        told.ends(308, &format!("it is sent on to {location}"));
        told.moved = Some(Moved {
            status: 308,
            location,
            why: moved.why.iter().map(|why| word(why).to_owned()).collect(),
        });
        true
    }
}

impl TraceResponse {
    /// The gateway answers itself.
    fn ends(&mut self, status: u16, why: &str) {
        self.status = Some(status.into());
        self.outcome = format!("answered {status}: {why}");
    }

    fn note(&mut self, what: &str) {
        self.notes.push(what.to_owned());
    }
}

/// Whether a client that asks for the name in its hello comes no further.
fn is_shown_nothing(listener: &Listener, found: Option<&Found<'_>>) -> bool {
    let is_named = found.is_some_and(|found| found.by != FoundBy::Default);
    listener.tls.is_some() && listener.strict_sni && !is_named
}

const NO_HANDSHAKE: &str =
    "the TLS handshake is refused (`unrecognized_name`): no site of the listener has this name";

/// RFC 9110 §7.4: over TLS the certificate says what may be asked for. An allowlist is there for every name.
fn is_misdirected(
    asked: &Asked,
    listener: &Listener,
    site: &Site,
    told: &mut TraceResponse,
) -> bool {
    let own = listener.tls.as_ref();
    let judged = own.map(|own| site.tls.as_deref().unwrap_or(own));
    let Some(tls) = judged.filter(|_| !site.is_front_door()) else {
        return false;
    };
    let is_covered = explain::is_covered(tls, asked.host());
    match is_covered {
        Some(false) => told.ends(421, "the certificate shown does not cover this name"),
        Some(true) => {}
        None => told.note("the certificate cannot be read: whether it covers the name is not told"),
    }
    is_covered == Some(false)
}

fn is_by_method(asked: &Asked, site: &Site, told: &mut TraceResponse) -> bool {
    let answer = explain::by_method(site, &asked.method, &asked.target);
    if let Some(answer) = &answer {
        told.ends(answer.status, &answer.sentence);
    }
    answer.is_some()
}

fn is_of_ours(asked: &Asked, site: &Site, told: &mut TraceResponse) -> bool {
    let what = match site.endpoint(&asked.method, asked.target.as_bytes()) {
        Some(Endpoint::Health) => "/health, whether the process runs",
        Some(Endpoint::Metrics) => "/metrics, its counters",
        Some(Endpoint::Ready) => "/ready, which nodes are in rotation",
        None => return false,
    };
    told.outcome = format!("answered by the gateway itself: {what}");
    true
}

fn note_scheme(asked: &Asked, listener: &Listener, told: &mut TraceResponse) {
    match (asked.is_https, listener.tls.is_some()) {
        (true, false) => {
            told.note(
                "the listener speaks clear text: it is HTTPS where a proxy before it says so",
            );
        }
        (false, true) => told.note("the listener speaks TLS: in clear text nothing is answered"),
        (true, true) | (false, false) => {}
    }
}

fn found_by(by: FoundBy) -> trace_response::FoundBy {
    match by {
        FoundBy::Default => trace_response::FoundBy::Default,
        FoundBy::Exact => trace_response::FoundBy::Exact,
        FoundBy::Wildcard => trace_response::FoundBy::Wildcard,
    }
}

fn profile(listener: &Listener, site: &Site) -> String {
    let of_listener = listener.tls.as_ref();
    let shown = of_listener.map(|tls| site.tls.as_deref().unwrap_or(tls));
    shown.map_or_else(String::new, |tls| tls.name.to_string())
}

#[cfg(test)]
mod tests;
