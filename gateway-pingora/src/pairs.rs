//! Certificates with their keys: as they are shown, and whether what is in their files is that.
//!
//! A pair is shown from when it could be read on. What comes into its files afterwards takes its place
//! as soon as it fits; until then, and where it never does, the one before is shown. A pair that never
//! could be read is shown to nobody, and keeps nobody else from being served.
//!
//! Source: GATEWAY §7, RUNTIME §1; adr/0053.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gateway_config::model::{Model, PairFiles, Tls};
use gateway_config::{FileRole, certificates, read_pem};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{Error, InconsistentKeys};
use x509_parser::certificate::X509Certificate;

use crate::covered::Covered;
use crate::fault::Fault;

/// A certificate with its key, as it is shown.
pub(crate) struct Pair {
    /// The chain, and what proves that it is ours.
    pub(crate) certified: Arc<CertifiedKey>,
    /// For whom.
    pub(crate) covered: Arc<Covered>,
    /// From when on all certificates of the chain are valid.
    pub(crate) begins: SystemTime,
    /// When the first of them is no longer.
    pub(crate) ends: SystemTime,
}

/// What is known of a pair of files.
#[derive(Clone, Default)]
pub(crate) struct Known {
    /// What is shown; `None`: nothing in the files was ever of use.
    pub(crate) shown: Option<Arc<Pair>>,
    /// Why it is not what is in the files now.
    broken: Option<String>,
    /// How near its end was when that was last told.
    told: Near,
    /// What was in the files when they could last be read.
    read: Option<Arc<Read>>,
}

/// What was in a pair of files, and what it came to.
struct Read {
    chain: Vec<u8>,
    key: Vec<u8>,
    pair: Result<Arc<Pair>, Fault>,
}

/// How near the end of a certificate is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Near {
    #[default]
    Far,
    Weeks,
    Week,
    Day,
    Over,
}

/// What somebody should know of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// What is in its files cannot be used.
    Broken(String),
    /// It has ended.
    Ended,
    /// It ends this many days from now; rounded down.
    Ends(u64),
    /// What is in its files can be used again, and is what was shown meanwhile.
    Mended,
    /// It is shown from here on.
    Shown,
}

/// Every pair that a model names.
#[derive(Clone, Default)]
pub(crate) struct Pairs(BTreeMap<PairFiles, Known>);

impl Pairs {
    /// Reads what a model names; what cannot be used goes on as it was `before`.
    pub(crate) fn read(model: &Model, before: &Pairs, now: SystemTime) -> Self {
        let mut pairs = Pairs::default();
        for files in profiles(model).flat_map(Tls::certificates) {
            let known = |files: &PairFiles| match before.0.get(files) {
                Some(known) => known.look(files, now),
                None => Known::default().look(files, now),
            };
            pairs.0.entry(files).or_insert_with_key(known);
        }
        pairs
    }

    /// What is known of a pair.
    pub(crate) fn get(&self, files: &PairFiles) -> Option<&Known> {
        self.0.get(files)
    }

    /// Those that are shown.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &PairFiles> {
        let shown = self.0.iter().filter(|(_, known)| known.shown.is_some());
        shown.map(|(files, _)| files)
    }

    /// Whether handshakes are to be otherwise than `before`.
    pub(crate) fn is_otherwise(&self, before: &Pairs) -> bool {
        let other = |(files, known): (&PairFiles, &Known)| {
            let before = before.0.get(files);
            before.is_none_or(|before| !known.is_shown_as(before))
        };
        self.0.iter().any(other)
    }

    /// What is to be told that was not `before`, of each pair by the file of its chain; and it counts as
    /// told.
    pub(crate) fn news(&mut self, before: &Pairs, now: SystemTime) -> Vec<(&Path, News)> {
        let never = Known::default();
        let mut all = Vec::new();
        for (files, known) in &mut self.0 {
            let before = before.0.get(files).unwrap_or(&never);
            let news = known.news(before, now);
            all.extend(news.into_iter().map(|one| (&*files.chain, one)));
        }
        all
    }

    /// When the first of the certificates that a profile shows ends, and of how many what is in their
    /// files cannot be used.
    pub(crate) fn standing(&self, tls: &Tls) -> (Option<SystemTime>, usize) {
        let known = || tls.certificates().filter_map(|files| self.0.get(&files));
        let ends = known().filter_map(|one| Some(one.shown.as_ref()?.ends));
        let broken = known().filter(|one| one.broken.is_some());
        (ends.min(), broken.count())
    }

    /// What cannot be used, and what that comes to.
    pub(crate) fn broken(&self) -> impl Iterator<Item = String> {
        self.0.values().filter_map(|known| {
            let instead = match known.shown {
                Some(_) => "the certificate before is shown",
                None => "handshakes for its names are refused",
            };
            Some(format!("{}; {instead}", known.broken.as_ref()?))
        })
    }
}

