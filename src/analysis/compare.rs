//! Sets the cases of a run side by side as a table, and those of two runs one by one.

use std::collections::{BTreeMap, BTreeSet};

use super::comparable;
use super::rounds::{Ratio, middle};
use crate::record::{
    Against, CaseRecord, CaseResult, Cell, Comparison, LoadModel, Measure, Outcome, Pair, TwoRuns, Verdict,
};
use crate::text::counted;

/// Differences inside this are none, unless another margin is asked for (configuration's `equivalence`).
pub const MARGIN: f64 = 0.02;
/// What stands for the name of a benchmark among the keys of a table.
pub(crate) const BENCHMARK: &str = "benchmark";
/// The key that makes columns by itself.
const THREADS: &str = "threads";

/// What to compare, and how.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Question {
    /// Keys whose values name a row; none = those that vary.
    pub rows: Vec<String>,
    /// Keys whose values name a column.
    pub columns: Vec<String>,
    /// What is compared; `None` is throughput in closed loop, the 95th percentile in open loop.
    pub measure: Option<Measure>,
    /// Differences inside this are none; `None` is [`MARGIN`].
    pub margin: Option<f64>,
    /// Whether the numbers of what is not comparable are set against each other too, without a verdict.
    pub anyway: bool,
}

/// The rounds of one case, of one run or of the runs of one side.
pub(super) struct Rounds<'a> {
    pub(super) case: &'a str,
    /// A round each, in order, those of a run together.
    pub(super) records: Vec<&'a CaseRecord>,
}

/// The cases in the order in which they ran first, each with its rounds.
fn by_case(records: &[CaseRecord]) -> Vec<Rounds<'_>> {
    let mut cases: Vec<Rounds<'_>> = Vec::new();
    for record in records {
        match cases.iter_mut().find(|rounds| rounds.case == record.case) {
            Some(rounds) => rounds.records.push(record),
            None => cases.push(Rounds { case: &record.case, records: vec![record] }),
        }
    }
    cases
}

impl<'a> Rounds<'a> {
    /// The results of the rounds that finished.
    pub(super) fn results(&self) -> impl Iterator<Item = &'a CaseResult> {
        self.records.iter().filter_map(|record| finished(record))
    }

    /// The first round, which says what was asked for.
    pub(super) fn first(&self) -> Option<&'a CaseRecord> {
        self.records.first().copied()
    }

    /// The values of a measure, none of a round that did not finish.
    fn values(&self, measure: Measure) -> Vec<Option<f64>> {
        let value = |record: &&CaseRecord| finished(record).and_then(|result| value_of(result, measure));
        self.records.iter().map(value).collect()
    }

    /// The values of a measure as results on their own: of one run its rounds, of several the median of each.
    fn apart(&self, measure: Measure) -> Vec<f64> {
        let known = |rounds: &[&CaseRecord]| -> Vec<f64> {
            rounds.iter().filter_map(|record| value_of(finished(record)?, measure)).collect()
        };
        let runs: Vec<&[&CaseRecord]> = self.records.chunk_by(|one, next| one.run == next.run).collect();
        match runs.as_slice() {
            [only] => known(only),
            several => several.iter().filter_map(|run| Some(middle(&known(run))?.median)).collect(),
        }
    }

    /// The value of a key, as text: a parameter, the target, or the name of the benchmark.
    fn key(&self, key: &str) -> String {
        let Some(record) = self.first() else { return String::new() };
        match key {
            BENCHMARK => benchmark(self.case).to_owned(),
            "target" => record.target.clone().unwrap_or_default(),
            "workload" => record.workload.clone(),
            key => record.parameters.get(key).map(comparable::in_words).unwrap_or_default(),
        }
    }

    fn keys(&self, keys: &[String]) -> Vec<String> {
        keys.iter().map(|key| self.key(key)).collect()
    }
}

fn finished(record: &CaseRecord) -> Option<&CaseResult> {
    record.result.as_ref().filter(|_| record.outcome == Outcome::Finished)
}

fn value_of(result: &CaseResult, measure: Measure) -> Option<f64> {
    match measure {
        Measure::Throughput => Some(result.per_second),
        Measure::P50 => result.response.p50,
        Measure::P95 => result.response.p95,
        Measure::P99 => result.response.p99,
    }
}

/// The name of a case's benchmark.
fn benchmark(case: &str) -> &str {
    case.split('/').next().unwrap_or_default()
}

/// The table of a run whose benchmarks have a matrix; `None` when nothing varies.
pub fn of_run(records: &[CaseRecord]) -> Option<Comparison> {
    let varied: BTreeSet<&str> = records.iter().flat_map(|record| varied(&record.case)).collect();
    (!varied.is_empty()).then(|| table(records, &Question::default()).ok()).flatten()
}

