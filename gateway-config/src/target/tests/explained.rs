//! What is explained is what is decided, and each reason is true.

use std::net::IpAddr;
use std::sync::Arc;

use super::paths::{exact, of, prefix, served};
use super::*;
use crate::model::{Condition, When};
use crate::networks::{self, Networks};

/// What may be known of a request.
#[derive(Clone, Debug)]
struct Known {
    header: Option<&'static str>,
    cookie: Option<&'static str>,
    client: Option<IpAddr>,
}

impl Facts for Known {
    fn has_header(&self, name: &str, value: Option<&str>) -> bool {
        let is = |found: &str| name == "x-v" && value.is_none_or(|value| value == found);
        self.header.is_some_and(is)
    }

    fn has_cookie(&self, name: &str, value: Option<&str>) -> bool {
        let is = |found: &str| name == "beta" && value.is_none_or(|value| value == found);
        self.cookie.is_some_and(is)
    }

    fn client(&self) -> Option<IpAddr> {
        self.client
    }
}

fn known() -> impl Strategy<Value = Known> {
    let value = || prop::option::of(prop::sample::select(vec!["1", "2"]));
    let client = prop::option::of(prop::sample::select(vec!["10.1.2.3", "192.0.2.1"]));
    (value(), value(), client).prop_map(|(header, cookie, client)| Known {
        header,
        cookie,
        client: client.map(|client| client.parse().unwrap()),
    })
}

fn condition(name: &str) -> impl Strategy<Value = Vec<Condition>> + use<> {
    let name: Arc<str> = name.into();
    let value = prop::option::of(prop::sample::select(vec!["1", "2"]));
    prop::option::weighted(0.4, value).prop_map(move |value| {
        let one = value.map(|value| Condition {
            name: Arc::clone(&name),
            value: value.map(Into::into),
        });
        one.into_iter().collect()
    })
}

fn when() -> impl Strategy<Value = When> {
    let client = prop::option::weighted(0.2, Just("10.0.0.0/8"));
    let asked = (condition("x-v"), condition("q"), condition("beta"), client);
    asked.prop_map(|(headers, query, cookies, client)| When {
        headers,
        query,
        cookies,
        client: client.map(|client| Networks::new(vec![networks::read(client).unwrap()])),
    })
}

fn pattern(is_decoded: bool) -> impl Strategy<Value = Pattern> {
    let templates = ["/a/{x}", "/a/b", "/{x}/b", "/a/{x}/c", "/{x}"];
    let some = prop::sample::select(templates.to_vec()).prop_map(template);
    let prefixes = || prop::sample::select(vec!["/", "/a/", "/a/b/"]).prop_map(prefix);
    if is_decoded {
        return prop_oneof![some, prefixes()].boxed();
    }
    prop_oneof![
        some,
        prefixes(),
        prop::sample::select(vec!["/a", "/a/b", "/a/b/c"]).prop_map(exact),
        prop::sample::select(vec!["/a/*", "/**/c"]).prop_map(|one| Pattern::Glob(one.into())),
        prop::sample::select(vec!["/a/[bc].*", ".*"]).prop_map(|one| Pattern::Regex(one.into())),
    ]
    .boxed()
}

/// A route with a name of its own.
fn routes(is_decoded: bool) -> impl Strategy<Value = Vec<Route>> {
    let method = prop::option::of(prop::sample::select(vec!["GET", "POST"]));
    let one = (pattern(is_decoded), when(), method, any::<bool>());
    prop::collection::vec(one, 0..8).prop_map(|all| {
        let route =
            |(at, (pattern, when, method, refuses)): (usize, (_, _, Option<&str>, bool))| {
                let mut route = of(&format!("r{at}"), pattern);
                route.when = when;
                route.methods = method.into_iter().map(Into::into).collect();
                let refused = RefusedKey {
                    key: "no".into(),
                    because: "no".into(),
                };
                route.refuse_query = refuses.then_some(refused).into_iter().collect();
                route
            };
        all.into_iter().enumerate().map(route).collect()
    })
}

fn target() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "/", "a", "b", "c", "/a", "/b", "/c", "%61", "..", "/%00",
    ]);
    let path = prop::collection::vec(piece, 0..5).prop_map(|all| format!("/{}", all.concat()));
    let query = prop::sample::select(vec!["", "?", "?q=1", "?q=2", "?no=1", "?no=1&q=2"]);
    let some = (path, query).prop_map(|(path, query)| path + query);
    prop_oneof![9 => some, 1 => Just("*".to_owned())]
}

