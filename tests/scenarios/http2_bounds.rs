//! What one client of HTTP/2 may cost: floods, silence and a closed window, frame by frame.

use std::net::SocketAddr;
use std::time::Duration;

use gateway_tests::certs::{Authority, Trust};
use gateway_tests::client::Conversation;
use gateway_tests::clock;
use gateway_tests::frames::{
    self, CONTINUATION, DATA, END_HEADERS, END_STREAM, Frame, Frames, GOAWAY, HEADERS, PING,
    RST_STREAM, SETTINGS, WINDOW_UPDATE, fields, frame,
};
use gateway_tests::gateway::{Door, Metrics};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Reply, Way};
use gateway_tests::wait;

/// RFC 9113 §7: `ENHANCE_YOUR_CALM`.
const CALM: Option<u32> = Some(0xb);
/// RFC 9113 §6.5.2.
pub(crate) const INITIAL_WINDOW: u16 = 4;

pub(crate) struct Stage {
    pub(crate) door: Door,
    pub(crate) trust: Trust,
    admin: SocketAddr,
}

/// A site before this node, on a listener with these further settings.
pub(crate) fn stage(cluster: &Cluster, listener: &str) -> Stage {
    stage_within(cluster, listener, "3s")
}

/// The same with this time for a node to begin its answer.
fn stage_within(cluster: &Cluster, listener: &str, response: &str) -> Stage {
    let authority = Authority::new();
    let identity = authority.signs(&["door.test"]);
    let door = Door::configured_over_tls(
        &format!(
            "workers = 1\n[listeners.edge]\nbind = \"127.0.0.1:0\"\ntls = \"t\"\n\
             alpn = [\"h2\", \"http/1.1\"]\n{listener}\n\
             [tls.t]\nchain = \"t.pem\"\nkey = \"t.key\"\n\
             [sites.shop]\nlistener = \"edge\"\nendpoints = \"shop\"\n\
             routes.all = {{ path = \"/\", pool = \"shop\" }}\n\
             routes.whole = {{ path = \"/whole\", pool = \"shop\", body = {{ buffer = \"1 MiB\" }} }}\n\
             [pools.shop]\nnodes = [{{ name = \"a\", addr = \"{}\" }}]\n\
             probe = {{ every = \"250ms\" }}\ntimeouts = {{ response = \"{response}\" }}\n\
             [admin]\nbind = \"127.0.0.1:0\"\n",
            cluster["a"].addr()
        ),
        &authority,
        &identity,
    );
    door.sees_in("a");
    let said = door.log().waits_for("admin", |_| true);
    Stage {
        door,
        trust: authority.trust(),
        admin: said.text("addr").parse().unwrap(),
    }
}

impl Stage {
    fn connects(&self) -> Frames {
        Frames::open(self.door.addr(), &self.trust, "door.test")
    }

    /// A client that has begun as usual.
    pub(crate) fn begins(&self) -> Frames {
        let mut client = self.connects();
        client.begins_with(&[]);
        client
    }

    fn dropped(&self, reason: &str) -> u64 {
        let text = Conversation::open(self.admin).asks(&Request::get("/metrics"));
        let metrics = Metrics::parse(&text.text());
        let sample = format!("gateway_dropped_total{{listener=\"edge\",reason=\"{reason}\"}}");
        metrics.number(&sample) as u64
    }

    pub(crate) fn has_dropped(&self, reason: &str, many: u64) {
        wait::until("the count", wait::SOON, || self.dropped(reason) == many);
    }

    /// Whether the gateway goes on serving others, and holds nothing for whoever was cut.
    fn is_well(&self) {
        wait::until("the slots back", wait::SOON, || {
            self.door.node("a")["in_flight"] == 0
        });
        let mut client = self.begins();
        assert_eq!(client.asks(1, "GET", "/schema", true).status(1), Some(200));
    }
}

