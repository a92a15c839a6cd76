//! Files described in `made.toml`: too long, or not text.

use crate::certs::Authority;

use super::{BTreeMap, Deserialize, Path, fs, set_mode};

/// A configuration that is made when it is needed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Made {
    /// The parts of `gateway.toml`, end to end.
    #[serde(default)]
    parts: Vec<Part>,
    /// Files beside it.
    #[serde(default)]
    files: BTreeMap<String, Beside>,
    /// Certificates made for it, `NAME.pem` with `NAME.key`; then also `authority.pem` with its key.
    #[serde(default)]
    certificates: BTreeMap<String, Signed>,
    /// What to call instead of `check gateway.toml`.
    #[serde(default)]
    pub(super) command: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Part {
    Bytes {
        bytes: Vec<u8>,
    },
    Text {
        text: String,
        #[serde(default = "once")]
        times: usize,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Beside {
    text: String,
    mode: u32,
}

/// The hosts of a certificate, and the years from and to which it is valid.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    hosts: Vec<String>,
    #[serde(default = "always")]
    years: (i32, i32),
}

fn always() -> (i32, i32) {
    (2001, 3001)
}

fn once() -> usize {
    1
}

impl Made {
    pub(super) fn lay(&self, into: &Path) {
        if !self.parts.is_empty() {
            let all: Vec<u8> = self.parts.iter().flat_map(Part::bytes).collect();
            fs::write(into.join("gateway.toml"), all).expect("a file in the scratch");
        }
        for (name, file) in &self.files {
            let path = into.join(name);
            fs::write(&path, &file.text).expect("a file in the scratch");
            set_mode(&path, file.mode);
        }
        if !self.certificates.is_empty() {
            self.sign(into);
        }
    }

    fn sign(&self, into: &Path) {
        let authority = Authority::new();
        let write = |name: &str, chain: &str, key: &str| {
            fs::write(into.join(format!("{name}.pem")), chain).expect("a file in the scratch");
            let path = into.join(format!("{name}.key"));
            fs::write(&path, key).expect("a file in the scratch");
            set_mode(&path, 0o600);
        };
        write("authority", authority.pem(), authority.key_pem());
        for (name, signed) in &self.certificates {
            let hosts: Vec<&str> = signed.hosts.iter().map(String::as_str).collect();
            let made = authority.signs_for(&hosts, signed.years.0..signed.years.1);
            write(name, &made.cert_pem, &made.key_pem);
        }
    }
}

impl Part {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes { bytes } => bytes.clone(),
            Self::Text { text, times } => text.repeat(*times).into_bytes(),
        }
    }
}
