use gateway_config::{Sources, load_source};

use super::*;
use crate::proto::config::Header;

const SHOP: &str = r#"
[listeners.web]
bind = "127.0.0.1:80"
[listeners.secure]
bind = "127.0.0.1:8443"
tls = "shop"
alpn = ["h2"]
[tls.shop]
chain = "/c.pem"
key = "/k.pem"
[sites.shop]
listener = ["web", "secure"]
hosts = ["shop.example", "*.shop.example"]
aliases = ["old.example"]
pool = "shop"
request_edits = { set = { x-token = "hush" }, remove = ["x-gone"] }
[sites.shop.routes.beta]
path = "/cart/"
pool = "shop"
when = { headers = { x-beta = "hush" } }
[sites.shop.routes.cart]
path = "/cart/"
pool = "shop"
when = { client = ["10.0.0.0/8"] }
[sites.shop.routes.gone]
exact = "/gone"
answer = { status = 410 }
[sites.shop.routes.moved]
path = "/moved/"
redirect = { to = "https://else.example/x", keep_path = true }
[sites.closed]
listener = "web"
hosts = ["closed.example"]
https = false
allow_from = ["192.0.2.0/24"]
pool = "shop"
[pools.shop]
nodes = ["127.0.0.1:81", { name = "b", addr = "127.0.0.1:82", backup = true }]
[logs]
redact = ["code"]
"#;

fn snapshot(text: &str) -> Snapshot {
    let mut sources = Sources::default();
    let id = sources.add("gateway.toml", text.to_owned());
    load_source(id, &mut sources).unwrap().snapshot
}

fn asks(request: TraceRequest) -> Result<TraceResponse, Odd> {
    let snapshot = snapshot(SHOP);
    let traced = Traced {
        snapshot: &snapshot,
        running: None,
    };
    traced.answer(&request)
}

fn get(url: &str) -> TraceRequest {
    TraceRequest {
        method: "GET".to_owned(),
        url: url.to_owned(),
        ..TraceRequest::default()
    }
}

fn told(url: &str) -> TraceResponse {
    asks(get(url)).unwrap()
}

fn header(name: &str, value: &str) -> Header {
    Header {
        name: name.to_owned(),
        value: value.to_owned(),
    }
}

#[test]
fn the_listener_and_the_site_are_found_by_the_url() {
    use trace_response::FoundBy;
    let exact = told("http://Shop.Example./");
    assert_eq!(
        (exact.listener.as_str(), exact.site.as_str()),
        ("web", "shop")
    );
    assert_eq!(exact.site_found_by(), FoundBy::Exact);
    let wild = told("https://a.shop.example:8443/");
    assert_eq!(
        (wild.listener.as_str(), wild.site_found_by()),
        ("secure", FoundBy::Wildcard)
    );
    let connection = wild.connection.unwrap();
    assert_eq!(connection.tls_profile, "shop");
    assert_eq!(connection.protocols, ["http/2"]);
    assert_eq!(told("http://nobody.example/").status, Some(421));

    let by_field = asks(TraceRequest {
        headers: vec![header("hOst", "a.shop.example")],
        ..get("http://nobody.example/")
    });
    assert_eq!(by_field.unwrap().site, "shop");
    assert!(asks(get("http://shop.example:81/")).is_err());
    let named = asks(TraceRequest {
        listener: "web".to_owned(),
        ..get("https://shop.example/")
    });
    assert_eq!(named.unwrap().notes.len(), 1);
}

#[test]
fn every_route_before_the_one_that_takes_says_why_it_does_not() {
    let told = told("http://shop.example/x/../cart/a?code=7&b=1");
    let why: Vec<(&str, &str)> = told
        .routes
        .iter()
        .map(|one| (one.route.as_str(), one.why_not.as_str()))
        .collect();
    assert_eq!(
        why,
        [
            ("gone", "has other paths"),
            ("moved", "has other paths"),
            (
                "beta",
                "header field `x-beta` is absent or has another value"
            ),
            ("cart", "the client is not from where it has to be"),
            ("default", ""),
        ]
    );
    assert_eq!(told.path.as_deref(), Some("/cart/a"));
    let taken = told.taken.unwrap();
    assert_eq!(taken.path_and_query, "/cart/a?code=…&b=1");
    assert!(taken.nodes.iter().all(|node| node.may_take.is_none()));
    assert_eq!(taken.nodes[1].state, "not known: not running");
    assert!(taken.nodes[1].backup);

    let beta = asks(TraceRequest {
        headers: vec![header("X-Beta", "hush"), header("x-gone", "1")],
        ..get("http://shop.example/cart")
    });
    let beta = beta.unwrap();
    let taken = beta.taken.clone().unwrap();
    assert_eq!(taken.route, "beta");
    let fields = taken.request_fields.unwrap();
    assert!(fields.set.contains(&"x-token".to_owned()), "{fields:?}");
    assert_eq!(fields.removed, ["x-gone"]);
    assert!(!format!("{beta:?}").contains("hush"));
}

#[test]
fn that_trailers_are_taken_is_told_to_nodes_that_can_send_them() {
    for (pool, is_removed) in [("", true), ("http2 = true\n", false)] {
        let text = SHOP.replace("[pools.shop]\n", &format!("[pools.shop]\n{pool}"));
        let snapshot = snapshot(&text);
        let traced = Traced {
            snapshot: &snapshot,
            running: None,
        };
        let headers = vec![header("TE", "trailers")];
        let url = get("http://shop.example/");
        let told = traced.answer(&TraceRequest { headers, ..url }).unwrap();
        let removed = told.taken.unwrap().request_fields.unwrap().removed;
        assert_eq!(removed.contains(&"te".to_owned()), is_removed, "{pool}");
    }
}