/// The first route that takes, tried one after another with everything that a route asks.
fn first<'a>(site: &'a Site, method: &str, target: &str, facts: &Known) -> Option<&'a Route> {
    let alone = |route: &&Route| {
        let mut alone = site.clone();
        alone.routes = vec![(*route).clone()];
        alone.routing = crate::routing::Routing::default();
        let told = alone.route_with(method, target.as_bytes(), facts);
        told != Err(Unrouted::NoSuchRoute)
    };
    site.routes.iter().find(alone)
}

/// Whether the reason is one: with that one thing otherwise, the route is asked about the next.
fn is_true(site: &Site, passed: &Passed<'_>, method: &str, target: &str, facts: &Known) -> bool {
    let mut eased = passed.route.clone();
    let takes_as_it_is = |route: &Route| {
        let mut alone = site.clone();
        alone.routes = vec![route.clone()];
        alone.routing = crate::routing::Routing::default();
        alone.route_with(method, target.as_bytes(), facts) != Err(Unrouted::NoSuchRoute)
    };
    if takes_as_it_is(&eased) {
        return false;
    }
    // Whatever else it asks is left out; it still must not take.
    let asked = std::mem::take(&mut eased.when);
    let methods = std::mem::take(&mut eased.methods);
    match passed.why {
        WhyNot::Path => {}
        WhyNot::Method => {
            let has_path = takes_as_it_is(&eased);
            eased.methods = methods;
            return has_path && !takes_as_it_is(&eased);
        }
        WhyNot::Client(_) => eased.when.client = asked.client,
        WhyNot::Cookie(one) => eased.when.cookies = vec![one.clone()],
        WhyNot::Header(one) => eased.when.headers = vec![one.clone()],
        WhyNot::Query(one) => eased.when.query = vec![one.clone()],
    }
    !takes_as_it_is(&eased)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_explained_is_what_is_decided(
        (is_decoded, all) in any::<bool>().prop_flat_map(|is| (Just(is), routes(is))),
        has_lookup in any::<bool>(),
        method in prop::sample::select(vec!["GET", "POST"]),
        target in target(),
        facts in known(),
    ) {
        let (with, without) = served(all);
        let mut site = if has_lookup { with } else { without };
        if is_decoded {
            site.segments = Segments::Decoded;
        }
        let told = site.explain(method, target.as_bytes(), &facts);
        prop_assert_eq!(&told.taken, &site.route_with(method, target.as_bytes(), &facts));

        let taken = first(&site, method, &target, &facts);
        let decided = match &told.taken {
            Ok(matched) => Some(matched.route),
            Err(Unrouted::RefusedQuery { route, .. }) => {
                site.routes.iter().find(|one| *one.name == **route)
            }
            Err(Unrouted::NoFile | Unrouted::NoSuchRoute) => None,
        };
        prop_assert_eq!(decided.map(|one| &one.name), taken.map(|one| &one.name));

        let before = site.routes.iter().take_while(|one| Some(&one.name) != taken.map(|one| &one.name));
        let before: Vec<&str> = before.map(|one| &*one.name).collect();
        let passed: Vec<&str> = told.passed.iter().map(|one| &*one.route.name).collect();
        if told.path.is_ok() {
            prop_assert_eq!(&passed, &before);
            let tried = passed.len() + usize::from(taken.is_some());
            prop_assert_eq!(told.not_tried + tried, site.routes.len());
        } else {
            prop_assert!(passed.is_empty() && taken.is_none());
        }
        for one in &told.passed {
            prop_assert!(is_true(&site, one, method, &target, &facts), "{one:?}");
        }
    }
}

#[test]
fn the_first_thing_that_is_otherwise_is_the_reason() {
    let mut post = of("post", exact("/a"));
    post.methods = vec!["POST".into()];
    let mut asks = of("asks", template("/{x}"));
    asks.when.headers = vec![Condition {
        name: "x-v".into(),
        value: None,
    }];
    let (site, _) = served(vec![
        post,
        asks,
        of("own", prefix("/")),
        of("b", exact("/b")),
    ]);
    let told = site.explain("GET", b"/x/../a?c=1", &());
    let reasons: Vec<(&str, WhyNot<'_>)> = told
        .passed
        .iter()
        .map(|one| (&*one.route.name, one.why))
        .collect();
    assert_eq!(told.path, Ok("/a".to_owned()));
    assert!(matches!(
        reasons.as_slice(),
        [
            ("b", WhyNot::Path),
            ("post", WhyNot::Method),
            ("asks", WhyNot::Header(_)),
        ] | [
            ("post", WhyNot::Method),
            ("b", WhyNot::Path),
            ("asks", WhyNot::Header(_)),
        ]
    ));
    assert_eq!(&*told.taken.unwrap().route.name, "own");
    assert_eq!(site.explain("GET", b"*", &()).path, Err(NoPath::Missing));
    assert_eq!(site.explain("GET", b"/%00", &()).path, Err(NoPath::Illegal));
}
