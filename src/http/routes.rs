//! The table of routes, from which dispatch, 404, 405, HEAD and the API's documentation follow.

use std::future::Future;
use std::pin::Pin;

use hyper::header;

use super::access::Access;
use super::answer::Answer;
use super::call::{Call, Query};
use super::problem::{Kind, Problem};
use super::{compare, events, metrics, page, runs, seen, start, status, suites};

type Handled = Pin<Box<dyn Future<Output = Result<Answer, Problem>> + Send>>;

/// One thing that can be asked for.
pub struct Route {
    /// The method; HEAD works where GET does.
    pub method: &'static str,
    /// The path, parts in braces taken from the request; a query behind `?` must be part of it.
    pub path: &'static str,
    /// What the request does, which decides from where it may come.
    pub access: Access,
    /// What it is for.
    pub about: &'static str,
    /// The statuses of its own; those of limits and access come on top.
    pub answers: &'static str,
    /// Does it.
    pub(super) handle: fn(Call) -> Handled,
}

/// Every route; where two match, the first.
pub const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/",
        access: Access::Read,
        about: "Status page for people: what runs, the suites, the last results, the host now. Works without JavaScript.",
        answers: "200",
        handle: |call| Box::pin(page::get(call)),
    },
    Route {
        method: "GET",
        path: "/metrics",
        access: Access::Scrape,
        about: "Metrics in the Prometheus text format 0.0.4, or OpenMetrics 1.0 when Accept prefers it; gzip when it is accepted.",
        answers: "200",
        handle: |call| Box::pin(metrics::get(call)),
    },
    Route {
        method: "GET",
        path: "/-/healthy",
        access: Access::Open,
        about: "`ok` as long as the daemon serves.",
        answers: "200",
        handle: |call| Box::pin(metrics::healthy(call)),
    },
    Route {
        method: "GET",
        path: "/-/ready",
        access: Access::Open,
        about: "`ready`, or why not: first sample, store, draining.",
        answers: "200, 503",
        handle: |call| Box::pin(metrics::ready(call)),
    },
    Route {
        method: "POST",
        path: "/-/reload",
        access: Access::Admin,
        about: "Reads the configuration anew. One with problems is not taken: the old one stays in force.",
        answers: "204, 422 `configuration`, 503 `draining`",
        handle: |call| Box::pin(metrics::reload(call)),
    },
    Route {
        method: "GET",
        path: "/api/v1/status",
        access: Access::Read,
        about: "Version, active run, queue, and each suite with its last and next run and what would stop it now.",
        answers: "200",
        handle: |call| Box::pin(status::get(call)),
    },
    Route {
        method: "GET",
        path: "/api/v1/users",
        access: Access::Read,
        about: "The users of the web configuration and the certificates of `[server.roles]`, with role and last visit.",
        answers: "200",
        handle: |call| Box::pin(seen::users(call)),
    },
    Route {
        method: "GET",
        path: "/api/v1/suites",
        access: Access::Read,
        about: "The configured suites as expanded: schedule, window, cases with every parameter, readiness.",
        answers: "200",
        handle: |call| Box::pin(suites::list(call)),
    },
    Route {
        method: "GET",
        path: "/api/v1/suites/{name}",
        access: Access::Read,
        about: "One of them.",
        answers: "200, 404 `unknown-suite`",
        handle: |call| Box::pin(suites::get(call)),
    },
    Route {
        method: "POST",
        path: "/api/v1/runs?plan=true",
        access: Access::Read,
        about: "What such a run would do, and the guards as they are now. Starts nothing.",
        answers: "200, 422 `unknown-suite`, `parameters`",
        handle: |call| Box::pin(start::plan(call)),
    },
    Route {
        method: "POST",
        path: "/api/v1/runs",
        access: Access::Change,
        about: "Starts a run.",
        answers: "202 and Location, 409 `run-active`, 422 `unknown-suite`, `parameters`, `idempotency-mismatch`, 423 `blocked`, 503 `draining`",
        handle: |call| Box::pin(start::post(call)),
    },
    Route {
        method: "GET",
        path: "/api/v1/runs",
        access: Access::Read,
        about: "Runs, newest first. Query: `suite`, `case` (pattern), `outcome`, `trigger`, `since`, `until`, `limit` (50, at most 500), `before` (an id).",
        answers: "200, 422 `parameters`",
        handle: |call| Box::pin(runs::list(call)),
    },
    Route {
        method: "GET",
        path: "/api/v1/runs/{run}",
        access: Access::Read,
        about: "A run with its cases. It is named by its id, the last 8 or more digits of it, `SUITE` (its last), `SUITE~N`, `SUITE@DAY`, or `latest?suite=NAME`.",
        answers: "200, 304, 404 `unknown-run`",
        handle: |call| Box::pin(runs::get(call)),
    },
    Route {
        method: "DELETE",
        path: "/api/v1/runs/{run}",
        access: Access::Change,
        about: "Cancels a run that is active or waits.",
        answers: "202, 404 `unknown-run`, 409 `run-finished`",
        handle: |call| Box::pin(runs::cancel(call)),
    },
    Route {
        method: "GET",
        path: "/api/v1/runs/{run}/events",
        access: Access::Read,
        about: "The run's events as they happen, as server-sent events; Last-Event-ID resumes.",
        answers: "200, 404 `unknown-run`",
        handle: |call| Box::pin(events::get(call)),
    },
    Route {
        method: "GET",
        path: "/api/v1/compare",
        access: Access::Read,
        about: "The cases of one run as a table (`run`, `rows`, `columns`: keys, with commas), or two runs case by case (`a`, `b`; also `SUITE@DAY..DAY`, all runs of these days). Also `measure` (throughput, p50, p95, p99), `margin` (2%) and `anyway` (true gives ratios of what is not comparable too).",
        answers: "200, 404 `unknown-run`, 422 `parameters`",
        handle: |call| Box::pin(compare::get(call)),
    },
];

