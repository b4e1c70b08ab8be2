//! `benchd show`: a finished run, or one of its cases in full.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;

use super::source::Source;
use super::{Common, Output, text};
use crate::exit::{Ended, Exit};
use crate::record::{
    CaseView, Ceiling, LoadModel, Measured, Outcome, Percentiles, ResultView, RunView, Statements,
};
use crate::text::{byte_rate, counted, local_time, milliseconds, number, or_dash, table, took};
use crate::workloads;

/// A finished run, or one of its cases in full
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The run: SUITE (its last), SUITE~2 (two before), SUITE@2026-12-17 (the last of that day), the last 8 digits of its id, or the whole; and :CASE
    #[arg(value_name = "RUN[:CASE]")]
    name: String,
}

impl Show {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        let (run, case) = match self.name.split_once(':') {
            Some((run, case)) => (run, Some(case)),
            None => (self.name.as_str(), None),
        };
        let view = super::runtime()?.block_on(async { Source::find(common).await?.run(run).await })?;
        match (case, common.output) {
            (None, Output::Text) => text::print(&describe(&view)),
            (None, _) => text::print_json(&view),
            (Some(case), output) => show_case(&view, case, output),
        }
    }
}

fn show_case(view: &RunView, name: &str, output: Output) -> Result<Exit> {
    let case = view.cases.iter().find(|case| case.case == name).ok_or_else(|| {
        let names: Vec<&str> = view.cases.iter().map(|case| case.case.as_str()).collect();
        Ended::because(Exit::Wrong, format!("this run has no case `{name}`; it has {}", names.join(", ")))
    })?;
    if output == Output::Text { text::print(&describe_case(case)) } else { text::print_json(case) }
}

fn describe(view: &RunView) -> String {
    let run = &view.run;
    let outcome = run.outcome.map_or("under way", Outcome::as_str);
    let took = or_dash(run.end.map(|end| end.duration_since(run.start).as_secs_f64()), took);
    let mut text = format!(
        "{} {} on {}, {}, {took}, by {}: {outcome}, {} of {}\n",
        run.suite,
        run.id.short(),
        run.host,
        local_time(run.start),
        run.by,
        run.finished_cases,
        counted(run.planned_cases, "case")
    );
    if let Some(failure) = &run.failure {
        let _ = writeln!(text, "{}: {}", failure.stage, failure.message);
    }
    let _ = writeln!(text, "profile {}, benchd {}\n", run.profile, run.version);
    text.push_str(&cases(view));
    if let Some(case) = view.cases.first() {
        let _ = writeln!(text, "next  benchd show {}:{}", run.id.short(), case.case);
    }
    text
}

/// One row a case.
fn cases(view: &RunView) -> String {
    if view.cases.is_empty() {
        return String::new();
    }
    let head = ["CASE", "LOAD", "PER SECOND", "p50", "p95", "p99", "MAX", "ERRORS", "STATE"]
        .map(str::to_owned)
        .to_vec();
    let rows = view.cases.iter().map(case_row);
    let all: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    format!("{}ms; response time from intended start in open loop, from send in closed loop\n", table(&all))
}

fn case_row(case: &CaseView) -> Vec<String> {
    let result = case.result.as_ref();
    let ms = |pick: fn(&Percentiles) -> Option<f64>| {
        or_dash(result.and_then(|result| pick(&result.response_seconds)), milliseconds)
    };
    vec![
        case.case.clone(),
        or_dash(result, load),
        or_dash(result.map(|result| result.throughput.per_second), number),
        ms(|p| p.p50),
        ms(|p| p.p95),
        ms(|p| p.p99),
        ms(|p| p.max),
        or_dash(result.map(|result| result.errors.failed), |failed| failed.to_string()),
        case.outcome.to_string(),
    ]
}

fn load(result: &ResultView) -> String {
    match (result.load.model, result.load.asked_per_second) {
        (LoadModel::Open, Some(rate)) => format!("{rate}/s open"),
        _ => format!("{} closed", result.load.clients),
    }
}

