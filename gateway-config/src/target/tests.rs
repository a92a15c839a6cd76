use proptest::prelude::*;

use super::*;
use crate::model::RefusedKey;
use crate::template::Template;

fn route(name: &str, method: &str, pattern: Pattern, query: &[&str]) -> Route {
    Route {
        methods: vec![method.into()],
        query: Some(query.iter().map(|key| (*key).into()).collect()),
        refuse_query: vec![RefusedKey {
            key: "min_txn".into(),
            because: "no".into(),
        }],
        ..Route::new(name.into(), pattern, "p".into())
    }
}

fn site(segments: Segments, routes: Vec<Route>) -> Site {
    Site {
        segments,
        routes,
        ..Site::new("s".into(), "l".into())
    }
}

fn template(text: &str) -> Pattern {
    Pattern::Template(Template::parse(text).unwrap())
}

fn door() -> Site {
    site(
        Segments::Decoded,
        vec![
            route(
                "field",
                "POST",
                template("/table/{t}/field/{f}"),
                &["kind", "database"],
            ),
            route(
                "records",
                "GET",
                template("/table/{t}/records"),
                &["after", "limit", "database"],
            ),
            route("table", "POST", template("/table/{t}"), &[]),
            route("schema", "GET", template("/schema"), &[]),
        ],
    )
}

fn edge() -> Site {
    let mut api = route("api", "GET", Pattern::Prefix("/api/".into()), &[]);
    api.query = None;
    site(Segments::Normalised, vec![api])
}

fn sent(site: &Site, method: &str, target: &[u8]) -> Option<String> {
    site.route(method, target)
        .ok()
        .map(|found| found.path_and_query)
}

#[test]
fn targets_that_match_are_rebuilt() {
    for (method, target, expected) in [
        ("GET", "/schema", "/schema"),
        ("GET", "//schema/", "/schema"),
        ("GET", "/sch%65ma", "/schema"),
        ("GET", "/schema?x=1", "/schema"),
        ("GET", "http://any.example/schema", "/schema"),
        ("GET", "HTTPS://u@h:1//schema?", "/schema"),
        ("POST", "/table/a%2fb", "/table/a%2Fb"),
        ("POST", "/table/%c3%a9", "/table/%C3%A9"),
        ("POST", "/table/a+b", "/table/a%2Bb"),
        ("POST", "/table/100%", "/table/100%25"),
        ("POST", "/table/%ff", "/table/%25ff"),
        ("POST", "/table/...", "/table/..."),
        (
            "GET",
            "/table/t/records?limit=5&after=a+b&limit=6",
            "/table/t/records?after=a+b&limit=5",
        ),
        (
            "GET",
            "/table/t/records?limit&limit=7",
            "/table/t/records?limit=7",
        ),
        ("GET", "/table/t/records?l%69mit=5", "/table/t/records"),
        (
            "GET",
            "/table/t/records?after=%zz%2b",
            "/table/t/records?after=%25zz%2B",
        ),
        ("GET", "/table/t/records?min_txn", "/table/t/records"),
        (
            "GET",
            "/table/t/records?database=",
            "/table/t/records?database=",
        ),
    ] {
        assert_eq!(
            sent(&door(), method, target.as_bytes()).as_deref(),
            Some(expected),
            "{target}"
        );
    }
}

#[test]
fn everything_else_is_no_such_route() {
    for (method, target) in [
        ("get", "/schema"),
        ("HEAD", "/schema"),
        ("POST", "/schema"),
        ("GET", "/Schema"),
        ("GET", "/schema/x"),
        ("GET", "/schema%2f"),
        ("GET", "/schema;x"),
        ("GET", "/./schema"),
        ("GET", "/table/../schema"),
        ("POST", "/table/."),
        ("POST", "/table/.."),
        ("POST", "/table/%2e%2E"),
        ("POST", "/table/a%00"),
        ("POST", "/table/%c2%85"),
        ("OPTIONS", "*"),
        ("CONNECT", "h:1"),
        ("GET", ""),
        ("GET", "schema"),
        ("GET", "ftp://h/schema"),
        ("GET", "http://h"),
        ("GET", "/internal/query"),
    ] {
        assert_eq!(
            door().route(method, target.as_bytes()),
            Err(Unrouted::NoSuchRoute),
            "{target}"
        );
    }
}

