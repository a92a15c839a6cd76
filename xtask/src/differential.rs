//! Sends the requests of the edge's vectors to two servers that are not ours, and holds them to what the
//! vectors say of them.
//!
//! The servers are the distribution's packages, in the versions that the differences are told of. What
//! is not installed is unpacked below `target/`, where it can be had; otherwise the reason why nothing was
//! checked.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::process::{capture, program, run as run_program};

/// Where packages are unpacked.
const HOME: &str = "target/differential";

struct Peer {
    package: &'static str,
    /// Where the package puts its program.
    place: &'static str,
    /// What the program is asked, and what it says then.
    version: (&'static str, &'static str),
    variable: &'static str,
}

const PEERS: [Peer; 2] = [
    Peer {
        package: "nginx",
        place: "usr/sbin/nginx",
        version: ("-v", "nginx/1.22."),
        variable: "GATEWAY_NGINX",
    },
    Peer {
        package: "caddy",
        place: "usr/bin/caddy",
        version: ("version", "2.6."),
        variable: "GATEWAY_CADDY",
    },
];

const TEST: &str = "test --locked -p gateway-tests --test vectors -- --ignored differential::";

/// Compares with each server that is there or can be had; otherwise the reason why not.
pub(crate) fn check(root: &Path) -> Result<Option<String>> {
    let mut absent = Vec::new();
    for peer in &PEERS {
        match peer.installed(root) {
            Ok(path) => peer.compares(root, &path)?,
            Err(reason) => absent.push(format!("with {}: {reason}", peer.package)),
        }
    }
    Ok((!absent.is_empty()).then(|| absent.join("; ")))
}

/// The command: the same, and what cannot be had is said.
pub(crate) fn run(root: &Path) -> Result {
    if let Some(reason) = check(root)? {
        println!("NOT CHECKED: {reason}");
    }
    Ok(())
}

impl Peer {
    fn compares(&self, root: &Path, path: &Path) -> Result {
        let test = format!("{TEST}{}", self.package);
        let words: Vec<&str> = test.split(' ').collect();
        run_program(program(root, "cargo", &words).env(self.variable, path))
    }

    /// The program of the machine, or that of the package, in the version whose differences are told.
    fn installed(&self, root: &Path) -> Result<PathBuf> {
        let home = root.join(HOME);
        let places = [Path::new("/").join(self.place), home.join(self.place)];
        let [_, unpacked] = &places;
        if !places.iter().any(|place| place.is_file()) {
            self.unpack(root, &home)?;
        }
        let found = places.iter().find(|place| place.is_file());
        let path = found.unwrap_or(unpacked);
        let (asked, said) = self.version;
        // One of them answers on the wrong stream.
        let line = format!("'{}' {asked} 2>&1", path.display());
        let version = capture(&mut program(root, "sh", &["-c", &line]))?;
        match version.contains(said) {
            true => Ok(path.clone()),
            false => Err(format!(
                "differences are told of {said}x, and here is {}",
                version.trim()
            )),
        }
    }

    fn unpack(&self, root: &Path, home: &Path) -> Result {
        fs::create_dir_all(home).map_err(|error| format!("{}: {error}", home.display()))?;
        let package = self.package;
        let line = format!("apt-get -q download {package} && dpkg -x {package}_*.deb .");
        capture(program(root, "sh", &["-c", &line]).current_dir(home))
            .map(|_| ())
            .map_err(|why| format!("{package} is not installed and cannot be had: {why}"))
    }
}
