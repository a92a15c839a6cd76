//! What was meant is said: each cure can be written as it stands and is then right.

use super::{Parts, SOUND, has, told};

#[track_caller]
fn is_one(found: &[String], pieces: &[&str]) {
    assert_eq!(found.len(), 1, "{pieces:?}: {found:#?}");
    for piece in pieces {
        assert!(found[0].contains(piece), "{piece}: {found:#?}");
    }
}

fn site(site: &str) -> Vec<String> {
    Parts { site, ..SOUND }.told()
}

fn route(route: &str) -> Vec<String> {
    let site = "segments = \"normalised\"\nmerge_slashes = true";
    Parts {
        site,
        route,
        ..SOUND
    }
    .told()
}

#[test]
fn a_set_that_is_named_as_a_network_is_told_with_its_sign() {
    let more = "[address_sets.office]\ncidrs = [\"10.0.0.0/8\"]";
    let found = |site: &str| {
        Parts {
            site,
            more,
            ..SOUND
        }
        .told()
    };
    is_one(
        &found("allow_from = [\"office\"]"),
        &["G0201", "office", "write \"@office\""],
    );
    assert_eq!(found("allow_from = [\"@office\"]"), [""; 0]);
}

#[test]
fn a_name_that_is_not_legal_is_no_advice() {
    let found = told(
        "[listeners.web]\nbind = \"127.0.0.1:80\"\n[sites.s]\nlistener = \"web\"\npool = \"shop\"\n\
         [pools.\"shop \"]\nnodes = [\"10.0.0.1:80\"]\n",
    );
    assert!(found.iter().any(|one| one.contains("G0101")), "{found:#?}");
    assert!(
        !found.iter().any(|one| one.contains("did you mean")),
        "{found:#?}"
    );
}

#[test]
fn a_host_that_is_written_as_what_the_node_sees_is_one_of_the_hosts() {
    is_one(
        &site("host = \"shop.example\""),
        &["G0205", "hosts = [\"…\"]"],
    );
    is_one(
        &site("host = \"clint\""),
        &["G0205", "did you mean `client`?"],
    );
}

#[test]
fn what_others_have_and_we_do_not_is_told_with_what_there_is() {
    for name in ["include", "import"] {
        let found = told(&format!("{name} = [\"conf.d/*.toml\"]\n"));
        assert!(found[0].contains("there are no includes"), "{found:#?}");
    }
    let more = "[routes.x]\npath = \"/x\"";
    is_one(
        &Parts { more, ..SOUND }.told(),
        &["G0002", "[sites.NAME.routes.x]"],
    );
}

#[test]
fn each_piece_of_newer_toml_has_a_cure_of_its_own() {
    for (text, cure) in [
        (
            "request_edits = { set = { a = \"b\", }, }",
            "leave the comma out",
        ),
        (
            "request_edits = { set = { a = \"\\x41\" } }",
            "write \\u00 and the two digits",
        ),
        (
            "request_edits = {\nset = { a = \"b\" } }",
            "a header of its own",
        ),
    ] {
        let found = site(text);
        assert!(
            found
                .iter()
                .all(|one| one.contains("G0007") && one.contains(cure)),
            "{found:#?}"
        );
        assert!(!found.is_empty());
    }
}

#[test]
fn a_slip_in_a_value_is_told_with_what_to_write() {
    for (text, pieces) in [
        (
            "connections = 0100",
            &["write digits alone: connections = 100"][..],
        ),
        (
            "connections = 1,000",
            &["write digits alone: connections = 1000"],
        ),
        (
            "handshakes = 1k",
            &["write digits alone: handshakes = 1000"],
        ),
    ] {
        let more = &format!("[limits]\n{text}");
        is_one(&Parts { more, ..SOUND }.told(), pieces);
    }
    is_one(
        &site("hosts = [\"shop.example]"),
        &["G0001", "a text ends in its line"],
    );
    is_one(
        &site("hosts = [\n\"a.example\",\n\"b.example,\n]"),
        &["G0001", "a text ends in its line"],
    );
    is_one(
        &site("hosts = [\"a.example\", 1"),
        &["G0001", "is never closed"],
    );
    is_one(
        &route("regex = \"/a\\.b\""),
        &["G0001", "in single quotes", "'/a\\.b'"],
    );
}

