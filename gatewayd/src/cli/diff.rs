//! What may be compared.

use std::path::PathBuf;

use clap::Args;
use clap::error::ErrorKind;

use super::{Format, Given, Reach, Running};

/// `diff`.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    /// The configuration there is: a file, or a folder of them; with --running the one to come
    /// [default there: gateway.toml]
    #[arg(value_name = "OLD", required_unless_present_any = ["old_files", "running"])]
    old: Option<PathBuf>,
    /// The one to come
    #[arg(value_name = "NEW", required_unless_present_any = ["new_files", "running"])]
    new: Option<PathBuf>,
    /// The configuration there is, where it is several files or folders
    #[arg(long = "old", value_name = "FILE", num_args = 1.., conflicts_with = "old")]
    old_files: Vec<PathBuf>,
    /// The one to come, where it is several
    #[arg(long = "new", value_name = "FILE", num_args = 1.., conflicts_with = "new")]
    new_files: Vec<PathBuf>,
    #[command(flatten)]
    running: Running,
    /// For people, or for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// What is compared.
#[derive(Debug)]
pub(crate) enum Compared {
    /// The configuration there is with the one to come.
    Files(Given, Given),
    /// What a process serves with the one to come.
    Running(Reach, Given),
}

impl Diff {
    /// Whether one thing is compared with one other.
    ///
    /// # Errors
    /// Usage.
    pub(super) fn is_one(&self) -> Result<(), clap::Error> {
        let is_running = self.running.reach().is_some();
        if is_running && (self.new.is_some() || !self.old_files.is_empty()) {
            let said = "with --running there is one configuration to name, the one to come";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, said));
        }
        Ok(())
    }

    /// What to compare.
    pub(crate) fn given(self) -> Compared {
        let one = |file: Option<PathBuf>, files: Vec<PathBuf>| {
            Given::Files(file.into_iter().chain(files).collect())
        };
        match self.running.reach() {
            Some(reach) if self.old.is_none() && self.new_files.is_empty() => {
                Compared::Running(reach, Given::Files(vec!["gateway.toml".into()]))
            }
            Some(reach) => Compared::Running(reach, one(self.old, self.new_files)),
            None => Compared::Files(one(self.old, self.old_files), one(self.new, self.new_files)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::reads;

    #[test]
    fn each_side_of_a_comparison_may_be_several_files() {
        for line in ["a b", "--old a --new b", "a --new b"] {
            assert!(reads(&format!("gatewayd diff {line}")).is_ok(), "{line}");
        }
        for line in ["", "a", "a b c", "--old a", "a b --new c"] {
            assert!(
                reads(format!("gatewayd diff {line}").trim()).is_err(),
                "{line}"
            );
        }
    }

    #[test]
    fn with_a_process_there_is_one_configuration_to_name() {
        for line in ["--running --state-dir d", "x --running --control unix:s"] {
            assert!(reads(&format!("gatewayd diff {line}")).is_ok(), "{line}");
        }
        for line in [
            "--running",
            "x --state-dir d",
            "x y --running --state-dir d",
            "--old x --running --state-dir d",
            "--running --state-dir d --control unix:s",
        ] {
            let refused = reads(&format!("gatewayd diff {line}")).unwrap_err();
            assert_eq!(refused.exit_code(), 2, "{line}");
        }
    }
}
