//! Opening the store: whose file it is, who has it, migrations, and runs that a crash left without an end.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior};
use uuid::Uuid;

use super::change::timestamp;
use super::trouble::advice;
use crate::record::{Failure, Outcome, RunRecord, Stage};
use crate::text::counted;

/// Marks the SQLite file as benchd's: "bnch".
const APPLICATION_ID: u32 = 0x626e_6368;
/// Migration *n* makes a store of version *n* out of one of version *n* - 1.
const MIGRATIONS: &[&str] = &[include_str!("schema/001_runs_and_records.sql")];
/// The newest version of a store that this program knows.
const VERSION: u32 = MIGRATIONS.len() as u32;
/// Length of the header of an SQLite file (SQLite file format, 1.3).
const HEADER: usize = 100;
/// A store up to this size is read through when it is opened, so that damage shows at once.
const CHECKED_UP_TO: u64 = 64 << 20;
/// How long one attempt waits for a lock that another program holds on the file.
pub(super) const BUSY: Duration = Duration::from_secs(1);

/// Why a store was not opened. The file is left as it is.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has its directory.
    #[error(
        "the store {path} was not opened: {} has its directory. One directory is for one benchd: stop that one, or \
         give this one a store in another directory (store.path)",
        holder(*.pid)
    )]
    Locked {
        /// The store's file.
        path: PathBuf,
        /// The process, when it is known.
        pid: Option<u32>,
    },
    /// The file is damaged.
    #[error(
        "the store {path} was not opened and is left as it is: {detail}. Move it away, with its -wal and -shm, and \
         benchd begins a new one; or put a backup in its place"
    )]
    Corrupt {
        /// The store's file.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// The file is an SQLite database of another program.
    #[error(
        "the store {path} was not opened and is left as it is: the file is a database of another program. Give \
         benchd another file (store.path)"
    )]
    NotOurs {
        /// The store's file.
        path: PathBuf,
    },
    /// The file was written by a newer benchd.
    #[error(
        "the store {path} was not opened and is left as it is: a newer benchd wrote it (version {found} of the \
         store, this benchd knows {known}). Install that benchd again, or give this one another file (store.path)"
    )]
    TooNew {
        /// The store's file.
        path: PathBuf,
        /// The version it has.
        found: u32,
        /// The newest version this program knows.
        known: u32,
    },
    /// It could not be read or written.
    #[error("the store {path} was not opened: cannot {attempt}: {reason}. {advice}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was attempted.
        attempt: &'static str,
        /// What happened.
        reason: String,
        /// What to do.
        advice: String,
    },
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

impl OpenError {
    pub(super) fn io(attempt: &'static str, path: &Path, error: &io::Error) -> OpenError {
        let advice = match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "Make it writable for the user benchd runs as, or give benchd another file (store.path)"
            }
            io::ErrorKind::StorageFull => "Free space on its filesystem",
            _ => "See what stands there, or give benchd another file (store.path)",
        };
        let (path, reason) = (path.to_owned(), error.to_string());
        OpenError::Io { path, attempt, reason, advice: advice.to_owned() }
    }

    /// An SQL error (no code of its own) means that a table is not what its version says.
    fn sqlite(attempt: &'static str, path: &Path, error: &rusqlite::Error) -> OpenError {
        let (path, reason, code) = (path.to_owned(), error.to_string(), error.sqlite_error_code());
        match code {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) => {
                OpenError::Corrupt { path, detail: reason }
            }
            _ => OpenError::Io { path, attempt, reason, advice: advice(code).to_owned() },
        }
    }
}

/// A store that is open and ready to be written.
pub(super) struct Opened {
    /// The one connection that writes.
    pub(super) connection: Connection,
    /// Without symbolic links.
    pub(super) path: PathBuf,
    /// Holds the exclusive lock for as long as it lives.
    pub(super) lock: File,
    pub(super) identity: Uuid,
    /// Runs without an end, ended; to be written.
    pub(super) crashed: Vec<RunRecord>,
}

pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    let path = ensure_file(path)?;
    inspect(&path)?;
    let lock = take_lock(&path)?;
    let mut connection = connect(&path)?;
    let wrap = |attempt| move |error: rusqlite::Error| (attempt, error);
    let prepared = migrate(&mut connection)
        .map_err(wrap("bring it up to date"))
        .and_then(|()| identity(&connection).map_err(wrap("read its identity")))
        .and_then(|identity| Ok((identity, crashed(&connection).map_err(wrap("read its runs"))?)));
    let (identity, crashed) =
        prepared.map_err(|(attempt, error)| OpenError::sqlite(attempt, &path, &error))?;
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
        .map_err(|error| OpenError::sqlite("set it up", &path, &error))?;
    Ok(Opened { connection, path, lock, identity, crashed })
}

/// The path of a file beside another: the same name with something added.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Makes the directory and an empty file when they are missing. SQLite gives its other files the same mode.
fn ensure_file(path: &Path) -> Result<PathBuf, OpenError> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o750).create(directory);
        made.map_err(|error| OpenError::io("make its directory", directory, &error))?;
    }
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o640)
        .open(path)
        .and_then(|_| path.canonicalize())
        .map_err(|error| OpenError::io("open the file", path, &error))
}

