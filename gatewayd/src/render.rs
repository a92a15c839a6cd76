//! Draws diagnostics: for people with the lines they are about, for programs as JSON.
//!
//! Colours are used on a terminal only, and never with `NO_COLOR`.

use std::io::{self, IsTerminal, Write};

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use gateway_config::{Diagnostic, Label, MARK, Severity, SourceId, Sources};
use serde_json::{Value, json};

use crate::cli;

/// Most findings that are drawn; the rest is counted.
const DRAWN: usize = 20;
/// Most findings that are listed for programs; the rest is counted.
const LISTED: usize = 1_000;
/// How far two places of one text may be apart, in bytes, to be drawn in one piece.
const FAR: usize = 64 * 1024;

/// Writes findings to the standard error, as text.
pub(crate) fn show(found: &[Diagnostic], sources: &Sources) {
    let is_coloured = cli::may_colour(io::stderr().is_terminal());
    // Nobody is left to be told that the terminal is gone.
    let _ = io::stderr().write_all(text(found, sources, is_coloured).as_bytes());
}

/// Findings as text, at most [`DRAWN`] of them and then a count.
pub(crate) fn text(found: &[Diagnostic], sources: &Sources, is_coloured: bool) -> String {
    let renderer = if is_coloured {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut drawn = String::new();
    for one in found.iter().take(DRAWN) {
        drawn.push_str(&draw(one, sources, &renderer));
        drawn.push_str("\n\n");
    }
    let rest = found.len().saturating_sub(DRAWN);
    if rest > 0 {
        drawn.push_str(&format!("… and {rest} more\n"));
    }
    drawn
}

/// Findings as a log carries them: their first lines, at most [`DRAWN`] of them and then a count.
pub(crate) fn lines(found: &[Diagnostic], sources: &Sources) -> String {
    let first = found.iter().take(DRAWN);
    let mut lines: Vec<String> = first
        .map(|one| one.first_line(sources).to_string())
        .collect();
    let rest = found.len().saturating_sub(DRAWN);
    if rest > 0 {
        lines.push(format!("… and {rest} more"));
    }
    lines.join("\n")
}

/// Findings as one JSON document, at most [`LISTED`] of them and then a count. Fields are added to
/// it, never renamed or removed.
pub(crate) fn json(found: &[Diagnostic], sources: &Sources) -> String {
    document(found.iter().map(|one| (one, sources)))
}

/// The same of several configurations.
pub(crate) fn json_of(all: &[(Vec<Diagnostic>, Sources)]) -> String {
    document(
        all.iter()
            .flat_map(|(found, sources)| found.iter().map(move |one| (one, sources))),
    )
}

fn document<'f>(found: impl Iterator<Item = (&'f Diagnostic, &'f Sources)> + Clone) -> String {
    let count = |severity| {
        found
            .clone()
            .filter(|(one, _)| one.severity == severity)
            .count()
    };
    let listed = found.clone().take(LISTED);
    let all: Vec<Value> = listed.map(|(one, sources)| finding(one, sources)).collect();
    let document = json!({
        "errors": count(Severity::Error),
        "warnings": count(Severity::Warning),
        "omitted": found.clone().count() - all.len(),
        "diagnostics": all,
    });
    format!("{document:#}\n")
}

fn draw(one: &Diagnostic, sources: &Sources, renderer: &Renderer) -> String {
    let level = match one.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level
        .primary_title(one.title.as_str())
        .id(one.code.to_string());
    let mut group = Group::with_title(title);
    let mut texts: Vec<SourceId> = Vec::new();
    for label in &one.labels {
        if !texts.contains(&label.place.source) {
            texts.push(label.place.source);
        }
    }
    for id in texts {
        for labels in near(one, id) {
            group = group.element(snippet(labels, sources.text(id), sources));
        }
    }
    if let Some(help) = one.cured_by() {
        group = group.element(Level::HELP.message(help));
    }
    renderer.render(&[group])
}

/// A place to be drawn, and whether the finding is there.
type Drawn<'d> = (&'d Label, AnnotationKind);

/// The labels in one text, those that are drawn in one piece together: first the one where the
/// finding is.
fn near(one: &Diagnostic, id: SourceId) -> Vec<Vec<Drawn<'_>>> {
    let mut all: Vec<Drawn<'_>> = Vec::new();
    for (index, label) in one.labels.iter().enumerate() {
        let kind = match index {
            0 => AnnotationKind::Primary,
            _ => AnnotationKind::Context,
        };
        if label.place.source == id {
            all.push((label, kind));
        }
    }
    let first = all.first().map_or(0, |(label, _)| label.place.span.start);
    let is_far = |label: &Label| label.place.span.start.abs_diff(first) > FAR;
    let (far, near): (Vec<_>, Vec<_>) = all.into_iter().partition(|(label, _)| is_far(label));
    let alone = far.into_iter().map(|one| vec![one]);
    std::iter::once(near).chain(alone).collect()
}