#[test]
fn what_ends_the_way_early_says_so() {
    let moved = told("http://old.example/cart?code=7&x=1");
    let to = moved.moved.as_ref().unwrap();
    assert_eq!(to.location, "http://shop.example/cart?code=…&x=1");
    assert!(moved.routes.is_empty() && moved.taken.is_none());
    assert_eq!(told("http://shop.example/gone").status, Some(410));
    let elsewhere = told("http://shop.example/moved/a");
    assert_eq!(elsewhere.status, Some(308));
    assert!(
        elsewhere.outcome.contains("https://else.example/x"),
        "{elsewhere:?}"
    );
    assert_eq!(told("http://shop.example/a b").status, Some(400));
    assert_eq!(told("http://shop.example/%00").status, Some(404));
    let announced = |length: &str| {
        let headers = vec![header("Content-Length", length)];
        let url = get("http://shop.example/");
        asks(TraceRequest { headers, ..url }).unwrap()
    };
    let long = announced("1073741825");
    assert_eq!(long.status, Some(413), "{long:?}");
    assert!(long.taken.unwrap().nodes.is_empty(), "no node is asked");
    assert_eq!(announced("1073741824").status, None);

    let from = |client: &str| {
        let client = client.to_owned();
        let url = get("http://closed.example/");
        asks(TraceRequest { client, ..url }).unwrap()
    };
    assert_eq!(from("10.0.0.1").status, Some(403));
    assert_eq!(from("192.0.2.9").taken.unwrap().route, "default");
    assert_eq!(from("").notes.len(), 1);
}

#[test]
fn a_name_of_no_site_comes_no_further_than_its_hello_where_that_is_strict() {
    let strict = SHOP.replace("alpn = [\"h2\"]", "strict_sni = true");
    let snapshot = snapshot(&strict);
    let traced = Traced {
        snapshot: &snapshot,
        running: None,
    };
    let told = |url: &str| traced.answer(&get(url)).unwrap();
    let unknown = told("https://else.example:8443/");
    assert!(unknown.outcome.contains("unrecognized_name"), "{unknown:?}");
    assert_eq!((unknown.status, &*unknown.site), (None, ""));
    assert_eq!(told("https://a.shop.example:8443/").site, "shop");
    assert_eq!(told("http://else.example/").status, Some(421));
}

#[test]
fn a_question_that_is_no_request_is_refused_without_its_values() {
    let with = |headers: Vec<Header>| TraceRequest {
        headers,
        ..get("http://shop.example/")
    };
    let method = |method: &str| TraceRequest {
        method: method.to_owned(),
        ..get("http://shop.example/")
    };
    for odd in [
        get(""),
        get("shop.example/"),
        get("http:///hush"),
        get("http://me:hush@shop.example/"),
        get("http://shop.example/hush\n"),
        get(&format!("http://shop.example/{}", "x".repeat(LONG))),
        method(""),
        method("GET /hush"),
        method(&"G".repeat(65)),
        with(vec![header("a", "hush\r\nb: c")]),
        with(vec![header("", "hush")]),
        with(vec![header("a b", "hush")]),
        with(vec![header("Host", "hush@shop.example")]),
        with(vec![header("a", &"hush".repeat(LONG))]),
        with(vec![header("a", "hush"); 257]),
    ] {
        let refused = asks(odd).unwrap_err().to_string();
        assert!(!refused.contains("hush"), "{refused}");
    }
    assert!(asks(with(vec![header("a", "b"); 60])).is_ok());
}

#[test]
fn many_routes_are_counted_and_the_one_that_takes_is_listed() {
    let mut text = "[listeners.a]\nbind = \"127.0.0.1:80\"\n[sites.s]\nlistener = \"a\"\n\
                    pool = \"p\"\n[pools.p]\nnodes = [\"127.0.0.1:81\"]\n"
        .to_owned();
    for at in 0..1_200 {
        text += &format!("[sites.s.routes.r{at}]\nexact = \"/{at:04}\"\npool = \"p\"\n");
    }
    let snapshot = snapshot(&text);
    let traced = Traced {
        snapshot: &snapshot,
        running: None,
    };
    let told = traced.answer(&get("http://any/else")).unwrap();
    assert_eq!((told.routes.len(), told.routes_omitted), (1_001, 200));
    assert_eq!(told.routes.last().unwrap().route, "default");
    assert!(told.routes.last().unwrap().takes);
}

/// Longest value there is.
const LONG: usize = 16 << 10;

#[test]
fn what_is_shown_to_nobody_is_not_told() {
    let text = "[listeners.a]\nbind = \"127.0.0.1:80\"\n[sites.s]\nlistener = \"a\"\n\
                routes.r = { path = \"/\", redirect = \"https://user:c4n4ry@other.example/\" }\n\
                [logs]\nredact = [\"token\"]\n";
    let mut sources = gateway_config::Sources::default();
    let id = sources.add("x", text.to_owned());
    let loaded = gateway_config::load_source(id, &mut sources).unwrap();
    let traced = Traced {
        snapshot: &loaded.snapshot,
        running: None,
    };
    for url in [
        "http://x.example/",
        "http://x.example/?%74oken=c4n4ry&Token=c4n4ry",
    ] {
        let told = format!("{:?}", traced.answer(&get(url)).unwrap());
        assert!(told.contains("other.example"), "{told}");
        assert!(!told.contains("c4n4ry"), "{told}");
    }
    let odd = traced.answer(&TraceRequest {
        listener: "\u{1b}[31mX".to_owned(),
        ..get("http://x.example/")
    });
    assert!(!odd.unwrap_err().to_string().contains('\u{1b}'));
}
