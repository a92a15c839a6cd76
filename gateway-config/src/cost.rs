//! What a change of a setting costs those who are connected.
//!
//! A table beside the one of settings: every setting is in it, itself or by the table it stands in.
//! It says what a client can see of a change, not how much work it is.
//!
//! Source: adr/0029.

/// What a change needs before it has its effect, the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// A reload: the next request sees it.
    AtOnce,
    /// A reload, and connections made after it; those there are may be asked to end.
    NewConnections,
    /// A listening socket of its own: nobody can connect to the former address any more.
    Rebind,
    /// Another process.
    Restart,
}

/// What each setting costs, with all below it.
const COSTS: &[(&str, Cost)] = &[
    ("address_sets.*.cidrs", Cost::AtOnce),
    ("admin.allow_from", Cost::AtOnce),
    ("admin.bind", Cost::Rebind),
    ("drain.deadline", Cost::AtOnce),
    ("limits.body_memory", Cost::AtOnce),
    ("limits.certificate_poll", Cost::AtOnce),
    ("limits.connections", Cost::NewConnections),
    ("limits.connections_per_client", Cost::NewConnections),
    ("limits.handshakes", Cost::NewConnections),
    ("listeners.*.alpn", Cost::NewConnections),
    ("listeners.*.backlog", Cost::AtOnce),
    ("listeners.*.bind", Cost::Rebind),
    ("listeners.*.body_gap", Cost::AtOnce),
    ("listeners.*.client_ip_header", Cost::AtOnce),
    ("listeners.*.h2c", Cost::NewConnections),
    ("listeners.*.handshake", Cost::NewConnections),
    ("listeners.*.head", Cost::AtOnce),
    ("listeners.*.http2", Cost::NewConnections),
    ("listeners.*.idle", Cost::NewConnections),
    ("listeners.*.in_flight", Cost::AtOnce),
    ("listeners.*.min_rate", Cost::AtOnce),
    ("listeners.*.proxy_protocol_from", Cost::NewConnections),
    ("listeners.*.redirect", Cost::AtOnce),
    ("listeners.*.reuse_port", Cost::Rebind),
    ("listeners.*.strict_sni", Cost::NewConnections),
    ("listeners.*.tls", Cost::NewConnections),
    ("listeners.*.trusted_proxies", Cost::AtOnce),
    ("listeners.*.tunnel_idle", Cost::AtOnce),
    ("listeners.*.v6only", Cost::Rebind),
    ("listeners.*.write_gap", Cost::AtOnce),
    ("logs.access", Cost::AtOnce),
    ("logs.format", Cost::AtOnce),
    ("logs.level", Cost::AtOnce),
    ("logs.redact", Cost::AtOnce),
    ("pools.*.balance", Cost::AtOnce),
    ("pools.*.ejection", Cost::AtOnce),
    ("pools.*.host", Cost::AtOnce),
    ("pools.*.http2", Cost::NewConnections),
    ("pools.*.in_flight", Cost::AtOnce),
    ("pools.*.in_flight_total", Cost::AtOnce),
    ("pools.*.keep_idle", Cost::NewConnections),
    ("pools.*.keep_requests", Cost::NewConnections),
    ("pools.*.nodes", Cost::AtOnce),
    ("pools.*.probe", Cost::AtOnce),
    ("pools.*.queue", Cost::AtOnce),
    ("pools.*.queue_wait", Cost::AtOnce),
    ("pools.*.retry", Cost::AtOnce),
    ("pools.*.slow_start", Cost::AtOnce),
    ("pools.*.timeouts.connect", Cost::NewConnections),
    ("pools.*.timeouts.idle", Cost::AtOnce),
    ("pools.*.timeouts.response", Cost::AtOnce),
    ("pools.*.timeouts.tls", Cost::NewConnections),
    ("pools.*.tls", Cost::NewConnections),
    ("resolver.servers", Cost::AtOnce),
    ("sites.*.aliases", Cost::AtOnce),
    ("sites.*.allow_from", Cost::AtOnce),
    ("sites.*.compression", Cost::AtOnce),
    ("sites.*.default", Cost::AtOnce),
    ("sites.*.endpoints", Cost::AtOnce),
    ("sites.*.error_pages", Cost::AtOnce),
    ("sites.*.failures", Cost::AtOnce),
    ("sites.*.forwarded_for", Cost::AtOnce),
    ("sites.*.host", Cost::AtOnce),
    ("sites.*.hosts", Cost::AtOnce),
    ("sites.*.hsts", Cost::AtOnce),
    ("sites.*.https", Cost::AtOnce),
    ("sites.*.listener", Cost::AtOnce),
    ("sites.*.merge_slashes", Cost::AtOnce),
    ("sites.*.pool", Cost::AtOnce),
    ("sites.*.rate", Cost::AtOnce),
    ("sites.*.request_edits", Cost::AtOnce),
    ("sites.*.request_fields", Cost::AtOnce),
    ("sites.*.response_edits", Cost::AtOnce),
    ("sites.*.response_fields", Cost::AtOnce),
    ("sites.*.routes", Cost::AtOnce),
    ("sites.*.segments", Cost::AtOnce),
    ("sites.*.tls", Cost::NewConnections),
    ("sites.*.www", Cost::AtOnce),
    ("tls.*.alpn", Cost::NewConnections),
    ("tls.*.also", Cost::NewConnections),
    ("tls.*.chain", Cost::NewConnections),
    ("tls.*.key", Cost::NewConnections),
    ("tls.*.max", Cost::NewConnections),
    ("tls.*.min", Cost::NewConnections),
    ("tls.*.resumption", Cost::NewConnections),
    ("tls.*.suites", Cost::NewConnections),
    ("workers", Cost::NewConnections),
];

