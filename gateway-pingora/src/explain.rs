//! What this data plane would do with a request, for whoever asks and sends none.
//!
//! Decides nothing: every answer is asked of the gate, a step or the table that decides when a
//! request is there. Which route takes it is said by
//! [`Site::explain`](gateway_config::model::Site::explain).

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use gateway_config::model::{HeadLimits, Listener, Name, Pool, Route, Site, Tls};
use gateway_config::read_certificates;
use gateway_config::target::Unrouted;
use gateway_core::failure::{Asked, Failure, RetryAfter};
use gateway_core::retry::{Elsewhere, Next, Tries, Try};
use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, STRICT_TRANSPORT_SECURITY, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, Method};

use crate::access;
use crate::covered::Covered;
use crate::fields::{asked_to_upgrade, carried, takes_trailers};
use crate::gate::head::judge;
use crate::gate::scan::Scan;
use crate::ids::REQUEST_ID;
use crate::origin::Origin;
use crate::step::{body, route, send};
use crate::stream::HeadRefusal;

/// An answer of the gateway's own that is a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its status.
    pub status: u16,
    /// Its sentence.
    pub sentence: String,
}

/// When a request is tried on another node, where one is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Further tries, at most.
    pub more: u32,
    /// Where nothing was sent.
    pub unsent: bool,
    /// Where it was sent and no answer came.
    pub unanswered: bool,
    /// Where the node said that it is busy, and when to come back.
    pub busy: bool,
}

/// What becomes of fields; names only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Fields set, whether or not they were there.
    pub set: Vec<String>,
    /// Fields that were there and do not cross.
    pub removed: Vec<String>,
}

/// Why a request head never gets as far as a site, if it does not.
///
/// `fields` are all of them, `Host` too.
#[must_use]
pub fn refused(
    method: &str,
    target: &str,
    fields: &[(String, String)],
    limits: &HeadLimits,
) -> Option<Refusal> {
    let lines: String = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let head = format!("{method} {target} HTTP/1.1\r\n{lines}\r\n").into_bytes();
    let passed = || -> Result<(), HeadRefusal> {
        let found = Scan::default().find(&head, limits)?;
        let whole = found.and_then(|found| head.get(found)).unwrap_or_default();
        judge(whole, usize::from(limits.count)).map_err(HeadRefusal::Head)?;
        Ok(())
    };
    passed().err()?.failure().map(|failure| of(&failure))
}

/// Whether a host may be asked for over a connection that shows a certificate of this profile, as they
/// are in their files now; `None`: none can be read.
#[must_use]
pub fn is_covered(tls: &Tls, host: &str) -> Option<bool> {
    let covers = |chain: &Path| {
        let chain = read_certificates(chain).ok()?;
        chain.first().map(|first| Covered::of(first).has(host))
    };
    let all = tls.certificates();
    all.filter_map(|one| covers(&one.chain))
        .reduce(|a, b| a || b)
}

/// What the gateway answers to a method, whatever the path, if that is so at this site.
#[must_use]
pub fn by_method(site: &Site, method: &str, target: &str) -> Option<Refusal> {
    match route::method(site, method, target.as_bytes()) {
        Some(Err(failure)) => Some(of(&failure)),
        Some(Ok(status)) => Some(Refusal {
            status: status.as_u16(),
            sentence: "the methods that are served here".to_owned(),
        }),
        None => None,
    }
}

/// What the client of a request is told that no route takes.
#[must_use]
pub fn unrouted(unrouted: &Unrouted<'_>) -> Refusal {
    of(&route::failure(unrouted))
}

/// What the client of a request is told that announces a longer body than its route takes.
#[must_use]
pub fn too_long(route: &Route, fields: &[(String, String)]) -> Option<Refusal> {
    let fits = body::fits(route.body, &map(fields));
    fits.err().map(|failure| of(&failure))
}

/// Where a request of this peer comes from, and whether over HTTPS; the peer is what stands before us.
#[must_use]
pub fn origin(listener: &Listener, peer: IpAddr, fields: &[(String, String)]) -> (IpAddr, bool) {
    let origin = Origin::of(listener, peer, &map(fields));
    (origin.client, origin.is_https)
}

/// When a request by this route is tried on another node of its pool.
#[must_use]
pub fn retries(route: &Route, pool: &Pool, method: &str) -> Retries {
    let method = Method::from_bytes(method.as_bytes());
    let is_safe = method.is_ok_and(|method| method.is_safe());
    let tries = Tries::new(route, is_safe, pool);
    let goes_on = |how: Try| {
        let mut tries = tries.clone();
        tries.judge(how, Elsewhere::Free) == Next::Another
    };
    let asked = Asked {
        node: Name::from(""),
        addr: Arc::from(""),
    };
    Retries {
        more: tries.retries(),
        unsent: goes_on(Try::Unsent),
        unanswered: goes_on(Try::Unanswered(asked)),
        busy: RetryAfter::from_node(b"1").is_some_and(|after| goes_on(Try::Busy(after))),
    }
}

