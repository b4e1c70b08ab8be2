//! The result store: one SQLite file, one thread that writes it, readers with connections of their own.
//!
//! Results are handed to the writer and are never refused: while the file cannot be written (full disk, I/O
//! error) they wait in memory, in order, and [`Status::alarm`] says what to do. Each finished case is one
//! transaction, on the disk before it counts as written.

mod care;
mod change;
mod names;
mod open;
mod reader;
mod retention;
mod trouble;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use crate::record::{CaseRecord, RunRecord};
use crate::units::{Bytes, Span};
pub use care::Census;
use change::Change;
pub use names::{FindError, is_range};
pub use open::OpenError;
pub use reader::{Reader, RunCount, RunFilter};
use writer::{Shared, Writer};

/// How long [`Store::open`] waits for the runs it recovers to be written; they stay queued beyond it.
const RECOVERY_WAIT: Duration = Duration::from_secs(5);

/// How much is kept, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Age at which runs go, with their records and histograms; zero = never.
    pub keep_records: Span,
    /// Age at which the intervals and series of a record go; zero = never.
    pub keep_series: Span,
    /// Size beyond which the oldest intervals and series go first; records never go for size; zero = no limit.
    pub max_size: Bytes,
    /// Less than this free on the store's filesystem: records are stored without intervals and series.
    pub min_free: Bytes,
}

/// One series of a case: values at equal distances.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What the values are: `cpu.busy`, `disk.sda.await`.
    pub name: String,
    /// Instant of the first value.
    pub start: Timestamp,
    /// Distance of two values.
    pub step: Span,
    /// The values; NaN = unknown.
    pub values: Vec<f64>,
}

/// The state of the store as the writer last saw it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Size of the file, write-ahead log included.
    pub size_bytes: u64,
    /// Stored records, one for each case that ended.
    pub records: u64,
    /// Start of the oldest stored record.
    pub oldest: Option<Timestamp>,
    /// Attempts to write that failed since the store was opened.
    pub write_failures: u64,
    /// Changes that wait in memory to be written.
    pub pending: usize,
    /// What is wrong and what to do; absent when all is well.
    pub alarm: Option<String>,
}

/// A handle of the open store; clones are the same store. When the last one goes, what is still queued is
/// written if it can be, and the file is released.
#[derive(Debug, Clone)]
pub struct Store(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    identity: Uuid,
    recovered: usize,
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Holds the exclusive lock.
    lock: File,
}

impl Store {
    /// Opens the store at `path`, made new when nothing is there, and takes it for this process alone. Runs that
    /// an earlier process left without an end become aborted with reason `crash`.
    ///
    /// # Errors
    /// When the file is in use by another process, damaged, of another program or of a newer version, or cannot
    /// be read or written. Such a file is left as it is.
    pub fn open(path: &Path, limits: Limits) -> Result<Store, OpenError> {
        let opened = open::open(path)?;
        let shared = Arc::new(Shared::default());
        let writer = Writer::new(opened.connection, opened.path.clone(), limits, Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || writer.run())
            .map_err(|error| OpenError::io("start the thread that writes", &opened.path, &error))?;
        let store = Store(Arc::new(Inner {
            path: opened.path,
            identity: opened.identity,
            recovered: opened.crashed.len(),
            shared,
            writer: Mutex::new(Some(thread)),
            lock: opened.lock,
        }));
        opened.crashed.into_iter().for_each(|run| store.0.shared.push(Change::run(run)));
        store.flush(RECOVERY_WAIT);
        Ok(store)
    }

    /// Stores a run that begins.
    pub fn begin_run(&self, run: &RunRecord) {
        self.0.shared.push(Change::run(run.clone()));
    }

    /// Stores a case that ended, with the series taken while it ran. Its run must have begun. The same case of
    /// the same run again replaces the first.
    pub fn save_case(&self, case: &CaseRecord, series: &[Column]) {
        self.0.shared.push(Change::case(case.clone(), series.to_vec()));
    }

    /// Stores how a run ended (a run that never began, too: a blocked one).
    pub fn end_run(&self, run: &RunRecord) {
        self.begin_run(run);
    }

    /// Whether the thread that writes answers within this time, or waits for the disk, which no new start would
    /// make answer.
    pub fn is_alive(&self, within: Duration) -> bool {
        let ended = writer::locked(&self.0.writer).as_ref().is_none_or(JoinHandle::is_finished);
        !ended && self.0.shared.answers(within)
    }

    /// Waits until everything handed over before this call is on the disk; tries again at once what failed
    /// before. False when that took longer than `within`.
    pub fn flush(&self, within: Duration) -> bool {
        self.0.shared.flush(within)
    }

    /// The state of the store; never touches the disk.
    pub fn status(&self) -> Status {
        let mut status = self.0.shared.status();
        if self.0.writer_ended() {
            status.alarm = Some(format!(
                "results are not written to {}: the thread that writes has ended. Restart benchd and report it",
                self.0.path.display()
            ));
        }
        status
    }

    /// A connection of its own to read with.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn reader(&self) -> anyhow::Result<Reader> {
        Reader::open(&self.0.path)
    }

    /// Names this daemon for as long as the store lives; made once, with the store.
    pub fn identity(&self) -> Uuid {
        self.0.identity
    }

    /// How many runs had no end when the store was opened, and were aborted.
    pub fn recovered(&self) -> usize {
        self.0.recovered
    }
}

impl Inner {
    fn writer_ended(&self) -> bool {
        writer::locked(&self.writer).as_ref().is_none_or(JoinHandle::is_finished)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(thread) = writer::locked(&self.writer).take()
            && thread.join().is_err()
        {
            log::error!("the thread that writes {} panicked", self.path.display());
        }
        // Closing alone would leave the lock to a process that was forked and has not executed its program yet.
        let _ = self.lock.unlock();
    }
}
