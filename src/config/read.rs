//! Reads the keys of a table into fields that already hold their defaults, noting every mistake on the way.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde_json::Value as Scalar;

use super::source::{Findings, Mistake};
use super::tree::{Node, Value};
use crate::record::Profile;
use crate::units::{Bytes, LinkSpeed, Span, UnitError};

/// Names longer than this are not compared with the known ones.
const LONGEST_NAME: usize = 64;

/// Why a value cannot be: `must be above 0`, and what to write instead.
pub(super) struct Wrong {
    /// The rest of a sentence that begins with the key.
    pub(super) problem: String,
    pub(super) hint: String,
}

pub(super) fn wrong(problem: impl Into<String>, hint: impl Into<String>) -> Wrong {
    Wrong { problem: problem.into(), hint: hint.into() }
}

/// A type that a value of the file can be read as.
pub(super) trait Read: Sized {
    /// The value, or nothing after noting what is wrong with it.
    fn read(node: &Node, found: &mut Findings) -> Option<Self>;
}

/// A table being read: each key asked for is known, the others are refused at the end.
pub(super) struct Section<'a, 'f> {
    node: &'a Node,
    known: Vec<&'static str>,
    pub(super) found: &'f mut Findings,
}

impl<'a, 'f> Section<'a, 'f> {
    /// Begins to read a node that must be a table.
    pub(super) fn of(node: &'a Node, found: &'f mut Findings) -> Option<Section<'a, 'f>> {
        if node.table().is_none() {
            let (name, path) = (node.name(), &node.path);
            found.mistakes.push(node.mistake(
                format!("`{name}` is a table"),
                format!("write [{path}] on a line of its own and its keys below"),
            ));
            return None;
        }
        Some(Section { node, known: Vec::new(), found })
    }

    /// The value of a key, when it is written.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'a Node> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.node.table()?.get(key)
    }

    /// Sets a field from a key, when it is written.
    pub(super) fn set<T: Read>(&mut self, key: &'static str, field: &mut T) {
        self.check(key, field, |_| Ok(()));
    }

    /// Sets a field from a key, when it is written and its value can be.
    pub(super) fn check<T: Read>(
        &mut self,
        key: &'static str,
        field: &mut T,
        check: impl FnOnce(&T) -> Result<(), Wrong>,
    ) {
        let Some(node) = self.get(key) else { return };
        let Some(value) = T::read(node, self.found) else { return };
        match check(&value) {
            Ok(()) => *field = value,
            Err(wrong) => {
                self.found.mistakes.push(node.mistake(format!("`{key}` {}", wrong.problem), wrong.hint));
            }
        }
    }

    /// A mistake that depends on several keys, at the value of one, or at the table where that is not written.
    pub(super) fn mistake(&mut self, key: &str, problem: impl Into<String>, hint: impl Into<String>) {
        let at = self.node.table().and_then(|table| table.get(key)).unwrap_or(self.node);
        self.found.of_several_keys(at.mistake(problem, hint));
    }

    /// Refuses the keys that were not asked for.
    pub(super) fn end(self) {
        for (name, node) in self.node.table().into_iter().flatten() {
            if !self.known.contains(&name.as_str()) {
                let table = node.path.strip_suffix(name.as_str()).unwrap_or_default().trim_end_matches('.');
                let place = if table.is_empty() { String::new() } else { format!(" in [{table}]") };
                self.found.mistakes.push(unknown_key(node, name, &place, self.known.iter().copied()));
            }
        }
    }
}

/// A key that nothing reads; `place` says where, after a space.
pub(super) fn unknown_key<'k>(
    node: &Node,
    name: &str,
    place: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> Mistake {
    node.key_mistake(format!("unknown key `{name}`{place}"), instead(name, "keys here are", known))
}

/// `did you mean …?`, or all that is known where nothing is near.
pub(super) fn instead<'k>(name: &str, what: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    match nearest(name, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{what}: {}", known.collect::<Vec<_>>().join(", ")),
    }
}

/// The known name that differs least, when it differs by at most a third of its letters, or begins with the name.
pub(super) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str> + Clone) -> Option<&'k str> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let similar = known
        .clone()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate);
    similar.or_else(|| known.clone().find(|candidate| name.len() > 2 && candidate.starts_with(name)))
}

/// Accepts values from `low` to `high`, both included.
pub(super) fn between<T: PartialOrd + fmt::Display>(low: T, high: T) -> impl FnOnce(&T) -> Result<(), Wrong> {
    move |value| {
        if (&low..=&high).contains(&value) {
            return Ok(());
        }
        Err(wrong(
            format!("is {value}, outside of {low} to {high}"),
            format!("write a value from {low} to {high}"),
        ))
    }
}

/// Accepts any length of time but none at all.
pub(super) fn not_zero(span: &Span) -> Result<(), Wrong> {
    if span.is_zero() { Err(wrong("must be longer than 0s", "write \"30s\" or \"5m\"")) } else { Ok(()) }
}

/// Notes that a value is of another type than its key.
fn other_type<T>(node: &Node, takes: &str, hint: &str, found: &mut Findings) -> Option<T> {
    found.mistakes.push(node.mistake(format!("`{}` takes {takes}", node.name()), hint));
    None
}

