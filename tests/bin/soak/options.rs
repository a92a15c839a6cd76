//! The soak's command line.

use std::time::Duration;

/// How to use it.
pub(crate) const USAGE: &str = "usage: soak [--minutes N] [--seed N] [--format table|json]";

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    /// How long the load goes on under faults.
    pub(crate) length: Duration,
    /// Decides the order of faults.
    pub(crate) seed: u64,
    /// Whether the report is for a program.
    pub(crate) is_json: bool,
}

impl Options {
    /// Reads the arguments.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Options {
            length: Duration::from_secs(120),
            seed: u64::from(std::process::id()),
            is_json: false,
        };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else {
                return Err(format!("{} lacks a value\n{USAGE}", pair.join(" ")));
            };
            let wrong = || format!("{name} does not take `{value}`\n{USAGE}");
            match (name.as_str(), value.as_str()) {
                ("--minutes", _) => {
                    let minutes: f64 = value.parse().map_err(|_| wrong())?;
                    let length = Duration::try_from_secs_f64(minutes * 60.0);
                    options.length = length.map_err(|_| wrong())?;
                }
                ("--seed", _) => options.seed = value.parse().map_err(|_| wrong())?,
                ("--format", "json") => options.is_json = true,
                ("--format", "table") => options.is_json = false,
                _ => return Err(wrong()),
            }
        }
        Ok(options)
    }
}
