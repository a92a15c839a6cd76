//! Configurations of the size the bounds are about, as text.

#![allow(dead_code, reason = "each bench needs some of it")]
#![allow(
    clippy::panic,
    reason = "a bench that cannot go on says so by stopping"
)]

use std::fmt::Write;

use gateway_config::{Loaded, Sources, load_source};

const HEAD: &str = "[listeners.web]\nbind = \"127.0.0.1:8080\"\n\n\
                    [pools.shop]\nnodes = [\"10.0.0.11:8080\", \"10.0.0.12:8080\"]\n";

/// So many sites with a host each, every tenth of them with a wildcard, too.
pub(crate) fn sites(count: usize) -> String {
    let mut text = HEAD.to_owned();
    for at in 0..count {
        let wildcard = match at % 10 {
            0 => format!(", \"*.shop{at}.example\""),
            _ => String::new(),
        };
        let _ = write!(
            text,
            "\n[sites.shop{at}]\nlistener = \"web\"\nhosts = [\"shop{at}.example\"{wildcard}]\npool = \"shop\"\n"
        );
    }
    text
}

/// One site with so many routes of all kinds.
pub(crate) fn routes(count: usize) -> String {
    let mut text = format!("{HEAD}\n[sites.shop]\nlistener = \"web\"\npool = \"shop\"\n");
    for at in 0..count {
        let pattern = match at % 5 {
            0 => format!("exact = \"/exact/page{at}\""),
            1 => format!("template = \"/item{at}/{{id}}/part/{{part}}\""),
            2 => format!("glob = \"/images{at}/*.{{png,jpg}}\""),
            3 => format!("regex = \"/year{at}/(?<year>[0-9]{{4}})/.*\""),
            _ => format!("path = \"/area/part{at}/\""),
        };
        let _ = write!(
            text,
            "\n[sites.shop.routes.r{at}]\n{pattern}\nmethods = [\"GET\", \"HEAD\"]\npool = \"shop\"\n"
        );
    }
    text
}

/// Loads a text that is sound.
pub(crate) fn load(text: &str) -> Loaded {
    let mut sources = Sources::default();
    let id = sources.add("gateway.toml", text.to_owned());
    match load_source(id, &mut sources) {
        Ok(loaded) => loaded,
        Err(found) => {
            let lines: Vec<String> = found
                .iter()
                .map(|one| one.first_line(&sources).to_string())
                .collect();
            panic!("{}", lines.join("\n"))
        }
    }
}