#[test]
fn a_client_that_sends_too_much_of_what_carries_nothing_is_told_to_go_away() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "");
    let pings = |many| frame(PING, 0, 0, &[0; 8]).repeat(many);
    let settings = |many| frame(SETTINGS, 0, 0, b"").repeat(many);
    let empty = |many| frame(DATA, 0, 1, b"").repeat(many);
    for (reason, most, over) in [
        ("http2_pings", pings(100), pings(1)),
        // One was sent with the preface.
        ("http2_settings", settings(99), settings(1)),
        ("http2_empty_data", empty(10), empty(1)),
    ] {
        let mut client = stage.begins();
        client.asks(1, "POST", "/sql", false).says(&most);
        client.asks(3, "GET", "/schema", true);
        assert_eq!(client.status(3), Some(200), "{reason}");

        client.says(&over);

        assert_eq!(client.is_told_to_go(), CALM, "{reason}");
        stage.has_dropped(reason, 1);
    }
    stage.is_well();
}

#[test]
fn a_client_that_resets_a_hundred_streams_in_a_row_is_told_to_go_away() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "");
    let mut client = stage.begins();
    let cancel = 8_u32.to_be_bytes();
    for nth in 0..100 {
        client.asks(nth * 2 + 1, "GET", "/schema", true);
        client.sends(RST_STREAM, 0, nth * 2 + 1, &cancel);
    }
    assert_eq!(
        client.asks(401, "GET", "/schema", true).status(401),
        Some(200)
    );

    client.asks(403, "GET", "/schema", true);
    client.sends(RST_STREAM, 0, 403, &cancel);

    assert_eq!(client.is_told_to_go(), CALM);
    stage.has_dropped("http2_resets", 1);
    stage.is_well();
}

/// CVE-2025-8671: what costs the node its work costs the client its connection, whoever resets.
#[test]
fn a_client_that_makes_us_reset_a_hundred_streams_is_told_to_go_away() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "");
    let mut client = stage.begins();
    // RFC 9113 §6.9.1: a window that grows beyond all bounds is an error of the stream.
    let most = 0x7fff_ffff_u32.to_be_bytes();

    for nth in 0..101 {
        client.asks(nth * 2 + 1, "GET", "/schema", true);
        client.sends(WINDOW_UPDATE, 0, nth * 2 + 1, &most);
    }

    assert_eq!(client.is_told_to_go(), CALM);
    stage.has_dropped("http2_resets", 1);
    stage.is_well();
}

#[test]
fn one_stream_more_than_may_be_is_refused_and_a_hundred_more_are_a_flood() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "");
    let mut client = stage.begins();
    for nth in 0..100 {
        client.asks(nth * 2 + 1, "POST", "/sql", false);
    }
    client.asks(301, "GET", "/schema", true);
    let reset = client.hears_one(|one| one.kind == RST_STREAM).unwrap();
    // RFC 9113 §7: `REFUSED_STREAM`; it may be sent again.
    assert_eq!((reset.stream, &reset.payload[..]), (301, &[0, 0, 0, 7][..]));

    for nth in 0..101 {
        client.asks(303 + nth * 2, "GET", "/schema", true);
    }

    assert_eq!(client.is_told_to_go(), CALM);
    stage.has_dropped("http2_resets", 1);
    stage.is_well();
}

#[test]
fn the_bounds_are_settings_and_a_connection_has_those_it_began_with() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "http2 = { pings = 2, streams = 1 }");
    let mut client = stage.begins();
    client
        .asks(1, "POST", "/sql", false)
        .asks(3, "GET", "/schema", true);
    let reset = client.hears_one(|one| one.kind == RST_STREAM).unwrap();
    assert_eq!(reset.stream, 3);

    client.says(&frame(PING, 0, 0, &[0; 8]).repeat(3));

    assert_eq!(client.is_told_to_go(), CALM);
}

#[test]
fn fields_without_end_are_the_end_of_a_connection() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "");
    // Frames of it that carry nothing cost as much, and grow no list.
    for more in [fields(&[("x", &"y".repeat(1000))]), Vec::new()] {
        let mut client = stage.begins();
        client.sends(HEADERS, 0, 1, &fields(&[(":method", "GET")]));

        for _ in 0..1000 {
            client.sends(CONTINUATION, 0, 1, &more);
        }

        assert_eq!(client.is_told_to_go(), CALM);
    }
    stage.is_well();
}