/// The profiles that listeners show.
pub(crate) fn profiles(model: &Model) -> impl Iterator<Item = &Tls> {
    let of_listeners = model.listeners.iter().filter_map(|one| one.tls.as_ref());
    let of_sites = model.sites.iter().filter_map(|one| one.tls.as_deref());
    of_listeners.chain(of_sites)
}

impl Known {
    /// Looks at the files again.
    fn look(&self, files: &PairFiles, now: SystemTime) -> Known {
        match Read::again(files, self.read.as_ref()) {
            Ok(read) => self.after(files, &read, now),
            Err(fault) => Known {
                broken: Some(fault.to_string()),
                ..self.clone()
            },
        }
    }

    /// What is known when that is in the files.
    fn after(&self, files: &PairFiles, read: &Arc<Read>, now: SystemTime) -> Known {
        let kept = |broken: Option<String>| Known {
            broken,
            read: Some(Arc::clone(read)),
            ..self.clone()
        };
        match (&read.pair, &self.shown) {
            (Err(fault), _) => kept(Some(fault.to_string())),
            (Ok(pair), Some(shown)) if shown.is_same(pair) => kept(None),
            (Ok(pair), Some(shown)) if shown.is_valid(now) && !pair.is_valid(now) => {
                let fault = Fault::certificate(&files.chain, "what is in it is not valid now");
                kept(Some(fault.to_string()))
            }
            (Ok(pair), _) => Known {
                shown: Some(Arc::clone(pair)),
                told: Near::Far,
                ..kept(None)
            },
        }
    }

    fn is_shown_as(&self, before: &Known) -> bool {
        self.shown.as_ref().map(Arc::as_ptr) == before.shown.as_ref().map(Arc::as_ptr)
    }

    fn news(&mut self, before: &Known, now: SystemTime) -> Vec<News> {
        let mut news = Vec::new();
        match &self.broken {
            Some(why) if before.broken.as_ref() != Some(why) => {
                news.push(News::Broken(why.clone()));
            }
            None if !self.is_shown_as(before) => news.push(News::Shown),
            None if before.broken.is_some() => news.push(News::Mended),
            Some(_) | None => {}
        }
        if let Some(shown) = &self.shown {
            let left = shown.ends.duration_since(now).ok();
            let near = Near::of(left);
            if near > self.told {
                let ends = |left: Duration| News::Ends(left.as_secs() / DAY);
                news.push(left.map_or(News::Ended, ends));
            }
            self.told = self.told.max(near);
        }
        news
    }
}

/// Seconds.
const DAY: u64 = 24 * 60 * 60;

impl Near {
    /// `None`: the end has come.
    fn of(left: Option<Duration>) -> Self {
        match left.map(|left| left.as_secs()) {
            None => Near::Over,
            Some(left) if left <= DAY => Near::Day,
            Some(left) if left <= 7 * DAY => Near::Week,
            Some(left) if left <= 21 * DAY => Near::Weeks,
            Some(_) => Near::Far,
        }
    }
}

