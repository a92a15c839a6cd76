//! What is said of a request is what becomes of it; and what else is asked of a running process
//! about its configuration.

use std::fs;
use std::path::PathBuf;

use gateway_tests::gateway::{Door, Ended, Plan, runs};
use gateway_tests::message::Request;
use gateway_tests::node::{Cluster, Node, Seen};
use gateway_tests::wait;
use serde_json::{Value, json};

/// A gateway with a handful of routes, to pools of one node each and called like it.
struct Asked {
    cluster: Cluster,
    door: Door,
    state: PathBuf,
}

const ROUTES: &str = "\
[sites.all.routes.item]\ntemplate = \"/shop/{id}\"\nmethods = [\"GET\"]\npool = \"a\"\n\
query = [\"page\"]\nrefuse_query = { raw = \"not from here\" }\n\
[sites.all.routes.shop]\npath = \"/shop/\"\npool = \"b\"\nupgrade = true\n\
[sites.all.routes.one]\nexact = \"/shop/one\"\nmethods = [\"POST\"]\npool = \"c\"\n\
[sites.all.routes.any]\nregex = \"/[0-9]+(/.*)?\"\npool = \"c\"\n\
[sites.all.routes.late]\nglob = \"/shop/**/*.png\"\npool = \"a\"\n";

fn text(cluster: &Cluster, wait: &str) -> String {
    let pool = |node: &Node| {
        let (name, addr) = (node.name(), node.addr());
        format!(
            "[pools.{name}]\nqueue_wait = \"{wait}\"\n\
             nodes = [{{ name = \"{name}\", addr = \"{addr}\" }}]\nprobe = {{ every = \"250ms\" }}\n"
        )
    };
    let pools: String = cluster.nodes().iter().map(pool).collect();
    format!(
        "workers = 1\n[listeners.door]\nbind = \"127.0.0.1:0\"\n\
         [sites.all]\nlistener = \"door\"\nendpoints = \"a\"\n{ROUTES}{pools}"
    )
}

impl Asked {
    fn opens() -> Self {
        let cluster = Cluster::of(&["a", "b", "c"]);
        let text = text(&cluster, "5s");
        Self::of(cluster, &text)
    }

    fn of(cluster: Cluster, text: &str) -> Self {
        let plan = Plan::configured(text);
        let state = plan.path("state");
        let door = plan.flag("--state-dir", &state.to_string_lossy()).opens();
        let asked = Asked {
            cluster,
            door,
            state,
        };
        wait::until("all in rotation", wait::EVENTUALLY, || {
            let told = asked.status();
            let pools = told["pools"].as_array().unwrap();
            pools.iter().all(|one| one["nodes"][0]["enabled"] == true)
        });
        asked
    }

    fn runs(&self, words: &[&str]) -> Ended {
        let state = self.state.to_string_lossy().into_owned();
        let mut words: Vec<&str> = words.to_vec();
        words.extend(["--state-dir", &state]);
        runs(&words)
    }

    fn status(&self) -> Value {
        let said = self.runs(&["status", "--format", "json"]);
        serde_json::from_str(&said.stdout).unwrap()
    }

    fn trace(&self, request: (&str, &str), fields: &[(&str, &str)]) -> Value {
        let url = format!("http://{}{}", self.door.addr(), request.1);
        let fields: Vec<String> = fields.iter().map(|(n, v)| format!("{n}: {v}")).collect();
        let mut words = vec!["trace", request.0, &url, "--format", "json"];
        words.extend(fields.iter().flat_map(|one| ["-H", one.as_str()]));
        let said = self.runs(&words);
        assert_eq!(said.status.code(), Some(0), "{}", said.stderr);
        serde_json::from_str(&said.stdout).unwrap()
    }

    /// Sends it; the status, and what which node saw.
    fn sends(
        &self,
        request: (&str, &str),
        fields: &[(&str, &str)],
    ) -> (u16, Option<(String, Seen)>) {
        self.cluster.forgets();
        let begun = Request::new(request.0, request.1);
        let whole = fields
            .iter()
            .fold(begun, |all, (name, value)| all.field(name, value));
        let answer = self.door.ask(&whole);
        let nodes = self.cluster.nodes().iter();
        let mut seen = nodes.flat_map(|node| {
            let name = node.name().to_owned();
            node.seen()
                .into_iter()
                .map(move |seen| (name.clone(), seen))
        });
        (answer.status, seen.next())
    }

