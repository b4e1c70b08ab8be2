//! The dashboards and rules: generated from what is written, by the rules of people who know Grafana, of metrics
//! that exist.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

mod common;
#[path = "dashboards/expand.rs"]
mod expand;
#[path = "dashboards/kept.rs"]
mod kept;
#[path = "dashboards/lint.rs"]
mod lint;
#[path = "dashboards/promql.rs"]
mod promql;
#[path = "dashboards/source.rs"]
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use benchd::export::{Family, Kind, families};
use common::program::words;
use kept::{dashboards, marks, panels, targets, without_variables};
use serde_json::Value;

/// The text of a dashboard as it is kept.
fn text(dashboard: &source::Dashboard) -> String {
    let json = serde_json::to_string_pretty(&expand::dashboard(dashboard)).unwrap();
    format!("{json}\n")
}

#[test]
fn the_dashboards_are_what_is_written() {
    let folder = kept::folder("dashboards");
    let dashboards = source::all();
    for (name, dashboard) in &dashboards {
        let path = folder.join(format!("{name}.json"));
        let generated = text(dashboard);
        if std::env::var_os("BENCHD_UPDATE").is_some() {
            fs::write(&path, &generated).unwrap();
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == generated,
            "{} is not what is generated: run the tests with BENCHD_UPDATE=1",
            path.display()
        );
    }
    let kept: Vec<String> = kept::files("dashboards", "json").into_iter().map(|(name, _)| name).collect();
    assert!(kept.iter().eq(dashboards.iter().map(|(name, _)| name)), "{kept:?}");
    assert!(kept.len() >= 6, "{kept:?}");
}

#[test]
fn grafanas_linter_has_nothing_to_say() {
    let dashboards = dashboards();
    let problems: Vec<String> = dashboards
        .iter()
        .flat_map(|(name, dashboard)| {
            lint::problems(dashboard).into_iter().map(move |one| format!("{name}: {one}"))
        })
        .collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert_eq!(lint::stale_exceptions(dashboards.iter().map(|(_, dashboard)| dashboard)), [""; 0]);
}

