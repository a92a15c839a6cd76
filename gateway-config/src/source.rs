//! Keeps the texts that a configuration was read from, so that a diagnostic can point into them.
//!
//! A text is a file, or a stand-in for one: the command line is a text whose flags have places
//! too. Files are read here and nowhere else in this crate, except by
//! [`files`](crate::files), whose contents are secret.
//!
//! Invariant: a [`Place`] made here lies in its text, on character boundaries.

use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::masking::{is_unseen, logins_in_toml, seen, stars, without_keys};

/// Largest configuration file that is read, in bytes.
pub const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The mark at the very start of a text that says in which order its bytes stand.
pub const MARK: char = '\u{feff}';

/// Which text of [`Sources`]; only meaningful together with the sources that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceId(usize);

/// A range of bytes in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The text.
    pub source: SourceId,
    /// Bytes from its start.
    pub span: Range<usize>,
}

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub place: Place,
}

impl<T> Placed<T> {
    /// Puts a value and its place together.
    pub fn new(value: T, place: Place) -> Self {
        Self { value, place }
    }
}

/// The texts that one configuration consists of, laid end to end, so that one number says where in
/// which of them something stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    starts: Vec<(usize, SourceId)>,
}

impl Origin {
    /// Adds a text behind the others.
    pub(crate) fn push(&mut self, start: usize, id: SourceId) {
        self.starts.push((start, id));
    }

    /// The texts, in the order in which they were read.
    pub fn texts(&self) -> impl Iterator<Item = SourceId> {
        self.starts.iter().map(|(_, id)| *id)
    }

    /// The text in which a byte stands, and where it begins.
    fn find(&self, at: usize) -> Option<(usize, SourceId)> {
        let after = self.starts.partition_point(|(start, _)| *start <= at);
        self.starts.get(after.checked_sub(1)?).copied()
    }
}

/// Every text a configuration was read from, in the order of reading.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    all: Vec<Source>,
}

#[derive(Clone, Debug)]
struct Source {
    name: String,
    path: PathBuf,
    text: String,
    /// The same with what nobody is to see masked, where there is such a thing.
    shown: Option<String>,
    lines: Vec<usize>,
    /// Where it is no text at all.
    wrong: Option<NotText>,
}

/// A file that is not UTF-8: where the first byte of no character stands.
#[derive(Clone, Debug)]
pub(crate) struct NotText {
    pub(crate) place: Place,
    line: usize,
    /// What it is instead, where that is clear; then none of it is shown.
    pub(crate) is: Option<&'static str>,
}

impl fmt::Display for NotText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is {
            Some(is) => write!(out, "the file is {is}: save it as UTF-8"),
            None => write!(out, "the file is not UTF-8 text: see line {}", self.line),
        }
    }
}

impl Error for NotText {}

impl From<NotText> for io::Error {
    fn from(wrong: NotText) -> Self {
        Self::new(io::ErrorKind::InvalidData, wrong)
    }
}

impl Sources {
    /// Adds a text that is already here: a test's file, or the command line.
    ///
    /// Paths in it are relative to the directory of `name`. A later [`open`](Self::open) of the
    /// same name finds this text instead of the file.
    pub fn add(&mut self, name: &str, text: String) -> SourceId {
        self.push(name.to_owned(), PathBuf::from(name), text)
    }

    /// Reads a file, unless a text of that name is here already. Paths in it become absolute.
    ///
    /// # Errors
    /// Those of reading; [`io::ErrorKind::InvalidInput`] for what is no regular file, which might
    /// never end or never begin; [`io::ErrorKind::InvalidData`] for a file that is not UTF-8 or is
    /// larger than [`MAX_BYTES`].
    pub fn open(&mut self, path: &Path) -> io::Result<SourceId> {
        self.read(path, false)
    }

