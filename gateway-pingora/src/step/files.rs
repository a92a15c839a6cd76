//! Instead of steps 4 to 8: a file of a directory, or why there is none.
//!
//! A worker must not wait for a disk: what is not in memory is fetched on a thread that may.
//!
//! Source: adr/0036.

use std::sync::Arc;

use bytes::Bytes;
use gateway_config::model::Files;
use gateway_core::failure::Failure;
use gateway_files::{Answer, Asked, Body, Part, ReadNow, Root};
use http::StatusCode;
use pingora_core::{Error, ErrorType, OrErr, Result};
use pingora_proxy::Session;

use crate::clock;
use crate::ctx::{Ctx, Passed};
use crate::fields::accepts_html;
use crate::folder::Folder;
use crate::made::Made;
use crate::piece::Piece;
use crate::serving::Shared;

/// Answers.
///
/// # Errors
/// When the client cannot be written to, or the file cannot be read to its end: then the client has
/// got less than was announced, and is told by the end of the connection or stream.
pub(crate) async fn run(
    shared: &Shared,
    folder: &Folder,
    target: &str,
    session: &mut Session,
    ctx: &mut Ctx,
) -> Result<bool> {
    let admitted = ctx.admitted()?;
    let mut answer = look(folder, target, session, ctx).await?;
    if let Body::File(part) = &answer.body
        && shared.descriptors.are_short(part)
    {
        answer = Answer::busy();
    }
    if let Some(failure) = failure(&answer) {
        let accepts_html = accepts_html(&session.req_header().headers);
        let mut made = Made::failure(&failure, &admitted.site, accepts_html);
        made.fields.extend(answer.fields);
        made.send(session, admitted).await?;
        ctx.failure = Some(failure);
        return Ok(true);
    }
    let made = Made {
        status: answer.status,
        fields: answer.fields,
        body: Bytes::new(),
        closes: false,
    };
    match answer.body {
        Body::Empty => made.begin(session, admitted, true).await?,
        Body::Text(text) => {
            made.begin(session, admitted, false).await?;
            admitted.passed.sends(text.len());
            session.write_response_body(Some(text), true).await?;
        }
        Body::File(part) => {
            made.begin(session, admitted, false).await?;
            send(part, session, &admitted.passed).await?;
        }
    }
    Ok(true)
}

async fn look(folder: &Folder, target: &str, session: &Session, ctx: &Ctx) -> Result<Answer> {
    let request = session.req_header();
    let asked = Asked {
        method: &request.method,
        target: target.as_bytes(),
        prefix: folder.prefix,
        fields: &request.headers,
        now: clock::wall(),
    };
    let root = folder.root(ctx.started);
    if let Some(answer) = root.answer_now(&folder.files, &asked) {
        return Ok(answer);
    }
    let asked = Owned {
        files: folder.files.clone(),
        method: request.method.clone(),
        target: target.as_bytes().to_vec(),
        fields: request.headers.clone(),
        prefix: folder.prefix,
    };
    elsewhere(move || asked.answer(&root)).await
}

/// A request that goes to another thread.
struct Owned {
    files: Files,
    method: http::Method,
    target: Vec<u8>,
    fields: http::HeaderMap,
    prefix: usize,
}

impl Owned {
    fn answer(&self, root: &Arc<Root>) -> Answer {
        let asked = Asked {
            method: &self.method,
            target: &self.target,
            prefix: self.prefix,
            fields: &self.fields,
            now: clock::wall(),
        };
        root.answer(&self.files, &asked)
    }
}

/// Sends what is asked for of a file, as fast as the client takes it.
async fn send(mut part: Part, session: &mut Session, passed: &Passed) -> Result<()> {
    while part.left() > 0 {
        let mut piece = Piece::take();
        let read = match part.read(piece.room()) {
            Ok(ReadNow::Bytes(read)) => read,
            Ok(ReadNow::WouldBlock) => {
                let waited = elsewhere(move || {
                    let read = part.read_blocking(piece.room());
                    read.map(|read| (part, piece, read))
                });
                let (same, filled, read) = waited.await?.or_err(UNREAD, "a file")?;
                (part, piece) = (same, filled);
                read
            }
            Err(error) => return Err(error).or_err(UNREAD, "a file"),
        };
        let is_last = part.left() == 0;
        let bytes = piece.into_bytes(read);
        passed.sends(bytes.len());
        session.write_response_body(Some(bytes), is_last).await?;
    }
    Ok(())
}

/// What is wrong when a file cannot be read to its end.
const UNREAD: ErrorType = ErrorType::FileReadError;

/// Runs something that may wait on a thread that may.
async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Error::explain(ErrorType::InternalError, "a thread for files has gone"))
}

/// What an answer without a file is worded as.
fn failure(answer: &Answer) -> Option<Failure> {
    Some(match answer.status {
        StatusCode::BAD_REQUEST => Failure::NO_FILE,
        StatusCode::NOT_FOUND => Failure::NoSuchFile,
        StatusCode::METHOD_NOT_ALLOWED => Failure::MethodNotAllowed { allow: "GET, HEAD" },
        StatusCode::PRECONDITION_FAILED => Failure::PreconditionFailed,
        StatusCode::RANGE_NOT_SATISFIABLE => Failure::RangeNotSatisfiable,
        StatusCode::SERVICE_UNAVAILABLE => Failure::NoDescriptors,
        status if status.is_client_error() || status.is_server_error() => Failure::Internal {
            because: "a file cannot be read".to_owned(),
        },
        _ => return None,
    })
}
