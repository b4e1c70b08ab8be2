//! The tables `[[suite.NAME.benchmark]]`: a workload with parameters, whose lists make a matrix of cases.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::catalogue::{Needs, ParameterError};
use super::matrix::{Axis, Choice, choices, count, point};
use super::read::{Read, instead, unknown_key};
use super::server_target::{Binlog, ServerTarget};
use super::source::{Findings, Mistake};
use super::suite::{Context, undefined};
use super::target::{Target, Targets, is_name};
use super::tree::{Node, Table, join};
use crate::record::{Parameters, Profile};

/// The most cases of one benchmark.
const MOST_CASES: usize = 500;
/// The keys of a benchmark that are not parameters of its workload.
const OWN_KEYS: [&str; 3] = ["name", "workload", "target"];

/// One point of a benchmark's matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// `NAME`, or `NAME/key=value/…` with the keys that vary, in the order of the file.
    pub name: String,
    /// The kind of load.
    pub workload: String,
    /// Where the load goes; `None` is the host itself.
    pub target: Option<String>,
    /// Every key of the workload; `threads` is a number.
    pub parameters: Parameters,
    /// The keys that vary in the benchmark, with this case's values.
    pub varied: Vec<(String, String)>,
}

/// What the suite says about its benchmarks.
pub(super) struct Rules {
    pub(super) profile: Profile,
    /// The target of benchmarks that name none.
    pub(super) target: Option<String>,
    /// What amounts and times are multiplied by.
    pub(super) scale: f64,
}

/// A benchmark before its matrix is expanded.
pub(super) struct Benchmark<'a> {
    pub(super) name: String,
    node: &'a Node,
    workload: &'a Node,
    defaults: Parameters,
    target: Option<String>,
    /// The keys that are written, `target` among them, in the order of the file.
    axes: Vec<Axis<'a>>,
}

