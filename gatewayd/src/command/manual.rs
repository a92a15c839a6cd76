//! `gatewayd manual DIR`: the pages of the manual, one for each command.
//!
//! Hidden, since it is for `cargo xtask generate`, which keeps them in `deploy/`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use crate::cli::{self, Manual};
use crate::exit::Exit;
use crate::release;

/// What the command line does not know of itself, behind the first page.
const MORE: &str = r#".SH "EXIT STATUS"
.TP
\fB0\fR
What was asked for is done; of a process that serves, a graceful end.
.TP
\fB1\fR
The configuration, or something it names, cannot be served; a change was refused.
.TP
\fB2\fR
The command line is wrong, or the process that is asked does not answer.
.TP
\fB70\fR
A bug of ours.
.TP
\fB130\fR, \fB143\fR
A second INT or TERM did not wait for the end of the first.
.SH SIGNALS
.TP
\fBHUP\fR
Reads the configuration, certificates, keys and roots again. What cannot be served is refused, and what was served before goes on.
.TP
\fBTERM\fR, \fBINT\fR
Accepts nothing new and ends when what is in flight has, after drain.deadline at the latest. A second one ends at once.
.TP
\fBUSR1\fR
Opens the file of the access log again.
.SH FILES
.TP
\fI/etc/gateway/gateway.toml\fR
The configuration, where the unit that is delivered looks for it; \fBrun \-\-config\fR names any other file or folder.
.TP
\fIDIR/control.sock\fR
Where a process with \fB\-\-state\-dir\fR \fIDIR\fR listens for commands, for its own user and root.
.TP
\fIDIR/snapshots/\fR
What was served, the last ten.
.TP
\fIDIR/set\-aside/\fR
Files of the state directory that were not as they had been written.
"#;

/// Writes the pages.
pub(super) fn run(manual: &Manual) -> Exit {
    // The commit has no place in a page that lies in the tree.
    let grammar = cli::grammar().version(release::VERSION);
    let written = clap_mangen::generate_to(grammar, &manual.directory);
    match written.and_then(|()| append(&manual.directory.join("gatewayd.1"))) {
        Ok(()) => Exit::Fine,
        Err(why) => {
            eprintln!("{}: {why}", manual.directory.display());
            Exit::Usage
        }
    }
}

fn append(page: &Path) -> io::Result<()> {
    let mut page = OpenOptions::new().append(true).open(page)?;
    page.write_all(MORE.as_bytes())
}
