//! What may be asked about a request.

use std::path::PathBuf;

use clap::Args;

use super::running::unix;
use super::{Format, Given, Reach};

/// `trace`.
#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// The method
    #[arg(value_name = "METHOD")]
    pub(crate) method: String,
    /// The URL, as a client would spell it
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// What was not quoted: taken here, because a refusal by the parser would print it.
    #[arg(hide = true)]
    pub(crate) rest: Vec<String>,
    /// A header field of the request; its value is compared and never printed
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Where the client is
    #[arg(long, value_name = "IP")]
    pub(crate) from: Option<String>,
    /// The listener it comes in on [default: the first one that fits the URL]
    #[arg(long, value_name = "NAME")]
    pub(crate) listener: Option<String>,
    #[command(flatten)]
    of: Source,
    /// For people, or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// The configuration to look at: files, and folders of them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    config: Vec<PathBuf>,
    /// The socket of the running process
    #[arg(long, value_name = "unix:PATH", value_parser = unix)]
    control: Option<PathBuf>,
    /// The state directory of the running process, where its socket is
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// Of what something is asked.
#[derive(Clone, Debug)]
pub(crate) enum Of {
    /// A configuration.
    Given(Given),
    /// A running process.
    Running(Reach),
}

impl Trace {
    /// Of what it is asked.
    pub(crate) fn of(&self) -> Of {
        let Source {
            config,
            control,
            state_dir,
        } = self.of.clone();
        match config.is_empty() {
            false => Of::Given(Given::Files(config)),
            true => Of::Running(Reach::of(control, state_dir)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::{grammar, read};

    /// The words of a line as a shell makes them, up to where its output goes.
    fn words(line: &str) -> Vec<OsString> {
        let line = line.split(" > ").next().unwrap();
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for c in line.chars() {
            match c {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words.into_iter().map(Into::into).collect()
    }

    #[test]
    fn every_example_can_be_pasted() {
        let mut grammar = grammar();
        let all = std::iter::once(grammar.clone())
            .chain(grammar.get_subcommands_mut().map(|one| one.clone()));
        let mut seen = 0;
        for command in all.collect::<Vec<_>>() {
            let help = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            for line in help
                .lines()
                .filter_map(|line| line.strip_prefix("  gatewayd"))
            {
                let line = format!("gatewayd{line}");
                assert!(read(words(&line).into_iter()).is_ok(), "{line}");
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen}");
    }

    #[test]
    fn the_usage_of_a_trace_names_what_is_asked_before_the_files() {
        let usage = grammar()
            .find_subcommand_mut("trace")
            .unwrap()
            .render_usage()
            .to_string();
        let place = |word: &str| usage.find(word).unwrap();
        assert!(
            place("<METHOD>") < place("<URL>") && place("<URL>") < place("--config"),
            "{usage}"
        );
        let line = "gatewayd trace GET http://h/ --config a.toml conf.d";
        assert!(read(words(line).into_iter()).is_ok());
    }
}
