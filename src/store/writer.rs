//! The thread that writes: a queue that never refuses, one connection, back-off while the file cannot be written.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rusqlite::Connection;

use super::change::{Change, timestamp};
use super::trouble::Trouble;
use super::{Limits, Status, retention};
use crate::text::counted;
use crate::units::Bytes;

/// Distance of two removals of what is too old.
const RETENTION_EVERY: Duration = Duration::from_secs(3600);
/// First and longest wait before a failed write is tried again.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// What the writer and the handles share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Something for the writer to do.
    work: Condvar,
    /// A change left the queue.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Arc<Change>>,
    /// Changes that were ever handed over.
    queued: u64,
    /// Changes that left the queue.
    done: u64,
    /// When the first of the queue is tried again after a failure.
    retry_at: Option<Instant>,
    /// Do not wait for `retry_at`.
    hurry: bool,
    closing: bool,
    /// The writer is asked for a sign of life; it takes this away.
    asked: bool,
    /// The writer is at work on the file.
    at_work: bool,
    status: Status,
}

/// What the writer does next.
enum Next {
    Write(Arc<Change>),
    Retain,
    End,
}

/// Locks a mutex; one that a panicking thread held is as good as any other here.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(super) fn push(&self, change: Change) {
        let mut state = locked(&self.state);
        state.queue.push_back(Arc::new(change));
        state.queued += 1;
        state.hurry = true;
        self.work.notify_one();
    }

    pub(super) fn flush(&self, within: Duration) -> bool {
        let mut state = locked(&self.state);
        let target = state.queued;
        state.hurry = true;
        self.work.notify_one();
        let (state, _) = self
            .progress
            .wait_timeout_while(state, within, |state| state.done < target)
            .unwrap_or_else(PoisonError::into_inner);
        state.done >= target
    }

    /// Whether the writer gives a sign of life within this time, or is at work on the file.
    pub(super) fn answers(&self, within: Duration) -> bool {
        let mut state = locked(&self.state);
        state.asked = true;
        self.work.notify_one();
        let (state, _) = self
            .progress
            .wait_timeout_while(state, within, |state| state.asked && !state.at_work)
            .unwrap_or_else(PoisonError::into_inner);
        !state.asked || state.at_work
    }

    pub(super) fn status(&self) -> Status {
        let state = locked(&self.state);
        Status { pending: state.queue.len(), ..state.status.clone() }
    }

    /// No more changes come; what waits is tried once more.
    pub(super) fn close(&self) {
        let mut state = locked(&self.state);
        state.closing = true;
        state.hurry = true;
        self.work.notify_one();
    }

    /// Waits for the next thing to do; `retention` is when old data goes next.
    fn next(&self, retention: Instant) -> Next {
        let mut state = locked(&self.state);
        state.at_work = false;
        loop {
            if std::mem::take(&mut state.asked) {
                self.progress.notify_all();
            }
            let now = Instant::now();
            if let Some(change) = state.due(now) {
                state.at_work = true;
                return Next::Write(change);
            }
            if state.closing {
                return Next::End;
            }
            if now >= retention {
                state.at_work = true;
                return Next::Retain;
            }
            let until = state.wake_up().map_or(retention, |retry| retry.min(retention));
            let wait = self.work.wait_timeout(state, until.saturating_duration_since(now));
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The first of the queue is written, or never can be.
    fn done(&self) {
        let mut state = locked(&self.state);
        state.queue.pop_front();
        state.done += 1;
        state.retry_at = None;
        self.progress.notify_all();
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        change(&mut locked(&self.state));
    }
}

impl State {
    /// The first of the queue when it may be tried now.
    fn due(&mut self, now: Instant) -> Option<Arc<Change>> {
        let first = self.queue.front()?;
        let waits = self.retry_at.is_some_and(|at| now < at) && !self.hurry;
        (!waits).then(|| Arc::clone(first)).inspect(|_| self.hurry = false)
    }

    fn wake_up(&self) -> Option<Instant> {
        self.retry_at.filter(|_| !self.queue.is_empty())
    }
}

/// The thread's own state.
pub(super) struct Writer {
    connection: Connection,
    path: PathBuf,
    limits: Limits,
    shared: Arc<Shared>,
    /// Device and inode of the file that is open.
    file: Option<(u64, u64)>,
    back_off: Duration,
    /// Whether the last attempt failed: the journal is told once, not at every attempt.
    failing: bool,
    /// Why intervals and series are not stored.
    short_of_space: Option<String>,
}

impl Writer {
    pub(super) fn new(connection: Connection, path: PathBuf, limits: Limits, shared: Arc<Shared>) -> Writer {
        let file = file_identity(&path);
        let back_off = BACK_OFF.0;
        let mut writer =
            Writer { connection, path, limits, shared, file, back_off, failing: false, short_of_space: None };
        writer.succeeded();
        writer
    }

    pub(super) fn run(mut self) {
        self.shared.update(|state| state.at_work = true);
        self.retain();
        let mut retention = Instant::now() + RETENTION_EVERY;
        loop {
            match self.shared.next(retention) {
                Next::Write(change) => self.write(&change),
                Next::Retain => {
                    self.retain();
                    retention = Instant::now() + RETENTION_EVERY;
                }
                Next::End => break,
            }
        }
        let lost = self.shared.status().pending;
        if lost > 0 {
            log::error!("{lost} changes could not be written to {} and are lost", self.path.display());
        }
    }

    fn write(&mut self, change: &Change) {
        match self.attempt(change) {
            Ok(()) => {
                self.succeeded();
                if retention::exceeds(&self.connection, &self.limits).unwrap_or(false) {
                    self.retain();
                }
                self.shared.done();
            }
            Err(Trouble::Impossible(reason)) => {
                let name = change.name();
                log::error!("{name} is not stored, it cannot be: {reason}. Report it as a fault of benchd");
                self.shared.update(|state| state.status.write_failures += 1);
                self.shared.done();
            }
            Err(Trouble::NotNow { reason, advice }) => self.failed(&reason, advice),
        }
    }

    fn attempt(&mut self, change: &Change) -> Result<(), Trouble> {
        self.check_file()?;
        self.short_of_space = shortage(&self.path, self.limits.min_free);
        change.write(&mut self.connection, self.short_of_space.is_none())
    }

    /// A file that was moved or removed takes writes that nobody will ever read.
    fn check_file(&self) -> Result<(), Trouble> {
        if self.file.is_some() && file_identity(&self.path) == self.file {
            return Ok(());
        }
        let reason = "the file that was open has been moved, replaced or removed".to_owned();
        Err(Trouble::NotNow { reason, advice: "Put it back, or restart benchd to begin a new one" })
    }

    fn retain(&mut self) {
        let applied = self
            .check_file()
            .and_then(|()| Ok(retention::apply(&mut self.connection, &self.limits, Timestamp::now())?));
        match applied {
            Ok(removed) => {
                if removed != retention::Removed::default() {
                    let (runs, series) = (removed.runs, removed.series);
                    let (runs, series) = (counted(runs as u64, "old run"), counted(series as u64, "record"));
                    log::info!("removed {runs} and the series of {series} from the store");
                }
                // Reading alone says nothing about a change that still waits.
                if !self.failing || self.shared.status().pending == 0 {
                    self.short_of_space = shortage(&self.path, self.limits.min_free);
                    self.succeeded();
                }
            }
            Err(Trouble::NotNow { reason, advice }) => self.failed(&reason, advice),
            Err(Trouble::Impossible(reason)) => self.failed(&reason, "See benchd's journal"),
        }
    }

    /// The file can be read and written: tells how it is now.
    fn succeeded(&mut self) {
        if std::mem::take(&mut self.failing) {
            log::info!("results are written to {} again", self.path.display());
        }
        self.back_off = BACK_OFF.0;
        let (size_bytes, counts) = (size(&self.path), self.counts());
        let alarm = self.short_of_space.clone();
        self.shared.update(|state| {
            state.status.size_bytes = size_bytes;
            state.status.alarm = alarm;
            if let Some((records, oldest)) = counts {
                (state.status.records, state.status.oldest) = (records, oldest);
            }
        });
    }

    fn failed(&mut self, reason: &str, advice: &str) {
        let path = self.path.display();
        let alarm = format!(
            "results are not written to {path}: {reason}. {advice}; until then they are kept in memory, and lost \
             when benchd ends"
        );
        if !std::mem::replace(&mut self.failing, true) {
            log::error!("{alarm}");
        }
        let retry_at = Instant::now() + self.back_off;
        self.back_off = (self.back_off * 2).min(BACK_OFF.1);
        self.shared.update(|state| {
            state.status.write_failures += 1;
            state.status.alarm = Some(alarm);
            state.retry_at = Some(retry_at);
        });
    }

    /// Number of records and start of the oldest.
    fn counts(&self) -> Option<(u64, Option<Timestamp>)> {
        let mut statement =
            self.connection.prepare_cached("SELECT count(*), min(start_ns) FROM record").ok()?;
        let row = statement.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)));
        let (records, oldest) = row.ok()?;
        Some((u64::try_from(records).unwrap_or(0), oldest.and_then(timestamp)))
    }
}

