//! YAML as the tree that TOML is read into: each key and value with its place.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::Value as Scalar;

use crate::config::source::{Findings, Mistake, Place};
use crate::config::tree::{Node, Table, Value, join};

/// Deeper than this the format never goes.
const DEEPEST: usize = 8;
/// No file of this kind has more values; aliases of aliases could make any number of them.
const MOST_VALUES: usize = 10_000;

/// Reads the text of a file. `None` when it is not YAML that keys can be taken from.
pub(super) fn parse(text: &str, found: &mut Findings) -> Option<Table> {
    let mut offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    offsets.push(text.len());
    let events = Parser::new_from_str(text);
    let mut reader = Reader { events, offsets, anchors: BTreeMap::new(), values: 0, found };
    match reader.document() {
        Ok(table) => Some(table),
        Err(mistake) => {
            found.mistakes.push(mistake);
            None
        }
    }
}

/// What stands at a place that has no value: `key:`, `key: ~`, `key: null`.
pub(super) fn is_nothing(node: &Node) -> bool {
    matches!(node.value, Value::Scalar(Scalar::Null))
}

struct Reader<'a, 'f> {
    events: Parser<'a, StrInput<'a>>,
    /// The byte at which each character begins.
    offsets: Vec<usize>,
    /// Values that have a name for aliases.
    anchors: BTreeMap<usize, Value>,
    values: usize,
    found: &'f mut Findings,
}

type Step<'a> = (Event<'a>, Span);

impl<'a> Reader<'a, '_> {
    fn document(&mut self) -> Result<Table, Mistake> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(Table::new()),
                Event::StreamStart | Event::DocumentStart(_) => {}
                event => {
                    let at = self.place(span);
                    let root = self.value((event, span), String::new(), at, 0)?;
                    self.end_of_document()?;
                    return match root.value {
                        Value::Table(table) => Ok(table),
                        Value::Scalar(Scalar::Null) => Ok(Table::new()),
                        _ => Err(root
                            .mistake("keys with values are expected", "write tls_server_config: and such")),
                    };
                }
            }
        }
    }

    fn end_of_document(&mut self) -> Result<(), Mistake> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::DocumentEnd => {}
                Event::StreamEnd => return Ok(()),
                _ => {
                    let problem = "a second document begins here";
                    return Err(self.mistake(span, problem, "keep one document a file"));
                }
            }
        }
    }

    fn next(&mut self) -> Result<Step<'a>, Mistake> {
        match self.events.next_event() {
            Some(Ok(step)) => Ok(step),
            Some(Err(error)) => Err(self.syntax(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// The reason is the parser's: it names what stands in the way, never the text that does.
    fn syntax(&self, error: &ScanError) -> Mistake {
        let at = Span::empty(*error.marker());
        let hint = "see how the lines above are indented, and put texts with special characters in quotes";
        self.mistake(at, &format!("not YAML: {}", error.info()), hint)
    }

    fn value(
        &mut self,
        (event, span): Step<'a>,
        path: String,
        key: Place,
        depth: usize,
    ) -> Result<Node, Mistake> {
        self.values += 1;
        if depth > DEEPEST || self.values > MOST_VALUES {
            let problem = "values are nested too deeply, or there are too many of them";
            return Err(self.mistake(span, problem, "see the example web-config.yml"));
        }
        let at = self.place(span);
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let nothing = style == ScalarStyle::Plain && tag.is_none() && is_null(&text);
                let scalar = if nothing { Scalar::Null } else { Scalar::String(text.into_owned()) };
                (Value::Scalar(scalar), anchor)
            }
            Event::SequenceStart(anchor, _) => (self.list(&path, depth)?, anchor),
            Event::MappingStart(anchor, _) => (self.table(&path, depth)?, anchor),
            Event::Alias(name) => (self.anchored(name, span)?, 0),
            _ => return Err(self.mistake(span, "a value is expected here", "write one after the colon")),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, value.clone());
        }
        Ok(Node { path, key, at, value })
    }

    fn anchored(&mut self, name: usize, span: Span) -> Result<Value, Mistake> {
        let Some(value) = self.anchors.get(&name).cloned() else {
            let problem = "the alias stands inside of what it names";
            return Err(self.mistake(span, problem, "write the value itself"));
        };
        self.values += count(&value);
        Ok(value)
    }

    fn list(&mut self, path: &str, depth: usize) -> Result<Value, Mistake> {
        let mut nodes = Vec::new();
        loop {
            let step = self.next()?;
            if step.0 == Event::SequenceEnd {
                return Ok(Value::List(nodes));
            }
            let at = self.place(step.1);
            nodes.push(self.value(step, join(path, &nodes.len().to_string()), at, depth + 1)?);
        }
    }

    fn table(&mut self, path: &str, depth: usize) -> Result<Value, Mistake> {
        let mut table = Table::new();
        loop {
            let (event, span) = self.next()?;
            let name = match event {
                Event::MappingEnd => return Ok(Value::Table(table)),
                Event::Scalar(name, ..) => name.into_owned(),
                _ => return Err(self.mistake(span, "a key is a text", "write key: value")),
            };
            let (key, step) = (self.place(span), self.next()?);
            let node = self.value(step, join(path, &name), key, depth + 1)?;
            if table.contains_key(&name) {
                let problem = format!("`{name}` is set twice");
                self.found.mistakes.push(node.key_mistake(problem, "remove one of them"));
            }
            table.insert(name, node);
        }
    }

    fn mistake(&self, span: Span, problem: &str, hint: &str) -> Mistake {
        let at = self.place(span);
        Mistake { at, key: String::new(), problem: problem.to_owned(), hint: hint.to_owned() }
    }

    /// The parser counts characters.
    fn place(&self, span: Span) -> Place {
        let byte = |index: usize| self.offsets.get(index).or(self.offsets.last()).copied().unwrap_or(0);
        Place { file: 0, start: byte(span.start.index()), end: byte(span.end.index()) }
    }
}

fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Scalar(_) => 0,
        Value::List(nodes) => nodes.iter().map(|node| count(&node.value)).sum(),
        Value::Table(table) => table.values().map(|node| count(&node.value)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<Table, String> {
        let mut found = Findings::default();
        let table = parse(text, &mut found);
        match found.mistakes.first() {
            Some(mistake) => Err(format!("{}..{} {}", mistake.at.start, mistake.at.end, mistake.problem)),
            None => Ok(table.unwrap()),
        }
    }

    fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
        table[key].text()
    }

    #[test]
    fn places_are_bytes_of_the_text() {
        let source = "ä: {a: [one, \"zwö\"], b: ~}\n";
        let table = parsed(source).unwrap();
        let inner = table["ä"].table().unwrap();
        let Value::List(nodes) = &inner["a"].value else { unreachable!("{inner:?}") };
        assert_eq!(&source[nodes[1].at.start..nodes[1].at.end], "\"zwö\"");
        assert_eq!(&source[inner["b"].key.start..inner["b"].key.end], "b");
        assert!(is_nothing(&inner["b"]));
    }

    #[test]
    fn what_is_quoted_is_a_text_and_aliases_stand_for_what_they_name() {
        let table = parsed("a: &name '~'\nb: *name\nc: |\n  one\n  two\n").unwrap();
        assert_eq!((text(&table, "a"), text(&table, "b")), (Some("~"), Some("~")));
        assert_eq!(text(&table, "c"), Some("one\ntwo\n"));
        assert_eq!(parsed("").unwrap(), Table::new());
        assert_eq!(parsed("---\n# nothing\n").unwrap(), Table::new());
    }

    #[test]
    fn what_is_no_table_of_keys_is_refused_at_its_place() {
        assert_eq!(parsed("a: 1\na: 2\n").unwrap_err(), "5..6 `a` is set twice");
        assert!(parsed("a: [1\nb: 2\n").unwrap_err().contains("not YAML"));
        assert!(parsed("- a\n").unwrap_err().contains("keys with values are expected"));
        assert!(parsed("a: 1\n---\nb: 1\n").unwrap_err().contains("a second document"));
        let deep = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
        assert!(parsed(&deep).unwrap_err().contains("nested too deeply"));
    }

    #[test]
    fn aliases_cannot_make_a_small_file_large() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let of = format!("*a{}, ", level - 1).repeat(10);
            text.push_str(&format!("a{level}: &a{level} [{}]\n", of.trim_end_matches(", ")));
        }
        assert!(parsed(&text).unwrap_err().contains("too many of them"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-c:{}\\[\\],&*|>'\"\n ä#-]{0,60}") {
            let _ = parsed(&text);
        }
    }
}
