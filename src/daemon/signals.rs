//! The signals the process answers.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGTERM or SIGINT: end in order.
pub struct EndSignal {
    terminate: Signal,
    interrupt: Signal,
}

/// Listens to the signals that ask this process to end.
///
/// # Errors
/// When the handlers cannot be installed.
pub fn end_signal() -> Result<EndSignal> {
    Ok(EndSignal { terminate: listen(SignalKind::terminate())?, interrupt: listen(SignalKind::interrupt())? })
}

impl EndSignal {
    /// Waits for the next one.
    pub async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// SIGHUP: read the configuration again.
pub(super) fn reload_signal() -> Result<Signal> {
    listen(SignalKind::hangup())
}

fn listen(kind: SignalKind) -> Result<Signal> {
    signal(kind).with_context(|| format!("listen to signal {}", kind.as_raw_value()))
}
