use crate::load_source;
use crate::source::Sources;

mod certain;
mod contradictions;
mod meant;

/// A configuration with nothing wrong in it, by its parts.
struct Parts<'a> {
    listener: &'a str,
    site: &'a str,
    route: &'a str,
    pool: &'a str,
    more: &'a str,
}

const SOUND: Parts<'_> = Parts {
    listener: "bind = \"127.0.0.1:80\"",
    site: "",
    route: "path = \"/r/\"",
    pool: "nodes = [\"10.0.0.1:80\"]",
    more: "",
};

impl Parts<'_> {
    /// What is found: code and title, what stands at the first place, and the cure.
    fn told(&self) -> Vec<String> {
        let Parts {
            listener,
            site,
            route,
            pool,
            more,
        } = self;
        told(&format!(
            "[listeners.web]\n{listener}\n\
             [sites.shop]\nlistener = \"web\"\npool = \"p\"\n{site}\n\
             [sites.shop.routes.r]\n{route}\n\
             [pools.p]\n{pool}\n{more}\n"
        ))
    }

    fn one(&self) -> String {
        let told = self.told();
        assert_eq!(told.len(), 1, "{told:#?}");
        told.concat()
    }
}

fn told(text: &str) -> Vec<String> {
    let mut sources = Sources::default();
    let id = sources.add("gateway.toml", text.to_owned());
    let found = match load_source(id, &mut sources) {
        Ok(loaded) => loaded.warnings,
        Err(found) => found,
    };
    let one = |one: &crate::Diagnostic| {
        let label = one.labels.first();
        let at = label.and_then(|label| {
            let text = sources.text(label.place.source);
            text.get(label.place.span.clone())
        });
        let said = label.map_or("", |label| &label.text);
        let help = one.cured_by().unwrap_or("");
        format!(
            "{} {} @{}@ {said} / {help}",
            one.code,
            one.title,
            at.unwrap_or("")
        )
    };
    found.iter().map(one).collect()
}

#[track_caller]
fn has(text: &str, pieces: &[&str]) {
    for piece in pieces {
        assert!(text.contains(piece), "no {piece:?} in {text:?}");
    }
}

#[test]
fn what_these_tests_change_is_sound() {
    assert_eq!(SOUND.told(), [""; 0]);
}