impl Read for String {
    fn read(node: &Node, found: &mut Findings) -> Option<String> {
        match &node.value {
            Value::Scalar(Scalar::String(text)) => Some(text.clone()),
            Value::Scalar(scalar) => other_type(node, "a text", &format!("write \"{scalar}\""), found),
            _ => other_type(node, "a text", "write one text in quotes", found),
        }
    }
}

impl Read for bool {
    fn read(node: &Node, found: &mut Findings) -> Option<bool> {
        match node.value {
            Value::Scalar(Scalar::Bool(value)) => Some(value),
            _ => other_type(node, "true or false", "write true or false, without quotes", found),
        }
    }
}

macro_rules! read_integer {
    ($($integer:ty),+) => {$(
        impl Read for $integer {
            fn read(node: &Node, found: &mut Findings) -> Option<$integer> {
                let number = match &node.value {
                    Value::Scalar(Scalar::Number(number)) => number.as_i64(),
                    _ => None,
                };
                match number.and_then(|number| <$integer>::try_from(number).ok()) {
                    Some(number) => Some(number),
                    None => {
                        let hint = format!("write a number from 0 to {}, without quotes", <$integer>::MAX);
                        other_type(node, "a whole number", &hint, found)
                    }
                }
            }
        }
    )+};
}

read_integer!(u16, u32);

/// Reads a quantity with a unit; a bare number is answered with what was probably meant.
fn quantity<T: FromStr<Err = UnitError>>(
    node: &Node,
    takes: &str,
    hint: &str,
    found: &mut Findings,
) -> Option<T> {
    let text = match &node.value {
        Value::Scalar(Scalar::String(text)) => text.clone(),
        Value::Scalar(Scalar::Number(number)) if number.is_i64() => number.to_string(),
        _ => return other_type(node, takes, hint, found),
    };
    match text.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            found.mistakes.push(node.mistake(error.problem, error.hint));
            None
        }
    }
}

macro_rules! read_quantity {
    ($($quantity:ty: $takes:literal, $hint:literal);+ $(;)?) => {$(
        impl Read for $quantity {
            fn read(node: &Node, found: &mut Findings) -> Option<$quantity> {
                quantity(node, $takes, $hint, found)
            }
        }
    )+};
}

read_quantity! {
    Span: "a duration", "write \"30s\" or \"5m\"";
    Bytes: "a size", "write \"64KiB\" or \"20GiB\"";
    LinkSpeed: "a link speed", "write \"1Gbit/s\"";
}

/// Reads types that are one of a table of words.
macro_rules! read_word {
    ($($word:ty: $what:literal),+ $(,)?) => {$(
        impl $crate::config::read::Read for $word {
            fn read(
                node: &$crate::config::tree::Node,
                found: &mut $crate::config::source::Findings,
            ) -> Option<$word> {
                let words = <$word>::ALL.iter().map(|word| word.as_str());
                let index = $crate::config::read::word(node, $what, words, found)?;
                <$word>::ALL.get(index).copied()
            }
        }
    )+};
}
pub(super) use read_word;

read_word!(Profile: "a profile");

/// The index of the word that a value is.
pub(super) fn word(
    node: &Node,
    what: &str,
    words: impl Iterator<Item = &'static str> + Clone,
    found: &mut Findings,
) -> Option<usize> {
    let all = words.clone().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let Some(text) = node.text() else {
        return other_type(node, what, &format!("write one of {all}"), found);
    };
    let index = words.clone().position(|word| word == text);
    if index.is_none() {
        let hint = match nearest(text, words) {
            Some(near) => format!("did you mean \"{near}\"? There are {all}"),
            None => format!("write one of {all}"),
        };
        found.mistakes.push(node.mistake(format!("`{text}` is not {what}"), hint));
    }
    index
}

impl Read for PathBuf {
    fn read(node: &Node, found: &mut Findings) -> Option<PathBuf> {
        let path = PathBuf::from(String::read(node, found)?);
        if path.is_absolute() {
            return Some(path);
        }
        found.mistakes.push(node.mistake(
            format!("`{}` takes an absolute path", node.name()),
            "begin it with /: benchd and the processes it starts have no common working directory",
        ));
        None
    }
}

/// An empty text says that there is none.
impl<T: Read> Read for Option<T> {
    fn read(node: &Node, found: &mut Findings) -> Option<Option<T>> {
        if node.text() == Some("") { Some(None) } else { T::read(node, found).map(Some) }
    }
}

/// One value is a list of one.
impl<T: Read> Read for Vec<T> {
    fn read(node: &Node, found: &mut Findings) -> Option<Vec<T>> {
        let Value::List(nodes) = &node.value else {
            return T::read(node, found).map(|value| vec![value]);
        };
        let values: Vec<Option<T>> = nodes.iter().map(|node| T::read(node, found)).collect();
        values.into_iter().collect()
    }
}

impl<T: Read> Read for BTreeMap<String, T> {
    fn read(node: &Node, found: &mut Findings) -> Option<BTreeMap<String, T>> {
        let Some(table) = node.table() else {
            return other_type(node, "a table", "write { name = value }", found);
        };
        let values: Vec<Option<(String, T)>> = table
            .iter()
            .map(|(name, node)| T::read(node, found).map(|value| (name.clone(), value)))
            .collect();
        values.into_iter().collect()
    }
}
