//! Programs that are not ours: which are there, and what they say.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::table;

/// How long one call may take, for `timeout`.
const PATIENCE: &str = "300";

/// The tools, each with how it is asked for its version.
const TOOLS: [(&str, &str, Option<&str>); 6] = [
    ("openssl", "version", None),
    ("curl", "--version", None),
    ("nghttp", "--version", None),
    ("h2load", "--version", None),
    ("testssl", "--version", None),
    ("sslyze", "", Some("GATEWAY_SSLYZE")),
];

/// Which are there.
pub(crate) struct Tools {
    all: Vec<(&'static str, OsString, Option<String>)>,
}

impl Tools {
    /// Looks for each.
    pub(crate) fn found() -> Self {
        let one = |(name, asked, variable): (&'static str, &str, Option<&str>)| {
            let told = variable.and_then(env::var_os);
            let program = told.unwrap_or_else(|| name.into());
            let version = version(name, &program, asked);
            (name, program, version)
        };
        Tools {
            all: TOOLS.map(one).into(),
        }
    }

    /// Those that are not.
    pub(crate) fn absent(&self) -> Vec<&'static str> {
        let absent = self.all.iter().filter(|one| one.2.is_none());
        absent.map(|one| one.0).collect()
    }

    /// Those that are, with their versions.
    pub(crate) fn versions(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.all.iter();
        all.filter_map(|one| Some((one.0, one.2.as_deref()?)))
    }

    /// Whether a page names this tool in the version that is there.
    pub(crate) fn is_of(&self, tool: &str, page: &str) -> bool {
        let mut versions = self.versions();
        versions.any(|(name, version)| {
            name == tool && page.contains(&table::version_line(name, version))
        })
    }

    /// A call of one; `None`: it is not there.
    pub(crate) fn get(&self, name: &str) -> Option<Call> {
        let one = self.all.iter().find(|one| one.0 == name)?;
        one.2.as_ref()?;
        let mut command = Command::new("timeout");
        command.arg(PATIENCE).arg(&one.1);
        Some(Call { command })
    }
}

/// Where a program lies that is the machine's, or was unpacked for this.
pub(crate) fn place(name: &str) -> Option<PathBuf> {
    let all = env::var_os("PATH")?;
    let mut all = env::split_paths(&all).map(|folder| folder.join(name));
    all.find(|path| path.is_file())
}

/// What a version is in what a tool says of itself: the first word that begins with a number.
fn version(name: &str, program: &OsString, asked: &str) -> Option<String> {
    let said = match name {
        // It does not say.
        "sslyze" => env::var("GATEWAY_SSLYZE_VERSION").ok()?,
        _ => {
            let mut command = Command::new(program);
            let output = command.arg(asked).stdin(Stdio::null()).output().ok()?;
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
    };
    let mut words = said.split([' ', '/', '\n']);
    let word = words.find(|word| word.starts_with(|first: char| first.is_ascii_digit()))?;
    Some(word.to_owned())
}

/// A call in the making.
pub(crate) struct Call {
    command: Command,
}

/// What came of a call.
pub(crate) struct Said {
    /// All that was printed.
    pub(crate) text: String,
    /// The exit code.
    pub(crate) code: i32,
}

impl Call {
    /// With these words, cut at spaces.
    pub(crate) fn words(mut self, words: &str) -> Self {
        self.command.args(words.split_whitespace());
        self
    }

    /// With one more word as it is.
    pub(crate) fn word(mut self, word: impl Into<OsString>) -> Self {
        self.command.arg(word.into());
        self
    }

    /// Calls it with these bytes to read.
    pub(crate) fn says(mut self, input: &[u8]) -> Said {
        let command = self.command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().expect("a tool");
        // One that does not read has ended.
        let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input));
        let output = child.wait_with_output().expect("what a tool says");
        let text = [output.stdout, output.stderr].concat();
        Said {
            text: String::from_utf8_lossy(&text).into_owned(),
            code: output.status.code().unwrap_or(-1),
        }
    }
}

impl Said {
    /// What stands behind the first of these words, to the end of its line.
    pub(crate) fn behind(&self, words: &str) -> Option<&str> {
        let (_, rest) = self.text.split_once(words)?;
        rest.lines().next().map(str::trim)
    }
}
