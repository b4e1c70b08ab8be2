//! Every query of a dashboard and every rule is evaluated by a real Prometheus that scraped a real daemon while a
//! real suite loaded a real server.

use serde_json::Value;

use super::Prometheus;
use super::common::program::{Daemon, Place};
use super::common::suites::{benchmark, target_main};
use super::common::{Flavour, Server, tool};
use super::kept::{dashboards, marks, panels, targets, without_variables};
use super::promql::selectors;

/// What may have no series, and why. A metric: while Prometheus has none of it. A panel: always.
const MAY_BE_EMPTY: &[(&str, &str)] = &[
    ("benchd_live_errors_total", "a run without errors has no series"),
    ("benchd_last_steady", "a part of less than 40 s is not judged"),
    (
        "benchd_host_network_",
        "a machine may have no card, and one whose speed nobody knows has no utilisation",
    ),
    ("benchd_host_pressure_", "not every kernel tells pressure"),
    ("benchd_host_disk_flush_", "kernels before 5.5 do not tell flushes, and a window without them has none"),
    ("benchd_host_disk_read_await_max_seconds", "nothing was read in the window"),
    ("benchd_host_disk_write_await_max_seconds", "nothing was written in the window"),
    ("benchd_host_disk_", "a container may see no disk"),
    ("benchd_host_tcp_", "a container may not see the counters of TCP"),
    ("benchd_mysql_innodb_", "not every version offers every value"),
    ("benchd_mysql_replica_", "the server is no replica"),
    ("Wait of a request: mean", "a disk that did nothing of a kind has no wait"),
    ("instance:benchd_host_cpu_seconds_above_90:ratio_rate15m", "it looks back on more than 15 minutes"),
];

/// Panels whose shares may lie outside 0 and 1, and why.
const BEYOND_ONE: &[(&str, &str)] = &[
    ("Now and $before ago", "changes may be negative and large"),
    ("Throughput against its median", "it may be above its median"),
    ("Response time ($percentile) against its median", "it may be above its median"),
    ("CPUs used", "several threads may use more than one CPU"),
];

const VALUES: [(&str, &str); 5] = [
    ("$__rate_interval", "5s"),
    ("$__interval", "5s"),
    ("$__range", "1m"),
    ("$before", "2s"),
    ("$percentile", "p50"),
];

/// A suite of each kind of load; the last, on a server, is still live when its result is there.
fn suite(server: &Server) -> String {
    let benchmarks = [
        benchmark("all", "fileio", "1s", "target = \"files\"\npreset = \"wal\"\ntotal = \"4MiB\""),
        benchmark("all", "cpu", "3s", ""),
        benchmark("all", "oltp_read_write", "4s", "target = \"main\"\nrate = 50\ntable_size = 500"),
    ];
    let head = "[suite.all]\nprofile = \"lab\"\nschedule = \"0 0 1 1 *\"\n";
    format!("{}{head}{}", target_main(server), benchmarks.concat())
}

/// Whether a query may have no answer: by its panel, or by a metric of which there is nothing at all.
fn may_be_empty(prometheus: &Prometheus, panel: &str, query: &str) -> bool {
    let listed = |name: &str| MAY_BE_EMPTY.iter().any(|(listed, _)| name.starts_with(listed));
    let none_of = |metric: &str| {
        let answer =
            prometheus.api("query", &[("query", &format!("count_over_time({metric}[10m])"))]).unwrap();
        answer["data"]["result"].as_array().unwrap().is_empty()
    };
    listed(panel) || selectors(query).iter().any(|one| listed(&one.metric) && none_of(&one.metric))
}

/// The numbers of an answer. What is not a number is a gap in a graph.
fn numbers(answer: &Value) -> Vec<f64> {
    let results = answer["data"]["result"].as_array().unwrap();
    let points =
        |one: &Value| one["values"].as_array().cloned().unwrap_or_else(|| vec![one["value"].clone()]);
    let all = results.iter().flat_map(points).map(|point| point[1].as_str().unwrap().parse::<f64>().unwrap());
    all.filter(|number| !number.is_nan()).collect()
}

