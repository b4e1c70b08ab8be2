//! What a run will do before it does it: its cases in order, how long they take, and when it must be over.

use std::collections::BTreeMap;
use std::time::Duration;

use wildmatch::WildMatch;

use crate::config::{Case, Suite};
use crate::record::{Parameters, Profile};
use crate::units::{Bytes, Span};
use crate::workloads::{self, Needs};

/// Rows a second that loading a data set reaches at least; for planning alone.
const ROWS_PER_SECOND: u64 = 20_000;
/// Bytes a second at which files are filled at least; for planning alone.
const FILLED_PER_SECOND: u64 = 50 << 20;
/// Bytes a row of an oltp table takes on disk with its index; for planning alone.
const BYTES_PER_ROW: u64 = 300;
/// Starting a scratch server, and its empty files.
const SERVER_START: Span = Span::from_secs(15);
/// A run is ended after this times its planned length (guard `deadline`).
const DEADLINE_FACTOR: f64 = 1.5;
/// No run is ended sooner than this after its planned length: a busy machine starts servers slowly.
const DEADLINE_GRACE: Span = Span::from_secs(120);

/// One case of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct CasePlan {
    /// The case.
    pub case: Case,
    /// How long its warm-up and measured part take; `None` when only operations end it.
    pub load: Option<Span>,
    /// Rows it loads when no data set is kept.
    pub rows: u64,
    /// What decides these rows; cases with equal ones on one target share them.
    pub data_set: Option<String>,
    /// Bytes of the files it makes in a directory.
    pub file_bytes: u64,
}

/// What a run will do.
#[derive(Debug, Clone, PartialEq)]
pub struct RunPlan {
    /// The suite's name.
    pub suite: String,
    /// How much it may take.
    pub profile: Profile,
    /// What the suite is scaled by; the cases are.
    pub scale: f64,
    /// The cases in the order in which they run.
    pub cases: Vec<CasePlan>,
    /// Planned length.
    pub planned: Span,
    /// The run is ended after this.
    pub deadline: Span,
}

impl RunPlan {
    /// Plans a suite, or those of its cases that match one of `globs` (none = all). With several rounds the order
    /// alternates (A B B A), so that drift favours no case.
    pub fn new(suite: &Suite, globs: &[String]) -> RunPlan {
        let selected = select_cases(&suite.cases, globs).into_iter();
        let once: Vec<CasePlan> = selected.map(|case| plan_case(&case.scaled(suite.scale))).collect();
        let mut cases = Vec::new();
        for round in 0..suite.rounds.max(1) {
            let mut order = once.clone();
            if round % 2 == 1 {
                order.reverse();
            }
            cases.extend(order);
        }
        let planned = planned(&cases, suite);
        let deadline = planned.scaled(DEADLINE_FACTOR).max(sum(planned, DEADLINE_GRACE));
        RunPlan {
            suite: suite.name.clone(),
            profile: suite.profile,
            scale: suite.scale,
            cases,
            planned,
            deadline,
        }
    }

    /// Bytes the run writes to a target's filesystem when no data set is kept there.
    pub fn bytes(&self, target: &str) -> u64 {
        let there = || self.cases.iter().filter(|plan| plan.case.target.as_deref() == Some(target));
        let unshared = there().filter(|plan| plan.data_set.is_none());
        let unshared = unshared.map(|plan| plan.rows * BYTES_PER_ROW + plan.file_bytes).max().unwrap_or(0);
        kept_rows(there()) * BYTES_PER_ROW + unshared
    }
}

/// Rows of the data sets that are kept for the whole run, each counted once on each target.
fn kept_rows<'a>(cases: impl Iterator<Item = &'a CasePlan>) -> u64 {
    let mut sets = BTreeMap::new();
    for plan in cases.filter(|plan| plan.data_set.is_some()) {
        let rows: &mut u64 = sets.entry((&plan.case.target, &plan.data_set)).or_default();
        *rows = plan.rows.max(*rows);
    }
    sets.values().sum()
}

fn sum(one: Span, other: Span) -> Span {
    Span::from(one.duration().saturating_add(other.duration()))
}

/// The sum of the cases; a case without a time limit takes what the profile or the suite allows.
fn planned(cases: &[CasePlan], suite: &Suite) -> Span {
    let limit = suite.max_duration.unwrap_or_else(|| longest(suite.profile));
    if cases.iter().any(|plan| plan.load.is_none()) {
        return limit;
    }
    let loads: Duration = cases.iter().filter_map(|plan| plan.load).map(Span::duration).sum();
    let loaded_anew = cases.iter().filter(|plan| plan.data_set.is_none()).map(|plan| plan.rows);
    let rows: u64 = kept_rows(cases.iter()) + loaded_anew.sum::<u64>();
    let on_servers = cases.iter().any(|plan| plan.case.target.is_some() && plan.file_bytes == 0);
    let starts = if on_servers { SERVER_START } else { Span::ZERO };
    let bytes: u64 = cases.iter().map(|plan| plan.file_bytes).sum();
    let filling = Duration::from_secs(rows / ROWS_PER_SECOND + bytes / FILLED_PER_SECOND);
    Span::from(loads + filling + starts.duration())
}

/// Longest planned run of a profile (the configuration's reference: 15 minutes, 4 hours, 48 hours).
pub(crate) const fn longest(profile: Profile) -> Span {
    match profile {
        Profile::Canary => Span::from_secs(15 * 60),
        Profile::Maintenance => Span::from_secs(4 * 3600),
        Profile::Lab => Span::from_secs(48 * 3600),
    }
}

fn plan_case(case: &Case) -> CasePlan {
    let time = span(&case.parameters, "time").filter(|time| !time.is_zero());
    let load = time.map(|time| sum(time, span(&case.parameters, "warm_up").unwrap_or_default()));
    let rows = number(&case.parameters, "tables") * number(&case.parameters, "table_size");
    let in_files = workloads::find(&case.workload).is_some_and(|kind| kind.needs == Needs::Directory);
    let total = case.parameters.get("total").and_then(|total| total.as_str()?.parse::<Bytes>().ok());
    let file_bytes = total.filter(|_| in_files).map_or(0, Bytes::get);
    let data_set = workloads::data_set(&case.workload, &case.parameters);
    CasePlan { case: case.clone(), load, rows, data_set, file_bytes }
}

fn span(parameters: &Parameters, key: &str) -> Option<Span> {
    parameters.get(key)?.as_str()?.parse().ok()
}

fn number(parameters: &Parameters, key: &str) -> u64 {
    parameters.get(key).and_then(serde_json::Value::as_u64).unwrap_or(0)
}

/// The cases whose name matches one of the patterns (`*` and `?`), or all when there is no pattern.
pub fn select_cases<'a>(cases: &'a [Case], globs: &[String]) -> Vec<&'a Case> {
    cases
        .iter()
        .filter(|case| globs.is_empty() || globs.iter().any(|glob| WildMatch::new(glob).matches(&case.name)))
        .collect()
}
