//! One thread that writes lines to the other process, so that nothing else ever waits for the pipe.

use std::io::Write;
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;

use super::protocol::write_line;

/// Messages that may wait for a slow reader.
const WAITING: usize = 1024;

/// Sends messages in order; [`offer`](Emitter::offer) drops them when too many wait, [`send`](Emitter::send) never.
pub(crate) struct Emitter<T> {
    messages: SyncSender<T>,
    writer: JoinHandle<Result<()>>,
}

impl<T: Serialize + Send + 'static> Emitter<T> {
    pub(crate) fn start(mut output: impl Write + Send + 'static) -> Result<Emitter<T>> {
        let (messages, waiting) = mpsc::sync_channel::<T>(WAITING);
        let writer = std::thread::Builder::new()
            .name("emitter".to_owned())
            .spawn(move || waiting.iter().try_for_each(|message| write_line(&mut output, &message)))
            .context("start the thread that writes to the other process")?;
        Ok(Emitter { messages, writer })
    }

    /// Sends a message that must arrive.
    pub(crate) fn send(&self, message: T) -> Result<()> {
        self.messages.send(message).map_err(|_| anyhow!("the process that asked for the run is gone"))
    }

    /// Sends a message that may be lost when the reader is slow.
    pub(crate) fn offer(&self, message: T) {
        // A full queue or a reader that is gone: progress is not worth stopping for; the end of input says the rest.
        let _ = self.messages.try_send(message);
    }

    /// Waits until everything is written.
    pub(crate) fn finish(self) -> Result<()> {
        drop(self.messages);
        self.writer
            .join()
            .unwrap_or_else(|_| Err(anyhow!("the thread that writes to the other process panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// A reader that takes nothing until it is let go.
    struct Held(Arc<Mutex<Vec<u8>>>);

    impl Write for Held {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_slow_reader_loses_progress_and_never_a_result() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let held = written.lock().unwrap();
        let emitter = Emitter::start(Held(Arc::clone(&written))).unwrap();
        for _ in 0..WAITING * 2 {
            emitter.offer("progress");
        }
        drop(held);
        emitter.send("result").unwrap();
        emitter.finish().unwrap();
        let text = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().last(), Some("\"result\""));
        assert!(text.lines().count() < WAITING * 2);
    }
}
