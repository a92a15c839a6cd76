//! Makes the answer to a request out of what was found: status, fields and what is sent.
//!
//! Source: RFC 9110 §13.2, §14, §15; adr/0036.

use std::fs::File;

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, ETAG, HeaderName, LAST_MODIFIED, LOCATION, RETRY_AFTER, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::asked::Asked;
use crate::condition::{Verdict, is_part_wanted, judge};
use crate::part::Part;
use crate::range::{Span, asked as range_asked};
use crate::validator::{Validators, date, seconds};

/// What a client is told.
#[derive(Debug)]
pub struct Answer {
    /// The status. From 400 on the body is the caller's to write.
    pub status: StatusCode,
    /// The fields of the answer, but for those that every answer of the gateway has.
    pub fields: HeaderMap,
    /// What is sent behind the head.
    pub body: Body,
}

/// What is sent behind a head.
#[derive(Debug)]
pub enum Body {
    /// Nothing.
    Empty,
    /// Bytes of a file, as many as `Content-Length` says.
    File(Part),
    /// A text made for this answer.
    Text(Bytes),
}

/// Something that can be sent, whole or in part.
#[derive(Debug)]
pub(crate) struct Representation {
    pub(crate) kind: HeaderValue,
    pub(crate) coding: Option<&'static str>,
    pub(crate) length: u64,
    pub(crate) validators: Validators,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    File(File),
    Listing(Bytes),
}

impl Answer {
    /// An answer without a body.
    pub(crate) fn bare(status: StatusCode) -> Self {
        Self {
            status,
            fields: HeaderMap::new(),
            body: Body::Empty,
        }
    }

    /// 405, and which methods there are (§15.5.6).
    pub(crate) fn not_allowed() -> Self {
        let methods = HeaderValue::from_static("GET, HEAD");
        Self::bare(StatusCode::METHOD_NOT_ALLOWED).with(ALLOW, methods)
    }

    /// 503 for the moment: there is no descriptor for a file.
    #[must_use]
    pub fn busy() -> Self {
        let soon = HeaderValue::from_static("1");
        Self::bare(StatusCode::SERVICE_UNAVAILABLE).with(RETRY_AFTER, soon)
    }

    /// 308 to another path of the same site (§15.4.9).
    pub(crate) fn moved(location: &str) -> Self {
        match HeaderValue::from_str(location) {
            Ok(location) => Self::bare(StatusCode::PERMANENT_REDIRECT)
                .with(LOCATION, location)
                .with(CONTENT_LENGTH, HeaderValue::from(0_u64)),
            Err(_) => Self::bare(StatusCode::BAD_REQUEST),
        }
    }

    /// What a client gets of something that is there: 200, 206, 304, 412 or 416.
    pub(crate) fn showing(asked: &Asked<'_>, found: Representation) -> Self {
        match judge(asked.fields, &found.validators) {
            Verdict::Failed => Self::bare(StatusCode::PRECONDITION_FAILED),
            Verdict::NotModified => not_modified(&found.validators),
            Verdict::Proceed => match span(asked, &found) {
                Span::Part { from, length } => part(found, from, length),
                Span::Unsatisfiable => unsatisfiable(found.length),
                Span::Whole => whole(asked, found),
            },
        }
    }

    /// The same answer with one more field.
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.fields.insert(name, value);
        self
    }

    /// The same answer, with what it depends on (§12.5.5).
    pub(crate) fn varying(self, on_accept: bool, on_coding: bool) -> Self {
        let names = match (on_accept, on_coding) {
            (false, false) => return self,
            (false, true) => "Accept-Encoding",
            (true, false) => "Accept",
            (true, true) => "Accept, Accept-Encoding",
        };
        self.with(VARY, HeaderValue::from_static(names))
    }
}

/// Ranges are of the bytes that would be sent, so of the coded ones where a coding was chosen
/// (§14.2). They are for GET only, and a text made for one answer has none.
fn span(asked: &Asked<'_>, found: &Representation) -> Span {
    let is_wanted = *asked.method == Method::GET
        && matches!(found.content, Content::File(_))
        && is_part_wanted(asked.fields, &found.validators, seconds(asked.now));
    match is_wanted {
        true => range_asked(asked.fields, found.length),
        false => Span::Whole,
    }
}

fn whole(asked: &Asked<'_>, found: Representation) -> Answer {
    let length = found.length;
    let head = described(StatusCode::OK, &found, length);
    let body = match found.content {
        _ if *asked.method == Method::HEAD => Body::Empty,
        Content::File(file) => Body::File(Part::new(file, 0, length)),
        Content::Listing(text) => Body::Text(text),
    };
    Answer { body, ..head }
}

fn part(found: Representation, from: u64, length: u64) -> Answer {
    let last = from.saturating_add(length).saturating_sub(1);
    let range = format!("bytes {from}-{last}/{}", found.length);
    let head = described(StatusCode::PARTIAL_CONTENT, &found, length);
    let body = match found.content {
        Content::File(file) => Body::File(Part::new(file, from, length)),
        Content::Listing(_) => Body::Empty,
    };
    Answer { body, ..head }.with(CONTENT_RANGE, value(&range))
}

/// §15.4.5: what a cache goes by, and nothing that describes a content it already has.
fn not_modified(validators: &Validators) -> Answer {
    Answer::bare(StatusCode::NOT_MODIFIED).with(ETAG, value(&validators.tag))
}

fn unsatisfiable(length: u64) -> Answer {
    Answer::bare(StatusCode::RANGE_NOT_SATISFIABLE)
        .with(CONTENT_RANGE, value(&format!("bytes */{length}")))
}

fn described(status: StatusCode, found: &Representation, length: u64) -> Answer {
    let validators = &found.validators;
    // With room for what the gateway says of every answer.
    let mut fields = HeaderMap::with_capacity(16);
    fields.insert(CONTENT_TYPE, found.kind.clone());
    fields.insert(CONTENT_LENGTH, HeaderValue::from(length));
    fields.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    fields.insert(ETAG, value(&validators.tag));
    if let Some(modified) = validators.modified {
        fields.insert(LAST_MODIFIED, value(&date(modified)));
    }
    if let Some(coding) = found.coding {
        fields.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    match found.content {
        Content::File(_) => fields.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes")),
        Content::Listing(_) => fields.insert(CONTENT_SECURITY_POLICY, NOTHING_BUT_LINKS),
    };
    Answer {
        fields,
        ..Answer::bare(status)
    }
}

/// A value made of visible ASCII by ourselves.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

/// Were a name in a listing ever to get out of its quotes, nothing would run.
const NOTHING_BUT_LINKS: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
