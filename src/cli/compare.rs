//! `benchd compare`: the cases of a run as a table, or two runs case by case.

mod ratios;

use std::fmt::Write as _;

use anyhow::Result;

use self::ratios::ratios;
use super::source::Source;
use super::{Common, Output, text};
use crate::analysis::Question;
use crate::exit::{Ended, Exit};
use crate::record::{Against, Cell, Comparison, Measure, Pair, TwoRuns, Verdict};
use crate::store::is_range;
use crate::text::{counted, milliseconds, number, or_dash, table};
use crate::units::Share;

/// The cases of a run as a table, or two runs case by case
///
/// A run is named SUITE (its last), SUITE~2 (two before), SUITE@2026-12-17 (the last of that day), by the last 8 digits of
/// its id, or the whole. Of two sides each may be all runs of some days: SUITE@2026-12-01..2026-12-17, where either end may lack.
///
/// Within one run each cell is the median of the rounds with its 95 % interval. Every row is set against the first one
/// that differs in the last key of --rows alone.
#[derive(Debug, clap::Args)]
pub(crate) struct Compare {
    /// The run, or the runs of some days
    run: String,
    /// Another, set against the first
    #[arg(conflicts_with_all = ["rows", "columns"])]
    other: Option<String>,
    /// Keys whose values make the rows: engine,target [default: those that vary]
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    rows: Vec<String>,
    /// Keys whose values make the columns: threads
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    columns: Vec<String>,
    /// throughput, p50, p95 or p99 [default: throughput in closed loop, p95 in open loop]
    #[arg(long, value_name = "MEASURE")]
    measure: Option<Measure>,
    /// Differences inside this are none [default: 2%]
    #[arg(long, value_name = "SHARE", value_parser = share)]
    margin: Option<Share>,
    /// Show the ratios of what is not comparable too, without a verdict
    #[arg(long)]
    anyway: bool,
    /// Exit with 6 when anything is worse
    #[arg(long, value_name = "VERDICT")]
    fail_on: Option<FailOn>,
}

/// The verdict on which the command fails.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum FailOn {
    Worse,
}

fn share(text: &str) -> Result<Share, String> {
    text.parse().map_err(|error: crate::units::UnitError| format!("{}; {}", error.problem, error.hint))
}

impl Compare {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        super::runtime()?.block_on(async {
            let source = Source::find(common).await?;
            match &self.other {
                None => self.within(&source, common.output).await,
                Some(other) => self.between(&source, other, common.output).await,
            }
        })
    }

    fn question(&self) -> Question {
        Question {
            rows: self.rows.clone(),
            columns: self.columns.clone(),
            measure: self.measure,
            margin: self.margin.map(Share::ratio),
            anyway: self.anyway,
        }
    }

    async fn within(&self, source: &Source, output: Output) -> Result<Exit> {
        let run = source.run(&self.run).await?.run;
        let table = source.table(&run.id.to_string(), &self.question()).await?;
        if output == Output::Text {
            text::print(&format!(
                "{} {} on {}\n{}",
                run.suite,
                run.id.short(),
                run.host,
                table_in_words(&table)
            ))?;
        } else {
            text::print_json(&table)?;
        }
        Ok(self.exit(table.cells.iter().filter_map(|cell| cell.against.as_ref())))
    }

    async fn between(&self, source: &Source, other: &str, output: Output) -> Result<Exit> {
        let (a, b) = (side(source, &self.run).await?, side(source, other).await?);
        if a.asked == b.asked {
            return Err(Ended::because(
                Exit::Wrong,
                "the two names are of one run; a run has a table: --rows, --columns",
            ));
        }
        let runs = source.two_runs(&a.asked, &b.asked, &self.question()).await?;
        if output == Output::Text {
            text::print(&two_in_words(&runs, &a.shown, &b.shown))?;
        } else {
            text::print_json(&runs)?;
        }
        Ok(self.exit(runs.cases.iter().map(|pair| &pair.against)))
    }

    /// How the command ends when these are the verdicts.
    fn exit<'a>(&self, mut all: impl Iterator<Item = &'a Against>) -> Exit {
        let worse = all.any(|against| against.verdict == Verdict::Worse);
        if worse && self.fail_on.is_some() { Exit::Worse } else { Exit::Done }
    }
}

/// One side of a comparison.
struct Side {
    /// The name that leads to its runs whatever begins meanwhile.
    asked: String,
    /// The name for people.
    shown: String,
}

async fn side(source: &Source, name: &str) -> Result<Side> {
    if is_range(name) {
        return Ok(Side { asked: name.to_owned(), shown: name.to_owned() });
    }
    let run = source.run(name).await?.run;
    Ok(Side { asked: run.id.to_string(), shown: format!("{} {}", run.suite, run.id.short()) })
}