/// The lines of a text that labels are in, with what is to be seen there. Only these are handed on,
/// since whoever draws looks at all of what it is given.
fn snippet<'s>(
    labels: Vec<Drawn<'s>>,
    text: &'s str,
    sources: &'s Sources,
) -> Snippet<'s, Annotation<'s>> {
    let places = || labels.iter().map(|(label, _)| &label.place);
    let first = places().map(|place| place.span.start).min().unwrap_or(0);
    let last = places().map(|place| place.span.end).max().unwrap_or(0);
    let before = text.get(..first).and_then(|before| before.rfind('\n'));
    let start = match before {
        Some(end) => end + 1,
        // Drawn, it would be a column of its own.
        None if text.starts_with(MARK) => MARK.len_utf8(),
        None => 0,
    };
    let behind = text.get(last..).and_then(|behind| behind.find('\n'));
    let end = behind.map_or(text.len(), |length| last + length + 1);
    let lines = text.get(start..end).unwrap_or(text);
    let place = places().next();
    let (line, _) = place.map_or((1, 1), |place| sources.line_column(place.source, start));
    // A place in an empty text has no line to be drawn in.
    let shown = if lines.is_empty() { "\n" } else { lines };
    let annotations = labels.iter().map(|(label, kind)| {
        let span = &label.place.span;
        let first = span.start.saturating_sub(start);
        let mut end = span.end.saturating_sub(start);
        if span.is_empty() {
            // A place between two characters is drawn under the second.
            let next = lines.get(end..).and_then(|rest| rest.chars().next());
            end += next
                .filter(|c| !matches!(c, '\n' | '\r'))
                .map_or(0, char::len_utf8);
        }
        kind.span(first..end).label(label.text.as_str())
    });
    Snippet::source(shown)
        .path(place.map(|place| sources.name(place.source)))
        .line_start(line)
        .annotations(annotations)
}

fn finding(one: &Diagnostic, sources: &Sources) -> Value {
    let labels: Vec<Value> = one
        .labels
        .iter()
        .map(|label| place(label, sources))
        .collect();
    let first = labels.first();
    let of_first = |key: &str| {
        first
            .and_then(|label| label.get(key))
            .cloned()
            .unwrap_or_default()
    };
    json!({
        "code": one.code.to_string(),
        "severity": one.severity.word(),
        "title": one.title,
        "file": of_first("file"),
        "span": of_first("span"),
        "line": of_first("line"),
        "column": of_first("column"),
        "labels": labels,
        "help": one.cured_by(),
    })
}

fn place(label: &Label, sources: &Sources) -> Value {
    let span = &label.place.span;
    let (line, column) = sources.line_column(label.place.source, span.start);
    json!({
        "file": sources.name(label.place.source),
        "span": [span.start, span.end],
        "line": line,
        "column": column,
        "text": label.text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> (Sources, Vec<Diagnostic>) {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", text.to_owned());
        let found = match gateway_config::load_source(id, &mut sources) {
            Ok(loaded) => loaded.warnings,
            Err(found) => found,
        };
        (sources, found)
    }

    #[test]
    fn a_finding_is_drawn_with_its_line_and_its_cure() {
        let (sources, found) = found("[listeners.a]\nbind = \"127.0.0.1:1\"\nidel = \"5s\"\n");
        let drawn = text(&found, &sources, false);
        assert!(
            drawn.starts_with("error[G0002]: unknown setting `idel`"),
            "{drawn}"
        );
        assert!(drawn.contains("--> gateway.toml:3:1"), "{drawn}");
        assert!(drawn.contains("did you mean `idle`?"), "{drawn}");
        assert!(!drawn.contains('\u{1b}'), "{drawn}");
    }

    #[test]
    fn a_byte_order_mark_moves_no_column() {
        let (sources, found) = found("\u{feff}[drian]\n");
        let drawn = text(&found, &sources, false);
        assert!(drawn.contains("--> gateway.toml:1:2"), "{drawn}");
        assert!(!drawn.contains('\u{feff}'), "{drawn}");
        let document: Value = serde_json::from_str(&json(&found, &sources)).unwrap();
        assert_eq!(document["diagnostics"][0]["column"], json!(2));
        assert_eq!(document["diagnostics"][0]["span"], json!([4, 9]));
    }

    #[test]
    fn programs_get_the_place_in_numbers() {
        let (sources, found) = found("[drian]\n");
        let document: Value = serde_json::from_str(&json(&found, &sources)).unwrap();
        let first = &document["diagnostics"][0];
        assert_eq!(
            (&first["code"], &first["line"]),
            (&json!("G0002"), &json!(1))
        );
        assert_eq!(first["span"], json!([1, 6]));
    }

    #[test]
    fn programs_get_so_many_and_a_count_of_the_others() {
        let many: String = (0..LISTED + 7).map(|n| format!("x{n} = 1\n")).collect();
        let (sources, found) = found(&many);
        let document: Value = serde_json::from_str(&json(&found, &sources)).unwrap();
        assert_eq!(document["diagnostics"].as_array().unwrap().len(), LISTED);
        assert_eq!(document["omitted"], json!(found.len() - LISTED));
        assert_eq!(document["errors"], json!(found.len()));
    }

    #[test]
    fn places_far_apart_are_drawn_with_their_lines_and_no_others() {
        let between = "# nothing\n".repeat(FAR / 10 + 1);
        let (sources, found) = found(&format!("drain.x = 1\n{between}[drain]\n"));
        let drawn = text(&found, &sources, false);
        let line = 2 + FAR / 10 + 1;
        assert!(
            drawn.contains(&format!("--> gateway.toml:{line}:2")),
            "{drawn}"
        );
        assert!(drawn.contains("\n1 | drain.x = "), "{drawn}");
    }

    #[test]
    fn many_findings_are_counted_and_odd_texts_can_be_drawn() {
        let many: String = (0..30).map(|n| format!("x{n} = 1\n")).collect();
        let (sources, all) = found(&many);
        assert!(text(&all, &sources, true).ends_with("… and 10 more\n"));
        let lines = lines(&all, &sources);
        assert!(lines.starts_with("gateway.toml:1:1: error[G0002]: unknown setting `x0`"));
        assert!(lines.ends_with("\n… and 10 more"));
        for odd in [
            "",
            "\n",
            "a",
            "é\r\n= \u{85}",
            "x = \"\t\u{202e}\"",
            "[",
            "a = 1\n[b",
        ] {
            let (sources, all) = found(odd);
            assert!(!all.is_empty());
            assert!(!text(&all, &sources, false).is_empty());
        }
    }
}
