//! What is certain to fail or to do nothing is refused, and what may be meant is not.

use std::time::{Duration, Instant};

use super::{Parts, SOUND, has, told};

fn route(route: &str) -> Vec<String> {
    Parts { route, ..SOUND }.told()
}

fn site(site: &str) -> Vec<String> {
    Parts { site, ..SOUND }.told()
}

#[track_caller]
fn is_one(found: &[String], pieces: &[&str]) {
    assert_eq!(found.len(), 1, "{pieces:?}: {found:#?}");
    has(&found.concat(), pieces);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "how long it takes is what is asked"
)]
fn many_hosts_are_checked_in_time_that_grows_with_them() {
    let hosts = |prefix: &str| {
        let all = (0..16_000).map(|at| format!("\"{prefix}{at}.example\","));
        all.collect::<String>()
    };
    let text = format!(
        "hosts = [{}]\naliases = [{}]",
        hosts("host"),
        hosts("alias")
    );
    let begun = Instant::now();
    assert_eq!(site(&text), [""; 0]);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
}

#[test]
fn a_field_is_asked_for_once_whatever_its_case() {
    for headers in [
        "X-Any = true, x-any = true",
        "X-Any = \"1\", x-any = \"2\"",
        "X-ANY = true, X-any = \"1\", x-any = \"2\"",
    ] {
        let found = route(&format!(
            "path = \"/r/\"\nwhen = {{ headers = {{ {headers} }} }}"
        ));
        assert_eq!(found.len(), headers.split(',').count() - 1, "{found:#?}");
        has(&found.concat(), &["G0102", "listed twice"]);
    }
    for when in [
        "headers = { x-a = true, x-b = true }",
        "query = { A = true, a = true }",
        "cookies = { A = true, a = true }",
    ] {
        assert_eq!(
            route(&format!("path = \"/r/\"\nwhen = {{ {when} }}")),
            [""; 0]
        );
    }
}

#[test]
fn a_listener_that_sends_to_https_needs_a_site_there() {
    let listener = "bind = \"127.0.0.1:80\"\nredirect = \"https\"";
    is_one(
        &Parts { listener, ..SOUND }.told(),
        &["G0314", "@\"https\"@", "`web`"],
    );
    let more = "[listeners.tls]\nbind = \"127.0.0.1:443\"\ntls = \"t\"\n[tls.t]\nchain = \"/c\"\nkey = \"/k\"\n";
    let on_both = "[listeners.tls]\nbind = \"127.0.0.1:443\"\ntls = \"t\"\n[tls.t]\nchain = \"/c\"\nkey = \"/k\"\n\
        [sites.other]\nlistener = \"tls\"\nhosts = [\"a.example\"]\npool = \"p\"\n";
    has(
        &Parts {
            listener,
            more,
            ..SOUND
        }
        .told()
        .concat(),
        &["G0314"],
    );
    let more = on_both;
    assert_eq!(
        Parts {
            listener,
            more,
            ..SOUND
        }
        .told(),
        [""; 0]
    );
    let undefined = on_both.replace("tls = \"t\"", "tls = \"u\"");
    let more = &*undefined;
    let found = Parts {
        listener,
        more,
        ..SOUND
    }
    .told();
    is_one(&found, &["G0104"]);
}

#[test]
fn a_glob_or_expression_that_no_path_in_its_normal_form_matches_is_refused() {
    for (kind, text, cure) in [
        ("glob", "/%41", "\"/A\""),
        ("glob", "/é", "\"/%C3%A9\""),
        ("glob", "/../x*", "\"/x*\""),
        ("glob", "/b//*", "\"/b/*\""),
        ("glob", "/a/.", "\"/a/\""),
        ("glob", "/a b/*", "\"/a%20b/*\""),
        ("glob", "/a%2f*", "\"/a%2F*\""),
        ("glob", "/[ab]/é", ""),
        ("glob", "/{é,ü}", ""),
        ("regex", "/%41", "\"/A\""),
        ("regex", "/é", "\"/%C3%A9\""),
        ("regex", "/a/\\.\\./b", ""),
        ("regex", "(/a|/b)//c", ""),
    ] {
        let found = route(&format!("{kind} = '{text}'"));
        is_one(&found, &["G0207", cure, text]);
    }
    for text in [
        "glob = '/%C3%A9'",
        "glob = '/{a,é}'",
        "glob = '/.well-known/*'",
        "glob = '/a../*'",
        "glob = '/%?1'",
        "glob = '/[é]x'",
        "glob = '/a%2F*'",
        "glob = '/*.{jpg,png}'",
        "glob = '/**/b'",
        "regex = '/a/\\.\\./?b'",
        "regex = '/%[0-9A-F]{2}'",
        "regex = '/(é)?a'",
        "regex = '/a/..'",
        "regex = '/a\\.'",
        "regex = '/\\.?'",
        "regex = '(?i)/%c3'",
    ] {
        let found = route(text).concat();
        assert!(
            found.is_empty() || text == "glob = '/[é]x'" || text == "regex = '/a/\\.\\./?b'",
            "{text} {found}"
        );
    }
    for pattern in ["glob = '/b//*'", "exact = '/b//c'", "path = '/b//'"] {
        let more = format!("routes.double = {{ {pattern}, answer = 200 }}\nmerge_slashes = ");
        assert_eq!(site(&format!("{more}false")), [""; 0], "{pattern}");
        is_one(&site(&format!("{more}true")), &["G0207"]);
    }
}