/// The keys that vary in a case's benchmark: its name has their values.
fn varied(case: &str) -> impl Iterator<Item = &str> {
    case.split('/').skip(1).filter_map(|part| part.split_once('=')).map(|(key, _)| key)
}

/// Sets the cases of a run side by side.
///
/// # Errors
/// Why there is no such table, and what to ask for instead.
pub fn table(records: &[CaseRecord], question: &Question) -> Result<Comparison, String> {
    let cases = by_case(records);
    let (rows, columns) = keys(&cases, question)?;
    let measure = question.measure.unwrap_or_else(|| natural(&cases));
    let margin = question.margin.unwrap_or(MARGIN);
    let mut cells: Vec<Cell> = cases.iter().map(|case| cell(case, &rows, &columns, measure)).collect();
    refuse_shared_cells(&cells)?;
    let named: Vec<&str> = rows.iter().chain(&columns).map(String::as_str).collect();
    for place in 0..cells.len() {
        let Some(first) = first_of_group(&cells, place).filter(|first| *first != place) else { continue };
        let (of, against) = (&cases[place], &cases[first]);
        let ratio = Ratio::paired(&of.values(measure), &against.values(measure));
        let why_not = comparable::why_not(of, against, &named);
        let judged = judge(ratio, why_not, measure, margin, question.anyway);
        cells[place].against = Some(Against { first: Some(against.case.to_owned()), ..judged });
    }
    Ok(Comparison {
        measure,
        unit: unit(cases.first(), measure),
        margin,
        rounds: cases.iter().map(|case| case.records.len()).max().unwrap_or(0) as u32,
        cells,
        differs: comparable::differs(cases.iter().filter_map(Rounds::first), &named),
        notes: notes(&cases),
        rows,
        columns,
    })
}

