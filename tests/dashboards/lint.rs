//! The rules of Grafana's dashboard linter, 17 in number, and what is let off them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::kept::{panels, targets};
use super::promql::{Selector, selectors};

/// What a rule lets pass: rule, panel, why.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("target-rate-interval", "Suites", "a number of runs in the time shown, not a rate"),
    ("target-rate-interval", "Runs by suite", "a number of runs in the time shown, not a rate"),
    ("target-rate-interval", "Runs that guards refused or ended", "a number in the time shown, not a rate"),
    ("target-rate-interval", "Queue and missed starts", "a number in the last hour, not a rate"),
    ("target-rate-interval", "Trouble", "a number in the last hour, not a rate"),
    (
        "target-counter-agg",
        "Trouble",
        "leftovers are counted once, when benchd starts: no increase would show them",
    ),
];

/// Grafana's names of units that the dashboards use.
const UNITS: &[&str] =
    &["none", "short", "percentunit", "s", "bytes", "Bps", "ops", "iops", "reqps", "dateTimeFromNow"];

type Problems = Vec<String>;

/// Everything the rules have against a dashboard: rule, where, what.
pub(crate) fn problems(dashboard: &Value) -> Problems {
    let mut problems = variables(dashboard);
    for panel in panels(dashboard) {
        problems.extend(of_panel(panel));
    }
    if dashboard["editable"] != false {
        problems.push("uneditable-dashboard: it can be edited".to_owned());
    }
    problems
}

fn variables(dashboard: &Value) -> Problems {
    let list = dashboard["templating"]["list"].as_array().unwrap();
    let find = |name: &str| list.iter().find(|one| one["name"] == name);
    let mut problems = Vec::new();
    match find("datasource") {
        Some(one)
            if one["label"] == "Data source"
                && one["type"] == "datasource"
                && one["query"] == "prometheus" => {}
        other => problems.push(format!("template-datasource: {other:?}")),
    }
    for (rule, name, label) in [("template-job", "job", "Job"), ("template-instance", "instance", "Instance")]
    {
        let good = find(name).is_some_and(|one| {
            one["label"] == label
                && one["type"] == "query"
                && one["datasource"]["uid"] == "$datasource"
                && one["multi"] == true
                && one["allValue"] == ".+"
        });
        if !good {
            problems.push(format!("{rule}: {name} is not as it should be"));
        }
    }
    for one in list.iter().filter(|one| one["type"] == "query") {
        let query = one["query"]["query"].as_str().unwrap();
        let series = query.strip_prefix("label_values(").and_then(|rest| rest.rsplit_once(", "));
        let selected = series.map_or(0, |(series, _)| selectors(series).len());
        if selected != 1 {
            problems.push(format!("template-label-promql: {query}"));
        }
        if one["refresh"] != 2 {
            problems.push(format!("template-on-time-change-reload: {}", one["name"]));
        }
    }
    problems
}

fn of_panel(panel: &Value) -> Problems {
    let title = panel["title"].as_str().unwrap_or_default();
    let text = |name: &str| panel[name].as_str().is_some_and(|text| !text.trim().is_empty());
    let mut problems = Vec::new();
    let mut say = |rule: &str, what: &str| {
        if !EXCEPTIONS.iter().any(|(excepted, of, _)| *excepted == rule && *of == title) {
            problems.push(format!("{rule}: {title}: {what}"));
        }
    };
    if panel["datasource"]["uid"] != "$datasource" {
        say("panel-datasource", "not the chosen one");
    }
    if !text("title") || !text("description") {
        say("panel-title-description", "one is missing");
    }
    for unit in units(panel) {
        if !UNITS.contains(&unit.as_str()) {
            say("panel-units", &format!("unit {unit:?}"));
        }
    }
    if targets(panel).next().is_none() {
        say("panel-no-targets", "it asks nothing");
    }
    for target in targets(panel) {
        if target["datasource"]["type"] != "prometheus" {
            say("target-logql", "not a query of Prometheus");
            say("target-logql-auto", "not a query of Prometheus");
        }
    }
    for query in targets(panel).map(|target| target["expr"].as_str().unwrap()) {
        let found = selectors(query);
        if found.is_empty() {
            say("target-promql", query);
        }
        for selector in &found {
            of_selector(selector, |rule| say(rule, query));
        }
    }
    problems
}

/// Units of a panel, or of the columns of a table. Words for values are a unit of their own.
fn units(panel: &Value) -> BTreeSet<String> {
    let worded = |of: &Value| of.as_array().is_some_and(|words| !words.is_empty());
    let name = |unit: &Value| unit.as_str().unwrap_or_default().to_owned();
    let defaults = &panel["fieldConfig"]["defaults"];
    if panel["type"] != "table" {
        let needed = !worded(&defaults["mappings"]);
        return needed.then(|| name(&defaults["unit"])).into_iter().collect();
    }
    let property = |column: &Value, id: &str| {
        let properties = column["properties"].as_array().unwrap();
        properties.iter().find(|one| one["id"] == id).map(|one| one["value"].clone())
    };
    let columns = panel["fieldConfig"]["overrides"].as_array().unwrap().iter();
    columns
        .filter(|column| targets(panel).any(|target| target["legendFormat"] == column["matcher"]["options"]))
        .filter(|column| property(column, "mappings").is_none())
        .map(|column| name(&property(column, "unit").unwrap_or_default()))
        .collect()
}

fn of_selector(selector: &Selector, mut say: impl FnMut(&str)) {
    let chosen = |label: &str| (label.to_owned(), "=~".to_owned(), format!("${label}"));
    for (rule, label) in [("target-job", "job"), ("target-instance", "instance")] {
        if !selector.matchers.contains(&chosen(label)) {
            say(rule);
        }
    }
    let rates = ["rate", "irate", "increase"];
    let rated = selector.inside.last().is_some_and(|function| rates.contains(&function.as_str()));
    if rated && selector.range.as_deref() != Some("$__rate_interval") {
        say("target-rate-interval");
    }
    let counter = ["_total", "_bucket", "_count", "_sum"].iter().any(|end| selector.metric.ends_with(end));
    if counter && !rated {
        say("target-counter-agg");
    }
}

/// Exceptions that nothing needs.
pub(crate) fn stale_exceptions<'a>(dashboards: impl Iterator<Item = &'a Value>) -> Vec<&'static str> {
    let titles: BTreeSet<&str> =
        dashboards.flat_map(panels).map(|panel| panel["title"].as_str().unwrap()).collect();
    EXCEPTIONS.iter().map(|(_, panel, _)| *panel).filter(|panel| !titles.contains(panel)).collect()
}