fn describe_case(case: &CaseView) -> String {
    let target = case.target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
    let mut text = match &case.result {
        Some(result) => format!(
            "{}{target}: {}, {} {}s/s, p95 {} ms{}{}\n",
            case.case,
            case.outcome,
            number(result.throughput.per_second),
            case.operation,
            or_dash(result.response_seconds.p95, milliseconds),
            result.measured.steady.map_or("", |steady| if steady { ", steady" } else { ", not steady" }),
            if result.generator.limited { ", the generator was the limit" } else { "" }
        ),
        None => format!("{}{target}: {}, nothing was measured\n", case.case, case.outcome),
    };
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<11} {value}");
    };
    if let Some(failure) = &case.failure {
        line("failure", format!("in {}: {}", failure.stage, failure.message));
    }
    if let Some(result) = &case.result {
        measured(result, &case.operation, &mut line);
    }
    let stages = case.stage_seconds.iter().map(|(stage, seconds)| format!("{stage} {seconds:.1} s"));
    line("stages", stages.collect::<Vec<_>>().join(", "));
    if !case.target_facts.is_empty() {
        line("target", facts(&case.target_facts));
    }
    limits(&case.limits, &mut line);
    line("parameters", parameters(case));
    for note in &case.notes {
        line("note", note.clone());
    }
    text
}

/// What was asked for and could not be, and why.
fn missing(limit: &str) -> Option<(&str, &str)> {
    limit.strip_prefix("not applied ")?.split_once(": ")
}

/// The limits that held, and those that did not by the reason, which is often the same for several.
fn limits(all: &BTreeMap<String, String>, line: &mut impl FnMut(&str, String)) {
    let (mut held, mut by_reason) = (Vec::new(), BTreeMap::<&str, Vec<String>>::new());
    for (name, value) in all {
        match missing(value) {
            Some((asked, reason)) => by_reason.entry(reason).or_default().push(format!("{name} {asked}")),
            None => held.push(format!("{name} {value}")),
        }
    }
    if !held.is_empty() {
        line("limits", held.join(", "));
    }
    for (reason, names) in by_reason {
        line("not applied", format!("{}: {reason}", names.join(", ")));
    }
}

/// The facts that explain most; all of them are in the JSON.
const TELLING_FACTS: &[&str] = &[
    "flavour",
    "version",
    "path",
    "filesystem",
    "device",
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "innodb_flush_method",
    "preload",
];

fn facts(all: &BTreeMap<String, String>) -> String {
    let fact = |name: &&str| all.get(*name).map(|value| format!("{name} {value}"));
    let told: Vec<String> = TELLING_FACTS.iter().filter_map(fact).collect();
    let more = match all.len() - told.len() {
        0 => String::new(),
        more => format!(" ({more} more with --output json)"),
    };
    format!("{}{more}", told.join(", "))
}

/// The parameters that are not at their defaults.
fn parameters(case: &CaseView) -> String {
    let defaults = workloads::find(&case.workload).map(|kind| (kind.defaults)()).unwrap_or_default();
    let differs = |(key, value): &(&String, &serde_json::Value)| defaults.get(*key) != Some(*value);
    let told: Vec<String> =
        case.parameters.iter().filter(differs).map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{}; the others at their defaults", told.join(", "))
}

