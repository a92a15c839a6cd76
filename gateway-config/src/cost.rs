//! What a change of a setting costs those who are connected.
//!
//! A table beside the one of settings: whatever is not in it takes effect with the next request.

/// What a change needs before it has its effect, the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cost {
    /// A reload: the next request sees it.
    AtOnce,
    /// A reload, and connections made after it; those there are may be asked to end.
    NewConnections,
    /// A listener bound anew.
    Rebind,
    /// Another process.
    Restart,
}

/// The settings that cost more than a reload, with all below them.
const COSTS: &[(&str, Cost)] = &[
    ("admin", Cost::Restart),
    ("limits.connections", Cost::NewConnections),
    ("limits.connections_per_client", Cost::NewConnections),
    ("limits.handshakes", Cost::NewConnections),
    ("listeners.*.alpn", Cost::NewConnections),
    ("listeners.*.bind", Cost::Rebind),
    ("listeners.*.h2c", Cost::NewConnections),
    ("listeners.*.handshake", Cost::NewConnections),
    ("listeners.*.http2", Cost::NewConnections),
    ("listeners.*.proxy_protocol_from", Cost::NewConnections),
    ("listeners.*.reuse_port", Cost::Rebind),
    ("listeners.*.tls", Cost::NewConnections),
    ("listeners.*.v6only", Cost::Rebind),
    ("logs", Cost::Restart),
    ("pools.*.http2", Cost::NewConnections),
    ("pools.*.keep_idle", Cost::NewConnections),
    ("pools.*.keep_requests", Cost::NewConnections),
    ("pools.*.timeouts.connect", Cost::NewConnections),
    ("pools.*.timeouts.tls", Cost::NewConnections),
    ("pools.*.tls", Cost::NewConnections),
    ("sites.*.tls", Cost::NewConnections),
    ("tls", Cost::NewConnections),
    ("workers", Cost::NewConnections),
];

impl Cost {
    /// What a change of this setting needs; names of the operator's stand where they are written.
    #[must_use]
    pub fn of(path: &[String]) -> Self {
        let row = COSTS
            .iter()
            .find(|(pattern, _)| pattern.split('.').count() <= path.len() && agree(pattern, path));
        row.map_or(Self::AtOnce, |(_, cost)| *cost)
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
    use crate::settings::SETTINGS;

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
    fn a_setting_costs_what_its_table_costs() {
        for (text, cost) in [
            ("listeners.a.bind", Cost::Rebind),
            ("listeners.a.head.line", Cost::AtOnce),
            ("listeners.a.tls", Cost::NewConnections),
            ("logs.access", Cost::Restart),
            ("limits.connections", Cost::NewConnections),
            ("limits.body_memory", Cost::AtOnce),
            ("pools.p.timeouts.connect", Cost::NewConnections),
            ("pools.p.timeouts.idle", Cost::AtOnce),
            ("pools.p.timeouts", Cost::AtOnce),
            ("sites.tls.hosts", Cost::AtOnce),
            ("workers", Cost::NewConnections),
        ] {
            assert_eq!(Cost::of(&path(text)), cost, "{text}");
        }
    }
}
