//! A benchmark without configuration: `benchd run -w WORKLOAD key=value…`.

use serde_json::Value as Scalar;

use super::Config;
use super::benchmark::{Benchmark, Rules};
use super::catalogue::Catalogue;
use super::problem::{Problem, without_password};
use super::source::{Files, Findings, Place, Source};
use super::suite::{AD_HOC, Context, Suite};
use super::target::Targets;
use super::tree::{Node, Table, Value};
use crate::record::Parameters;

/// What stands for the file in problems of arguments.
const COMMAND_LINE: &str = "command line";

/// The suite of one benchmark, given as on the command line: keys as in the file, lists with commas
/// (`threads=1,8`). The text of a value becomes a number, or true or false, where the key's default is one.
/// The suite is named [`AD_HOC`] and has the defaults of every other, profile `canary` among them.
///
/// # Errors
/// Every problem, each with its argument: line 1 is the workload, line 2 the first `key=value`.
pub fn ad_hoc(
    config: &Config,
    workload: &str,
    keys: &[(String, String)],
    catalogue: &dyn Catalogue,
    cpus: u32,
) -> Result<Suite, Vec<Problem>> {
    let targets: Targets =
        config.targets.iter().map(|(name, target)| (name.clone(), Some(target.clone()))).collect();
    let context = Context { catalogue, cpus, targets: &targets, profiles: &config.profiles };
    let mut found = Findings::default();
    let mut arguments = Arguments { text: String::new() };
    let node =
        arguments.benchmark(workload, keys, &catalogue.defaults(workload).unwrap_or_default(), &mut found);
    let mut suite = Suite { name: AD_HOC.to_owned(), ..Suite::default() };
    if let Some(limits) = config.profiles.get(&suite.profile) {
        suite.limits = limits.clone();
    }
    let rules = Rules { profile: suite.profile, target: None, scale: suite.scale };
    if let Some(benchmark) = Benchmark::read(&node, &rules, context, &mut found) {
        suite.cases = benchmark.cases(&rules, context, &mut found);
    }
    if found.mistakes.is_empty() {
        return Ok(suite);
    }
    let source = Source { path: COMMAND_LINE.to_owned(), text: arguments.text, shown: without_password };
    Err(Files(vec![source]).problems(found.mistakes))
}

/// The arguments as a text of one line each, so that problems are placed as those of a file.
struct Arguments {
    text: String,
}

impl Arguments {
    /// The table that the arguments would be in a file.
    fn benchmark(
        &mut self,
        workload: &str,
        keys: &[(String, String)],
        defaults: &Parameters,
        found: &mut Findings,
    ) -> Node {
        self.write("-w ");
        let at = self.write(workload);
        let value = Value::Scalar(workload.into());
        let mut table = Table::new();
        table.insert("workload".to_owned(), Node { path: "workload".to_owned(), key: at, at, value });
        for (key, value) in keys {
            let node = self.argument(key, value, defaults.get(key));
            if key == "workload" {
                let hint = "leave it out";
                found.mistakes.push(node.key_mistake("the workload is given by -w already", hint));
            } else if table.contains_key(key) {
                let hint = format!("write {key}=VALUE,VALUE for several");
                found.mistakes.push(node.key_mistake(format!("`{key}` is given twice"), hint));
            } else {
                table.insert(key.clone(), node);
            }
        }
        Node { path: String::new(), key: at, at, value: Value::Table(table) }
    }

    /// One `key=value`.
    fn argument(&mut self, path: &str, value: &str, default: Option<&Scalar>) -> Node {
        self.write("\n");
        let key = self.write(path);
        self.write("=");
        let start = self.text.len();
        let mut choices = Vec::new();
        for text in value.split(',') {
            if !choices.is_empty() {
                self.write(",");
            }
            let at = self.write(text);
            let path = format!("{path}.{}", choices.len());
            choices.push(Node { path, key: at, at, value: Value::Scalar(typed(text, default)) });
        }
        let at = Place { file: 0, start, end: self.text.len() };
        let value = match choices.as_slice() {
            [only] => only.value.clone(),
            _ => Value::List(choices),
        };
        Node { path: path.to_owned(), key, at, value }
    }

    /// Adds to the text; a line end in an argument becomes a space, because a line is an argument.
    fn write(&mut self, part: &str) -> Place {
        let start = self.text.len();
        match part {
            "\n" => self.text.push('\n'),
            _ => self.text.extend(part.chars().map(|c| if c == '\n' || c == '\r' { ' ' } else { c })),
        }
        Place { file: 0, start, end: self.text.len() }
    }
}

/// The text of a value as the type that the key's default has, where it can be that.
fn typed(text: &str, default: Option<&Scalar>) -> Scalar {
    let typed = match default {
        Some(Scalar::Bool(_)) => text.parse::<bool>().ok().map(Scalar::from),
        Some(Scalar::Number(_)) => {
            let plain = text.replace('_', "");
            let float = || plain.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Scalar::from);
            plain.parse::<i64>().ok().map(Scalar::from).or_else(float)
        }
        _ => None,
    };
    typed.unwrap_or_else(|| text.into())
}
