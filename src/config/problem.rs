//! A problem of the configuration, at its place, with what to write instead.

use std::fmt;
use std::path::Path;

use serde::Serialize;

/// Characters of a source line that are shown when the line is longer than that.
const EXCERPT: usize = 120;
/// Characters shown to the left of the place in a line that is cut.
const EXCERPT_BEFORE: usize = 40;

/// One problem (or note) of the configuration: where it is, what is wrong, what to write instead.
///
/// `Display` shows it with its source line and underlines the place; `Serialize` gives its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file's path; `command line` for the keys of an ad-hoc benchmark.
    pub file: String,
    /// Line in the file, from 1 (of the command line: the argument); 0 when the file as a whole is meant.
    pub line: usize,
    /// Column in characters, from 1; 0 when the file as a whole is meant.
    pub column: usize,
    /// Path of the key, `suite.night.benchmark.0.time`; empty when no key is meant.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub hint: String,
    /// The line as it is written; what may be a password in it is left out.
    #[serde(skip)]
    pub source_line: String,
    /// How many characters the place is wide, at least 1.
    #[serde(skip)]
    pub underline: usize,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, problem, hint) = (shown(&self.file), printable(&self.problem), printable(&self.hint));
        if self.line == 0 {
            return write!(f, "{file}: {problem}; {hint}");
        }
        let (excerpt, before) = excerpt(&self.source_line, self.column);
        let marks = self.underline.min(excerpt.chars().count().saturating_sub(before)).max(1);
        writeln!(f, "{file}:{}:{}: {problem}", self.line, self.column)?;
        writeln!(f, "{:>4} | {excerpt}", self.line)?;
        let gutter = self.line.to_string().len().max(4);
        write!(f, "{:gutter$} | {:before$}{} {hint}", "", "", "^".repeat(marks))
    }
}

/// The file's name, with its folder when that is `conf.d`.
pub(super) fn shown(file: &str) -> String {
    let path = Path::new(file);
    let name = path.file_name().map_or(file.into(), |name| name.to_string_lossy());
    match path.parent().and_then(Path::file_name) {
        Some(folder) if folder == "conf.d" => format!("conf.d/{name}"),
        _ => name.into_owned(),
    }
}

/// What may be sent to a terminal of a text: control characters become spaces.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The part of a line around a column, and how many characters of it stand before that column.
fn excerpt(line: &str, column: usize) -> (String, usize) {
    let before = column.saturating_sub(1);
    if line.chars().count() <= EXCERPT {
        return (printable(line), before);
    }
    let skipped = before.saturating_sub(EXCERPT_BEFORE);
    let part: String = line.chars().skip(skipped).take(EXCERPT).collect();
    let lead = if skipped > 0 { "…" } else { "" };
    (format!("{lead}{}", printable(&part)), before - skipped + lead.chars().count())
}

/// A source line as it may be shown: what follows `password =` is left out, because such a key is refused and
/// its value must not reach a terminal or the journal.
pub(super) fn without_password(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    let assigned = lower.match_indices("password").find_map(|(at, word)| {
        let end = at + word.len();
        let rest = lower[end..].trim_start_matches(['"', '\'']).trim_start();
        rest.starts_with('=').then(|| lower.len() - rest.len() + 1)
    });
    match assigned {
        Some(end) => format!("{} …", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem() -> Problem {
        Problem {
            file: "/etc/benchd/conf.d/night.toml".to_owned(),
            line: 2,
            column: 1,
            key: "suite.night.shedule".to_owned(),
            problem: "unknown key `shedule` in [suite.night]".to_owned(),
            hint: "did you mean `schedule`?".to_owned(),
            source_line: "shedule = \"0 3 * * *\"".to_owned(),
            underline: 7,
        }
    }

    #[test]
    fn it_shows_the_line_and_underlines_the_place() {
        assert_eq!(
            problem().to_string(),
            "conf.d/night.toml:2:1: unknown key `shedule` in [suite.night]\n   \
             2 | shedule = \"0 3 * * *\"\n     | ^^^^^^^ did you mean `schedule`?"
        );
    }

    #[test]
    fn its_json_has_the_fields_of_check() {
        let json = serde_json::to_value(problem()).unwrap();
        let keys: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["column", "file", "hint", "key", "line", "problem"]);
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let line = format!("{}time = 300{}", "a".repeat(500), "b".repeat(500));
        let shown = Problem { source_line: line, column: 508, underline: 3, ..problem() }.to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let mark = lines[2].find('^').unwrap();
        let above: String = lines[1].chars().skip(mark).take(3).collect();
        assert_eq!((above.as_str(), lines[1].chars().count() < 140), ("300", true));
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let problem = Problem { source_line: "a\t\u{1b}[2J = 1".to_owned(), ..problem() };
        assert!(!problem.to_string().contains(['\u{1b}', '\t']));
    }

    #[test]
    fn a_password_is_not_shown() {
        assert_eq!(without_password("password = \"hunter2\""), "password = …");
        assert_eq!(without_password("main = { \"Password\" = 'hunter2' }"), "main = { \"Password\" = …");
        assert_eq!(without_password("password_file = \"/x\""), "password_file = \"/x\"");
    }
}
