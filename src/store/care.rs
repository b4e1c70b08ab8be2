//! Care for a store beside whoever writes it: how much is in it, a copy, a look through all of it.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use jiff::Timestamp;

use super::Reader;

/// Mode of a copy: as of the store itself, for its owner and, to read, the group.
const MODE: u32 = 0o640;

/// How much a store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Census {
    /// Runs.
    pub runs: u64,
    /// Records, one for each case that ended.
    pub records: u64,
    /// Those of them that still have intervals and series.
    pub detailed: u64,
    /// Start of the oldest record.
    pub oldest: Option<Timestamp>,
    /// Bytes of the rows, without what the file has free.
    pub bytes: u64,
    /// Bytes of intervals and series among them.
    pub series_bytes: u64,
}

impl Reader {
    /// Counts what is stored.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn census(&self) -> Result<Census> {
        let number = |sql: &str| -> Result<u64> {
            let number: i64 =
                self.connection.query_row(sql, [], |row| row.get(0)).context("count what is stored")?;
            Ok(u64::try_from(number)?)
        };
        let sum = |table: &str| number(&format!("SELECT coalesce(sum(length(data)), 0) FROM {table}"));
        let oldest = "SELECT coalesce(min(start_ns), -1) FROM record";
        let oldest: i64 =
            self.connection.query_row(oldest, [], |row| row.get(0)).context("find the oldest record")?;
        Ok(Census {
            runs: number("SELECT count(*) FROM run")?,
            records: number("SELECT count(*) FROM record")?,
            detailed: number("SELECT count(*) FROM record WHERE detailed = 1")?,
            oldest: (oldest >= 0).then(|| Timestamp::from_nanosecond(oldest.into())).transpose()?,
            bytes: number(
                "SELECT (page_count - freelist_count) * page_size \
                 FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
            )?,
            series_bytes: sum("intervals")? + sum("series")?,
        })
    }

    /// Writes a copy of the store as it is at this instant, also while it is written; it can take the store's place.
    ///
    /// # Errors
    /// When the file is there already or cannot be written, or the store cannot be read. Nothing is left of a copy
    /// that failed.
    pub fn copy_to(&self, file: &Path) -> Result<()> {
        let shown = file.display();
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(file)
            .with_context(|| format!("no copy was made: {shown} cannot be made anew"))?;
        let written = self
            .connection
            .execute("VACUUM INTO ?1", [file.to_string_lossy()])
            .map_err(anyhow::Error::from)
            .and_then(|_| Ok(File::open(file)?.sync_all()?));
        written
            .inspect_err(|_| drop(fs::remove_file(file)))
            .with_context(|| format!("no copy was made: write {shown}"))
    }

    /// Looks through all of the store; what is wrong with it, nothing when all is well.
    ///
    /// # Errors
    /// When the store cannot be read at all.
    pub fn damage(&self) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare("PRAGMA integrity_check")?;
        let found = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>();
        let mut found = found.context("look through the store")?;
        let mut statement = self.connection.prepare("PRAGMA foreign_key_check")?;
        let orphans = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>();
        found.extend(
            orphans
                .context("look through the store")?
                .into_iter()
                .map(|table| format!("a row of {table} belongs to nothing")),
        );
        found.retain(|line| line != "ok");
        Ok(found)
    }
}
