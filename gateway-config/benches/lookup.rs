//! What a request pays for finding its site and route.
//!
//! Bounds: 300 ns among 10,000 sites, 1 µs in a site of 1,000 routes of all kinds.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use gateway_config::Placed;
use gateway_config::front_door::{FrontDoor, Process, Upstream};
use gateway_config::{Sources, front_door};

mod edge;

fn site_among_10_000(c: &mut Criterion) {
    let loaded = edge::load(&edge::sites(10_000));
    let snapshot = loaded.snapshot;
    let mut group = c.benchmark_group("site among 10,000");
    for (name, host) in [
        ("exact", "shop7777.example"),
        ("other case, dot at the end", "SHOP7777.Example."),
        ("wildcard", "www.shop7770.example"),
        ("nobody's", "nobody.example"),
    ] {
        group.bench_function(name, |b| b.iter(|| snapshot.site("web", black_box(host))));
    }
    group.finish();
}

fn route_among_1_000(c: &mut Criterion) {
    let loaded = edge::load(&edge::routes(1_000));
    let snapshot = loaded.snapshot;
    let mut group = c.benchmark_group("route among 1,000");
    let Some(found) = snapshot.site("web", "any") else {
        return;
    };
    for (name, target) in [
        ("exact", "/exact/page500"),
        ("template", "/item501/17/part/9"),
        ("glob", "/images502/logo.png"),
        ("regex", "/year503/2026/november"),
        ("prefix", "/area/part504/below/it"),
        ("the site's own", "/nothing/of/the/kind"),
        ("spelled oddly", "/area//part504/./%62elow"),
        ("long", LONG),
    ] {
        group.bench_function(name, |b| {
            b.iter(|| {
                found
                    .site
                    .route("GET", black_box(target).as_bytes())
                    .is_ok()
            });
        });
    }
    group.finish();
}

/// A path that is long and matches nothing but the site's own route.
const LONG: &str = "/a/rather/long/path/that/goes/on/for/many/segments/until/it/has/about/two/hundred/\
                    characters/of/which/none/means/anything/to/any/route/of/the/site/but/its/own/one/at/the/end";

fn front_door(c: &mut Criterion) {
    let mut sources = Sources::default();
    let id = sources.add("flags", "door".to_owned());
    let place = sources.place(id, 0..4);
    let placed = |text: &str| Placed::new(text.to_owned(), place.clone());
    let mut door = FrontDoor::new(placed("door"));
    door.allow_ops = Some(place.clone());
    door.upstreams.push(Upstream {
        name: placed("a"),
        addr: placed("localhost:1"),
    });
    let Ok(loaded) = front_door::expand(&door, &Process::default(), &mut sources) else {
        return;
    };
    let Some(site) = loaded.snapshot.model().sites.first() else {
        return;
    };
    c.bench_function("route of a front door", |b| {
        b.iter(|| {
            site.route("POST", black_box(b"/table/orders/query?limit=10"))
                .is_ok()
        });
    });
}

criterion_group!(benches, site_among_10_000, route_among_1_000, front_door);
criterion_main!(benches);
