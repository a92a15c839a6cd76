//! What is large takes the time and the room of its length: no size here would end within minutes if
//! each piece were compared with each other one, or copied for each.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on says so by stopping"
)]

use std::fmt::Write as _;

use gateway_config::effective::to_toml;
use gateway_config::{Diagnostic, Loaded, Sources, load_source};

const BASE: &str = "[listeners.http]\nbind = \"127.0.0.1:18080\"\n\
                    [pools.p]\nnodes = [\"127.0.0.1:9000\"]\nprobe = { kind = \"ready\" }\n";
const MANY: usize = 8_000;

fn load(text: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let mut sources = Sources::default();
    let id = sources.add("gateway.toml", text.to_owned());
    load_source(id, &mut sources)
}

/// A text for each number, one behind the other.
fn each(make: impl Fn(usize) -> String) -> String {
    (0..MANY).fold(String::new(), |mut all, at| {
        let _ = writeln!(all, "{}", make(at));
        all
    })
}

const SITE: &str = "[sites.s]\nlistener = \"http\"\nhosts = [\"h\"]\npool = \"p\"\n";

#[test]
fn many_references_that_lead_nowhere_are_told_and_the_first_with_what_was_meant() {
    let pools = each(|at| {
        format!(
            "[pools.node-group-{at}]\nnodes = [\"127.0.0.1:9000\"]\nprobe = {{ kind = \"ready\" }}"
        )
    });
    let sets = each(|at| format!("[address_sets.office-{at}]\ncidrs = [\"10.0.0.0/8\"]"));
    let site =
        |at| format!("[sites.s{at}]\nlistener = \"http\"\nhosts = [\"h{at}\"]\npool = \"p\"");
    let replicas = each(|at| {
        format!(
            "  {{ addr = \"127.0.0.1:{}\", name = \"node-{at}\", replica = \"nodes-{at}\" }},",
            at + 1
        )
    });
    for (what, text) in [
        (
            "a pool",
            format!(
                "{SITE}{}{pools}",
                each(|at| {
                    format!("[sites.s.routes.r{at}]\npath = \"/r{at}\"\npool = \"node-grop-{at}\"")
                })
            ),
        ),
        (
            "an address set",
            each(|at| format!("{}\nallow_from = [\"@ofice-{at}\"]", site(at))) + &sets,
        ),
        (
            "a listener",
            each(|at| {
                format!(
                    "[listeners.front-{at}]\nbind = \"127.0.0.1:{}\"\n{}",
                    at + 1,
                    site(at).replace("\"http\"", &format!("\"frnt-{at}\""))
                )
            }),
        ),
        (
            "a node",
            format!("{SITE}[pools.q]\nprobe = {{ kind = \"ready\" }}\nnodes = [\n{replicas}]\n"),
        ),
    ] {
        let found = match load(&format!("{BASE}{text}")) {
            Ok(loaded) => loaded.warnings,
            Err(found) => found,
        };
        let help = |one: &&Diagnostic| {
            one.cured_by()
                .is_some_and(|help| help.starts_with("did you"))
        };
        let helped = found.iter().filter(help).count();
        assert!(found.len() >= MANY, "{what}: {}", found.len());
        assert!((20..1_000).contains(&helped), "{what}: {helped}");
    }
}

#[test]
fn a_set_of_networks_is_kept_and_written_once_whoever_names_it() {
    let nets: Vec<String> = (0..20_000)
        .map(|at| format!("\"10.{}.{}.0/25\"", at / 256, at % 256))
        .collect();
    let set = |nets: &[String]| format!("[address_sets.office]\ncidrs = [{}]\n", nets.join(", "));
    let sites: String = (0..2_000)
        .map(|at| {
            format!(
                "[sites.s{at}]\nlistener = \"http\"\nhosts = [\"h{at}\"]\npool = \"p\"\n\
                 allow_from = [\"@office\", \"192.0.2.{}\"]\n\
                 routes.r = {{ path = \"/a\", when = {{ client = [\"@office\"] }} }}\n",
                at % 256
            )
        })
        .collect();
    let first = load(&format!("{BASE}{}{sites}", set(&nets)))
        .unwrap()
        .snapshot;
    let text = to_toml(first.model());
    let of_set = set(&nets).len();
    assert!(text.len() < of_set + 4_000 * 1_500, "{} bytes", text.len());
    let again = load(&text).unwrap().snapshot;
    assert_eq!(again.model(), first.model());
    assert_eq!(again.hash(), first.hash());
    let fewer = load(&format!("{BASE}{}{sites}", set(&nets[1..])))
        .unwrap()
        .snapshot;
    assert_ne!(fewer.hash(), first.hash(), "the content counts");
    let site = first.model().sites.first().unwrap();
    let allowed = site.allow_from.as_ref().unwrap();
    for (address, is_in) in [("10.0.1.1", true), ("192.0.2.0", true), ("11.0.0.1", false)] {
        assert_eq!(
            allowed.contains(address.parse().unwrap()),
            is_in,
            "{address}"
        );
    }
}

#[test]
fn a_text_that_is_not_toml_is_told_of_and_not_looked_through_for_each_mistake() {
    let long = 1 << 20;
    let run = |piece: &str| piece.repeat(long / piece.len());
    for (text, code) in [
        (format!("x={{{}", run("a=1,")), "G0001"),
        (format!("x={{{}}}", run("a=1,")), "G0102"),
        (run("\r"), "G0001"),
        (run("x="), "G0001"),
        (format!("x=\"{}\"", run("\\q")), "G0001"),
        (format!("x={}", run("\"a\"b")), "G0001"),
        (run("-----BEGIN "), "G0001"),
        (run("-----BEGIN PRIVATE KEY-----a\"\n"), "G0001"),
        (format!("x=\"{}@\"", run("/")), "G0002"),
        (format!("x=\"{}\"", run("token=")), "G0002"),
    ] {
        let found = load(&text).unwrap_err();
        let begin = &text[..20];
        assert!(
            found.iter().any(|one| one.code.to_string() == code),
            "{begin}: {found:?}"
        );
        assert!(found.len() < 1_100, "{begin}: {}", found.len());
    }
}
