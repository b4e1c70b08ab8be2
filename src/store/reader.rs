//! Reading the store: lists, single runs and cases, and what metrics need after a restart.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Row, params};
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::Column;
use super::change::{nanoseconds, timestamp, unpack};
use super::open::BUSY;
use crate::record::{CaseRecord, EncodedHistogram, Interval, Outcome, RunId, RunRecord, Trigger};
use crate::units::Span;

/// Runs that have an end and began: one that guards blocked, or that was cancelled while it waited, ended before.
pub(super) const BEGAN: &str =
    "outcome <> 'blocked' AND (outcome = 'finished' OR coalesce(data ->> '$.failure.stage', '') <> 'guard')";

/// A connection to read with. It sees every change that was flushed, and never waits for the writer.
#[derive(Debug)]
pub struct Reader {
    pub(super) connection: Connection,
}

/// Which runs to list; what is absent does not restrict.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Runs of this suite.
    pub suite: Option<String>,
    /// Runs with a record of such a case; `*`, `?` and `[…]` as in file names.
    pub case: Option<String>,
    /// Runs that ended so.
    pub outcome: Option<Outcome>,
    /// Runs begun by this.
    pub trigger: Option<Trigger>,
    /// Runs that began at this instant or later.
    pub since: Option<Timestamp>,
    /// Runs that began before this instant.
    pub until: Option<Timestamp>,
    /// Runs older than this one: the cursor of the next page.
    pub before: Option<RunId>,
    /// At most so many.
    pub limit: Option<u32>,
}

/// How many runs of a kind are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunCount {
    /// The suite.
    pub suite: String,
    /// What began them.
    pub trigger: Trigger,
    /// How they ended; absent for one that is under way.
    pub outcome: Option<Outcome>,
    /// How many.
    pub runs: u64,
}

