//! Files described in `made.toml`: too long, or not text.

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