impl<'a> Benchmark<'a> {
    /// The benchmark of a table. `None` when its workload is not known: then nothing is known of its keys.
    pub(super) fn read(
        node: &'a Node,
        rules: &Rules,
        context: Context<'_>,
        found: &mut Findings,
    ) -> Option<Benchmark<'a>> {
        let Some(table) = node.table() else {
            let hint = "each benchmark is a table of keys and values";
            found.mistakes.push(node.mistake("a benchmark is a table", hint));
            return None;
        };
        let workload = workload(node, table, context, found)?;
        let text = workload.text()?;
        let defaults = context.catalogue.defaults(text)?;
        let name = name(table, text, found);
        let mut benchmark = Benchmark { name, node, workload, defaults, target: None, axes: Vec::new() };
        benchmark.read_axes(table, context, found);
        benchmark.read_target(rules, context, found);
        Some(benchmark)
    }

    /// Where its name stands.
    pub(super) fn named_at(&self) -> &'a Node {
        self.node.table().and_then(|table| table.get("name")).unwrap_or(self.workload)
    }

    /// Its place in the suite, from 1.
    pub(super) fn number(&self) -> usize {
        self.node.name().parse().map_or(1, |index: usize| index + 1)
    }

    fn workload_name(&self) -> &'a str {
        self.workload.text().unwrap_or_default()
    }

    /// Reads every key but the two that name things.
    fn read_axes(&mut self, table: &'a Table, context: Context<'_>, found: &mut Findings) {
        let mut keys: Vec<(&String, &Node)> =
            table.iter().filter(|(key, _)| *key != "name" && *key != "workload").collect();
        keys.sort_by_key(|(_, node)| node.key);
        for (key, node) in keys {
            let known = self.defaults.keys().map(String::as_str).chain(OWN_KEYS);
            if !known.clone().any(|known| known == key) {
                let of = format!(" of workload {}", self.workload_name());
                found.mistakes.push(unknown_key(node, key, &of, known));
                continue;
            }
            let choices = choices(key, node, self.defaults.get(key), context.cpus, found);
            if !choices.is_empty() {
                self.axes.push(Axis { key, choices });
            }
        }
    }

    /// Checks where the load goes: named here, or by the suite.
    fn read_target(&mut self, rules: &Rules, context: Context<'_>, found: &mut Findings) {
        let is_target = |axis: &Axis<'_>| axis.key == "target";
        let targets: Vec<Choice<'a>> = self
            .axes
            .iter()
            .find(|axis| is_target(axis))
            .map(|axis| axis.choices.clone())
            .unwrap_or_default();
        let needs = context.catalogue.needs(self.workload_name());
        if needs == Needs::Nothing {
            self.refuse_target(&targets, found);
            self.axes.retain(|axis| !is_target(axis));
            return;
        }
        let fits = |name: &&String| context.targets.get(*name).is_none_or(|target| serves(target, needs));
        self.target = rules.target.as_ref().filter(fits).cloned();
        if let [only] = targets.as_slice()
            && only.value == ""
        {
            self.axes.retain(|axis| !is_target(axis));
        } else {
            targets.iter().for_each(|choice| self.check_target(choice, needs, context, found));
        }
        if self.target.is_none() && !self.axes.iter().any(is_target) {
            self.require_target(needs, context, found);
        }
    }

    fn refuse_target(&self, targets: &[Choice<'_>], found: &mut Findings) {
        if let Some(choice) = targets.iter().find(|choice| choice.value != "") {
            let problem =
                format!("workload {} has no target: it loads the host itself", self.workload_name());
            found.mistakes.push(choice.node.mistake(problem, "remove `target`"));
        }
    }

    fn require_target(&self, needs: Needs, context: Context<'_>, found: &mut Findings) {
        found.of_several_keys(self.workload.key_mistake(
            format!("workload {} needs a target", self.workload_name()),
            format!("add `target`; defined are: {}", serving(needs, context.targets)),
        ));
    }

    /// Checks that a target exists and is of a kind that the workload can load.
    fn check_target(&self, choice: &Choice<'_>, needs: Needs, context: Context<'_>, found: &mut Findings) {
        let Some(name) = choice.value.as_str() else {
            let hint = "write the name of a target in quotes";
            return found.mistakes.push(choice.node.mistake("`target` takes a text", hint));
        };
        match context.targets.get(name) {
            Some(target) if serves(target, needs) => {}
            Some(_) => {
                let (workload, needed) = (self.workload_name(), needs.in_words());
                let problem = format!("workload {workload} needs {needed}, which target `{name}` is not");
                let hint = format!("of that kind are: {}", serving(needs, context.targets));
                found.mistakes.push(choice.node.mistake(problem, hint));
            }
            None => {
                let problem = format!("target `{name}` is not defined");
                found.of_several_keys(choice.node.mistake(problem, undefined(name, context.targets)));
            }
        }
    }

    /// Expands the matrix, each case with the defaults filled in and checked.
    pub(super) fn cases(&self, rules: &Rules, context: Context<'_>, found: &mut Findings) -> Vec<Case> {
        let count = count(&self.axes);
        if count > MOST_CASES {
            let problem = format!("the lists of benchmark `{}` make {count} cases", self.name);
            let hint = format!("at most {MOST_CASES}: shorten a list, or split the benchmark");
            found.mistakes.push(self.workload.key_mistake(problem, hint));
            return Vec::new();
        }
        let mut names = BTreeSet::new();
        let mut cases = Vec::new();
        for index in 0..count {
            let point = point(&self.axes, index);
            let case = self.case(&point);
            if !names.insert(case.name.clone()) {
                let problem = format!("two cases would be named `{}`", case.name);
                let hint = "their values differ in signs that a name cannot have: make them two benchmarks";
                found.mistakes.push(self.workload.key_mistake(problem, hint));
            }
            self.check_parameters(&case.scaled(rules.scale), &point, context, found);
            self.check_server(&case, &point, rules, context, found);
            cases.push(case);
        }
        cases
    }

    fn case(&self, point: &[&Choice<'a>]) -> Case {
        let mut case = Case {
            name: self.name.clone(),
            workload: self.workload_name().to_owned(),
            target: self.target.clone(),
            parameters: self.defaults.clone(),
            varied: Vec::new(),
        };
        for (axis, choice) in self.axes.iter().zip(point) {
            let key = axis.key.to_owned();
            if axis.choices.len() > 1 {
                let value = choice.in_name();
                case.name.push_str(&format!("/{key}={value}"));
                case.varied.push((key.clone(), value));
            }
            if key == "target" {
                case.target = choice.value.as_str().map(str::to_owned);
            } else {
                case.parameters.insert(key, choice.value.clone());
            }
        }
        case
    }

    /// The node that holds a key's value in a case.
    fn written(&self, point: &[&Choice<'a>], key: &str) -> Option<&'a Node> {
        self.axes
            .iter()
            .position(|axis| axis.key == key)
            .and_then(|at| point.get(at))
            .map(|choice| choice.node)
    }

    /// Notes every key that the workload refuses: each in turn, with those refused before at their defaults.
    fn check_parameters(
        &self,
        case: &Case,
        point: &[&Choice<'a>],
        context: Context<'_>,
        found: &mut Findings,
    ) {
        let mut parameters = case.parameters.clone();
        while let Err(ParameterError { key, problem, hint }) =
            context.catalogue.check(&case.workload, &parameters)
        {
            match self.written(point, &key) {
                Some(node) => found.mistakes.push(node.mistake(problem, hint)),
                None => {
                    let at = self.workload.key_mistake(problem, hint);
                    found.mistakes.push(Mistake { key: join(&self.node.path, &key), ..at });
                }
            }
            match self.defaults.get(&key) {
                Some(default) if parameters.get(&key) != Some(default) => {
                    parameters.insert(key, default.clone());
                }
                _ => return,
            }
        }
    }

    /// Checks what a case may do to a server that exists.
    fn check_server(
        &self,
        case: &Case,
        point: &[&Choice<'a>],
        rules: &Rules,
        context: Context<'_>,
        found: &mut Findings,
    ) {
        let Some(name) = &case.target else { return };
        let Some(Some(Target::Server(server))) = context.targets.get(name) else { return };
        if rules.profile == Profile::Canary && flat_out(&case.parameters) {
            let problem = format!(
                "this benchmark would load the live server `{name}` flat out, which profile canary does not allow"
            );
            let hint = "give it a rate (`rate = 200`), or the suite `profile = \"maintenance\"` and a window";
            found.mistakes.push(match self.written(point, "rate") {
                Some(rate) => rate.mistake(problem, hint),
                None => self.workload.key_mistake(problem, hint),
            });
        }
        if logs_outside_of_lab(server, rules.profile) {
            let problem =
                format!("load on `{name}` would go to its binary log, which only profile lab allows");
            let hint = "set `binlog = \"suppress\"` for the target, or `profile = \"lab\"` for the suite";
            let at = self.written(point, "target").map(|target| target.mistake(&*problem, hint));
            found.mistakes.push(at.unwrap_or_else(|| self.workload.key_mistake(problem, hint)));
        }
    }
}

fn logs_outside_of_lab(server: &ServerTarget, profile: Profile) -> bool {
    server.binlog == Binlog::Log && profile != Profile::Lab
}

/// Whether no rate limits a case's load; a rate that is no number has its own problem.
fn flat_out(parameters: &Parameters) -> bool {
    parameters.get("rate").is_none_or(|rate| rate.as_f64().is_some_and(|rate| rate <= 0.0))
}

/// Whether a target is of a kind that a workload can load; one that is defined and wrong has its own problem.
fn serves(target: &Option<Target>, needs: Needs) -> bool {
    target.as_ref().is_none_or(|target| target.serves(needs))
}

/// The names of the targets that a workload can load.
fn serving(needs: Needs, targets: &Targets) -> String {
    let fitting = targets.iter().filter(|(_, target)| serves(target, needs));
    fitting.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The node that names a workload that exists.
fn workload<'a>(
    node: &'a Node,
    table: &'a Table,
    context: Context<'_>,
    found: &mut Findings,
) -> Option<&'a Node> {
    let known = context.catalogue.workloads();
    let Some(workload) = table.get("workload") else {
        let hint = format!("add `workload`, one of {}", known.join(", "));
        found.mistakes.push(node.mistake("the benchmark has no workload", hint));
        return None;
    };
    let name = String::read(workload, found)?;
    if !known.contains(&name.as_str()) {
        let hint = instead(&name, "there are", known.iter().copied());
        found.mistakes.push(workload.mistake(format!("unknown workload `{name}`"), hint));
        return None;
    }
    Some(workload)
}

/// The benchmark's name: its own, or the workload's.
fn name(table: &Table, workload: &str, found: &mut Findings) -> String {
    let Some(node) = table.get("name").filter(|node| node.text() != Some("")) else {
        return workload.to_owned();
    };
    let name = String::read(node, found).unwrap_or_else(|| workload.to_owned());
    if !is_name(&name) {
        let hint = "use letters, digits, _ and -; cases are named after it";
        found.mistakes.push(node.mistake(format!("`{name}` cannot be the name of a benchmark"), hint));
    }
    name
}
