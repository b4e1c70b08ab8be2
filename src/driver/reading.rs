//! Readings of what all clients have counted, and what they say: of two an interval, of the last one the result.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::record::{Errors, Interval, LIVE_BUCKETS_SECONDS, Percentiles, Statements};

use super::ErrorCode;
use super::buckets::{Buckets, Sum};
use super::part::{Part, nanoseconds};
use super::tally::Counts;

/// The sum over all clients at one instant.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    /// The instant on the clock.
    pub(super) at: u64,
    /// Operations that were sent.
    pub(super) sent: u64,
    /// Operations that were completed.
    pub(super) completed: u64,
    /// Operations that failed for good.
    pub(super) failed: u64,
    /// Attempts that were tried again.
    pub(super) retried: u64,
    pub(super) statements: Statements,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    /// Requests to make written data durable that were answered.
    pub(super) fsyncs: u64,
    /// Failed attempts by code.
    pub(super) codes: BTreeMap<ErrorCode, u64>,
    /// Response times in the buckets of the part's layout.
    response: Vec<u64>,
}

impl Reading {
    /// Nothing yet, at the instant.
    pub(super) fn nothing(part: &Part, at: u64) -> Reading {
        Reading { at, response: vec![0; part.layout.len()], ..Reading::default() }
    }

    /// What the clients of a part have counted by now.
    pub(super) fn take(part: &Part, at: u64) -> Reading {
        let mut reading = Reading { at, ..Reading::default() };
        let mut response = Sum::new(part.layout);
        for counts in &part.counts {
            reading.sent += counts.sent.get();
            reading.failed += counts.failed.get();
            reading.retried += counts.retried.get();
            reading.statements += counts.statements();
            reading.bytes_read += counts.bytes_read.get();
            reading.bytes_written += counts.bytes_written.get();
            reading.fsyncs += counts.fsyncs.get();
            counts.codes.iter().for_each(|(code, count)| *reading.codes.entry(code).or_default() += count);
            counts.response.add_to(&mut response);
        }
        reading.response = response.counts;
        reading.completed = reading.response.iter().sum();
        reading
    }

    /// What was counted between an earlier reading and this one.
    pub(super) fn since(&self, earlier: &Reading) -> Reading {
        let codes =
            self.codes.iter().map(|(code, count)| (*code, count - earlier.codes.get(code).unwrap_or(&0)));
        Reading {
            at: self.at,
            sent: self.sent - earlier.sent,
            completed: self.completed - earlier.completed,
            failed: self.failed - earlier.failed,
            retried: self.retried - earlier.retried,
            statements: Statements {
                read: self.statements.read - earlier.statements.read,
                write: self.statements.write - earlier.statements.write,
                other: self.statements.other - earlier.statements.other,
            },
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_written: self.bytes_written - earlier.bytes_written,
            fsyncs: self.fsyncs - earlier.fsyncs,
            codes: codes.filter(|(_, count)| *count > 0).collect(),
            response: self.response.iter().zip(&earlier.response).map(|(now, then)| now - then).collect(),
        }
    }

    /// The share of operations that failed, of those that ended.
    pub(super) fn failed_share(&self) -> f64 {
        self.failed as f64 / self.ended().max(1) as f64
    }

    /// Operations that ended, well or not.
    pub(super) fn ended(&self) -> u64 {
        self.completed + self.failed
    }

    /// The response times.
    pub(super) fn response(&self, part: &Part, histogram: &mut Histogram<u64>) {
        part.layout.fill(histogram, &self.response);
    }

    /// All errors.
    pub(super) fn errors(&self) -> Errors {
        Errors { failed: self.failed, retried: self.retried, by_code: by_text(&self.codes) }
    }

    /// The interval from an earlier reading to this one, in a part that began at the instant `start`.
    pub(super) fn interval(
        &self,
        earlier: &Reading,
        part: &Part,
        start: u64,
        histogram: &mut Histogram<u64>,
    ) -> Interval {
        let between = self.since(earlier);
        between.response(part, histogram);
        Interval {
            at: seconds(self.at - start),
            seconds: seconds(self.at - earlier.at),
            operations: between.completed,
            statements: between.statements,
            response: Percentiles::brief(histogram),
            errors: by_text(&between.codes),
            retried: between.retried,
            overdue: 0,
            buckets: LIVE_BUCKETS_SECONDS.iter().map(|bound| count_up_to(histogram, *bound)).collect(),
            response_sum: histogram.mean() * histogram.len() as f64 / 1e9,
        }
    }
}

/// The distribution of times that each client keeps for itself, all of one layout.
pub(super) fn merge<'a>(
    part: &'a Part,
    histogram: &mut Histogram<u64>,
    of: impl Fn(&'a Counts) -> Option<&'a Buckets>,
) {
    let all: Vec<&Buckets> = part.counts.iter().filter_map(|counts| of(counts)).collect();
    Buckets::merge(&all, histogram);
}

/// Nanoseconds as seconds.
pub(super) fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn count_up_to(histogram: &Histogram<u64>, bound_seconds: f64) -> u64 {
    histogram.count_between(0, nanoseconds(Duration::from_secs_f64(bound_seconds)))
}

fn by_text(codes: &BTreeMap<ErrorCode, u64>) -> BTreeMap<String, u64> {
    codes.iter().map(|(code, count)| (code.as_text(), *count)).collect()
}
