//! Reads texts that are the path of a file, and where lines about requests go.
//!
//! Whether anything is there is left to [`files`](crate::files).

use std::path::PathBuf;

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::masking;
use crate::model::AccessLog;
use crate::names;
use crate::source::Placed;

/// Refuses a text that is the path of nothing.
///
/// # Errors
/// `G0210` says why.
pub fn check_path(text: &Placed<String>) -> Result<(), Diagnostic> {
    match not_a_path(&text.value) {
        None => Ok(()),
        Some(why) => {
            let title = "a path is expected, and this is none";
            Err(Diagnostic::error(codes::BAD_PATH, title).at(&text.place, why))
        }
    }
}

/// Reads where lines about requests go; a path in it is as it was written.
///
/// # Errors
/// `G0210` for what is neither one of the two words nor the path of a file: a word misspelt is no
/// file of that name.
pub fn access_log(text: &Placed<String>) -> Result<AccessLog, Diagnostic> {
    let written = text.value.as_str();
    match written {
        "off" => return Ok(AccessLog::Off),
        "stdout" => return Ok(AccessLog::Stdout),
        _ => check_path(text)?,
    }
    let Some((why, cure)) = not_a_log(written) else {
        return Ok(AccessLog::File(PathBuf::from(written)));
    };
    let title = "this is no place for the access log";
    let found = Diagnostic::error(codes::BAD_PATH, title);
    Err(found.at(&text.place, why).help(cure))
}

fn not_a_path(text: &str) -> Option<&'static str> {
    match text {
        "" => Some("it is empty"),
        _ if text.contains('\n') => Some("the path of a file, on one line"),
        _ if text.contains(char::is_control) => Some("no path has such a character"),
        // Below its folder it would be a path like any other, and shown.
        _ if !text.starts_with(['/', '.']) && !masking::logins(text).is_empty() => {
            Some("an address with a login, or a secret; a file of this name is written `./…`")
        }
        _ => None,
    }
}

/// Why a text is not the path of a log, and what to write.
fn not_a_log(text: &str) -> Option<(&'static str, String)> {
    let word = text.trim().to_ascii_lowercase();
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    if !scheme.is_empty() && scheme.chars().all(is_scheme) {
        let cure = match text.strip_prefix("file://") {
            Some(path) => format!("write \"{path}\""),
            None => "write `off`, `stdout`, or the path of a file".to_owned(),
        };
        return Some(("lines are appended to a file, and sent nowhere", cure));
    }
    if text.ends_with('/') {
        let cure = format!("name a file in it, for example \"{text}access.log\"");
        return Some(("a directory, not a file", cure));
    }
    if text.contains('/') {
        return None;
    }
    let cure = match names::closest(&word, ["off", "stdout"]) {
        Some(near) => format!("did you mean `{near}`?"),
        None if word == "stderr" => "write \"/dev/stderr\"".to_owned(),
        None => format!("write `off`, `stdout`, or \"./{text}\" for a file of this name"),
    };
    Some(("neither a word it knows nor a path with a `/`", cure))
}
