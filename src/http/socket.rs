//! The unix socket: made with its mode from the first instant, never in the place of one that answers.

use std::os::fd::AsFd as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::stat::{Mode, fchmod};
use nix::unistd::{Group, chown};
use tokio::net::{UnixListener, UnixSocket, UnixStream};

/// Connections that may wait to be accepted.
const BACKLOG: u32 = 128;
/// A socket that neither answers nor refuses for so long belongs to somebody busy.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// The unix socket of the daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketOptions {
    /// Where it is.
    pub path: PathBuf,
    /// Who may open it: `0o600`, or `0o660` with a group.
    pub mode: u32,
    /// The group it belongs to; `None` leaves that of the process.
    pub group: Option<String>,
}

/// A socket that listens; its file goes with it.
pub(super) struct ListeningSocket {
    pub(super) listener: UnixListener,
    file: SocketFile,
}

/// The file of a socket, which is removed unless another took its place.
struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = inode(&self.path).is_ok_and(|inode| inode == self.inode);
        if ours && let Err(error) = std::fs::remove_file(&self.path) {
            log::warn!("remove the socket {}: {error}", self.path.display());
        }
    }
}

fn inode(path: &Path) -> std::io::Result<u64> {
    Ok(std::fs::symlink_metadata(path)?.ino())
}

/// Makes the socket and listens on it.
pub(super) async fn open(options: &SocketOptions) -> Result<ListeningSocket> {
    let path = &options.path;
    make_folder(path)?;
    remove_stale(path).await?;
    let socket = UnixSocket::new_stream().context("make a unix socket")?;
    // The mode before there is a file: nobody else can open it in between, whatever the umask is.
    fchmod(socket.as_fd(), Mode::S_IRUSR | Mode::S_IWUSR).context("set the mode of a unix socket")?;
    socket.bind(path).with_context(|| {
        format!("make the socket {}: its folder must exist and be writable", path.display())
    })?;
    let file = SocketFile {
        path: path.clone(),
        inode: inode(path).with_context(|| format!("look at {}", path.display()))?,
    };
    admit(options)?;
    let listener = socket.listen(BACKLOG).with_context(|| format!("listen on {}", path.display()))?;
    Ok(ListeningSocket { listener, file })
}

impl ListeningSocket {
    /// Path of its file.
    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }
}

/// Makes the socket's own folder when it is not there; those above it are the system's.
fn make_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    match std::fs::create_dir(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error).with_context(|| {
            format!("make the folder {} of the socket; set server.socket to another path", folder.display())
        }),
        _ => Ok(()),
    }
}

/// Opens it to those who may use it.
fn admit(options: &SocketOptions) -> Result<()> {
    let path = &options.path;
    if let Some(name) = &options.group {
        let group = Group::from_name(name).with_context(|| format!("look up group {name}"))?;
        let Some(group) = group else {
            bail!(
                "group {name} of the socket {} does not exist: create it, or set server.socket_group",
                path.display()
            );
        };
        let facts = std::fs::symlink_metadata(path).with_context(|| format!("look at {}", path.display()))?;
        // The group of the process is that of its files; a sandbox need not let it change any.
        if facts.gid() != group.gid.as_raw() {
            chown(path, None, Some(group.gid))
                .with_context(|| format!("give {} to group {name}", path.display()))?;
        }
    }
    let mode = std::fs::Permissions::from_mode(options.mode);
    std::fs::set_permissions(path, mode).with_context(|| format!("set the mode of {}", path.display()))
}

/// Removes a socket that nobody answers on.
async fn remove_stale(path: &Path) -> Result<()> {
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        bail!(
            "{} is not a socket: it is left alone; move it, or set server.socket to another path",
            path.display()
        );
    }
    match tokio::time::timeout(ANSWER_LIMIT, UnixStream::connect(path)).await {
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).with_context(|| format!("remove the stale socket {}", path.display()))
        }
        Ok(Err(error)) => Err(error).with_context(|| format!("ask who listens on {}", path.display())),
        Ok(Ok(_)) | Err(_) => bail!(
            "another benchd answers on {}: stop it (`systemctl stop benchd`), or set server.socket to another path",
            path.display()
        ),
    }
}