    /// What is said of a request, once it has been sent and done just that.
    fn agrees(&self, request: (&str, &str), fields: &[(&str, &str)]) -> Value {
        let told = self.trace(request, fields);
        let (status, seen) = self.sends(request, fields);
        let said = &told["taken"];
        let Some((node, seen)) = seen else {
            assert!(said.is_null(), "{request:?} went nowhere: {told}");
            let said = told.get("status").and_then(Value::as_u64).unwrap_or(200);
            assert_eq!(said, u64::from(status), "{request:?} {told}");
            return told;
        };
        let mut nodes = said["nodes"].as_array().unwrap().iter();
        let named = nodes.find(|one| one["node"] == node).unwrap();
        assert_eq!(named["may_take"], true, "{request:?} {told}");
        assert_eq!(said["path_and_query"], json!(seen.target), "{request:?}");
        let names = seen.head.names();
        let has = |name: &Value| names.iter().any(|one| name == &one.to_ascii_lowercase());
        let changed = &said["request_fields"];
        let all = |of: &str| changed[of].as_array().unwrap().clone();
        assert!(all("set").iter().all(has), "{changed} {names:?}");
        assert!(!all("removed").iter().any(has), "{changed} {names:?}");
        told
    }
}

#[test]
fn trace_says_what_the_data_plane_does() {
    let asked = Asked::opens();
    let fields = [
        ("X-Kept", "1"),
        ("X-Named", "1"),
        ("Connection", "x-named"),
        ("TE", "trailers"),
        ("X-Forwarded-For", "192.0.2.1"),
    ];
    let mut taken = std::collections::BTreeSet::new();
    for request in [
        ("GET", "/shop/7"),
        ("GET", "/shop/7?page=2&other=3"),
        ("GET", "/shop/7?raw=1"),
        ("POST", "/shop/7"),
        ("GET", "/shop/7/more"),
        ("GET", "//shop/./x/../%7a"),
        ("GET", "/shop/one"),
        ("POST", "/shop/one"),
        ("GET", "/shop/deep/in/x.png"),
        ("DELETE", "/12/x"),
        ("GET", "/12?q=%7e"),
        ("GET", "/ready"),
        ("POST", "/ready"),
        ("GET", "/"),
        ("GET", "/nowhere"),
        ("GET", "/shop/%00"),
        ("GET", "/shop%2f7"),
        ("GET", "/shop/a|b"),
    ] {
        let told = asked.agrees(request, &fields);
        if told["taken"].is_object() {
            let removed = &told["taken"]["request_fields"]["removed"];
            assert_eq!(
                *removed,
                json!(["connection", "te", "x-named"]),
                "{request:?}"
            );
            taken.insert(told["taken"]["route"].as_str().unwrap().to_owned());
        }
    }
    let all: Vec<String> = taken.into_iter().collect();
    assert_eq!(all, ["any", "item", "late", "one", "shop"]);
}

#[test]
fn a_body_that_is_announced_too_long_is_told_of_as_it_is_refused() {
    let asked = Asked::opens();
    for (length, is_refused) in [("1073741825", true), ("1073741824", false)] {
        let told = asked.trace(("POST", "/shop/one"), &[("Content-Length", length)]);
        let head =
            format!("POST /shop/one HTTP/1.1\r\nHost: d\r\nContent-Length: {length}\r\n\r\n");
        let mut client = asked.door.connect();
        client.says(&head);
        match is_refused {
            true => {
                assert_eq!(told["status"], 413, "{told}");
                assert_eq!(told["taken"]["route"], "one");
                client.hears().is(413);
            }
            false => {
                assert_eq!(told.get("status"), None, "{told}");
                assert!(client.is_silent_for(std::time::Duration::from_millis(100)));
            }
        }
    }
}

#[test]
fn trace_says_what_a_front_door_does() {
    let cluster = Cluster::of(&["a", "b"]);
    let node = |one: &Node| format!("{} = \"{}\"\n", one.name(), one.addr());
    let nodes: String = cluster.nodes().iter().map(node).collect();
    let text = format!(
        "workers = 1\n[front_door.door]\nlisten = \"127.0.0.1:0\"\nhealth_interval = \"250ms\"\n\
         [front_door.door.upstreams]\n{nodes}"
    );
    let asked = Asked::of(cluster, &text);
    let fields = [
        ("X-Else", "1"),
        ("Authorization", "Bearer 1"),
        ("X-Forwarded-For", "1.1.1.1"),
    ];
    for (request, route) in [
        (("POST", "/sql"), "sql"),
        (("GET", "/schema?x=1"), "schema"),
        (("GET", "//schema/"), "schema"),
        (("POST", "/table/a%2fb"), ""),
        (("GET", "/nowhere"), ""),
        (("GET", "/health"), ""),
        (("GET", "/health/"), ""),
    ] {
        let told = asked.agrees(request, &fields);
        if !route.is_empty() {
            assert_eq!(told["taken"]["route"], route, "{told}");
            let removed = &told["taken"]["request_fields"]["removed"];
            assert_eq!(*removed, json!(["x-else"]), "{told}");
        }
    }
}