fn file_identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

/// Size of the file and its write-ahead log in bytes.
fn size(path: &Path) -> u64 {
    let log = super::open::beside(path, "-wal");
    [path, &log].iter().filter_map(|file| fs::metadata(file).ok()).map(|file| file.len()).sum()
}

/// Says so when less than `min_free` is free where the file is; a filesystem that does not tell is not short.
fn shortage(path: &Path, min_free: Bytes) -> Option<String> {
    let filesystem = nix::sys::statvfs::statvfs(path).ok()?;
    let free = filesystem.blocks_available().saturating_mul(filesystem.fragment_size());
    (free < min_free.get()).then(|| {
        format!(
            "series are not stored: {} MiB are free on the filesystem of {} (limit {min_free}). Free space there, or \
             lower store.min_free; results themselves are stored",
            free >> 20,
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Outcome, Profile, RunId, RunRecord, SCHEMA, Trigger};

    const FAR: Duration = Duration::from_secs(3600);

    fn change(suite: &str) -> Change {
        Change::run(RunRecord {
            schema: SCHEMA,
            id: RunId::new(),
            suite: suite.to_owned(),
            host: String::new(),
            trigger: Trigger::Request,
            by: String::new(),
            profile: Profile::Lab,
            start: Timestamp::UNIX_EPOCH,
            end: None,
            outcome: Some(Outcome::Finished),
            failure: None,
            note: None,
            planned_cases: 0,
            finished_cases: 0,
            stage_seconds: [].into(),
            guards: Vec::new(),
            version: String::new(),
            host_facts: [].into(),
            scale: 1.0,
            comparison: None,
        })
    }

    /// What comes next: a suite's name, `retain` or `end`.
    fn next(shared: &Shared, retention: Duration) -> String {
        match shared.next(Instant::now() + retention) {
            Next::Write(change) => change.name().split(' ').next_back().unwrap().to_owned(),
            Next::Retain => "retain".to_owned(),
            Next::End => "end".to_owned(),
        }
    }

    fn fail(shared: &Shared, wait: Duration) {
        shared.update(|state| state.retry_at = Some(Instant::now() + wait));
    }

    #[test]
    fn a_failed_change_comes_again_first_when_its_wait_is_over() {
        let shared = Shared::default();
        shared.push(change("a"));
        shared.push(change("b"));
        assert_eq!(next(&shared, FAR), "a");
        fail(&shared, Duration::from_millis(3));
        let failed = Instant::now();
        assert_eq!(next(&shared, FAR), "a");
        assert!(failed.elapsed() >= Duration::from_millis(2));
        shared.done();
        assert_eq!(next(&shared, FAR), "b");
    }

    #[test]
    fn new_work_and_a_flush_end_the_wait_of_a_failed_change() {
        let shared = Shared::default();
        shared.push(change("a"));
        assert_eq!(next(&shared, FAR), "a");
        fail(&shared, FAR);
        assert_eq!(next(&shared, Duration::ZERO), "retain");
        shared.push(change("b"));
        assert_eq!(next(&shared, FAR), "a");
        fail(&shared, FAR);
        assert!(!shared.flush(Duration::ZERO));
        assert_eq!(next(&shared, FAR), "a");
    }

    #[test]
    fn closing_tries_what_waits_once_more_and_then_ends() {
        let shared = Shared::default();
        shared.push(change("a"));
        shared.push(change("b"));
        assert_eq!(next(&shared, FAR), "a");
        fail(&shared, FAR);
        shared.close();
        assert_eq!(next(&shared, FAR), "a");
        shared.done();
        assert_eq!(next(&shared, FAR), "b");
        fail(&shared, FAR);
        assert_eq!(next(&shared, FAR), "end");
        assert_eq!(shared.status().pending, 1);
    }
}
