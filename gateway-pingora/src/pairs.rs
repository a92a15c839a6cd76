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

use gateway_config::model::{Certificate, Model, Tls};
use gateway_config::{FileRole, read_pem};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};

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
    pub(crate) broken: Option<String>,
}

/// Every pair that a model names.
#[derive(Clone, Default)]
pub(crate) struct Pairs(BTreeMap<Certificate, Known>);

impl Pairs {
    /// Reads what a model names; what cannot be used goes on as it was `before`.
    pub(crate) fn read(model: &Model, before: &Pairs, now: SystemTime) -> Self {
        let mut pairs = Pairs::default();
        for files in profiles(model).flat_map(Tls::certificates) {
            let known = |files: &Certificate| match before.0.get(files) {
                Some(known) => known.look(files, now),
                None => Known::default().look(files, now),
            };
            pairs.0.entry(files).or_insert_with_key(known);
        }
        pairs
    }

    /// What is known of a pair.
    pub(crate) fn get(&self, files: &Certificate) -> Option<&Known> {
        self.0.get(files)
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
    fn look(&self, files: &Certificate, now: SystemTime) -> Known {
        self.after(Pair::read(files), now)
    }

    /// What is known when that is in the files.
    fn after(&self, read: Result<Pair, Fault>, now: SystemTime) -> Known {
        let kept = |broken: Option<String>| Known {
            shown: self.shown.clone(),
            broken,
        };
        match (read, &self.shown) {
            (Err(fault), _) => kept(Some(fault.to_string())),
            (Ok(read), Some(shown)) if shown.is_same(&read) => kept(None),
            (Ok(read), Some(shown)) if shown.is_valid(now) && !read.is_valid(now) => {
                kept(Some("what is in its files is not valid now".to_owned()))
            }
            (Ok(read), _) => Known {
                shown: Some(Arc::new(read)),
                broken: None,
            },
        }
    }
}

impl Pair {
    /// Reads a pair, and proves that it is one.
    ///
    /// # Errors
    /// [`Fault::Certificate`] names the file that cannot be read, or does not fit.
    fn read(files: &Certificate) -> Result<Self, Fault> {
        let (chain_file, key_file) = (&*files.chain, &*files.key);
        let bytes = bytes(chain_file, FileRole::Chain)?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
        let chain = chain.map_err(|why| fault(chain_file, why))?;
        let first = chain.first();
        let first = first.ok_or_else(|| fault(chain_file, "it holds no certificate"))?;
        let covered = Covered::of(first);
        let (begins, ends) = validity(&chain).map_err(|why| fault(chain_file, why))?;
        let key = self::bytes(key_file, FileRole::Key)?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|why| fault(key_file, why))?;
        let signing = ring::default_provider()
            .key_provider
            .load_private_key(key)
            .map_err(|why| fault(key_file, why))?;
        let certified = CertifiedKey::new(chain, signing);
        match certified.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(Pair {
                certified: Arc::new(certified),
                covered: Arc::new(covered),
                begins,
                ends,
            }),
            Err(Error::InconsistentKeys(_)) => {
                let because = format!("it does not fit the certificate {}", chain_file.display());
                Err(fault(key_file, because))
            }
            Err(why) => Err(fault(chain_file, why)),
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
    read_pem(path, role).map_err(|why| fault(path, why))
}

/// When all certificates of a chain are valid.
fn validity(chain: &[CertificateDer<'_>]) -> Result<(SystemTime, SystemTime), &'static str> {
    let mut of_all = (UNIX_EPOCH, None);
    for one in chain {
        let (_, parsed) = x509_parser::parse_x509_certificate(one)
            .map_err(|_| "what a block holds is no certificate, or a part of one")?;
        let validity = parsed.validity();
        let begins = at(validity.not_before.timestamp());
        let ends = at(validity.not_after.timestamp());
        let sooner = of_all.1.map_or(ends, |known: SystemTime| known.min(ends));
        of_all = (of_all.0.max(begins), Some(sooner));
    }
    Ok((of_all.0, of_all.1.unwrap_or(UNIX_EPOCH)))
}

/// What lies before 1970 is long past, whenever it was.
fn at(timestamp: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(u64::try_from(timestamp).unwrap_or(0))
}

fn fault(path: &Path, because: impl ToString) -> Fault {
    Fault::Certificate {
        path: path.to_path_buf(),
        because: because.to_string(),
    }
}