    /// The same for a path that somebody gave, which may be a pipe that was handed to the process:
    /// `check /dev/stdin`, `check <(…)`. A pipe with a name of its own waits for whoever writes, maybe
    /// for good, and is refused.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub(crate) fn open_given(&mut self, path: &Path) -> io::Result<SourceId> {
        self.read(path, true)
    }

    fn read(&mut self, path: &Path, is_given: bool) -> io::Result<SourceId> {
        let name = self.shown(path).display().to_string();
        if let Some(known) = self.all.iter().position(|one| one.name == name) {
            let wrong = self.all.get(known).and_then(|one| one.wrong.clone());
            return wrong.map_or(Ok(SourceId(known)), |wrong| Err(wrong.into()));
        }
        let file = match is_given && is_handed_over(path) {
            true => handed_over(path)?,
            false => open_regular(path)?,
        };
        // A length that is told may be another than what comes.
        let mut bytes = Vec::new();
        let mut most = file.take(MAX_BYTES + 1);
        if most.read_to_end(&mut bytes)? as u64 > MAX_BYTES {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the file is larger than 16 MiB",
            ));
        }
        let path = std::path::absolute(path)?;
        if let Some(is) = encoding(&bytes) {
            let id = self.push(name, path, String::new());
            return Err(self.not_text(id, 0..0, Some(is)).into());
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(self.push(name, path, text)),
            Err(wrong) => {
                // The same up to there, as long as the file, and to be shown only.
                let at = wrong.utf8_error().valid_up_to();
                let length = wrong.utf8_error().error_len();
                let end = length.map_or(wrong.as_bytes().len(), |length| at + length);
                let id = self.push(name, path, repaired(wrong.as_bytes()));
                Err(self.not_text(id, at..end, None).into())
            }
        }
    }

    /// Remembers that a text is none.
    fn not_text(&mut self, id: SourceId, at: Range<usize>, is: Option<&'static str>) -> NotText {
        let (line, _) = self.line_column(id, at.start);
        let place = self.place(id, at);
        let wrong = NotText { place, line, is };
        if let Some(one) = self.all.get_mut(id.0) {
            one.wrong = Some(wrong.clone());
        }
        wrong
    }

    /// A path as whoever gave the paths so far would write it.
    fn shown(&self, path: &Path) -> PathBuf {
        let beside = |one: &Source| {
            let rest = path.strip_prefix(one.path.parent()?).ok()?;
            Some(Path::new(&one.name).parent()?.join(rest))
        };
        let known = self.all.iter().find_map(beside);
        known.unwrap_or_else(|| path.to_owned())
    }

    /// What the text is called: a path as it was given, or `command line`.
    #[must_use]
    pub fn name(&self, id: SourceId) -> &str {
        self.all.get(id.0).map_or("", |one| one.name.as_str())
    }

    /// Where the text lies; for one that is no file, what it is called.
    pub(crate) fn path(&self, id: SourceId) -> &Path {
        self.all.get(id.0).map_or(Path::new(""), |one| &one.path)
    }

    /// The text as it may be shown: of the same length, with secrets masked.
    #[must_use]
    pub fn text(&self, id: SourceId) -> &str {
        self.all
            .get(id.0)
            .map_or("", |one| one.shown.as_deref().unwrap_or(&one.text))
    }

    /// The text as it is to be read.
    pub(crate) fn written(&self, id: SourceId) -> &str {
        self.all.get(id.0).map_or("", |one| one.text.as_str())
    }

    /// Line and column of a byte, both from 1; the column counts characters, and a byte order mark is
    /// none, as in an editor.
    #[must_use]
    pub fn line_column(&self, id: SourceId, offset: usize) -> (usize, usize) {
        let Some(source) = self.all.get(id.0) else {
            return (1, 1);
        };
        let line = source.lines.partition_point(|start| *start <= offset);
        let start = line
            .checked_sub(1)
            .and_then(|index| source.lines.get(index).copied())
            .unwrap_or(0);
        let column = source
            .text
            .get(start..offset)
            .map_or(0, |before| without_mark(start, before).chars().count());
        (line.max(1), column + 1)
    }

    /// A place in a text, moved onto character boundaries inside it.
    #[must_use]
    pub fn place(&self, id: SourceId, span: Range<usize>) -> Place {
        // What is masked has more boundaries than what was written.
        let text = self.written(id);
        let start = text.floor_char_boundary(span.start.min(text.len()));
        let end = text.ceil_char_boundary(span.end.clamp(start, text.len()));
        Place {
            source: id,
            span: start..end,
        }
    }

    /// The place of a range that counts through all texts of a configuration.
    #[must_use]
    pub(crate) fn locate(&self, origin: &Origin, span: Range<usize>) -> Place {
        match origin.find(span.start) {
            Some((start, id)) => self.place(id, span.start - start..span.end.saturating_sub(start)),
            None => self.place(SourceId(0), 0..0),
        }
    }

    /// Hides what a place says from everybody who shows the text; the place stays, and so do the
    /// quotes of a text, so that the whole remains TOML.
    pub(crate) fn mask(&mut self, place: &Place) {
        let Some(one) = self.all.get_mut(place.source.0) else {
            return;
        };
        let shown = one.shown.get_or_insert_with(|| one.text.clone());
        let Some(written) = shown.get(place.span.clone()) else {
            return;
        };
        let quotes = written.len() - written.trim_start_matches(['"', '\'']).len();
        let quotes = quotes.min(3).min(written.len() / 2);
        // A text that is not TOML may not end with those it began with.
        let closing = written.len() - written.trim_end_matches(['"', '\'']).len();
        let inside = place.span.start + quotes..place.span.end - quotes.min(closing);
        let Some(written) = shown.get(inside.clone()) else {
            return;
        };
        let masked = stars(written);
        shown.replace_range(inside, &masked);
    }

    /// A path written in a text, seen from where the text lies.
    #[must_use]
    pub(crate) fn resolve(&self, id: SourceId, written: &str) -> PathBuf {
        let base = self
            .all
            .get(id.0)
            .and_then(|one| one.path.parent())
            .unwrap_or(Path::new(""));
        base.join(written)
    }

    fn push(&mut self, name: String, path: PathBuf, text: String) -> SourceId {
        let text = without_keys(text);
        let logins = logins_in_toml(&text);
        // A mark at the very start says that this is UTF-8.
        let shown = text.get(1..).is_none_or(|rest| rest.contains(is_unseen));
        let shown = shown.then(|| without_unseen(&text));
        let after_breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(after_breaks).collect();
        self.all.push(Source {
            name,
            path,
            text,
            shown,
            lines,
            wrong: None,
        });
        let id = SourceId(self.all.len() - 1);
        for span in logins {
            self.mask(&Place { source: id, span });
        }
        id
    }
}