/// The keys of rows and columns: those asked for, or those that vary, of which `threads` makes the columns.
fn keys(cases: &[Rounds<'_>], question: &Question) -> Result<(Vec<String>, Vec<String>), String> {
    if cases.len() < 2 {
        return Err("the run has fewer than two cases: there is nothing to compare".to_owned());
    }
    for key in question.rows.iter().chain(&question.columns) {
        if cases.iter().all(|case| case.key(key).is_empty()) {
            let varied: Vec<String> = all_varied(cases);
            return Err(format!(
                "no case has a key `{key}`; in this run vary: {}",
                if varied.is_empty() { "none".to_owned() } else { varied.join(", ") }
            ));
        }
    }
    if !question.rows.is_empty() || !question.columns.is_empty() {
        return Ok((question.rows.clone(), question.columns.clone()));
    }
    let mut rows = all_varied(cases);
    let columns = match rows.iter().position(|key| key == THREADS).filter(|_| rows.len() > 1) {
        Some(place) => vec![rows.remove(place)],
        None => Vec::new(),
    };
    let benchmarks: BTreeSet<&str> = cases.iter().map(|case| benchmark(case.case)).collect();
    if benchmarks.len() > 1 {
        rows.insert(0, BENCHMARK.to_owned());
    }
    Ok((rows, columns))
}

fn all_varied(cases: &[Rounds<'_>]) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for key in cases.iter().flat_map(|case| varied(case.case)) {
        if !keys.iter().any(|known| known == key) {
            keys.push(key.to_owned());
        }
    }
    keys
}

/// In open loop the throughput is the rate asked for, so the response time tells the difference.
fn natural(cases: &[Rounds<'_>]) -> Measure {
    let mut results = cases.iter().flat_map(Rounds::results).peekable();
    let open = results.peek().is_some() && results.all(|result| result.load.model == LoadModel::Open);
    if open { Measure::P95 } else { Measure::Throughput }
}

fn unit(case: Option<&Rounds<'_>>, measure: Measure) -> String {
    let operation = case.and_then(Rounds::first).map_or("operation", |record| record.operation.as_str());
    if measure == Measure::Throughput { format!("{operation}s/s") } else { "seconds".to_owned() }
}

fn cell(case: &Rounds<'_>, rows: &[String], columns: &[String], measure: Measure) -> Cell {
    let values: Vec<f64> = case.values(measure).into_iter().flatten().collect();
    let middle = middle(&values);
    Cell {
        row: case.keys(rows),
        column: case.keys(columns),
        case: case.case.to_owned(),
        rounds: values.len() as u32,
        value: middle.map(|middle| middle.median),
        interval95: middle.and_then(|middle| middle.interval95),
        against: None,
    }
}

fn refuse_shared_cells(cells: &[Cell]) -> Result<(), String> {
    let mut taken: BTreeMap<(&[String], &[String]), &str> = BTreeMap::new();
    for cell in cells {
        if let Some(other) = taken.insert((&cell.row, &cell.column), &cell.case) {
            return Err(format!(
                "the cases {other} and {} would be in one cell; add the key in which they differ to the rows or the \
                 columns, or `{BENCHMARK}`",
                cell.case
            ));
        }
    }
    Ok(())
}

/// The cell that another is set against: of the same column, and of the first row that has the same values of all keys
/// but the last.
fn first_of_group(cells: &[Cell], place: usize) -> Option<usize> {
    let cell = cells.get(place)?;
    let (_, group) = cell.row.split_last()?;
    let same = |other: &Cell| {
        other.column == cell.column && other.row.split_last().is_some_and(|(_, of)| of == group)
    };
    cells.iter().position(same)
}

/// What a ratio says of two cases that measure the same, or why they do not.
fn judge(
    ratio: Option<Ratio>,
    not_comparable: Vec<String>,
    measure: Measure,
    margin: f64,
    anyway: bool,
) -> Against {
    let ratio = ratio.filter(|_| anyway || not_comparable.is_empty());
    let verdict = match &ratio {
        _ if !not_comparable.is_empty() => Verdict::NotComparable,
        Some(ratio) => ratio.verdict(margin, measure != Measure::Throughput),
        None => Verdict::Unclear,
    };
    let unclear = ratio.filter(|_| verdict == Verdict::Unclear);
    Against {
        first: None,
        ratio: ratio.map(|ratio| ratio.ratio),
        interval95: ratio.and_then(|ratio| ratio.interval95),
        verdict,
        rounds_needed: unclear.and_then(|ratio| ratio.rounds_needed(margin)),
        not_comparable,
    }
}

/// What weakens single numbers.
fn notes(cases: &[Rounds<'_>]) -> Vec<String> {
    let mut notes = Vec::new();
    for case in cases {
        let finished = case.results().count();
        if finished < case.records.len() {
            let rounds = counted(case.records.len() as u64, "round");
            notes.push(format!("{}: {finished} of {rounds} finished", case.case));
        }
        let limited = case.results().filter(|result| result.limited).count();
        if limited > 0 {
            notes.push(format!(
                "{}: the load generator was the limit in {limited} of {}",
                case.case,
                counted(finished as u64, "round")
            ));
        }
    }
    notes
}

/// Sets two runs side by side, or the runs of two sides: case by case, of those that both have.
///
/// # Errors
/// When they have no case in common, or none that measures the same on both sides and that was not asked for.
pub fn two_runs(a: &[CaseRecord], b: &[CaseRecord], question: &Question) -> Result<TwoRuns, String> {
    let runs = [a, b].map(|side| side.chunk_by(|one, next| one.run == next.run).count() as u32);
    let (a, b) = (by_case(a), by_case(b));
    let measure = question.measure.unwrap_or_else(|| natural(&a));
    let margin = question.margin.unwrap_or(MARGIN);
    let pair = |one: &Rounds<'_>, other: &Rounds<'_>| {
        let (values, others) = (one.apart(measure), other.apart(measure));
        let ratio = Ratio::unpaired(&others, &values);
        let why_not = comparable::of_sides(other, one);
        Pair {
            case: one.case.to_owned(),
            unit: unit(Some(one), measure),
            a: middle(&values).map(|middle| middle.median),
            b: middle(&others).map(|middle| middle.median),
            against: judge(ratio, why_not, measure, margin, question.anyway),
        }
    };
    let both = a.iter().filter_map(|one| Some((one, b.iter().find(|other| other.case == one.case)?)));
    let cases: Vec<Pair> = both.map(|(one, other)| pair(one, other)).collect();
    refuse_all_unlike(&cases, question.anyway)?;
    let records = a.iter().chain(&b).flat_map(|rounds| rounds.records.iter().copied());
    Ok(TwoRuns { runs, measure, margin, cases, differs: comparable::differs(records, &[]) })
}

fn refuse_all_unlike(cases: &[Pair], anyway: bool) -> Result<(), String> {
    let Some(first) = cases.first() else { return Err("the two have no case in common".to_owned()) };
    if anyway || cases.iter().any(|pair| pair.against.verdict != Verdict::NotComparable) {
        return Ok(());
    }
    let why = first.against.not_comparable.join("; ");
    let advice = "--anyway (anyway=true) shows the numbers without a verdict";
    Err(format!("not comparable: no case measures the same on both sides ({}: {why}); {advice}", first.case))
}

#[cfg(test)]
mod tests;
