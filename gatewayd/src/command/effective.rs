//! `gatewayd effective`: the configuration with everything spelled out.

use gateway_config::effective::to_shown_toml;
use gateway_config::settings::{Kind, SETTINGS, Setting};
use gateway_config::{Loaded, Origins, Place, Sources};

use super::{ctl, print};
use crate::cli::Effective;
use crate::entries::{Piece, pieces};
use crate::exit::Exit;
use crate::origin::Outcome;
use crate::render;

/// Prints what would be served; findings go to the standard error.
pub(super) fn run(effective: Effective) -> Exit {
    if let Some(reach) = effective.running.reach() {
        return ctl::effective(&reach);
    }
    let with_origin = effective.origin;
    let Outcome { sources, result } = effective.subject.given().load();
    match result {
        Ok(loaded) => {
            render::show(&loaded.warnings, &sources);
            print(&match with_origin {
                true => annotated(&loaded, &sources),
                false => to_shown_toml(loaded.snapshot.model()),
            })
        }
        Err(found) => {
            render::show(&found, &sources);
            Exit::Configuration
        }
    }
}

/// The text, and behind each setting where it was written; without secrets in it, it is still the
/// same configuration.
pub(super) fn annotated(loaded: &Loaded, sources: &Sources) -> String {
    let origins = Origins::read(&loaded.origin, sources);
    let is_flags = loaded.origin.texts().next().is_none();
    let mut text = String::new();
    for piece in pieces(&to_shown_toml(loaded.snapshot.model())) {
        match piece {
            Piece::Other(line) => text.push_str(&line),
            Piece::Setting(entry, written) => {
                text.push_str(&written);
                text.push_str("  # ");
                text.push_str(&match is_flags {
                    true => "command line, or default".to_owned(),
                    false => origin(&entry.path, &origins, sources),
                });
            }
        }
        text.push('\n');
    }
    text
}

fn origin(path: &[String], origins: &Origins, sources: &Sources) -> String {
    let line = |place: &Place| {
        let (line, _) = sources.line_column(place.source, place.span.start);
        format!("{}:{line}", sources.name(place.source))
    };
    if let Some(place) = origins.place(path) {
        return line(place);
    }
    if let Some(place) = short_form(path, origins, sources) {
        return line(place);
    }
    match made_by(path, origins) {
        Some(place) => format!("{}, by the front door", line(place)),
        None => "default".to_owned(),
    }
}

/// Where the table of a setting was written as the one value that this setting is.
fn short_form<'a>(path: &[String], origins: &'a Origins, sources: &Sources) -> Option<&'a Place> {
    let (key, table) = path.split_last()?;
    let setting = setting(table)?;
    let Kind::TableOr(short) = setting.kind else {
        return None;
    };
    let place = origins.place(table)?;
    let behind = sources.text(place.source).get(place.span.end..)?;
    let value = behind.trim_start_matches(['"', '\'', ' ', '\t']);
    let value = value.strip_prefix('=')?.trim_start();
    let same = |one: &&&Setting| {
        one.parent() == setting.path
            && std::mem::discriminant(&one.kind) == std::mem::discriminant(short)
    };
    let is_it = SETTINGS
        .iter()
        .find(same)
        .is_some_and(|one| one.key() == key);
    (is_it && !value.starts_with('{')).then_some(place)
}

/// The setting that a path of names is one of.
fn setting(path: &[String]) -> Option<&'static Setting> {
    let is_it = |one: &&&Setting| {
        let mut parts = one.path.split('.');
        let fits = path.iter().all(|name| {
            let part = parts.next();
            part.is_some_and(|part| part == "*" || part == name)
        });
        fits && parts.next().is_none()
    };
    SETTINGS.iter().find(is_it).copied()
}

/// The front door that made the table in which a setting stands.
fn made_by<'a>(path: &[String], origins: &'a Origins) -> Option<&'a Place> {
    let table = path.get(..2)?;
    if origins.place(table).is_some() {
        return None;
    }
    origins.place(&["front_door".to_owned(), table.last()?.clone()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotate(text: &str) -> String {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", text.to_owned());
        let loaded = gateway_config::load_source(id, &mut sources).unwrap();
        let annotated = annotated(&loaded, &sources);
        let mut again = Sources::default();
        let id = again.add("again.toml", annotated.clone());
        let reread = gateway_config::load_source(id, &mut again).unwrap();
        assert_eq!(reread.snapshot, loaded.snapshot);
        annotated
    }

    fn has(text: &str, line: &str) {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }

    #[test]
    fn every_setting_says_where_it_comes_from() {
        let text = annotate(include_str!("../../../tests/config/edge.toml"));
        has(&text, "backlog = 65535  # default");
        assert!(text.contains("hosts = [\"shop.example\"]  # gateway.toml:"));
        let settings = text
            .lines()
            .filter(|line| line.contains(" = ") && !line.starts_with(' '));
        for line in settings.filter(|line| !line.ends_with('[')) {
            assert!(line.contains("  # "), "{line}");
        }
    }

    #[test]
    fn a_short_form_is_where_its_one_setting_was_written() {
        let text = annotate(
            "[listeners.a]\nbind = \"127.0.0.1:80\"\nin_flight = 5\n\
             [sites.s]\nlistener = \"a\"\npool = \"p\"\n[pools.p]\nnodes = [\"127.0.0.1:81\"]\n",
        );
        assert!(text.contains("  # gateway.toml:3"), "{text}");
        assert!(text.contains("]  # gateway.toml:8"), "{text}");
    }

    #[test]
    fn what_a_front_door_makes_is_said_to_be_its() {
        let text = annotate(
            "[front_door.db]\nlisten = \"127.0.0.1:7650\"\nupstreams = { a = \"127.0.0.1:7001\" }\n",
        );
        has(&text, "count = 64  # gateway.toml:1, by the front door");
        has(&text, "level = \"info\"  # default");
    }
}