#[test]
fn a_redirect_leads_to_an_address() {
    for to in [
        "https://h:99999/",
        "https://h:0/",
        "https://h:0",
        "https://h:x/",
        "https://a..b/",
        "https://[::1/",
        "https://[x]/",
        "https://[::1]x/",
        "https://-/",
        "https://:@h/",
        "https://@h/",
        "https://h%/",
        "https://h/%",
        "https://1.2.3.400/",
        "https://h/a%4",
        "https:///a",
        "https://:80/",
        "/%zz",
        "/a?b=%",
    ] {
        is_one(
            &route(&format!("path = \"/r/\"\nredirect = \"{to}\"")),
            &["G0207"],
        );
    }
    for to in ["HTTPS://h/", "Http://h/"] {
        is_one(
            &route(&format!("path = \"/r/\"\nredirect = \"{to}\"")),
            &["G0207", "lower case"],
        );
    }
    for to in [
        "https://h/",
        "https://h",
        "https://h:8443",
        "https://H.example.:8443/a?b=%20#c",
        "https://[::1]:80/",
        "https://[2001:db8::1]",
        "https://10.0.0.1/",
        "https://a_b.example/",
        "https://-a.example/",
        "https://xn--bcher-kva.example?q",
        "/%C3%A9",
        "/",
    ] {
        assert_eq!(
            route(&format!("path = \"/r/\"\nredirect = \"{to}\"")),
            [""; 0],
            "{to}"
        );
    }
    for to in [
        "https://{name}.example/",
        "https://a.{name}.example:8443/{name}",
        "/%{name}",
    ] {
        assert_eq!(
            route(&format!("template = \"/r/{{name}}\"\nredirect = \"{to}\"")),
            [""; 0],
            "{to}"
        );
    }
    for to in [
        "https://{name}/",
        "https://h:{name}/",
        "https://h.example{name}",
        "https://h{name}.example/",
        "https://{name}{name}.example/",
        "https://{name}@h.example/",
        "https://h.{name}/",
    ] {
        is_one(
            &route(&format!("template = \"/r/{{name}}\"\nredirect = \"{to}\"")),
            &["G0207", "one whole label"],
        );
    }
    is_one(
        &route("path = \"/r/\"\nrewrite = { template = \"/%zz\" }"),
        &["G0207"],
    );
}