/// Reads whose file it is from its header, without SQLite, which would write beside it. An empty file is ours.
fn inspect(path: &Path) -> Result<(), OpenError> {
    let mut header = Vec::with_capacity(HEADER);
    File::open(path)
        .and_then(|file| file.take(HEADER as u64).read_to_end(&mut header))
        .map_err(|error| OpenError::io("read the file", path, &error))?;
    if header.is_empty() {
        return Ok(());
    }
    let path = path.to_owned();
    if header.len() < HEADER || !header.starts_with(b"SQLite format 3\0") {
        return Err(OpenError::Corrupt { path, detail: "the file is not an SQLite database".to_owned() });
    }
    if number(&header, 68) != APPLICATION_ID {
        return Err(OpenError::NotOurs { path });
    }
    match number(&header, 60) {
        found if found > VERSION => Err(OpenError::TooNew { path, found, known: VERSION }),
        _ => Ok(()),
    }
}

/// The big-endian number at an offset of the header.
fn number(header: &[u8], at: usize) -> u32 {
    header[at..at + 4].iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

/// The file in the store's directory whose lock makes one process the only one there.
const LOCK: &str = "benchd.lock";

/// Takes the lock that makes this process the only one in the store's directory: what is remembered beside the store of
/// workers, schemas and scratch servers belongs to one benchd, whatever its store is called. The kernel gives it back
/// when the process ends.
fn take_lock(path: &Path) -> Result<File, OpenError> {
    let beside = path.with_file_name(LOCK);
    let failed = |error: &io::Error| OpenError::io("lock it", &beside, error);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o640)
        .open(&beside)
        .map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::Error(error)) => return Err(failed(&error)),
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(OpenError::Locked { path: path.to_owned(), pid });
        }
    }
    // The number only helps people: a disk too full for it must not keep the store closed.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

/// Opens the connection that writes, and proves that the file can be read.
fn connect(path: &Path) -> Result<Connection, OpenError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)
        .map_err(|error| OpenError::sqlite("open the file", path, &error))?;
    set_up(&connection).map_err(|error| OpenError::sqlite("set it up", path, &error))?;
    // A newer version may stand in the write-ahead log alone, where the header does not show it.
    let found = version(&connection).map_err(|error| OpenError::sqlite("read it", path, &error))?;
    if found > VERSION {
        return Err(OpenError::TooNew { path: path.to_owned(), found, known: VERSION });
    }
    check(&connection, path)?;
    Ok(connection)
}

fn version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Reads a file that is not too large through, and refuses it when its structure is damaged.
fn check(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    if fs::metadata(path).is_ok_and(|file| file.len() > CHECKED_UP_TO) {
        return Ok(());
    }
    let found: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| OpenError::sqlite("check it", path, &error))?;
    match found.as_str() {
        "ok" => Ok(()),
        _ => Err(OpenError::Corrupt { path: path.to_owned(), detail: found.replace('\n', " ") }),
    }
}

/// The settings of the connection that writes. Until the file is known to be good, closing must not move the
/// write-ahead log into it.
fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(BUSY)?;
    // One transaction: a kill must not leave a file that does not say whose it is.
    if connection.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0))? == 0 {
        let transaction = connection.unchecked_transaction()?;
        transaction.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.commit()?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "cache_size", -512)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "journal_size_limit", 1 << 20)
}

/// Brings the tables to the newest version, each step in one transaction.
fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let from = version(connection)?;
    for (step, sql) in (1..).zip(MIGRATIONS).filter(|(step, _)| *step > from) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", step)?;
        transaction.commit()?;
    }
    Ok(())
}

/// The identity of the daemon, made with the store.
fn identity(connection: &Connection) -> rusqlite::Result<Uuid> {
    let select = "SELECT value FROM meta WHERE key = 'identity'";
    let stored: Option<String> = connection.query_row(select, [], |row| row.get(0)).optional()?;
    if let Some(identity) = stored.and_then(|text| text.parse().ok()) {
        return Ok(identity);
    }
    let identity = Uuid::new_v4();
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('identity', ?1)", [identity.to_string()])?;
    Ok(identity)
}

/// Runs without an end, ended: this process is the store's only one, so nobody runs them.
fn crashed(connection: &Connection) -> rusqlite::Result<Vec<RunRecord>> {
    let sql = "SELECT data, (SELECT max(end_ns) FROM record WHERE run = run.id), \
               (SELECT count(*) FROM record WHERE run = run.id AND outcome = 'finished') \
               FROM run WHERE outcome IS NULL ORDER BY id";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    let mut runs = Vec::new();
    while let Some(row) = rows.next()? {
        let run: serde_json::Result<RunRecord> = serde_json::from_str(&row.get::<_, String>(0)?);
        match run {
            Ok(run) => runs.push(ended(run, row.get(1)?, row.get(2)?)),
            Err(error) => log::error!("a run without an end cannot be read and stays as it is: {error}"),
        }
    }
    Ok(runs)
}

/// The last sign of life is the best known end. The stage that is known to be missing is that of the record.
fn ended(run: RunRecord, last_case_end: Option<i64>, finished: u32) -> RunRecord {
    let kept = match finished {
        0 => "no case had finished".to_owned(),
        _ => format!("{finished} of {} had finished and are kept", counted(run.planned_cases, "case")),
    };
    let message = format!(
        "{} stopped on {}: benchd was killed or crashed, or the host went down, while the run was under way; {kept}. \
         Run it again: benchd run {}",
        run.suite, run.host, run.suite
    );
    let failure = Failure { stage: Stage::Record, reason: "crash".to_owned(), message };
    RunRecord {
        end: Some(last_case_end.and_then(timestamp).map_or(run.start, |end| end.max(run.start))),
        outcome: Some(Outcome::Aborted),
        finished_cases: finished,
        failure: Some(failure),
        ..run
    }
}
