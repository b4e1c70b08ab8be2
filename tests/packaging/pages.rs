//! Manual pages and completions: what `--help`, the default configuration, the tables of workloads and guards, and the
//! documentation of the API say, in the form that a host expects. They lie in the tree so that a package needs
//! nothing but them; with `BENCHD_UPDATE` set they are made anew.

use std::fs;
use std::path::Path;

use benchd::cli::Arguments;
use benchd::run::guards;
use benchd::workloads;
use clap::{Arg, Command, CommandFactory};
use clap_complete::{Shell, generate};

use super::roff::{Page, markdown};

/// The command line without what is hidden from people.
fn command() -> Command {
    let whole = Arguments::command();
    let shown = whole.get_subcommands().filter(|command| !command.is_hide_set()).cloned();
    let mut command = Command::new("benchd")
        .about(whole.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args(whole.get_arguments().cloned())
        .subcommands(shown);
    command.build();
    command
}

fn is(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(path);
    if std::env::var_os("BENCHD_UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "{} is not what is generated: BENCHD_UPDATE=1 cargo test --test packaging pages",
        path.display()
    );
}

#[test]
fn the_completions_are_those_of_the_command_line() {
    for (shell, path) in [(Shell::Bash, "benchd.bash"), (Shell::Zsh, "_benchd"), (Shell::Fish, "benchd.fish")]
    {
        let mut text = Vec::new();
        generate(shell, &mut command(), "benchd", &mut text);
        let text = String::from_utf8(text).unwrap();
        let hidden = text.contains("benchd,worker") || text.contains("Internal");
        assert!(text.contains("scratch") && !hidden, "{shell}");
        is(&format!("completions/{path}"), &text);
    }
}

#[test]
fn the_page_of_the_program_is_its_help() {
    let command = command();
    let mut page =
        Page::new("benchd", 8, "System Administration", "benchmarks of a database host on a schedule");
    page.section("Synopsis");
    page.paragraph("`benchd` [OPTIONS] COMMAND [ARGUMENTS]");
    page.section("Description");
    page.paragraph(&command.get_about().unwrap().to_string());
    page.paragraph(
        "Installed and started as the service `benchd.service`, it samples the host and serves metrics at \
         127.0.0.1:10104; it loads nothing until it is told to. Members of the group benchd may start and cancel runs.",
    );
    page.section("Options");
    command.get_arguments().for_each(|argument| option(&mut page, argument));
    page.section("Commands");
    for one in command.get_subcommands() {
        page.subsection(&usage(one));
        let about = one.get_long_about().or(one.get_about()).unwrap().to_string();
        page.paragraph(&about);
        let own = one.get_arguments().filter(|one| !one.is_global_set() && one.get_id() != "help");
        own.for_each(|argument| option(&mut page, argument));
    }
    page.section("Exit status");
    let after = Arguments::command().get_after_help().unwrap().to_string();
    for line in after.lines().skip(1) {
        let (code, meaning) = line.trim().split_once("  ").unwrap();
        page.item(code, meaning);
    }
    page.section("Files");
    for (path, meaning) in [
        ("/etc/benchd/benchd.toml", "the configuration, with every key and its default; see benchd.toml(5)"),
        ("/etc/benchd/conf.d/*.toml", "read after it, sorted by name"),
        ("/var/lib/benchd", "results (benchd.db), data of scratch servers (scratch), files of loads (files)"),
        ("/run/benchd/benchd.sock", "the whole HTTP interface, for root and the group benchd"),
    ] {
        page.item(&format!("`{path}`"), meaning);
    }
    page.section("Signals");
    page.item("`SIGHUP`", "reads the configuration again; one with problems changes nothing");
    page.item(
        "`SIGTERM`, `SIGINT`",
        "ends the active run, cleans up after it, and ends; a second one does not wait",
    );
    page.see_also(&[("benchd.toml", 5), ("benchd-api", 7)]);
    is("man/benchd.8", &page.text());
}

/// `benchd run [OPTIONS] [SUITE]`.
fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim().to_owned();
    if usage.starts_with("benchd ") { usage } else { format!("benchd {usage}") }
}

fn option(page: &mut Page, argument: &Arg) {
    if argument.is_hide_set() {
        return;
    }
    let names = [
        argument.get_short().map(|short| format!("`-{short}`")),
        argument.get_long().map(|long| format!("`--{long}`")),
    ];
    let names: Vec<String> = names.into_iter().flatten().collect();
    let values: Vec<String> =
        argument.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let takes = argument.get_action().takes_values();
    let tag = match (names.is_empty(), takes) {
        (true, _) => format!("`{}`", values.join(" ")),
        (false, true) => format!("{} {}", names.join(", "), values.join(" ")),
        (false, false) => names.join(", "),
    };
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let possible: Vec<String> =
        argument.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    let possible =
        if possible.is_empty() || !takes { String::new() } else { format!(": {}", possible.join(", ")) };
    page.item(&tag, &format!("{}{possible}", help.replace('\n', " ")));
}

