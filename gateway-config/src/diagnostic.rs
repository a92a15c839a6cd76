//! What is wrong in a configuration, where, and what would cure it.
//!
//! Plain values without colours: whoever shows them draws them. Every finding of a run goes
//! through [`Findings`], which sorts, so that nobody else has to.

use std::fmt;

use crate::codes::Code;
use crate::masking;
use crate::names::Budget;
use crate::source::{Place, SourceId, Sources};

/// Whether a finding stops the configuration from being applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It is refused.
    Error,
    /// It is applied; somebody should know.
    Warning,
}

/// One finding about a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its stable code.
    pub code: Code,
    /// Whether it refuses.
    pub severity: Severity,
    /// What is wrong, in the operator's words; one line.
    pub title: String,
    /// Where: the smallest wrong piece first, then the places that disagree with it.
    pub labels: Vec<Label>,
    /// The cure, copyable where there is one.
    help: Option<String>,
}

/// A place and what is to be seen there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub place: Place,
    /// A few words; may be empty.
    pub text: String,
}

impl Severity {
    /// `error` or `warning`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

impl Diagnostic {
    /// A finding that refuses the configuration.
    #[must_use]
    pub fn error(code: Code, title: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, title.into())
    }

    /// A finding that does not.
    #[must_use]
    pub fn warning(code: Code, title: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, title.into())
    }

    /// Adds a place; the first one added is where the finding is.
    #[must_use]
    pub fn at(mut self, place: &Place, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            place: place.clone(),
            text: one_line(text.into()),
        });
        self
    }

    /// Adds two places that cannot both stand: the finding is at the later one.
    #[must_use]
    pub(crate) fn at_both(self, one: &Place, other: &Place) -> Self {
        let is_later = (one.source, one.span.start) > (other.source, other.span.start);
        let (later, first) = if is_later { (one, other) } else { (other, one) };
        self.at(later, "again here").at(first, "first here")
    }

    /// Adds the cure.
    #[must_use]
    pub fn help(mut self, cure: impl Into<String>) -> Self {
        self.help = Some(one_line(cure.into()));
        self
    }

    /// Sets the cure, where there is one.
    pub(crate) fn cure(&mut self, cure: Option<String>) {
        self.help = cure.map(one_line);
    }

    /// How it is mended, where that is known.
    #[must_use]
    pub fn cured_by(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// The first line alone, as a log or a status carries it: `FILE:LINE:COLUMN: error[CODE]: …`.
    #[must_use]
    pub fn first_line(&self, sources: &Sources) -> impl fmt::Display {
        let place = self.labels.first().map(|label| {
            let Place { source, span } = &label.place;
            let (line, column) = sources.line_column(*source, span.start);
            format!("{}:{line}:{column}: ", sources.name(*source))
        });
        format!(
            "{}{}[{}]: {}",
            place.unwrap_or_default(),
            self.severity.word(),
            self.code,
            self.title
        )
    }

    /// Sorts findings into the order in which they are told: errors first, each kind by place.
    pub fn sort(all: &mut [Self]) {
        all.sort_by_key(Self::order);
    }

    fn new(code: Code, severity: Severity, title: String) -> Self {
        Self {
            code,
            severity,
            title: one_line(title),
            labels: Vec::new(),
            help: None,
        }
    }

    fn order(&self) -> (Severity, Option<(SourceId, usize)>, Code) {
        let first = self
            .labels
            .first()
            .map(|label| (label.place.source, label.place.span.start));
        (self.severity, first, self.code)
    }
}

/// A text without logins, whose control characters are escaped, so that a name from a file cannot
/// draw on a terminal, and that ends after [`LONGEST`], so that it cannot fill a log.
fn one_line(text: String) -> String {
    let text = masking::without_logins(&text).into_owned();
    let is_long = text.chars().nth(LONGEST).is_some();
    let is_odd = |c: char| c.is_control() || masking::is_unseen(c);
    if !is_long && !text.chars().any(is_odd) {
        return text;
    }
    let escaped = text.chars().take(LONGEST).flat_map(|c| {
        let escaped = is_odd(c).then(|| c.escape_debug());
        let plain = (!is_odd(c)).then_some(c);
        escaped.into_iter().flatten().chain(plain)
    });
    escaped.chain(is_long.then_some('…')).collect()
}

/// Most characters of a title, a label or a cure.
const LONGEST: usize = 400;

/// The findings of one run.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    all: Vec<Diagnostic>,
    /// What may still be spent on what was meant.
    pub(crate) budget: Budget,
}

impl Findings {
    /// Adds one.
    pub(crate) fn push(&mut self, one: Diagnostic) {
        self.all.push(one);
    }

    /// Whether any of them refuses.
    pub(crate) fn refuse(&self) -> bool {
        self.all.iter().any(|one| one.severity == Severity::Error)
    }

    /// Whether one of them has this code.
    pub(crate) fn has(&self, code: Code) -> bool {
        self.all.iter().any(|one| one.code == code)
    }

    /// Where the findings with this code are.
    pub(crate) fn places(&self, code: Code) -> Vec<Place> {
        let all = self.all.iter().filter(|one| one.code == code);
        all.flat_map(|one| &one.labels)
            .map(|label| label.place.clone())
            .collect()
    }

    /// Drops findings.
    pub(crate) fn forget(&mut self, which: impl Fn(&Diagnostic) -> bool) {
        self.all.retain(|one| !which(one));
    }

    /// All of them: errors first, each kind by place.
    pub(crate) fn into_sorted(mut self) -> Vec<Diagnostic> {
        Diagnostic::sort(&mut self.all);
        self.all.dedup();
        self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes;

    #[test]
    fn what_a_file_calls_things_cannot_draw_on_a_terminal() {
        let one = Diagnostic::error(codes::BAD_NAME, "a\u{1b}[31m\n`é`").help("\t");
        assert_eq!(one.title, "a\\u{1b}[31m\\n`é`");
        assert_eq!(one.cured_by(), Some("\\t"));
        let unseen =
            Diagnostic::error(codes::BAD_NAME, "a\u{feff}b\u{2028}\u{202e}`https://u:p@h`");
        assert_eq!(unseen.title, "a\\u{feff}b\\u{2028}\\u{202e}`https://…@h`");
    }

    #[test]
    fn a_value_that_is_quoted_cannot_fill_a_log() {
        let one = Diagnostic::error(codes::BAD_ADDRESS, "é".repeat(1_000_000));
        assert_eq!(one.title, "é".repeat(LONGEST) + "…");
    }

    #[test]
    fn errors_come_first_and_each_kind_by_place() {
        let mut sources = Sources::default();
        let id = sources.add("x", "0123456789".to_owned());
        let at = |place: usize| sources.place(id, place..place + 1);
        let mut all = vec![
            Diagnostic::warning(codes::UNUSED, "w").at(&at(0), ""),
            Diagnostic::error(codes::BAD_NAME, "b").at(&at(5), ""),
            Diagnostic::error(codes::BAD_NAME, "a").at(&at(2), ""),
        ];
        Diagnostic::sort(&mut all);
        let titles: Vec<&str> = all.iter().map(|one| one.title.as_str()).collect();
        assert_eq!(titles, ["a", "b", "w"]);
        let first = all.first().unwrap().first_line(&sources).to_string();
        assert_eq!(first, "x:1:3: error[G0101]: a");
    }
}