/// What a node of the pool sees of a client's fields, by a route of a site.
#[must_use]
pub fn sent(site: &Site, route: &Route, pool: &Pool, fields: &[(String, String)]) -> Fields {
    let there = map(fields);
    let listed = site.request_fields.as_deref().map(names);
    let edits = &site.request_edits;
    let is_taken_out = |name: &HeaderName| edits.remove.iter().any(|one| **one == *name.as_str());
    let travels: Vec<&HeaderName> = carried(&there, listed.as_deref())
        .map(|(name, _)| name)
        .filter(|name| !send::is_ours(name) && !is_taken_out(name))
        .collect();
    // The frame of the body is set anew, and so is what opens a tunnel.
    let opens = route.upgrade && asked_to_upgrade(&there).is_some();
    let hears_of_trailers = pool.http2 && takes_trailers(&there);
    let is_renewed = |name: &HeaderName| {
        [CONTENT_LENGTH, TRANSFER_ENCODING].contains(name)
            || send::SET.contains(name)
            || opens && [CONNECTION, UPGRADE].contains(name)
            || hears_of_trailers && *name == TE
    };
    let gone = there
        .keys()
        .filter(|name| !travels.contains(name) && !is_renewed(name));
    let mut removed: Vec<String> = gone.map(ToString::to_string).collect();
    removed.sort();
    let more = send::SET_WHERE_ALL_TRAVEL.iter();
    let more = more.filter(|_| site.request_fields.is_none());
    let set = send::SET.iter().chain(more).map(HeaderName::as_str);
    Fields {
        set: set
            .chain(edits.set.iter().map(|(name, _)| &**name))
            .map(str::to_owned)
            .collect(),
        removed,
    }
}

/// What a client sees of a node's answer, besides the fields that the node sent.
#[must_use]
pub fn answered(site: &Site, is_https: bool) -> Fields {
    let hsts = site.hsts.filter(|_| is_https);
    let edits = &site.response_edits;
    let ours = REQUEST_ID;
    let hsts = hsts.map(|_| STRICT_TRANSPORT_SECURITY);
    let set = std::iter::once(ours.as_str())
        .chain(hsts.as_ref().map(HeaderName::as_str))
        .chain(edits.set.iter().map(|(name, _)| &**name));
    Fields {
        set: set.map(str::to_owned).collect(),
        removed: edits.remove.iter().map(|name| name.to_string()).collect(),
    }
}

fn map(fields: &[(String, String)]) -> HeaderMap {
    let mut there = HeaderMap::new();
    for (name, value) in fields {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            there.append(name, value);
        }
    }
    there
}

fn of(failure: &Failure) -> Refusal {
    let answer = failure.answer();
    Refusal {
        status: answer.status,
        sentence: answer.sentence,
    }
}

fn names(all: &[Arc<str>]) -> Vec<HeaderName> {
    let all = all
        .iter()
        .map(|name| HeaderName::from_bytes(name.as_bytes()));
    all.filter_map(Result::ok).collect()
}

/// Whether the values of a query key are never written, where these are named.
#[must_use]
pub fn is_redacted(key: &[u8], redact: &[Arc<str>]) -> bool {
    access::is_named(key, redact)
}

#[cfg(test)]
mod tests {
    use gateway_config::model::{Node, Pattern};

    use super::*;

    fn fields(all: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        all.iter().map(owned).collect()
    }

    fn limits() -> HeadLimits {
        let addr = ([127, 0, 0, 1], 80).into();
        gateway_config::model::Listener::new("l".into(), addr).head
    }

    fn route() -> Route {
        Route::new("r".into(), Pattern::Prefix("/".into()), "p".into())
    }

    fn status(method: &str, target: &str, fields: &[(String, String)]) -> Option<u16> {
        refused(method, target, fields, &limits()).map(|refusal| refusal.status)
    }

    #[test]
    fn the_gate_says_what_it_would_say() {
        let host = fields(&[("Host", "shop.example")]);
        assert_eq!(refused("GET", "/a?b=1", &host, &limits()), None);
        assert_eq!(status("GET", "/a b", &host), Some(400));
        assert_eq!(status("GET", "/", &[]), Some(400));
        assert_eq!(status("GET", "/", &fields(&[("Host", "a@b")])), Some(400));
        assert_eq!(
            status("GET", &format!("/{}", "x".repeat(99_999)), &host),
            Some(414)
        );
        let coded = fields(&[("Host", "a"), ("Transfer-Encoding", "gzip")]);
        assert_eq!(status("POST", "/", &coded), Some(501));
    }

    #[test]
    fn what_a_connection_keeps_does_not_cross() {
        let site = Site::new("s".into(), "l".into());
        let pool = Pool::new("p".into(), Vec::new());
        let given = fields(&[
            ("Host", "a"),
            ("X-A", "1"),
            ("X-B", "1"),
            ("Connection", "x-b"),
            ("Upgrade", "websocket"),
            ("Content-Length", "3"),
            ("X-Forwarded-For", "9.9.9.9"),
        ]);
        let told = sent(&site, &route(), &pool, &given);
        assert_eq!(told.removed, ["connection", "upgrade", "x-b"]);
        assert!(told.set.contains(&"x-forwarded-for".to_owned()), "{told:?}");
        let mut tunnel = route();
        tunnel.upgrade = true;
        assert_eq!(
            sent(&site, &tunnel, &pool, &given).removed,
            ["connection", "upgrade", "x-b"]
        );
        let asked = [given, fields(&[("Connection", "upgrade")])].concat();
        assert_eq!(sent(&site, &tunnel, &pool, &asked).removed, ["x-b"]);
    }

    #[test]
    fn only_what_is_repeatable_is_sent_twice() {
        let node = Node::new("a".into(), "127.0.0.1:1".into());
        let mut pool = Pool::new("p".into(), vec![node]);
        pool.retry_busy = true;
        let mut route = route();
        let told = retries(&route, &pool, "GET");
        assert!(told.unsent && !told.unanswered && !told.busy);
        pool.retry_on.repeatable = true;
        assert!(retries(&route, &pool, "GET").unanswered);
        assert!(!retries(&route, &pool, "POST").unanswered);
        pool.retry_on.repeatable = false;
        route.repeatable = true;
        let told = retries(&route, &pool, "GET");
        assert!(told.unsent && told.unanswered && told.busy);
        pool.retries = 0;
        assert!(!retries(&route, &pool, "GET").unsent);
    }
}
