//! The two ends of a front door: the listener towards clients, and the transport towards nodes.

use std::net::SocketAddr;

use super::{FrontDoor, PlacedNode, time};
use crate::check;
use crate::codes;
use crate::diagnostic::{Diagnostic, Findings};
use crate::files::{FileRole, NamedFile};
use crate::model::{HeadLimits, Listener, Name, NodeTls, Tls};
use crate::settings::{self as s, DOOR_ADDRESS};
use crate::value;

/// The listener, with the limits of what comes in.
pub(super) fn listener(
    door: &FrontDoor,
    name: &Name,
    findings: &mut Findings,
    files: &mut Vec<NamedFile>,
) -> Listener {
    let tls = listener_tls(door, name, findings, files);
    let read = time(&s::DOOR_READ_TIMEOUT, door.read_timeout.as_ref());
    let usual = Listener::new(name.clone(), bind(door, findings));
    Listener {
        http2: false,
        tls,
        head: HeadLimits {
            line: 8 * 1024,
            fields: 16 * 1024,
            count: 64,
            timeout: read,
        },
        body_gap: read,
        ..usual
    }
}

/// How nodes are reached; refuses clear text that would leave this machine.
pub(super) fn node_tls(
    door: &FrontDoor,
    nodes: &[PlacedNode],
    findings: &mut Findings,
    files: &mut Vec<NamedFile>,
) -> NodeTls {
    match (&door.upstream_ca, &door.insecure_skip_verify) {
        (Some(ca), None) => {
            files.push(NamedFile::new(ca, FileRole::Ca));
            NodeTls::Verified(ca.value.clone())
        }
        (None, Some(place)) => {
            findings.push(check::unverified(&door.name.value, place));
            NodeTls::Unverified
        }
        (Some(ca), Some(skip)) => {
            let title = "a CA to trust, and no verification";
            findings.push(
                Diagnostic::error(codes::TRUST_CONTRADICTS, title)
                    .at(skip, "checks nobody")
                    .at(&ca.place, "checks every node")
                    .help("keep one of the two, better this CA"),
            );
            NodeTls::Unverified
        }
        (None, None) => {
            if door.insecure_no_tls.is_none() {
                refuse_clear_nodes(nodes, findings);
            }
            NodeTls::Clear
        }
    }
}

fn listener_tls(
    door: &FrontDoor,
    name: &Name,
    findings: &mut Findings,
    files: &mut Vec<NamedFile>,
) -> Option<Tls> {
    let (given, missing) = match (&door.tls_cert, &door.tls_key) {
        (Some(chain), Some(key)) => {
            files.push(NamedFile::new(chain, FileRole::Chain));
            files.push(NamedFile::new(key, FileRole::Key));
            return Some(Tls::new(
                name.clone(),
                chain.value.clone(),
                key.value.clone(),
            ));
        }
        (None, None) => return None,
        (Some(chain), None) => (chain, "--tls-key FILE (`tls_key`), its private key"),
        (None, Some(key)) => (key, "--tls-cert FILE (`tls_cert`), its certificate chain"),
    };
    findings.push(
        Diagnostic::error(codes::HALF_TLS, "half of a TLS pair")
            .at(&given.place, "the other half is missing")
            .help(format!("add {missing}")),
    );
    None
}

fn bind(door: &FrontDoor, findings: &mut Findings) -> SocketAddr {
    let usual = || SocketAddr::from(([127, 0, 0, 1], 7650));
    let Some(listen) = &door.listen else {
        return DOOR_ADDRESS.parse().unwrap_or_else(|_| usual());
    };
    let address = match check::listen_address(&listen.value, true) {
        Ok(address) => address,
        Err(why) => {
            let title = format!(
                "`{}` is no address to listen on",
                listen.value.escape_debug()
            );
            findings.push(Diagnostic::error(codes::BAD_ADDRESS, title).at(&listen.place, why));
            return SocketAddr::from(([127, 0, 0, 1], 0));
        }
    };
    let is_clear = door.tls_cert.is_none() && door.tls_key.is_none();
    if is_clear && door.insecure_no_tls.is_none() && !value::is_loopback(address.ip()) {
        let title = format!("{address} would accept clear text from other machines");
        findings.push(
            Diagnostic::error(codes::CLEAR_LISTENER, title)
                .at(&listen.place, "not a loopback address")
                .help("give it a certificate with --tls-cert and --tls-key (`tls_cert`, `tls_key`), or say --insecure-no-tls (`insecure_no_tls = true`)"),
        );
    }
    address
}

fn refuse_clear_nodes(nodes: &[PlacedNode], findings: &mut Findings) {
    let mut away = nodes
        .iter()
        .filter(|one| !value::is_on_this_machine(&one.node.addr));
    let Some(first) = away.next() else { return };
    let title = format!(
        "clear text to node `{}` would leave this machine",
        first.node.name
    );
    let mut found = Diagnostic::error(codes::CLEAR_NODE, title)
        .at(&first.place, "neither a loopback address nor `localhost`");
    for other in away.take(4) {
        found = found.at(&other.place, "nor is this");
    }
    findings.push(found.help("encrypt with --upstream-ca FILE (`upstream_ca`), or say --insecure-no-tls (`insecure_no_tls = true`)"));
}
