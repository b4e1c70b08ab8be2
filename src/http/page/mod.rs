//! `GET /`: the state of the daemon as a page for people, whole without JavaScript. Every value is escaped by maud.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{self, HeaderValue};
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::answer::{self, Answer};
use super::call::Call;
use super::problem::Problem;
use super::server::Shared;
use super::status;
use crate::config::Config;
use crate::export::LastResult;
use crate::record::{CaseResult, Outcome, RunRecord};
use crate::run::{ActiveRun, QueuedRun};
use crate::sample::Rates;
use crate::text::{counted, local_time, milliseconds, number, or_dash, took};

const STYLE: &str = include_str!("style.css");
/// Nothing but the page's own style.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
/// While a run is active the page loads itself again after so many seconds.
const RELOAD_SECONDS: u32 = 5;

/// What the page shows.
struct View {
    shared: Arc<Shared>,
    config: Arc<Config>,
    now: Timestamp,
    active: Option<ActiveRun>,
    queue: Vec<QueuedRun>,
    blocking: Vec<(String, Vec<String>)>,
    host: Option<Rates>,
}

pub(super) async fn get(call: Call) -> Result<Answer, Problem> {
    let shared = Arc::clone(&call.shared);
    let (runner, config) = (shared.services.runner.clone(), shared.services.config());
    let asked = Arc::clone(&config);
    let blocking = call.blocking("asking the guards", move || Ok(status::blocking(&runner, &asked))).await?;
    let view = View {
        now: Timestamp::now(),
        active: shared.services.runner.active(),
        queue: shared.services.runner.queue(),
        host: status::host_now(&shared.services.sampler),
        shared,
        config,
        blocking,
    };
    let mut answer = answer::whole(StatusCode::OK, "text/html; charset=utf-8", page(&view).into_string());
    answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY);
    Ok(answer)
}

fn page(view: &View) -> Markup {
    let services = &view.shared.services;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                @if view.active.is_some() { meta http-equiv="refresh" content=(RELOAD_SECONDS); }
                title { "benchd on " (services.host) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { "benchd " span { "on " (services.host) } }
                    p { "version " (services.build.version) ", up " (took(view.now.duration_since(services.started).as_secs_f64())) }
                }
                (health(&view.shared))
                main {
                    section { h2 { "Now" } (activity(view)) }
                    section { h2 { "Suites" } (suites(view)) }
                    section { h2 { "Last results" } (results(view)) }
                    section { h2 { "Host" } (host(view.host.as_ref())) }
                }
                footer {
                    a href="/metrics" { "metrics" } " " a href="/api/v1/status" { "status" } " "
                    a href="/api/v1/suites" { "suites" } " " a href="/api/v1/runs" { "runs" }
                    p { "Listening on " (view.shared.listening().join(", ")) }
                }
            }
        }
    }
}

fn health(shared: &Shared) -> Markup {
    match status::alarm(shared) {
        Some(alarm) => html! { p.alarm role="alert" { (alarm) } },
        None => html! { p.well { "All is well." } },
    }
}

fn activity(view: &View) -> Markup {
    html! {
        @match &view.active {
            None => p { "No run is active." },
            Some(run) => (active(run, view.now)),
        }
        @if !view.queue.is_empty() {
            p { (view.queue.len()) " waiting:" }
            ol { @for run in &view.queue { li { (run.suite) " " code { (run.id.short()) } ", asked for by " (run.by) } } }
        }
    }
}

fn active(run: &ActiveRun, now: Timestamp) -> Markup {
    let passed = now.duration_since(run.start).as_secs_f64();
    let planned = run.planned.seconds();
    html! {
        p {
            strong { (run.suite) } " " a href={ "/api/v1/runs/" (run.id) } { code { (run.id.short()) } }
            @if run.cancelling { " is being cancelled" }
            ": " (run.done) " of " (counted(run.of, "case")) " done"
            @if let Some(case) = &run.case { "; " (case) ", " (run.stage.as_str().replace('_', " ")) }
        }
        p {
            progress max=(planned) value=(passed.min(planned)) {}
            " " (took(passed)) " of about " (took(planned))
        }
    }
}

