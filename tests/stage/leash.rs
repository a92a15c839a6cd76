//! Ends the gateway also when this program is ended in a way it cannot notice.

use std::process::{Child, Command, Stdio};

use nix::unistd::Pid;

/// A shell that waits for our end of its pipe to close, then ends the gateway.
pub struct Leash {
    shell: Option<Child>,
}

impl Leash {
    /// Holds this process.
    pub fn on(gateway: Pid) -> Self {
        let shell = Command::new("sh")
            .args(["-c", "trap '' INT; read -r _; kill \"$0\" 2>/dev/null"])
            .arg(gateway.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self { shell: shell.ok() }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if let Some(shell) = &mut self.shell {
            let _ = shell.kill();
            let _ = shell.wait();
        }
    }
}