#[test]
fn the_linter_sees_what_is_wrong() {
    let (_, good) = dashboards().remove(0);
    let spoilt = |place: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
        lint::problems(&bad)
    };
    let query = "/panels/1/targets/0/expr";
    for (rule, place, value) in [
        ("uneditable-dashboard", "/editable", true.into()),
        ("template-datasource", "/templating/list/0/label", "Datasource".into()),
        ("template-job", "/templating/list/1/multi", false.into()),
        ("template-instance", "/templating/list/2/allValue", ".*".into()),
        ("template-label-promql", "/templating/list/2/query/query", "label_values(instance)".into()),
        ("template-on-time-change-reload", "/templating/list/1/refresh", 1.into()),
        ("panel-datasource", "/panels/1/datasource/uid", "prometheus".into()),
        ("panel-title-description", "/panels/1/description", "".into()),
        ("panel-no-targets", "/panels/1/targets", Value::Array(Vec::new())),
        ("target-logql", "/panels/1/targets/0/datasource/type", "loki".into()),
        ("target-promql", query, "1".into()),
        ("target-job", query, r#"up{instance=~"$instance"}"#.into()),
        ("target-instance", query, r#"up{job=~"$job"}"#.into()),
        ("target-counter-agg", query, r#"a_total{job=~"$job", instance=~"$instance"}"#.into()),
        ("target-rate-interval", query, r#"rate(a_total{job=~"$job", instance=~"$instance"}[5m])"#.into()),
    ] {
        let problems = spoilt(place, value);
        assert!(problems.iter().any(|one| one.starts_with(&format!("{rule}:"))), "{rule}: {problems:?}");
    }
    let mut bad = good.clone();
    for panel in bad["panels"].as_array_mut().unwrap() {
        panel["fieldConfig"] = serde_json::json!({ "defaults": { "unit": "furlongs" }, "overrides": [] });
    }
    assert!(lint::problems(&bad).iter().any(|one| one.starts_with("panel-units:")));
}

#[test]
fn panels_fill_their_lines_and_ids_are_unique() {
    for (name, dashboard) in dashboards() {
        let all = dashboard["panels"].as_array().unwrap();
        let ids: BTreeSet<u64> = all.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
        assert_eq!(ids.len(), all.len(), "{name}");
        let mut lines: BTreeMap<u64, (u64, BTreeSet<u64>)> = BTreeMap::new();
        for panel in all {
            let side = |side: &str| panel["gridPos"][side].as_u64().unwrap();
            let (width, heights) = lines.entry(side("y")).or_default();
            *width += side("w");
            heights.insert(side("h"));
        }
        for (y, (width, heights)) in lines {
            assert_eq!(width, source::COLUMNS, "{name}: the line at {y}");
            assert_eq!(heights.len(), 1, "{name}: the line at {y}");
        }
    }
}

#[test]
fn dashboards_lead_to_each_other_by_uid_and_tag() {
    let dashboards = dashboards();
    let uids: BTreeSet<&str> = dashboards.iter().map(|(_, one)| one["uid"].as_str().unwrap()).collect();
    assert_eq!(uids.len(), dashboards.len());
    for (name, dashboard) in &dashboards {
        assert_eq!(dashboard["uid"], name.as_str());
        assert_eq!(dashboard["tags"][0], "benchd");
        assert_eq!(dashboard["links"][0]["tags"][0], "benchd");
        assert_eq!(dashboard["links"][0]["includeVars"], true);
        let text = dashboard.to_string();
        for lead in text.split("\"/d/").skip(1) {
            let uid = lead.split('?').next().unwrap();
            assert!(uids.contains(uid), "{name} leads to {uid}");
        }
    }
}

/// Metrics that Prometheus makes itself when it scrapes and evaluates.
const OF_PROMETHEUS: [(&str, &[&str]); 4] = [
    ("up", &[]),
    ("scrape_duration_seconds", &[]),
    ("scrape_samples_scraped", &[]),
    ("ALERTS", &["alertname", "alertstate"]),
];

/// The labels of a metric that exists, target labels and those of its parts included.
fn labels_of(metric: &str) -> Option<BTreeSet<&'static str>> {
    let part = |family: &Family| {
        family.kind == Kind::Histogram
            && ["_bucket", "_sum", "_count"].iter().any(|end| metric.strip_suffix(end) == Some(family.name))
    };
    let family = families()
        .find(|family| if family.kind == Kind::Histogram { part(family) } else { family.name == metric });
    let own = match family {
        Some(family) => family.labels,
        None => OF_PROMETHEUS.iter().find(|(name, _)| *name == metric)?.1,
    };
    let bucket = metric.ends_with("_bucket").then_some("le");
    Some(own.iter().copied().chain(["job", "instance"]).chain(bucket).collect())
}

/// Complains about metrics and labels of a query that do not exist; `recorded` are those of rules.
fn check(query: &str, more_labels: &[String], recorded: &BTreeSet<String>) -> Result<(), String> {
    let mut known = BTreeSet::new();
    for selector in promql::selectors(query) {
        if recorded.contains(&selector.metric) {
            continue;
        }
        let labels = labels_of(&selector.metric).ok_or(format!("no metric {}", selector.metric))?;
        for (label, ..) in &selector.matchers {
            if !labels.contains(label.as_str()) {
                return Err(format!("{} has no label {label}", selector.metric));
            }
        }
        known.extend(labels);
    }
    let used = promql::grouping(query).into_iter().chain(more_labels.iter().cloned());
    match used.into_iter().find(|label| !known.contains(label.as_str()) && recorded.is_empty()) {
        Some(label) => Err(format!("no series has the label {label}")),
        None => Ok(()),
    }
}

/// The labels that a legend names.
fn legend(target: &Value) -> Vec<String> {
    let text = target["legendFormat"].as_str().unwrap();
    text.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap().to_owned()).collect()
}

#[test]
fn every_metric_and_label_of_a_dashboard_exists() {
    let mut problems = Vec::new();
    for (name, dashboard) in dashboards() {
        for panel in panels(&dashboard) {
            for target in targets(panel) {
                if let Err(problem) =
                    check(target["expr"].as_str().unwrap(), &legend(target), &BTreeSet::new())
                {
                    problems.push(format!("{name}: {}: {problem}", panel["title"]));
                }
            }
        }
        for query in marks(&dashboard) {
            problems.extend(check(query, &[], &BTreeSet::new()).err());
        }
        for variable in dashboard["templating"]["list"].as_array().unwrap() {
            let Some(query) = variable["query"]["query"].as_str() else { continue };
            let (series, label) = query["label_values(".len()..].rsplit_once(", ").unwrap();
            problems.extend(check(series, &[label.trim_end_matches(')').to_owned()], &BTreeSet::new()).err());
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_query_of_what_does_not_exist_is_seen() {
    let nothing = BTreeSet::new();
    assert!(check("benchd_queue_length", &[], &nothing).is_ok());
    for bad in [
        "benchd_cue_length",
        "benchd_live_response_seconds",
        r#"benchd_run_active{case="x"}"#,
        "sum by (case) (benchd_run_active)",
    ] {
        assert!(check(bad, &[], &nothing).is_err(), "{bad}");
    }
    assert!(check("benchd_run_active", &["device".to_owned()], &nothing).is_err());
}

/// Name and expression of each rule of a file: the value of `expr:`, on its line or folded below it.
fn rules(file: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(kept::folder("prometheus").join(file)).unwrap();
    let mut rules: Vec<(String, String)> = Vec::new();
    let mut folded = false;
    for line in text.lines() {
        let words = line.trim().trim_start_matches("- ");
        if let Some(name) = words.strip_prefix("alert: ").or(words.strip_prefix("record: ")) {
            rules.push((name.to_owned(), String::new()));
        } else if let Some(expr) = words.strip_prefix("expr: ") {
            folded = expr == ">-";
            rules.last_mut().unwrap().1 = if folded { String::new() } else { expr.to_owned() };
        } else if folded && line.starts_with("          ") {
            write!(rules.last_mut().unwrap().1, " {words}").unwrap();
        } else {
            folded = false;
        }
    }
    rules
}

#[test]
fn every_metric_of_a_rule_exists() {
    let recording = rules("recording.rules.yml");
    let recorded: BTreeSet<String> = recording.iter().map(|(name, _)| name.clone()).collect();
    let alerts = rules("alerts.rules.yml");
    assert!(recorded.len() > 5 && alerts.len() > 15);
    for (name, expr) in recording.iter().chain(&alerts) {
        assert!(!promql::selectors(expr).is_empty(), "{name}: {expr}");
        check(expr, &[], &recorded).unwrap_or_else(|problem| panic!("{name}: {problem}"));
    }
    let used: BTreeSet<String> = alerts
        .iter()
        .flat_map(|(_, expr)| promql::selectors(expr))
        .map(|selector| selector.metric)
        .filter(|metric| metric.contains(':'))
        .collect();
    assert!(used.is_subset(&recorded), "{used:?}");
}

#[test]
fn every_alert_is_tested_and_explained() {
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let tests = read(kept::folder("prometheus").join("alerts_test.yml"));
    let page = read(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/alerts.md"));
    let file = read(kept::folder("prometheus").join("alerts.rules.yml"));
    let alerts = rules("alerts.rules.yml");
    for (name, _) in &alerts {
        let test = tests.split(&format!("# {name}\n")).nth(1).unwrap_or_else(|| panic!("{name} has no test"));
        let test = test.split("\n  # ").next().unwrap();
        for part in [
            r#"instance="bad""#,
            r#"instance="good""#,
            r#"exp_samples: [{labels: '{instance="bad"}', value: 1}]"#,
        ] {
            assert!(test.contains(part) && test.contains(&format!("alertname=\"{name}\"")), "{name}: {part}");
        }
        assert!(page.contains(&format!("## {name}\n")), "docs/alerts.md does not explain {name}");
        assert!(file.contains(&format!("alerts.md#{}\n", name.to_lowercase())), "{name} has no runbook_url");
    }
    assert_eq!(
        page.matches("\n## Benchd").count(),
        alerts.len(),
        "docs/alerts.md explains what does not exist"
    );
    for field in ["severity", "summary", "description", "runbook_url"] {
        assert_eq!(file.matches(&format!(" {field}: ")).count(), alerts.len(), "{field}");
    }
}

/// Runs promtool on files of `grafana/prometheus`; what it says must be of success.
fn promtool(program: &Path, arguments: &[&str]) {
    let output =
        Command::new(program).args(arguments).current_dir(kept::folder("prometheus")).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", words(&output));
}

#[test]
fn promtool_accepts_rules_examples_and_tests() {
    let Some(program) = common::tool("promtool") else { return };
    promtool(&program, &["check", "rules", "--lint=all", "alerts.rules.yml", "recording.rules.yml"]);
    promtool(&program, &["check", "config", "--syntax-only", "scrape-example.yml"]);
    promtool(&program, &["test", "rules", "alerts_test.yml"]);
}

/// Counters that are first seen soon after they began: `rate()` alone makes more of the part than of the whole.
#[test]
fn shares_of_seconds_are_right_from_their_first_value_on() {
    let Some(program) = common::tool("promtool") else { return };
    let host = dashboards().into_iter().find(|(name, _)| name == "benchd-host").unwrap().1;
    let panel = panels(&host).find(|panel| panel["title"] == "Share of seconds above a utilisation").unwrap();
    let of_panel = targets(panel).map(|target| {
        let query = without_variables(target["expr"].as_str().unwrap(), &[("$__rate_interval", "15m")]);
        (query, r#"{instance="db1"}"#)
    });
    let rule =
        rules("recording.rules.yml").into_iter().find(|(name, _)| name.contains("seconds_above")).unwrap();
    let all: Vec<(String, &str)> = of_panel.chain([(rule.1, r#"{instance="db1", job="benchd"}"#)]).collect();
    assert_eq!(all.len(), 4, "{all:?}");
    let series = |end: &str, values: &str| {
        let name = format!("benchd_host_cpu_utilization_ratio_{end}job=\"benchd\", instance=\"db1\"}}");
        format!("      - {{series: '{name}', values: '_x5 {values}'}}\n")
    };
    let mut file = format!("tests:\n  - interval: 1m\n    input_series:\n{}", series("count{", "120+60x60"));
    for (le, values) in [("0.5", "60+30x60"), ("0.8", "50+45x60"), ("0.9", "50+54x60"), ("0.95", "50+60x60")]
    {
        file += &series(&format!("bucket{{le=\"{le}\", "), values);
    }
    file += "    promql_expr_test:\n";
    for ((query, labels), share) in all.iter().zip([0.5, 0.25, 0.0, 0.1]) {
        let expr = serde_json::to_string(&format!("round({query}, 0.001)")).unwrap();
        for early in 0..=20 {
            writeln!(file, "      - {{expr: {expr}, eval_time: {early}m}}").unwrap();
        }
        for later in 22..=60 {
            writeln!(
                file,
                "      - {{expr: {expr}, eval_time: {later}m, exp_samples: [{{labels: '{labels}', value: {share}}}]}}"
            )
            .unwrap();
        }
    }
    let directory = common::directory();
    let path = directory.path().join("shares.yml");
    fs::write(&path, file).unwrap();
    promtool(&program, &["test", "rules", path.to_str().unwrap()]);
}

/// Values of variables that are no choice of series.
const VALUES: [(&str, &str); 5] = [
    ("$__rate_interval", "1m"),
    ("$__interval", "30s"),
    ("$__range", "1h"),
    ("$before", "1d"),
    ("$percentile", "p95"),
];

#[test]
fn promtool_reads_every_query_of_the_dashboards() {
    let Some(program) = common::tool("promtool") else { return };
    let mut file = "groups:\n- name: queries\n  rules:\n".to_owned();
    let mut count = 0;
    for (name, dashboard) in dashboards() {
        let queries = panels(&dashboard).flat_map(targets).map(|target| target["expr"].as_str().unwrap());
        for query in queries.chain(marks(&dashboard)) {
            count += 1;
            let expr = serde_json::to_string(&without_variables(query, &VALUES)).unwrap();
            writeln!(file, "  - {{record: 'query:{count}', expr: {expr}, labels: {{dashboard: {name}}}}}")
                .unwrap();
        }
    }
    assert!(count > 100, "{count} queries");
    let directory = common::directory();
    let path = directory.path().join("queries.yml");
    fs::write(&path, file).unwrap();
    promtool(&program, &["check", "rules", "--lint=none", path.to_str().unwrap()]);
}

/// How a panel's options and the settings of its fields are typed: the module of its kind, and whether it types
/// fields.
const PANEL_TYPES: [(&str, &str, bool); 6] = [
    ("timeseries", "timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen", true),
    ("stat", "stat/panelcfg/x/StatPanelCfg_types.gen", false),
    ("bargauge", "bargauge/panelcfg/x/BarGaugePanelCfg_types.gen", false),
    ("table", "table/panelcfg/x/TablePanelCfg_types.gen", true),
    ("heatmap", "heatmap/panelcfg/x/HeatmapPanelCfg_types.gen", true),
    ("state-timeline", "statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen", true),
];

/// The dashboards as a program in TypeScript that is correct when they are.
fn typescript(dashboards: &[(String, Value)]) -> String {
    let mut text = "import type { Dashboard, AnnotationQuery } from '@grafana/schema';\n".to_owned();
    for (place, (_, module, _)) in PANEL_TYPES.iter().enumerate() {
        writeln!(text, "import type * as P{place} from '@grafana/schema/dist/esm/raw/composable/{module}';")
            .unwrap();
    }
    text.push_str(
        "type Loose<T> = T extends string ? T | `${T}` : T extends (infer U)[] ? Loose<U>[]\n  \
         : T extends object ? { [K in keyof T]: Loose<T[K]> } : T;\n\
         // What the Prometheus data source reads of an annotation beside what all have.\n\
         type Annotation = Loose<Omit<AnnotationQuery, 'target'>> & { target?: object; titleFormat?: string;\n  \
         textFormat?: string; tagKeys?: string; useValueForTime?: boolean };\n\
         type Ours = Loose<Omit<Dashboard, 'annotations'>> & { annotations: { list: Annotation[] } };\n",
    );
    for (place, (_, dashboard)) in dashboards.iter().enumerate() {
        writeln!(text, "const d{place}: Ours = {dashboard};").unwrap();
        for panel in panels(dashboard) {
            let types = PANEL_TYPES.iter().position(|(name, ..)| panel["type"] == *name);
            let types = types.unwrap_or_else(|| panic!("a panel of type {}", panel["type"]));
            let id = &panel["id"];
            writeln!(text, "const o{place}_{id}: Loose<P{types}.Options> = {};", panel["options"]).unwrap();
            if PANEL_TYPES[types].2 {
                let custom = &panel["fieldConfig"]["defaults"]["custom"];
                writeln!(text, "const c{place}_{id}: Loose<P{types}.FieldConfig> = {custom};").unwrap();
            }
        }
    }
    text.push_str("export {};\n");
    text
}

/// What the compiler says of dashboards; nothing is good. `None` without it.
fn compiled(dashboards: &[(String, Value)]) -> Option<String> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join(".tools/dashboards/node_modules");
    common::tool("node")?;
    if !tools.join("typescript").exists() {
        common::skip("grafana-schema");
        return None;
    }
    let directory = common::directory();
    std::os::unix::fs::symlink(&tools, directory.path().join("node_modules")).unwrap();
    fs::write(directory.path().join("dashboards.ts"), typescript(dashboards)).unwrap();
    let output = Command::new("node")
        .arg(tools.join("typescript/bin/tsc"))
        .args(["--noEmit", "--strict", "--skipLibCheck", "--target", "esnext"])
        .args(["--module", "esnext", "--moduleResolution", "bundler", "--preserveSymlinks", "dashboards.ts"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_dashboards_are_of_grafanas_types() {
    let good = dashboards();
    let Some(said) = compiled(&good) else { return };
    assert_eq!(said, "");
    let mut bad = good;
    bad.truncate(1);
    bad[0].1["graphTooltip"] = "shared".into();
    assert!(compiled(&bad).unwrap().contains(": error TS"));
}
