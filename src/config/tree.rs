//! The files as one tree of keys and values, each with its place.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value as Scalar;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::source::{Files, Findings, Mistake, Place, Source};

/// A value with the place and the path of its key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    /// `suite.night.benchmark.0.threads.1`.
    pub(super) path: String,
    /// Where the key stands; of an element of a list, the element.
    pub(super) key: Place,
    /// Where the value stands; of a table its header.
    pub(super) at: Place,
    pub(super) value: Value,
}

/// What a key holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// A text, a number, true or false.
    Scalar(Scalar),
    List(Vec<Node>),
    Table(BTreeMap<String, Node>),
}

/// A table by the names of its keys.
pub(super) type Table = BTreeMap<String, Node>;

impl Node {
    /// A table that stands nowhere.
    pub(super) fn root(table: Table) -> Node {
        let nowhere = Place { file: usize::MAX, start: 0, end: 0 };
        Node { path: String::new(), key: nowhere, at: nowhere, value: Value::Table(table) }
    }

    pub(super) fn table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(Scalar::String(text)) => Some(text),
            _ => None,
        }
    }

    /// A mistake in the value.
    pub(super) fn mistake(&self, problem: impl Into<String>, hint: impl Into<String>) -> Mistake {
        Mistake { at: self.at, key: self.path.clone(), problem: problem.into(), hint: hint.into() }
    }

    /// A mistake in the key.
    pub(super) fn key_mistake(&self, problem: impl Into<String>, hint: impl Into<String>) -> Mistake {
        Mistake { at: self.key, ..self.mistake(problem, hint) }
    }

    /// The last part of its path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    /// Where each key of it and below it stands.
    pub(super) fn places(&self, into: &mut BTreeMap<String, Place>) {
        if !self.path.is_empty() {
            into.insert(self.path.clone(), self.at);
        }
        match &self.value {
            Value::Scalar(_) => {}
            Value::List(nodes) => nodes.iter().for_each(|node| node.places(into)),
            Value::Table(table) => table.values().for_each(|node| node.places(into)),
        }
    }
}

/// Reads one file. `None` when it is not TOML: then its keys cannot be trusted. One problem a line is noted,
/// because those after it mostly follow from it.
pub(super) fn parse(files: &Files, index: usize, found: &mut Findings) -> Option<Table> {
    let source = files.0.get(index)?;
    let (root, errors) = DeTable::parse_recoverable(&source.text);
    let mut wrong_lines = BTreeSet::new();
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let at = place(index, span.clone());
        let (problem, hint) = if error.message().starts_with("duplicate key") {
            set_twice(source, &span)
        } else if wrong_lines.insert(files.line_of(at)) {
            syntax(error.message(), source.text.get(span))
        } else {
            continue;
        };
        found.mistakes.push(Mistake { at, key: String::new(), problem, hint });
    }
    found.incomplete |= !wrong_lines.is_empty();
    wrong_lines.is_empty().then(|| table(index, "", root.into_inner(), found))
}

/// The parser's `invalid key, expected newline` as a problem and what to do.
fn syntax(message: &str, written: Option<&str>) -> (String, String) {
    let (problem, hint) = match message.split_once(", expected ") {
        Some(("string values must be quoted", _)) if written.is_none_or(str::is_empty) => {
            ("the key has no value", "write one after the =".to_owned())
        }
        Some((problem @ "string values must be quoted", _)) => (problem, "write it in quotes".to_owned()),
        Some((problem, expected)) => (problem, format!("expected here: {expected}")),
        None => (message, "see https://toml.io for how values are written".to_owned()),
    };
    (format!("not TOML: {problem}"), hint)
}

/// A key or table that stands twice in one file, with the line of the first where it can be told.
fn set_twice(source: &Source, span: &Range<usize>) -> (String, String) {
    let key = source.text.get(span.clone()).unwrap_or_default();
    let (before, rest) = source.text.split_at(source.text.floor_char_boundary(span.start));
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let own =
        source.text.get(start..before.len() + rest.find('\n').unwrap_or(rest.len())).unwrap_or_default();
    let above: Vec<&str> = before[..start].lines().collect();
    let first = match assigned(own) {
        Some(path) => above
            .iter()
            .rposition(|line| assigned(line) == Some(path))
            .filter(|at| !above[*at..].iter().any(|line| line.trim_start().starts_with('['))),
        None => above.iter().position(|line| header(line).is_some() && header(line) == header(own)),
    };
    let hint = match first {
        Some(line) => format!("it stands in line {} too; remove one of them", line + 1),
        None => "remove one of them".to_owned(),
    };
    (format!("`{key}` is set twice in this file"), hint)
}

