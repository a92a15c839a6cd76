//! A refusal as a status: the code, one line, and details for programs.
//!
//! A status travels in a header field, and clients take few bytes of those: what does not fit is
//! counted, and `DataPlane.last_error` has all of it.

use gateway_pingora::Fault;
use prost::{Message, Name};
use prost_types::Any;
use tonic::{Code, Status};
use tonic_types::pb;

use super::convert;
use crate::proto::config::{Diagnostic, Diagnostics};
use crate::reload::Refused;

/// Who says why, in `google.rpc.ErrorInfo`.
const DOMAIN: &str = "gateway.control.v1";
/// Longest message, in bytes.
const MESSAGE: usize = 600;
/// Most bytes of findings.
const FINDINGS: usize = 2_800;

/// The status of a refusal.
pub(super) fn status(refused: &Refused) -> Status {
    let (code, reason) = code(refused);
    let mut message = refused.to_string();
    let mut details = vec![info(reason)];
    if let Some(findings) = refused.findings() {
        let lines = message.lines().count();
        message = message.lines().next().unwrap_or_default().to_owned();
        if lines > 1 {
            message.push_str(&format!(" (and {} more)", findings.found.len() - 1));
        }
        details.push(any(&bounded(convert::diagnostics(findings))));
    }
    message.truncate(message.floor_char_boundary(MESSAGE));
    let whole = pb::Status {
        code: code.into(),
        message: message.clone(),
        details,
    };
    Status::with_details(code, message, whole.encode_to_vec().into())
}

/// A status for a call that makes no sense.
pub(super) fn invalid(why: &str) -> Status {
    let whole = pb::Status {
        code: Code::InvalidArgument.into(),
        message: why.to_owned(),
        details: vec![info("INVALID_CALL")],
    };
    Status::with_details(Code::InvalidArgument, why, whole.encode_to_vec().into())
}

fn code(refused: &Refused) -> (Code, &'static str) {
    match refused {
        Refused::Busy(_) => (Code::Unavailable, "BUSY"),
        Refused::Bug(_) => (Code::Internal, "BUG"),
        Refused::Configuration(_) => (Code::FailedPrecondition, "CONFIGURATION_REFUSED"),
        Refused::Draining => (Code::Unavailable, "DRAINING"),
        Refused::Fault(Fault::Unknown { .. }) => (Code::NotFound, "NO_SUCH_NODE"),
        Refused::Fault(_) => (Code::FailedPrecondition, "DATA_PLANE_REFUSED"),
        Refused::Moved { .. } => (Code::Aborted, "ACTIVE_SNAPSHOT_MOVED"),
        Refused::NoStateDir => (Code::FailedPrecondition, "NO_STATE_DIR"),
        Refused::NoSuchSnapshot(_) => (Code::NotFound, "NO_SUCH_SNAPSHOT"),
        Refused::NotKept(_) => (Code::ResourceExhausted, "NOT_KEPT"),
        Refused::NotListed(_) => (Code::FailedPrecondition, "NOT_LISTED"),
        Refused::NothingBefore => (Code::FailedPrecondition, "NOTHING_BEFORE"),
        Refused::OddDocument(_) => (Code::InvalidArgument, "ODD_DOCUMENT"),
        Refused::Owned(_) => (Code::FailedPrecondition, "OWNED_BY_FILES"),
        Refused::Workers(_) => (Code::InvalidArgument, "WORKERS_OUT_OF_RANGE"),
    }
}

fn info(reason: &str) -> Any {
    let info = pb::ErrorInfo {
        reason: reason.to_owned(),
        domain: DOMAIN.to_owned(),
        metadata: std::collections::HashMap::new(),
    };
    Any {
        type_url: "type.googleapis.com/google.rpc.ErrorInfo".to_owned(),
        value: info.encode_to_vec(),
    }
}

fn any(findings: &Diagnostics) -> Any {
    Any {
        type_url: format!("type.googleapis.com/{}", Diagnostics::full_name()),
        value: findings.encode_to_vec(),
    }
}

/// As many as fit, the first ones.
fn bounded(all: Vec<Diagnostic>) -> Diagnostics {
    let mut left = FINDINGS;
    let total = all.len();
    let fits = |one: &Diagnostic| {
        let length = one.encoded_len();
        let fits = length <= left;
        left = left.saturating_sub(length);
        fits
    };
    let diagnostics: Vec<Diagnostic> = all.into_iter().take_while(fits).collect();
    Diagnostics {
        omitted: convert::count(total - diagnostics.len()),
        diagnostics,
    }
}

#[cfg(test)]
mod tests {
    use gateway_config::Sources;

    use super::*;
    use crate::reload::Findings;

    fn refused(text: &str) -> Refused {
        let mut sources = Sources::default();
        let id = sources.add("gateway.toml", text.to_owned());
        let found = gateway_config::load_source(id, &mut sources).unwrap_err();
        Refused::Configuration(Findings { found, sources })
    }

    fn details(status: &Status) -> Diagnostics {
        let whole = pb::Status::decode(status.details()).unwrap();
        assert_eq!(whole.message, status.message());
        Diagnostics::decode(&*whole.details[1].value).unwrap()
    }

    #[test]
    fn the_first_finding_is_the_message_and_all_are_details() {
        let status = status(&refused("[drian]\nx = 1\n"));
        assert_eq!(status.code(), Code::FailedPrecondition);
        let message = status.message();
        assert!(
            message.starts_with("gateway.toml:1:2: error[G0002]: "),
            "{message}"
        );
        let details = details(&status);
        assert_eq!(details.omitted, 0);
        assert_eq!(details.diagnostics[0].labels[0].column, 2);
    }

    #[test]
    fn what_does_not_fit_into_a_header_field_is_counted() {
        let many: String = (0..500)
            .map(|n| format!("{}{n} = 1\n", "é".repeat(30)))
            .collect();
        let status = status(&refused(&many.replace('é', "x")));
        let details = details(&status);
        assert!(details.diagnostics.len() > 2, "{details:?}");
        assert!(details.omitted > 400, "{}", details.omitted);
        // Base64 and percent encoding taken in, the least that clients take is 8 KiB.
        let carried = status.details().len() * 4 / 3 + status.message().len() * 3;
        assert!(carried < 7 << 10, "{carried}");
    }
}
