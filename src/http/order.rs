//! The body of a request for a run, checked member by member; every mistake is found, each with its pointer.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::problem::{Kind, Mistake, Problem};
use crate::run::guards::OVERRIDABLE;

/// Longest note, in characters.
const NOTE_LIMIT: usize = 200;

/// What somebody wants to run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    pub(super) what: What,
    /// Patterns of case names; none = all.
    pub(super) cases: Vec<String>,
    pub(super) note: Option<String>,
    /// In place of the suite's.
    pub(super) scale: Option<f64>,
    /// In place of the suite's.
    pub(super) rounds: Option<u32>,
    /// Wait for the active run, or for the window.
    pub(super) queue: bool,
    pub(super) overrides: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Suite(String),
    /// A workload that no suite has, with keys as on the command line.
    Benchmark {
        workload: String,
        keys: Vec<(String, String)>,
    },
}

impl Order {
    /// Whether it asks for more than to run what is configured, under its guards.
    pub(super) fn is_for_administrators(&self) -> bool {
        matches!(self.what, What::Benchmark { .. }) || !self.overrides.is_empty()
    }

    pub(super) fn read(body: &Value) -> Result<Order, Problem> {
        let mut mistakes = Vec::new();
        let order = read(body, &mut mistakes);
        match order.filter(|_| mistakes.is_empty()) {
            Some(order) => Ok(order),
            None => Err(Problem::mistakes(Kind::Parameters, "the request cannot be understood", &mistakes)),
        }
    }
}

fn read(body: &Value, mistakes: &mut Vec<Mistake>) -> Option<Order> {
    let Some(members) = body.as_object() else {
        mistakes.push(Mistake::new("#", "must be an object such as {\"suite\": \"quick\"}"));
        return None;
    };
    const MEMBERS: [&str; 8] = ["suite", "benchmark", "case", "scale", "rounds", "note", "queue", "override"];
    for name in members.keys().filter(|name| !MEMBERS.contains(&name.as_str())) {
        mistakes
            .push(Mistake::new(pointer(&[name]), format!("unknown; members are: {}", MEMBERS.join(", "))));
    }
    Some(Order {
        cases: texts(members, "case", mistakes),
        note: note(members, mistakes),
        scale: number(members, "scale", mistakes, Value::as_f64),
        rounds: number(members, "rounds", mistakes, |value| value.as_u64()?.try_into().ok()),
        queue: flag(members, "queue", mistakes),
        overrides: overrides(members, mistakes),
        what: what(members, mistakes)?,
    })
}

/// A JSON pointer as a URI fragment.
fn pointer(parts: &[&str]) -> String {
    let each = parts.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1")));
    each.fold("#".to_owned(), |pointer, part| pointer + &part)
}

fn what(members: &Map<String, Value>, mistakes: &mut Vec<Mistake>) -> Option<What> {
    match (members.get("suite"), members.get("benchmark")) {
        (Some(Value::String(suite)), None) => Some(What::Suite(suite.clone())),
        (Some(_), None) => {
            mistakes.push(Mistake::new("#/suite", "must be the name of a suite"));
            None
        }
        (None, Some(benchmark)) => self::benchmark(benchmark, mistakes),
        (Some(_), Some(_)) => {
            mistakes.push(Mistake::new("#/benchmark", "cannot stand beside suite: leave one of them out"));
            None
        }
        (None, None) => {
            mistakes.push(Mistake::new("#/suite", "missing: name a suite, or give a benchmark"));
            None
        }
    }
}

/// A table as in the configuration. `keys` gives keys as pairs of texts, in an order of their own.
fn benchmark(value: &Value, mistakes: &mut Vec<Mistake>) -> Option<What> {
    let workload = value.get("workload").and_then(Value::as_str);
    let (Some(table), Some(workload)) = (value.as_object(), workload) else {
        mistakes.push(Mistake::new(
            "#/benchmark/workload",
            "missing: a benchmark is an object with a workload and its keys",
        ));
        return None;
    };
    let mut keys = Vec::new();
    for (key, value) in table.iter().filter(|(key, _)| *key != "workload") {
        let read =
            if key == "keys" { pairs(value) } else { text(value).map(|text| vec![(key.clone(), text)]) };
        match read {
            Some(read) => keys.extend(read),
            None => mistakes.push(Mistake::new(
                pointer(&["benchmark", key]),
                "must be a text, a number, true or false, or a list of them",
            )),
        }
    }
    Some(What::Benchmark { workload: workload.to_owned(), keys })
}

