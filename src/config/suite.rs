//! The tables `[suite.NAME]`: benchmarks in order, when they run, and how much they may take.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::benchmark::{Benchmark, Case, Rules};
use super::catalogue::Catalogue;
use super::limits::{Limits, Profiles};
use super::preset;
use super::read::{Section, Wrong, between, instead, not_zero, read_word, word};
use super::scale::Factor;
use super::source::{Findings, Mistake};
use super::target::{Targets, check_name};
use super::tree::{Node, Table, Value};
use crate::record::{Profile, words};
use crate::units::Span;

/// The suite under which the runs of `benchd run -w` are stored.
pub const AD_HOC: &str = "ad-hoc";

words! {
    /// What becomes of a start that was missed while the daemon was down.
    Missed {
        /// It is left out.
        Skip = "skip",
        /// One of those missed is made up for, inside the window.
        Once = "once",
    }
}

words! {
    /// What becomes of a start while a run of the same suite is active.
    Overlap {
        /// It is left out.
        Skip = "skip",
        /// It waits.
        Queue = "queue",
    }
}

words! {
    /// What follows a case that failed.
    OnFailure {
        /// The next case.
        Continue = "continue",
        /// The end of the run.
        Stop = "stop",
    }
}

read_word!(Missed: "a rule for missed starts", Overlap: "a rule for overlapping runs", OnFailure: "a rule for failures");

/// What makes scheduled runs start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// A cron expression of five fields, or six with seconds.
    Cron(String),
    /// A fixed time from one start to the next.
    Every(Span),
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Cron(expression) => f.write_str(expression),
            Schedule::Every(span) => write!(f, "every {span}"),
        }
    }
}

/// A suite that is enabled, with its cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Suite {
    /// Its name.
    pub name: String,
    /// Shown in lists.
    pub description: String,
    /// How much its runs may take from the host.
    pub profile: Profile,
    /// When it starts; `None` is on demand only.
    pub schedule: Option<Schedule>,
    /// The time zone of schedule and window; `None` is the host's.
    pub timezone: Option<String>,
    /// The time of day inside which runs start, `HH:MM-HH:MM`.
    pub window: Option<String>,
    /// Scheduled starts are later by a fixed time below this.
    pub jitter: Span,
    /// What becomes of missed starts.
    pub missed: Missed,
    /// What becomes of a start while its own run is active.
    pub overlap: Overlap,
    /// How often all cases are run.
    pub rounds: u32,
    /// What rows, operations, file sizes and times of the cases are multiplied by when they run.
    pub scale: f64,
    /// What follows a case that failed.
    pub on_failure: OnFailure,
    /// The longest planned length of a run; `None` is no limit.
    pub max_duration: Option<Span>,
    /// How much of the host its load may take, by its profile.
    pub limits: Limits,
    /// The cases of all its benchmarks, in order.
    pub cases: Vec<Case>,
}

impl Default for Suite {
    fn default() -> Suite {
        Suite {
            name: String::new(),
            description: String::new(),
            profile: Profile::Canary,
            schedule: None,
            timezone: None,
            window: None,
            jitter: Span::from_secs(30 * 60),
            missed: Missed::Skip,
            overlap: Overlap::Skip,
            rounds: 1,
            scale: 1.0,
            on_failure: OnFailure::Continue,
            max_duration: None,
            limits: Limits::default(),
            cases: Vec::new(),
        }
    }
}

/// What suites are checked against.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) catalogue: &'a dyn Catalogue,
    /// CPUs of the host, of which `threads = "50%"` is a share.
    pub(super) cpus: u32,
    pub(super) targets: &'a Targets,
    pub(super) profiles: &'a Profiles,
}

/// Reads every `[suite.NAME]` that is enabled.
pub(super) fn read_suites(
    tables: &Table,
    context: Context<'_>,
    found: &mut Findings,
) -> BTreeMap<String, Suite> {
    let mut suites = BTreeMap::new();
    for (name, node) in tables {
        check_name(node, "suite", found);
        if name == AD_HOC {
            let problem = format!("`{AD_HOC}` cannot be the name of a suite");
            let hint = "the runs of `benchd run -w` are stored under it; take another";
            found.mistakes.push(node.key_mistake(problem, hint));
        }
        if let Some(suite) = Suite::read(name, node, context, found) {
            suites.insert(name.clone(), suite);
        }
    }
    suites
}

impl Suite {
    /// The suite of a table; `None` when it is disabled, whose benchmarks are not looked at.
    fn read(name: &str, node: &Node, context: Context<'_>, found: &mut Findings) -> Option<Suite> {
        let mut suite = Suite { name: name.to_owned(), ..Suite::default() };
        let mut section = Section::of(node, found)?;
        let mut enabled = true;
        section.set("enabled", &mut enabled);
        section.set("description", &mut suite.description);
        section.set("profile", &mut suite.profile);
        suite.read_times(&mut section);
        section.set("missed", &mut suite.missed);
        section.set("overlap", &mut suite.overlap);
        section.check("rounds", &mut suite.rounds, between(1, 1000));
        let mut scale = Factor(suite.scale);
        section.set("scale", &mut scale);
        suite.scale = scale.0;
        section.set("on_failure", &mut suite.on_failure);
        section.check("max_duration", &mut suite.max_duration, given_not_zero);
        let target = suite_target(&mut section, context.targets);
        let benchmarks = Benchmarks::read(&mut section);
        section.end();
        if !enabled {
            return None;
        }
        if let Some(limits) = context.profiles.get(&suite.profile) {
            suite.limits = limits.clone();
        }
        let rules = Rules { profile: suite.profile, target, scale: suite.scale };
        suite.cases = benchmarks.map_or_else(Vec::new, |from| from.cases(node, &rules, context, found));
        Some(suite)
    }

