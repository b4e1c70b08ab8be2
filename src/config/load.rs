//! Reads the files, joins them, and makes a [`Config`] of them or says everything that is wrong.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::Config;
use super::catalogue::Catalogue;
use super::limits::{default_profiles, read_profiles};
use super::problem::{Problem, without_password};
use super::read::Section;
use super::sections::{Sample, Server, Store};
use super::source::{Files, Findings, Source, Sources, whole_file};
use super::suite::{Context, read_suites};
use super::target::{Targets, read_targets};
use super::tree::{Node, Table, merge, overlay, parse};

/// The main file; the only one that may be missing.
pub const MAIN_FILE: &str = "/etc/benchd/benchd.toml";
/// Targets and suites that exist without any file.
const BUILT_IN: &str = include_str!("built_in.toml");

/// A configuration, and what it was read from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// The files that were read, in the order in which they were.
    pub files: Vec<PathBuf>,
    /// What is worth knowing and no problem.
    pub notes: Vec<Problem>,
    /// Where each key stands.
    pub sources: Sources,
}

/// Reads the main file, then `*.toml` of the folder by name. A missing main file is an empty one when it is
/// [`MAIN_FILE`]; a missing folder is an empty one. `cpus` is the number of CPUs of the host, of which
/// `threads = "50%"` takes a share.
///
/// # Errors
/// Every problem of all files at once.
pub fn load(
    main: &Path,
    conf_d: Option<&Path>,
    catalogue: &dyn Catalogue,
    cpus: u32,
) -> Result<Loaded, Vec<Problem>> {
    let mut problems = Vec::new();
    let mut files = Vec::new();
    let mut sources = vec![built_in_source()];
    for path in paths(main, conf_d, &mut problems) {
        if let Some(source) = read(&path, &mut problems) {
            sources.push(source);
            files.push(path);
        }
    }
    let found = Findings { incomplete: !problems.is_empty(), ..Findings::default() };
    match resolve(Files(sources), main, catalogue, cpus, found) {
        Ok(loaded) if problems.is_empty() => Ok(Loaded { files, ..loaded }),
        Ok(_) => Err(problems),
        Err(more) => {
            problems.extend(more);
            Err(problems)
        }
    }
}

/// The configuration without any file.
///
/// # Errors
/// Every built-in suite that the catalogue's workloads cannot run.
pub fn built_in(catalogue: &dyn Catalogue, cpus: u32) -> Result<Loaded, Vec<Problem>> {
    resolve(Files(vec![built_in_source()]), Path::new(MAIN_FILE), catalogue, cpus, Findings::default())
}

fn built_in_source() -> Source {
    Source { path: "built_in.toml".to_owned(), text: BUILT_IN.to_owned(), shown: without_password }
}

/// The files in the order in which they are read.
fn paths(main: &Path, conf_d: Option<&Path>, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
    let mut paths = vec![main.to_owned()];
    let Some(folder) = conf_d else { return paths };
    match names(folder) {
        Ok(names) => paths.extend(names.iter().map(|name| folder.join(name))),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => problems.push(unreadable(folder, &error)),
    }
    paths
}

/// The names of the folder's files, sorted; those that begin with a dot are an editor's.
fn names(folder: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let is_toml = Path::new(&name).extension().is_some_and(|extension| extension == "toml");
        if is_toml && !name.as_encoded_bytes().starts_with(b".") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The text of a file; nothing when it cannot be read, or may be missing and is.
fn read(path: &Path, problems: &mut Vec<Problem>) -> Option<Source> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound && path == Path::new(MAIN_FILE) => return None,
        Err(error) => {
            problems.push(unreadable(path, &error));
            return None;
        }
    };
    let file = path.display().to_string();
    match String::from_utf8(bytes) {
        Ok(text) => Some(Source { path: file, text, shown: without_password }),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
            let problem = format!("line {line} is not UTF-8 text");
            problems.push(whole_file(file, String::new(), problem, "save it as UTF-8".to_owned()));
            None
        }
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let hint = match error.kind() {
        ErrorKind::NotFound => "create it, or name another one with --config",
        ErrorKind::PermissionDenied => "let the user that benchd runs as read it",
        _ => "see that it is a file that can be read",
    };
    whole_file(path.display().to_string(), String::new(), format!("cannot be read: {error}"), hint.to_owned())
}

/// The texts, of which the first is built in, as a configuration.
fn resolve(
    files: Files,
    main: &Path,
    catalogue: &dyn Catalogue,
    cpus: u32,
    mut found: Findings,
) -> Result<Loaded, Vec<Problem>> {
    let root = join(&files, &mut found);
    let (mut config, targets) = sections(&root, &mut found);
    let context = Context { catalogue, cpus, targets: &targets, profiles: &config.profiles };
    config.suites = read_suites(&names_of(&root, "suite"), context, &mut found);
    if !found.mistakes.is_empty() {
        return Err(files.problems(found.mistakes));
    }
    config.targets = targets.into_iter().filter_map(|(name, target)| Some((name, target?))).collect();
    let notes = files.problems(found.notes);
    let mut places = BTreeMap::new();
    root.places(&mut places);
    let sources = Sources { files, places, main: main.to_owned() };
    Ok(Loaded { config, files: Vec::new(), notes, sources })
}

/// All files over what is built in; a file that is not TOML is left out.
fn join(files: &Files, found: &mut Findings) -> Node {
    let built_in = parse(files, 0, found).unwrap_or_default();
    let tables: Vec<Table> = (1..files.0.len()).filter_map(|index| parse(files, index, found)).collect();
    let mut written = Table::new();
    for table in tables {
        merge(&mut written, table, files, found);
    }
    Node::root(overlay(&built_in, &written))
}

/// Everything but the suites, which need the targets first.
fn sections(root: &Node, found: &mut Findings) -> (Config, Targets) {
    let mut config = Config {
        server: Server::default(),
        store: Store::default(),
        sample: Sample::default(),
        profiles: default_profiles(),
        targets: BTreeMap::new(),
        suites: BTreeMap::new(),
    };
    if let Some(mut section) = Section::of(root, found) {
        if let Some(node) = section.get("server") {
            config.server = Server::read(node, section.found);
        }
        if let Some(node) = section.get("store") {
            config.store = Store::read(node, section.found);
        }
        if let Some(node) = section.get("sample") {
            config.sample = Sample::read(node, section.found);
        }
        if let Some(node) = section.get("profile") {
            config.profiles = read_profiles(node, section.found);
        }
        for tables in ["target", "suite"] {
            if let Some(node) = section.get(tables) {
                Section::of(node, section.found);
            }
        }
        section.end();
    }
    let targets = read_targets(&names_of(root, "target"), &config.store.path, found);
    (config, targets)
}

/// The tables `[what.NAME]`.
fn names_of(root: &Node, what: &str) -> Table {
    root.table().and_then(|table| table.get(what)).and_then(Node::table).cloned().unwrap_or_default()
}
