//! The project's own commands, reached as `cargo xtask …` from a fresh clone.
//!
//! Only dispatches; each command has a file of its own name. A workspace of its own with two
//! small dependencies, because everything else waits for it.

mod advisories;
mod arch;
mod arguments;
mod canary;
mod check;
mod citations;
mod clients;
mod clock;
mod commit;
mod delivery;
mod deny;
mod differential;
mod disks;
mod editors;
mod generate;
mod names;
mod patches;
mod play;
mod process;
mod release;
mod report;
mod review;
mod rust_text;
mod sbom;
mod size;
mod test;
mod tls_tools;
mod traces;
mod tree;
mod vendor;
mod workflows;

use std::process::ExitCode;

/// What went wrong, as one message for the person at the terminal.
type Result<T = ()> = std::result::Result<T, String>;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  demo [--once]      three stand-in nodes and a front door; with --once the story plays and checks itself
  soak [--minutes N] [--seed N] [--format json]
                     the gateway under load, through reloads and faults: what failed and need not have
  bench [instructions|files|tls]
                     what the gateway costs, in ratios: needs valgrind, nginx, HAProxy; a machine with nothing else to do
  test               everything a change must pass, in order
  check              the quick part of it: formatting, clippy, the house guards
  canary (--source DIR | --from-registry) [--scenarios] [--format json]
                     another Pingora in a throw-away workspace: our patches on it, the adapter compiled and tested
  delivery           what lies in deploy/, as promtool, systemd-analyze and Kubernetes' schema understand it
  differential       the edge's vectors, as nginx and Caddy answer them: each difference has its reason
  editors            the schema, as two editors' tools understand it
  patches [--needed [NNNN ...]]
                     each patch has its record; with --needed, its tests fail without it (some minutes each)
  vendor [--force]   Pingora's pinned sources with our patches, in vendor/pingora
  generate [--check] every file that is made from the gateway; with --check it names those that are stale
  arch               the arrows between rooms and between modules
  sbom [--output FILE]
                     what the gateway is made of, as CycloneDX
  size               sizes, names, citations, and traces of a machine
  tls-tools [--check]
                     the built gateway, as openssl, testssl, sslyze, curl, nghttp and h2load find it
  workflows          what runs on a forge: pins, toolchain, and what a linter says
  release            the binary as it is shipped, its symbols and what it is made of, in target/dist
  review [BASE]      the numbers to look at before saying yes (BASE: main's last commit)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<ExitCode> {
    let Some((command, rest)) = arguments.split_first() else {
        return Ok(refused("no command named"));
    };
    if arguments::ask_for_help(arguments) {
        report::print(USAGE)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments::are_taken(command, rest) {
        let rest = rest.join(" ");
        return Ok(refused(&format!("`{command}` does not take `{rest}`")));
    }
    let root = tree::root()?;
    match command.as_str() {
        "arch" => arch::run(&root)?,
        "canary" => return canary::run(&root, rest),
        "check" => check::run(&root)?,
        "bench" | "demo" | "soak" => return play::run(&root, command, rest),
        "delivery" => delivery::run(&root)?,
        "differential" => differential::run(&root)?,
        "editors" => editors::run(&root)?,
        "generate" => generate::run(&root, rest)?,
        "help" => report::print(USAGE)?,
        "patches" => patches::run(&root, rest)?,
        "release" => release::run(&root)?,
        "review" => review::run(&root, rest)?,
        "sbom" => sbom::run(&root, rest)?,
        "size" => size::run(&root)?,
        "test" => test::run(&root)?,
        "tls-tools" => tls_tools::run(&root, rest)?,
        "workflows" => workflows::run(&root)?,
        "vendor" => vendor::run(&root, rest)?,
        other => return Ok(refused(&format!("no command `{other}`"))),
    }
    Ok(ExitCode::SUCCESS)
}

/// What cannot be meant: the usage, and 2.
fn refused(why: &str) -> ExitCode {
    eprint!("xtask: {why}\n\n{USAGE}");
    ExitCode::from(2)
}
