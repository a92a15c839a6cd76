//! What lies in `deploy/`, as the tools of those who run it understand it: rules and their tests by
//! `promtool`, units by `systemd-analyze`, manifests by the schema of Kubernetes.
//!
//! A tool that is not there is brought below `target/` where that can be done; otherwise it is said.
//! Leaves configurations and names of metrics to the scenarios, which ask the gateway.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::clients::environment;
use crate::process::{capture, complaints, program, run as run_program};

const RULES: &str = "deploy/prometheus";
const SCRAPES: [&str; 2] = [
    "deploy/prometheus/scrape.yml",
    "deploy/kubernetes/scrape.yml",
];
const UNITS: &str = "deploy/systemd";
/// The service and, where it is used, what holds its sockets.
const UNIT_FILES: [&str; 2] = ["gatewayd.service", "gatewayd.socket"];
const MANIFESTS: &str = "deploy/kubernetes/gatewayd.yaml";
/// The exposure that `systemd-analyze security` may find, in tenths.
const EXPOSURE: &str = "--threshold=20";
const PYTHON: [&str; 2] = ["kubernetes-validate==1.37.0", "yamllint==1.38.0"];
const LINES: &str = "{extends: relaxed, rules: {line-length: {max: 140}}}";

/// Every check whose tool can be had; otherwise which could not.
pub(crate) fn check(root: &Path) -> Result<Option<String>> {
    let mut absent = Vec::new();
    for part in [rules, units, manifests] {
        absent.extend(part(root)?);
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

fn rules(root: &Path) -> Result<Option<String>> {
    let Some(tool) = promtool(root) else {
        return Ok(Some("rules: promtool cannot be had".to_owned()));
    };
    let place = root.join(RULES);
    let tool = tool.to_string_lossy();
    run_program(&mut program(
        &place,
        &tool,
        &["check", "rules", "gatewayd.rules.yml"],
    ))?;
    run_program(&mut program(
        &place,
        &tool,
        &["test", "rules", "gatewayd.rules.test.yml"],
    ))?;
    // The files they name are those of the machine that scrapes.
    for path in SCRAPES {
        let text = fs::read_to_string(root.join(path)).map_err(|why| format!("{path}: {why}"))?;
        let copy = root.join("target/scrape.yml");
        fs::write(&copy, plain_targets(&text)).map_err(|why| format!("{path}: {why}"))?;
        let mut check = program(&place, &tool, &["check", "config", "--syntax-only"]);
        capture(check.arg(&copy)).map_err(|said| format!("{path}: {said}"))?;
    }
    Ok(None)
}

/// The same without the discovery of Kubernetes, which Debian's promtool does not know.
fn plain_targets(scrape: &str) -> String {
    scrape.replace(
        "kubernetes_sd_configs:\n      - role: pod\n",
        "static_configs:\n      - targets: [pod]\n",
    )
}

/// The machine's, or that of Debian's package, unpacked below `target/`.
fn promtool(root: &Path) -> Option<PathBuf> {
    let place = root.join("target/promtool");
    let own = place.join("usr/bin/promtool");
    for path in [PathBuf::from("promtool"), own.clone()] {
        if capture(&mut program(root, &path.to_string_lossy(), &["--version"])).is_ok() {
            return Some(path);
        }
    }
    println!("unpacking promtool into target/promtool");
    fs::create_dir_all(&place).ok()?;
    capture(&mut program(&place, "apt-get", &["download", "prometheus"])).ok()?;
    let all = fs::read_dir(&place)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    let package = all
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "deb"))?;
    let unpack = ["-x", &package.to_string_lossy(), "."];
    capture(&mut program(&place, "dpkg-deb", &unpack)).ok()?;
    own.is_file().then_some(own)
}

fn units(root: &Path) -> Result<Option<String>> {
    if capture(&mut program(root, "systemd-analyze", &["--version"])).is_err() {
        return Ok(Some("the units: there is no systemd-analyze".to_owned()));
    }
    let place = root.join("target/units");
    fs::create_dir_all(&place).map_err(|why| format!("{}: {why}", place.display()))?;
    for name in UNIT_FILES {
        let path = format!("{UNITS}/{name}");
        let text = fs::read_to_string(root.join(&path)).map_err(|why| format!("{path}: {why}"))?;
        // It looks for the program as well, which need not be installed here.
        let text = text.replace("/usr/bin/gatewayd", "/bin/true");
        fs::write(place.join(name), text).map_err(|why| format!("{name}: {why}"))?;
    }
    let mut verify = vec!["verify", "--man=no"];
    verify.extend(UNIT_FILES);
    let (is_done, said) = complaints(&mut program(&place, "systemd-analyze", &verify))?;
    let objections = objections(&said);
    if !objections.is_empty() {
        return Err(format!("{UNITS}:\n{}", objections.join("\n")));
    }
    if !is_done {
        let said = said.lines().last().unwrap_or_default();
        return Ok(Some(format!("the units, by systemd-analyze: {said}")));
    }
    let [service, _] = UNIT_FILES;
    let secure = [
        "security",
        "--offline=true",
        "--no-pager",
        EXPOSURE,
        service,
    ];
    let said = capture(&mut program(&place, "systemd-analyze", &secure))?;
    println!("{}", said.lines().last().unwrap_or_default());
    Ok(None)
}

/// What is said of our units, but for the one word that systemd knows since 253.
fn objections(said: &str) -> Vec<&str> {
    said.lines()
        .filter(|line| UNIT_FILES.iter().any(|name| line.contains(name)))
        .filter(|line| !line.ends_with("Failed to parse service type, ignoring: notify-reload"))
        .collect()
}

fn manifests(root: &Path) -> Result<Option<String>> {
    let imports = "import kubernetes_validate, yamllint";
    let python = match environment(root, "delivery", &PYTHON, imports) {
        Ok(python) => python.to_string_lossy().into_owned(),
        Err(reason) => return Ok(Some(format!("manifests: {reason}"))),
    };
    let validate = ["-m", "kubernetes_validate", "--strict", MANIFESTS];
    run_program(&mut program(root, &python, &validate))?;
    let lint = ["-m", "yamllint", "--strict", "-d", LINES, "deploy"];
    run_program(&mut program(root, &python, &lint))?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::objections;

    #[test]
    fn an_old_systemd_is_forgiven_one_word() {
        let old = "x/gatewayd.service:10: Failed to parse service type, ignoring: notify-reload\n";
        assert!(objections(old).is_empty());
        let said =
            format!("{old}x/gatewayd.service:11: Unknown key name 'Foo' in section\nother\n");
        assert_eq!(objections(&said).len(), 1);
    }
}
