//! Looks a request up in a directory: a table of contents of the rooms beside it.
//!
//! First which name is asked for, then what is there, then how it is sent. What is hidden and
//! what is not there get the same 404, so nobody learns which it is.
//!
//! Source: GATEWAY §4; adr/0036.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;

use bytes::Bytes;
use gateway_config::model::Files;
use http::{HeaderValue, Method, StatusCode};
use percent_encoding::percent_decode;

use crate::answer::{Answer, Content, Representation};
use crate::asked::Asked;
use crate::coding::{preferred, suffix, takes_html};
use crate::listing::{joined, page};
use crate::media::kind;
use crate::path::{Named, Unnamed, name, split_query, with_slash};
use crate::root::{Disk, Found, Missed, Root};
use crate::validator::Validators;

impl Root {
    /// The answer to a request. May wait for a disk, so not for a thread that must not.
    #[must_use]
    pub fn answer(&self, files: &Files, asked: &Asked<'_>) -> Answer {
        // Nothing is ever left undone for a disk that may be waited for.
        self.settle(files, asked, Disk::Wait)
            .unwrap_or_else(Answer::busy)
    }

    /// The answer to a request where no disk is needed for it; otherwise `None`, and
    /// [`answer`](Self::answer) gives it on a thread that may wait. The body may still need one.
    #[must_use]
    pub fn answer_now(&self, files: &Files, asked: &Asked<'_>) -> Option<Answer> {
        self.settle(files, asked, Disk::Avoid)
    }

    fn settle(&self, files: &Files, asked: &Asked<'_>, disk: Disk) -> Option<Answer> {
        if !matches!(*asked.method, Method::GET | Method::HEAD) {
            return Some(Answer::not_allowed());
        }
        let looking = Looking {
            root: self,
            files,
            asked,
            disk,
        };
        let found = looking.look().or_else(|missed| match missed {
            Missed::Nothing => looking.fallback(),
            missed => Err(missed),
        });
        match found {
            Ok(answer) => Some(answer),
            Err(Missed::Broken) => Some(Answer::bare(StatusCode::INTERNAL_SERVER_ERROR)),
            Err(Missed::Busy) => Some(Answer::busy()),
            Err(Missed::Disk) => None,
            Err(Missed::Hidden | Missed::Nothing) => Some(Answer::bare(StatusCode::NOT_FOUND)),
        }
    }
}

/// One request, and where it is looked up.
struct Looking<'a> {
    root: &'a Root,
    files: &'a Files,
    asked: &'a Asked<'a>,
    disk: Disk,
}

impl Looking<'_> {
    fn look(&self) -> Result<Answer, Missed> {
        let (path, _) = split_query(self.asked.target);
        match name(path, self.asked.prefix) {
            Ok(named) if named.is_directory => self.directory(&named),
            Ok(named) => match self.root.find(&named.below, self.disk)? {
                Found::Directory => Ok(self.add_slash()),
                Found::File(file, plain) => self.send(&named.below, file, plain),
            },
            Err(Unnamed::Hidden) => Err(Missed::Hidden),
            Err(Unnamed::Malformed) => Ok(Answer::bare(StatusCode::BAD_REQUEST)),
            Err(Unnamed::Nothing) => Err(Missed::Nothing),
        }
    }

    /// The index of a directory, else its listing. An index that is hidden hides the listing.
    fn directory(&self, named: &Named) -> Result<Answer, Missed> {
        let index = joined(&named.below, self.files.index.as_bytes());
        match self.root.find(&index, self.disk) {
            Ok(Found::File(file, plain)) => self.send(&index, file, plain),
            Ok(Found::Directory) | Err(Missed::Nothing) if self.files.listing => self.list(named),
            Ok(Found::Directory) => Err(Missed::Nothing),
            Err(missed) => Err(missed),
        }
    }

    fn list(&self, named: &Named) -> Result<Answer, Missed> {
        if self.disk == Disk::Avoid {
            return Err(Missed::Disk);
        }
        let (path, _) = split_query(self.asked.target);
        let shown = percent_decode(path).decode_utf8_lossy();
        let text = Bytes::from(page(self.root, &named.below, &shown)?);
        let found = Representation {
            kind: HeaderValue::from_static("text/html; charset=utf-8"),
            coding: None,
            length: text.len() as u64,
            validators: Validators::of_text(&text),
            content: Content::Listing(text),
        };
        Ok(Answer::showing(self.asked, found))
    }

    fn add_slash(&self) -> Answer {
        match with_slash(self.asked.target) {
            Some(location) => Answer::moved(&location),
            None => Answer::bare(StatusCode::BAD_REQUEST),
        }
    }

    /// The file that stands for whatever is not there, for clients that take HTML.
    fn fallback(&self) -> Result<Answer, Missed> {
        let Some(page) = self.files.spa.as_deref() else {
            return Err(Missed::Nothing);
        };
        if !takes_html(self.asked.fields) {
            return Ok(Answer::bare(StatusCode::NOT_FOUND).varying(true, false));
        }
        match self.root.find(page.as_bytes(), self.disk)? {
            Found::Directory => Err(Missed::Nothing),
            Found::File(file, plain) => {
                let answer = self.send(page.as_bytes(), file, plain)?;
                Ok(answer.varying(true, self.has_codings()))
            }
        }
    }

    /// Sends a file, or the ready coding of it that suits the client best.
    fn send(&self, below: &[u8], file: File, plain: Metadata) -> Result<Answer, Missed> {
        let (coding, file, sent) = match self.ready(below, &plain)? {
            Some((coding, file, sent)) => (Some(coding), file, sent),
            None => (None, file, plain),
        };
        let found = Representation {
            kind: kind(below),
            coding,
            length: sent.size(),
            validators: Validators::of_file(&sent, coding, self.asked.now),
            content: Content::File(file),
        };
        Ok(Answer::showing(self.asked, found).varying(false, self.has_codings()))
    }

    /// The best ready coding of a file that is there. One that is older than the plain file was
    /// made of another content, so it is passed over.
    fn ready(&self, below: &[u8], plain: &Metadata) -> Result<Option<Ready>, Missed> {
        let written = |file: &Metadata| (file.mtime(), file.mtime_nsec());
        for coding in preferred(self.asked.fields, &self.files.precompressed) {
            let path = [below, suffix(coding).as_bytes()].concat();
            match self.root.find(&path, self.disk) {
                Ok(Found::File(file, sent)) if written(&sent) >= written(plain) => {
                    return Ok(Some((coding, file, sent)));
                }
                Ok(Found::Directory | Found::File(..))
                | Err(Missed::Broken | Missed::Hidden | Missed::Nothing) => {}
                Err(missed @ (Missed::Busy | Missed::Disk)) => return Err(missed),
            }
        }
        Ok(None)
    }

    fn has_codings(&self) -> bool {
        !self.files.precompressed.is_empty()
    }
}

type Ready = (&'static str, File, Metadata);