/// The route of a request, and the parts of its path.
pub(super) fn find(
    method: &str,
    path: &str,
    query: &Query,
) -> Result<(&'static Route, Vec<String>), Problem> {
    let method = if method == "HEAD" { "GET" } else { method };
    let mut methods: Vec<&str> = Vec::new();
    for route in ROUTES {
        let Some(captured) = route.matches(path, query) else { continue };
        if route.method == method {
            return Ok((route, captured));
        }
        methods.extend((route.method == "GET").then_some("HEAD"));
        methods.push(route.method);
    }
    if methods.is_empty() {
        let detail = format!("there is nothing at {path}");
        return Err(Problem::new(Kind::NotFound, "not found", detail)
            .advice("GET / has links; docs/api.md has all paths"));
    }
    methods.sort_unstable();
    methods.dedup();
    let allowed = methods.join(", ");
    Err(Problem::new(Kind::Method, "method not allowed", format!("{path} answers to {allowed}"))
        .header(header::ALLOW, allowed))
}

impl Route {
    fn matches(&self, path: &str, query: &Query) -> Option<Vec<String>> {
        let (pattern, condition) = self.path.split_once('?').unwrap_or((self.path, ""));
        if let Some((name, value)) = condition.split_once('=')
            && query.get(name) != Some(value)
        {
            return None;
        }
        let (wanted, given): (Vec<&str>, Vec<&str>) =
            (pattern.split('/').collect(), path.split('/').collect());
        if wanted.len() != given.len() {
            return None;
        }
        let mut captured = Vec::new();
        for (wanted, given) in wanted.into_iter().zip(given) {
            if wanted.starts_with('{') && !given.is_empty() {
                captured.push(given.to_owned());
            } else if wanted != given {
                return None;
            }
        }
        Some(captured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(method: &str, path: &str, query: &str) -> Option<(&'static str, Vec<String>)> {
        find(method, path, &Query::parse(query)).ok().map(|(route, captured)| (route.path, captured))
    }

    #[test]
    fn the_first_route_that_matches_method_path_and_query_is_taken() {
        assert_eq!(found("HEAD", "/metrics", ""), Some(("/metrics", vec![])));
        assert_eq!(found("POST", "/api/v1/runs", "plan=true"), Some(("/api/v1/runs?plan=true", vec![])));
        assert_eq!(found("POST", "/api/v1/runs", "plan=false"), Some(("/api/v1/runs", vec![])));
        let events = Some(("/api/v1/runs/{run}/events", vec!["3f09a1d4".to_owned()]));
        assert_eq!(found("GET", "/api/v1/runs/3f09a1d4/events", ""), events);
        for path in ["", "/metrics/", "/api/v1/runs//events", "/api/v1/runs/", "/api"] {
            assert_eq!(found("GET", path, ""), None, "{path}");
        }
    }

    #[test]
    fn only_reading_needs_no_more_than_read() {
        for route in ROUTES {
            let reads = route.method == "GET" || route.path.ends_with("?plan=true");
            assert_eq!(route.access <= Access::Read, reads, "{} {}", route.method, route.path);
        }
    }
}
