//! What this data plane executes, and the refusal of everything else before anything is prepared.

use gateway_config::Capability;
use gateway_config::capability::needs;
use gateway_config::model::Model;

use crate::fault::Fault;

/// Everything this data plane executes. A snapshot that needs more is refused as a whole: see
/// [`unserved`](gateway_config::capability::unserved) for the findings, each with its place.
pub const CAPABILITIES: &[Capability] = &[
    Capability::Admin,
    Capability::AllowFrom,
    Capability::Answers,
    Capability::BackupNodes,
    Capability::Balancing,
    Capability::BufferedBodies,
    Capability::CertificateByName,
    Capability::ClientAddress,
    Capability::Compression,
    Capability::Conditions,
    Capability::ConnectionsPerClient,
    Capability::DefaultSites,
    Capability::Ejection,
    Capability::ErrorPages,
    Capability::FieldEdits,
    Capability::Files,
    Capability::H2c,
    Capability::Hsts,
    Capability::Http2,
    Capability::Http2Bounds,
    Capability::Http2Only,
    Capability::Http2ToNodes,
    Capability::HttpProbes,
    Capability::InFlightBounds,
    Capability::ListenerInFlight,
    Capability::LogChoice,
    Capability::NameServers,
    Capability::NamedHostsOnly,
    Capability::NodeHost,
    Capability::NodeTls,
    Capability::NodeTlsNames,
    Capability::ProxyProtocol,
    Capability::RateLimits,
    Capability::Redirects,
    Capability::RetryChoice,
    Capability::RouteTimeouts,
    Capability::SeveralListeners,
    Capability::SiteRedirects,
    Capability::SlowStart,
    Capability::SocketOptions,
    Capability::StreamedBodies,
    Capability::SystemRoots,
    Capability::Tls,
    Capability::TlsChoice,
    Capability::TunnelIdle,
    Capability::Unprobed,
    Capability::Upgrades,
    Capability::Weights,
    Capability::WildcardHosts,
];

/// Refuses a model that needs more than is served.
///
/// # Errors
/// [`Fault::NotServed`] names every setting that asks for more.
pub(crate) fn refuse_more(model: &Model, served: &[Capability]) -> Result<(), Fault> {
    let more: Vec<String> = needs(model)
        .into_iter()
        .filter(|need| !served.contains(&need.capability))
        .map(|need| format!("`{}`", need.shown()))
        .collect();
    match more.is_empty() {
        true => Ok(()),
        false => Err(Fault::NotServed {
            what: more.join(", "),
        }),
    }
}

#[cfg(test)]
mod tests {
    use gateway_config::capability::unserved_of;
    use gateway_config::{Sources, load_source};

    use super::*;

    fn refused(text: &str, served: &[Capability]) -> Option<String> {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", text.to_owned());
        let loaded = load_source(id, &mut sources).unwrap();
        let fault = refuse_more(loaded.snapshot.model(), served).err()?;
        Some(fault.to_string())
    }

    const FURNISHED: &str = include_str!("../../tests/config/furnished.toml");

    #[test]
    fn all_that_can_be_said_is_served() {
        for text in [
            "[front_door.db]\nupstreams = { a = \"localhost:1\" }\n",
            include_str!("../../tests/config/edge.toml"),
            FURNISHED,
        ] {
            assert_eq!(refused(text, CAPABILITIES), None);
        }
        let mut paths = gateway_config::settings::SETTINGS
            .iter()
            .map(|one| one.path);
        assert_eq!(paths.find_map(|path| unserved_of(path, CAPABILITIES)), None);
    }

    #[test]
    fn what_is_missing_is_named_setting_by_setting() {
        let missing = [Capability::Http2Only, Capability::WildcardHosts];
        let mut served = CAPABILITIES.to_vec();
        served.retain(|one| !missing.contains(one));

        let said = refused(FURNISHED, &served).unwrap();

        for path in ["`tls.api.alpn`", "`sites.shop.hosts`"] {
            assert!(said.contains(path), "{said}");
        }
        assert!(!said.contains("pools"), "{said}");
    }
}