fn suites(view: &View) -> Markup {
    let history = Arc::clone(&view.shared.history.borrow());
    let next_runs = view.shared.services.next_runs();
    html! {
        div.scroll { table {
            thead { tr { th { "Suite" } th .number { "Cases" } th { "Last run" } th { "Next run" } th { "Ready" } } }
            tbody {
                @for (name, blocking) in &view.blocking {
                    tr {
                        td { a href={ "/api/v1/suites/" (name) } { (name) } }
                        td.number { (or_dash(view.config.suites.get(name), |suite| suite.cases.len().to_string())) }
                        td { (last_run(history.last_runs.get(name))) }
                        td { @match next_runs.get(name) { Some(next) => (local_time(next.at)), None => "on demand" } }
                        td { @if blocking.is_empty() { "yes" } @else { "no: " (blocking.join(", ")) } }
                    }
                }
            }
        } }
    }
}

fn last_run(run: Option<&RunRecord>) -> Markup {
    let Some(run) = run else { return html! { "never" } };
    let outcome = run.outcome.unwrap_or(Outcome::Aborted);
    html! {
        a href={ "/api/v1/runs/" (run.id) } { (local_time(run.start)) }
        @if let Some(end) = run.end { ", " (took(end.duration_since(run.start).as_secs_f64())) }
        ", " span class=(if outcome == Outcome::Finished { "good" } else { "bad" }) { (outcome) }
        " " (run.finished_cases) "/" (run.planned_cases)
    }
}

fn results(view: &View) -> Markup {
    let history = Arc::clone(&view.shared.history.borrow());
    if history.results.is_empty() {
        return html! { p { "None yet. " code { "benchd run quick" } " makes the first." } };
    }
    html! {
        div.scroll { table {
            thead { tr {
                th { "Suite" } th { "Case" } th .number { "Per second" } th .number { "p50 ms" } th .number { "p95 ms" } th .number { "p99 ms" } th .number { "Errors" } th { "Taken" }
            } }
            tbody { @for result in &history.results { (result_row(result)) } }
        } }
    }
}

fn result_row(last: &LastResult) -> Markup {
    let record = &last.record;
    let ms =
        |pick: fn(&CaseResult) -> Option<f64>| or_dash(record.result.as_ref().and_then(pick), milliseconds);
    html! {
        tr {
            td { (record.suite) }
            td { a href={ "/api/v1/runs/" (record.run) } { (record.case) } }
            td.number { (or_dash(record.result.as_ref(), |result| number(result.per_second))) " " (record.operation) "s" }
            td.number { (ms(|result| result.response.p50)) }
            td.number { (ms(|result| result.response.p95)) }
            td.number { (ms(|result| result.response.p99)) }
            td.number { (or_dash(record.result.as_ref(), |result| result.errors.failed.to_string())) }
            td { (local_time(record.end)) }
        }
    }
}

fn host(rates: Option<&Rates>) -> Markup {
    let Some(rates) = rates else { return html! { p { "Not two samples yet." } } };
    html! {
        dl {
            dt { "CPU" }
            dd { (or_dash(rates.cpu.as_ref(), |cpu| format!("{}, one CPU {}, stolen {}", percent(cpu.utilization), percent(cpu.busiest), percent(cpu.shares.steal)))) }
            dt { "Memory available" }
            dd { (or_dash(rates.memory.available, |bytes| format!("{} MiB", number((bytes >> 20) as f64)))) }
            @for disk in &rates.disks {
                dt { "Disk " (disk.device.as_str()) }
                dd { (percent(disk.busy)) " busy, await " (or_dash(disk.await_seconds, milliseconds)) " ms, queue " (number(disk.queue_depth)) }
            }
            @for card in &rates.networks {
                dt { "Network " (card.device.as_str()) }
                dd { (number(card.receive.bytes / 1024.0)) " KiB/s in, " (number(card.transmit.bytes / 1024.0)) " KiB/s out" }
            }
        }
    }
}

/// A share between 0 and 1.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