/// What was measured, a line each.
fn measured(result: &ResultView, operation: &str, line: &mut dyn FnMut(&str, String)) {
    let (load, errors) = (&result.load, &result.errors);
    let plural = if load.clients == 1 { "" } else { "s" };
    line("load", format!("{} loop, {} client{plural}{}", load.model, load.clients, asked(result)));
    line("warm-up", warm_up(&result.measured));
    line("throughput", rates(result, operation));
    if let Some(bytes) = bytes(result) {
        line("bytes", bytes);
    }
    for (kind, times) in &result.operations {
        line(kind, by_kind(times, result.measured.seconds));
    }
    for (kind, ceiling) in &result.ceilings {
        line("ceiling", of_device(kind, ceiling));
    }
    line("response", percentiles(&result.response_seconds));
    if load.model == LoadModel::Open {
        line("service", percentiles(&result.service_seconds));
        line("sent late", percentiles(&result.lag_seconds));
    }
    let codes: Vec<String> = errors.by_code.iter().map(|(code, count)| format!("{code}: {count}")).collect();
    line(
        "errors",
        format!(
            "{} failed, {} tried again{}{}",
            errors.failed,
            errors.retried,
            if codes.is_empty() { "" } else { "; by code " },
            codes.join(", ")
        ),
    );
    let generator = &result.generator.cost;
    if result.failed_seconds.count > 0 {
        line("failed in", percentiles(&result.failed_seconds));
    }
    if result.overflow > 0 {
        line("overflow", format!("{} times were longer than 600 s and count as 600 s", result.overflow));
    }
    line(
        "generator",
        format!(
            "{}: {:.0} % of a CPU, {:.1} µs an operation, {:.1} MiB",
            limit(result),
            share_of_a_cpu(result) * 100.0,
            generator.cpu_seconds_per_operation * 1e6,
            generator.peak_memory_bytes as f64 / f64::from(1 << 20)
        ),
    );
}

/// Operations and statements, with how far to be trusted.
fn rates(result: &ResultView, operation: &str) -> String {
    let throughput = &result.throughput;
    let statements = throughput.statements;
    let error = throughput.error.map(|error| format!(" (within-run error ±{:.1} %)", error * 100.0));
    let Statements { read, write, other } = statements;
    let statements = match statements.total() {
        0 => String::new(),
        total => format!("; {}: {read} read, {write} write, {other} other", counted(total, "statement")),
    };
    format!(
        "{} {operation}s, {}/s{}{}{statements}",
        throughput.operations,
        number(throughput.per_second),
        error.unwrap_or_default(),
        after_the_beginning(result)
    )
}

/// How many of a kind, how many a second, and their times where they are told apart.
fn by_kind(times: &Percentiles, seconds: f64) -> String {
    let count = format!("{}, {}/s", times.count, number(times.count as f64 / seconds.max(f64::MIN_POSITIVE)));
    match times.max {
        Some(_) => format!("{count}; {}", percentiles(times)),
        None => count,
    }
}

/// What the device can do at least.
fn of_device(kind: &str, ceiling: &Ceiling) -> String {
    let bytes = ceiling.bytes_per_second.map(|rate| format!(", {}", byte_rate(rate))).unwrap_or_default();
    format!("of the device, {kind}: {}/s{bytes}", number(ceiling.operations_per_second))
}

