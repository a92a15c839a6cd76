//! The page: what each tool was asked, what it found, and whether that is as wanted.

use std::fmt::Write;

use crate::tool::Tools;

const HEAD: &str = "# TLS and HTTP/2, as others see them\n\n\
    Made by `cargo xtask tls-tools` with tools that are not ours, against one gateway; do not edit. It has\n\
    four names: `wide.test` with all that is usual and a certificate of each kind of key, `other.test` with TLS 1.3\n\
    alone, `new.test` with TLS 1.3 and HTTP/2 alone, one suite and no resumption, `old.test` with TLS 1.2 and\n\
    HTTP/1.1 alone.\n";

/// What a tool was asked, and what it found.
pub(crate) struct Row {
    tool: &'static str,
    asked: String,
    found: String,
    wanted: String,
    because: Option<&'static str>,
}

impl Row {
    /// A row of which exactly this is wanted.
    pub(crate) fn new(
        tool: &'static str,
        asked: impl Into<String>,
        found: String,
        wanted: &str,
    ) -> Self {
        Row {
            tool,
            asked: asked.into(),
            found,
            wanted: wanted.to_owned(),
            because: None,
        }
    }

    /// Why it is wanted, where that is not plain.
    pub(crate) fn because(mut self, why: Option<&'static str>) -> Self {
        self.because = why;
        self
    }

    /// Whose row it is.
    pub(crate) const fn tool(&self) -> &'static str {
        self.tool
    }

    /// The row as it stands in the table.
    pub(crate) fn line(&self) -> String {
        let verdict = match (self.found == self.wanted, self.because) {
            (true, None) => "yes".to_owned(),
            (true, Some(why)) => format!("yes: {why}"),
            (false, _) => format!("**no**, but: {}", self.wanted),
        };
        let cells = [self.tool, &self.asked, &self.found, &verdict];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        format!("| {} |\n", cells.join(" | "))
    }

    /// What is wrong, if it is not as wanted.
    pub(crate) fn complaint(&self) -> Option<String> {
        (self.found != self.wanted).then(|| {
            let Row {
                tool,
                asked,
                found,
                wanted,
                ..
            } = self;
            format!("{tool}, {asked}\n  found:  {found}\n  wanted: {wanted}")
        })
    }
}

/// The line of a tool of this version.
pub(crate) fn version_line(name: &str, version: &str) -> String {
    format!("| {name} | {version} |")
}

/// The whole page.
pub(crate) fn page(tools: &Tools, rows: &[Row]) -> String {
    let mut text = HEAD.to_owned() + "\n| tool | version |\n|---|---|\n";
    for (name, version) in tools.versions() {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{}", version_line(name, version));
    }
    text += "\n| tool | asked | found | as wanted |\n|---|---|---|---|\n";
    text.extend(rows.iter().map(Row::line));
    text
}
