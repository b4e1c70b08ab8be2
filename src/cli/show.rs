//! `benchd show`: a finished run, or one of its cases in full.

use std::fmt::Write as _;

use anyhow::Result;

use super::source::Source;
use super::{Common, Output, text};
use crate::exit::{Ended, Exit};
use crate::record::{CaseView, LoadModel, Outcome, Percentiles, ResultView, RunView};
use crate::text::{byte_rate, local_time, milliseconds, number, or_dash, table, took};

/// A finished run, or one of its cases in full
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The run: SUITE (its last), SUITE~2 (two before), the last 8 digits of its id, or the whole; and :CASE
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
        "{} {} on {}, {}, {took}, by {}: {outcome}, {} of {} cases\n",
        run.suite,
        run.id.short(),
        run.host,
        local_time(run.start),
        run.by,
        run.finished_cases,
        run.planned_cases
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
            "{}{target}: {}, {} {}s/s, p95 {} ms\n",
            case.case,
            case.outcome,
            number(result.throughput.per_second),
            case.operation,
            or_dash(result.response_seconds.p95, milliseconds)
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
    let facts: Vec<String> =
        case.target_facts.iter().map(|(name, value)| format!("{name} {value}")).collect();
    if !facts.is_empty() {
        line("target", facts.join(", "));
    }
    line("parameters", serde_json::Value::Object(case.parameters.clone()).to_string());
    for note in &case.notes {
        line("note", note.clone());
    }
    text
}

/// What was measured, a line each.
fn measured(result: &ResultView, operation: &str, line: &mut dyn FnMut(&str, String)) {
    let (load, throughput, errors) = (&result.load, &result.throughput, &result.errors);
    line("load", format!("{} loop, {} clients{}", load.model, load.clients, asked(result)));
    line(
        "measured",
        format!("{:.1} s after {:.1} s of warm-up", result.measured.seconds, result.measured.warm_up_seconds),
    );
    let statements = throughput.statements;
    line(
        "throughput",
        format!(
            "{} {operation}s, {}/s; {} statements: {} read, {} write, {} other",
            throughput.operations,
            number(throughput.per_second),
            statements.total(),
            statements.read,
            statements.write,
            statements.other
        ),
    );
    if let Some(bytes) = bytes(result) {
        line("bytes", bytes);
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
    let generator = result.generator;
    line(
        "generator",
        format!(
            "{:.2} s of CPU, {:.1} µs an operation, {:.1} MiB",
            generator.cpu_seconds,
            generator.cpu_seconds_per_operation * 1e6,
            generator.peak_memory_bytes as f64 / f64::from(1 << 20)
        ),
    );
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

fn asked(result: &ResultView) -> String {
    let Some(rate) = result.load.asked_per_second else { return String::new() };
    let overloaded = if result.load.overloaded { ", overloaded: not all of it was achieved" } else { "" };
    format!(", {rate}/s asked, {} never sent{overloaded}", result.load.never_sent)
}

fn percentiles(p: &Percentiles) -> String {
    let named =
        [("p50", p.p50), ("p90", p.p90), ("p95", p.p95), ("p99", p.p99), ("p99.9", p.p99_9), ("max", p.max)];
    let each: Vec<String> =
        named.iter().map(|(name, value)| format!("{name} {}", or_dash(*value, milliseconds))).collect();
    format!("{} ms", each.join("  "))
}