/// Everything that is wrong with what a query of a panel gives; `share`: its numbers are shares of a whole.
fn problem(prometheus: &Prometheus, panel: &str, query: &str, instant: bool, share: bool) -> Option<String> {
    let expr = without_variables(query, &VALUES);
    let answer = if instant {
        prometheus.api("query", &[("query", &expr)])
    } else {
        let now = jiff::Timestamp::now().as_second();
        let (from, to) = ((now - 60).to_string(), now.to_string());
        prometheus.api("query_range", &[("query", &expr), ("start", &from), ("end", &to), ("step", "1")])
    };
    let answer = answer.unwrap();
    if answer["status"] != "success" {
        return Some(format!("{panel}: {}: {expr}", answer["error"]));
    }
    let numbers = numbers(&answer);
    if numbers.is_empty() {
        return (!may_be_empty(prometheus, panel, query)).then(|| format!("{panel}: nothing of {expr}"));
    }
    let bounds = if share { -1e-6..=1.0 + 1e-6 } else { f64::MIN..=f64::MAX };
    let outside = numbers.iter().find(|number| !bounds.contains(*number))?;
    Some(format!("{panel}: {outside} of {expr}"))
}

/// The unit of a query: that of its column in a table, else its panel's.
fn unit<'a>(panel: &'a Value, target: &Value) -> &'a Value {
    let defaults = &panel["fieldConfig"]["defaults"]["unit"];
    if panel["type"] != "table" {
        return defaults;
    }
    let columns = panel["fieldConfig"]["overrides"].as_array().unwrap();
    let column = columns.iter().find(|one| one["matcher"]["options"] == target["legendFormat"]).unwrap();
    let properties = column["properties"].as_array().unwrap();
    properties.iter().find(|one| one["id"] == "unit").map_or(defaults, |one| &one["value"])
}

/// Follows a run of the suite and waits until Prometheus has seen its results more than once.
fn run_and_scrape(daemon: &Daemon, prometheus: &Prometheus) {
    prometheus.ask("up{job=\"benchd\"}");
    daemon.follow(&daemon.trigger(r#"{"suite":"all"}"#));
    prometheus.ask("count_over_time(benchd_last_run_success{suite=\"all\"}[5m]) > 4");
    prometheus.ask("benchd_last_run_success{suite=\"all\"}");
}

#[test]
fn every_query_and_rule_has_an_answer_while_a_suite_loads_a_server() {
    let Some(program) = tool("prometheus") else { return };
    if Flavour::MariaDb.program().is_none() {
        return;
    }
    let server = Server::start(Flavour::MariaDb, &[]);
    let place = Place::new(&suite(&server));
    let daemon = place.serve();
    let prometheus = Prometheus::start(&program, &place, &daemon.address());
    run_and_scrape(&daemon, &prometheus);
    let mut problems = Vec::new();
    for (name, dashboard) in dashboards() {
        for panel in panels(&dashboard) {
            let title = panel["title"].as_str().unwrap();
            for target in targets(panel) {
                let query = target["expr"].as_str().unwrap();
                let share = unit(panel, target) == "percentunit"
                    && !BEYOND_ONE.iter().any(|(listed, _)| *listed == title);
                let found = problem(&prometheus, title, query, target["instant"] == true, share);
                problems.extend(found.map(|problem| format!("{name}: {problem}")));
            }
        }
        for query in marks(&dashboard) {
            let expr = without_variables(query, &VALUES);
            let answer = prometheus.api("query", &[("query", &expr)]).unwrap();
            assert_eq!(answer["status"], "success", "{name}: {expr}: {answer}");
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    every_rule_works(&prometheus);
}

/// Waits until every rule was evaluated: none failed, and what is recorded is there.
fn every_rule_works(prometheus: &Prometheus) {
    let rules = prometheus.wait_for("rules", &[], |data| {
        let groups = data["groups"].as_array()?;
        let rules: Vec<Value> =
            groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect();
        rules.iter().all(|rule| rule["health"] != "unknown").then_some(rules)
    });
    assert!(rules.len() > 20, "{rules:?}");
    for rule in rules {
        assert_eq!(rule["health"], "ok", "{rule}");
        if rule["type"] == "recording" {
            let (name, query) = (rule["name"].as_str().unwrap(), rule["query"].as_str().unwrap());
            let answer = prometheus.api("query", &[("query", name)]).unwrap();
            let numbers = numbers(&answer);
            assert!(!numbers.is_empty() || may_be_empty(prometheus, name, query), "nothing of {name}");
            let share = |number: &f64| (-1e-6..=1.0 + 1e-6).contains(number);
            assert!(!name.contains(":ratio") || numbers.iter().all(share), "{name}: {numbers:?}");
        }
    }
}
