//! The names that people give to runs.

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use rusqlite::params;

use super::change::nanoseconds;
use super::reader::{BEGAN, Reader};
use crate::record::{RunId, RunRecord};

/// The fewest digits of an id that name a run.
const FEWEST_DIGITS: usize = 8;
/// So many runs are named when digits mean several.
const MOST_CANDIDATES: u32 = 6;
/// What stands between the two ends of a range of days.
const TO: &str = "..";

/// Why a name does not lead to a run.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No run has the name.
    #[error("no run is named `{name}`: {hint}")]
    Unknown {
        /// The name.
        name: String,
        /// What to write instead.
        hint: String,
    },
    /// The digits are those of several runs.
    #[error(
        "`{name}` names more than one run: {}; write more digits",
        .candidates.iter().map(RunId::to_string).collect::<Vec<_>>().join(", ")
    )]
    Ambiguous {
        /// The digits.
        name: String,
        /// Runs they may mean, the newest first.
        candidates: Vec<RunId>,
    },
    /// A range of days where one run is wanted.
    #[error(
        "`{name}` names the runs of several days, and one run is wanted here; write one day for its last run"
    )]
    Several {
        /// The range.
        name: String,
    },
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] anyhow::Error),
}

impl Reader {
    /// The run a person names: a whole id, its last 8 or more digits, `SUITE` for its last run, `SUITE~N` for the
    /// one N before, `SUITE@DAY` for the last one that began on that day. Only runs that began and ended are
    /// counted where a suite is named.
    ///
    /// # Errors
    /// When there is no such run or more than one, or the store cannot be read.
    pub fn find(&self, name: &str) -> Result<RunRecord, FindError> {
        if is_range(name) {
            return Err(FindError::Several { name: name.to_owned() });
        }
        if let Ok(id) = name.parse() {
            return self.run(id)?.ok_or_else(|| unknown(name, "`benchd list` shows all there are"));
        }
        if let Some((suite, day)) = name.split_once('@') {
            let found = self.of_days(name, suite, [Some(day), Some(day)])?.pop();
            return found.ok_or_else(|| unknown(name, "`benchd list` shows when runs began"));
        }
        match self.find_by_digits(name)? {
            Some(run) => Ok(run),
            None => self.find_by_suite(name),
        }
    }

    /// The runs a person names, oldest first: one as [`Reader::find`] knows it, or those that began on the days of
    /// `SUITE@FROM..TO`, in which either end may lack. There is at least one.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be read.
    pub fn find_all(&self, name: &str) -> Result<Vec<RunRecord>, FindError> {
        let range = name.split_once('@').and_then(|(suite, days)| Some((suite, days.split_once(TO)?)));
        let Some((suite, (from, to))) = range else { return Ok(vec![self.find(name)?]) };
        let found =
            self.of_days(name, suite, [from, to].map(|day| Some(day).filter(|day| !day.is_empty())))?;
        if found.is_empty() {
            return Err(unknown(
                name,
                "no run of the suite began on these days and ended; `benchd list` shows all",
            ));
        }
        Ok(found)
    }

    /// The runs of a suite that began on the days from one to another, oldest first.
    fn of_days(
        &self,
        name: &str,
        suite: &str,
        [first, last]: [Option<&str>; 2],
    ) -> Result<Vec<RunRecord>, FindError> {
        let begin = first.map(|day| begin_of(name, day, 0)).transpose()?;
        let end = last.map(|day| begin_of(name, day, 1)).transpose()?;
        let sql = format!(
            "SELECT data FROM run WHERE suite = ?1 AND {BEGAN} AND (?2 IS NULL OR start_ns >= ?2) \
             AND (?3 IS NULL OR start_ns < ?3) ORDER BY id"
        );
        let arguments = params![suite, begin.map(nanoseconds), end.map(nanoseconds)];
        Ok(self.all(&sql, arguments).context("look for runs")?)
    }

    fn find_by_digits(&self, name: &str) -> Result<Option<RunRecord>, FindError> {
        let digits = name.replace('-', "").to_lowercase();
        if digits.len() < FEWEST_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let sql = "SELECT data FROM run WHERE replace(id, '-', '') LIKE '%' || ?1 ORDER BY id DESC LIMIT ?2";
        let mut found: Vec<RunRecord> =
            self.all(sql, params![digits, MOST_CANDIDATES]).context("look for a run")?;
        match found.len() {
            0 | 1 => Ok(found.pop()),
            _ => {
                let candidates = found.iter().map(|run| run.id).collect();
                Err(FindError::Ambiguous { name: name.to_owned(), candidates })
            }
        }
    }

    fn find_by_suite(&self, name: &str) -> Result<RunRecord, FindError> {
        let (suite, back) = name.split_once('~').unwrap_or((name, "0"));
        let back: u32 = back.parse().map_err(|_| unknown(name, "write a number after `~`: `SUITE~2`"))?;
        let sql =
            format!("SELECT data FROM run WHERE suite = ?1 AND {BEGAN} ORDER BY id DESC LIMIT 1 OFFSET ?2");
        let mut found: Vec<RunRecord> = self.all(&sql, params![suite, back]).context("look for a run")?;
        match found.pop() {
            Some(run) => Ok(run),
            None => Err(unknown(name, &self.known_suites()?)),
        }
    }

    fn known_suites(&self) -> anyhow::Result<String> {
        let suites: Vec<String> =
            self.rows("SELECT DISTINCT suite FROM run ORDER BY suite", [], |row| row.get(0))?;
        Ok(match suites.is_empty() {
            true => "there is none yet; `benchd run quick` makes one".to_owned(),
            false => format!("suites with runs are {}; `benchd list` shows the runs", suites.join(", ")),
        })
    }
}

/// Whether a name is that of all runs of some days.
pub fn is_range(name: &str) -> bool {
    name.split_once('@').is_some_and(|(_, days)| days.contains(TO))
}

/// The first instant of the day so many days after one, on this host's clock.
fn begin_of(name: &str, day: &str, after: i64) -> Result<Timestamp, FindError> {
    let date: Result<Date, jiff::Error> = day.parse();
    let begin = date
        .and_then(|date| date.checked_add(jiff::Span::new().days(after)))
        .and_then(|date| date.to_zoned(TimeZone::system()));
    let hint =
        "write days as 2026-12-17: `SUITE@2026-12-17`, or with two of them `SUITE@2026-12-01..2026-12-17`";
    begin.map(|begin| begin.timestamp()).map_err(|_| unknown(name, hint))
}

fn unknown(name: &str, hint: &str) -> FindError {
    FindError::Unknown { name: name.to_owned(), hint: hint.to_owned() }
}