/// A table of one run for people.
pub(super) fn table_in_words(table: &Comparison) -> String {
    let rounds = if table.rounds == 1 { "round" } else { "alternating round" };
    let rounds = counted(table.rounds, rounds);
    let middle = if table.rounds == 1 { "" } else { ", median ± 95 %" };
    let mut text =
        format!("{rounds}, {}{middle}; {}\n", unit(&table.unit, table.measure), differs(&table.differs));
    text.push_str(&cells(table));
    text.push_str(&legend(table));
    text.push_str(&ratios(table));
    for reason in reasons(table) {
        let _ = writeln!(text, "≠ not comparable: {reason}");
    }
    for note in &table.notes {
        let _ = writeln!(text, "{note}");
    }
    text
}

fn unit(unit: &str, measure: Measure) -> String {
    match measure {
        Measure::Throughput => unit.to_owned(),
        percentile => format!("{percentile} in ms"),
    }
}

fn differs(differs: &[String]) -> String {
    match differs {
        [] => "servers equal in all cells (read back)".to_owned(),
        some => format!("servers equal in all cells but {} (read back)", some.join(", ")),
    }
}

fn value(value: f64, measure: Measure) -> String {
    if measure == Measure::Throughput { number(value) } else { milliseconds(value) }
}

/// The rows in the order in which their cases ran first, likewise the columns.
fn cells(comparison: &Comparison) -> String {
    let columns = distinct(comparison.cells.iter().map(|cell| &cell.column));
    let rows = distinct(comparison.cells.iter().map(|cell| &cell.row));
    let mut head = vec![String::new(); comparison.rows.len()];
    head.extend(columns.iter().map(|column| named(&comparison.columns, column)));
    let mut lines = vec![head];
    let mut before: &[String] = &[];
    for row in rows {
        let new = row.iter().zip(before).take_while(|(one, other)| one == other).count();
        let mut line: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(place, value)| if place < new { String::new() } else { value.clone() })
            .collect();
        for column in &columns {
            let cell = comparison.cells.iter().find(|cell| cell.row == *row && cell.column == **column);
            line.push(cell.map_or_else(String::new, |cell| in_words(cell, comparison.measure)));
        }
        lines.push(line);
        before = row;
    }
    if comparison.columns.is_empty() {
        lines.remove(0);
    }
    table(&lines)
}

fn distinct<'a>(values: impl Iterator<Item = &'a Vec<String>>) -> Vec<&'a Vec<String>> {
    let mut found: Vec<&Vec<String>> = Vec::new();
    values.for_each(|value| {
        if !found.contains(&value) {
            found.push(value);
        }
    });
    found
}

fn named(keys: &[String], values: &[String]) -> String {
    keys.iter().zip(values).map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// `1,598 ±1.2 % ▲`.
fn in_words(cell: &Cell, measure: Measure) -> String {
    let error = cell.interval95.map(|half| format!(" ±{:.1} %", half * 100.0)).unwrap_or_default();
    let beside = cell.against.as_ref().map(beside).unwrap_or_default();
    format!("{}{error}{beside}", or_dash(cell.value, |found| value(found, measure)))
}

/// The mark of a verdict; of what is not comparable with the ratio, where it was asked for.
fn beside(against: &Against) -> String {
    let ratio = against.ratio.filter(|_| against.verdict == Verdict::NotComparable);
    let ratio = ratio.map(|ratio| format!(" {ratio:.2}")).unwrap_or_default();
    format!(" {}{ratio}", mark(against.verdict))
}

const fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "▲",
        Verdict::Worse => "▼",
        Verdict::Same => "=",
        Verdict::Unclear => "?",
        Verdict::NotComparable => "≠",
    }
}

/// What the marks mean, of those that are there.
fn legend(table: &Comparison) -> String {
    let against = |cell: &Cell| cell.against.clone();
    let all: Vec<Against> = table.cells.iter().filter_map(against).collect();
    let Some(last) = table.rows.len().checked_sub(1).filter(|_| !all.is_empty()) else {
        return String::new();
    };
    let firsts = table
        .cells
        .iter()
        .filter(|cell| all.iter().any(|against| against.first.as_ref() == Some(&cell.case)));
    let mut names: Vec<&str> = firsts.filter_map(|cell| cell.row.get(last)).map(String::as_str).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    format!(
        "against {}: ▲ better ▼ worse = same (inside ±{} %) ? unclear{}\n",
        names.join(", "),
        number_of_percent(table.margin),
        needed(&all, table.rounds)
    )
}

