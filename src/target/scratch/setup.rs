//! The commands a scratch server is made and started by, and what their options may be.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};

use super::home::{DataKind, Home};
use super::log;
use super::process::{self, Waited, ended_with, wait_for_end};
use super::program::{Flavour, Program};
use super::{Asker, ScratchOptions};
use crate::system;

/// What benchd decides, because ownership and safety rest on it.
const DECIDED: &[&str] = &[
    "datadir",
    "tmpdir",
    "socket",
    "pid_file",
    "log_error",
    "user",
    "port",
    "bind_address",
    "skip_networking",
    "bootstrap",
    "initialize",
    "initialize_insecure",
    "defaults_file",
    "defaults_extra_file",
    "no_defaults",
    "daemonize",
    "chroot",
    "skip_grant_tables",
];
/// Options that only count when a data directory is made; other values need another one.
const SHAPING: &[&str] = &[
    "innodb_data_file_path",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_page_size",
    "innodb_undo_directory",
    "lower_case_table_names",
];
/// Options without which a server that is not installed does not find its own files.
const LOCATING: &[&str] = &["basedir", "character_sets_dir", "lc_messages_dir", "plugin_dir"];

/// Refuses options that are not names of server options, or that benchd decides itself.
pub(crate) fn check_options(options: &BTreeMap<String, String>) -> anyhow::Result<()> {
    for name in options.keys() {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        ensure!(
            name.starts_with(|first: char| first.is_ascii_alphabetic()) && name.bytes().all(fits),
            "`{name}` is not the name of a server option"
        );
        let variable = variable_name(name);
        ensure!(
            !DECIDED.contains(&variable.as_str()),
            "option `{name}` of a scratch server is decided by benchd; leave it out"
        );
    }
    Ok(())
}

/// The variable an option sets: `loose-innodb-page-size` sets `innodb_page_size`.
pub(crate) fn variable_name(option: &str) -> String {
    let name = option.to_ascii_lowercase().replace('-', "_");
    name.strip_prefix("loose_").map(str::to_owned).unwrap_or(name)
}

/// Whether an option may be unknown to the server.
pub(crate) fn is_loose(option: &str) -> bool {
    option.to_ascii_lowercase().replace('-', "_").starts_with("loose_")
}

/// Makes sure there is a data directory that fits the server and its options.
pub(crate) fn prepare_data(
    home: &mut Home,
    program: &Program,
    options: &ScratchOptions,
    asker: &mut Asker<'_>,
) -> anyhow::Result<()> {
    let wanted = DataKind {
        flavour: program.flavour,
        version: program.version.clone(),
        options: options
            .options
            .iter()
            .map(|(name, value)| (variable_name(name), value.clone()))
            .filter(|(name, _)| SHAPING.contains(&name.as_str()))
            .collect(),
    };
    match home.data_kind() {
        Some(found) if *found == wanted => return Ok(()),
        Some(found) => {
            let why = if (found.flavour, &found.version) == (wanted.flavour, &wanted.version) {
                format!("with other values of {}", SHAPING.join(", "))
            } else {
                format!("by {:?} {}", found.flavour, found.version)
            };
            (asker.note)(format!(
                "the data kept for target {} was made {why}: it is made anew",
                home.target()
            ));
        }
        None => {}
    }
    home.renew_data()?;
    initialise(home, program, options, asker)?;
    home.data_is_complete(wanted)
}

fn initialise(
    home: &Home,
    program: &Program,
    options: &ScratchOptions,
    asker: &mut Asker<'_>,
) -> anyhow::Result<()> {
    let mut command = initialise_command(home, program, options)?;
    let name = command.get_program().display().to_string();
    let mut child = (asker.start)(&mut command).with_context(|| format!("{name} cannot be started"))?;
    let limit = options.start_timeout;
    let what = match wait_for_end(&mut child, limit, asker.stop) {
        Waited::Done(status) if status.success() => return Ok(()),
        Waited::Done(status) => format!("ended with {}", ended_with(status)),
        Waited::Late => format!("did not end within {limit}, the start_timeout"),
        Waited::Stopped => "was stopped".to_owned(),
    };
    process::end(&mut child, limit);
    bail!("no data directory for target {}: {name} {what}. {}", home.target(), what_the_log_says(&home.log()))
}

fn initialise_command(home: &Home, program: &Program, options: &ScratchOptions) -> anyhow::Result<Command> {
    let mut command = match program.flavour {
        Flavour::MySQL => {
            let mut command = Command::new(&program.path);
            command.arg("--no-defaults");
            command
        }
        Flavour::MariaDB => {
            let (installer, prefix) = program.installer()?;
            let mut command = Command::new(installer);
            command.arg("--no-defaults");
            command.args(prefix.map(|prefix| format!("--basedir={}", prefix.display())));
            command
        }
    };
    let given = options.options.iter().filter(|(name, _)| {
        let variable = variable_name(name);
        SHAPING.contains(&variable.as_str()) || LOCATING.contains(&variable.as_str())
    });
    add_options(&mut command, given);
    match program.flavour {
        Flavour::MySQL => command.args(["--initialize-insecure", "--secure-file-priv=NULL"]),
        // Forced: without it a host that cannot look up its own name gets none, and nobody here asks for names.
        Flavour::MariaDB => {
            command.args(["--auth-root-authentication-method=normal", "--skip-test-db", "--force"])
        }
    };
    run_inside(&mut command, home)?;
    Ok(command)
}

