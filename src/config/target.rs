//! The tables `[target.NAME]`: where load goes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::catalogue::Needs;
use super::directory::DirectoryTarget;
use super::limits::possible_memory;
use super::read::{Read, Section, instead, not_zero, read_word};
use super::scale::option_size;
use super::server_target::ServerTarget;
use super::source::Findings;
use super::tree::{Node, Table, Value, overlay};
use crate::record::words;
use crate::units::{Bytes, Span};

/// The longest name of a target, suite or benchmark.
const LONGEST_NAME: usize = 64;

words! {
    /// The kinds of target.
    TargetKind {
        /// A server that exists.
        Server = "server",
        /// A throw-away server that benchd starts.
        Scratch = "scratch",
        /// A directory for files of a load.
        Directory = "directory",
    }
}

read_word!(TargetKind: "a kind of target");

/// Where load goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Target {
    /// A server that exists.
    Server(ServerTarget),
    /// A throw-away server that benchd starts.
    Scratch(ScratchTarget),
    /// A directory for files of a load.
    Directory(DirectoryTarget),
}

impl Target {
    /// It as a throw-away server, if that is what it is.
    pub const fn scratch(&self) -> Option<&ScratchTarget> {
        match self {
            Target::Scratch(scratch) => Some(scratch),
            Target::Server(_) | Target::Directory(_) => None,
        }
    }

    /// Its kind.
    pub const fn kind(&self) -> TargetKind {
        match self {
            Target::Server(_) => TargetKind::Server,
            Target::Scratch(_) => TargetKind::Scratch,
            Target::Directory(_) => TargetKind::Directory,
        }
    }

    /// Whether a workload that needs such a target can use it.
    pub(super) const fn serves(&self, needs: Needs) -> bool {
        match self {
            Target::Server(_) | Target::Scratch(_) => matches!(needs, Needs::Server),
            Target::Directory(_) => matches!(needs, Needs::Directory),
        }
    }
}

/// A throw-away server that benchd starts from the installed programs for the cases that name it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScratchTarget {
    /// The folder under which its data lies, in a folder named as the target.
    pub directory: PathBuf,
    /// The server's program; `None` looks for `mariadbd` and `mysqld` of this host.
    pub server: Option<PathBuf>,
    /// Options of the server by name, as in my.cnf; an empty value is an option without a value.
    pub options: BTreeMap<String, String>,
    /// A shared library to load into the server, by name or path: an allocator.
    pub preload: Option<String>,
    /// Longest time until it answers.
    pub start_timeout: Span,
    /// Whether loaded data stays for the next run.
    pub keep_data: bool,
    /// Whether the server goes on running while cases use other targets.
    pub keep_running: bool,
    /// Options that are multiplied by the suite's scale.
    pub scaled: Vec<String>,
    /// Most memory of the server; `None` is its buffer pool and 1 GiB.
    pub memory_max: Option<Bytes>,
}

impl ScratchTarget {
    /// A scratch server with its data in `scratch` beside the store, and the default of every other key.
    pub fn beside(store: &Path) -> ScratchTarget {
        ScratchTarget {
            directory: store.with_file_name("scratch"),
            server: None,
            options: BTreeMap::new(),
            preload: None,
            start_timeout: Span::from_secs(60),
            keep_data: true,
            keep_running: false,
            scaled: Vec::new(),
            memory_max: None,
        }
    }

    fn read(mut section: Section<'_, '_>, store: &Path) -> ScratchTarget {
        let mut scratch = ScratchTarget::beside(store);
        section.set("directory", &mut scratch.directory);
        let mut program = Program(None);
        section.set("server", &mut program);
        scratch.server = program.0;
        let mut options = BTreeMap::<String, OptionValue>::new();
        section.set("options", &mut options);
        scratch.options = options.into_iter().map(|(name, value)| (name, value.0)).collect();
        section.set("preload", &mut scratch.preload);
        let mut memory = Memory(None);
        section
            .check("memory_max", &mut memory, |memory| memory.0.as_ref().map_or(Ok(()), possible_memory()));
        scratch.memory_max = memory.0;
        section.check("start_timeout", &mut scratch.start_timeout, not_zero);
        section.set("keep_data", &mut scratch.keep_data);
        section.set("keep_running", &mut scratch.keep_running);
        scratch.read_scaled(&mut section);
        section.end();
        scratch
    }
}

impl ScratchTarget {
    /// Every option that is to be scaled must be there, and a size or a number.
    fn read_scaled(&mut self, section: &mut Section<'_, '_>) {
        section.set("scaled", &mut self.scaled);
        for name in &self.scaled {
            let problem = match self.options.get(name).map(|value| (value, option_size(value))) {
                Some((_, Some(_))) => continue,
                Some((value, None)) => format!("option `{name}` cannot be scaled: \"{value}\" is not a size"),
                None => format!("`scaled` names `{name}`, which is not among the options"),
            };
            section.mistake(
                "scaled",
                problem,
                "name options that are set to a number or a size such as \"20G\"",
            );
        }
    }
}

/// `auto` or a path.
struct Program(Option<PathBuf>);