fn number_of_percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// How many rounds would settle what is unclear.
fn needed(all: &[Against], rounds: u32) -> String {
    let unclear: Vec<&Against> = all.iter().filter(|against| against.verdict == Verdict::Unclear).collect();
    if unclear.is_empty() {
        return String::new();
    }
    if rounds < 2 {
        return " (one round says nothing about its own error: --rounds 5)".to_owned();
    }
    match unclear.iter().map(|against| against.rounds_needed).max_by_key(|needed| needed.unwrap_or(u32::MAX))
    {
        Some(Some(most)) => format!(" ({most} rounds would settle it)"),
        _ => " (more rounds than are sensible would be needed for some)".to_owned(),
    }
}

/// Each reason why cells are not comparable, once.
fn reasons(table: &Comparison) -> Vec<&str> {
    let all = table
        .cells
        .iter()
        .filter_map(|cell| cell.against.as_ref())
        .flat_map(|against| &against.not_comparable);
    let mut reasons: Vec<&str> = Vec::new();
    for reason in all {
        if !reasons.contains(&reason.as_str()) {
            reasons.push(reason);
        }
    }
    reasons
}

/// Two sides for people.
fn two_in_words(runs: &TwoRuns, a: &str, b: &str) -> String {
    let count = |verdict| runs.cases.iter().filter(|pair| pair.against.verdict == verdict).count();
    let counted = [
        (Verdict::Worse, "worse"),
        (Verdict::Better, "better"),
        (Verdict::Same, "same"),
        (Verdict::Unclear, "unclear"),
        (Verdict::NotComparable, "not comparable"),
    ];
    let told: Vec<String> = counted
        .iter()
        .filter(|(verdict, _)| count(*verdict) > 0)
        .map(|(verdict, word)| format!("{} {word}", count(*verdict)))
        .collect();
    let nothing = "nothing in the servers differs".to_owned();
    let differs = if runs.differs.is_empty() {
        nothing
    } else {
        format!("servers differ in {}", runs.differs.join(", "))
    };
    let [a, b] = [(a, runs.runs[0]), (b, runs.runs[1])].map(|(name, runs)| with_number(name, runs));
    let mut text = format!("{a} → {b}: {} of {}; {differs}\n", told.join(", "), runs.cases.len());
    let head = ["CASE", "MEASURE", "BEFORE", "AFTER", "RATIO [95 %]", "VERDICT"].map(str::to_owned).to_vec();
    let lines: Vec<Vec<String>> =
        std::iter::once(head).chain(runs.cases.iter().map(|pair| pair_row(pair, runs))).collect();
    text.push_str(&table(&lines));
    if runs.runs.contains(&1) {
        text.push_str("Rounds of one run know nothing of what differs from run to run: the intervals are the least there is.\n");
    }
    text
}

fn with_number(name: &str, runs: u32) -> String {
    if runs == 1 { name.to_owned() } else { format!("{name} ({})", counted(runs, "run")) }
}

fn pair_row(pair: &Pair, runs: &TwoRuns) -> Vec<String> {
    let (against, measure) = (&pair.against, runs.measure);
    let interval = against.interval95.map(|[low, high]| format!(" [{low:.2}-{high:.2}]")).unwrap_or_default();
    let results = if runs.runs.contains(&1) { "rounds" } else { "runs" };
    let verdict = match against.verdict {
        Verdict::NotComparable => format!("not comparable: {}", against.not_comparable.join("; ")),
        Verdict::Unclear => match against.rounds_needed {
            Some(needed) => format!("unclear: {needed} {results} a side would settle it"),
            None if against.interval95.is_none() => {
                "unclear: one round a side says nothing, --rounds 5 on both".to_owned()
            }
            None => "unclear".to_owned(),
        },
        other => other.to_string(),
    };
    vec![
        pair.case.clone(),
        unit(&pair.unit, measure),
        or_dash(pair.a, |found| value(found, measure)),
        or_dash(pair.b, |found| value(found, measure)),
        format!("{}{interval}", or_dash(against.ratio, |ratio| format!("{ratio:.2}"))),
        verdict,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worse_verdict_fails_the_command_where_that_was_asked_for() {
        let against = |verdict| Against {
            first: None,
            ratio: Some(0.5),
            interval95: None,
            verdict,
            rounds_needed: None,
            not_comparable: Vec::new(),
        };
        let ends = |fail_on, verdicts: &[Verdict]| {
            let all: Vec<Against> = verdicts.iter().copied().map(against).collect();
            let compare = Compare {
                run: "db".to_owned(),
                other: None,
                rows: Vec::new(),
                columns: Vec::new(),
                measure: None,
                margin: None,
                anyway: false,
                fail_on,
            };
            compare.exit(all.iter())
        };
        let mixed = [Verdict::Same, Verdict::Worse];
        assert_eq!(ends(Some(FailOn::Worse), &mixed), Exit::Worse);
        assert_eq!(ends(None, &mixed), Exit::Done);
        assert_eq!(ends(Some(FailOn::Worse), &[Verdict::Unclear, Verdict::NotComparable]), Exit::Done);
    }
}