#[test]
fn a_redirect_in_a_circle_is_refused() {
    for text in [
        "exact = \"/a\"\nredirect = \"/a\"",
        "exact = \"/a\"\nredirect = \"/a#b\"",
        "exact = \"/a\"\nredirect = \"/%61\"",
        "exact = \"/a\"\nredirect = { to = \"/a\", status = 301 }",
        "exact = \"/a\"\nmethods = [\"GET\"]\nredirect = { to = \"/a\", status = 303 }",
        "exact = \"/a\"\nmethods = [\"POST\"]\nredirect = \"/a\"",
        "path = \"/a\"\nredirect = { to = \"/a/b\", keep_path = true }",
        "path = \"/a/\"\nredirect = \"/a/new\"",
        "glob = \"/a*\"\nredirect = \"/ab\"",
    ] {
        is_one(&route(text), &["G0312", "circle"]);
    }
    let all = route("path = \"/\"\nredirect = { to = \"/\", keep_path = true }");
    has(&all.concat(), &["G0312", "circle"]);
    for text in [
        "exact = \"/a\"\nredirect = \"/b\"",
        "exact = \"/a\"\nredirect = \"/a/\"",
        "exact = \"/a/\"\nredirect = \"/a\"",
        "exact = \"/a\"\nredirect = \"/a?x=1\"",
        "exact = \"/a\"\nredirect = \"https://h/a\"",
        "exact = \"/a\"\nmethods = [\"POST\"]\nredirect = { to = \"/a\", status = 303 }",
        "exact = \"/a\"\nwhen = { cookies = { a = \"1\" } }\nredirect = \"/a\"",
        "path = \"/a\"\nredirect = { to = \"/b\", keep_path = true }",
        "path = \"/a\"\nredirect = { to = \"/ab\", keep_path = true }",
        "template = \"/a/{b}\"\nredirect = \"/a/{b}/\"",
    ] {
        assert_eq!(route(text), [""; 0], "{text}");
    }
    let own = "routes.index = { exact = \"/r/index\", answer = 200 }";
    let both = Parts {
        site: own,
        route: "path = \"/r/\"\nredirect = \"/r/index\"",
        ..SOUND
    };
    assert_eq!(both.told(), [""; 0]);
    let cookie = Parts {
        site: "response_edits = { set = { set-cookie = \"seen=1\" } }\nroutes.seen = { exact = \"/a\", when = { cookies = { seen = true } }, priority = 1, answer = 200 }",
        route: "exact = \"/a\"\nredirect = \"/a\"",
        ..SOUND
    };
    assert_eq!(cookie.told(), [""; 0]);
}

#[test]
fn www_is_put_before_a_name_and_taken_from_one() {
    for word in ["add", "remove"] {
        is_one(
            &site(&format!("hosts = [\"*.example\"]\nwww = \"{word}\"")),
            &["G0312", "www"],
        );
    }
    for text in [
        "hosts = [\"*.example\", \"a.example\"]\nwww = \"add\"",
        "hosts = [\"*.example\"]\nwww = \"keep\"",
        "hosts = [\"www.a.example\", \"a.example\"]\nwww = \"add\"",
    ] {
        assert_eq!(site(text), [""; 0], "{text}");
    }
    let other = |hosts: &str, www: &str, listener: &str| {
        format!(
            "[listeners.two]\nbind = \"127.0.0.1:81\"\n[sites.two]\nlistener = \"two\"\npool = \"p\"\n\
             [sites.other]\nlistener = \"{listener}\"\nhosts = [\"{hosts}\"]\nwww = \"{www}\"\npool = \"p\"\n"
        )
        .replace(
            if listener == "two" { "[sites.two]\nlistener = \"two\"\npool = \"p\"\n" } else { "\u{0}" },
            "",
        )
    };
    for (one, www, more) in [
        ("a.example", "add", other("www.a.example", "remove", "web")),
        ("www.a.example", "remove", other("a.example", "add", "web")),
    ] {
        let site = &*format!("hosts = [\"{one}\"]\nwww = \"{www}\"");
        let more = &*more;
        is_one(
            &Parts {
                site,
                more,
                ..SOUND
            }
            .told(),
            &["G0312", "circle"],
        );
    }
    for (one, www, more) in [
        ("a.example", "add", other("www.a.example", "remove", "two")),
        ("a.example", "add", other("www.a.example", "keep", "web")),
        ("a.example", "add", other("www.b.example", "remove", "web")),
    ] {
        let site = &*format!("hosts = [\"{one}\"]\nwww = \"{www}\"");
        let more = &*more;
        let found = Parts {
            site,
            more,
            ..SOUND
        }
        .told();
        assert_eq!(found, [""; 0]);
    }
}

#[test]
fn an_answer_has_a_body_where_http_allows_one() {
    for status in [204, 205, 304] {
        is_one(
            &route(&format!(
                "path = \"/r/\"\nanswer = {{ status = {status}, body = \"x\" }}"
            )),
            &["G0312", "body"],
        );
        assert_eq!(
            route(&format!("path = \"/r/\"\nanswer = {status}")),
            [""; 0]
        );
    }
    for status in [301, 302, 303, 307, 308] {
        for answer in [format!("{status}"), format!("{{ status = {status} }}")] {
            is_one(
                &route(&format!("path = \"/r/\"\nanswer = {answer}")),
                &["G0204", &format!("@{status}@"), "redirect"],
            );
        }
    }
    for status in [200, 300, 404, 503] {
        let found = route(&format!(
            "path = \"/r/\"\nanswer = {{ status = {status}, body = \"x\" }}"
        ));
        assert_eq!(found, [""; 0], "{status}");
    }
}