    fn read_times(&mut self, section: &mut Section<'_, '_>) {
        let (mut cron, mut every) = (None::<String>, None::<Span>);
        section.set("schedule", &mut cron);
        section.check("every", &mut every, given_not_zero);
        section.set("timezone", &mut self.timezone);
        section.set("window", &mut self.window);
        section.set("jitter", &mut self.jitter);
        if cron.is_some() && every.is_some() {
            let hint = "keep one of them: a cron expression, or a time from start to start";
            section.mistake("every", "`schedule` and `every` are both set", hint);
        }
        if let Some(every) = every
            && section.get("jitter").is_some()
            && self.jitter >= every
        {
            let problem = format!("`jitter` ({}) is not shorter than `every` ({every})", self.jitter);
            section.mistake("jitter", problem, "write a shorter one: a start may not pass the next one");
        }
        if self.profile == Profile::Maintenance && self.window.is_none() {
            let hint =
                "add window = \"01:00-05:00\": its load saturates the host, so it needs a time for that";
            section.mistake("profile", "profile maintenance needs a window", hint);
        }
        self.schedule = cron.map(Schedule::Cron).or(every.map(Schedule::Every));
    }
}

fn given_not_zero(span: &Option<Span>) -> Result<(), Wrong> {
    span.as_ref().map_or(Ok(()), not_zero)
}

/// The target of every benchmark that names none.
fn suite_target(section: &mut Section<'_, '_>, targets: &Targets) -> Option<String> {
    let mut target = None::<String>;
    section.set("target", &mut target);
    if let Some(name) = target.as_ref().filter(|name| !targets.contains_key(*name)) {
        section.mistake("target", format!("target `{name}` is not defined"), undefined(name, targets));
    }
    target
}

/// What to do about a target that is not defined.
pub(super) fn undefined(name: &str, targets: &Targets) -> String {
    let known = instead(name, "defined are", targets.keys().map(String::as_str));
    let stop = if known.ends_with('?') { "" } else { "." };
    format!("{known}{stop} Or add [target.{name}]")
}

/// Where the benchmarks of a suite come from.
enum Benchmarks<'a> {
    /// `[[suite.NAME.benchmark]]`.
    Tables(&'a Node),
    /// `preset = "…"`: where it stands, and its list.
    Preset(&'a Node, Node),
    Nowhere,
}

impl<'a> Benchmarks<'a> {
    /// Tables of a file replace the preset of a built-in suite. `None` when the preset is not known.
    fn read(section: &mut Section<'a, '_>) -> Option<Benchmarks<'a>> {
        let tables = section.get("benchmark");
        let preset = section.get("preset").filter(|preset| preset.text() != Some(""));
        match (tables, preset) {
            (Some(tables), Some(preset)) if !preset.key.is_built_in() => {
                let hint = "keep one of them: the benchmarks are those of the preset, or those written here";
                section.mistake("preset", "`preset` and `benchmark` are both set", hint);
                Some(Benchmarks::Tables(tables))
            }
            (Some(tables), _) => Some(Benchmarks::Tables(tables)),
            (None, Some(preset)) => {
                let index = word(preset, "a preset", preset::presets(), section.found)?;
                let list = preset::presets().nth(index).and_then(preset::benchmarks)?;
                Some(Benchmarks::Preset(preset, list))
            }
            (None, None) => Some(Benchmarks::Nowhere),
        }
    }

    fn cases(self, suite: &Node, rules: &Rules, context: Context<'_>, found: &mut Findings) -> Vec<Case> {
        match self {
            Benchmarks::Tables(list) => cases_of(suite, list, rules, context, found),
            Benchmarks::Preset(named, list) => {
                let mut inside = Findings { incomplete: found.incomplete, ..Findings::default() };
                let cases = cases_of(suite, &list, rules, context, &mut inside);
                let here = |mistake: Mistake| named.mistake(mistake.problem, mistake.hint);
                found.mistakes.extend(inside.mistakes.into_iter().map(here));
                cases
            }
            Benchmarks::Nowhere => {
                let problem = format!("suite `{}` has no benchmark", suite.name());
                let hint = format!("add [[{}.benchmark]] with a workload, or a `preset`", suite.path);
                found.of_several_keys(suite.mistake(problem, hint));
                Vec::new()
            }
        }
    }
}

fn cases_of(
    suite: &Node,
    list: &Node,
    rules: &Rules,
    context: Context<'_>,
    found: &mut Findings,
) -> Vec<Case> {
    let Value::List(nodes) = &list.value else {
        let hint = format!("write [[{}.benchmark]], with two brackets", suite.path);
        found.mistakes.push(list.key_mistake("`benchmark` is a list of tables", hint));
        return Vec::new();
    };
    let benchmarks: Vec<Benchmark<'_>> =
        nodes.iter().filter_map(|node| Benchmark::read(node, rules, context, found)).collect();
    refuse_equal_names(&benchmarks, found);
    benchmarks.iter().flat_map(|benchmark| benchmark.cases(rules, context, found)).collect()
}

fn refuse_equal_names(benchmarks: &[Benchmark<'_>], found: &mut Findings) {
    for (index, benchmark) in benchmarks.iter().enumerate() {
        let first = benchmarks[..index].iter().find(|other| other.name == benchmark.name);
        if let Some(first) = first {
            found.mistakes.push(benchmark.named_at().mistake(
                format!("two benchmarks of the suite are named `{}`", benchmark.name),
                format!(
                    "give this one another `name`; the other is benchmark {} of the suite",
                    first.number()
                ),
            ));
        }
    }
}
