//! Writes the page that stands for a directory without an index.
//!
//! Shows what could be fetched and nothing else: no dot files, no FIFOs, no links that leave the
//! root. Bounded, because it is made for each request.
//!
//! Source: GATEWAY §4; adr/0036.

use std::fmt::Write;

use rustix::fs::{Dir, FileType};

use crate::path::{is_shown, reference};
use crate::root::{Missed, Root};

/// Entries of one directory that are looked at; what is beyond is not shown.
pub(crate) const MAX_ENTRIES: usize = 5_000;

/// One line of a listing; in the order of its fields.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: Vec<u8>,
    is_directory: bool,
}

/// The page of a directory that is called `below` under the root, and `shown` to its client.
pub(crate) fn page(root: &Root, below: &[u8], shown: &str) -> Result<String, Missed> {
    let (entries, is_cut) = entries(root, below)?;
    let mut html = String::with_capacity(256 + entries.len() * 64);
    let title = escaped(shown);
    let _ = write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>\n<ul>\n"
    );
    if !below.is_empty() {
        html.push_str("<li><a href=\"../\">../</a></li>\n");
    }
    for entry in &entries {
        let slash = if entry.is_directory { "/" } else { "" };
        let link = escaped(&reference(&entry.name));
        let name = escaped(&String::from_utf8_lossy(&entry.name));
        let _ = writeln!(html, "<li><a href=\"{link}{slash}\">{name}{slash}</a></li>");
    }
    html.push_str("</ul>\n");
    if is_cut {
        let _ = writeln!(html, "<p>Only {MAX_ENTRIES} entries are looked at.</p>");
    }
    html.push_str("</body>\n</html>\n");
    Ok(html)
}

/// What is shown of a directory, sorted by name, and whether something may be missing.
fn entries(root: &Root, below: &[u8]) -> Result<(Vec<Entry>, bool), Missed> {
    let opened = root.entries_of(below)?;
    let mut read = Dir::new(opened).map_err(|_| Missed::Broken)?;
    let mut entries = Vec::new();
    for entry in read.by_ref().take(MAX_ENTRIES) {
        let entry = entry.map_err(|_| Missed::Broken)?;
        let name = entry.file_name().to_bytes();
        if !is_shown(name) {
            continue;
        }
        let is_directory = match entry.file_type() {
            FileType::Directory => true,
            FileType::RegularFile => false,
            FileType::Symlink | FileType::Unknown => match leads_to_directory(root, below, name) {
                Some(is_directory) => is_directory,
                None => continue,
            },
            FileType::BlockDevice
            | FileType::CharacterDevice
            | FileType::Fifo
            | FileType::Socket => continue,
        };
        entries.push(Entry {
            name: name.to_vec(),
            is_directory,
        });
    }
    entries.sort_unstable();
    Ok((entries, read.next().is_some()))
}

/// Whether a link leads to a directory; nothing where it leads to nothing that is sent.
fn leads_to_directory(root: &Root, below: &[u8], name: &[u8]) -> Option<bool> {
    let kind = root.kind(&joined(below, name))?;
    (kind.is_dir() || kind.is_file()).then(|| kind.is_dir())
}

/// A name in a directory below the root, as it is called from the root.
pub(crate) fn joined(below: &[u8], name: &[u8]) -> Vec<u8> {
    match below {
        [] => name.to_vec(),
        _ => [below, name].join(&b'/'),
    }
}

/// A text that is nothing but text in HTML, in quotes too; control characters show as unknown.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c if c.is_control() => html.push(char::REPLACEMENT_CHARACTER),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_listing_shows_what_can_be_fetched_sorted_and_escaped() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("top");
        fs::create_dir_all(top.join("d")).unwrap();
        for name in [
            "b",
            "a:b",
            "<i>&\"'",
            ".hidden",
            "c d%41",
            "back\\slash",
            "new\nline",
        ] {
            fs::write(top.join(name), "").unwrap();
        }
        fs::write(dir.path().join("outside"), "").unwrap();
        symlink("b", top.join("link")).unwrap();
        symlink("d", top.join("linkd")).unwrap();
        symlink("../outside", top.join("leaves")).unwrap();
        symlink("nowhere", top.join("dangles")).unwrap();
        let fifo = rustix::fs::Mode::RUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, top.join("fifo"), fifo).unwrap();

        let root = Root::open(&top).unwrap();
        let html = page(&root, b"", "/x & y/").unwrap();
        let lines: Vec<&str> = html
            .lines()
            .filter(|line| line.starts_with("<li>"))
            .collect();
        assert_eq!(
            lines,
            [
                "<li><a href=\"./%3Ci%3E&amp;%22&#39;\">&lt;i&gt;&amp;&quot;&#39;</a></li>",
                "<li><a href=\"./a:b\">a:b</a></li>",
                "<li><a href=\"./b\">b</a></li>",
                "<li><a href=\"./c%20d%2541\">c d%41</a></li>",
                "<li><a href=\"./d/\">d/</a></li>",
                "<li><a href=\"./link\">link</a></li>",
                "<li><a href=\"./linkd/\">linkd/</a></li>",
                "<li><a href=\"./new%0Aline\">new\u{fffd}line</a></li>",
            ]
        );
        assert!(html.contains("<title>/x &amp; y/</title>"));
        let below = page(&root, b"d", "/d/").unwrap();
        assert!(below.contains("<a href=\"../\">"));
        assert_eq!(page(&root, b"b", "/b/"), Err(Missed::Nothing));
    }

    #[test]
    fn a_listing_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        for number in 0..MAX_ENTRIES + 10 {
            fs::File::create(dir.path().join(number.to_string())).unwrap();
        }
        let root = Root::open(dir.path()).unwrap();
        let html = page(&root, b"", "/").unwrap();
        assert!(html.matches("<li>").count() <= MAX_ENTRIES);
        assert!(html.contains("<p>Only 5000 entries"));
    }
}
