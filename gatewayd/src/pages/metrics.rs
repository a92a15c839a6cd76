//! What a scraper reads: the counts of the data plane, and those of the process around it.

use gateway_pingora::{Exposition, Kind};

use super::vitals;
use crate::release;
use crate::reload::Reload;

/// All of it.
pub(super) fn text(reload: &Reload) -> String {
    let mut out = Exposition::new();
    reload.write_metrics(&mut out);
    let (counted, is_refused, is_degraded) = {
        let status = reload.status();
        let is_degraded = !status.degraded().is_empty();
        (status.counted(), status.is_refused(), is_degraded)
    };
    let words = "Changes of what is served, by what came of them.";
    out.family("gateway_reloads_total", Kind::Counter, words);
    for (outcome, count) in counted {
        out.sample(&[("outcome", outcome)], count);
    }
    let words =
        "Whether the last change of what is served was not refused; 1 as long as there was none.";
    out.family("gateway_last_reload_successful", Kind::Gauge, words);
    out.sample(&[], u8::from(!is_refused));
    let words = "Whether the process is not as it was told to be; its status says why.";
    out.family("gateway_degraded", Kind::Gauge, words);
    out.sample(&[], u8::from(is_degraded));
    let words = "Lines of the access log that were dropped.";
    out.family("gateway_access_lines_dropped_total", Kind::Counter, words);
    out.sample(&[], reload.around().access_log.dropped());
    let words = "Lines of the log that were dropped.";
    out.family("gateway_log_lines_dropped_total", Kind::Counter, words);
    out.sample(&[], reload.around().log.dropped());
    let words = "Requests to the operators' listener from addresses that may not ask.";
    out.family("gateway_admin_refused_total", Kind::Counter, words);
    out.sample(&[], reload.around().admin.refused());
    out.family("gateway_build_info", Kind::Gauge, "What runs.");
    let build = [
        ("version", release::VERSION),
        ("commit", release::COMMIT),
        ("pingora", release::ENGINE),
    ];
    out.sample(&build, 1);
    vitals::write(&mut out, reload.data_plane().started);
    out.into_text()
}
