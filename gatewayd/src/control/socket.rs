//! The Unix socket: who may open it, and whose it was before.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::unistd::{Gid, chown};
use socket2::{Domain, SockAddr, Type};

use super::NotBound;

/// Connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// The file of a socket of ours; removed with this, unless it has become somebody else's.
pub(super) struct Socket {
    path: PathBuf,
    /// Which file it is: of the next one at the same path the number may be the same.
    is: (u64, u64, i64, i64),
}

/// Listens on a path; for this user, root and the group, if one is given.
///
/// What an earlier process left behind is taken away; where somebody answers it is not.
///
/// # Errors
/// [`NotBound::Address`].
pub(super) fn bind(path: &Path, group: Option<Gid>) -> Result<(UnixListener, Socket), NotBound> {
    let refused = |why: String| NotBound::Address {
        address: format!("unix:{}", path.display()),
        why,
    };
    match fs::symlink_metadata(path) {
        Ok(there) if !there.file_type().is_socket() => {
            return Err(refused("there is a file that is no socket".to_owned()));
        }
        Ok(_) if UnixStream::connect(path).is_ok() => {
            return Err(refused("another process answers on it".to_owned()));
        }
        Ok(_) => fs::remove_file(path).map_err(|why| not_taken(path, why))?,
        Err(_) => {}
    }
    listen(path, group).map_err(|why| not_taken(path, why))
}

/// Why there is no socket: the disk, or its place.
fn not_taken(path: &Path, why: io::Error) -> NotBound {
    use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match why.kind() {
        QuotaExceeded | ReadOnlyFilesystem | StorageFull => NotBound::Disk {
            path: path.display().to_string(),
            why,
        },
        _ => NotBound::Address {
            address: format!("unix:{}", path.display()),
            why: why.to_string(),
        },
    }
}

/// Nobody can connect before the mode is what it should be: it listens last.
fn listen(path: &Path, group: Option<Gid>) -> io::Result<(UnixListener, Socket)> {
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let mode = if group.is_some() { 0o660 } else { 0o600 };
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    if group.is_some() {
        chown(path, None, group)?;
    }
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    let file = Socket {
        path: path.to_owned(),
        is: is(&fs::symlink_metadata(path)?),
    };
    Ok((socket.into(), file))
}

fn is(file: &Metadata) -> (u64, u64, i64, i64) {
    (file.dev(), file.ino(), file.ctime(), file.ctime_nsec())
}

impl Drop for Socket {
    fn drop(&mut self) {
        let there = fs::symlink_metadata(&self.path);
        let is_ours = there.is_ok_and(|there| is(&there) == self.is);
        if is_ours {
            // Whoever comes next takes it away.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("socket-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_socket_is_its_owners_and_goes_with_it() {
        let folder = folder("own");
        let path = folder.join("s");
        let (_listener, socket) = bind(&path, None).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        drop(socket);
        assert!(!path.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_what_nobody_answers_on_is_replaced() {
        let folder = folder("stale");
        let path = folder.join("s");
        let (listener, first) = bind(&path, None).unwrap();
        let refused = bind(&path, None).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("another process answers"), "{refused}");

        drop(listener);
        let (_listener, second) = bind(&path, None).unwrap();
        drop(first);
        assert!(path.exists(), "the first one's end is not the second one's");
        drop(second);

        fs::write(&path, "x").unwrap();
        assert!(bind(&path, None).is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
