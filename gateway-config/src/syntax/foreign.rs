//! Tells texts that were never meant to be TOML as they are: another language, a merge that is not
//! finished, the line ends of another system.

use std::ops::Range;

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::{SourceId, Sources};

/// What a text that cannot be read is instead, as the only finding about it.
pub(super) fn told(sources: &Sources, id: SourceId) -> Option<Diagnostic> {
    let text = sources.written(id);
    let title = |what: &str| format!("this is not TOML: {what}");
    let found = |what: &str| Diagnostic::error(codes::SYNTAX, title(what));
    let place = |span: Range<usize>| sources.place(id, span);
    if let Some([ours, between, theirs]) = marks(text) {
        return Some(
            found("a merge is not finished")
                .at(&place(ours), "one side begins here")
                .at(&place(between), "the other one here")
                .at(&place(theirs), "it ends here")
                .help("keep what is right of both sides, and remove the three marks"),
        );
    }
    let start = text.len()
        - text
            .trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n'])
            .len();
    if text.get(start..).is_some_and(|text| text.starts_with('{')) {
        return Some(
            found("it begins as JSON does")
                .at(&place(start..start + 1), "no setting begins so")
                .help("write tables as [NAME] and settings as NAME = VALUE; `gatewayd schema` is for editors"),
        );
    }
    let at = text.find('\r').filter(|_| !text.contains('\n'))?;
    Some(
        found("its lines end with a carriage return alone")
            .at(&place(at..at + 1), "the first line ends here")
            .help("save the file with line ends of Unix (LF) or Windows (CR LF)"),
    )
}

/// The marks that a merge leaves in a text.
fn marks(text: &str) -> Option<[Range<usize>; 3]> {
    let mark = |from: usize, mark: &str| {
        let mut start = from;
        text.get(from..)?.split_inclusive('\n').find_map(|line| {
            let at = start;
            start += line.len();
            let rest = line.strip_prefix(mark)?;
            let is_it = rest.is_empty() || rest.starts_with([' ', '\r', '\n']);
            is_it.then_some(at..at + mark.len())
        })
    };
    let ours = mark(0, "<<<<<<<")?;
    let next = |before: &Range<usize>| Some(before.end + text.get(before.end..)?.find('\n')? + 1);
    let between = mark(next(&ours)?, "=======")?;
    let theirs = mark(next(&between)?, ">>>>>>>")?;
    Some([ours, between, theirs])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load_source;

    #[test]
    fn what_is_another_language_is_one_finding() {
        let toml = "[limits]\nconnections = 1\n";
        for (text, title, at) in [
            (
                "{\n  \"listeners\": {\n    \"http\": {}\n  }\n}\n".to_owned(),
                "JSON",
                0,
            ),
            (toml.replace('\n', "\r"), "carriage return alone", 8),
            (
                format!("{toml}<<<<<<< HEAD\n{toml}=======\n{toml}>>>>>>> other\n"),
                "a merge is not finished",
                25,
            ),
        ] {
            let mut sources = Sources::default();
            let id = sources.add("x", text);
            let found = load_source(id, &mut sources).unwrap_err();
            assert_eq!(found.len(), 1, "{found:#?}");
            let found = found.first().unwrap();
            assert!(
                found.title.contains(title) && found.cured_by().is_some(),
                "{found:?}"
            );
            assert_eq!(found.labels.first().unwrap().place.span.start, at);
        }
        let mut sources = Sources::default();
        let id = sources.add("x", "# <<<<<<<\nx = \"\"\"\n<<<<<<< \"\"\"\n".to_owned());
        let found = load_source(id, &mut sources).unwrap_err();
        assert!(
            found.iter().all(|one| one.code != codes::SYNTAX),
            "{found:?}"
        );
    }
}
