//! A disk that one process alone has: it can be full, and it can be read-only, for real.
//!
//! Mounted in a namespace of the process's own, so it takes a system that allows that.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::Pid;

/// A disk, and where it is.
#[derive(Debug)]
pub struct Disk {
    at: PathBuf,
    kib: u32,
    then: String,
}

impl Disk {
    /// One of so many KiB, empty, at a directory that is made if need be.
    ///
    /// # Panics
    /// When the directory cannot be made.
    #[must_use]
    pub fn at(path: &Path, kib: u32) -> Self {
        std::fs::create_dir_all(path).expect("a directory of our own");
        Self {
            at: path.to_owned(),
            kib,
            then: String::new(),
        }
    }

    /// With what lies in another directory on it, and read-only after that.
    #[must_use]
    pub fn read_only_with(mut self, other: &Path) -> Self {
        let (from, at) = (other.display(), self.at.display());
        self.then = format!(" && cp -a '{from}/.' '{at}/' && mount -o remount,ro '{at}'");
        self
    }

    /// Nothing more fits on it.
    pub fn is_filled(&self, by: Pid) {
        self.does(by, "cat /dev/zero > filler 2>/dev/null; test -s filler");
    }

    /// There is room again.
    pub fn is_emptied(&self, by: Pid) {
        self.does(by, "rm filler");
    }

    /// It takes no writes.
    pub fn is_sealed(&self, by: Pid) {
        self.does(by, "mount -o remount,ro .");
    }

    /// It takes writes again.
    pub fn is_unsealed(&self, by: Pid) {
        self.does(by, "mount -o remount,rw .");
    }

    /// What is said to a shell to have it.
    pub(crate) fn mounted(&self) -> String {
        let (at, kib, then) = (self.at.display(), self.kib, &self.then);
        format!("mount -t tmpfs -o size={kib}k,mode=0700 none '{at}'{then} || exit 99")
    }

    /// Has this done where the process is that has it.
    #[track_caller]
    fn does(&self, by: Pid, what: &str) {
        let done = Command::new("nsenter")
            .args(["--user", "--mount", "--preserve-credentials", "--target"])
            .arg(by.to_string())
            .args(["sh", "-c", &format!("cd '{}' && {what}", self.at.display())])
            .output()
            .expect("nsenter, as `unshare` is there");
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{what}: {said}");
    }
}