/// `a.b` of a line `a.b = 1`.
fn assigned(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.split_once('=').map(|(key, _)| key.trim()).filter(|_| !line.starts_with('['))
}

/// `[suite.a` of a line `[suite.a] # …`.
fn header(line: &str) -> Option<&str> {
    line.trim_start().split_once(']').map(|(header, _)| header.trim_end()).filter(|h| h.starts_with('['))
}

fn place(file: usize, span: Range<usize>) -> Place {
    Place { file, start: span.start, end: span.end }
}

fn table(file: usize, path: &str, entries: DeTable<'_>, found: &mut Findings) -> Table {
    let mut table = Table::new();
    for (key, value) in entries {
        let key_place = place(file, key.span());
        let name = key.into_inner().into_owned();
        if let Some(node) = node(file, join(path, &name), key_place, value, found) {
            table.insert(name, node);
        }
    }
    table
}

pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A value with its place; one that no key can hold is noted and left out.
fn node(
    file: usize,
    path: String,
    key: Place,
    spanned: Spanned<DeValue<'_>>,
    found: &mut Findings,
) -> Option<Node> {
    let at = place(file, spanned.span());
    let mut node = Node { path, key, at, value: Value::Scalar(Scalar::Null) };
    let value = match spanned.into_inner() {
        DeValue::String(text) => Ok(Value::Scalar(Scalar::String(text.into_owned()))),
        DeValue::Boolean(value) => Ok(Value::Scalar(Scalar::Bool(value))),
        DeValue::Integer(value) => integer(&value),
        DeValue::Float(value) => float(value.as_str()),
        DeValue::Datetime(_) => Err(("no key holds a date", "a text stands in quotes")),
        DeValue::Array(list) => Ok(Value::List(elements(file, &node.path, list, found))),
        DeValue::Table(entries) => Ok(Value::Table(table(file, &node.path, entries, found))),
    };
    match value {
        Ok(value) => {
            node.value = value;
            Some(node)
        }
        Err((problem, hint)) => {
            found.mistakes.push(node.mistake(problem, hint));
            None
        }
    }
}

fn elements(file: usize, path: &str, list: toml::de::DeArray<'_>, found: &mut Findings) -> Vec<Node> {
    let element = |(index, value): (usize, Spanned<DeValue<'_>>)| {
        let at = place(file, value.span());
        node(file, join(path, &index.to_string()), at, value, found)
    };
    list.into_iter().enumerate().filter_map(element).collect()
}

fn integer(value: &DeInteger<'_>) -> Result<Value, (&'static str, &'static str)> {
    i64::from_str_radix(value.as_str(), value.radix())
        .map(|number| Value::Scalar(number.into()))
        .map_err(|_| ("the number is too large", "whole numbers have at most 63 bits"))
}

fn float(text: &str) -> Result<Value, (&'static str, &'static str)> {
    text.parse()
        .ok()
        .and_then(serde_json::Number::from_f64)
        .map(|number| Value::Scalar(number.into()))
        .ok_or(("not a finite number", "write a number such as 0.5"))
}

/// Joins another file's keys: tables may be spread over files, a key may be set once only.
pub(super) fn merge(into: &mut Table, from: Table, files: &Files, found: &mut Findings) {
    for (name, node) in from {
        let mut present = match into.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(node);
                continue;
            }
            Entry::Occupied(present) => present,
        };
        let present = present.get_mut();
        match (&mut present.value, node.value) {
            (Value::Table(tables), Value::Table(more)) => merge(tables, more, files, found),
            _ => found.mistakes.push(Mistake {
                at: node.key,
                problem: format!("`{}` is set in two files", node.path),
                hint: format!("it stands in {} too; remove one of them", files.line_of(present.key)),
                key: node.path,
            }),
        }
    }
}

