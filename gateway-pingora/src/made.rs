//! An answer of ours: what it holds, and how it is sent.

use std::time::Duration;

use bytes::Bytes;
use gateway_config::model::FailureStyle;
use gateway_core::failure::Failure;
use http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderName, HeaderValue, LOCATION,
    RETRY_AFTER,
};
use http::{HeaderMap, Method, StatusCode};
use pingora_core::Result;
use pingora_proxy::Session;

use crate::ctx::Admitted;
use crate::fields::answer_head;
use crate::site::ServedSite;

const OUTCOME: HeaderName = HeaderName::from_static("x-gateway-outcome");
const PROXY_STATUS: HeaderName = HeaderName::from_static("proxy-status");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A body that is read to its end, unused, so that the connection can go on; in bytes.
const LITTLE: u64 = 64 * 1024;
/// How long that may take.
const DRAIN: Duration = Duration::from_secs(5);

/// An answer of ours.
pub(crate) struct Made {
    /// Its status.
    pub(crate) status: StatusCode,
    /// Its fields, without those that every answer has.
    pub(crate) fields: HeaderMap,
    /// Its body.
    pub(crate) body: Bytes,
    /// Whether the client's connection ends with it.
    pub(crate) closes: bool,
}

impl Made {
    /// An answer with a body that nobody is to keep.
    pub(crate) fn passing(status: StatusCode, kind: HeaderValue, body: Bytes) -> Self {
        let mut fields = HeaderMap::with_capacity(8);
        fields.insert(CONTENT_TYPE, kind);
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Made {
            status,
            fields,
            body,
            closes: false,
        }
    }

    /// An answer without a body.
    pub(crate) fn empty(status: StatusCode) -> Self {
        Made {
            status,
            fields: HeaderMap::with_capacity(4),
            body: Bytes::new(),
            closes: false,
        }
    }

    /// Sends a client elsewhere; `None` for an address that is no field value.
    pub(crate) fn redirect(status: u16, to: &str) -> Option<Self> {
        let mut made = Made::empty(StatusCode::from_u16(status).ok()?);
        made.fields
            .insert(LOCATION, HeaderValue::from_str(to).ok()?);
        Some(made)
    }

    /// A failure, as a site words it.
    pub(crate) fn failure(failure: &Failure, site: &ServedSite, accepts_html: bool) -> Self {
        let answer = failure.answer_at(&site.site);
        let status =
            StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (kind, body) = match (site.site.failures, site.page(answer.status)) {
            (FailureStyle::Json, _) => (JSON, answer.json().into()),
            (FailureStyle::Text, Some(page)) => {
                (HeaderValue::from_static(page.kind), page.bytes.clone())
            }
            (FailureStyle::Text, None) if accepts_html => (HTML, answer.html().into()),
            (FailureStyle::Text, None) => (PLAIN, answer.text().into()),
        };
        let mut made = Made::passing(status, kind, body);
        made.closes = answer.close;
        if let Some(after) = &answer.retry_after {
            // What a node sent has been looked at, and ours is a number: always a value.
            if let Ok(after) = HeaderValue::from_str(after.as_str()) {
                made.fields.insert(RETRY_AFTER, after);
            }
        }
        if let Some(outcome) = answer.outcome {
            let outcome = HeaderValue::from_static(outcome.as_str());
            made.fields.insert(OUTCOME, outcome);
        }
        if let Failure::MethodNotAllowed { allow } = failure {
            made.fields.insert(ALLOW, HeaderValue::from_static(allow));
        }
        let error = failure
            .proxy_error()
            .filter(|_| site.site.failures == FailureStyle::Text);
        // RFC 9209 §2.3: who says so, and what went wrong.
        if let Some(Ok(status)) =
            error.map(|error| HeaderValue::try_from(format!("gatewayd; error={error}")))
        {
            made.fields.insert(PROXY_STATUS, status);
        }
        made
    }

    /// Sends it. The connection goes on where it can.
    ///
    /// # Errors
    /// When the client cannot be written to.
    pub(crate) async fn send(mut self, session: &mut Session, admitted: &Admitted) -> Result<()> {
        // RFC 9110 §8.6: a 204 has no length.
        if self.status != StatusCode::NO_CONTENT {
            let length = HeaderValue::from(self.body.len());
            self.fields.insert(CONTENT_LENGTH, length);
        }
        let ends = session.req_header().method == Method::HEAD || self.body.is_empty();
        let body = std::mem::take(&mut self.body);
        self.begin(session, admitted, ends).await?;
        if !ends {
            admitted.passed.sends(body.len());
            session.write_response_body(Some(body), true).await?;
        }
        Ok(())
    }

    /// Sends its head alone; `ends` when no body comes after it.
    ///
    /// # Errors
    /// When the client cannot be written to.
    pub(crate) async fn begin(
        mut self,
        session: &mut Session,
        admitted: &Admitted,
        ends: bool,
    ) -> Result<()> {
        if self.closes || admitted.client.drain.is_on() {
            session.set_keepalive(None);
        } else if is_soon_read(session) {
            session.set_close_on_response_before_downstream_finish(false);
            session.set_total_drain_timeout(Some(DRAIN));
        }
        admitted.dress(&mut self.fields);
        admitted.passed.answers(self.status);
        let head = answer_head(self.status, self.fields);
        session.write_response_header(Box::new(head), ends).await
    }
}

/// Whether what the client still sends is little, and sure to come: then the connection goes on after
/// it. A client that waits for a 100 may never send it (RFC 9110 §10.1.1).
fn is_soon_read(session: &Session) -> bool {
    let length = session
        .get_header(CONTENT_LENGTH)
        .and_then(|length| length.to_str().ok());
    session.get_header(EXPECT).is_none()
        && length
            .and_then(|length| length.parse::<u64>().ok())
            .is_some_and(|length| length <= LITTLE)
}