#[test]
fn what_looks_like_a_pattern_and_is_none_is_told() {
    for (text, pieces) in [
        ("path = \"/a/*\"", &["G0318", "@*@", "path = \"/a/\""][..]),
        (
            "exact = \"/a/*.png\"",
            &["G0318", "@*@", "glob = \"/a/*.png\""],
        ),
        (
            "path = \"/c/:id/x\"",
            &["G0318", "@:id@", "template = \"/c/{id}/x\""],
        ),
        (
            "template = \"/c/:id\"",
            &["G0318", "@:id@", "template = \"/c/{id}\""],
        ),
        ("template = \"/c/*\"", &["G0318", "@*@", "{name}"]),
        (
            "regex = '/h/(.*)'\nredirect = \"/h2/$1\"",
            &["G0318", "@$1@", "{name}"],
        ),
        (
            "path = \"/h\"\nredirect = \"https://a.example${request_uri}\"",
            &["G0318"],
        ),
        (
            "path = \"/m\"\nmethods = [\"get\"]",
            &["G0318", "write \"GET\""],
        ),
    ] {
        let found = route(text);
        // A brace where none may be is refused by itself.
        let is_brace = text.contains("${");
        assert!(is_brace || found.len() == 1, "{found:#?}");
        assert!(
            is_brace || pieces.iter().all(|piece| found[0].contains(piece)),
            "{found:#?}"
        );
        assert!(!found.is_empty(), "{text}");
    }
    for text in [
        "glob = \"/a/*\"",
        "path = \"/a:b/c\"",
        "path = \"/:80\"",
        "path = \"/m\"\nmethods = [\"Get-It\", \"POST\"]",
        "path = \"/m\"\nredirect = \"https://a.example/$\"",
    ] {
        assert_eq!(route(text), [""; 0], "{text}");
    }
}

#[test]
fn a_field_that_is_set_to_a_variable_is_told_and_its_value_is_not_shown() {
    for edits in ["request_edits", "response_edits"] {
        for value in ["$scheme", "for=${remote_addr}", "a $http_x_a"] {
            let found = site(&format!("{edits} = {{ set = {{ X-A = \"{value}\" }} }}"));
            assert_eq!(found.len(), 1, "{found:#?}");
            has(&found[0], &["G0318", "`x-a`", "there are no variables"]);
            assert!(!found[0].contains(value), "{found:#?}");
        }
        let plain = format!("{edits} = {{ set = {{ X-A = \"5 $, 5$\" }} }}");
        assert_eq!(site(&plain), [""; 0]);
    }
}

#[test]
fn a_log_is_no_other_file_of_the_configuration() {
    let more = |path: &str| format!("[logs]\naccess = \"{path}\"");
    let found = |path: &str| {
        Parts {
            more: &more(path),
            ..SOUND
        }
        .told()
    };
    is_one(
        &found("./gateway.toml"),
        &["G0210", "the configuration itself"],
    );
    assert_eq!(found("./access.log"), [""; 0]);
    let more = &format!(
        "{}\n[tls.t]\nchain = \"t.pem\"\nkey = \"./k.pem\"",
        more("./k.pem")
    );
    let listener = "bind = \"127.0.0.1:80\"\ntls = \"t\"";
    is_one(
        &Parts {
            more,
            listener,
            ..SOUND
        }
        .told(),
        &["G0210", "for something else"],
    );
}

#[test]
fn routes_that_send_each_other_round_are_told_once() {
    let circle = |b: &str, more: &str| {
        let more = format!(
            "[sites.shop.routes.a]\npath = \"/a/\"\nredirect = \"/b\"\n\
             [sites.shop.routes.b]\n{b}\n{more}"
        );
        Parts {
            more: &more,
            ..SOUND
        }
        .told()
    };
    let b = "path = \"/b/\"\nredirect = \"/a\"";
    is_one(
        &circle(b, ""),
        &["G0312", "routes `a` and `b` redirect in a circle"],
    );
    let far = "path = \"/b/\"\nredirect = \"/c\"";
    let c = "[sites.shop.routes.c]\npath = \"/c/\"\nredirect = \"/b\"";
    is_one(
        &circle(far, c),
        &["G0312", "routes `b` and `c` redirect in a circle"],
    );
    for b in [
        "path = \"/b/\"\nredirect = \"/d\"",
        "path = \"/b/\"\nredirect = \"/a?x\"",
        "path = \"/b/\"\nredirect = \"/a\"\nmethods = [\"POST\"]",
        "path = \"/b/\"\nredirect = \"/a\"\nwhen = { cookies = { c = true } }",
        "path = \"/b/\"\nredirect = \"https://b.example/a\"",
    ] {
        assert_eq!(circle(b, ""), [""; 0], "{b}");
    }
}
