//! Samples as columns of numbers: how the server's part of a run's series is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rates::ServerRates;
use super::sample::ServerSample;

/// States at, and rates between neighbouring samples as columns, sorted by name.
///
/// Every column has one value for each pair of neighbours, so one fewer than there are samples; NaN where the
/// value is unknown. A column of which no value is known is left out.
///
/// | name | unit |
/// |---|---|
/// | `database.threads_running`, `.threads_connected` | threads, benchd's own not counted; connections |
/// | `database.questions`, `.commits`, `.rows_read`, `.rows_changed` | 1/s |
/// | `database.received`, `.sent`, `.redo` | bytes/s |
/// | `database.fsyncs`, `.log_waits`, `.row_lock_waits` | 1/s |
/// | `database.buffer_pool_hits` | share of logical reads, 0–1 |
/// | `database.checkpoint_age`, `.dirty` | bytes |
/// | `database.history_list`, `.row_locks_waiting` | undo records; waits now |
/// | `database.replica_lag` | seconds |
pub fn columns(samples: &[Arc<ServerSample>]) -> Vec<(String, Vec<f64>)> {
    let length = samples.len().saturating_sub(1);
    let mut columns = BTreeMap::new();
    for (row, pair) in samples.windows(2).enumerate() {
        let rates = ServerRates::between(&pair[0], &pair[1]);
        for (name, value) in states(&pair[1]).into_iter().chain(changes(&rates)) {
            if let Some(value) = value {
                let column: &mut Vec<f64> = columns.entry(name).or_insert_with(|| vec![f64::NAN; length]);
                column[row] = value;
            }
        }
    }
    columns.into_iter().map(|(name, values)| (format!("database.{name}"), values)).collect()
}

fn states(sample: &ServerSample) -> [(&'static str, Option<f64>); 7] {
    let status = &sample.status;
    [
        ("threads_running", sample.others_running()),
        ("threads_connected", status.threads_connected),
        ("checkpoint_age", status.checkpoint_age()),
        ("dirty", status.bytes(status.pages_dirty)),
        ("history_list", status.history_list_length),
        ("row_locks_waiting", status.row_lock_current_waits),
        ("replica_lag", sample.lag()),
    ]
    .map(|(name, value)| (name, value.map(|value| value as f64)))
}

fn changes(rates: &ServerRates) -> [(&'static str, Option<f64>); 11] {
    [
        ("questions", rates.questions),
        ("commits", rates.commits),
        ("rows_read", rates.rows_read),
        ("rows_changed", rates.rows_changed),
        ("received", rates.received),
        ("sent", rates.sent),
        ("redo", rates.redo),
        ("fsyncs", rates.fsyncs),
        ("row_lock_waits", rates.row_lock_waits),
        ("log_waits", rates.log_waits),
        ("buffer_pool_hits", rates.buffer_pool_hits),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::sample::sample_of;
    use super::super::status::Status;
    use super::*;

    #[test]
    fn a_column_has_a_value_for_each_pair_and_is_left_out_where_none_is_known() {
        let samples: Vec<Arc<ServerSample>> = [(0, Some(10)), (2, None), (4, Some(30)), (6, Some(50))]
            .into_iter()
            .map(|(second, questions)| {
                let status = Status {
                    uptime: Some(second),
                    questions,
                    threads_connected: Some(second),
                    ..Status::default()
                };
                Arc::new(sample_of(second, status))
            })
            .collect();
        let columns: BTreeMap<String, Vec<f64>> = columns(&samples).into_iter().collect();
        assert_eq!(columns["database.threads_connected"], [2.0, 4.0, 6.0]);
        let questions = &columns["database.questions"];
        assert!(questions[0].is_nan() && questions[1].is_nan() && questions[2] == 10.0, "{questions:?}");
        assert_eq!(columns.len(), 2);
    }
}