#[test]
fn a_list_of_fields_that_unpacks_to_more_than_may_be_is_431_and_one_to_much_more_is_the_end() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "");
    let mut client = stage.begins();
    // RFC 7541 §6.2.1: put into the table once, then named by one byte each time.
    let mut block = fields(&[
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "door.test"),
        (":path", "/schema"),
    ]);
    block.extend_from_slice(b"\x40\x01x\x7f\xa1\x1e");
    block.extend_from_slice(&[b'y'; 4000]);
    let mut asks = |stream, times| {
        let whole = [&block[..], &[0xbe].repeat(times)].concat();
        client.sends(HEADERS, END_HEADERS | END_STREAM, stream, &whole);
        client.hears_one(|one| matches!(one.kind, HEADERS | GOAWAY))
    };
    let status = |answer: Option<Frame>| frames::status(&answer.unwrap().payload);

    assert_eq!(status(asks(1, 10)), Some(200));
    assert_eq!(status(asks(3, 17)), Some(431));
    assert_eq!(status(asks(5, 30)), Some(431));
    assert_eq!(status(asks(7, 10)), Some(200));
    let last = asks(9, 4000).unwrap();

    assert_eq!((last.kind, last.payload[7]), (GOAWAY, 0xb));
    stage.has_dropped("http2_error", 1);
    // Not the one that was refused by us, which has a line in the log.
    stage.has_dropped("http2_stream", 2);
    let _ = stage.door.access_line(|line| line.text("status") == "431");
    assert_eq!(cluster.requests(), 2);
}

#[test]
fn what_the_engine_refuses_by_itself_is_counted() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "");
    let mut client = stage.begins();
    let block = fields(&[
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/schema"),
    ]);

    client.sends(HEADERS, END_HEADERS | END_STREAM, 1, &block);

    assert_eq!(client.status(1), Some(400));
    drop(client);
    stage.has_dropped("http2_stream", 1);
}

#[test]
fn a_preface_or_a_list_of_fields_that_does_not_come_is_not_waited_for() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "head = { timeout = \"500ms\" }");
    let began = clock::now();
    let mut silent = stage.connects();
    let mut halfway = stage.begins();
    let mut done = stage.begins();
    assert_eq!(done.asks(1, "GET", "/schema", true).status(1), Some(200));
    halfway.sends(HEADERS, 0, 1, &fields(&[(":method", "GET")]));

    assert!(silent.ends_within(wait::SOON));
    assert_eq!(halfway.is_told_to_go(), CALM);

    assert!(began.elapsed() >= Duration::from_millis(500));
    assert_eq!(done.asks(3, "GET", "/schema", true).status(3), Some(200));
    stage.has_dropped("http2_slow_head", 2);
}

#[test]
fn a_body_that_falls_silent_is_408_passed_on_or_read_whole_and_its_siblings_go_on() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "body_gap = \"1s\"");
    let mut client = stage.begins();
    for (stream, path) in [(1, "/sql"), (3, "/whole")] {
        client.asks(stream, "POST", path, false);
        client.sends(DATA, 0, stream, b"half");
    }

    for _ in 0..2 {
        let head = client.hears_one(|one| one.kind == HEADERS).unwrap();
        assert_eq!(frames::status(&head.payload), Some(408));
    }

    assert_eq!(client.asks(5, "GET", "/schema", true).status(5), Some(200));
    assert_eq!(cluster["a"].seen().len(), 1);
    stage.is_well();
}

#[test]
fn a_pause_in_a_body_longer_than_a_node_may_take_is_not_held_against_the_node() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage_within(&cluster, "body_gap = \"20s\"", "1s");
    let mut client = stage.begins();
    client.asks(1, "POST", "/sql", false);
    client.sends(DATA, 0, 1, b"half, ");
    assert!(!client.ends_within(Duration::from_millis(1_200)));

    client.sends(DATA, END_STREAM, 1, b"and half");

    assert_eq!(client.status(1), Some(200));
    assert_eq!(cluster["a"].seen()[0].body, b"half, and half");
}

