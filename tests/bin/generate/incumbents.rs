//! Asks nginx, HAProxy and Caddy what they say to a mistake, and keeps it with their version.
//!
//! What is kept is what they print, without times, process ids and lines about the start. It is
//! made on a machine that has them, and read by [`mistakes`] everywhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gateway_tests::case;
use gateway_tests::scratch::Scratch;

use crate::mistakes::{self, Mistake};

/// One of the others.
pub(crate) struct Incumbent {
    /// Its name, as its maintainers write it.
    pub(crate) name: &'static str,
    /// The program, and what its output is kept under.
    pub(crate) program: &'static str,
    /// The file with the mistake.
    file: &'static str,
    /// What checks that file, in its folder.
    check: &'static [&'static str],
    /// What prints its version, in the first line.
    version: &'static [&'static str],
    /// A line as it is kept, or nothing.
    keep: fn(&str) -> Option<String>,
    /// Whether a line that is kept tells of something wrong.
    pub(crate) is_finding: fn(&str) -> bool,
}

pub(crate) static ALL: [Incumbent; 3] = [
    Incumbent {
        name: "nginx",
        program: "nginx",
        file: "nginx.conf",
        check: &["-t", "-e", "stderr", "-p", ".", "-c", "nginx.conf"],
        version: &["-v"],
        keep: |line| {
            let level = line.find(" [").filter(|_| line.contains('#'));
            let line = level.and_then(|at| line.get(at + 1..)).unwrap_or(line);
            Some(match line.split_once("] ") {
                Some((level, rest)) => format!("{level}] {}", without_between(rest, "", ": ")),
                None => line.to_owned(),
            })
        },
        is_finding: |line| line.contains("[emerg] ") || line.contains("[warn] "),
    },
    Incumbent {
        name: "HAProxy",
        program: "haproxy",
        file: "haproxy.cfg",
        check: &["-c", "-f", "haproxy.cfg"],
        version: &["-v"],
        keep: |line| (!line.starts_with("[NOTICE]")).then(|| without_between(line, "(", ") : ")),
        is_finding: |line| {
            let is_sum = line.contains("rrors found in") || line.contains("rror(s) found in");
            let is_told = line.starts_with("[ALERT]") || line.starts_with("[WARNING]");
            is_told && !is_sum || line.contains("will not start")
        },
    },
    Incumbent {
        name: "Caddy",
        program: "caddy",
        file: "Caddyfile",
        check: &[
            "validate",
            "--config",
            "Caddyfile",
            "--adapter",
            "caddyfile",
        ],
        version: &["version"],
        keep: |line| (!line.starts_with("{\"level\":\"")).then(|| line.to_owned()),
        is_finding: |line| line.starts_with("Error: "),
    },
];

/// A line without its first piece from `from` to the end of `to`, where it has both.
fn without_between(line: &str, from: &str, to: &str) -> String {
    let parts = line
        .split_once(from)
        .and_then(|(before, rest)| Some((before, rest.split_once(to)?.1)));
    match parts {
        Some((before, behind)) => format!("{before}{behind}"),
        None => line.to_owned(),
    }
}

/// Asks those that are installed about every mistake.
pub(crate) fn ask() -> Result<(), String> {
    for mistake in mistakes::all()? {
        for incumbent in &ALL {
            match incumbent.ask(&mistake) {
                Some(said) => fs::write(incumbent.kept(&mistake), said)
                    .map_err(|why| format!("{}: {why}", incumbent.program))?,
                None => println!("not asked: {}, which is not installed", incumbent.name),
            }
        }
    }
    Ok(())
}

impl Incumbent {
    /// What it said, and before that its version, in a line.
    pub(crate) fn said(&self, mistake: &Mistake) -> Result<String, String> {
        let path = self.kept(mistake);
        fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))
    }

    fn kept(&self, mistake: &Mistake) -> PathBuf {
        self.folder(mistake).join(format!("{}.txt", self.program))
    }

    fn folder(&self, mistake: &Mistake) -> PathBuf {
        case::directory().join("incumbents").join(&mistake.case)
    }

    fn ask(&self, mistake: &Mistake) -> Option<String> {
        let scratch = Scratch::new();
        let text = fs::read(self.folder(mistake).join(self.file)).ok()?;
        let _ = scratch.file(self.file, text);
        let (version, _) = self.runs(self.version, scratch.path())?;
        let (said, code) = self.runs(self.check, scratch.path())?;
        let said: Vec<String> = said.lines().filter_map(self.keep).collect();
        let version = version.lines().next().unwrap_or_default();
        Some(format!("{version}\n{}\nexit {code}\n", said.join("\n")))
    }

    fn runs(&self, arguments: &[&str], directory: &Path) -> Option<(String, i32)> {
        let home = ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"].map(|name| (name, directory));
        let ended = Command::new(self.program)
            .args(arguments)
            .current_dir(directory)
            .envs(home)
            .output()
            .ok()?;
        let both = [ended.stdout, ended.stderr].concat();
        Some((
            String::from_utf8_lossy(&both).into_owned(),
            ended.status.code()?,
        ))
    }
}
