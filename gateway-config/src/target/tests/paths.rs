//! Sites with normalised paths: which route wins, whatever the order and the way of looking it up.

use std::net::IpAddr;

use super::*;
use crate::check::routes::sort;
use crate::model::{Condition, Files, Model, Redirect, Rewrite, When};
use crate::networks::{self, Networks};
use crate::snapshot::Snapshot;
use crate::spelling::Spelling;

pub(super) fn exact(path: &str) -> Pattern {
    Pattern::Exact(path.into())
}

pub(super) fn prefix(path: &str) -> Pattern {
    Pattern::Prefix(path.into())
}

pub(super) fn of(name: &str, pattern: Pattern) -> Route {
    Route::new(name.into(), pattern, "p".into())
}

/// The site as a snapshot has it, and the same without a look-up.
pub(super) fn served(mut routes: Vec<Route>) -> (Site, Site) {
    sort(&mut routes);
    let plain = site(Segments::Normalised, routes);
    let mut model = Model::new();
    model.sites.push(plain.clone());
    let snapshot = Snapshot::new(model);
    (snapshot.model().sites[0].clone(), plain)
}

fn winner<'a>(site: &'a Site, target: &str) -> &'a str {
    site.route("GET", target.as_bytes())
        .map_or("none", |matched| &matched.route.name)
}

fn of_all_kinds() -> Vec<Route> {
    let mut early = of("early", prefix("/a/early/"));
    early.priority = 1;
    vec![
        of("own", prefix("/")),
        of("area", prefix("/a/")),
        of("deep", prefix("/a/b/c")),
        of("exact", exact("/a/b/c")),
        of("template", template("/a/{x}/c")),
        of("literal", template("/a/b/{x}")),
        of("glob", Pattern::Glob("/a/**/*.png".into())),
        of("regex", Pattern::Regex("/a/[0-9]+(/.*)?".into())),
        early,
    ]
}

#[test]
fn the_more_exact_pattern_wins_and_priority_before_all() {
    let (site, _) = served(of_all_kinds());
    for (target, wins) in [
        ("/a/b/c", "exact"),
        ("/a/b/x", "literal"),
        ("/a/x/c", "template"),
        ("/a/x/y.png", "glob"),
        ("/a/7/y.png", "glob"),
        ("/a/7/y", "regex"),
        ("/a/b/c/d", "deep"),
        ("/a/x", "area"),
        ("/a", "area"),
        ("/ab", "own"),
        ("/", "own"),
        ("/a/early/y.png", "early"),
        ("/a//b/./x/../%63", "exact"),
        ("/a/b%2Fc", "area"),
        ("/a/%00", "none"),
        ("/a/%FF", "area"),
    ] {
        assert_eq!(winner(&site, target), wins, "{target}");
    }
}

#[test]
fn slashes_that_are_kept_apart_are_segments() {
    let (mut site, _) = served(of_all_kinds());
    site.merge_slashes = false;
    assert_eq!(winner(&site, "/a//b/c"), "area");
    assert_eq!(winner(&site, "//a/b/c"), "own");
    assert_eq!(winner(&site, "/a/b/c"), "exact");
    let (mut site, _) = served(vec![
        of("exact", Pattern::Exact("/a//b".into())),
        of("prefix", Pattern::Prefix("/p//q/".into())),
        of("end", Pattern::Prefix("/e//".into())),
    ]);
    site.merge_slashes = false;
    for (path, taken) in [
        ("/a//b", "exact"),
        ("/a/b", "none"),
        ("/p//q", "prefix"),
        ("/p//q/x", "prefix"),
        ("/p/q/x", "none"),
        ("/p///q", "none"),
        ("/e//", "end"),
        ("/e//x", "end"),
        ("/e/", "none"),
    ] {
        assert_eq!(winner(&site, path), taken, "{path}");
    }
}

