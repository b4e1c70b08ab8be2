//! Where log lines go: to the journal with structured fields when the program is connected to it, else to stderr.
//!
//! One filter for both: benchd's own lines from the configured level on, other crates' from warnings on. Lines at
//! warning and error level are counted for the metrics.

use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result};
use log::{Level, LevelFilter, Log, Metadata, Record};
use systemd_journal_logger::{JournalLog, connected_to_journal};

/// `MESSAGE_ID` of "a run began".
pub const RUN_STARTED: &str = "05f87635ab844039aeef44fb26ae2012";
/// `MESSAGE_ID` of "a run ended".
pub const RUN_ENDED: &str = "e1b60fa495f34724a5d625bc4081b8bf";
/// `MESSAGE_ID` of "a run was refused by its guards".
pub const RUN_BLOCKED: &str = "9f0156c053004efe8da27b0ccf850152";

static WARNINGS: AtomicU64 = AtomicU64::new(0);
static ERRORS: AtomicU64 = AtomicU64::new(0);

/// Where lines go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sink {
    /// The journal when stderr is connected to it, else stderr.
    Auto,
    /// The journal.
    Journal,
    /// Standard error.
    Stderr,
}

/// Starts logging from a level on; the level can be changed later with [`set_level`].
///
/// # Errors
/// When the journal was asked for and does not listen, or logging was started before.
pub fn start(sink: Sink, level: LevelFilter) -> Result<()> {
    let journal = match sink {
        Sink::Stderr => None,
        Sink::Journal => Some(open_journal()?),
        Sink::Auto if connected_to_journal() => Some(open_journal()?),
        Sink::Auto => None,
    };
    let logger = Box::new(Logger { journal });
    log::set_boxed_logger(logger).context("start logging")?;
    set_level(level);
    Ok(())
}

/// Changes the level from which benchd's own lines are written.
pub fn set_level(level: LevelFilter) {
    log::set_max_level(level);
}

/// How many lines were written at warning and at error level.
pub fn counts() -> (u64, u64) {
    (WARNINGS.load(Ordering::Relaxed), ERRORS.load(Ordering::Relaxed))
}

fn open_journal() -> Result<JournalLog> {
    let journal = JournalLog::new().context(
        "open the journal: nothing listens on its socket; set log_to = \"stderr\" where there is no systemd-journald",
    )?;
    Ok(journal.with_syslog_identifier("benchd".to_owned()))
}

struct Logger {
    journal: Option<JournalLog>,
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let own = metadata.target() == "benchd" || metadata.target().starts_with("benchd::");
        own || metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        match record.level() {
            Level::Error => ERRORS.fetch_add(1, Ordering::Relaxed),
            Level::Warn => WARNINGS.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        match &self.journal {
            Some(journal) => journal.log(record),
            None => write_line(record),
        }
    }

    fn flush(&self) {}
}

/// A line for a person. When stderr is closed there is nobody left to tell.
fn write_line(record: &Record<'_>) {
    let level = match record.level() {
        Level::Error => "error",
        Level::Warn => "warn ",
        Level::Info => "info ",
        Level::Debug | Level::Trace => "debug",
    };
    let _ = writeln!(std::io::stderr().lock(), "{level} {}", record.args());
}