#[test]
fn the_page_of_the_configuration_is_the_default_file_and_the_tables() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/benchd.toml")).unwrap();
    let mut page = Page::new("benchd.toml", 5, "File Formats", "the configuration of benchd");
    page.section("Description");
    page.paragraph(
        "TOML in `/etc/benchd/benchd.toml` and `/etc/benchd/conf.d/*.toml`. No file is needed: every key has a default, \
         shown here. `benchd check` lists every problem of a configuration at once.",
    );
    let (head, body) = text.split_once("\n\n").unwrap();
    for line in head.lines().skip(2).map(|line| line.trim_start_matches("# ")) {
        match line.strip_prefix("  ") {
            Some(remark) => page.paragraph(remark.trim()),
            None => page.subsection(line),
        }
    }
    for block in body.split("\n\n") {
        configuration_block(&mut page, block);
    }
    page.section("Keys of workloads");
    page.paragraph(
        "Each may be a list, which makes a case of each value. Every workload has those under its name.",
    );
    for kind in workloads::ALL {
        page.subsection(kind.name);
        page.paragraph(&format!("{}; an operation is one {}.", kind.about, kind.operation));
        let defaults = (kind.defaults)();
        for key in kind.keys.iter().copied().flatten() {
            let value = defaults.get(key.name).map(|value| format!(" = {value}")).unwrap_or_default();
            page.item(&format!("`{}`{value}", key.name), key.meaning);
        }
    }
    page.section("Guards");
    page.paragraph("Checked before a run. One that does not hold refuses it. Each holds when:");
    guards::ALL.iter().for_each(|guard| page.item(&format!("`{}`", guard.name), guard.about));
    page.see_also(&[("benchd", 8), ("benchd-api", 7)]);
    is("man/benchd.toml.5", &page.text());
}

/// A part of the default file: a heading, a remark, or a table with its keys.
fn configuration_block(page: &mut Page, block: &str) {
    let as_it_is = block.contains("#[[");
    for line in block.lines() {
        let Some(line) = line.strip_prefix('#') else { continue };
        if let Some(title) = line.strip_prefix(" --") {
            page.section(title.trim_start_matches('-').trim());
        } else if let Some(remark) = line.strip_prefix(' ') {
            page.paragraph(remark);
        } else if !as_it_is {
            setting(page, line.strip_prefix("| ").unwrap_or(line));
        }
    }
    if as_it_is {
        page.verbatim(
            block.lines().filter_map(|line| line.strip_prefix('#')).filter(|line| !line.starts_with(' ')),
        );
    }
}

fn setting(page: &mut Page, line: &str) {
    let (setting, comment) = line.split_once(" # ").unwrap_or((line, ""));
    let (setting, comment) = (setting.trim(), comment.trim());
    if setting.starts_with('[') {
        page.subsection(setting);
        if !comment.is_empty() {
            page.paragraph(comment);
        }
    } else {
        let (key, value) = setting.split_once(" = ").unwrap();
        page.item(&format!("`{key}` = {value}"), comment);
    }
}

#[test]
fn every_key_of_the_default_configuration_says_what_it_is() {
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/benchd.toml")).unwrap();
    let mut explained: Vec<&str> = Vec::new();
    for block in text.split("\n\n").filter(|block| !block.contains("#[[")) {
        for line in block.lines().filter_map(|line| line.strip_prefix('#')) {
            let line = line.strip_prefix("| ").unwrap_or(line);
            let Some((key, rest)) = line.split_once(" = ").filter(|(key, _)| !key.contains(' ')) else {
                continue;
            };
            let known = explained.contains(&key);
            assert!(rest.contains(" # ") || known, "{key} is not explained: {line}");
            explained.push(key);
        }
    }
    assert!(explained.len() > 60, "the file was read: {explained:?}");
}

#[test]
fn the_page_of_the_interface_is_its_documentation() {
    let mut page = Page::new("benchd-api", 7, "Miscellaneous", "the HTTP interface of benchd");
    markdown(&mut page, &benchd::http::document());
    page.see_also(&[("benchd", 8), ("benchd.toml", 5)]);
    is("man/benchd-api.7", &page.text());
}
