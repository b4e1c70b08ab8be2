//! Workers as units of their own: the service manager starts one for each connection to its socket, with the
//! connection as its standard input and output.

use std::future::Future;
use std::io::Cursor;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Launcher, WorkerLink, WorkerProcess};
use crate::process::ProcessId;
use crate::run::protocol::{FromWorker, LINE_LIMIT, parse_line};

/// A worker has greeted within this time. It covers the end of the unit before it, beside which there is no other.
const GREETING_LIMIT: Duration = Duration::from_secs(20);
/// The first and the longest pause before a connection that was turned away is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));
/// How often a worker, which is no child of this process, is looked for while its end is waited for.
const LOOK: Duration = Duration::from_millis(10);

/// Has workers started by whoever listens on a unix socket: systemd, by a socket unit with `Accept=yes`.
#[derive(Debug, Clone)]
pub struct SocketLauncher {
    socket: PathBuf,
}

impl SocketLauncher {
    /// Workers come by this socket.
    pub fn new(socket: impl Into<PathBuf>) -> SocketLauncher {
        SocketLauncher { socket: socket.into() }
    }

    async fn start(&self) -> Result<WorkerLink> {
        let deadline = Instant::now() + GREETING_LIMIT;
        let mut pause = PAUSES.0;
        loop {
            if let Some(link) = self.connect(deadline).await? {
                return Ok(link);
            }
            if Instant::now() + pause >= deadline {
                bail!(
                    "no worker came by {} within {} s, every connection was closed: see `systemctl status \
                     benchd-worker.socket` and the journal",
                    self.socket.display(),
                    GREETING_LIMIT.as_secs()
                );
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// Connects and takes the greeting; `None` when the connection was closed without one, which is how a manager
    /// says that the worker before has not quite gone.
    async fn connect(&self, deadline: Instant) -> Result<Option<WorkerLink>> {
        let stream = UnixStream::connect(&self.socket).await.with_context(|| {
            format!(
                "no worker: connect to {}: start its unit with `systemctl start benchd-worker.socket`",
                self.socket.display()
            )
        })?;
        let (output, input) = stream.into_split();
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        let read = async { (&mut output).take(LINE_LIMIT).read_until(b'\n', &mut line).await };
        match timeout_at(deadline, read).await {
            Ok(Ok(1..)) => {}
            Ok(Ok(0) | Err(_)) => return Ok(None),
            Err(_) => bail!(
                "no worker: {} took the connection and nobody greeted within {} s: see the journal",
                self.socket.display(),
                GREETING_LIMIT.as_secs()
            ),
        }
        let FromWorker::Hello(hello) = parse_line(&line)? else { bail!("the worker did not greet") };
        // Whoever follows the run checks the greeting, so it is read again.
        let output = Cursor::new(line).chain(output);
        let process = Box::new(ProcessId::of(hello.pid));
        Ok(Some(WorkerLink { input: Box::new(input), output: Box::new(output), process }))
    }
}

impl Launcher for SocketLauncher {
    fn launch(&self) -> Pin<Box<dyn Future<Output = Result<WorkerLink>> + Send + '_>> {
        Box::pin(self.start())
    }

    fn apart(&self) -> bool {
        true
    }
}

/// A worker that somebody else started; `None` when it was gone as soon as it had greeted. Its unit ends what it
/// leaves in its control group.
impl WorkerProcess for Option<ProcessId> {
    fn id(&self) -> Option<u32> {
        self.as_ref().map(ProcessId::pid)
    }

    fn kill(&mut self) {
        if let Some(process) = self {
            process.kill_group();
        }
    }

    /// How it ended is known to whoever started it.
    fn wait(&mut self) -> Pin<Box<dyn Future<Output = Option<String>> + Send + '_>> {
        Box::pin(async {
            while self.as_ref().is_some_and(ProcessId::is_there) {
                sleep(LOOK).await;
            }
            None
        })
    }
}