#[test]
fn the_access_log_goes_to_a_word_or_a_path_and_nothing_between() {
    let access = |text: &str| {
        let more = &*format!("[logs]\naccess = \"{text}\"\n");
        Parts { more, ..SOUND }.told()
    };
    for text in [
        "off",
        "stdout",
        "/var/log/access.log",
        "./access.log",
        "logs/access",
        "/dev/stderr",
    ] {
        assert_eq!(access(text), [""; 0], "{text}");
    }
    for (text, cure) in [
        ("OFF", "did you mean `off`?"),
        ("Stdout", "did you mean `stdout`?"),
        ("stdin", "`off`, `stdout`"),
        ("none", "./none"),
        ("stderr", "/dev/stderr"),
        ("access.log", "./access.log"),
        ("syslog://127.0.0.1:514", "off"),
        ("unix:/run/log", "off"),
        ("file:///var/log/access.log", "/var/log/access.log"),
        (" off", "did you mean `off`?"),
        ("/var/log/", "a directory"),
    ] {
        let found = access(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        has(&found.concat(), &["G0210", cure]);
    }
}

/// Every finding about these parts is that a text is no path, and there are so many.
#[track_caller]
fn are_no_paths(count: usize, parts: &Parts<'_>) {
    let found = parts.told();
    assert_eq!(found.len(), count, "{found:#?}");
    for one in found {
        has(&one, &["G0210"]);
    }
}

#[test]
fn no_path_is_empty() {
    for route in ["files = \"\"", "files = { root = \"\" }"] {
        let route = &*format!("path = \"/r/\"\n{route}");
        are_no_paths(1, &Parts { route, ..SOUND });
    }
    for page in ["", "/a\\nb"] {
        let site = &*format!("error_pages = {{ 404 = \"{page}\" }}");
        are_no_paths(1, &Parts { site, ..SOUND });
    }
    let pool = "nodes = [\"a:1\"]\ntls = { ca = \"\" }";
    are_no_paths(1, &Parts { pool, ..SOUND });
    for log in ["", "/a\\u0000b"] {
        let more = &*format!("[logs]\naccess = \"{log}\"\n");
        are_no_paths(1, &Parts { more, ..SOUND });
    }
    let listener = "bind = \"127.0.0.1:80\"\ntls = \"t\"";
    for (chain, key) in [("", "/k"), ("/c", "")] {
        let pair = format!("chain = \"{chain}\"\nkey = \"{key}\"\n");
        let more = &*format!("[tls.t]\n{pair}[[tls.t.also]]\n{pair}");
        are_no_paths(
            2,
            &Parts {
                listener,
                more,
                ..SOUND
            },
        );
    }
    let door = "[front_door.db]\nlisten = \"127.0.0.1:81\"\nupstreams = { a = \"127.0.0.1:82\" }\n";
    for (count, paths) in [
        (1, "cluster = \"\""),
        (2, "tls_cert = \"\"\ntls_key = \"\""),
        (1, "upstream_ca = \"\""),
    ] {
        let more = &*format!("{door}{paths}\n");
        are_no_paths(count, &Parts { more, ..SOUND });
    }
}

#[test]
fn what_a_file_holds_is_no_path_wherever_one_is_expected() {
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let door = "[front_door.db]\nupstreams = { a = \"127.0.0.1:82\" }\ntls_cert = \"/c\"\n";
    for text in [
        format!("\"{key}\""),
        format!("\"\"\"\n{key}\n\"\"\""),
        format!("\"\"\"\n{}\n{key}\"\"\"", &key[8..]),
        "\"-----BEGIN RSA PRIVATE KEY-----\"".to_owned(),
    ] {
        let more = &*format!("{door}tls_key = {text}\n");
        has(&Parts { more, ..SOUND }.one(), &["G0008"]);
        let more = &*format!("[logs]\naccess = {text}\n");
        has(&Parts { more, ..SOUND }.one(), &["G0008"]);
    }
}

#[test]
fn what_the_system_cannot_give_twice_is_refused() {
    let both = |one: &str, other: &str| {
        let listener = &*format!("bind = {one}");
        let more = &*format!(
            "[listeners.other]\nbind = {other}\n[sites.other]\nlistener = \"other\"\npool = \"p\"\n"
        );
        Parts {
            listener,
            more,
            ..SOUND
        }
        .told()
    };
    for (one, other) in [
        (r#""0.0.0.0:80""#, r#""[::]:80""#),
        (r#""0.0.0.0:80""#, r#""[::1]:80""#),
        (r#""0.0.0.0:80""#, r#""127.0.0.1:81""#),
        (r#""0.0.0.0:0""#, r#""127.0.0.1:0""#),
        (r#""127.0.0.1:80""#, r#""127.0.0.2:80""#),
        (
            "\"0.0.0.0:80\"\nreuse_port = true",
            "\"127.0.0.1:80\"\nreuse_port = true",
        ),
        (
            "\"[::]:80\"\nv6only = false\nreuse_port = true",
            "\"0.0.0.0:80\"\nreuse_port = true",
        ),
    ] {
        assert_eq!(both(one, other), [""; 0], "{one} {other}");
    }
    for (one, other) in [
        (r#""127.0.0.1:80""#, r#""127.0.0.1:80""#),
        (r#""[::1]:80""#, r#""[0:0::1]:80""#),
        (r#""0.0.0.0:80""#, r#""127.0.0.1:80""#),
        (r#""127.0.0.1:80""#, r#""0.0.0.0:80""#),
        (r#""[::]:80""#, r#""[::1]:80""#),
        ("\"[::]:80\"\nv6only = false", r#""0.0.0.0:80""#),
        ("\"[::]:80\"\nv6only = false", r#""127.0.0.1:80""#),
        (
            "\"[::ffff:127.0.0.1]:80\"\nv6only = false",
            r#""127.0.0.1:80""#,
        ),
        (
            "\"[::ffff:0.0.0.0]:80\"\nv6only = false",
            r#""127.0.0.1:80""#,
        ),
        ("\"0.0.0.0:80\"\nreuse_port = true", r#""127.0.0.1:80""#),
        (
            "\"127.0.0.1:80\"\nreuse_port = true",
            "\"127.0.0.1:80\"\nreuse_port = true",
        ),
        (r#"["0.0.0.0:80", "127.0.0.1:80"]"#, r#""127.0.0.1:81""#),
    ] {
        let found = both(one, other);
        assert_eq!(found.len(), 1, "{one} {other}: {found:#?}");
        has(&found.concat(), &["G0303"]);
    }
    let admin = "[admin]\nbind = \"0.0.0.0:80\"\n";
    has(
        &Parts {
            more: admin,
            ..SOUND
        }
        .one(),
        &["G0303", "listener `web`"],
    );
    let door = "[front_door.db]\nlisten = \"127.0.0.1:80\"\nupstreams = { a = \"127.0.0.1:82\" }\n";
    let listener = "bind = \"0.0.0.0:80\"";
    has(
        &Parts {
            listener,
            more: door,
            ..SOUND
        }
        .one(),
        &["G0303"],
    );
}

#[test]
fn an_ipv4_address_written_as_ipv6_is_not_listened_on_by_ipv6_alone() {
    let listener = "bind = \"[::ffff:127.0.0.1]:80\"";
    has(
        &Parts { listener, ..SOUND }.one(),
        &["G0202", "`127.0.0.1:80`"],
    );
    let door = "[front_door.db]\nlisten = \"[::ffff:127.0.0.1]:7650\"\nupstreams = { a = \"127.0.0.1:82\" }\n";
    has(&told(door).concat(), &["G0202", "`127.0.0.1:7650`"]);
}

#[test]
fn an_error_page_is_for_three_digits() {
    for key in [
        "0404", "\"+404\"", "\" 404\"", "\"\"", "\"4O4\"", "40", "4040", "399", "600",
    ] {
        let site = &*format!("error_pages = {{ 404 = \"/a\", {key} = \"/b\" }}");
        has(
            &Parts { site, ..SOUND }.one(),
            &["G0204", &format!("@{key}@")],
        );
    }
    let site = "error_pages = { 400 = \"/a\", 599 = \"/b\" }";
    assert_eq!(Parts { site, ..SOUND }.told(), [""; 0]);
}

#[test]
fn nodes_are_compared_by_where_they_lead() {
    for (one, other) in [
        ("[::1]:80", "[0:0:0:0::1]:80"),
        ("[2001:DB8::1]:80", "[2001:db8:0::1]:80"),
        ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
        ("[::ffff:a00:1]:80", "10.0.0.1:80"),
        ("Node.example:80", "node.example:80"),
    ] {
        let pool = &*format!(
            "nodes = [{{ addr = \"{one}\", name = \"a\" }}, {{ addr = \"{other}\", name = \"b\" }}]"
        );
        has(&Parts { pool, ..SOUND }.one(), &["G0507", other]);
    }
    for other in ["10.0.0.1:81", "10.0.0.2:80", "[::1]:80"] {
        let pool = &*format!("nodes = [\"10.0.0.1:80\", \"{other}\"]");
        assert_eq!(Parts { pool, ..SOUND }.told(), [""; 0]);
    }
}

#[test]
fn a_port_is_digits_without_a_zero_before_them() {
    for (port, why) in [
        ("080", "zero"),
        ("+80", "digits"),
        ("-80", "digits"),
        ("http", "digits"),
        ("", "missing"),
        ("99999", "65535"),
        ("0x50", "digits"),
    ] {
        let pool = &*format!("nodes = [\"a:{port}\"]");
        has(&Parts { pool, ..SOUND }.one(), &["G0202", why]);
        let listener = &*format!("bind = \"127.0.0.1:{port}\"");
        has(&Parts { listener, ..SOUND }.one(), &["G0202", why]);
        let listener = &*format!("bind = \"[::1]:{port}\"");
        has(&Parts { listener, ..SOUND }.one(), &["G0202", why]);
    }
}

#[test]
fn a_name_given_to_a_site_and_a_front_door_is_one_finding_each() {
    let door = |name: &str| {
        format!(
            "[front_door.{name}]\nlisten = \"127.0.0.1:81\"\nupstreams = {{ a = \"127.0.0.1:82\" }}\n"
        )
    };
    has(
        &Parts {
            more: &door("shop"),
            ..SOUND
        }
        .one(),
        &["G0102", "sites"],
    );
    has(
        &Parts {
            more: &door("p"),
            ..SOUND
        }
        .one(),
        &["G0102", "pools"],
    );
    let on_door = "[sites.db]\nlistener = \"db\"\npool = \"db\"\n";
    let found = told(&(on_door.to_owned() + &door("db")));
    assert_eq!(found.len(), 1, "{found:#?}");
    let same = door("web").replace(":81", ":80");
    has(
        &Parts {
            more: &same,
            ..SOUND
        }
        .one(),
        &["G0102", "listeners"],
    );
}

#[test]
fn a_node_with_a_bad_name_and_a_bad_address_has_two_findings() {
    let door = "[front_door.db]\nupstreams = { \"a b\" = \"localhost\" }\n";
    let found = told(door);
    assert_eq!(found.len(), 2, "{found:#?}");
    has(&found.concat(), &["G0101", "G0202"]);
    let pool = "nodes = [{ addr = \"localhost\", name = \"a b\" }, \"a b:1\"]";
    let found = Parts { pool, ..SOUND }.told();
    assert_eq!(found.len(), 3, "{found:#?}");
}

#[test]
fn the_reason_is_the_real_one() {
    let bind = |text: &str| {
        let listener = &*format!("bind = \"{text}\"");
        Parts { listener, ..SOUND }.one()
    };
    for text in [":80", "*:80"] {
        has(&bind(text), &["`0.0.0.0:80`", "`[::]:80`"]);
    }
    let drain = |text: &str| {
        let more = &*format!("[drain]\ndeadline = {text}\n");
        Parts { more, ..SOUND }.one()
    };
    has(&drain("\"1h30m\""), &["one number and one unit", "\"90m\""]);
    has(
        &drain("\"1m 30s\""),
        &["one number and one unit", "\"90s\""],
    );
    has(&drain("\"1.5s\""), &["whole number"]);
    has(&drain("\"NaN\""), &["whole number"]);
    let limit = |text: &str| {
        let more = &*format!("[limits]\nconnections = {text}\n");
        Parts { more, ..SOUND }.one()
    };
    has(&limit("nan"), &["not a number"]);
    has(&limit("-inf"), &["without end"]);
    has(&limit("1.5"), &["a number with a fraction"]);
    for (kind, text, why) in [
        ("exact", "/a?b=c", "when.query"),
        ("path", "/a?b=c", "when.query"),
        ("template", "/a?b=c", "when.query"),
        ("exact", "/a#b", "fragment"),
        ("exact", "a", "begins with `/`"),
        ("exact", "", "begins with `/`"),
        ("exact", "/a b", "\"/a%20b\""),
        ("exact", "https://shop.example/a", "begins with `/`"),
    ] {
        let route = &*format!("{kind} = \"{text}\"");
        has(&Parts { route, ..SOUND }.one(), &["G0207", why]);
    }
    let site = "request_edits = { set = { x-a = \" b \" } }";
    has(&Parts { site, ..SOUND }.one(), &["G0208", "spaces around"]);
    let route = "path = \"/r/\"\nwhen = { headers = { x-a = \"b \" } }";
    has(&Parts { route, ..SOUND }.one(), &["G0208", "spaces around"]);
}

#[test]
fn a_network_of_ipv4_written_as_ipv6_is_told_what_it_is() {
    let from = |text: &str| {
        let site = &*format!("allow_from = [\"{text}\"]");
        Parts { site, ..SOUND }.told().concat()
    };
    has(&from("::ffff:10.0.0.0/104"), &["G0201", "`10.0.0.0/8`"]);
    has(&from("::ffff:10.0.0.1/128"), &["G0201", "`10.0.0.1/32`"]);
    has(&from("::ffff:10.0.0.0/8"), &["G0201", "written as IPv6"]);
    has(&from("::ffff:0:0/96"), &["G0201", "`0.0.0.0/0`"]);
    assert_eq!(from("::ffff:10.0.0.1"), "");
    has(&from("10.0.0.0/33"), &["at most /32"]);
}

#[test]
fn what_is_listed_twice_is_refused() {
    for site in [
        "request_edits = { remove = [\"x-a\", \"X-A\"] }",
        "response_edits = { remove = [\"x-a\", \"x-a\"] }",
        "request_fields = [\"x-a\", \"X-a\"]",
        "response_fields = [\"x-a\", \"x-a\"]",
        "aliases = [\"b.example\", \"B.example\"]\nhosts = [\"a.example\"]",
        "hosts = [\"a.example\", \"A.example\"]",
    ] {
        has(&Parts { site, ..SOUND }.one(), &["G0102", "twice"]);
    }
    let route = "path = \"/r/\"\nmethods = [\"GET\", \"POST\", \"GET\"]";
    has(
        &Parts { route, ..SOUND }.one(),
        &["G0102", "`GET` is listed twice"],
    );
    let route = "path = \"/r/\"\nquery = [\"a\", \"a\"]";
    has(&Parts { route, ..SOUND }.one(), &["G0102", "twice"]);
    let more = "[logs]\nredact = [\"a\", \"a\"]\n";
    has(&Parts { more, ..SOUND }.one(), &["G0102", "twice"]);
    let pool = "nodes = [\"10.0.0.1:80\"]\nprobe = { expect = [200, 204, 200] }";
    has(&Parts { pool, ..SOUND }.one(), &["G0102", "twice"]);
    let text = "[listeners.web]\nbind = \"127.0.0.1:80\"\n[sites.s]\nlistener = [\"web\", \"web\"]\npool = \"p\"\n[pools.p]\nnodes = [\"10.0.0.1:80\"]\n";
    has(&told(text).concat(), &["G0102", "`web` is listed twice"]);
    let route = "path = \"/r/\"\nmethods = [\"PURGE\", \"purge\"]";
    assert_eq!(Parts { route, ..SOUND }.told(), [""; 0]);
}

#[test]
fn a_profile_is_for_a_site_that_is_served_under_tls() {
    let text = |one: &str, other: &str, more: &str| {
        let site = format!("[sites.s]\nlistener = [\"a\", \"b\"]\npool = \"p\"\n{more}");
        format!(
            "[listeners.a]\nbind = \"127.0.0.1:80\"\n{one}[listeners.b]\nbind = \"127.0.0.1:81\"\n{other}\
             {site}[pools.p]\nnodes = [\"10.0.0.1:80\"]\n[tls.t]\nchain = \"/c\"\nkey = \"/k\"\n"
        )
    };
    let (own, encrypted) = ("tls = \"t\"\n", "tls = \"t\"\nstrict_sni = true\n");
    let named = format!("hosts = [\"h.example\"]\n{own}");
    let told = |one, other, more| self::told(&text(one, other, more)).concat();

    has(&told("", "", own), &["G0312", "`tls` has no effect here"]);
    assert_eq!(told("", own, own), "");
    has(
        &told("", encrypted, own),
        &["G0312", "`strict_sni` has no effect here"],
    );
    assert_eq!(told("", encrypted, &named), "");
}

#[test]
fn a_pattern_that_no_path_matches_is_refused() {
    for (kind, text) in [
        ("regex", ""),
        ("regex", "api/.*"),
        ("regex", "(a|b)*"),
        ("regex", "[^/]+"),
        ("glob", ""),
        ("glob", "*"),
        ("glob", "*.php"),
        ("glob", "{a,b}"),
        ("glob", "?a"),
    ] {
        let route = &*format!("{kind} = '{text}'");
        has(
            &Parts { route, ..SOUND }.one(),
            &["G0207", "begins with `/`"],
        );
    }
    for (kind, text) in [
        ("regex", "/"),
        ("regex", ".*\\.php"),
        ("regex", "(?:a*)/x"),
        ("regex", "(a|/b)c"),
        ("regex", "\\W.*"),
        ("regex", "(?i)/A"),
        ("glob", "**"),
        ("glob", "/*"),
        ("glob", "**/*.php"),
        ("glob", "{/a,/b}"),
    ] {
        let route = &*format!("{kind} = '{text}'");
        let found = Parts { route, ..SOUND }.told().concat();
        assert!(
            kind == "glob" && text == "?a" || found.is_empty(),
            "{found}"
        );
    }
}