#[test]
fn a_node_without_a_name_may_have_a_long_address() {
    let long = "internal-orders-production-1234567890.eu-central-1.elb.amazonaws.com";
    let pool = &*format!("nodes = [\"{long}:80\", \"{long}:81\", {{ addr = \"{long}:82\" }}]");
    assert_eq!(Parts { pool, ..SOUND }.told(), [""; 0]);
    let label = "a".repeat(63);
    let pool = &*format!("nodes = [\"{label}.{label}.{label}.example:65535\"]");
    assert_eq!(Parts { pool, ..SOUND }.told(), [""; 0]);
    let pool = &*format!("nodes = [{{ addr = \"a:1\", name = \"{long}\" }}]");
    is_one(&Parts { pool, ..SOUND }.told(), &["G0101", "63"]);
}

#[test]
fn a_list_that_is_needed_is_not_to_be_left_out() {
    let more = "[address_sets.o]\ncidrs = []\n";
    let site = "allow_from = [\"@o\"]";
    let found = Parts {
        site,
        more,
        ..SOUND
    }
    .told();
    is_one(&found, &["G0310"]);
    assert!(!found.concat().contains("leave it out"), "{found:?}");
    let text = |listener: &str| {
        format!(
            "[listeners.web]\nbind = \"127.0.0.1:1\"\n[pools.p]\nnodes = [\"a:1\"]\n\
             [sites.a]\n{listener}hosts = []\npool = \"p\"\n[sites.b]\n{listener}hosts = []\npool = \"p\"\n"
        )
    };
    let found = told(&text("listener = \"web\"\n"));
    assert_eq!(found.len(), 2, "{found:#?}");
    has(&found[0], &["G0310"]);
    has(&found[1], &["G0310"]);
}

#[test]
fn a_network_is_listed_once() {
    for list in [
        "\"10.0.0.0/8\", \"10.0.0.0/8\"",
        "\"10.0.0.1\", \"10.0.0.1/32\"",
        "\"2001:db8::/32\", \"2001:DB8:0::/32\"",
        "\"@o\", \"@o\"",
    ] {
        let more = "[address_sets.o]\ncidrs = [\"192.0.2.0/24\"]\n[sites.used]\nlistener = \"web\"\nhosts = [\"u\"]\nallow_from = [\"@o\"]\npool = \"p\"\n";
        let site = &*format!("allow_from = [{list}]");
        let found = Parts {
            site,
            more,
            ..SOUND
        }
        .told();
        is_one(&found, &["G0102", "listed twice"]);
        let listener = &*format!("bind = \"127.0.0.1:80\"\ntrusted_proxies = [{list}]");
        let found = Parts {
            listener,
            more,
            ..SOUND
        }
        .told();
        is_one(&found, &["G0102", "listed twice"]);
    }
    let more = "[address_sets.o]\ncidrs = [\"192.0.2.0/24\", \"192.0.2.0/24\"]\n";
    let site = "allow_from = [\"@o\"]";
    let found = Parts {
        site,
        more,
        ..SOUND
    }
    .told();
    is_one(&found, &["G0102", "listed twice"]);
    let site = "allow_from = [\"10.0.0.0/8\", \"10.1.0.0/16\"]";
    assert_eq!(Parts { site, ..SOUND }.told(), [""; 0]);
}

#[test]
fn a_network_that_cannot_be_read_is_told_why() {
    let from = |text: &str| site(&format!("allow_from = [\"{text}\"]"));
    is_one(&from("10.0.0.0/8/8"), &["G0201", "a number of bits"]);
    is_one(&from("10.0.0.0/08"), &["G0201", "`10.0.0.0/8`"]);
    is_one(&from("::/00"), &["G0201", "`::/0`"]);
    is_one(&from("10.0.0.0/+8"), &["G0201", "a number of bits"]);
    assert_eq!(from("0.0.0.0/0"), [""; 0]);
}

#[test]
fn a_host_is_told_why_it_is_none_and_one_dot_at_its_end_is_none() {
    is_one(&site("hosts = [\"[::1]\"]"), &["G0208", "IPv6"]);
    for hosts in ["z.example.", "Z.example.", "*.example."] {
        let text = format!("hosts = [\"{hosts}\"]");
        assert_eq!(site(&text), [""; 0]);
    }
    is_one(&site("hosts = [\"z.example..\"]"), &["G0208"]);
    is_one(&site("hosts = [\".\"]"), &["G0208"]);
    is_one(
        &site("hosts = [\"z.example.\", \"Z.example\"]"),
        &["G0102", "twice"],
    );
    is_one(
        &site("hosts = [\"z.example\"]\naliases = [\"z.example.\"]"),
        &["G0102", "twice"],
    );
    assert_eq!(
        site("hosts = [\"z.example.\"]\naliases = [\"y.example.\"]"),
        [""; 0]
    );
    let more = "[sites.b]\nlistener = \"web\"\nhosts = [\"z.example\"]\npool = \"p\"\n";
    let site = "hosts = [\"z.example.\"]";
    let found = Parts {
        site,
        more,
        ..SOUND
    }
    .told();
    is_one(&found, &["G0304"]);
    let pool = "nodes = [\"db.example.:80\"]";
    is_one(
        &Parts { pool, ..SOUND }.told(),
        &["G0202", "without the `.` at its end"],
    );
}

