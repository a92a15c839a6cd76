//! `proxied/`: what a connection may begin with where a PROXY header is required, and whom it names.

use std::time::Duration;

use gateway_tests::client::Conversation;
use gateway_tests::gateway::Door;
use gateway_tests::message::to_byte;
use gateway_tests::node::Cluster;
use gateway_tests::vector::{self, Vector, same};
use gateway_tests::wait;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Beginning {
    /// One character a byte.
    header: String,
    /// The client's address, as the node is told; none where the connection is closed.
    client: Option<String>,
    /// Whether nothing more is sent.
    #[serde(default)]
    ends: bool,
}

#[test]
fn a_connection_begins_with_a_header_or_is_closed() {
    let cluster = Cluster::of(&["a"]);
    let door = Door::configured(&format!(
        "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\n\
         proxy_protocol_from = [\"127.0.0.1\"]\n\
         [listeners.open]\nbind = \"127.0.0.1:0\"\n\
         [sites.all]\nlistener = [\"edge\", \"open\"]\npool = \"p\"\nendpoints = \"p\"\n\
         [pools.p]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\nprobe = {{ every = \"250ms\" }}\n",
        cluster["a"].addr()
    ));
    door.seen_as("open").sees_in("a");
    let edge = door.seen_as("edge").addr();

    vector::each("proxied", |vector: &Vector<Beginning>| {
        let beginning = &vector.content;
        let header: Vec<u8> = beginning.header.chars().map(to_byte).collect();
        for is_split in [false, true] {
            cluster.forgets();
            let mut client = Conversation::open(edge);
            let mut bytes = header.clone();
            if !beginning.ends {
                bytes.extend_from_slice(b"GET /schema HTTP/1.1\r\nHost: d\r\n\r\n");
            }
            match is_split {
                true => client.says_in_crumbs(&bytes, Duration::from_micros(200)),
                false => client.says(&bytes),
            };
            if beginning.ends {
                client.half_closes();
            }
            let Some(wanted) = &beginning.client else {
                same("closed", client.is_closed_within(wait::SOON), true)?;
                same("requests", cluster.requests(), 0)?;
                continue;
            };
            let answer = client.listens().map_err(|error| error.to_string())?;
            same("status", answer.map(|answer| answer.status), Some(200))?;
            let seen = cluster["a"].seen();
            let told = seen.iter().map(|one| one.head.all("x-forwarded-for"));
            same("the node is told", told.collect(), vec![vec![&**wanted]])?;
        }
        Ok(())
    });
}
