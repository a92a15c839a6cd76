//! What a listener shows in a handshake: the profile of the site to which the name leads that is asked
//! for, or else its own.
//!
//! Names are found as the hosts of requests are, so a request for the name that was asked for finds the
//! site whose profile was shown.
//!
//! Source: GATEWAY §7, RFC 6066 §3; adr/0053.

use std::collections::HashMap;
use std::sync::Arc;

use gateway_config::model::{Listener, Name, Tls};
use gateway_config::{FoundBy, Hosts, Snapshot};

use crate::covered::Covered;
use crate::fault::Fault;
use crate::pairs::Pairs;
use crate::profile::{Agreed, Profile};

/// What a listener shows, by the name asked for.
pub(crate) struct Shown {
    names: Option<Arc<Hosts>>,
    /// Of the sites that have one of their own, by the place of the site in the model.
    of_sites: HashMap<usize, Arc<Profile>>,
    own: Arc<Profile>,
    /// Whether names that no site has are shown nothing.
    is_strict: bool,
}

/// What a connection was made under.
pub(crate) struct Secured {
    /// The hosts that the certificate covers that was shown.
    pub(crate) covered: Arc<Covered>,
    /// What was agreed on.
    pub(crate) agreed: Agreed,
}

impl Shown {
    /// What a listener of a snapshot shows, with the profiles of `before` that stay as they are; `None`
    /// in clear text.
    ///
    /// # Errors
    /// [`Fault::Profile`].
    pub(crate) fn new(
        snapshot: &Snapshot,
        listener: &Listener,
        pairs: &Pairs,
        before: Option<&Shown>,
    ) -> Result<Option<Arc<Self>>, Fault> {
        let Some(own) = &listener.tls else {
            return Ok(None);
        };
        let known = before.map(Shown::by_name).unwrap_or_default();
        let mut made: HashMap<Name, Arc<Profile>> = HashMap::new();
        let mut make = |tls: &Tls| -> Result<Arc<Profile>, Fault> {
            if let Some(made) = made.get(&tls.name) {
                return Ok(Arc::clone(made));
            }
            let known = known.get(&*tls.name).copied();
            let profile = Profile::new(tls, listener, pairs, known)?;
            made.insert(Arc::clone(&tls.name), Arc::clone(&profile));
            Ok(profile)
        };
        let own = make(own)?;
        let sites = snapshot.model().sites.iter().enumerate();
        let mut of_sites = HashMap::new();
        for (at, site) in sites {
            let is_here = site.listeners().any(|name| *name == listener.name);
            if let Some(tls) = site.tls.as_deref().filter(|_| is_here) {
                of_sites.insert(at, make(tls)?);
            }
        }
        Ok(Some(Arc::new(Shown {
            names: snapshot.hosts(&listener.name).cloned(),
            of_sites,
            own,
            is_strict: listener.strict_sni,
        })))
    }

    /// The profile for a name that is asked for, or for none; `None`: it is shown nothing.
    pub(crate) fn profile(&self, name: Option<&str>) -> Option<&Arc<Profile>> {
        if self.of_sites.is_empty() && !self.is_strict {
            return Some(&self.own);
        }
        let names = self.names.as_ref();
        let found = names.and_then(|names| names.find(name.unwrap_or_default()));
        if self.is_strict && found.is_none_or(|found| found.by == FoundBy::Default) {
            return None;
        }
        let of_site = found.and_then(|found| self.of_sites.get(&found.site));
        Some(of_site.unwrap_or(&self.own))
    }

    /// Whether a handshake for this host could have come to what was agreed on. Under the profile of the
    /// name that was asked for it did, whatever has become of that since: such a connection is closed.
    pub(crate) fn allows(&self, agreed: &Agreed, host: &str) -> bool {
        let Some(profile) = self.profile(Some(host)) else {
            return false;
        };
        let of_name = self.profile(agreed.name.as_deref());
        let is_own = of_name.is_some_and(|own| Arc::ptr_eq(profile, own));
        is_own || profile.policy.allows(agreed)
    }

    /// Whether what was agreed on still keeps to the profile of the name that was asked for.
    pub(crate) fn holds(&self, agreed: &Agreed) -> bool {
        let profile = self.profile(agreed.name.as_deref());
        profile.is_some_and(|profile| profile.policy.allows(agreed))
    }