#[test]
fn what_names_no_file_is_told_so_where_files_are_shown_and_nowhere_else() {
    let shows = |name: &str, path: &str| Route {
        action: Action::Files(Box::new(Files {
            root: "/srv".into(),
            index: "index.html".into(),
            listing: false,
            spa: None,
            precompressed: Vec::new(),
        })),
        ..of(name, Pattern::Prefix(path.into()))
    };
    let denied = of("denied", Pattern::Prefix("/denied/".into()));
    let (site, _) = served(vec![denied, shows("files", "/pub/")]);
    let of = |target: &str| site.route("GET", target.as_bytes()).unwrap_err();
    for target in ["/pub/%00", "/pub/a%00.txt", "/pub/..%2fa", "/pub/%ff%00"] {
        assert_eq!(of(target), Unrouted::NoFile, "{target}");
    }
    for target in ["/pub/%01", "/denied/%00", "/%00", "/pub/../%00", "/else"] {
        assert_eq!(of(target), Unrouted::NoSuchRoute, "{target}");
    }
}

struct Known;

impl Facts for Known {
    fn has_header(&self, name: &str, value: Option<&str>) -> bool {
        name == "x-v" && value.is_none_or(|value| value == "2")
    }

    fn has_cookie(&self, name: &str, value: Option<&str>) -> bool {
        name == "beta" && value.is_none()
    }

    fn client(&self) -> Option<IpAddr> {
        Some("10.1.2.3".parse().unwrap())
    }
}

#[test]
fn every_condition_has_to_hold() {
    let condition = |name: &str, value: Option<&str>| Condition {
        name: name.into(),
        value: value.map(Into::into),
    };
    let mut special = of("special", exact("/a"));
    special.when = When {
        headers: vec![condition("x-v", Some("2"))],
        query: vec![condition("page", None), condition("q", Some("a b"))],
        cookies: vec![condition("beta", None)],
        client: Some(Networks::new(vec![networks::read("10.0.0.0/8").unwrap()])),
    };
    let (site, _) = served(vec![special.clone(), of("own", prefix("/"))]);
    let wins = |site: &Site, target: &str, facts: &dyn Facts| {
        let matched = site.route_with("GET", target.as_bytes(), facts).unwrap();
        matched.route.name.to_string()
    };
    assert_eq!(wins(&site, "/a?page=&q=a%20b", &Known), "special");
    assert_eq!(wins(&site, "/a?%70age&q=a+b", &Known), "special");
    assert_eq!(wins(&site, "/a?page=&q=a%2Bb", &Known), "own");
    assert_eq!(wins(&site, "/a?q=a%20b", &Known), "own");
    assert_eq!(wins(&site, "/a?page=&q=a%20b", &()), "own");
    special.when.headers[0].value = Some("3".into());
    let (site, _) = served(vec![special, of("own", prefix("/"))]);
    assert_eq!(wins(&site, "/a?page=&q=a%20b", &Known), "own");
}

#[test]
fn a_path_is_rewritten_as_it_is_asked_for() {
    let mut strip = of("strip", prefix("/api/"));
    strip.rewrite = Rewrite::Prefix {
        strip: "/api".into(),
        add: "/v2".into(),
    };
    let mut made = of("made", template("/item/{id}/{part}"));
    made.rewrite = Rewrite::Template(Spelling::parse("/parts/{part}/of/{id}").unwrap());
    let mut dated = of(
        "dated",
        Pattern::Regex("/(?<year>[0-9]{4})(?<rest>/.*)".into()),
    );
    dated.rewrite = Rewrite::Template(Spelling::parse("{rest}").unwrap());
    let mut raw = of("raw", prefix("/raw/"));
    raw.forward_path = ForwardPath::AsReceived;
    let (site, _) = served(vec![strip, made, dated, raw]);
    for (target, sent) in [
        ("/api", "/v2/"),
        ("/api/", "/v2/"),
        ("/api//x?y=1", "/v2/x?y=1"),
        ("/item/a%2fb/c", "/parts/c/of/a%2Fb"),
        ("/2026//evil.example/x", "/evil.example/x"),
        ("/raw//%61/../b?c", "/raw//%61/../b?c"),
    ] {
        let matched = site.route("GET", target.as_bytes());
        assert_eq!(matched.unwrap().path_and_query, sent, "{target}");
    }
}

