//! The built gateway, asked by TLS and HTTP/2 tools that are not ours; what they found is a page of the
//! documents.
//!
//! The tools are the machine's, or the distribution's packages, unpacked below `target/`; what cannot be
//! had is not checked, and that is said. What they are asked is a program of the tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::Result;
use crate::clients::environment;
use crate::process::{capture, program, run as run_program};

/// Where packages are unpacked.
const HOME: &str = "target/tls-tools";
/// Programs, and the packages that have them.
const PACKAGES: [(&str, &str); 5] = [
    ("openssl", "openssl"),
    ("curl", "curl"),
    ("nghttp", "nghttp2-client"),
    ("h2load", "nghttp2-client"),
    ("testssl", "testssl.sh"),
];
const SSLYZE: &str = "sslyze==6.3.1";
/// What tells where `testssl` finds what it brings.
const DATA_OF_TESTSSL: &str = "TESTSSL_INSTALL_DIR";

const BUILD: &str = "build --locked -p gatewayd -p gateway-tests --bins";

/// Checks what does not take long, by each tool that is there or can be had; otherwise the reason why not.
pub(crate) fn check(root: &Path) -> Result<Option<String>> {
    let absent = asks(root, &["--check"])?;
    Ok((!absent.is_empty()).then(|| absent.join("; ")))
}

/// The command: asks all of them everything and writes the page, or with `--check` the same as above.
pub(crate) fn run(root: &Path, arguments: &[String]) -> Result {
    let words: Vec<&str> = BUILD.split(' ').collect();
    run_program(&mut program(root, "cargo", &words))?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    for reason in asks(root, &arguments)? {
        println!("NOT CHECKED: {reason}");
    }
    Ok(())
}

/// Asks what can be asked; what cannot, and why.
fn asks(root: &Path, arguments: &[&str]) -> Result<Vec<String>> {
    let home = root.join(HOME);
    let mut absent = Vec::new();
    let asks = root.join("target/debug/tls-tools");
    let mut command = program(root, &asks.to_string_lossy(), arguments);
    command.env("PATH", path(&home)?);
    for (name, package) in PACKAGES {
        if let Err(reason) = installed(root, &home, name, package) {
            absent.push(format!("by {name}: {reason}"));
        }
    }
    let data = home.join("etc/testssl");
    if data.is_dir() {
        command.env(DATA_OF_TESTSSL, data);
    }
    match environment(root, "sslyze", &[SSLYZE], "import sslyze") {
        Ok(python) => {
            command.env("GATEWAY_SSLYZE", python.with_file_name("sslyze"));
            command.env("GATEWAY_SSLYZE_VERSION", SSLYZE.replace("==", " "));
        }
        Err(reason) => absent.push(format!("by sslyze: {reason}")),
    }
    run_program(&mut command)?;
    Ok(absent)
}

/// Where programs are looked for: the machine's, then ours, among them a `host` that knows none: `testssl`
/// does not begin without one and, told so, does not ask it.
fn path(home: &Path) -> Result<OsString> {
    let own = home.join("usr/bin");
    let host = own.join("host");
    let written = fs::create_dir_all(&own).and_then(|()| fs::write(&host, "#!/bin/sh\nexit 1\n"));
    written.map_err(|why| format!("{}: {why}", host.display()))?;
    run_program(Command::new("chmod").arg("+x").arg(&host))?;
    let known = env::var_os("PATH").unwrap_or_default();
    let all = env::split_paths(&known).chain([own]);
    env::join_paths(all).map_err(|why| why.to_string())
}

/// Sees to it that a program is there.
fn installed(root: &Path, home: &Path, name: &str, package: &str) -> Result {
    let own = home.join("usr/bin").join(name);
    let known = env::var_os("PATH").unwrap_or_default();
    let mut places = env::split_paths(&known).map(|place| place.join(name));
    if own.is_file() || places.any(|path: PathBuf| path.is_file()) {
        return Ok(());
    }
    println!("unpacking {package} into {HOME}");
    let line = format!("apt-get -q download {package} && dpkg -x {package}_*.deb .");
    capture(program(root, "sh", &["-c", &line]).current_dir(home))
        .map(|_| ())
        .map_err(|why| format!("{package} is not installed and cannot be had: {why}"))
}
