//! Does what systemd does for a socket unit with `Accept=yes` and `MaxConnections=1`: each connection becomes standard
//! input and output of a worker of its own, and none is taken beside a worker that is still there.

use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Listens until it is dropped.
pub(crate) struct Manager {
    socket: PathBuf,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Manager {
    /// `state` is what all processes of a place have in their environment.
    pub(crate) fn start(socket: &Path, state: &Path) -> Manager {
        let listener = UnixListener::bind(socket).unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let (ended, state) = (Arc::clone(&over), state.to_owned());
        let thread = std::thread::spawn(move || {
            let mut worker: Option<Child> = None;
            for connection in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                if worker.as_mut().is_none_or(|worker| worker.try_wait().unwrap().is_some()) {
                    worker = Some(start(connection, &state));
                }
            }
        });
        Manager { socket: socket.to_owned(), over, thread: Some(thread) }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }
}

fn start(connection: UnixStream, state: &Path) -> Child {
    let connection = OwnedFd::from(connection);
    Command::new(env!("CARGO_BIN_EXE_benchd"))
        .arg0("benchd")
        .arg("worker")
        .env("XDG_STATE_HOME", state)
        .stdin(connection.try_clone().unwrap())
        .stdout(connection)
        .process_group(0)
        .spawn()
        .unwrap()
}

impl Drop for Manager {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the thread, which then ends.
        let woken = UnixStream::connect(&self.socket);
        if let (Ok(_), Some(thread)) = (woken, self.thread.take()) {
            thread.join().unwrap();
        }
    }
}