#[test]
fn a_node_that_may_not_take_it_says_why() {
    let asked = Asked::opens();
    let node = |route: &str| asked.trace(("GET", route), &[])["taken"]["nodes"][0].clone();
    assert_eq!(node("/shop/7")["state"], "in rotation");
    assert_eq!(asked.runs(&["drain", "a/a"]).status.code(), Some(0));
    let drained = node("/shop/7");
    assert_eq!(
        (&drained["state"], &drained["may_take"]),
        (&json!("drained"), &json!(false))
    );

    asked.cluster["c"].says_serving(false);
    wait::until("out of rotation", wait::EVENTUALLY, || {
        node("/12")["state"] == "out of rotation: not_serving"
    });
    let text = asked.runs(&["trace", "GET", &format!("http://{}/12", asked.door.addr())]);
    assert!(
        text.stdout
            .contains("none of whose nodes is in rotation now"),
        "{}",
        text.stdout
    );
}

#[test]
fn what_makes_no_sense_is_usage_and_no_value_is_repeated() {
    let asked = Asked::opens();
    let long = format!("http://a/{}", "x".repeat(17_000));
    let secret = "hush-hush";
    let with_user = format!("http://me:{secret}@a/");
    let split = format!("x: 1\r\nx: {secret}");
    for words in [
        vec!["trace", "GET", with_user.as_str()],
        vec!["trace", "GET", "http://a/", "-H", secret],
        vec!["trace", "GET", "http://a/", "-H", &split],
        vec!["trace", "GET", "http://a/", "-H", "Authorization:", secret],
        vec!["trace", "GET", &long],
        vec!["trace", "GE T", "http://a/"],
        vec!["trace", "GET", "ftp://a/"],
        vec!["trace", "GET", "https://a/"],
        vec!["trace", "GET", "http://a/", "--from", "here"],
        vec!["trace", "GET", "http://a/", "--listener", "none"],
    ] {
        let said = asked.runs(&words);
        assert_eq!(said.status.code(), Some(2), "{words:?} {}", said.stdout);
        let both = said.stdout + &said.stderr;
        assert!(!both.contains(secret), "{both}");
    }
    let addr = asked.door.addr().to_string();
    let fields = [("Authorization", secret), ("Cookie", secret)];
    let told = asked.trace(("GET", "/shop/7"), &fields).to_string();
    assert!(told.contains(&addr) && !told.contains(secret), "{told}");
}

#[test]
fn what_is_served_is_shown_and_compared_with_a_file() {
    let asked = Asked::opens();
    let file = asked.door.scratch().path().join("gateway.toml");
    let named = file.to_string_lossy().into_owned();
    let shown = asked.runs(&["effective", "--running"]);
    let written = runs(&["effective", &named]);
    assert_eq!(
        (shown.status.code(), &shown.stdout),
        (Some(0), &written.stdout)
    );

    let none = asked.runs(&["diff", &named, "--running"]);
    assert_eq!((none.status.code(), none.stdout.as_str()), (Some(0), ""));
    fs::write(&file, text(&asked.cluster, "6s")).unwrap();
    let some = asked.runs(&["diff", &named, "--running"]);
    assert!(
        some.stdout
            .starts_with("at once:\n  ~ pools.a.queue_wait: \"5s\" → \"6s\"\n"),
        "{}{}",
        some.stdout,
        some.stderr
    );
    let document = asked.runs(&["diff", "--running", "--format", "json", "--new", &named]);
    let document: Value = serde_json::from_str(&document.stdout).unwrap();
    assert_eq!(
        document["changes"].as_array().unwrap().len(),
        3,
        "{document}"
    );

    fs::write(&file, "[drian]\nx = 1\n").unwrap();
    let broken = asked.runs(&["diff", "--running", &named]);
    assert_eq!(broken.status.code(), Some(1), "{}", broken.stderr);
    asked.door.stops();
    asked.door.ends_within(wait::SOON);
    fs::write(&file, text(&asked.cluster, "6s")).unwrap();
    for words in [
        vec!["effective", "--running"],
        vec!["diff", "--running", &named],
        vec!["trace", "GET", "http://a/"],
    ] {
        let said = asked.runs(&words);
        assert_eq!(said.status.code(), Some(2), "{}", said.stderr);
        assert!(said.stderr.contains("no answer on"), "{}", said.stderr);
    }
}
