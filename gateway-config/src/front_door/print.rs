//! Writes a front door as `[front_door.NAME]`: what was said, and nothing that was not.

use std::path::PathBuf;
use std::time::Duration;

use super::{FrontDoor, Process};
use crate::effective::{Writer, key, quote};
use crate::model::AccessLog;
use crate::settings::{self as s, DOOR_ADDRESS, Setting};
use crate::source::Placed;
use crate::value;

/// The file that asks for the same door.
pub(super) fn to_toml(door: &FrontDoor, process: &Process) -> String {
    let mut out = Writer::default();
    if let Some(workers) = &process.workers {
        out.line(&s::WORKERS, workers.value);
    }
    out.table(&format!("front_door.{}", key(&door.name.value)));
    let listen = door
        .listen
        .as_ref()
        .map_or(DOOR_ADDRESS, |listen| &listen.value);
    out.line(&s::DOOR_LISTEN, quote(listen));
    paths(&mut out, &[(&s::DOOR_CLUSTER, &door.cluster)]);
    flags(&mut out, door);
    times(&mut out, door);
    numbers(&mut out, door);
    paths(
        &mut out,
        &[
            (&s::DOOR_TLS_CERT, &door.tls_cert),
            (&s::DOOR_TLS_KEY, &door.tls_key),
            (&s::DOOR_UPSTREAM_CA, &door.upstream_ca),
        ],
    );
    if !door.upstreams.is_empty() {
        out.table(&format!("front_door.{}.upstreams", key(&door.name.value)));
        for one in &door.upstreams {
            out.pair(&key(&one.name.value), quote(&one.addr.value));
        }
    }
    if let Some(log) = process
        .access_log
        .as_ref()
        .map(|log| &log.value)
        .filter(|log| **log != AccessLog::Stdout)
    {
        out.access_log(log);
    }
    out.into_text()
}

fn flags(out: &mut Writer, door: &FrontDoor) {
    let all = [
        (&s::DOOR_NO_DDL, &door.no_ddl),
        (&s::DOOR_ALLOW_OPS, &door.allow_ops),
        (&s::DOOR_INSECURE_SKIP_VERIFY, &door.insecure_skip_verify),
        (&s::DOOR_INSECURE_NO_TLS, &door.insecure_no_tls),
        (&s::DOOR_TRUST_FORWARDED_FOR, &door.trust_forwarded_for),
    ];
    for (setting, flag) in all {
        if flag.is_some() {
            out.line(setting, true);
        }
    }
}

fn times(out: &mut Writer, door: &FrontDoor) {
    let all: [(&Setting, &Option<Placed<Duration>>); 6] = [
        (&s::DOOR_QUERY_TIMEOUT, &door.query_timeout),
        (&s::DOOR_QUEUE_WAIT, &door.queue_wait),
        (&s::DOOR_CONNECT_TIMEOUT, &door.connect_timeout),
        (&s::DOOR_HEALTH_INTERVAL, &door.health_interval),
        (&s::DOOR_HEALTH_TIMEOUT, &door.health_timeout),
        (&s::DOOR_READ_TIMEOUT, &door.read_timeout),
    ];
    for (setting, time) in all {
        if let Some(time) = time {
            out.line(setting, quote(&value::write_duration(time.value)));
        }
    }
}

fn numbers(out: &mut Writer, door: &FrontDoor) {
    let all = [
        (&s::DOOR_MAX_RETRIES, &door.max_retries),
        (&s::DOOR_IN_FLIGHT, &door.in_flight),
        (&s::DOOR_HEALTH_FAIL, &door.health_fail),
        (&s::DOOR_HEALTH_PASS, &door.health_pass),
    ];
    for (setting, number) in all {
        if let Some(number) = number {
            out.line(setting, number.value);
        }
    }
}

fn paths(out: &mut Writer, all: &[(&Setting, &Option<Placed<PathBuf>>)]) {
    for (setting, path) in all {
        if let Some(path) = path {
            out.line(setting, quote(&path.value.to_string_lossy()));
        }
    }
}