/// The beginning of a line without the mark that says in which order bytes stand: it is in no column.
fn without_mark(line: usize, before: &str) -> &str {
    let bare = before.strip_prefix(MARK).filter(|_| line == 0);
    bare.unwrap_or(before)
}

/// What bytes are that are text and not UTF-8, by a mark before them or by what their zeros are
/// between.
fn encoding(bytes: &[u8]) -> Option<&'static str> {
    /// How much tells: no other text has a zero in it, and certainly not at each second place.
    const BEGIN: usize = 16;

    let begin = bytes.get(..BEGIN.min(bytes.len())).unwrap_or_default();
    let is_all = |width: usize, is_it: fn(&[u8]) -> bool| {
        begin.len() >= 8 && begin.chunks_exact(width).all(is_it)
    };
    let is_32 = is_all(4, |c| matches!(c, [1..=255, 0, 0, 0] | [0, 0, 0, 1..=255]));
    let is_16 =
        is_all(2, |c| matches!(c, [1..=255, 0])) || is_all(2, |c| matches!(c, [0, 1..=255]));
    match bytes {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => Some("UTF-32"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("UTF-16"),
        _ if is_32 => Some("UTF-32"),
        _ if is_16 => Some("UTF-16"),
        _ => None,
    }
}

/// A text of the same length, with a `?` for each byte that is of no character.
fn repaired(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text
}

/// Opens what is a regular file, and nothing else; waits for nobody.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    // Some devices do something as soon as they are opened.
    if !fs::metadata(path)?.is_file() {
        return Err(not_a_file());
    }
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    // It may be another one by now.
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_a_file()),
    }
}

/// Whether a path stands for something that was open when the process began.
fn is_handed_over(path: &Path) -> bool {
    let folders = ["/dev/fd", "/proc/self/fd"];
    path == Path::new("/dev/stdin") || folders.iter().any(|folder| path.starts_with(folder))
}

fn handed_over(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    match kind.is_file() || kind.is_fifo() {
        true => File::open(path),
        false => Err(not_a_file()),
    }
}

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "not a file")
}