#[test]
fn a_redirect_leads_where_it_says_and_never_to_another_host() {
    let to = |name: &str, pattern, to: &str, keep_path| {
        let mut route = of(name, pattern);
        route.action = Action::Redirect(Box::new(Redirect {
            to: Spelling::parse(to).unwrap(),
            status: 308,
            keep_path,
        }));
        route
    };
    let (mut site, _) = served(vec![
        to(
            "item",
            template("/item/{id}"),
            "/articles/{id}?from=item",
            false,
        ),
        to(
            "all",
            Pattern::Regex("/go/(?<where>.*)".into()),
            "/{where}",
            false,
        ),
        to(
            "tenant",
            Pattern::Regex("/t/(?<who>.*?)(/x)?".into()),
            "https://{who}.new.example/x",
            false,
        ),
        to("moved", prefix("/moved"), "https://new.example/", true),
        to("here", prefix("/"), "/", true),
    ]);
    site.merge_slashes = false;
    for (target, location) in [
        ("/item/7%20?x", "/articles/7%20?from=item"),
        ("/go//evil.example", "/evil.example"),
        ("/moved/a?b=c", "https://new.example/moved/a?b=c"),
        ("//evil.example/a", "/evil.example/a"),
        ("/t/a-1/x", "https://a-1.new.example/x"),
    ] {
        let matched = site.route("GET", target.as_bytes()).unwrap();
        assert_eq!(matched.location().as_deref(), Some(location), "{target}");
    }
    for target in [
        "/t/evil.example:80@",
        "/t/evil.example%2f",
        "/t//x",
        "/t/-a",
        "/t/a.b",
    ] {
        let taken = site.route("GET", target.as_bytes());
        assert_eq!(taken, Err(Unrouted::NoSuchRoute), "{target}");
    }
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let piece = "(a|b|c|%2F|é|){1,1}";
    let path = prop::collection::vec(piece, 0..5).prop_map(|all| {
        normal_path(
            &all.iter().map(|one| format!("/{one}")).collect::<String>(),
            false,
        )
    });
    prop_oneof![
        path.clone().prop_map(|path| Pattern::Exact(path.into())),
        path.prop_map(|path| Pattern::Prefix(path.into())),
        prop::sample::select(vec!["/a/{x}", "/{x}/b", "/{x}", "/a/b", "/{x}/{y}/c", "/é"])
            .prop_map(template),
        prop::sample::select(vec!["/a/*", "/**/b", "/*/{a,b}", "/[a-b]"])
            .prop_map(|text| Pattern::Glob(text.into())),
        prop::sample::select(vec!["/a/.*", "/(a|b)", ".*", "/[^/]+/c"])
            .prop_map(|text| Pattern::Regex(text.into())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_look_up_finds_what_trying_one_after_another_finds(
        patterns in prop::collection::vec((pattern(), 0_u16..3, any::<bool>()), 0..12),
        target in "/(a|b|c|%2F|%C3%A9|/|\\.\\.|%00){0,6}",
        merge: bool,
    ) {
        let routes = patterns.into_iter().enumerate().map(|(at, (pattern, priority, posts))| {
            let mut route = of(&format!("r{at}"), pattern);
            route.priority = priority;
            route.methods = posts.then(|| "POST".into()).into_iter().collect();
            route
        });
        let (mut fast, mut slow) = served(routes.collect());
        (fast.merge_slashes, slow.merge_slashes) = (merge, merge);
        prop_assert_eq!(winner(&fast, &target), winner(&slow, &target));
    }
}
