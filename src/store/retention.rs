//! What goes when: runs by age, intervals and series by age and by size; and space given back to the filesystem.

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::Limits;
use super::change::nanoseconds;
use crate::units::Span;

/// So many runs or records go in one transaction, so that new results never wait long.
const BATCH: u32 = 16;
/// So many free pages are given back in one transaction.
const PAGES: u32 = 512;

/// What was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Removed {
    /// Whole runs, for age.
    pub(super) runs: usize,
    /// Records that lost intervals and series, for age or size.
    pub(super) series: usize,
}

/// Applies the limits as of `now`.
pub(super) fn apply(
    connection: &mut Connection,
    limits: &Limits,
    now: Timestamp,
) -> rusqlite::Result<Removed> {
    let mut removed = Removed::default();
    if let Some(cutoff) = cutoff(now, limits.keep_records) {
        removed.runs = until_none(|| remove_runs(connection, cutoff))?;
    }
    if let Some(cutoff) = cutoff(now, limits.keep_series) {
        removed.series = until_none(|| remove_series(connection, cutoff))?;
    }
    while exceeds(connection, limits)? {
        match remove_series(connection, i64::MAX)? {
            0 => break,
            count => removed.series += count,
        }
    }
    if removed != Removed::default() {
        give_back(connection)?;
    }
    Ok(removed)
}

/// Whether the rows take more than the allowed size. Free pages do not count: they are given back.
pub(super) fn exceeds(connection: &Connection, limits: &Limits) -> rusqlite::Result<bool> {
    let pages = pragma(connection, "page_count")? - pragma(connection, "freelist_count")?;
    let bytes = u64::try_from(pages * pragma(connection, "page_size")?).unwrap_or(0);
    Ok(limits.max_size.get() > 0 && bytes > limits.max_size.get())
}

/// What began before this instant is too old; absent when everything is kept.
fn cutoff(now: Timestamp, keep: Span) -> Option<i64> {
    let age = i64::try_from(keep.duration().as_nanos()).ok()?;
    (age > 0).then(|| nanoseconds(now).saturating_sub(age))
}

fn until_none(mut step: impl FnMut() -> rusqlite::Result<usize>) -> rusqlite::Result<usize> {
    let mut all = 0;
    loop {
        match step()? {
            0 => return Ok(all),
            count => all += count,
        }
    }
}

/// Removes some of the runs that began before `cutoff`, with all they have; never one that is under way.
fn remove_runs(connection: &Connection, cutoff: i64) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM run WHERE id IN (SELECT id FROM run \
               WHERE start_ns < ?1 AND outcome IS NOT NULL ORDER BY start_ns LIMIT ?2)";
    connection.prepare_cached(sql)?.execute(params![cutoff, BATCH])
}

/// Removes intervals and series of some of the records that began before `cutoff`, the oldest first.
fn remove_series(connection: &mut Connection, cutoff: i64) -> rusqlite::Result<usize> {
    let transaction = connection.transaction()?;
    let oldest: Vec<i64> = transaction
        .prepare_cached(
            "SELECT id FROM record WHERE detailed = 1 AND start_ns < ?1 ORDER BY start_ns LIMIT ?2",
        )?
        .query_map(params![cutoff, BATCH], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for record in &oldest {
        transaction.prepare_cached("DELETE FROM series WHERE record = ?1")?.execute([record])?;
        transaction.prepare_cached("DELETE FROM intervals WHERE record = ?1")?.execute([record])?;
        transaction.prepare_cached("UPDATE record SET detailed = 0 WHERE id = ?1")?.execute([record])?;
    }
    transaction.commit()?;
    Ok(oldest.len())
}

/// Gives free pages back to the filesystem and empties the write-ahead log.
fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    let mut before = i64::MAX;
    loop {
        let free = pragma(connection, "freelist_count")?;
        if free == 0 || free >= before {
            break;
        }
        before = free;
        let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
    }
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
