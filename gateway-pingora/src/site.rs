//! A site, prepared for the request path: what would otherwise be parsed or read for each request.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use gateway_config::MAX_PAGE;
use gateway_config::model::{Edits, ErrorPage, Hsts, Model, Rate, Route, Site};
use gateway_core::failure::{Failure, RetryAfter};
use gateway_core::rate::Rates;
use http::header::STRICT_TRANSPORT_SECURITY;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::clock;
use crate::counts::SiteCounts;
use crate::fault::Fault;
use crate::folder::Folder;
use crate::metrics::Metrics;
use crate::pools::{LivePool, Pools};

/// A site, prepared.
pub(crate) struct ServedSite {
    /// Its settings.
    pub(crate) site: Site,
    /// Its metrics by their old names, where it has an endpoint that shows them; outlive snapshots.
    pub(crate) metrics: Option<Arc<Metrics>>,
    /// What is counted of it; goes on over snapshots.
    pub(crate) counts: SiteCounts,
    /// The pools of the snapshot.
    pub(crate) pools: Arc<Pools>,
    /// Request fields carried to the node; `None` is all but hop-by-hop ones.
    pub(crate) request_fields: Option<Vec<HeaderName>>,
    /// Answer fields carried to the client; `None` is all but hop-by-hop ones.
    pub(crate) response_fields: Option<Vec<HeaderName>>,
    /// Changes to request fields.
    pub(crate) request_edits: FieldEdits,
    /// The port to which clients in clear text are sent on.
    pub(crate) https_port: u16,
    /// The snapshot it belongs to.
    pub(crate) hash: Arc<str>,
    /// What clients have asked for of late, where that is bounded; outlives snapshots.
    rates: Option<Arc<Rates>>,
    /// Its routes, in their order.
    routes: Vec<ServedRoute>,
    response_edits: FieldEdits,
    hsts: Option<HeaderValue>,
    pages: BTreeMap<u16, Page>,
}

/// A route, prepared.
#[derive(Default)]
pub(crate) struct ServedRoute {
    /// The pool that it goes to.
    pub(crate) pool: Option<Arc<LivePool>>,
    /// The directory whose files it shows.
    pub(crate) folder: Option<Arc<Folder>>,
    /// What clients have asked it for of late, where that is bounded; outlives snapshots.
    rates: Option<Arc<Rates>>,
}

/// A file sent instead of a failure's sentence.
pub(crate) struct Page {
    /// What it is.
    pub(crate) kind: &'static str,
    /// Its bytes.
    pub(crate) bytes: Bytes,
}

/// Changes to header fields.
#[derive(Default)]
pub(crate) struct FieldEdits {
    set: Vec<(HeaderName, HeaderValue)>,
    remove: Vec<HeaderName>,
}

impl ServedSite {
    /// Prepares a site of a model.
    ///
    /// # Errors
    /// A [`Fault`] when an error page cannot be read, or a name is none of a field.
    pub(crate) fn new(
        model: &Model,
        site: &Site,
        hash: &str,
        pools: &Arc<Pools>,
        before: Option<&ServedSite>,
    ) -> Result<Self, Fault> {
        Ok(ServedSite {
            metrics: match before.and_then(|before| before.metrics.as_ref()) {
                _ if site.endpoints.is_none() => None,
                Some(known) => Some(Arc::clone(known)),
                None => Some(Arc::new(Metrics::new()?)),
            },
            counts: counts(model, site, before),
            rates: rates(
                site.rate.as_ref(),
                before.and_then(|one| one.rates.as_ref()),
            ),
            routes: routes(site, pools, before)?,
            pools: Arc::clone(pools),
            request_fields: names(site.request_fields.as_deref())?,
            response_fields: names(site.response_fields.as_deref())?,
            request_edits: FieldEdits::of(&site.request_edits)?,
            response_edits: FieldEdits::of(&site.response_edits)?,
            https_port: model.https_port(site),
            hsts: site.hsts.as_ref().map(hsts).transpose()?,
            pages: pages(site)?,
            hash: hash.into(),
            site: site.clone(),
        })
    }

    /// Puts into an answer what the site has in all of them. RFC 6797 §7.2: in clear text nothing is
    /// said of HTTPS.
    pub(crate) fn dress(&self, fields: &mut HeaderMap, is_https: bool) {
        match &self.hsts {
            Some(hsts) if is_https => {
                fields.insert(STRICT_TRANSPORT_SECURITY, hsts.clone());
            }
            None if is_https => {}
            // Nor does a node say so through us.
            Some(_) | None => {
                fields.remove(STRICT_TRANSPORT_SECURITY);
            }
        }
        self.response_edits.change(fields);
    }

    /// Counts a request of a client for the site.
    ///
    /// # Errors
    /// [`Failure::RateExceeded`].
    pub(crate) fn count(&self, client: IpAddr, now: Instant) -> Result<(), Failure> {
        take(self.rates.as_ref(), client, now)
    }

    /// The route at a place in their order.
    pub(crate) fn route(&self, at: usize) -> Option<&ServedRoute> {
        self.routes.get(at)
    }

