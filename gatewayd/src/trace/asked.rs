//! A question about a request, held to its bounds.
//!
//! What cannot be sent at all is refused here, so that nothing odd reaches the gate as something
//! else; what can be sent and is refused by the gate is left to it. No refusal quotes a value.

use std::net::IpAddr;

use gateway_config::canonical::split_port;

use super::Odd;
use crate::proto::config::{Header, TraceRequest};

/// Longest method, in bytes.
const METHOD: usize = 64;
/// Longest URL, and longest value of a field.
const LONG: usize = 16 << 10;
/// Longest name of a field.
const NAME: usize = 256;
/// Most fields.
const FIELDS: usize = 256;

/// A request that could be sent.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) is_https: bool,
    /// Host and port, as the client names them.
    pub(super) authority: String,
    /// The port, where one is written.
    pub(super) port: Option<u16>,
    /// Path and query as they are sent.
    pub(super) target: String,
    /// Names and values; `Host` is among them.
    pub(super) fields: Vec<(String, String)>,
    pub(super) client: Option<IpAddr>,
}

impl Asked {
    /// Reads a question.
    ///
    /// # Errors
    /// [`Odd`].
    pub(super) fn read(request: &TraceRequest) -> Result<Self, Odd> {
        if request.method.len() > METHOD || !is_token(&request.method) {
            return odd("the method is no token of at most 64 bytes");
        }
        let (is_https, authority, target) = url(&request.url)?;
        let mut fields = fields(&request.headers)?;
        let is_host = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("host");
        let authority = match fields.iter().find(is_host) {
            Some((_, host)) => host.clone(),
            None => {
                fields.insert(0, ("Host".to_owned(), authority.clone()));
                authority
            }
        };
        if authority.contains('@') {
            return odd(USER);
        }
        let client = Some(request.client.as_str()).filter(|client| !client.is_empty());
        let client = client.map(|client| {
            let wrong = || Odd("the client's address is no IP address".to_owned());
            client.parse().map_err(|_| wrong())
        });
        let port = authority
            .rsplit_once(':')
            .filter(|_| !authority.ends_with(']'));
        Ok(Self {
            method: request.method.clone(),
            is_https,
            port: port.and_then(|(_, port)| port.parse().ok()),
            authority,
            target,
            fields,
            client: client.transpose()?,
        })
    }

    /// The name a site is looked for under.
    pub(super) fn host(&self) -> &str {
        split_port(&self.authority).0
    }
}

const USER: &str = "the authority holds user information: a gateway refuses it, and clients send it \
                    as a field; leave it out";

/// Whether it is HTTPS, the authority, and what is sent as the target: all but the fragment.
fn url(text: &str) -> Result<(bool, String, String), Odd> {
    if text.len() > LONG {
        return odd("the URL is longer than 16 KiB");
    }
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return odd("the URL holds a control character");
    }
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let is_https = scheme.eq_ignore_ascii_case("https");
    if !is_https && !scheme.eq_ignore_ascii_case("http") {
        return odd("the URL does not begin with http:// or https://");
    }
    let sent = rest.split('#').next().unwrap_or_default();
    let end = sent.find(['/', '?']).unwrap_or(sent.len());
    let (authority, target) = sent.split_at_checked(end).unwrap_or_default();
    if authority.contains('@') {
        return odd(USER);
    }
    if authority.is_empty() {
        return odd("the URL names no host");
    }
    let slash = if target.starts_with('/') { "" } else { "/" };
    Ok((is_https, authority.to_owned(), format!("{slash}{target}")))
}

fn fields(all: &[Header]) -> Result<Vec<(String, String)>, Odd> {
    if all.len() > FIELDS {
        return odd("there are more than 256 header fields");
    }
    let field = |one: &Header| {
        if one.name.len() > NAME || !is_token(&one.name) {
            return odd("the name of a header field is no token of at most 256 bytes");
        }
        let is_odd = |byte: u8| byte.is_ascii_control() && byte != b'\t';
        if one.value.len() > LONG || one.value.bytes().any(is_odd) {
            return Err(Odd(format!(
                "the value of the header field `{}` is longer than 16 KiB or holds a control character",
                one.name
            )));
        }
        Ok((one.name.clone(), one.value.trim().to_owned()))
    };
    all.iter().map(field).collect()
}

/// Source: RFC 9110 §5.6.2.
fn is_token(text: &str) -> bool {
    let is_of_one = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_of_one)
}

fn odd<T>(why: &str) -> Result<T, Odd> {
    Err(Odd(why.to_owned()))
}
