//! `gatewayd trace`: the way a request would go, by a file or through a running process.

use super::{ctl, print, refused};
use crate::cli::{Format, Given, Of, Trace};
use crate::exit::Exit;
use crate::origin::Outcome;
use crate::proto::config::{Header, TraceRequest, TraceResponse};
use crate::trace::Traced;

mod text;

/// Prints the way; findings in a file go to the standard error.
pub(super) fn run(trace: &Trace) -> Exit {
    let Some(request) = request(trace).filter(|_| trace.rest.is_empty()) else {
        // The value may be a credential that lost its name.
        eprintln!(
            "gatewayd: METHOD, URL and nothing else; a header field is -H 'NAME: VALUE', quoted"
        );
        return Exit::Usage;
    };
    let show = |told: &TraceResponse| {
        print(&match trace.format {
            Format::Json => ctl::json::document(told),
            Format::Text => text::drawn(told),
        })
    };
    match trace.of() {
        Of::Given(given) => of_files(&given, &request, (trace.format, show)),
        Of::Running(reach) => ctl::trace(&reach, request, show),
    }
}

fn request(trace: &Trace) -> Option<TraceRequest> {
    let header = |text: &String| {
        let (name, value) = text.split_once(':')?;
        Some(Header {
            name: name.trim_end().to_owned(),
            value: value.trim().to_owned(),
        })
    };
    Some(TraceRequest {
        method: trace.method.clone(),
        url: trace.url.clone(),
        headers: trace.headers.iter().map(header).collect::<Option<_>>()?,
        listener: trace.listener.clone().unwrap_or_default(),
        client: trace.from.clone().unwrap_or_default(),
    })
}

fn of_files(
    given: &Given,
    request: &TraceRequest,
    (format, show): (Format, impl FnOnce(&TraceResponse) -> Exit),
) -> Exit {
    let Outcome { sources, result } = given.load();
    let loaded = match result {
        Ok(loaded) => loaded,
        Err(found) => return refused(&[(found, sources)], format),
    };
    let traced = Traced {
        snapshot: &loaded.snapshot,
        running: None,
    };
    let told = match traced.answer(request) {
        Ok(told) => told,
        Err(odd) => {
            eprintln!("gatewayd: {odd}");
            return Exit::Usage;
        }
    };
    show(&told)
}
