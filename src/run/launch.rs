//! How a worker comes to be: one interface, whatever starts the process.

mod socket;

use std::ffi::OsString;
use std::future::Future;
use std::pin::Pin;
use std::process::Stdio;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::{Child, Command};

pub use socket::SocketLauncher;

/// The running program itself, even when its file was replaced by an upgrade.
pub(super) const OWN_PROGRAM: &str = "/proc/self/exe";

/// Starts workers.
pub trait Launcher: Send + Sync {
    /// Starts one worker and gives the stream to it.
    fn launch(&self) -> Pin<Box<dyn Future<Output = Result<WorkerLink>> + Send + '_>>;

    /// Whether workers live outside of the confines of this process: then they alone can say which directories may
    /// be written to, and clear them.
    fn apart(&self) -> bool {
        false
    }
}

/// The stream to one worker, and the power to end it.
pub struct WorkerLink {
    /// Messages to the worker; closing it means stop.
    pub input: Box<dyn AsyncWrite + Send + Unpin>,
    /// Messages from the worker.
    pub output: Box<dyn AsyncRead + Send + Unpin>,
    /// The process behind it.
    pub process: Box<dyn WorkerProcess>,
}

/// The process behind a stream.
pub trait WorkerProcess: Send {
    /// Its id, when it is a process of this host that has not been waited for.
    fn id(&self) -> Option<u32> {
        None
    }

    /// Ends the worker and all it started, at once.
    fn kill(&mut self);

    /// Waits for the end of the process; says how it ended when that was not by itself with success.
    fn wait(&mut self) -> Pin<Box<dyn Future<Output = Option<String>> + Send + '_>>;
}

/// Starts workers as child processes of this one, in a process group of their own: an interrupt typed at a
/// terminal reaches this process alone, and killing the group leaves nothing behind.
#[derive(Debug, Clone)]
pub struct ChildLauncher {
    program: OsString,
}

impl ChildLauncher {
    /// Workers are this same program.
    pub fn own_program() -> ChildLauncher {
        ChildLauncher { program: OWN_PROGRAM.into() }
    }

    /// Workers are another program; for tests of the library, which are not benchd themselves.
    pub fn program(program: impl Into<OsString>) -> ChildLauncher {
        ChildLauncher { program: program.into() }
    }

    fn start(&self) -> Result<WorkerLink> {
        let mut child = Command::new(&self.program)
            .arg0("benchd")
            .arg("worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .context("start a worker process")?;
        let input = child.stdin.take().context("the worker has no input")?;
        let output = child.stdout.take().context("the worker has no output")?;
        Ok(WorkerLink { input: Box::new(input), output: Box::new(output), process: Box::new(child) })
    }
}

impl Launcher for ChildLauncher {
    fn launch(&self) -> Pin<Box<dyn Future<Output = Result<WorkerLink>> + Send + '_>> {
        Box::pin(async { self.start() })
    }
}

impl WorkerProcess for Child {
    fn id(&self) -> Option<u32> {
        Child::id(self)
    }

    fn kill(&mut self) {
        let group = Child::id(self).and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw);
        if let Some(Err(error)) = group.map(|group| killpg(group, Signal::SIGKILL)) {
            log::warn!("kill the process group of the worker: {error}");
        }
    }

    fn wait(&mut self) -> Pin<Box<dyn Future<Output = Option<String>> + Send + '_>> {
        Box::pin(async {
            match Child::wait(self).await {
                Ok(status) if status.success() => None,
                Ok(status) => Some(format!("the worker ended with {status}")),
                Err(error) => Some(format!("wait for the worker: {error}")),
            }
        })
    }
}
