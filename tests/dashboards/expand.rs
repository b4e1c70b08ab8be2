//! From what is written to the JSON that Grafana reads: all that panels have alike stands here once.

use serde_json::{Map, Value, json};

use super::source::{COLUMNS, Dashboard, Kind, Label, Panel, Query, Row};

/// Short forms of matchers: `benchd_host_load1{host}`, `benchd_host_disk_io_now{disk, device!="sda"}`.
const MATCHERS: &[(&str, &str)] = &[
    ("host", r#"job=~"$job", instance=~"$instance""#),
    ("suite", r#"job=~"$job", instance=~"$instance", suite=~"$suite""#),
    ("case", r#"job=~"$job", instance=~"$instance", suite=~"$suite", workload=~"$workload", case=~"$case""#),
    ("target", r#"job=~"$job", instance=~"$instance", target=~"$target""#),
    ("disk", r#"job=~"$job", instance=~"$instance", device=~"$disk""#),
    ("card", r#"job=~"$job", instance=~"$instance", device=~"$card""#),
];

/// Variables of queries: name, label, the query of its values. Job and instance are on every dashboard.
const VARIABLES: &[(&str, &str, &str)] = &[
    ("job", "Job", "label_values(benchd_build_info, job)"),
    ("instance", "Instance", r#"label_values(benchd_build_info{job=~"$job"}, instance)"#),
    ("suite", "Suite", "label_values(benchd_run_active{host}, suite)"),
    ("workload", "Workload", "label_values(benchd_case_info{suite}, workload)"),
    ("case", "Case", r#"label_values(benchd_case_info{suite, workload=~"$workload"}, case)"#),
    ("target", "Target", "label_values(benchd_mysql_up{host}, target)"),
    ("disk", "Disk", "label_values(benchd_host_disk_io_time_seconds_total{host}, device)"),
    ("card", "Network card", "label_values(benchd_host_network_receive_bytes_total{host}, device)"),
];

/// Variables to choose from: name, label, the choices, the first of which is chosen.
const CHOICES: &[(&str, &str, &[&str])] = &[
    ("percentile", "Percentile", &["p95", "p50", "p99", "max"]),
    ("before", "Compare with", &["1d", "1h", "7d", "30d"]),
];

/// What may be marked in all graphs. A change is marked where a series of facts was first seen, for 15 minutes, so
/// that the steps of a long time meet it too.
struct Mark {
    name: &'static str,
    title: &'static str,
    colour: &'static str,
    expr: &'static str,
    says: &'static str,
    more: &'static str,
    /// The value is the time, in milliseconds, of the mark.
    at_value: bool,
}

const MARKS: &[Mark] = &[
    Mark {
        name: "runs",
        title: "Runs",
        colour: "blue",
        expr: "benchd_run_active{run} == 1",
        says: "{{suite}} on {{instance}}",
        more: "A run of the suite was active.",
        at_value: false,
    },
    Mark {
        name: "runs",
        title: "Starts of runs",
        colour: "blue",
        expr: "benchd_last_run_start_timestamp_seconds{run} * 1000",
        says: "{{suite}} on {{instance}}",
        more: "The last finished run started; also one too short for a scrape to meet it.",
        at_value: true,
    },
    Mark {
        name: "changes",
        title: "Database changed",
        colour: "orange",
        expr: "min_over_time(timestamp(benchd_mysql_info{host})[15m:30s]) * 1000 unless on (job, instance, target, flavour, version, config, role) benchd_mysql_info{host} offset 15m \
               and on (job, instance, target) benchd_mysql_info{host} offset 15m",
        says: "{{target}} of {{instance}} changed",
        more: "Now {{flavour}} {{version}}, variables {{config}}, role {{role}}.",
        at_value: true,
    },
    Mark {
        name: "changes",
        title: "Host changed",
        colour: "orange",
        expr: "min_over_time(timestamp(benchd_host_info{host})[15m:30s]) * 1000 unless on (job, instance, kernel, distribution, cpu_model, sockets, cores, virtualization, governor, clocksource) benchd_host_info{host} offset 15m \
               and on (job, instance) benchd_host_info{host} offset 15m",
        says: "{{instance}} changed",
        more: "Now kernel {{kernel}}, {{distribution}}, {{cpu_model}}, governor {{governor}}.",
        at_value: true,
    },
    Mark {
        name: "changes",
        title: "Case changed",
        colour: "purple",
        expr: "min_over_time(timestamp(benchd_case_info{run})[15m:30s]) * 1000 unless on (job, instance, suite, case, engine, threads, profile, revision, parameters) benchd_case_info{run} offset 15m \
               and on (job, instance, suite, case) benchd_case_info{run} offset 15m",
        says: "{{case}} of {{suite}} changed",
        more: "Its parameters or its workload's revision are others now: results before and after are not comparable.",
        at_value: true,
    },
    Mark {
        name: "changes",
        title: "benchd changed",
        colour: "purple",
        expr: "min_over_time(timestamp(benchd_build_info{host})[15m:30s]) * 1000 unless on (job, instance, version, revision) benchd_build_info{host} offset 15m \
               and on (job, instance) benchd_build_info{host} offset 15m",
        says: "benchd {{version}} on {{instance}}",
        more: "Another build of benchd runs since here.",
        at_value: true,
    },
    Mark {
        name: "changes",
        title: "Configuration read",
        colour: "purple",
        expr: "benchd_config_last_reload_success_timestamp_seconds{host} * 1000",
        says: "benchd's configuration on {{instance}}",
        more: "The configuration in force was read here.",
        at_value: true,
    },
];

/// How series are drawn by words of their names, the same on every dashboard: a shade of one colour each.
const COLOURS: &[(&str, &str)] = &[
    ("mean", "blue"),
    ("peak", "orange"),
    ("busiest", "purple"),
    ("p50", "green"),
    ("p95", "yellow"),
    ("p99", "orange"),
    ("max", "red"),
    ("user", "blue"),
    ("nice", "super-light-blue"),
    ("system", "orange"),
    ("irq", "purple"),
    ("softirq", "light-purple"),
    ("iowait", "yellow"),
    ("steal", "red"),
    ("read", "blue"),
    ("write", "orange"),
    ("flush", "purple"),
    ("receive", "blue"),
    ("transmit", "orange"),
    ("offered", "text"),
    ("failed", "red"),
    ("retried", "yellow"),
    ("limit", "red"),
    ("available", "green"),
    ("free", "dark-green"),
    ("cached", "blue"),
    ("used", "orange"),
    ("dirty", "orange"),
    ("clean", "blue"),
    ("guard", "purple"),
    ("prepare", "orange"),
    ("warm_up", "yellow"),
    ("measure", "blue"),
    ("record", "green"),
    ("clean_up", "text"),
    ("select", "blue"),
    ("insert", "green"),
    ("update", "orange"),
    ("delete", "red"),
    ("commit", "purple"),
    ("rollback", "yellow"),
];

/// Labels whose values are such words.
const WORDS_OF: &[(&str, &[&str])] = &[
    ("{{mode}}", &["user", "nice", "system", "irq", "softirq", "iowait", "steal"]),
    ("{{stage}}", &["guard", "prepare", "warm_up", "measure", "record", "clean_up"]),
    ("{{command}}", &["select", "insert", "update", "delete", "commit", "rollback"]),
];

/// The JSON of a dashboard.
pub(crate) fn dashboard(from: &Dashboard) -> Value {
    json!({
        "id": null,
        "uid": from.uid,
        "title": from.title,
        "description": from.about,
        "tags": ["benchd"],
        "schemaVersion": 39,
        "version": 1,
        "editable": false,
        "fiscalYearStartMonth": 0,
        "graphTooltip": 1,
        "liveNow": false,
        "preload": false,
        "refresh": "1m",
        "timezone": "",
        "weekStart": "",
        "time": { "from": from.from, "to": "now" },
        "timepicker": {},
        "links": [{
            "type": "dashboards",
            "title": "benchd",
            "tooltip": "The other dashboards, with the same time and variables",
            "tags": ["benchd"],
            "icon": "external link",
            "url": "",
            "asDropdown": false,
            "includeVars": true,
            "keepTime": true,
            "targetBlank": false,
        }],
        "annotations": { "list": annotations(from) },
        "templating": { "list": variables(from) },
        "panels": panels(&from.rows),
    })
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "$datasource" })
}

/// Writes out the short forms of matchers.
pub(crate) fn matchers(expr: &str) -> String {
    let short = |text: String, (name, long): &(&str, &str)| {
        text.replace(&format!("{{{name}}}"), &format!("{{{long}}}"))
            .replace(&format!("{{{name}, "), &format!("{{{long}, "))
    };
    MATCHERS.iter().fold(expr.split_whitespace().collect::<Vec<_>>().join(" "), short)
}

fn annotations(from: &Dashboard) -> Vec<Value> {
    let mut list = vec![json!({
        "builtIn": 1,
        "datasource": { "type": "grafana", "uid": "-- Grafana --" },
        "enable": true,
        "hide": true,
        "iconColor": "rgba(0, 211, 255, 1)",
        "name": "Annotations & Alerts",
        "type": "dashboard",
    })];
    let suites = from.variables.iter().any(|name| name == "suite");
    for mark in MARKS.iter().filter(|mark| from.marks.iter().any(|name| name == mark.name)) {
        let expr = matchers(&mark.expr.replace("{run}", if suites { "{suite}" } else { "{host}" }));
        list.push(json!({
            "datasource": source(),
            "enable": true,
            "hide": false,
            "iconColor": mark.colour,
            "name": mark.title,
            "target": { "refId": "Anno", "expr": expr, "interval": "15s" },
            "titleFormat": mark.says,
            "textFormat": mark.more,
            "tagKeys": "suite,target",
            "useValueForTime": mark.at_value,
        }));
    }
    list
}

fn variables(from: &Dashboard) -> Vec<Value> {
    let mut list = vec![json!({
        "name": "datasource",
        "label": "Data source",
        "type": "datasource",
        "query": "prometheus",
        "regex": "",
        "refresh": 1,
        "hide": 0,
        "includeAll": false,
        "multi": false,
        "options": [],
    })];
    let names = ["job", "instance"].into_iter().chain(from.variables.iter().map(String::as_str));
    list.extend(names.map(variable));
    list
}

fn variable(name: &str) -> Value {
    if let Some((_, label, choices)) = CHOICES.iter().find(|(known, ..)| *known == name) {
        return chosen(name, label, choices);
    }
    let known = VARIABLES.iter().find(|(known, ..)| *known == name);
    let (_, label, query) = known.unwrap_or_else(|| panic!("no variable is called {name}"));
    let query = matchers(query);
    json!({
        "name": name,
        "label": label,
        "type": "query",
        "datasource": source(),
        "query": { "query": query, "refId": format!("Variable-{name}") },
        "regex": "",
        "refresh": 2,
        "sort": 1,
        "hide": 0,
        "includeAll": true,
        "multi": true,
        "allValue": ".+",
        "current": { "text": ["All"], "value": ["$__all"] },
        "options": [],
    })
}

fn chosen(name: &str, label: &str, choices: &[&str]) -> Value {
    let option =
        |choice: &&str| json!({ "text": choice, "value": choice, "selected": *choice == choices[0] });
    json!({
        "name": name,
        "label": label,
        "type": "custom",
        "query": choices.join(","),
        "hide": 0,
        "includeAll": false,
        "multi": false,
        "current": { "text": choices[0], "value": choices[0] },
        "options": choices.iter().map(option).collect::<Vec<_>>(),
    })
}

/// Panels from left to right, line by line, each row below its heading.
fn panels(rows: &[Row]) -> Vec<Value> {
    let (mut list, mut y) = (Vec::new(), 0);
    for row in rows {
        let place = json!({ "x": 0, "y": y, "w": COLUMNS, "h": 1 });
        list.push(json!({
            "id": list.len() + 1,
            "type": "row",
            "title": row.title,
            "collapsed": false,
            "gridPos": place,
            "panels": [],
        }));
        (y, _) = row.panels.iter().fold((y + 1, 0), |(y, x), one| {
            let height = one.height.unwrap_or(if one.kind == Kind::Stat { 4 } else { 9 });
            let mut drawn = panel(one);
            drawn["id"] = json!(list.len() + 1);
            drawn["gridPos"] = json!({ "x": x, "y": y, "w": one.width, "h": height });
            list.push(drawn);
            if x + one.width < COLUMNS { (y, x + one.width) } else { (y + height, 0) }
        });
    }
    list
}

fn panel(from: &Panel) -> Value {
    let kind = match from.kind {
        Kind::Lines | Kind::Stack | Kind::Steps => "timeseries",
        Kind::Stat => "stat",
        Kind::Bars => "bargauge",
        Kind::Table => "table",
        Kind::Heat => "heatmap",
        Kind::States => "state-timeline",
    };
    let mut panel = json!({
        "type": kind,
        "title": from.title,
        "description": from.about,
        "datasource": source(),
        "targets": from.queries.iter().enumerate().map(|(place, query)| target(from.kind, place, query)).collect::<Vec<_>>(),
        "fieldConfig": { "defaults": defaults(from), "overrides": overrides(from) },
        "options": options(from),
    });
    if from.kind == Kind::Table {
        panel["transformations"] = columns(from);
    }
    panel
}

/// `A` for the first query, `B` for the second.
fn letter(place: usize) -> String {
    char::from(b'A' + u8::try_from(place).unwrap()).to_string()
}

fn target(kind: Kind, place: usize, query: &Query) -> Value {
    let now = matches!(kind, Kind::Stat | Kind::Bars | Kind::Table);
    let mut target = json!({
        "refId": letter(place),
        "datasource": source(),
        "editorMode": "code",
        "expr": matchers(&query.expr),
        "legendFormat": query.legend,
        "instant": now,
        "range": !now,
        "format": match kind {
            Kind::Table => "table",
            Kind::Heat => "heatmap",
            _ => "time_series",
        },
    });
    if let Some(step) = &query.step {
        target["interval"] = json!(step);
    }
    target
}

fn thresholds(calm: Option<&str>, steps: &[(f64, String)]) -> Value {
    let first = json!({ "value": null, "color": calm.unwrap_or("green") });
    let steps = steps.iter().map(|(value, colour)| json!({ "value": value, "color": colour }));
    json!({ "mode": "absolute", "steps": std::iter::once(first).chain(steps).collect::<Vec<_>>() })
}

fn words(words: &[(f64, String, String)]) -> Value {
    let options: Map<String, Value> = words
        .iter()
        .enumerate()
        .map(|(index, (value, text, colour))| {
            (value.to_string(), json!({ "index": index, "text": text, "color": colour }))
        })
        .collect();
    if options.is_empty() { json!([]) } else { json!([{ "type": "value", "options": options }]) }
}

/// Puts what is known of a few settings into an object.
fn put(into: &mut Value, settings: [(&str, Option<Value>); 4]) {
    for (name, value) in settings {
        if let Some(value) = value {
            into[name] = value;
        }
    }
}

fn defaults(from: &Panel) -> Value {
    let by_value = matches!(from.kind, Kind::Stat | Kind::Bars | Kind::States | Kind::Table);
    let mut defaults = json!({
        "color": { "mode": if by_value { "thresholds" } else { "palette-classic" } },
        "thresholds": thresholds(from.calm.as_deref(), &from.thresholds),
        "mappings": words(&from.words),
        "custom": custom(from),
    });
    put(
        &mut defaults,
        [
            ("unit", from.unit.as_ref().map(|unit| json!(unit))),
            ("decimals", from.decimals.map(|decimals| json!(decimals))),
            ("min", from.min.map(|min| json!(min))),
            ("max", from.max.map(|max| json!(max))),
        ],
    );
    if let Some(none) = &from.none {
        defaults["noValue"] = json!(none);
    }
    defaults
}

fn custom(from: &Panel) -> Value {
    match from.kind {
        Kind::Lines | Kind::Stack | Kind::Steps => graph(from),
        Kind::Table => {
            json!({ "align": "auto", "cellOptions": { "type": "auto" }, "filterable": false, "inspect": false, "minWidth": 50 })
        }
        Kind::States => json!({ "fillOpacity": 80, "lineWidth": 0 }),
        Kind::Heat => json!({ "scaleDistribution": { "type": "linear" } }),
        Kind::Stat | Kind::Bars => json!({}),
    }
}

fn graph(from: &Panel) -> Value {
    let (fill, stacking, points, interpolation) = match from.kind {
        Kind::Stack => (60, "normal", "never", "linear"),
        Kind::Steps => (0, "none", "auto", "stepAfter"),
        _ => (8, "none", "never", "linear"),
    };
    let mut graph = json!({
        "drawStyle": "line",
        "lineInterpolation": interpolation,
        "lineWidth": if from.kind == Kind::Stack { 0 } else { 1 },
        "fillOpacity": fill,
        "gradientMode": "none",
        "showPoints": points,
        "pointSize": 4,
        "spanNulls": false,
        "stacking": { "mode": stacking, "group": "A" },
        "axisPlacement": "auto",
        "axisLabel": "",
        "axisColorMode": "text",
        "axisBorderShow": false,
        "axisCenteredZero": false,
        "scaleDistribution": if from.log { json!({ "type": "log", "log": 10 }) } else { json!({ "type": "linear" }) },
        "hideFrom": { "legend": false, "tooltip": false, "viz": false },
        "thresholdsStyle": { "mode": if from.limits { "dashed" } else { "off" } },
    });
    for (name, value) in [("axisSoftMin", from.soft_min), ("axisSoftMax", from.soft_max)] {
        if let Some(value) = value {
            graph[name] = json!(value);
        }
    }
    graph
}

fn override_for(id: &str, name: &str, properties: &[(&str, Value)]) -> Value {
    let properties = properties.iter().map(|(id, value)| json!({ "id": id, "value": value }));
    json!({ "matcher": { "id": id, "options": name }, "properties": properties.collect::<Vec<_>>() })
}

fn overrides(from: &Panel) -> Vec<Value> {
    match from.kind {
        Kind::Table => from
            .queries
            .iter()
            .map(column)
            .chain(from.labels.iter().filter_map(width))
            .chain(from.leads_to.iter().map(|uid| lead(from, uid)))
            .collect(),
        Kind::Lines | Kind::Stack | Kind::Steps => styles(from),
        _ => Vec::new(),
    }
}

/// How the series of a graph are drawn by the words in their names.
fn styles(from: &Panel) -> Vec<Value> {
    let has = |word: &str| {
        let is = |part: &str| {
            part == word || WORDS_OF.iter().any(|(label, words)| *label == part && words.contains(&word))
        };
        from.queries.iter().any(|query| query.legend.split(' ').any(is))
    };
    // Where the host's name comes first it is what tells lines apart, and keeps the colours.
    let by_host = from.queries.iter().all(|query| query.legend.starts_with("{{instance}}"));
    let named = |word: &str| format!(r"/(^|\s){word}(\s|$)/");
    let coloured = COLOURS.iter().filter(|(word, _)| !by_host && has(word)).map(|(word, colour)| {
        override_for(
            "byRegexp",
            &named(word),
            &[("color", json!({ "mode": "shades", "fixedColor": colour }))],
        )
    });
    let quiet = ["peak", "limit", "offered"].into_iter().filter(|word| has(word)).map(|word| {
        let dash = json!({ "fill": "dash", "dash": if word == "peak" { [2, 3] } else { [8, 6] } });
        let drawn = [
            ("custom.fillOpacity", json!(0)),
            ("custom.lineStyle", dash),
            ("custom.stacking", json!({ "mode": "none", "group": "A" })),
        ];
        override_for("byRegexp", &named(word), &drawn)
    });
    coloured.chain(quiet).collect()
}

/// A column of a table: what its cells look like.
fn column(query: &Query) -> Value {
    let mut properties: Vec<(&str, Value)> = Vec::new();
    let known = [
        ("unit", query.unit.as_ref().map(|unit| json!(unit))),
        ("decimals", query.decimals.map(|decimals| json!(decimals))),
        ("custom.width", query.width.map(|width| json!(width))),
    ];
    properties.extend(known.into_iter().filter_map(|(id, value)| Some((id, value?))));
    if !query.words.is_empty() {
        // A cell without a value has no colour.
        properties.push(("mappings", words(&query.words)));
        properties.push(("thresholds", thresholds(Some("transparent"), &[])));
    }
    if !query.thresholds.is_empty() {
        properties.push(("thresholds", thresholds(query.calm.as_deref(), &query.thresholds)));
    }
    match query.cell.as_deref() {
        Some("gauge") => {
            properties.extend([("min", json!(0)), ("max", json!(1))]);
            properties.push((
                "custom.cellOptions",
                json!({ "type": "gauge", "mode": "basic", "valueDisplayMode": "text" }),
            ));
        }
        Some("background") => {
            properties.push(("custom.cellOptions", json!({ "type": "color-background", "mode": "basic" })))
        }
        Some("text") => properties.push(("custom.cellOptions", json!({ "type": "color-text" }))),
        _ => {}
    }
    override_for("byName", &query.legend, &properties)
}

/// The width of a column of labels.
fn width(label: &Label) -> Option<Value> {
    let wide = label.width?;
    Some(override_for("byName", &label.title, &[("custom.width", json!(wide))]))
}

/// The first column of a table leads to a dashboard of what the row is about.
fn lead(from: &Panel, uid: &str) -> Value {
    let given =
        from.labels.iter().map(|one| format!("&var-{}=${{__data.fields[\"{}\"]}}", one.label, one.title));
    let url =
        format!("/d/{uid}?${{__url_time_range}}&var-datasource=$datasource{}", given.collect::<String>());
    let link = json!([{ "title": "Details", "url": url, "targetBlank": false }]);
    override_for("byName", &from.labels[0].title, &[("links", link)])
}

/// Joins the queries of a table into one row for each set of labels, and names and orders the columns.
fn columns(from: &Panel) -> Value {
    let headings: Vec<(String, &String)> = from
        .labels
        .iter()
        .map(|one| (one.label.clone(), &one.title))
        .chain(from.queries.iter().enumerate().map(|(place, query)| (value_of(from, place), &query.legend)))
        .collect();
    let names: Map<String, Value> =
        headings.iter().map(|(name, title)| (name.clone(), json!(title))).collect();
    let order: Map<String, Value> =
        headings.iter().enumerate().map(|(place, (name, _))| (name.clone(), json!(place))).collect();
    json!([
        { "id": "merge", "options": {} },
        {
            "id": "organize",
            "options": { "excludeByName": { "Time": true }, "indexByName": order, "renameByName": names, "includeByName": {} },
        },
    ])
}

/// What Grafana calls the values of a query in a table.
fn value_of(from: &Panel, place: usize) -> String {
    if from.queries.len() == 1 { "Value".to_owned() } else { format!("Value #{}", letter(place)) }
}

fn options(from: &Panel) -> Value {
    let last = json!({ "calcs": ["lastNotNull"], "fields": "", "values": false });
    match from.kind {
        Kind::Lines | Kind::Stack | Kind::Steps => json!({
            "legend": {
                "showLegend": true,
                "displayMode": if from.plain_legend { "list" } else { "table" },
                "placement": "bottom",
                "calcs": if from.plain_legend { json!([]) } else { calculations(from) },
            },
            "tooltip": { "mode": "multi", "sort": "desc" },
        }),
        Kind::Stat => json!({
            "colorMode": "value",
            "graphMode": "none",
            "justifyMode": "auto",
            "orientation": "auto",
            "percentChangeColorMode": "standard",
            "reduceOptions": last,
            "showPercentChange": false,
            "textMode": "auto",
            "wideLayout": true,
        }),
        Kind::Bars => json!({
            "displayMode": "basic",
            "orientation": "horizontal",
            "minVizHeight": 16,
            "minVizWidth": 8,
            "maxVizHeight": 32,
            "namePlacement": "top",
            "reduceOptions": last,
            "showUnfilled": true,
            "sizing": "auto",
            "valueMode": "color",
            "legend": { "showLegend": false, "displayMode": "list", "placement": "bottom", "calcs": [] },
        }),
        Kind::Table => table_options(from),
        Kind::Heat => heat_options(from),
        Kind::States => json!({
            "alignValue": "left",
            "mergeValues": true,
            "rowHeight": 0.8,
            "showValue": "never",
            "legend": { "showLegend": true, "displayMode": "list", "placement": "bottom", "calcs": [] },
            "tooltip": { "mode": "single", "sort": "none" },
        }),
    }
}

/// What the legend says of each series; in narrow panels there is no room for the last value.
fn calculations(from: &Panel) -> Value {
    if from.width < COLUMNS / 2 { json!(["mean", "max"]) } else { json!(["mean", "max", "lastNotNull"]) }
}

fn table_options(from: &Panel) -> Value {
    let sort = from.sort.iter().map(|column| json!({ "displayName": column, "desc": true }));
    json!({
        "cellHeight": "sm",
        "frameIndex": 0,
        "showHeader": true,
        "sortBy": sort.collect::<Vec<_>>(),
    })
}

fn heat_options(from: &Panel) -> Value {
    json!({
        "calculate": false,
        "cellGap": 1,
        "cellValues": { "unit": "short" },
        "color": {
            "mode": "scheme",
            "scheme": "Oranges",
            "exponent": 0.5,
            "fill": "dark-orange",
            "reverse": false,
            "scale": "exponential",
            "steps": 64,
        },
        "exemplars": { "color": "rgba(255,0,255,0.7)" },
        "filterValues": { "le": 1e-9 },
        "legend": { "show": true },
        "rowsFrame": { "layout": "auto" },
        "showValue": "never",
        "tooltip": { "mode": "single", "showColorScale": false, "yHistogram": false },
        "yAxis": { "axisPlacement": "left", "reverse": false, "unit": from.unit },
    })
}