/// A text of the same length in which every character can be seen.
fn without_unseen(text: &str) -> String {
    let drawn = |(at, c): (usize, char)| match is_unseen(c) && at > 0 {
        true => seen(c),
        false => c,
    };
    text.char_indices().map(drawn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_pasted_in_cannot_be_read() {
        let mut sources = Sources::default();
        let text =
            "key = \"\"\"-----BEGIN PRIVATE KEY-----\nAbC\n-----END PRIVATE KEY-----\"\"\"\nx = 1";
        let id = sources.add("x.toml", text.to_owned());
        assert!(!sources.text(id).contains("AbC"));
        assert_eq!(sources.text(id).len(), text.len());
        assert!(sources.text(id).ends_with("\nx = 1"));
        sources.mask(&Place {
            source: id,
            span: 0..3,
        });
        assert!(sources.text(id).starts_with("*** ="));
        let id = sources.add("y.toml", "\"AbC".to_owned());
        sources.mask(&Place {
            source: id,
            span: 0..4,
        });
        assert_eq!(sources.text(id), "\"***");
    }

    #[test]
    fn places_in_what_is_no_text_count_its_bytes() {
        assert_eq!(repaired(b"a\xff\xe2\x82b\xc3\xa9"), "a???b\u{e9}");
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf16_big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let utf32 = |text: &str| {
            text.chars()
                .flat_map(|c| u32::from(c).to_be_bytes())
                .collect()
        };
        for (bytes, is) in [
            (utf16("[listeners.a]"), Some("UTF-16")),
            (utf16_big("[listeners.a]"), Some("UTF-16")),
            (utf16("\u{feff}\u{e9}"), Some("UTF-16")),
            (utf16_big("\u{feff}a"), Some("UTF-16")),
            (utf32("[listeners.a]"), Some("UTF-32")),
            (utf32("\u{feff}a"), Some("UTF-32")),
            (b"[listeners.a]".to_vec(), None),
            (b"[a]\0\0\0\0\0\0".to_vec(), None),
            (b"a".to_vec(), None),
        ] {
            assert_eq!(encoding(&bytes), is, "{bytes:?}");
        }
        let file = std::env::temp_dir().join(format!("gateway-bytes-{}.toml", std::process::id()));
        for (bytes, at, said) in [
            (&b"a = 1\n# \xe2\x82 \xff"[..], 8..10, "see line 2"),
            (&b"a = 1\n# \xe2\x82"[..], 8..10, "see line 2"),
            (&b"\xff\xfea\0"[..], 0..0, "UTF-16: save it as UTF-8"),
        ] {
            fs::write(&file, bytes).unwrap();
            let mut sources = Sources::default();
            let wrong = sources.open(&file).unwrap_err();
            let wrong = wrong.get_ref().unwrap().downcast_ref::<NotText>().unwrap();
            assert_eq!(wrong.place.span, at);
            assert!(wrong.to_string().contains(said), "{wrong}");
        }
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let mut sources = Sources::default();
        let id = sources.add("x.toml", "é = 1\nb".to_owned());
        assert_eq!(sources.line_column(id, 0), (1, 1));
        assert_eq!(sources.line_column(id, 2), (1, 2));
        assert_eq!(sources.line_column(id, 7), (2, 1));
        assert_eq!(sources.line_column(id, 8), (2, 2));
    }

    #[test]
    fn a_byte_order_mark_is_in_no_column() {
        let mut sources = Sources::default();
        let id = sources.add("x.toml", "\u{feff}é = 1\n\u{feff}b".to_owned());
        let at = |at| sources.line_column(id, at);
        assert_eq!((at(0), at(3), at(5)), ((1, 1), (1, 1), (1, 2)));
        assert_eq!(at(13), (2, 2));
    }

    #[test]
    fn a_place_is_moved_into_the_text() {
        let mut sources = Sources::default();
        let id = sources.add("x.toml", "é".to_owned());
        assert_eq!(sources.place(id, 1..1).span, 0..2);
        assert_eq!(sources.place(id, 7..9).span, 2..2);
    }

    #[test]
    fn a_path_is_relative_to_the_file_that_names_it() {
        let mut sources = Sources::default();
        let id = sources.add("etc/gateway.toml", String::new());
        assert_eq!(sources.resolve(id, "a.pem"), Path::new("etc/a.pem"));
        assert_eq!(sources.resolve(id, "/b.pem"), Path::new("/b.pem"));
    }
}
