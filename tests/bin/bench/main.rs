//! Measures what the gateway costs, in ratios within one run.
//!
//! `cargo xtask bench [instructions|files]`. Needs valgrind for the instructions and nginx for the files;
//! says so where they are not there.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a failed stage is a failed measurement"
)]

mod files;
mod instructions;
mod load;

fn main() {
    let which = std::env::args().nth(1);
    let all: [(&str, fn()); 2] = [
        ("instructions", instructions::measure),
        ("files", files::measure),
    ];
    for (name, measure) in all {
        if which.as_deref().is_none_or(|which| which == name) {
            measure();
        }
    }
}