#[test]
fn a_star_is_told_how_every_path_is_written() {
    for kind in ["exact", "path"] {
        is_one(
            &route(&format!("{kind} = \"*\"")),
            &["G0207", "path = \"/\""],
        );
    }
}

#[test]
fn what_no_request_of_a_site_has_is_refused() {
    is_one(
        &route("path = \"/r/\"\nwhen = { cookies = { a = \"b;c\" } }"),
        &["G0208", "`;`"],
    );
    assert_eq!(
        route("path = \"/r/\"\nwhen = { headers = { a = \"b;c\" }, cookies = { a = \"b=c\" } }"),
        [""; 0]
    );
    for method in ["CONNECT", "TRACE"] {
        is_one(
            &route(&format!(
                "path = \"/r/\"\nmethods = [\"GET\", \"{method}\"]"
            )),
            &["G0312", &format!("@\"{method}\"@"), "405"],
        );
    }
    let decoded = Parts {
        site: "segments = \"decoded\"",
        route: "path = \"/r/\"\nmethods = [\"TRACE\"]",
        ..SOUND
    };
    assert_eq!(decoded.told(), [""; 0]);
}

#[test]
fn a_copy_is_one_of_another_node_of_the_pool() {
    let nodes = |shards: &str, replica: &str| {
        let pool = &*format!(
            "nodes = [{{ addr = \"a:1\", name = \"a\", shards = \"{shards}\" }}, {{ addr = \"b:1\", name = \"b\", replica = \"{replica}\" }}]"
        );
        Parts { pool, ..SOUND }.told()
    };
    assert_eq!(nodes("0..", "a"), [""; 0]);
    is_one(&nodes("0..", "b"), &["G0505", "of itself"]);
    is_one(&nodes("0..", "aa"), &["G0505", "`aa`", "no such node"]);
    is_one(&nodes("0..\\n", "a"), &["G0508", "shards"]);
}

#[test]
fn a_listener_that_nothing_uses_is_told_of() {
    let more = "[listeners.idle]\nbind = \"127.0.0.1:81\"\n";
    is_one(
        &Parts { more, ..SOUND }.told(),
        &["G0105", "listener `idle`"],
    );
    let door = "[front_door.db]\nlisten = \"127.0.0.1:81\"\nupstreams = { a = \"127.0.0.1:82\" }\n";
    assert_eq!(
        Parts {
            more: door,
            ..SOUND
        }
        .told(),
        [""; 0]
    );
}

#[test]
fn a_body_that_is_read_whole_fits_into_the_memory_for_bodies() {
    let buffer = |size: &str, memory: &str| {
        let route = &*format!("path = \"/r/\"\nbody = {{ buffer = \"{size}\" }}");
        let more = &*format!("[limits]\nbody_memory = \"{memory}\"\n");
        Parts {
            route,
            more,
            ..SOUND
        }
        .told()
    };
    assert_eq!(buffer("1 MiB", "1 MiB"), [""; 0]);
    is_one(&buffer("2 MiB", "1 MiB"), &["G0312", "body"]);
    is_one(
        &route("path = \"/r/\"\nbody = { buffer = \"1 GiB\" }"),
        &["G0312", "256 MiB"],
    );
}

#[test]
fn a_slow_start_that_a_hash_knows_nothing_of_is_refused() {
    let found = |balance: &str, time: &str| {
        let pool =
            format!("nodes = [\"10.0.0.1:80\"]\nbalance = {balance}\nslow_start = \"{time}\"");
        Parts {
            pool: &pool,
            ..SOUND
        }
        .told()
    };
    is_one(&found("{ by = \"uri\" }", "4s"), &["G0312", "slow_start"]);
    assert_eq!(found("{ by = \"uri\" }", "0s"), [""; 0]);
    assert_eq!(found("\"random\"", "4s"), [""; 0]);
}