#[test]
fn a_node_that_is_silent_is_504_in_time_and_a_window_that_stays_closed_is_given_up() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "write_gap = \"1s\"");
    cluster.next([Way::HangsBeforeHead]);
    let mut client = stage.begins();
    client.asks(1, "POST", "/sql", false);
    client.sends(DATA, END_STREAM, 1, b"all");
    assert_eq!(client.status(1), Some(504));

    cluster.next([Way::Says(Reply::new(200).body([b'x'; 1000]))]);
    let mut closed = stage.connects();
    closed.begins_with(&[(INITIAL_WINDOW, 0)]);
    assert_eq!(closed.asks(1, "GET", "/schema", true).status(1), Some(200));
    closed.sends(PING, 0, 0, &[0; 8]);

    let reset = closed.hears_one(|one| one.kind == RST_STREAM);

    assert_eq!(reset.unwrap().stream, 1);
    stage.has_dropped("slow_reader", 1);
    let line = stage
        .door
        .access_line(|line| line.text("reason") == "slow_reader");
    assert_eq!(line.text("protocol"), "HTTP/2");
    stage.is_well();
}

/// Bodies that trickle, each way, in each version of HTTP: never silent, and never enough.
#[test]
fn a_trickle_is_cut_after_half_a_minute_of_waiting_for_it() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "min_rate = \"64 B\"");
    cluster.next([Way::Says(Reply::new(200).body([b'x'; 100_000]))]);
    let mut taking = stage.connects();
    taking.begins_with(&[(INITIAL_WINDOW, 1)]);
    assert_eq!(taking.asks(1, "GET", "/schema", true).status(1), Some(200));
    let mut sending = stage.begins();
    sending.asks(1, "POST", "/sql", false);
    let mut old = stage.door.connect();
    old.expects_answer_to("POST");
    old.says("POST /sql HTTP/1.1\r\nHost: door.test\r\nContent-Length: 100000\r\n\r\n");
    let mut steady = stage.begins();
    steady.asks(1, "POST", "/sql", false);

    let began = clock::now();
    while began.elapsed() < Duration::from_secs(33) {
        taking.sends(WINDOW_UPDATE, 0, 1, &1_u32.to_be_bytes());
        sending.sends(DATA, 0, 1, b"s");
        old.says("o");
        steady.sends(DATA, 0, 1, &[b'x'; 80]);
        wait::maybe(Duration::from_secs(1), || None::<()>);
    }
    steady.sends(DATA, END_STREAM, 1, b"end");

    assert_eq!(sending.status(1), Some(408));
    assert_eq!(old.hears().status, 408);
    assert!(taking.hears_one(|one| one.kind == RST_STREAM).is_some());
    assert_eq!(steady.status(1), Some(200));
    stage.is_well();
}

/// RFC 9113 §6.8, §9.1: so that what is on its way may be sent again elsewhere.
#[test]
fn an_idle_connection_is_told_what_was_served_before_it_is_closed() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "idle = \"1s\"");
    let mut client = stage.begins();
    assert_eq!(client.asks(1, "GET", "/schema", true).status(1), Some(200));
    assert_eq!(client.asks(3, "GET", "/schema", true).status(3), Some(200));

    let last = client.hears_one(|one| one.kind == GOAWAY).unwrap();

    assert_eq!(last.payload, [0, 0, 0, 3, 0, 0, 0, 0]);
    assert!(client.ends_within(wait::SOON));
    let mut fresh = stage.begins();
    let last = fresh.hears_one(|one| one.kind == GOAWAY).unwrap();
    assert_eq!(last.payload, [0; 8]);
    stage.has_dropped("http2_error", 0);
}

#[test]
fn continue_is_said_in_http2_too() {
    let cluster = Cluster::of(&["a"]);
    let stage = stage(&cluster, "");
    let mut client = stage.begins();
    let block = fields(&[
        (":method", "POST"),
        (":scheme", "https"),
        (":authority", "door.test"),
        (":path", "/sql"),
        ("expect", "100-continue"),
    ]);
    client.sends(HEADERS, END_HEADERS, 1, &block);
    assert_eq!(client.status(1), Some(100));

    client.sends(DATA, END_STREAM, 1, b"worth waiting for");

    assert_eq!(client.status(1), Some(200));
    assert_eq!(cluster["a"].seen()[0].body, b"worth waiting for");
    assert_eq!(cluster["a"].seen()[0].head.first("expect"), None);
}