impl Read for Program {
    fn read(node: &Node, found: &mut Findings) -> Option<Program> {
        if node.text() == Some("auto") {
            Some(Program(None))
        } else {
            Some(Program(Some(PathBuf::read(node, found)?)))
        }
    }
}

/// `auto` or a size.
#[derive(Clone, Copy)]
struct Memory(Option<Bytes>);

impl Read for Memory {
    fn read(node: &Node, found: &mut Findings) -> Option<Memory> {
        if node.text() == Some("auto") {
            Some(Memory(None))
        } else {
            Some(Memory(Some(Bytes::read(node, found)?)))
        }
    }
}

/// The value of a server's option: a text or a number as it is, true and false as ON and OFF.
struct OptionValue(String);

impl Read for OptionValue {
    fn read(node: &Node, found: &mut Findings) -> Option<OptionValue> {
        match &node.value {
            Value::Scalar(serde_json::Value::Bool(true)) => Some(OptionValue("ON".to_owned())),
            Value::Scalar(serde_json::Value::Bool(false)) => Some(OptionValue("OFF".to_owned())),
            Value::Scalar(serde_json::Value::Number(number)) => Some(OptionValue(number.to_string())),
            _ => String::read(node, found).map(OptionValue),
        }
    }
}

/// The targets by name; `None` where a target is defined and wrong, so that what names it is not wrong too.
pub(super) type Targets = BTreeMap<String, Option<Target>>;

/// Reads every `[target.NAME]`.
pub(super) fn read_targets(tables: &Table, store: &Path, found: &mut Findings) -> Targets {
    let mut targets = Targets::new();
    for (name, node) in tables {
        check_name(node, "target", found);
        targets.insert(name.clone(), read_target(node, tables, store, found));
    }
    targets
}

/// Notes a name that cannot stand in a path, a command or a metric.
pub(super) fn check_name(node: &Node, what: &str, found: &mut Findings) {
    let name = node.path.split_once('.').map_or(node.path.as_str(), |(_, name)| name);
    if !is_name(name) {
        found.mistakes.push(node.key_mistake(
            format!("`{name}` cannot be the name of a {what}"),
            format!("use letters, digits, _ and -, at most {LONGEST_NAME} of them"),
        ));
    }
}

/// Whether a text can name a target, suite or benchmark.
pub(super) fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(letters) && !name.starts_with('-')
}

fn read_target(node: &Node, tables: &Table, store: &Path, found: &mut Findings) -> Option<Target> {
    Section::of(node, found)?;
    let whole = Node { value: Value::Table(with_likeness(node, tables, found)?), ..node.clone() };
    let mut section = Section::of(&whole, found)?;
    let mut kind = None;
    section.set("kind", &mut kind);
    match kind {
        Some(TargetKind::Server) => ServerTarget::read(section).map(Target::Server),
        Some(TargetKind::Scratch) => {
            section.get("like");
            Some(Target::Scratch(ScratchTarget::read(section, store)))
        }
        Some(TargetKind::Directory) => Some(Target::Directory(DirectoryTarget::read(section, store))),
        None if section.get("kind").is_none_or(|kind| kind.text() == Some("")) => {
            section.mistake(
                "kind",
                "the target has no kind",
                "add kind = \"server\" (one that exists), \"scratch\" (one that benchd starts) or \"directory\" (for files)",
            );
            None
        }
        None => None,
    }
}

/// The keys of a target with those it takes from the targets it is like.
fn with_likeness(node: &Node, tables: &Table, found: &mut Findings) -> Option<Table> {
    let mut chain = vec![node];
    let mut keys = node.table()?.clone();
    let kind = keys.get("kind").and_then(Node::text);
    if [TargetKind::Server, TargetKind::Directory].iter().any(|other| kind == Some(other.as_str())) {
        return Some(keys);
    }
    while let Some(like) = chain.last().and_then(|last| likeness(last)) {
        let Some(other) = tables.get(like.text().unwrap_or_default()) else {
            return refuse_like(like, tables, found);
        };
        if chain.iter().any(|seen| seen.path == other.path) {
            let hint = "let one of them be like no other";
            found.mistakes.push(like.mistake(format!("`{}` is like itself in the end", node.name()), hint));
            return None;
        }
        let below = other.table()?;
        let kind = below.get("kind").and_then(Node::text);
        if kind.is_some_and(|kind| kind != TargetKind::Scratch.as_str()) {
            let problem = format!("`{}` is of kind {}", other.name(), kind.unwrap_or_default());
            found.mistakes.push(like.mistake(problem, "a target can be like one of kind scratch only"));
            return None;
        }
        keys = overlay(below, &keys);
        chain.push(other);
    }
    Some(keys)
}

/// The key `like` of a target, when it names one.
fn likeness(node: &Node) -> Option<&Node> {
    node.table()?.get("like").filter(|like| like.text() != Some(""))
}

fn refuse_like(like: &Node, tables: &Table, found: &mut Findings) -> Option<Table> {
    let name = String::read(like, found)?;
    let hint = instead(&name, "defined are", tables.keys().map(String::as_str));
    found.of_several_keys(like.mistake(format!("target `{name}` is not defined"), hint));
    None
}
