//! The texts that a configuration is read from, and places in them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::problem::{Problem, shown};

/// A stretch of the text of one file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// Index of the file.
    pub(super) file: usize,
    /// Where it starts.
    pub(super) start: usize,
    /// Where it ends; the byte after its last.
    pub(super) end: usize,
}

impl Place {
    /// Whether it is in what exists without any file, which is read first.
    pub(super) fn is_built_in(self) -> bool {
        self.file == 0
    }
}

/// A problem that still knows its place as bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    pub(super) at: Place,
    pub(super) key: String,
    pub(super) problem: String,
    pub(super) hint: String,
}

/// What was found while reading: all of it is shown at once.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What makes the configuration unusable.
    pub(super) mistakes: Vec<Mistake>,
    /// What is worth knowing.
    pub(super) notes: Vec<Mistake>,
    /// A file could not be read: what seems to be missing may stand in it.
    pub(super) incomplete: bool,
}

impl Findings {
    /// Notes a mistake that other keys could have prevented, unless they may stand in a file that could not be
    /// read.
    pub(super) fn of_several_keys(&mut self, mistake: Mistake) {
        if !self.incomplete {
            self.mistakes.push(mistake);
        }
    }
}

/// One text.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// The file's path as it is printed.
    pub(super) path: String,
    pub(super) text: String,
    /// A line of it as it may be shown: what may be a secret is left out.
    pub(super) shown: fn(&str) -> String,
}

/// The texts of one configuration, by the index that a [`Place`] holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Files(pub(super) Vec<Source>);

impl Files {
    /// `conf.d/night.toml:12`.
    pub(super) fn line_of(&self, at: Place) -> String {
        match self.0.get(at.file) {
            Some(source) => format!("{}:{}", shown(&source.path), source.position(at.start).0),
            None => String::new(),
        }
    }

    /// The mistakes as problems, in the order of the files and lines, each once.
    pub(super) fn problems(&self, mut mistakes: Vec<Mistake>) -> Vec<Problem> {
        mistakes.sort_by(|a, b| (a.at, &a.problem).cmp(&(b.at, &b.problem)));
        mistakes.dedup_by(|a, b| (a.at, &a.problem) == (b.at, &b.problem));
        mistakes.into_iter().map(|mistake| self.problem(mistake)).collect()
    }

    fn problem(&self, mistake: Mistake) -> Problem {
        let Mistake { at, key, problem, hint } = mistake;
        let Some(source) = self.0.get(at.file) else {
            return whole_file(String::new(), key, problem, hint);
        };
        let (line, column, text) = source.position(at.start);
        let source_line = (source.shown)(text);
        let width = source.text.get(at.start..at.end).map_or(1, |part| first_line(part).chars().count());
        let left = source_line.chars().count().saturating_sub(column - 1);
        let underline = width.min(left).max(1);
        Problem { file: source.path.clone(), line, column, key, problem, hint, source_line, underline }
    }
}

/// A problem of a file as a whole.
pub(super) fn whole_file(file: String, key: String, problem: String, hint: String) -> Problem {
    Problem { file, line: 0, column: 0, key, problem, hint, source_line: String::new(), underline: 1 }
}

impl Source {
    /// Line and column of a byte, both from 1, and the line's text.
    fn position(&self, offset: usize) -> (usize, usize, &str) {
        let offset = self.text.floor_char_boundary(offset);
        let (before, rest) = self.text.split_at(offset);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[start..].chars().count() + 1;
        let end = offset + first_line(rest).len();
        (line, column, self.text[start..end].trim_end_matches('\r'))
    }
}

fn first_line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default().trim_end_matches('\r')
}

/// Where each key of a loaded configuration stands: for problems that other parts find in its values.
#[derive(Debug, Clone)]
pub struct Sources {
    pub(super) files: Files,
    /// Where the value of each key stands; of a table its header.
    pub(super) places: BTreeMap<String, Place>,
    /// The main file, for keys that stand nowhere.
    pub(super) main: PathBuf,
}

impl Sources {
    /// A problem at the value of a key such as `suite.night.window`, or `suite.night.benchmark.0.threads.1` for
    /// an element of a list. A key that is not written is shown at the table it would stand in.
    pub fn problem(&self, key_path: &str, problem: impl Into<String>, hint: impl Into<String>) -> Problem {
        let (key, problem, hint) = (key_path.to_owned(), problem.into(), hint.into());
        match self.place(key_path) {
            Some(at) => self.files.problem(Mistake { at, key, problem, hint }),
            None => whole_file(self.main.display().to_string(), key, problem, hint),
        }
    }

    /// The line on which a key's value stands; `None` when it is not written.
    pub fn line(&self, key_path: &str) -> Option<usize> {
        let at = self.places.get(key_path)?;
        self.files.0.get(at.file).map(|source| source.position(at.start).0)
    }

    fn place(&self, key_path: &str) -> Option<Place> {
        let mut path = key_path;
        loop {
            if let Some(at) = self.places.get(path) {
                return Some(*at);
            }
            path = path.rsplit_once('.')?.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn files(text: &str) -> Files {
        let (path, text) = ("a.toml".to_owned(), text.to_owned());
        Files(vec![Source { path, text, shown: str::to_owned }])
    }

    fn mistake(start: usize, end: usize) -> Mistake {
        let at = Place { file: 0, start, end };
        Mistake { at, key: String::new(), problem: "wrong".to_owned(), hint: "right".to_owned() }
    }

    #[test]
    fn columns_count_characters() {
        let problem = files("a = 1\r\nä = \"öü\"\r\n").problem(mistake(12, 18));
        assert_eq!((problem.line, problem.column, problem.underline), (2, 5, 4));
        assert_eq!(problem.source_line, "ä = \"öü\"");
    }

    #[test]
    fn a_value_of_many_lines_is_underlined_on_its_first() {
        let problem = files("a = [1,\n 2]\n").problem(mistake(4, 11));
        assert_eq!((problem.line, problem.column, problem.underline), (1, 5, 3));
    }

    #[test]
    fn the_same_problem_at_one_place_is_shown_once() {
        assert_eq!(files("a").problems(vec![mistake(0, 1), mistake(0, 1)]).len(), 1);
    }

    #[test]
    fn a_key_that_is_not_written_is_shown_at_its_table() {
        let at = Place { file: 0, start: 0, end: 9 };
        let places = BTreeMap::from([("suite.a".to_owned(), at)]);
        let sources = Sources { files: files("[suite.a]\n"), places, main: PathBuf::from("/m.toml") };
        let problem = sources.problem("suite.a.window", "p", "h");
        assert_eq!((problem.line, problem.underline, problem.key.as_str()), (1, 9, "suite.a.window"));
        assert_eq!(sources.problem("store.path", "p", "h").to_string(), "m.toml: p; h");
        assert_eq!((sources.line("suite.a"), sources.line("suite.a.window")), (Some(1), None));
    }

    proptest! {
        #[test]
        fn no_place_panics(text in "[a-zä\n\r\t=\"]{0,40}", start in 0..60_usize, length in 0..60_usize) {
            let _ = files(&text).problem(mistake(start, start + length)).to_string();
        }
    }
}