impl Read {
    /// Reads a pair of files; the same as `before` where they hold the same bytes.
    ///
    /// # Errors
    /// [`Fault::Certificate`] names the file that cannot be read.
    fn again(files: &PairFiles, before: Option<&Arc<Read>>) -> Result<Arc<Self>, Fault> {
        let chain = bytes(&files.chain, FileRole::Chain)?;
        let key = bytes(&files.key, FileRole::Key)?;
        if let Some(before) = before.filter(|one| one.chain == chain && one.key == key) {
            return Ok(Arc::clone(before));
        }
        let pair = Pair::of(files, &chain, &key).map(Arc::new);
        Ok(Arc::new(Read { chain, key, pair }))
    }
}

impl Pair {
    /// Proves that it is one.
    ///
    /// # Errors
    /// [`Fault::Certificate`] names the file that does not fit.
    fn of(files: &PairFiles, chain: &[u8], key: &[u8]) -> Result<Self, Fault> {
        let (of_chain, of_key) = (&*files.chain, &*files.key);
        let chain = certificates(chain).map_err(|why| Fault::certificate(of_chain, why))?;
        let all = parsed(&chain).map_err(|why| Fault::certificate(of_chain, why))?;
        let (begins, ends) = validity(&all);
        let covered = chain.first().map(|first| Covered::of(first));
        let key = PrivateKeyDer::from_pem_slice(key);
        let key = key.map_err(|why| Fault::certificate(of_key, why))?;
        let key = signing(key).map_err(|why| Fault::certificate(of_key, why))?;
        let certified = CertifiedKey::new(chain, key);
        match fits(&certified) {
            Ok(true) => Ok(Pair {
                certified: Arc::new(certified),
                covered: Arc::new(covered.unwrap_or_default()),
                begins,
                ends,
            }),
            Ok(false) => {
                let because = format!("it does not fit the certificate {}", of_chain.display());
                Err(Fault::certificate(of_key, because))
            }
            Err(why) => Err(Fault::certificate(of_chain, why)),
        }
    }

    /// Whether the other one is shown just as well: a key that fits the same certificate is the same.
    fn is_same(&self, other: &Pair) -> bool {
        self.certified.cert == other.certified.cert
    }

    fn is_valid(&self, now: SystemTime) -> bool {
        (self.begins..=self.ends).contains(&now)
    }
}

fn bytes(path: &Path, role: FileRole) -> Result<Vec<u8>, Fault> {
    read_pem(path, role).map_err(|why| Fault::certificate(path, why))
}

/// What the certificates of a chain say.
///
/// # Errors
/// One says nothing that could be understood.
pub(crate) fn parsed<'c>(
    chain: &'c [CertificateDer<'_>],
) -> Result<Vec<X509Certificate<'c>>, &'static str> {
    let one = |der: &'c CertificateDer<'_>| {
        let (_, parsed) = x509_parser::parse_x509_certificate(der)
            .map_err(|_| "what the block holds is no certificate, or a part of one")?;
        Ok(parsed)
    };
    chain.iter().map(one).collect()
}

/// A key as handshakes are signed with it.
///
/// # Errors
/// It is damaged, or of a kind that is not spoken here.
pub(crate) fn signing(key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
    let provider = ring::default_provider().key_provider;
    provider.load_private_key(key)
}

/// Whether a key is that of the first certificate; one of a kind that cannot be compared counts as such.
///
/// # Errors
/// The certificate cannot be used.
pub(crate) fn fits(certified: &CertifiedKey) -> Result<bool, Error> {
    match certified.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(true),
        Err(Error::InconsistentKeys(_)) => Ok(false),
        Err(why) => Err(why),
    }
}

/// When all certificates of a chain are valid.
fn validity(chain: &[X509Certificate<'_>]) -> (SystemTime, SystemTime) {
    let all = || chain.iter().map(|one| one.validity());
    let begins = all().map(|one| at(one.not_before.timestamp())).max();
    let ends = all().map(|one| at(one.not_after.timestamp())).min();
    (begins.unwrap_or(UNIX_EPOCH), ends.unwrap_or(UNIX_EPOCH))
}

/// What lies before 1970 is long past, whenever it was.
fn at(timestamp: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(timestamp).unwrap_or(0))
}

#[cfg(test)]
pub(crate) mod tests;
