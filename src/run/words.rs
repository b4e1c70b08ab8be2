//! The events of a run as lines of text, in the order people grep today.

use std::collections::BTreeMap;

use crate::record::{Event, Interval, Outcome};
use crate::text::{byte_rate, counted, number, or_dash, took};

/// The line for an event; `None` for events that are worth no line.
pub fn line(event: &Event) -> Option<String> {
    match event {
        Event::Interval { t, case, warm_up, clients, interval, .. } => {
            Some(interval_line(*t, case, *warm_up, *clients, interval))
        }
        Event::Note { text, .. } => Some(format!("note      {text}")),
        Event::Guard { check, .. } => {
            Some(format!("✗ {}  {} (limit {}) {}", check.guard, check.measured, check.limit, check.advice))
        }
        Event::Result { .. } => Some(result_line(event)),
        Event::End { t, outcome, finished, of, message } => {
            let why = message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
            Some(format!("{outcome} in {}: {finished} of {}{why}", took(*t), counted(*of, "case")))
        }
        Event::Progress { t, case, stage, done, of, unit, per_second } => {
            Some(format!("[ {t:.0}s ] {case} {stage} {}", progress(*done, *of, unit, *per_second)))
        }
        Event::Stage { .. } => None,
    }
}

/// `11.2 of 25.0 M rows, 84.0 k rows/s, 2 min 44 s left`.
pub fn progress(done: u64, of: u64, unit: &str, per_second: Option<f64>) -> String {
    let (scale, letter) = magnitude(of as f64);
    let share =
        |number: u64| if scale > 1.0 { format!("{:.1}", number as f64 / scale) } else { number.to_string() };
    let amount = format!("{} of {}{letter} {unit}", share(done), share(of));
    let Some(rate) = per_second.filter(|rate| *rate > 0.0) else { return amount };
    let (scale, letter) = magnitude(rate);
    let left = if done < of { format!(", {} left", took((of - done) as f64 / rate)) } else { String::new() };
    format!("{amount}, {:.1}{letter} {unit}/s{left}", rate / scale)
}

/// What large numbers are divided by, and the letter for that.
fn magnitude(number: f64) -> (f64, &'static str) {
    match number {
        large if large >= 1e6 => (1e6, " M"),
        middle if middle >= 1e4 => (1e3, " k"),
        _ => (1.0, ""),
    }
}

fn interval_line(t: f64, case: &str, warm_up: bool, clients: u32, interval: &Interval) -> String {
    let per_second = |count: u64| count as f64 / interval.seconds.max(f64::MIN_POSITIVE);
    let statements = interval.statements;
    let queries = if statements.total() == 0 {
        String::new()
    } else {
        let [read, write, other] = [statements.read, statements.write, statements.other].map(per_second);
        format!(" qps: {:.2} (r/w/o: {read:.2}/{write:.2}/{other:.2})", per_second(statements.total()))
    };
    let shown = |seconds: f64| match seconds * 1e3 {
        tiny if tiny < 0.005 => number(tiny),
        plain => format!("{plain:.2}"),
    };
    let at = |value: Option<f64>| or_dash(value, shown);
    let latency = [interval.response.p50, interval.response.p95, interval.response.p99].map(at).join("/");
    format!(
        "[ {t:.0}s ] {case} clients: {clients} tps: {:.2}{queries} lat (ms,p50/p95/p99): {latency} err/s: {:.2} overdue: {}{}",
        per_second(interval.operations),
        errors_per_second(&interval.errors, interval.seconds),
        interval.overdue,
        if warm_up { " (warm up)" } else { "" },
    )
}

fn errors_per_second(errors: &BTreeMap<String, u64>, seconds: f64) -> f64 {
    errors.values().sum::<u64>() as f64 / seconds.max(f64::MIN_POSITIVE)
}

/// `✔ cpu  1 thread  862 events/s  p95 1.17 ms  err 0`.
fn result_line(event: &Event) -> String {
    let Event::Result {
        case,
        outcome,
        per_second,
        p95_ms,
        bytes_per_second: bytes,
        failed,
        operation,
        load,
        message,
        ..
    } = event
    else {
        return String::new();
    };
    if *outcome != Outcome::Finished {
        return format!("✗ {case:<18} {outcome}: {}", message.as_deref().unwrap_or("no reason was given"));
    }
    let unit = if operation == "transaction" { "tps".to_owned() } else { format!("{operation}s/s") };
    let speed = or_dash(*per_second, |speed| format!("{} {unit}", number(speed)));
    let p95 = or_dash(*p95_ms, |milliseconds| format!("{} ms", number(milliseconds)));
    let bytes = bytes.map(|bytes| format!("   {}", byte_rate(bytes))).unwrap_or_default();
    format!("✔ {case:<18} {load:<20} {speed:>16}   p95 {p95:>9}   err {failed}{bytes}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Percentiles, Statements};

    #[test]
    fn an_interval_is_one_line_that_can_be_searched_as_sysbenchs() {
        let interval = Interval {
            at: 23.0,
            seconds: 1.0,
            operations: 201,
            statements: Statements { read: 0, write: 804, other: 402 },
            response: Percentiles {
                p50: Some(0.0019),
                p95: Some(0.0038),
                p99: None,
                ..Percentiles::default()
            },
            errors: BTreeMap::new(),
            retried: 0,
            overdue: 0,
            buckets: Vec::new(),
            response_sum: 0.0,
        };
        assert_eq!(
            interval_line(23.2, "oltp_write_only", false, 4, &interval),
            "[ 23s ] oltp_write_only clients: 4 tps: 201.00 qps: 1206.00 (r/w/o: 0.00/804.00/402.00) \
             lat (ms,p50/p95/p99): 1.90/3.80/– err/s: 0.00 overdue: 0"
        );
    }

    #[test]
    fn progress_says_how_far_how_fast_and_how_long() {
        assert_eq!(
            progress(11_200_000, 25_000_000, "rows", Some(84_000.0)),
            "11.2 of 25.0 M rows, 84.0 k rows/s, 2 min 44 s left"
        );
        assert_eq!(progress(500, 1_000, "rows", None), "500 of 1000 rows");
        assert_eq!(progress(20_000, 20_000, "rows", Some(900.0)), "20.0 of 20.0 k rows, 900.0 rows/s");
    }

    #[test]
    fn a_load_that_counts_bytes_says_how_many_a_second() {
        let event = Event::Result {
            t: 1.0,
            case: "memory".to_owned(),
            index: 1,
            outcome: Outcome::Finished,
            per_second: Some(183_501.0),
            p95_ms: Some(0.0061),
            bytes_per_second: Some(11.2 * f64::from(1 << 30)),
            failed: 0,
            operation: "block".to_owned(),
            load: "1 thread".to_owned(),
            message: None,
        };
        let line =
            "✔ memory             1 thread             183,501 blocks/s   p95 0.0061 ms   err 0   11.2 GiB/s";
        assert_eq!(result_line(&event), line);
    }

    #[test]
    fn a_case_that_did_not_finish_says_why() {
        let event = Event::Result {
            t: 1.0,
            case: "cpu".to_owned(),
            index: 1,
            outcome: Outcome::Failed,
            per_second: None,
            p95_ms: None,
            bytes_per_second: None,
            failed: 0,
            operation: "event".to_owned(),
            load: "1 thread".to_owned(),
            message: Some("no".to_owned()),
        };
        assert_eq!(result_line(&event), "✗ cpu                failed: no");
    }
}
