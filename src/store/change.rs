//! One change of the store: what it is, and how it becomes rows.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::Column;
use super::trouble::Trouble;
use crate::record::{CaseRecord, EncodedHistogram, Interval, RunRecord};

/// What waits to be written, in the order it was handed over.
#[derive(Debug)]
pub(super) enum Change {
    /// A run as it stands now.
    Run(Box<RunRecord>),
    /// A case that ended.
    Case(Box<Case>),
}

/// A case, taken apart into what is kept for different lengths of time.
#[derive(Debug)]
pub(super) struct Case {
    /// Without intervals and histograms.
    record: CaseRecord,
    intervals: Vec<Interval>,
    histograms: BTreeMap<String, EncodedHistogram>,
    series: Vec<Column>,
}

impl Change {
    pub(super) fn run(run: RunRecord) -> Change {
        Change::Run(Box::new(run))
    }

    pub(super) fn case(mut record: CaseRecord, series: Vec<Column>) -> Change {
        let (intervals, histograms) = match &mut record.result {
            Some(result) => (std::mem::take(&mut result.intervals), std::mem::take(&mut result.histograms)),
            None => (Vec::new(), BTreeMap::new()),
        };
        Change::Case(Box::new(Case { record, intervals, histograms, series }))
    }

    /// What it is, for the journal.
    pub(super) fn name(&self) -> String {
        match self {
            Change::Run(run) => format!("run {} of {}", run.id, run.suite),
            Change::Case(case) => format!("case {} of run {}", case.record.case, case.record.run),
        }
    }

    /// Writes it in one transaction that is on the disk when this returns; `detailed` = with intervals and series.
    pub(super) fn write(&self, connection: &mut Connection, detailed: bool) -> Result<(), Trouble> {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        match self {
            Change::Run(run) => write_run(&transaction, run)?,
            Change::Case(case) => case.write(&transaction, detailed)?,
        }
        Ok(transaction.commit()?)
    }
}

fn write_run(connection: &Connection, run: &RunRecord) -> Result<(), Trouble> {
    let sql = "INSERT INTO run (id, suite, trigger, outcome, start_ns, end_ns, data) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE SET suite = ?2, trigger = ?3, \
               outcome = ?4, start_ns = ?5, end_ns = ?6, data = ?7";
    connection.prepare_cached(sql)?.execute(params![
        run.id.to_string(),
        run.suite,
        run.trigger.as_str(),
        run.outcome.map(|outcome| outcome.as_str()),
        nanoseconds(run.start),
        run.end.map(nanoseconds),
        serde_json::to_string(run)?,
    ])?;
    Ok(())
}

impl Case {
    fn write(&self, connection: &Connection, detailed: bool) -> Result<(), Trouble> {
        connection
            .prepare_cached("DELETE FROM record WHERE run = ?1 AND place = ?2")?
            .execute(params![self.record.run.to_string(), self.record.index])?;
        let id = self.write_record(connection, detailed)?;
        for (name, histogram) in &self.histograms {
            connection
                .prepare_cached("INSERT INTO histogram (record, name, v2) VALUES (?1, ?2, ?3)")?
                .execute(params![id, name, histogram.as_bytes()])?;
        }
        if detailed { self.write_details(connection, id) } else { Ok(()) }
    }

    fn write_record(&self, connection: &Connection, detailed: bool) -> Result<i64, Trouble> {
        let record = &self.record;
        let result = record.result.as_ref();
        let sql = "INSERT INTO record (run, place, suite, case_name, workload, target, outcome, start_ns, end_ns, \
                   per_second, p50, p95, p99, failed, detailed, data) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
        Ok(connection.prepare_cached(sql)?.insert(params![
            record.run.to_string(),
            record.index,
            record.suite,
            record.case,
            record.workload,
            record.target,
            record.outcome.as_str(),
            nanoseconds(record.start),
            nanoseconds(record.end),
            result.map(|result| result.per_second),
            result.and_then(|result| result.response.p50),
            result.and_then(|result| result.response.p95),
            result.and_then(|result| result.response.p99),
            result.map(|result| i64::try_from(result.errors.failed).unwrap_or(i64::MAX)),
            detailed,
            serde_json::to_string(record)?,
        ])?)
    }

    fn write_details(&self, connection: &Connection, id: i64) -> Result<(), Trouble> {
        if !self.intervals.is_empty() {
            connection
                .prepare_cached("INSERT INTO intervals (record, data) VALUES (?1, ?2)")?
                .execute(params![id, serde_json::to_string(&self.intervals)?])?;
        }
        let sql = "INSERT OR REPLACE INTO series (record, name, start_ns, step_ns, data) VALUES (?1, ?2, ?3, ?4, ?5)";
        for column in &self.series {
            let step = i64::try_from(column.step.duration().as_nanos()).unwrap_or(i64::MAX);
            let row = params![id, column.name, nanoseconds(column.start), step, pack(&column.values)];
            connection.prepare_cached(sql)?.execute(row)?;
        }
        Ok(())
    }
}

/// Nanoseconds since 1970; a time outside of the years 1677 to 2262 becomes the nearest inside.
pub(super) fn nanoseconds(at: Timestamp) -> i64 {
    let nanoseconds = at.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// The way back from [`nanoseconds`]; absent only where a timestamp cannot be, which no `i64` is.
pub(super) fn timestamp(nanoseconds: i64) -> Option<Timestamp> {
    Timestamp::from_nanosecond(i128::from(nanoseconds)).ok()
}

fn pack(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The way back from how values are stored; what is left of a value that was cut off is not a value.
pub(super) fn unpack(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().copied().map(f64::from_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn values_come_back_bit_for_bit(bits in prop::collection::vec(any::<u64>(), 0..50)) {
            let values: Vec<f64> = bits.iter().copied().map(f64::from_bits).collect();
            let back: Vec<u64> = unpack(&pack(&values)).iter().map(|value| value.to_bits()).collect();
            prop_assert_eq!(back, bits);
        }

        #[test]
        fn instants_come_back_exactly(at in any::<i64>()) {
            prop_assert_eq!(timestamp(at).map(nanoseconds), Some(at));
        }
    }
}