    fn by_name(&self) -> HashMap<&str, &Arc<Profile>> {
        let all = self.of_sites.values().chain([&self.own]);
        all.map(|one| (&**one.name(), one)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use gateway_config::model::{Model, Site};
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Two labels and a star are enough for every way in which names can lie within each other.
    fn a_name() -> impl Strategy<Value = String> {
        vec("[ab]", 1..4).prop_map(|labels| labels.join("."))
    }

    fn a_host() -> impl Strategy<Value = String> {
        let starred = a_name().prop_map(|name| format!("*.{name}"));
        prop_oneof![a_name(), starred]
    }

    fn tls(name: &str) -> Tls {
        Tls::new(name.into(), PathBuf::new(), PathBuf::new())
    }

    /// Sites whose profiles have their names; the ones at odd places have none of their own.
    fn shown(hosts: &[Vec<String>], default: Option<usize>, is_strict: bool) -> Arc<Shown> {
        let mut model = Model::new();
        let mut listener = Listener::new("edge".into(), ([127, 0, 0, 1], 0).into());
        listener.tls = Some(tls("own"));
        listener.strict_sni = is_strict;
        let mut taken = Vec::new();
        for (at, hosts) in hosts.iter().enumerate() {
            let mut site = Site::new(format!("{at}").into(), "edge".into());
            for host in hosts {
                if !taken.contains(host) {
                    taken.push(host.clone());
                    site.hosts.push(host.as_str().into());
                }
            }
            site.is_default = default == Some(at);
            site.tls = (at % 2 == 0).then(|| Arc::new(tls(&format!("{at}"))));
            model.sites.push(site);
        }
        model.listeners.push(listener.clone());
        let snapshot = Snapshot::new(model);
        let made = Shown::new(&snapshot, &listener, &Pairs::default(), None);
        made.unwrap().unwrap()
    }

    /// The same by looking at every host, the exact ones first.
    fn expected(
        hosts: &[Vec<String>],
        default: Option<usize>,
        is_strict: bool,
        name: &str,
    ) -> Option<String> {
        let has = |wanted: &str| hosts.iter().position(|of| of.iter().any(|it| it == wanted));
        let above = name
            .split_once('.')
            .map(|(_, parent)| format!("*.{parent}"));
        let found = has(name)
            .or_else(|| has(&above?))
            .or(default.filter(|_| !is_strict));
        match found {
            Some(at) if at % 2 == 0 => Some(at.to_string()),
            None if is_strict => None,
            _ => Some("own".to_owned()),
        }
    }

    fn named(shown: &Shown, name: Option<&str>) -> Option<String> {
        let profile = shown.profile(name);
        profile.map(|profile| profile.name().to_string())
    }

    proptest! {
        #[test]
        fn a_name_is_shown_the_profile_of_its_site_and_no_other(
            hosts in vec(vec(a_host(), 0..4), 0..6),
            default in proptest::option::of(0_usize..6),
            is_strict in any::<bool>(),
            name in a_name(),
        ) {
            let default = default.filter(|at| *at < hosts.len());
            let shown = shown(&hosts, default, is_strict);
            let wanted = expected(&hosts, default, is_strict, &name);
            prop_assert_eq!(&named(&shown, Some(&name)), &wanted);
            let folded = format!("{}.", name.to_uppercase());
            prop_assert_eq!(&named(&shown, Some(&folded)), &wanted);
        }
    }

    #[test]
    fn every_profile_is_found_by_its_name() {
        let hosts = [vec!["a".to_owned()], vec![], vec!["b".to_owned()]];
        let shown = shown(&hosts, None, false);
        let known = shown.by_name();
        let names: BTreeSet<&str> = known.keys().copied().collect();
        assert_eq!(names, BTreeSet::from(["0", "2", "own"]));
        assert!(known.iter().all(|(name, one)| &**one.name() == *name));
    }

    #[test]
    fn who_asks_for_no_name_is_shown_what_a_name_is_that_nobody_has() {
        let hosts = vec![vec!["a".to_owned()], vec![], vec![]];
        for (default, wanted) in [(None, "own"), (Some(1), "own"), (Some(2), "2")] {
            let (usual, strict) = (shown(&hosts, default, false), shown(&hosts, default, true));
            for name in [None, Some("b")] {
                assert_eq!(named(&usual, name).as_deref(), Some(wanted));
                assert_eq!(named(&strict, name), None);
            }
            for shown in [usual, strict] {
                assert_eq!(named(&shown, Some("a")).as_deref(), Some("0"));
            }
        }
    }
}
