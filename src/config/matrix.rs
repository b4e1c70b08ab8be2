//! The keys of a benchmark as axes of a matrix, and its points.

use serde_json::Value as Scalar;

use super::source::Findings;
use super::tree::{Node, Value};
use crate::units::Share;

/// A key that is written, and the values it takes.
pub(super) struct Axis<'a> {
    pub(super) key: &'a str,
    /// At least one.
    pub(super) choices: Vec<Choice<'a>>,
}

/// One value of a key, with its place.
#[derive(Clone)]
pub(super) struct Choice<'a> {
    pub(super) node: &'a Node,
    pub(super) value: Scalar,
}

impl Choice<'_> {
    /// The value in a case's name: what needs quotes in a shell becomes `_`.
    pub(super) fn in_name(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.+%".contains(c);
        self.text().chars().map(|c| if plain(c) { c } else { '_' }).collect()
    }

    fn text(&self) -> String {
        match &self.value {
            Scalar::Array(all) if all.is_empty() => "none".to_owned(),
            Scalar::Array(all) => all.iter().map(text_of).collect::<Vec<_>>().join("+"),
            one => text_of(one),
        }
    }
}

fn text_of(scalar: &Scalar) -> String {
    scalar.as_str().map_or_else(|| scalar.to_string(), str::to_owned)
}

/// How many points the axes make.
pub(super) fn count(axes: &[Axis<'_>]) -> usize {
    axes.iter().map(|axis| axis.choices.len()).fold(1, usize::saturating_mul)
}

/// The choice on each axis of a point: the last axis changes fastest.
pub(super) fn point<'a, 'b>(axes: &'b [Axis<'a>], mut index: usize) -> Vec<&'b Choice<'a>> {
    let mut point = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        point.push(&axis.choices[index % axis.choices.len()]);
        index /= axis.choices.len();
    }
    point.reverse();
    point
}

/// The values of a key that can be: one, or those of a list. Of a key whose values are lists themselves, by its
/// default, a list is one value, and a list of lists holds several.
pub(super) fn choices<'a>(
    key: &str,
    node: &'a Node,
    default: Option<&Scalar>,
    cpus: u32,
    found: &mut Findings,
) -> Vec<Choice<'a>> {
    let of_lists = default.is_some_and(Scalar::is_array);
    let nodes = match &node.value {
        Value::List(nodes) if of_lists && (nodes.is_empty() || !nodes.iter().all(is_list)) => vec![node],
        Value::List(nodes) if nodes.is_empty() => {
            let hint = "remove the key, or write the values to run with";
            found.mistakes.push(node.mistake(format!("`{key}` is an empty list: it makes no case"), hint));
            return Vec::new();
        }
        Value::List(nodes) => nodes.iter().collect(),
        _ => vec![node],
    };
    let mut choices: Vec<Choice<'a>> = Vec::new();
    for node in nodes {
        let choice = match &node.value {
            Value::List(nodes) if of_lists => list(key, node, nodes, found),
            _ => choice(key, node, cpus, found),
        };
        let Some(choice) = choice else { continue };
        if choices.iter().any(|other| other.value == choice.value) {
            let problem = format!("`{key}` holds {} twice", choice.text());
            found
                .mistakes
                .push(node.mistake(problem, "remove one of them: each value makes a case of its own"));
            continue;
        }
        choices.push(choice);
    }
    choices
}

fn is_list(node: &Node) -> bool {
    matches!(node.value, Value::List(_))
}

/// A list that is one value.
fn list<'a>(key: &str, node: &'a Node, nodes: &'a [Node], found: &mut Findings) -> Option<Choice<'a>> {
    let scalar = |node: &'a Node| match &node.value {
        Value::Scalar(scalar) => Some(scalar.clone()),
        _ => None,
    };
    match nodes.iter().map(scalar).collect() {
        Some(all) => Some(Choice { node, value: Scalar::Array(all) }),
        None => refuse(key, "a list that holds lists or tables beside values", node, found),
    }
}

fn choice<'a>(key: &str, node: &'a Node, cpus: u32, found: &mut Findings) -> Option<Choice<'a>> {
    match &node.value {
        Value::Scalar(Scalar::String(text)) if key == "threads" => {
            let value = threads(text, cpus);
            if value.is_none() {
                let hint = "write a number, or a share of the CPUs such as \"50%\"";
                found.mistakes.push(node.mistake(format!("\"{text}\" is no number of threads"), hint));
            }
            value.map(|threads| Choice { node, value: threads.into() })
        }
        Value::Scalar(value) => Some(Choice { node, value: value.clone() }),
        Value::List(_) => refuse(key, "a list of lists", node, found),
        Value::Table(_) => refuse(key, "a table", node, found),
    }
}

fn refuse<'a>(key: &str, what: &str, node: &Node, found: &mut Findings) -> Option<Choice<'a>> {
    let hint = "write one value, or a list of values to make a case of each";
    found.mistakes.push(node.mistake(format!("`{key}` cannot be {what}"), hint));
    None
}

/// A share of the CPUs as a number of threads, at least one.
fn threads(text: &str, cpus: u32) -> Option<u32> {
    let share: Share = text.parse().ok()?;
    let threads = (f64::from(cpus) * share.ratio()).round();
    (share.ratio() > 0.0).then_some((threads as u32).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_may_be_a_share_of_the_cpus() {
        assert_eq!(threads("50%", 8), Some(4));
        assert_eq!(threads("30%", 2), Some(1));
        assert_eq!(threads("1%", 8), Some(1));
        assert_eq!(threads("100%", 3), Some(3));
        assert_eq!((threads("0%", 8), threads("8", 8), threads("101%", 8)), (None, None, None));
    }
}