fn pairs(value: &Value) -> Option<Vec<(String, String)>> {
    serde_json::from_value(value.clone()).ok()
}

/// A value as it is typed: lists with commas.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Array(values) if values.iter().all(|value| !value.is_array()) => {
            values.iter().map(text).collect::<Option<Vec<String>>>().map(|texts| texts.join(","))
        }
        _ => None,
    }
}

/// A text, or a list of texts.
fn texts(members: &Map<String, Value>, name: &str, mistakes: &mut Vec<Mistake>) -> Vec<String> {
    let read = match members.get(name) {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(text)) => Some(vec![text.clone()]),
        Some(list) => serde_json::from_value(list.clone()).ok(),
    };
    read.unwrap_or_else(|| {
        mistakes.push(Mistake::new(pointer(&[name]), "must be a text or a list of texts"));
        Vec::new()
    })
}

fn note(members: &Map<String, Value>, mistakes: &mut Vec<Mistake>) -> Option<String> {
    match members.get("note") {
        None | Some(Value::Null) => None,
        Some(Value::String(note)) if note.chars().count() <= NOTE_LIMIT => Some(note.clone()),
        Some(_) => {
            mistakes
                .push(Mistake::new("#/note", format!("must be a text of at most {NOTE_LIMIT} characters")));
            None
        }
    }
}

fn number<T>(
    members: &Map<String, Value>,
    name: &str,
    mistakes: &mut Vec<Mistake>,
    read: fn(&Value) -> Option<T>,
) -> Option<T> {
    let value = members.get(name).filter(|value| !value.is_null())?;
    let number = read(value);
    if number.is_none() {
        mistakes.push(Mistake::new(pointer(&[name]), "must be a number"));
    }
    number
}

fn flag(members: &Map<String, Value>, name: &str, mistakes: &mut Vec<Mistake>) -> bool {
    let value = members.get(name).map_or(Some(false), Value::as_bool);
    value.unwrap_or_else(|| {
        mistakes.push(Mistake::new(pointer(&[name]), "must be true or false"));
        false
    })
}

fn overrides(members: &Map<String, Value>, mistakes: &mut Vec<Mistake>) -> BTreeSet<String> {
    let guards = texts(members, "override", mistakes);
    if let Some(guard) = guards.iter().find(|guard| !OVERRIDABLE.contains(&guard.as_str())) {
        let detail = format!("guard `{guard}` cannot be overridden; these can: {}", OVERRIDABLE.join(", "));
        mistakes.push(Mistake::new("#/override", detail));
    }
    guards.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pointers(body: &Value) -> Vec<String> {
        let mut mistakes = Vec::new();
        read(body, &mut mistakes);
        mistakes.into_iter().map(|mistake| mistake.pointer).collect()
    }

    #[test]
    fn every_mistake_has_its_pointer() {
        let body = json!({ "suite": 1, "note": "x".repeat(201), "queue": "yes", "override": ["deadline"], "a/b": 1, "case": [1] });
        let mut found = pointers(&body);
        found.sort();
        assert_eq!(found, ["#/a~1b", "#/case", "#/note", "#/override", "#/queue", "#/suite"]);
        assert_eq!(pointers(&json!([])), ["#"]);
        assert_eq!(pointers(&json!({})), ["#/suite"]);
        assert_eq!(pointers(&json!({ "suite": "a", "benchmark": {} })), ["#/benchmark"]);
        assert_eq!(
            pointers(&json!({ "benchmark": { "workload": "cpu", "threads": {} } })),
            ["#/benchmark/threads"]
        );
    }

    #[test]
    fn a_benchmark_may_be_a_table_or_typed_keys() {
        let what = |benchmark: Value| Order::read(&json!({ "benchmark": benchmark })).unwrap().what;
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let keys = vec![pair("threads", "1,8"), pair("time", "5s")];
        let wanted = What::Benchmark { workload: "cpu".to_owned(), keys };
        assert_eq!(what(json!({ "workload": "cpu", "threads": [1, 8], "time": "5s" })), wanted);
        assert_eq!(what(json!({ "workload": "cpu", "keys": [["threads", "1,8"], ["time", "5s"]] })), wanted);
    }

    #[test]
    fn a_suite_needs_no_administrator_and_its_defaults_are_modest() {
        let order = Order::read(&json!({ "suite": "quick", "case": "cpu*" })).unwrap();
        assert!(!order.is_for_administrators() && !order.queue);
        assert_eq!(order.cases, ["cpu*"]);
        let order = Order::read(&json!({ "suite": "quick", "override": ["window"] })).unwrap();
        assert!(order.is_for_administrators());
    }
}
