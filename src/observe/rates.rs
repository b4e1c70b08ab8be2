//! Rates: a pure function of two samples.
//!
//! What cannot be known is absent, never 0 and never negative: a counter that only one of the two samples has, one
//! that went back, and all of them when the server was started between the two.

use super::sample::ServerSample;
use super::status::Status;

/// What happened on a server between two samples, a second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServerRates {
    /// Statements received from clients.
    pub questions: Option<f64>,
    /// Commits.
    pub commits: Option<f64>,
    /// Rows read by handlers.
    pub rows_read: Option<f64>,
    /// Rows written, updated and deleted by handlers.
    pub rows_changed: Option<f64>,
    /// Bytes received from clients.
    pub received: Option<f64>,
    /// Bytes sent to clients.
    pub sent: Option<f64>,
    /// Bytes of redo written.
    pub redo: Option<f64>,
    /// Calls of fsync by InnoDB.
    pub fsyncs: Option<f64>,
    /// Waits for row locks.
    pub row_lock_waits: Option<f64>,
    /// Waits for the redo log's buffer.
    pub log_waits: Option<f64>,
    /// Share of logical reads of pages that did not go to disk; unknown when there were none.
    pub buffer_pool_hits: Option<f64>,
}

impl ServerRates {
    /// The rates from an older to a newer sample of the same server.
    pub fn between(older: &ServerSample, newer: &ServerSample) -> ServerRates {
        let (old, new) = (&older.status, &newer.status);
        let seconds = newer.moment.seconds_since(older.moment);
        let Some(seconds) = seconds.filter(|seconds| is_the_same(older, newer, *seconds)) else {
            return ServerRates::default();
        };
        let grown = |counter: fn(&Status) -> Option<u64>| {
            counter(new)?.checked_sub(counter(old)?).map(|grown| grown as f64)
        };
        let rate = |counter| grown(counter).map(|grown| grown / seconds);
        ServerRates {
            questions: rate(|status| status.questions),
            commits: rate(|status| status.com_commit),
            rows_read: rate(Status::rows_read),
            rows_changed: rate(rows_changed),
            received: rate(|status| status.bytes_received),
            sent: rate(|status| status.bytes_sent),
            redo: rate(|status| status.log_written),
            fsyncs: rate(|status| status.data_fsyncs),
            row_lock_waits: rate(|status| status.row_lock_waits),
            log_waits: rate(|status| status.log_waits),
            buffer_pool_hits: grown(|status| status.pool_read_requests).and_then(|requests| {
                let missed = grown(|status| status.pool_reads)?;
                (requests > 0.0).then(|| (1.0 - missed / requests).max(0.0))
            }),
        }
    }
}

/// Whether the server was not started between the two: then it grew older by the time between them, but for what
/// whole seconds lose and the time it took to answer.
fn is_the_same(older: &ServerSample, newer: &ServerSample, seconds: f64) -> bool {
    let age = |sample: &ServerSample| sample.status.uptime.map(|uptime| uptime as f64);
    let (Some(before), Some(after)) = (age(older), age(newer)) else { return false };
    after >= before.max(before + seconds - older.took.as_secs_f64() - 1.0)
}

fn rows_changed(status: &Status) -> Option<u64> {
    [status.rows_written, status.rows_updated, status.rows_deleted].into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::super::sample::sample_of;
    use super::*;

    fn status(uptime: u64, questions: u64, requests: u64, reads: u64) -> Status {
        Status {
            uptime: Some(uptime),
            questions: Some(questions),
            pool_read_requests: Some(requests),
            pool_reads: Some(reads),
            ..Status::default()
        }
    }

    fn between(old: Status, new: Status) -> ServerRates {
        ServerRates::between(&sample_of(10, old), &sample_of(12, new))
    }

    #[test]
    fn a_rate_is_what_a_counter_grew_in_a_second() {
        let rates = between(status(100, 50, 1000, 10), status(102, 80, 2000, 60));
        assert_eq!((rates.questions, rates.buffer_pool_hits), (Some(15.0), Some(0.95)));
        assert_eq!(rates.commits, None, "not offered");
    }

    #[test]
    fn a_server_that_was_started_between_two_samples_has_no_rates() {
        for (before, after) in [(100, 1), (2, 1), (4, 4)] {
            let rates = between(status(before, 50, 0, 0), status(after, 80, 0, 0));
            assert_eq!(rates, ServerRates::default(), "{before} s old, then {after}");
        }
        let rates = between(status(4, 50, 0, 0), status(5, 80, 0, 0));
        assert_eq!(rates.questions, Some(15.0), "whole seconds lose up to one");
    }

    #[test]
    fn a_counter_that_went_back_and_an_idle_buffer_pool_have_none() {
        let rates = between(status(100, 50, 7, 7), status(102, 20, 7, 7));
        assert_eq!((rates.questions, rates.buffer_pool_hits), (None, None));
    }
}