/// A table with the keys of another one laid over it.
pub(super) fn overlay(under: &Table, over: &Table) -> Table {
    let mut table = under.clone();
    for (name, node) in over {
        let mut node = node.clone();
        if let (Some(Value::Table(below)), Value::Table(above)) =
            (table.get(name).map(|present| &present.value), &node.value)
        {
            node.value = Value::Table(overlay(below, above));
        }
        table.insert(name.clone(), node);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(texts: &[&str]) -> (Table, Vec<String>) {
        let source = |(i, text): (usize, &&str)| Source {
            path: format!("{i}.toml"),
            text: (*text).to_owned(),
            shown: str::to_owned,
        };
        let files = Files(texts.iter().enumerate().map(source).collect());
        let (mut found, mut root) = (Findings::default(), Table::new());
        for index in 0..texts.len() {
            if let Some(table) = parse(&files, index, &mut found) {
                merge(&mut root, table, &files, &mut found);
            }
        }
        (root, files.problems(found.mistakes).iter().map(ToString::to_string).collect())
    }

    fn only_problem(texts: &[&str]) -> String {
        let (_, problems) = parsed(texts);
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems[0].clone()
    }

    #[test]
    fn paths_and_places_are_those_of_the_text() {
        let text = "[suite.a]\n[[suite.a.benchmark]]\nthreads = [1, 16]\n";
        let (root, problems) = parsed(&[text]);
        let mut places = BTreeMap::new();
        Node::root(root).places(&mut places);
        let at = |path: &str| &text[places[path].start..places[path].end];
        assert_eq!(at("suite.a"), "[suite.a]");
        assert_eq!(at("suite.a.benchmark.0"), "[[suite.a.benchmark]]");
        assert_eq!(at("suite.a.benchmark.0.threads"), "[1, 16]");
        assert_eq!(at("suite.a.benchmark.0.threads.1"), "16");
        assert!(problems.is_empty());
    }

    #[test]
    fn tables_spread_over_files() {
        let (root, problems) = parsed(&["[server]\nsocket = \"\"", "[server]\nlisten = \":1\""]);
        assert_eq!(root["server"].table().unwrap().len(), 2);
        assert!(problems.is_empty());
    }

    #[test]
    fn a_key_set_in_two_files_names_both_places() {
        let shown = only_problem(&["[server]\nsocket = \"\"", "[server]\n\nsocket = \"/x\""]);
        assert!(shown.starts_with("1.toml:3:1: `server.socket` is set in two files"), "{shown}");
        assert!(shown.ends_with("^^^^^^ it stands in 0.toml:2 too; remove one of them"), "{shown}");
    }

    #[test]
    fn a_key_set_twice_in_one_file_names_both_lines() {
        let shown = only_problem(&["[a]\nk = 1\n[b]\nk = 2\nl = 1\nk = 3"]);
        assert!(shown.starts_with("0.toml:6:1: `k` is set twice in this file"), "{shown}");
        assert!(shown.ends_with("it stands in line 4 too; remove one of them"), "{shown}");
    }

    #[test]
    fn a_table_that_stands_twice_names_both_lines() {
        let shown = only_problem(&["[suite.a]\nk = 1\n[target.a]\nk = 1\n[suite.a]\nl = 2"]);
        assert!(shown.contains("it stands in line 1 too"), "{shown}");
    }

    #[test]
    fn syntax_errors_have_their_place() {
        let shown = only_problem(&["[server]\nlisten = \"x\nsocket = \"\"\n"]);
        assert!(shown.starts_with("0.toml:2:"), "{shown}");
        assert!(shown.contains("not TOML"), "{shown}");
    }

    #[test]
    fn values_that_no_key_holds_are_refused_at_their_place() {
        let (_, problems) = parsed(&["a = 1979-05-27\nb = nan\nc = 99999999999999999999\nd = 0x10\n"]);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[2].starts_with("0.toml:3:5: the number is too large"));
    }

    #[test]
    fn an_overlay_replaces_values_and_joins_tables() {
        let (under, _) = parsed(&["list = [1, 2]\n[o]\na = 1\nb = 1"]);
        let (over, _) = parsed(&["list = [3]\n[o]\nb = 2"]);
        let table = overlay(&under, &over);
        let options = table["o"].table().unwrap();
        assert_eq!(
            (&options["a"].value, &options["b"].value),
            (&Value::Scalar(1.into()), &Value::Scalar(2.into()))
        );
        assert!(matches!(&table["list"].value, Value::List(nodes) if nodes.len() == 1));
    }
}