/// The command that starts the server. What benchd decides comes last, because a later option wins.
pub(crate) fn server_command(
    home: &Home,
    program: &Program,
    options: &ScratchOptions,
) -> anyhow::Result<Command> {
    let mut command = Command::new(&program.path);
    command.arg("--no-defaults");
    if program.flavour == Flavour::MySQL {
        command.args(["--secure-file-priv=NULL", "--loose-mysqlx=OFF"]);
    }
    add_options(&mut command, options.options.iter());
    command.arg("--skip-networking");
    command.arg(format!("--socket={}", home.socket().display()));
    command.arg(format!("--pid-file={}", home.pid_file().display()));
    run_inside(&mut command, home)?;
    if let Some(library) = &options.preload {
        command.env("LD_PRELOAD", library);
    }
    Ok(command)
}

fn add_options<'a>(command: &mut Command, options: impl Iterator<Item = (&'a String, &'a String)>) {
    for (name, value) in options {
        command.arg(format!("--{name}={value}"));
    }
}

/// Keeps a command inside the home: its data, its temporary files, its words, its rights. A group of its own
/// keeps a terminal's interrupt from it: benchd ends it when the time has come.
fn run_inside(command: &mut Command, home: &Home) -> anyhow::Result<()> {
    command.arg(format!("--datadir={}", home.data().display()));
    command.arg(format!("--tmpdir={}", home.tmp().display()));
    command
        .env(process::MARK, home.path())
        .env("TMPDIR", home.tmp())
        .current_dir(home.path())
        .process_group(0);
    let log = home.log();
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(&log)
        .with_context(|| format!("log {} cannot be written", log.display()))?;
    let also = file.try_clone().with_context(|| format!("log {} cannot be written", log.display()))?;
    command.stdin(Stdio::null()).stdout(file).stderr(also);
    if let Some(account) = home.account() {
        account.run(command);
    }
    system::end_with_this_thread(command);
    Ok(())
}

/// One or two sentences: the last errors of a log, what to do, and where all of it stands.
pub(crate) fn what_the_log_says(path: &Path) -> String {
    let lines = log::last_errors(&log::tail(path));
    if lines.is_empty() {
        return "Its log is empty".to_owned();
    }
    let confined = Path::new("/etc/apparmor.d/usr.sbin.mysqld").exists();
    let quoted: Vec<String> = lines.iter().map(|line| format!("\"{line}\"")).collect();
    let advice = match log::advice(&lines.join("\n"), confined) {
        "" => String::new(),
        advice => format!("{advice}. "),
    };
    format!("Its log says: {}. {advice}All of it: {}", quoted.join(", "), path.display())
}

/// The file behind a preloaded library in the text of `/proc/PID/maps`. Its name there may have a longer version:
/// `libtcmalloc_minimal.so.4` is a link to `libtcmalloc_minimal.so.4.5.9`.
pub(crate) fn mapped_library<'a>(maps: &'a str, library: &str) -> Option<&'a str> {
    let wanted = Path::new(library).file_name()?.to_str()?;
    let stem = wanted.split_once(".so").map_or(wanted, |(stem, _)| stem);
    maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..])).find(|path| {
        let name = path.rsplit('/').next().unwrap_or_default();
        name.strip_prefix(stem).is_some_and(|rest| rest.starts_with(".so"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(names: &[&str]) -> BTreeMap<String, String> {
        names.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect()
    }

    #[test]
    fn options_that_ownership_rests_on_are_refused_however_they_are_written() {
        for name in ["datadir", "DataDir", "loose-datadir", "pid-file", "loose_skip_networking"] {
            let error = check_options(&options(&[name])).unwrap_err().to_string();
            assert!(error.contains("is decided by benchd"), "{error}");
        }
        for name in ["", "a b", "-x", "x=1", "é"] {
            assert!(check_options(&options(&[name])).unwrap_err().to_string().contains("is not the name"));
        }
        check_options(&options(&["innodb_buffer_pool_size", "loose-innodb-redo-log-capacity"])).unwrap();
    }

    #[test]
    fn an_options_variable_has_no_loose_and_no_dashes() {
        assert_eq!(variable_name("loose-Innodb-Page_Size"), "innodb_page_size");
        assert!(is_loose("loose-x") && is_loose("LOOSE_x") && !is_loose("x_loose_y"));
    }

    #[test]
    fn a_preloaded_library_is_found_under_its_longer_name() {
        let maps = "7f00-7f01 r-xp 00000000 08:01 77   /usr/lib/libtcmalloc_minimal.so.4.5.9\n\
                    7f02-7f03 r-xp 00000000 08:01 78   /usr/lib/libc.so.6\n7f04-7f05 rw-p 0 00:00 0 [heap]\n";
        let found = Some("/usr/lib/libtcmalloc_minimal.so.4.5.9");
        assert_eq!(mapped_library(maps, "libtcmalloc_minimal.so.4"), found);
        assert_eq!(mapped_library(maps, "/opt/x/libtcmalloc_minimal.so"), found);
        assert_eq!(mapped_library(maps, "libtcmalloc.so.4"), None);
    }
}
