//! Runs other programs; nobody else here starts one.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::Result;

/// One program with its arguments, started in the root of the project.
pub(crate) fn program(root: &Path, name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(root);
    command
}

/// Runs `command` with this terminal as its own; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result {
    let status = command
        .status()
        .map_err(|error| format!("cannot start {}: {error}", line(command)))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{} ended with {status}", line(command)))
}

/// Runs `command` and returns what it printed; its complaints become the error.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let Output {
        status,
        stdout,
        stderr,
    } = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot start {}: {error}", line(command)))?;
    if !status.success() {
        let complaint = String::from_utf8_lossy(&stderr);
        return Err(format!(
            "{} ended with {status}\n{}",
            line(command),
            complaint.trim_end()
        ));
    }
    String::from_utf8(stdout)
        .map_err(|_| format!("{} printed bytes that are no text", line(command)))
}

/// Runs `command` and returns whether it succeeded, and what it complained of.
pub(crate) fn complaints(command: &mut Command) -> Result<(bool, String)> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cannot start {}: {error}", line(command)))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.success(), said))
}

/// Runs `command` with all that it prints in the file `log`; answers whether it succeeded.
pub(crate) fn logged(command: &mut Command, log: &Path) -> Result<bool> {
    let failed = |error: std::io::Error| format!("cannot write {}: {error}", log.display());
    let file = std::fs::File::create(log).map_err(failed)?;
    let errors = file.try_clone().map_err(failed)?;
    let status = command.stdin(Stdio::null()).stdout(file).stderr(errors);
    let status = status.status();
    status
        .map(|status| status.success())
        .map_err(|error| format!("cannot start {}: {error}", line(command)))
}

/// The command as one would type it, for messages.
fn line(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(
        command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned()),
    );
    format!("`{}`", words.join(" "))
}