impl Reader {
    /// Opens a store to read it, also one that another process writes.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> anyhow::Result<Reader> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(path, flags)?;
            connection.busy_timeout(BUSY)?;
            connection.pragma_update(None, "cache_size", -512)?;
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            Ok(connection)
        };
        let connection = open().with_context(|| format!("open the store {} to read", path.display()))?;
        Ok(Reader { connection })
    }

    /// The identity of the daemon whose store it is.
    ///
    /// # Errors
    /// When the store cannot be read, or no daemon has made it its own.
    pub fn identity(&self) -> anyhow::Result<Uuid> {
        let select = "SELECT value FROM meta WHERE key = 'identity'";
        let text: String =
            self.connection.query_row(select, [], |row| row.get(0)).context("read who owns the store")?;
        text.parse().context("read who owns the store")
    }

    /// The runs that pass the filter, the newest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self, filter: &RunFilter) -> anyhow::Result<Vec<RunRecord>> {
        let sql = "SELECT data FROM run WHERE (?1 IS NULL OR suite = ?1) \
                   AND (?2 IS NULL OR EXISTS (SELECT 1 FROM record WHERE run = run.id AND case_name GLOB ?2)) \
                   AND (?3 IS NULL OR outcome = ?3) AND (?4 IS NULL OR trigger = ?4) \
                   AND (?5 IS NULL OR start_ns >= ?5) AND (?6 IS NULL OR start_ns < ?6) \
                   AND (?7 IS NULL OR id < ?7) ORDER BY id DESC LIMIT ?8";
        let arguments = params![
            filter.suite,
            filter.case,
            filter.outcome.map(Outcome::as_str),
            filter.trigger.map(Trigger::as_str),
            filter.since.map(nanoseconds),
            filter.until.map(nanoseconds),
            filter.before.map(|id| id.to_string()),
            filter.limit.map_or(-1, i64::from),
        ];
        self.all(sql, arguments).context("list the runs of the store")
    }

    /// The run with this id.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn run(&self, id: RunId) -> anyhow::Result<Option<RunRecord>> {
        let found = self.all("SELECT data FROM run WHERE id = ?1", [id.to_string()]);
        Ok(found.with_context(|| format!("read run {id}"))?.pop())
    }

    /// The cases of a run in order, without intervals and histograms.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn cases(&self, run: RunId) -> anyhow::Result<Vec<CaseRecord>> {
        self.all("SELECT data FROM record WHERE run = ?1 ORDER BY place", [run.to_string()])
            .with_context(|| format!("read the cases of run {run}"))
    }

    /// A case with its intervals, as long as they are kept, and histograms.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn case_full(&self, run: RunId, index: u32) -> anyhow::Result<Option<CaseRecord>> {
        self.read_full(run, index).with_context(|| format!("read case {index} of run {run}"))
    }

    fn read_full(&self, run: RunId, index: u32) -> anyhow::Result<Option<CaseRecord>> {
        // One snapshot: the writer may replace or thin out the record meanwhile.
        let _snapshot = self.connection.unchecked_transaction()?;
        let sql = "SELECT id, data FROM record WHERE run = ?1 AND place = ?2";
        let found = self
            .rows(sql, params![run.to_string(), index], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            })?
            .pop();
        let Some((id, data)) = found else { return Ok(None) };
        let mut case: CaseRecord = parse(&data)?;
        if let Some(result) = &mut case.result {
            result.intervals = self.intervals(id)?;
            result.histograms = self.histograms(id)?;
        }
        Ok(Some(case))
    }

    fn intervals(&self, record: i64) -> anyhow::Result<Vec<Interval>> {
        let stored: Option<Vec<Interval>> =
            self.all("SELECT data FROM intervals WHERE record = ?1", [record])?.pop();
        Ok(stored.unwrap_or_default())
    }

    fn histograms(&self, record: i64) -> anyhow::Result<BTreeMap<String, EncodedHistogram>> {
        let stored = self.rows("SELECT name, v2 FROM histogram WHERE record = ?1", [record], |row| {
            Ok((row.get(0)?, EncodedHistogram::from_bytes(row.get(1)?)))
        })?;
        Ok(stored.into_iter().collect())
    }

    /// One histogram of a case: `response`, `service` or `lag`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn histogram(&self, run: RunId, index: u32, name: &str) -> anyhow::Result<Option<EncodedHistogram>> {
        let sql = "SELECT v2 FROM histogram JOIN record ON record.id = histogram.record \
                   WHERE run = ?1 AND place = ?2 AND name = ?3";
        let found: Option<Vec<u8>> = self
            .connection
            .prepare_cached(sql)
            .and_then(|mut statement| {
                statement.query_row(params![run.to_string(), index, name], |row| row.get(0)).optional()
            })
            .with_context(|| format!("read histogram {name} of case {index} of run {run}"))?;
        Ok(found.map(EncodedHistogram::from_bytes))
    }

    /// The series of a case with these names, in the order they were stored; all of them when no name is given.
    /// A name that is not stored, or no longer, is not in the answer.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn series(&self, run: RunId, index: u32, names: &[&str]) -> anyhow::Result<Vec<Column>> {
        let sql = "SELECT name, series.start_ns, step_ns, series.data FROM series \
                   JOIN record ON record.id = series.record \
                   WHERE run = ?1 AND place = ?2 AND (?3 OR name IN (SELECT value FROM json_each(?4))) \
                   ORDER BY series.rowid";
        let wanted = serde_json::to_string(names)?;
        self.rows(sql, params![run.to_string(), index, names.is_empty(), wanted], column)
            .with_context(|| format!("read the series of case {index} of run {run}"))
    }

    /// The last run of each suite that began and ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last_runs(&self) -> anyhow::Result<Vec<RunRecord>> {
        let sql = format!(
            "SELECT data FROM run WHERE id IN (SELECT max(id) FROM run WHERE {BEGAN} GROUP BY suite) ORDER BY suite"
        );
        self.all(&sql, []).context("read the last run of each suite")
    }

    /// The last run of each suite in which every case finished.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last_successes(&self) -> anyhow::Result<Vec<RunRecord>> {
        self.all(
            "SELECT data FROM run WHERE id IN (SELECT max(id) FROM run WHERE outcome = 'finished' GROUP BY suite) \
             ORDER BY suite",
            [],
        )
        .context("read the last success of each suite")
    }

    /// The last finished case with a result of each suite and case, without intervals and histograms.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn last_results(&self) -> anyhow::Result<Vec<CaseRecord>> {
        self.all(
            "SELECT data FROM (SELECT data, suite, case_name, max(start_ns) FROM record \
             WHERE outcome = 'finished' AND per_second IS NOT NULL GROUP BY suite, case_name) \
             ORDER BY suite, case_name",
            [],
        )
        .context("read the last result of each case")
    }

    /// The finished cases of a workload since an instant, oldest first, without intervals and histograms.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn results_of(&self, workload: &str, since: Timestamp) -> anyhow::Result<Vec<CaseRecord>> {
        let sql = "SELECT data FROM record WHERE start_ns >= ?2 AND workload = ?1 AND outcome = 'finished' \
                   AND per_second IS NOT NULL ORDER BY start_ns";
        self.all(sql, params![workload, nanoseconds(since)]).context("read the results of a workload")
    }

    /// How many runs are stored, by suite, trigger and outcome.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn counts(&self) -> anyhow::Result<Vec<RunCount>> {
        let sql = "SELECT suite, trigger, outcome, count(*) FROM run GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
        let rows = self
            .rows(sql, [], |row| {
                Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?, row.get(3)?))
            })
            .context("count the runs of the store")?;
        rows.into_iter()
            .map(|(suite, trigger, outcome, runs): (_, _, _, i64)| {
                let trigger = trigger.parse().map_err(anyhow::Error::msg)?;
                let outcome = outcome.map(|word| word.parse()).transpose().map_err(anyhow::Error::msg)?;
                Ok(RunCount { suite, trigger, outcome, runs: u64::try_from(runs)? })
            })
            .collect()
    }

    /// The records in the first column of every row.
    pub(super) fn all<T: DeserializeOwned>(
        &self,
        sql: &str,
        arguments: impl Params,
    ) -> anyhow::Result<Vec<T>> {
        let texts = self.rows(sql, arguments, |row| row.get::<_, String>(0))?;
        texts.iter().map(|text| parse(text)).collect()
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        arguments: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> anyhow::Result<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(arguments, read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

fn parse<T: DeserializeOwned>(text: &str) -> anyhow::Result<T> {
    serde_json::from_str(text).context("a stored record cannot be read")
}

fn column(row: &Row<'_>) -> rusqlite::Result<Column> {
    let (start, step): (i64, i64) = (row.get(1)?, row.get(2)?);
    Ok(Column {
        name: row.get(0)?,
        start: timestamp(start).unwrap_or_default(),
        step: Span::from(std::time::Duration::from_nanos(u64::try_from(step).unwrap_or(0))),
        values: unpack(row.get_ref(3)?.as_blob()?),
    })
}