impl Cost {
    /// What a change of this setting needs; names of the operator's stand where they are written.
    #[must_use]
    pub fn of(path: &[String]) -> Self {
        let row = COSTS
            .iter()
            .find(|(pattern, _)| pattern.split('.').count() <= path.len() && agree(pattern, path));
        // There is a row; without one nothing cheap is promised.
        row.map_or(Self::Restart, |(_, cost)| *cost)
    }

    /// Its group, in a word or two.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::AtOnce => "at once",
            Self::NewConnections => "new connections",
            Self::Rebind => "rebind",
            Self::Restart => "restart",
        }
    }
}

/// Whether one is the other, or a table around it.
fn agree(pattern: &str, path: &[String]) -> bool {
    let mut pairs = pattern.split('.').zip(path);
    pairs.all(|(part, name)| part == "*" || part == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Kind, SETTINGS};

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    #[test]
    fn every_row_is_a_setting_and_none_lies_below_another() {
        for (row, _) in COSTS {
            assert!(SETTINGS.iter().any(|one| one.path == *row), "{row}");
            let around = COSTS.iter().filter(|(other, _)| {
                row.strip_prefix(other)
                    .is_some_and(|rest| rest.starts_with('.'))
            });
            assert_eq!(around.count(), 0, "{row}");
        }
    }

    #[test]
    fn every_setting_has_a_row_of_its_own_or_of_the_one_thing_it_belongs_to() {
        let is_head = |kind: Kind| matches!(kind, Kind::Table | Kind::Tables);
        for one in SETTINGS {
            // A front door is what it expands to, and that has rows.
            if one.path.starts_with("front_door") {
                continue;
            }
            let path: Vec<String> = one.path.split('.').map(str::to_owned).collect();
            let is_there = COSTS
                .iter()
                .any(|(row, _)| row.split('.').count() <= path.len() && agree(row, &path));
            assert!(is_there || is_head(one.kind), "{} costs nothing", one.path);
        }
        // A new setting of a listener, pool or site is not covered by accident.
        for (row, _) in COSTS {
            let is_named = SETTINGS
                .iter()
                .any(|one| one.path == *row && matches!(one.kind, Kind::Tables));
            assert!(!is_named || *row == "sites.*.routes", "{row}");
        }
    }

    #[test]
    fn a_setting_costs_what_its_table_costs() {
        for (text, cost) in [
            ("listeners.a.bind", Cost::Rebind),
            ("listeners.a.head.line", Cost::AtOnce),
            ("listeners.a.tls", Cost::NewConnections),
            ("limits.connections", Cost::NewConnections),
            ("limits.body_memory", Cost::AtOnce),
            ("logs.access", Cost::AtOnce),
            ("logs.level", Cost::AtOnce),
            ("pools.p.nodes", Cost::AtOnce),
            ("pools.p.timeouts.connect", Cost::NewConnections),
            ("pools.p.timeouts.idle", Cost::AtOnce),
            ("sites.tls.hosts", Cost::AtOnce),
            ("sites.s.routes.tls.pool", Cost::AtOnce),
            ("tls.t.chain", Cost::NewConnections),
            ("workers", Cost::NewConnections),
        ] {
            assert_eq!(Cost::of(&path(text)), cost, "{text}");
        }
    }
}
