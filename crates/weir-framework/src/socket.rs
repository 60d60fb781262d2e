//! The socket in the data folder.
//!
//! It is created under another name in a folder that only its owner may enter, gets mode 0600, and is then
//! moved into place. Nobody can connect before the mode is set, and the socket of a killed server is
//! replaced atomically. Only the process that has the store open calls [`bind`], so a replaced socket is
//! never in use.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

const NAME: &str = "weir.sock";
const MAKING: &str = ".weir.sock.new";
/// Maximum length in bytes of a socket path that every Unix accepts.
const PATH_MAX: usize = 100;

/// Listens on the socket of the folder `data`.
pub(crate) fn bind(data: &Path) -> io::Result<UnixListener> {
    let making = data.join(MAKING);
    remove_folder(&making)?;
    DirBuilder::new().mode(0o700).create(&making)?;
    let listener = with_short_path(&making, |short| UnixListener::bind(short))?;
    let made = making.join(NAME);
    fs::set_permissions(&made, Permissions::from_mode(0o600))?;
    fs::rename(&made, data.join(NAME))?;
    fs::remove_dir(&making)?;
    Ok(listener)
}

fn remove_folder(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes the socket of the folder `data`.
pub(crate) fn remove(data: &Path) -> io::Result<()> {
    fs::remove_file(data.join(NAME))
}

/// Connects to the server that has the folder `data` open, if there is one.
pub(crate) async fn connect(data: &Path) -> io::Result<Option<UnixStream>> {
    use io::ErrorKind::{ConnectionRefused, NotADirectory, NotFound};
    let connected = match short_path(data)? {
        Short::Plain(path) => UnixStream::connect(path).await,
        Short::Through(_folder, path) => UnixStream::connect(path).await,
    };
    match connected {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            NotFound | ConnectionRefused | NotADirectory => Ok(None),
            _ => Err(error),
        },
    }
}

/// A path to a folder's socket that fits in a socket address.
enum Short {
    /// The path itself.
    Plain(PathBuf),
    /// A path through the opened folder, which must stay open meanwhile.
    Through(File, PathBuf),
}

fn short_path(folder: &Path) -> io::Result<Short> {
    let path = folder.join(NAME);
    if path.as_os_str().len() <= PATH_MAX || !folder.exists() {
        return Ok(Short::Plain(path));
    }
    let opened = File::open(folder)?;
    let through = format!("/proc/self/fd/{}/{NAME}", opened.as_raw_fd());
    Ok(Short::Through(opened, through.into()))
}

fn with_short_path<T>(folder: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    match short_path(folder)? {
        Short::Plain(path) => act(&path),
        Short::Through(_folder, path) => act(&path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn listens_and_replaces(data: &Path) {
        assert!(connect(data).await.unwrap().is_none());
        drop(bind(data).unwrap());
        assert!(connect(data).await.unwrap().is_none(), "a stale socket");
        let _listener = bind(data).unwrap();
        assert!(connect(data).await.unwrap().is_some());
        let mode = fs::metadata(data.join(NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(data).unwrap().count(), 1, "nothing is left over");
        remove(data).unwrap();
        assert!(connect(data).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_socket_is_private_and_replaces_a_stale_one() {
        listens_and_replaces(tempfile::tempdir().unwrap().path()).await;
    }

    #[tokio::test]
    async fn a_long_path_works_too() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(90)).join("e".repeat(90));
        fs::create_dir_all(&deep).unwrap();
        listens_and_replaces(&deep).await;
    }

    #[tokio::test]
    async fn a_folder_that_is_not_there_has_no_server() {
        let folder = tempfile::tempdir().unwrap();
        assert!(connect(&folder.path().join("none")).await.unwrap().is_none());
    }
}