    /// The file for answers of ours with this status.
    pub(crate) fn page(&self, status: u16) -> Option<&Page> {
        self.pages.get(&status)
    }
}

impl ServedRoute {
    /// Counts a request of a client for the route.
    ///
    /// # Errors
    /// [`Failure::RateExceeded`].
    pub(crate) fn count(&self, client: IpAddr, now: Instant) -> Result<(), Failure> {
        take(self.rates.as_ref(), client, now)
    }
}

fn take(rates: Option<&Arc<Rates>>, client: IpAddr, now: Instant) -> Result<(), Failure> {
    let since = clock::since_start(now);
    let taken = rates.map_or(Ok(()), |rates| rates.take(client, since));
    taken.map_err(|wait| Failure::RateExceeded {
        retry_after: RetryAfter::of(wait),
    })
}

impl FieldEdits {
    fn of(edits: &Edits) -> Result<Self, Fault> {
        let value = |text: &str| {
            HeaderValue::from_str(text).map_err(|_| Fault::NotServed {
                what: format!("the field value `{text}`"),
            })
        };
        let set = edits.set.iter();
        let set = set.map(|(one, text)| Ok((name(one)?, value(text)?)));
        Ok(FieldEdits {
            set: set.collect::<Result<_, Fault>>()?,
            remove: edits.remove.iter().map(name).collect::<Result<_, _>>()?,
        })
    }

    /// Takes out first, sets then.
    pub(crate) fn change(&self, fields: &mut HeaderMap) {
        for name in &self.remove {
            fields.remove(name);
        }
        for (name, value) in &self.set {
            fields.insert(name.clone(), value.clone());
        }
    }
}

/// Of the site for a name that nobody has, on every listener.
fn counts(model: &Model, site: &Site, before: Option<&ServedSite>) -> SiteCounts {
    let before = before.map(|before| &before.counts);
    match site.name.is_empty() {
        true => SiteCounts::new(site, model.listeners.iter().map(|one| &one.name), before),
        false => {
            let listeners = [&site.listener].into_iter().chain(&site.also_on);
            SiteCounts::new(site, listeners, before)
        }
    }
}

/// What is known goes on where the setting is as it was.
fn rates(rate: Option<&Rate>, known: Option<&Arc<Rates>>) -> Option<Arc<Rates>> {
    let rate = *rate?;
    let same = known.filter(|known| known.rate() == rate);
    Some(same.map_or_else(|| Arc::new(Rates::new(rate)), Arc::clone))
}

/// RFC 6797 §6.1.
fn hsts(hsts: &Hsts) -> Result<HeaderValue, Fault> {
    let below = if hsts.subdomains {
        "; includeSubDomains"
    } else {
        ""
    };
    let preload = if hsts.preload { "; preload" } else { "" };
    let text = format!("max-age={}{below}{preload}", hsts.max_age.as_secs());
    HeaderValue::try_from(text).map_err(|_| Fault::NotServed {
        what: "`hsts`".to_owned(),
    })
}

fn routes(
    site: &Site,
    pools: &Pools,
    before: Option<&ServedSite>,
) -> Result<Vec<ServedRoute>, Fault> {
    let before = before.map_or((&[][..], &[][..]), |one| (&one.site.routes, &one.routes));
    let known = before.0.iter().map(|route| &*route.name).zip(before.1);
    let known: HashMap<&str, &ServedRoute> = known.collect();
    let prepare = |route: &Route| {
        let known = known.get(&*route.name).and_then(|one| one.rates.as_ref());
        Ok(ServedRoute {
            pool: pools.get(&route.pool).map(Arc::clone),
            folder: Folder::of(site, route)?.map(Arc::new),
            rates: rates(route.rate.as_ref(), known),
        })
    };
    site.routes.iter().map(prepare).collect()
}

fn pages(site: &Site) -> Result<BTreeMap<u16, Page>, Fault> {
    let read = |one: &ErrorPage| {
        let page = page(&one.file).map_err(|because| Fault::ErrorPage {
            site: Arc::clone(&site.name),
            status: one.status,
            path: one.file.clone(),
            because,
        })?;
        Ok((one.status, page))
    };
    site.error_pages.iter().map(read).collect()
}

fn page(file: &Path) -> Result<Page, String> {
    let about = fs::metadata(file).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("not a regular file".to_owned());
    }
    if about.len() > MAX_PAGE {
        return Err(format!("longer than {MAX_PAGE} bytes"));
    }
    let kind = match file.extension().and_then(|ending| ending.to_str()) {
        Some("json") => "application/json",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "text/html; charset=utf-8",
    };
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    Ok(Page {
        kind,
        bytes: bytes.into(),
    })
}

fn names(all: Option<&[Arc<str>]>) -> Result<Option<Vec<HeaderName>>, Fault> {
    all.map(|all| all.iter().map(name).collect()).transpose()
}

fn name(name: &Arc<str>) -> Result<HeaderName, Fault> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| Fault::NotServed {
        what: format!("the field name `{name}`"),
    })
}
