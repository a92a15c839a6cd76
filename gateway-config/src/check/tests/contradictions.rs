//! Settings that contradict each other, or what the network is.

use super::{Parts, SOUND, has};

#[test]
fn a_field_is_set_or_removed_and_not_both() {
    for side in ["request_edits", "response_edits"] {
        let site =
            &*format!("{side} = {{ set = {{ X-One = \"1\" }}, remove = [\"x-two\", \"x-one\"] }}");
        has(
            &Parts { site, ..SOUND }.one(),
            &["G0312", "`x-one` is both set and removed", "@\"x-one\"@"],
        );
        let site = &*format!("{side} = {{ set = {{ x-one = \"1\" }}, remove = [\"x-two\"] }}");
        assert_eq!(Parts { site, ..SOUND }.told(), [""; 0]);
    }
}

#[test]
fn a_route_that_asks_for_a_query_key_does_not_refuse_it() {
    for value in ["true", "\"1\""] {
        let route = &*format!(
            "path = \"/r/\"\nwhen = {{ query = {{ k = {value} }} }}\nrefuse_query = {{ j = \"no\", k = \"no\" }}"
        );
        has(
            &Parts { route, ..SOUND }.one(),
            &["G0312", "asks for the query key `k` and refuses it", "@k@"],
        );
    }
    let route = "path = \"/r/\"\nwhen = { query = { k = true } }\nrefuse_query = { K = \"no\" }";
    assert_eq!(Parts { route, ..SOUND }.told(), [""; 0]);
}

#[test]
fn hsts_is_told_of_where_nobody_is_sent_it() {
    for site in ["hsts = \"1d\"", "hsts = { max_age = \"1d\" }"] {
        let found = Parts { site, ..SOUND }.one();
        has(
            &found,
            &["G0312", "`hsts`", "none of its listeners has TLS"],
        );
        // TLS may end before us, at a proxy that says so.
        let listener = "bind = \"127.0.0.1:80\"\ntrusted_proxies = [\"10.0.0.0/8\"]";
        assert_eq!(
            Parts {
                listener,
                site,
                ..SOUND
            }
            .told(),
            [""; 0]
        );
        let listener = "bind = \"127.0.0.1:80\"\ntls = \"t\"";
        let more = "[tls.t]\nchain = \"/c\"\nkey = \"/k\"\n";
        assert_eq!(
            Parts {
                listener,
                site,
                more,
                ..SOUND
            }
            .told(),
            [""; 0]
        );
        // A profile or a listener that is not there was meant to be.
        let found = Parts {
            listener,
            site,
            ..SOUND
        }
        .one();
        has(&found, &["G0104"]);
    }
}

#[test]
fn no_client_is_read_from_a_field_that_says_something_else() {
    for name in [
        "Host",
        "connection",
        "Content-Length",
        "Keep-Alive",
        "proxy-connection",
        "TE",
        "Trailer",
        "Transfer-Encoding",
        "upgrade",
    ] {
        let listener = &*format!(
            "bind = \"127.0.0.1:80\"\ntrusted_proxies = [\"10.0.0.0/8\"]\nclient_ip_header = \"{name}\""
        );
        has(
            &Parts { listener, ..SOUND }.one(),
            &["G0208", name, "no proxy writes an address there"],
        );
    }
    for name in ["X-Real-IP", "cf-connecting-ip", "Forwarded"] {
        let listener = &*format!(
            "bind = \"127.0.0.1:80\"\ntrusted_proxies = [\"10.0.0.0/8\"]\nclient_ip_header = \"{name}\""
        );
        assert_eq!(Parts { listener, ..SOUND }.told(), [""; 0]);
    }
}

#[test]
fn a_node_has_an_address_that_one_machine_can_have() {
    for (addr, why) in [
        ("255.255.255.255:80", "all machines of a network"),
        ("224.0.0.1:80", "a group of machines"),
        ("239.255.255.250:80", "a group of machines"),
        ("0.0.0.0:80", "stands for any address"),
        ("[::]:80", "stands for any address"),
        ("[ff02::1]:80", "a group of machines"),
        ("[::ffff:255.255.255.255]:80", "all machines of a network"),
        ("[::ffff:224.0.0.1]:80", "a group of machines"),
        ("[::ffff:0.0.0.0]:80", "stands for any address"),
    ] {
        for pool in [
            format!("nodes = [\"{addr}\"]"),
            format!("nodes = [{{ name = \"a\", addr = \"{addr}\" }}]"),
        ] {
            has(
                &Parts {
                    pool: &pool,
                    ..SOUND
                }
                .one(),
                &["G0202", why],
            );
        }
    }
    for addr in [
        "223.255.255.255:80",
        "[fe80::1]:80",
        "127.0.0.1:80",
        "[::1]:80",
    ] {
        let pool = &*format!("nodes = [\"{addr}\"]");
        assert_eq!(Parts { pool, ..SOUND }.told(), [""; 0]);
    }
}

#[test]
fn a_busy_node_is_left_only_by_what_may_be_sent_again() {
    let pool = |on: &str| format!("nodes = [\"10.0.0.1:80\"]\nretry = {{ on = [{on}] }}");
    let route = |more: &str| format!("path = \"/r/\"\npool = \"p\"\n{more}");
    let repeatable = "repeatable = true\n";
    let told = |pool: &str, route: &str| {
        let parts = Parts {
            pool,
            route,
            ..SOUND
        };
        parts.told()
    };
    // Of the pool, where no route may repeat, and of a route with words of its own.
    for on in ["\"busy\"", "\"unsent\", \"busy\""] {
        let said = told(&pool(on), &route("")).concat();
        has(&said, &["G0312", "@\"busy\"@ no route of this pool"]);
        let said = told(
            &pool("\"unsent\""),
            &route(&format!("retry = {{ on = [{on}] }}")),
        );
        has(
            &said.concat(),
            &["G0312", "@\"busy\"@ no request of this route"],
        );
    }
    // A route that has words of its own does not count for the pool.
    let own = route("repeatable = true\nretry = { on = [\"busy\"] }\n");
    assert_eq!(told(&pool("\"busy\""), &own).len(), 1);
    // The site's own action is a route, too, and so both may be.
    for (on, more) in [
        ("\"busy\", \"repeatable\"", ""),
        ("\"busy\"", repeatable),
        ("\"unsent\"", "retry = { on = [\"busy\", \"repeatable\"] }"),
        (
            "\"unsent\"",
            "repeatable = true\nretry = { on = [\"busy\"] }",
        ),
        ("\"unsent\"", ""),
    ] {
        assert_eq!(told(&pool(on), &route(more)), [""; 0], "{on} {more}");
    }
}
