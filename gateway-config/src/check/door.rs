//! Reads `[front_door.NAME]` into the options of the preset, as the command line does with flags.

use toml::Spanned;

use super::Context;
use crate::front_door::{FrontDoor, Upstream};
use crate::raw::{self, Leaf};
use crate::settings as s;
use crate::source::{Place, Placed};

/// The options of one front door, with their places.
pub(super) fn read(
    cx: &mut Context<'_>,
    name: &Spanned<String>,
    raw: &raw::FrontDoor,
) -> FrontDoor {
    let name = Placed::new(name.get_ref().clone(), cx.place(name));
    let mut door = FrontDoor::new(name);
    door.listen = text(cx, &raw.listen);
    door.cluster = path(cx, &raw.cluster);
    door.upstreams = upstreams(cx, raw);
    door.no_ddl = flag(cx, &raw.no_ddl);
    door.allow_ops = flag(cx, &raw.allow_ops);
    door.query_timeout = cx.time(&raw.query_timeout, &s::DOOR_QUERY_TIMEOUT);
    door.max_retries = cx.number(&raw.max_retries, &s::DOOR_MAX_RETRIES);
    door.in_flight = cx.number(&raw.in_flight, &s::DOOR_IN_FLIGHT);
    door.queue_wait = cx.time(&raw.queue_wait, &s::DOOR_QUEUE_WAIT);
    door.connect_timeout = cx.time(&raw.connect_timeout, &s::DOOR_CONNECT_TIMEOUT);
    door.health_interval = cx.time(&raw.health_interval, &s::DOOR_HEALTH_INTERVAL);
    door.health_timeout = cx.time(&raw.health_timeout, &s::DOOR_HEALTH_TIMEOUT);
    door.health_fail = cx.number(&raw.health_fail, &s::DOOR_HEALTH_FAIL);
    door.health_pass = cx.number(&raw.health_pass, &s::DOOR_HEALTH_PASS);
    door.tls_cert = path(cx, &raw.tls_cert);
    door.tls_key = path(cx, &raw.tls_key);
    door.upstream_ca = path(cx, &raw.upstream_ca);
    door.insecure_skip_verify = flag(cx, &raw.insecure_skip_verify);
    door.insecure_no_tls = flag(cx, &raw.insecure_no_tls);
    door.trust_forwarded_for = flag(cx, &raw.trust_forwarded_for);
    door.read_timeout = cx.time(&raw.read_timeout, &s::DOOR_READ_TIMEOUT);
    door
}

fn text(cx: &Context<'_>, leaf: &Leaf<String>) -> Option<Placed<String>> {
    let leaf = leaf.as_ref()?;
    Some(Placed::new(leaf.get_ref().clone(), cx.place(leaf)))
}

fn path(cx: &mut Context<'_>, leaf: &Leaf<String>) -> Option<Placed<std::path::PathBuf>> {
    let leaf = leaf.as_ref()?;
    let path = cx.path(leaf);
    Some(Placed::new(path, cx.place(leaf)))
}

/// The place of a flag that is set; `false` is the same as absent.
fn flag(cx: &Context<'_>, leaf: &Leaf<bool>) -> Option<Place> {
    leaf.as_ref()
        .filter(|leaf| *leaf.get_ref())
        .map(|leaf| cx.place(leaf))
}

/// The nodes in the order in which they are written, which decides who is asked first.
fn upstreams(cx: &Context<'_>, raw: &raw::FrontDoor) -> Vec<Upstream> {
    let mut all: Vec<_> = raw.upstreams.iter().collect();
    all.sort_by_key(|(key, _)| key.span().start);
    all.into_iter()
        .map(|(key, addr)| Upstream {
            name: Placed::new(key.get_ref().clone(), cx.place(key)),
            addr: Placed::new(
                addr.get_ref().clone(),
                cx.inside(addr, 0..addr.get_ref().len()),
            ),
        })
        .collect()
}
