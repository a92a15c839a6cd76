//! Measures what the gateway costs, in ratios within one run.
//!
//! `cargo xtask bench [instructions|files|tls]`. Needs valgrind for the instructions, nginx for the files
//! and TLS, HAProxy for idle connections; says so where they are not there.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a failed stage is a failed measurement"
)]

mod files;
mod instructions;
mod load;
mod tls;

fn main() {
    let which = std::env::args().nth(1);
    let all: [(&str, fn()); 3] = [
        ("instructions", instructions::measure),
        ("files", files::measure),
        ("tls", tls::measure),
    ];
    for (name, measure) in all {
        if which.as_deref().is_none_or(|which| which == name) {
            measure();
        }
    }
}
