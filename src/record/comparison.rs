//! What comes of setting results side by side: the cases of one run as a table, or the cases of two runs.

use serde::{Deserialize, Serialize};

use super::words;

words! {
    /// What is compared.
    Measure {
        /// Operations a second: more is better.
        Throughput = "throughput",
        /// Median of the response times: less is better, as of all percentiles.
        P50 = "p50",
        /// 95th percentile of the response times.
        P95 = "p95",
        /// 99th percentile of the response times.
        P99 = "p99",
    }
}

words! {
    /// What a comparison says.
    Verdict {
        /// The whole interval of the ratio is beyond the margin, on the good side.
        Better = "better",
        /// The whole interval is inside the margin.
        Same = "same",
        /// The whole interval is beyond the margin, on the bad side.
        Worse = "worse",
        /// None of these.
        Unclear = "unclear",
        /// The two do not measure the same.
        NotComparable = "not_comparable",
    }
}

/// The cases of one run as a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What is compared.
    pub measure: Measure,
    /// The unit of the values: `transactions/s`, `seconds`.
    pub unit: String,
    /// The keys whose values name a row. The last of them is what is compared: its first value is the one that the
    /// others are set against.
    pub rows: Vec<String>,
    /// The keys whose values name a column.
    pub columns: Vec<String>,
    /// Differences inside this are none.
    pub margin: f64,
    /// Rounds of the run.
    pub rounds: u32,
    /// One a case, in the order in which they ran first.
    pub cells: Vec<Cell>,
    /// What differs between the servers of the cells as they were read back, beside what the table's keys name.
    pub differs: Vec<String>,
    /// Doubts that concern single cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One case of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The values of the row's keys.
    pub row: Vec<String>,
    /// The values of the column's keys.
    pub column: Vec<String>,
    /// The case.
    pub case: String,
    /// The rounds in which it finished.
    pub rounds: u32,
    /// Median of the rounds; absent when none finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Half of the 95 % interval, relative to the value; absent of fewer than two rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval95: Option<f64>,
    /// How it compares with the first row of its group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
}

/// One result beside another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// The case of a table that it is set against; absent between runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// This one's value by the other's; absent when one of them has none, and of two that are not comparable unless it
    /// was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The 95 % interval of the ratio; absent when there are too few rounds to tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval95: Option<[f64; 2]>,
    /// What that says.
    pub verdict: Verdict,
    /// So many rounds, or runs where a side has several, would settle it, should they be like those there are; absent when it is settled, or when not
    /// even that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_needed: Option<u32>,
    /// Why the two are not comparable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_comparable: Vec<String>,
}

/// Two runs, or the runs of two sides, case by case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TwoRuns {
    /// How many runs each side has.
    #[serde(default = "one_each")]
    pub runs: [u32; 2],
    /// What is compared.
    pub measure: Measure,
    /// Differences inside this are none.
    pub margin: f64,
    /// The cases that both sides have, in the order of the first.
    pub cases: Vec<Pair>,
    /// What differs between the servers of all these runs.
    pub differs: Vec<String>,
}

const fn one_each() -> [u32; 2] {
    [1, 1]
}

/// One case in two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The case.
    pub case: String,
    /// The unit of the values.
    pub unit: String,
    /// Median of the first side: of the rounds of its run, or of its runs where it has several.
    pub a: Option<f64>,
    /// Median of the second side.
    pub b: Option<f64>,
    /// The second beside the first.
    #[serde(flatten)]
    pub against: Against,
}