#[test]
fn a_refused_key_is_answered_only_where_the_route_exists() {
    let refused = door();
    assert_eq!(
        refused.route("GET", b"/schema?a=1&min_txn="),
        Err(Unrouted::RefusedQuery {
            route: "schema",
            because: "no"
        })
    );
    assert_eq!(
        refused.route("GET", b"/nope?min_txn=1"),
        Err(Unrouted::NoSuchRoute)
    );
}

#[test]
fn a_prefix_sees_and_sends_the_normalised_path() {
    for (target, expected) in [
        ("/api", Some("/api")),
        ("/api/", Some("/api/")),
        (
            "//api///x/./y/../%7ez%2f?q=%7e#",
            Some("/api/x/~z%2F?q=%7e%23"),
        ),
        ("/x/../api/y/..", Some("/api/")),
        ("/x/%2e%2e/api", Some("/api")),
        ("/api/../../etc", None),
        ("/apix", None),
        ("/api%2fx", None),
        ("/API", None),
    ] {
        assert_eq!(
            sent(&edge(), "GET", target.as_bytes()).as_deref(),
            expected,
            "{target}"
        );
    }
}

/// Pieces from which hostile targets are put together.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(vec![
            "/", "//", ".", "..", "%2e", "%2E%2e", "%2f", "%5c", "\\", "%", "%00", "%ff", "%c3%a9",
            "+", "?", "&", "=", "#", ";", "table", "schema", "records", "TABLE", "t%61ble",
            "field", "http://h", "api", "internal", "limit=", "after=", "\u{85}", " ",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..3),
    ]
}

fn hostile() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), 0..14).prop_map(|all| {
        let mut target = b"/".to_vec();
        target.extend(all.concat());
        target
    })
}

fn has_door_shape(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let legal = |name: &str| {
        !name.is_empty()
            && name != "."
            && name != ".."
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.~%".contains(&b))
    };
    match parts.as_slice() {
        ["schema"] => true,
        ["table", t] | ["table", t, "records"] => legal(t),
        ["table", t, "field", f] => legal(t) && legal(f),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_bytes_panic(target in prop::collection::vec(any::<u8>(), 0..64), method in ".{0,6}") {
        let _ = door().route(&method, &target);
        let _ = edge().route(&method, &target);
    }

    #[test]
    fn no_mutation_leaves_the_shape_of_the_template(target in hostile(), post in any::<bool>()) {
        let site = door();
        let method = if post { "POST" } else { "GET" };
        if let Ok(found) = site.route(method, &target) {
            let path = found.path_and_query.split('?').next().unwrap();
            prop_assert!(has_door_shape(path), "{target:?} gave {path}");
            prop_assert!(found.path_and_query.bytes().all(|b| b.is_ascii_graphic() && b != b'#'));
        }
    }

    #[test]
    fn what_was_rebuilt_is_rebuilt_the_same(target in hostile(), post in any::<bool>()) {
        let method = if post { "POST" } else { "GET" };
        for site in [door(), edge()] {
            if let Ok(first) = site.route(method, &target) {
                let again = site.route(method, first.path_and_query.as_bytes());
                prop_assert_eq!(again, Ok(first));
            }
        }
    }

    #[test]
    fn a_prefix_is_never_left(target in hostile()) {
        if let Some(path) = sent(&edge(), "GET", &target) {
            prop_assert!(path == "/api" || path.starts_with("/api/") || path.starts_with("/api?"));
            let clean = path.split('?').next().unwrap();
            prop_assert!(!clean.split('/').any(|one| one == "." || one == ".."));
        }
    }
}

mod explained;
mod paths;