/// Bytes and durable writes, for workloads that count them.
fn bytes(result: &ResultView) -> Option<String> {
    let throughput = &result.throughput;
    let a_second = |count: u64| count as f64 / result.measured.seconds.max(f64::MIN_POSITIVE);
    let moved = [("read", throughput.bytes_read), ("written", throughput.bytes_written)];
    let mut parts: Vec<String> = moved
        .iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(word, bytes)| format!("{} {word}", byte_rate(a_second(*bytes))))
        .collect();
    if throughput.fsyncs > 0 {
        parts.push(format!("{} fsyncs, {}/s", throughput.fsyncs, number(a_second(throughput.fsyncs))));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn limit(result: &ResultView) -> String {
    match &result.generator.limited_by {
        Some(why) => format!(
            "the limit, {why}; {}/s is a lower bound of what the target can do",
            number(result.throughput.per_second)
        ),
        None => "not the limit".to_owned(),
    }
}

fn share_of_a_cpu(result: &ResultView) -> f64 {
    let seconds = result.measured.seconds;
    if seconds > 0.0 { result.generator.cost.cpu_seconds / seconds } else { 0.0 }
}

/// What was left out before measuring, what was measured, and whether that was steady.
fn warm_up(measured: &Measured) -> String {
    let mut text =
        format!("{:.1} s as configured; measured {:.1} s", measured.warm_up_seconds, measured.seconds);
    if let (Some(cut), Some(drift)) = (measured.cut_seconds, measured.drift) {
        if cut > 0.0 {
            let _ = write!(text, ", the first {cut:.1} s of it not yet steady");
        }
        let _ = write!(text, ", drift {:+.1} %: ", drift * 100.0);
        match &measured.not_steady {
            Some(why) => {
                let _ = write!(text, "not steady, {why}");
            }
            None => text.push_str("steady"),
        }
    }
    text
}

/// The throughput without the beginning, where there is one to leave out.
fn after_the_beginning(result: &ResultView) -> String {
    let cut = result.measured.cut_seconds.filter(|cut| *cut > 0.0);
    let rate = cut.and(result.throughput.steady_per_second);
    rate.map(|rate| format!(", {}/s once steady", number(rate))).unwrap_or_default()
}

fn asked(result: &ResultView) -> String {
    let load = &result.load;
    let Some(rate) = load.asked_per_second else { return String::new() };
    let overloaded = if load.overloaded { ", overloaded: not all of it was achieved" } else { "" };
    let ages = match (load.never_sent_oldest_seconds, load.never_sent_youngest_seconds) {
        (Some(oldest), Some(youngest)) => {
            format!(" (due {} to {} ms at the end)", milliseconds(youngest), milliseconds(oldest))
        }
        _ => String::new(),
    };
    format!(", {rate}/s asked, {} never sent{ages}{overloaded}", load.never_sent)
}

fn percentiles(p: &Percentiles) -> String {
    let named =
        [("p50", p.p50), ("p90", p.p90), ("p95", p.p95), ("p99", p.p99), ("p99.9", p.p99_9), ("max", p.max)];
    let each: Vec<String> =
        named.iter().map(|(name, value)| format!("{name} {}", or_dash(*value, milliseconds))).collect();
    let beyond = [p.beyond.p50, p.beyond.p90, p.beyond.p95, p.beyond.p99, p.beyond.p99_9];
    let absent = named.iter().zip(beyond).find(|((_, value), _)| p.count > 0 && value.is_none());
    let needs = absent.map(|((name, _), has)| format!(" ({name} needs 10 samples beyond it, has {has})"));
    format!("{} ms{}", each.join("  "), needs.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The lines that tell of a result, made of its JSON with these changes.
    fn lines(change: &dyn Fn(&mut Value)) -> String {
        let times = json!({"count": 9_000, "mean": 0.002, "p50": 0.002, "p90": 0.004, "p95": 0.005, "p99": 0.009,
            "p99.9": null, "max": 0.044, "beyond": {"p50": 4_500, "p90": 900, "p95": 450, "p99": 90, "p99.9": 8}});
        let none = json!({"count": 0, "mean": null});
        let mut result = json!({
            "load": {"model": "open", "clients": 4, "asked_per_second": 200.0, "achieved_per_second": 150.0,
                "never_sent": 0, "overloaded": false},
            "measured": {"seconds": 60.0, "warm_up_seconds": 10.0},
            "throughput": {"operations": 9_000, "per_second": 150.0,
                "statements": {"read": 0, "write": 0, "other": 0}},
            "response_seconds": times, "service_seconds": times, "lag_seconds": none,
            "errors": {"failed": 0, "retried": 0, "by_code": {}},
            "generator": {"cpu_seconds": 1.2, "cpu_seconds_per_operation": 0.000041,
                "peak_memory_bytes": 10_276_044, "limited": false},
        });
        change(&mut result);
        let mut text = String::new();
        measured(&serde_json::from_value(result).unwrap(), "transaction", &mut |name, value| {
            let _ = writeln!(text, "{name}: {value}");
        });
        text
    }

    #[test]
    fn what_an_older_record_does_not_know_is_not_shown() {
        let text = lines(&|_| ());
        assert!(text.contains("warm-up: 10.0 s as configured; measured 60.0 s\n"), "{text}");
        assert!(
            text.contains("generator: not the limit: 2 % of a CPU, 41.0 µs an operation, 9.8 MiB\n"),
            "{text}"
        );
        assert!(text.contains("throughput: 9000 transactions, 150.0/s\n"), "{text}");
        assert!(text.contains("p99.9 –  max 44.00 ms (p99.9 needs 10 samples beyond it, has 8)"), "{text}");
        assert!(!text.contains("overflow") && !text.contains("failed in"), "{text}");
    }

    #[test]
    fn kinds_of_operations_and_what_the_device_gave_are_shown_apart() {
        let text = lines(&|result| {
            result["operations"] = json!({
                "read": result["response_seconds"], "fsync": {"count": 60, "mean": null, "max": null}
            });
            result["ceilings"] = json!({
                "read": {"operations_per_second": 150.0, "bytes_per_second": 614_400.0},
                "fsync": {"operations_per_second": 1.0}
            });
        });
        for expected in [
            "read: 9000, 150.0/s; p50 2.00",
            "fsync: 60, 1.00/s\n",
            "ceiling: of the device, read: 150.0/s, ",
            "ceiling: of the device, fsync: 1.00/s\n",
        ] {
            assert!(text.contains(expected), "{expected} is not in\n{text}");
        }
    }

    #[test]
    fn doubts_about_a_result_are_shown_with_it() {
        let text = lines(&|result| {
            result["measured"]["cut_seconds"] = json!(5.0);
            result["measured"]["steady"] = json!(false);
            result["measured"]["drift"] = json!(-0.06);
            result["measured"]["not_steady"] = json!("the throughput changed");
            result["throughput"]["error"] = json!(0.008);
            result["throughput"]["steady_per_second"] = json!(160.0);
            result["generator"]["limited"] = json!(true);
            result["generator"]["limited_by"] = json!("it used 96 % of its 2 CPUs (limit 80 %)");
            result["load"]["never_sent"] = json!(3_000);
            result["load"]["never_sent_oldest_seconds"] = json!(15.0);
            result["load"]["never_sent_youngest_seconds"] = json!(0.004);
            result["load"]["overloaded"] = json!(true);
            result["failed_seconds"] = result["response_seconds"].clone();
            result["overflow"] = json!(2);
            result["throughput"]["statements"] = json!({"read": 5, "write": 2, "other": 1});
        });
        for expected in [
            "measured 60.0 s, the first 5.0 s of it not yet steady, drift -6.0 %: not steady, the throughput changed",
            "150.0/s (within-run error ±0.8 %), 160.0/s once steady",
            "generator: the limit, it used 96 % of its 2 CPUs (limit 80 %); 150.0/s is a lower bound",
            "3000 never sent (due 4.00 to 15,000 ms at the end), overloaded",
            "failed in: p50 2.00",
            "once steady; 8 statements: 5 read, 2 write, 1 other",
            "overflow: 2 times were longer than 600 s",
        ] {
            assert!(text.contains(expected), "{expected} is not in\n{text}");
        }
    }

    #[test]
    fn limits_that_did_not_hold_are_told_by_their_reason() {
        let all = [
            ("nice", "0"),
            ("io_weight", "not applied (10): no group"),
            ("cpus", "not applied (9): no CPU 9"),
            ("cpu_weight", "not applied (20): no group"),
        ];
        let all = all.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let mut told = Vec::new();
        limits(&all, &mut |name, value| told.push(format!("{name}: {value}")));
        let expected = [
            "limits: nice 0",
            "not applied: cpus (9): no CPU 9",
            "not applied: cpu_weight (20), io_weight (10): no group",
        ];
        assert_eq!(told, expected);
    }
}
