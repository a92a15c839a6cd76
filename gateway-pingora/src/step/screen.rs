//! Step 2: is the request well formed for us? HTTP/1 heads have passed the gate; those of HTTP/2
//! are held to the same limits here.

use gateway_core::failure::Failure;
use http::Version;
use pingora_proxy::Session;

use crate::ctx::Ctx;

/// Lets a request pass that keeps the limits of its listener.
///
/// # Errors
/// [`Failure::LineTooLong`] or [`Failure::FieldsTooLarge`].
///
/// Source: RFC 9113 §10.5.1.
pub(crate) fn run(session: &Session, ctx: &Ctx) -> Result<(), Failure> {
    let request = session.req_header();
    let Some(admitted) = ctx
        .admitted
        .as_ref()
        .filter(|_| request.version == Version::HTTP_2)
    else {
        return Ok(());
    };

    let settings = admitted.client.listening.settings();
    let limits = &settings.head;
    // As long as the same request would be in HTTP/1: line breaks, separators and the version.
    let line = request.method.as_str().len() + request.raw_path().len() + "  HTTP/1.1".len();
    let fields: usize = request
        .headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();

    if line > limits.line as usize {
        return Err(Failure::LineTooLong);
    }
    if fields > limits.fields as usize || request.headers.len() > usize::from(limits.count) {
        return Err(Failure::FieldsTooLarge);
    }
    Ok(())
}
