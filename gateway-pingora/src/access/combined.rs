//! A line in the combined format, as web servers have long written it: one line, visible ASCII, fields
//! in quotes that nothing inside can end.
//!
//! Source: the `combined` format of Apache and nginx; adr/0039.

use std::io::{self, Write};
use std::sync::Arc;

use super::{AccessLine, MAX_METHOD, MAX_TARGET, cut};
use crate::clock;

/// Longest field of a client's own words, in bytes as they came.
const MAX_FIELD: usize = 512;
/// Stands for a value that is not written.
const MASK: &[u8] = b"***";
/// The status of a request whose client did not wait for an answer.
const NOBODY_THERE: u16 = 499;

/// Writes the line, without its end.
///
/// # Errors
/// None: memory is written to.
pub(super) fn write(
    out: &mut Vec<u8>,
    line: &AccessLine<'_>,
    redact: &[Arc<str>],
) -> io::Result<()> {
    write!(out, "{} - - [{}] \"", line.client, date())?;
    match line.method {
        None => out.push(b'-'),
        Some(method) => {
            escape(out, cut(method.as_bytes(), MAX_METHOD));
            out.push(b' ');
            let target = line.target.unwrap_or_default();
            escape(out, &masked(cut(target, MAX_TARGET), redact));
            let version = match line.protocol {
                Some("HTTP/2") => "HTTP/2.0",
                other => other.unwrap_or("-"),
            };
            write!(out, " {version}")?;
        }
    }
    let status = line.status.unwrap_or(NOBODY_THERE);
    write!(out, "\" {status} {} \"", line.bytes_out)?;
    let referrer = line.referrer.map(|one| masked(cut(one, MAX_FIELD), redact));
    field(out, referrer.as_deref());
    out.extend_from_slice(b"\" \"");
    field(out, line.agent.map(|one| cut(one, MAX_FIELD)));
    out.push(b'"');
    Ok(())
}

/// `30/Nov/2026:08:49:01 +0000`.
fn date() -> String {
    let date = httpdate::fmt_http_date(clock::wall());
    let mut words = date.split(' ').skip(1);
    let mut next = || words.next().unwrap_or("-");
    let (day, month, year, time) = (next(), next(), next(), next());
    format!("{day}/{month}/{year}:{time} +0000")
}

fn field(out: &mut Vec<u8>, field: Option<&[u8]>) {
    match field {
        Some(bytes) if !bytes.is_empty() => escape(out, bytes),
        _ => out.push(b'-'),
    }
}

fn escape(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or(b'?');
    for &byte in bytes {
        match byte {
            b'"' | b'\\' | ..=0x1f | 0x7f.. => {
                out.extend_from_slice(&[b'\\', b'x', digit(byte >> 4), digit(byte & 15)]);
            }
            plain => out.push(plain),
        }
    }
}

/// A target, or an address, with the values of these query keys masked.
fn masked(target: &[u8], redact: &[Arc<str>]) -> Vec<u8> {
    let query = target.iter().position(|&byte| byte == b'?');
    let Some((path, query)) = query.and_then(|at| target.split_at_checked(at + 1)) else {
        return target.to_vec();
    };
    let mut out = path.to_vec();
    for pair in query.split_inclusive(|byte| matches!(byte, b'&' | b';' | b'#')) {
        let parted = pair.iter().position(|&byte| byte == b'=');
        let parted = parted.and_then(|at| pair.split_at_checked(at + 1));
        match parted {
            Some((key, value)) if is_named(key, redact) => {
                out.extend_from_slice(key);
                out.extend_from_slice(MASK);
                let end = value
                    .last()
                    .filter(|byte| matches!(byte, b'&' | b';' | b'#'));
                out.extend(end);
            }
            _ => out.extend_from_slice(pair),
        }
    }
    out
}

/// Whether a key, with its `=`, is one of these however it is spelled: escapes are read, case is not,
/// and `key[…]` is `key` to those who make lists of it.
pub(crate) fn is_named(key: &[u8], redact: &[Arc<str>]) -> bool {
    let mut plain = Vec::with_capacity(key.len());
    let mut rest = key.strip_suffix(b"=").unwrap_or(key);
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%').then(|| after.split_at_checked(2)).flatten();
        let escaped = escaped.and_then(|(digits, after)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        let (byte, after) = escaped.unwrap_or((byte, after));
        plain.push(byte);
        rest = after;
    }
    let end = plain.iter().position(|&byte| byte == b'[');
    let name = end.and_then(|end| plain.get(..end)).unwrap_or(&plain);
    let name = name.trim_ascii();
    let is_it = |one: &Arc<str>| name.eq_ignore_ascii_case(one.as_bytes());
    redact.iter().any(is_it)
}
