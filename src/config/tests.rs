//! The configuration as a whole: files in, a configuration or every problem out.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::json;

use super::fake_catalogue::FakeCatalogue;
use super::*;
use crate::record::{Profile, TlsMode};
use crate::units::Span;

const SHIPPED: &str = include_str!("../../packaging/benchd.toml");
/// Texts and what is shown of their problems: text, `----`, problems, `====`.
const REFUSED: &str = include_str!("refused.txt");
const CPUS: u32 = 4;

/// Loads texts as files of a folder of their own: the first is the main file, the others `1.toml`, `2.toml`, ….
fn load_texts(texts: &[&str]) -> Result<Loaded, Vec<Problem>> {
    let folder = tempfile::tempdir().unwrap();
    let conf_d = folder.path().join("conf.d");
    std::fs::create_dir(&conf_d).unwrap();
    let main = folder.path().join("benchd.toml");
    std::fs::write(&main, texts.first().unwrap_or(&"")).unwrap();
    for (index, text) in texts.iter().enumerate().skip(1) {
        std::fs::write(conf_d.join(format!("{index}.toml")), text).unwrap();
    }
    load(&main, Some(&conf_d), &FakeCatalogue, CPUS)
}

fn config(text: &str) -> Config {
    load_texts(&[text]).map(|loaded| loaded.config).unwrap_or_else(|problems| panic!("{}", shown(&problems)))
}

fn shown(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What is shown of the problems of a text that has some.
fn problems(text: &str) -> String {
    shown(&load_texts(&[text]).expect_err("the configuration has problems"))
}

/// Asserts that a text has exactly one problem, whose first line and marked line read so.
#[track_caller]
fn assert_problem(text: &str, first: &str, marked: &str) {
    let shown = problems(text);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines.len(), 3, "{shown}");
    assert_eq!(lines[0], format!("benchd.toml:{first}"), "{shown}");
    assert_eq!(lines[2].trim_start_matches([' ', '|']), marked, "{shown}");
}

/// A suite `s` of one benchmark with these lines, starting at line 3.
fn benchmark(lines: &str) -> String {
    format!("[suite.s]\n[[suite.s.benchmark]]\n{lines}")
}

fn case_names(config: &Config, suite: &str) -> Vec<String> {
    config.suites[suite].cases.iter().map(|case| case.name.clone()).collect()
}

/// The shipped file's lines, uncommented where they begin with one of the prefixes.
fn uncommented(prefixes: &[&str]) -> String {
    let line = |line: &'static str| {
        let key = |c: char| c.is_ascii_lowercase() || c == '[';
        let strip = |prefix: &&str| line.strip_prefix(*prefix).filter(|rest| rest.starts_with(key));
        prefixes.iter().find_map(strip).unwrap_or(line)
    };
    SHIPPED.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn without_a_file_there_is_what_is_built_in() {
    let built_in = built_in(&FakeCatalogue, CPUS).unwrap().config;
    assert_eq!(built_in, config(""));
    assert_eq!(case_names(&built_in, "quick"), ["cpu", "fileio", "oltp_point_select", "oltp_read_write"]);
    assert_eq!(case_names(&built_in, "host"), ["cpu", "memory", "wal", "random"]);
    assert!(built_in.suites.values().all(|suite| suite.schedule.is_none()));
    assert_eq!(built_in.targets.keys().collect::<Vec<_>>(), ["files", "scratch"]);
}

#[test]
fn the_shipped_file_changes_nothing() {
    assert_eq!(config(SHIPPED), config(""));
}

#[test]
fn the_shipped_file_names_the_defaults() {
    assert_eq!(config(&uncommented(&["#"])), config(""));
}

#[test]
fn the_examples_of_the_shipped_file_are_valid_and_name_the_defaults() {
    let config = config(&uncommented(&["#| "]));
    let socket = PathBuf::from("/var/lib/mysql/mysql.sock");
    assert_eq!(config.targets["main"], Target::Server(ServerTarget::new(Endpoint::Socket { socket })));
    let example = &config.suites["example"];
    assert_eq!(Suite { name: String::new(), cases: Vec::new(), ..example.clone() }, Suite::default());
    assert_eq!(example.cases.len(), 3);
}

#[test]
fn the_shipped_file_has_every_key() {
    let text = uncommented(&["#", "#| "]);
    let written: toml::Table = text.parse().unwrap();
    for table in [
        "server",
        "store",
        "sample",
        "profile.canary",
        "target.main",
        "target.scratch",
        "target.files",
        "suite.example",
    ] {
        let kind = match table {
            "target.main" => "kind = \"server\"\nsocket = \"/s\"\n",
            "target.scratch" => "kind = \"scratch\"\n",
            "target.files" => "kind = \"directory\"\n",
            "suite.example" => "benchmark = [{ workload = \"cpu\" }]\n",
            _ => "",
        };
        // A key that is like no other is answered with those that are known.
        let problem = &load_texts(&[&format!("[{table}]\n{kind}xxxxxxxxxxxx = 1")]).unwrap_err()[0];
        let known = problem.hint.strip_prefix("keys here are: ").unwrap_or_else(|| panic!("{problem}"));
        let path: Vec<&str> = table.split('.').collect();
        let keys = path.iter().fold(&written, |table, name| table[*name].as_table().unwrap());
        let missing: Vec<&str> = known.split(", ").filter(|key| !keys.contains_key(*key)).collect();
        assert!(missing.is_empty(), "[{table}] lacks {missing:?}");
    }
}

#[test]
fn a_defaults_file_may_say_what_a_server_target_does_not() {
    let server = |keys: &str| {
        let text = format!("[target.m]\nkind = \"server\"\n{keys}");
        match config(&text).targets.remove("m") {
            Some(Target::Server(server)) => server,
            other => panic!("{other:?}"),
        }
    };
    let silent = server("defaults_file = \"/my.cnf\"");
    assert_eq!((&silent.endpoint, &silent.user, silent.tls), (&None, &None, None));
    let own = server("defaults_file = \"/my.cnf\"\nhost = \"h\"\nuser = \"u\"\ntls = \"verify_identity\"");
    assert_eq!((own.user.as_deref(), own.tls), (Some("u"), Some(TlsMode::VerifyIdentity)));
    assert_eq!(own.endpoint, Some(Endpoint::Tcp { host: "h".to_owned(), port: 3306 }));
    let without = server("host = \"h\"");
    assert_eq!((without.user.as_deref(), without.tls), (Some("benchd"), Some(TlsMode::Preferred)));
}

#[test]
fn tls_that_a_socket_does_not_have_is_noted() {
    let notes = |tls: &str| {
        let text = format!("[target.m]\nkind = \"server\"\nsocket = \"/s\"\ntls = \"{tls}\"");
        load_texts(&[&text]).unwrap().notes
    };
    assert!(notes("preferred").is_empty() && notes("disabled").is_empty());
    assert_eq!(notes("required")[0].problem, "over a socket nothing is encrypted");
    assert_eq!(notes("required")[0].key, "target.m.tls");
}

#[test]
fn every_mistake_is_found_in_one_go() {
    let night = r#"[suite.night]
shedule = "0 3 * * *"
window = "06:00-07:00"
profile = "maintenance"

[[suite.night.benchmark]]
workload = "oltp_read_write"
time = 300
target = ["scratch", "sata"]
warm_up = "30s"

[[suite.night.benchmark]]
name = "live"
workload = "oltp_read_write"
target = "main"
tables = -1
engine = 5
thread = 4
"#;
    let main = "[target.main]\nkind = \"server\"\nsocket = \"/s\"\n[store]\nkeep_series = 7\n";
    let problems = load_texts(&[main, night]).unwrap_err();
    let places: Vec<(usize, usize, &str)> =
        problems.iter().map(|problem| (problem.line, problem.column, problem.problem.as_str())).collect();
    assert_eq!(
        places,
        [
            (5, 15, "a duration needs a unit"),
            (2, 1, "unknown key `shedule` in [suite.night]"),
            (8, 8, "time cannot be 300"),
            (9, 22, "target `sata` is not defined"),
            (16, 10, "tables cannot be -1"),
            (17, 10, "engine cannot be 5"),
            (18, 1, "unknown key `thread` of workload oltp_read_write"),
        ]
    );
    assert_eq!(problems[1].to_string().lines().nth(2), Some("     | ^^^^^^^ did you mean `schedule`?"));
    assert!(problems[1].file.ends_with("conf.d/1.toml"));
}

#[test]
fn lists_make_a_matrix_named_in_the_order_of_the_file() {
    let text = benchmark(
        "name = \"m\"\nworkload = \"oltp_read_write\"\ntarget = \"scratch\"\nengine = [\"innodb\", \"myisam\"]\n\
         threads = [1, \"50%\", 16]\ntables = 8\n",
    );
    let config = config(&text);
    assert_eq!(
        case_names(&config, "s"),
        [
            "m/engine=innodb/threads=1",
            "m/engine=innodb/threads=2",
            "m/engine=innodb/threads=16",
            "m/engine=myisam/threads=1",
            "m/engine=myisam/threads=2",
            "m/engine=myisam/threads=16",
        ]
    );
    let case = &config.suites["s"].cases[4];
    let parameters = json!({"threads": 2, "time": "60s", "warm_up": "10s", "rate": 0, "tables": 8,
        "engine": "myisam", "skip_trx": false, "create_options": ""});
    assert_eq!(serde_json::Value::from(case.parameters.clone()), parameters);
    assert_eq!(case.target.as_deref(), Some("scratch"));
    let varied =
        [("engine", "myisam"), ("threads", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(case.varied, varied);
}

#[test]
fn a_list_is_one_value_of_a_key_that_holds_lists_and_a_list_of_lists_makes_cases() {
    let flags = |written: &str| {
        let text = format!("workload = \"fileio\"\ntarget = \"files\"\nflags = {written}\n");
        let suite = config(&benchmark(&text)).suites["s"].clone();
        let values = suite.cases.iter().map(|case| (case.name.clone(), case.parameters["flags"].clone()));
        values.collect::<Vec<_>>()
    };
    let one = |value| vec![("fileio".to_owned(), value)];
    assert_eq!(flags("[]"), one(json!([])));
    assert_eq!(flags("[\"direct\", \"sync\"]"), one(json!(["direct", "sync"])));
    assert_eq!(flags("\"direct\""), one(json!("direct")));
    let named = |name: &str, value| (name.to_owned(), value);
    assert_eq!(
        flags("[[], [\"direct\", \"sync\"]]"),
        [named("fileio/flags=none", json!([])), named("fileio/flags=direct+sync", json!(["direct", "sync"]))]
    );
}

#[test]
fn targets_may_vary_and_default_to_the_suites() {
    let text = "[target.b]\nlike = \"scratch\"\n[suite.s]\ntarget = \"b\"\n[[suite.s.benchmark]]\n\
        workload = \"oltp_read_write\"\n[[suite.s.benchmark]]\nname = \"both\"\nworkload = \"oltp_read_write\"\n\
        target = [\"scratch\", \"b\"]\n[[suite.s.benchmark]]\nworkload = \"cpu\"\n";
    let config = config(text);
    assert_eq!(case_names(&config, "s"), ["oltp_read_write", "both/target=scratch", "both/target=b", "cpu"]);
    let targets: Vec<_> = config.suites["s"].cases.iter().map(|case| case.target.as_deref()).collect();
    assert_eq!(targets, [Some("b"), Some("scratch"), Some("b"), None]);
}

#[test]
fn built_in_suites_are_changed_key_by_key_and_benchmarks_as_a_whole() {
    let text = "[suite.quick]\nschedule = \"0 3 * * *\"\n[suite.host]\nenabled = false\n\
        [[suite.quick.benchmark]]\nworkload = \"cpu\"\n";
    let config = config(text);
    let quick = &config.suites["quick"];
    assert_eq!(quick.schedule, Some(Schedule::Cron("0 3 * * *".to_owned())));
    assert_eq!((quick.profile, case_names(&config, "quick")), (Profile::Lab, vec!["cpu".to_owned()]));
    assert!(!config.suites.contains_key("host"));
}

#[test]
fn a_suite_can_have_its_benchmarks_from_a_preset() {
    let config = config("[suite.s]\npreset = \"quick\"\nrounds = 2\n[suite.t]\npreset = \"host-full\"\n");
    assert_eq!(config.suites["s"].cases, config.suites["quick"].cases);
    assert_eq!(config.suites["s"].rounds, 2);
    assert_eq!(case_names(&config, "t")[..2], ["cpu", "cpu-all"]);
}

#[test]
fn every_preset_is_a_suite_whatever_the_number_of_cpus() {
    let suite = |name| format!("[suite.a-{name}]\nprofile = \"lab\"\npreset = \"{name}\"\n");
    let folder = tempfile::tempdir().unwrap();
    let main = folder.path().join("benchd.toml");
    std::fs::write(&main, presets().map(suite).collect::<String>()).unwrap();
    for cpus in [1, 2, 3, 64] {
        let loaded = load(&main, None, &FakeCatalogue, cpus);
        let config = loaded.unwrap_or_else(|problems| panic!("{cpus} CPUs: {}", shown(&problems))).config;
        assert!(config.suites.values().all(|suite| !suite.cases.is_empty()));
    }
}

#[test]
fn what_does_not_fit_in_a_preset_is_shown_where_it_is_named() {
    let main = "[target.scratch]\nkind = \"server\"\nsocket = \"/s\"\n[suite.quick]\nenabled = false\n";
    assert_problem(
        &format!("[suite.s]\npreset = \"quick\"\n{main}"),
        "2:10: this benchmark would load the live server `scratch` flat out, which profile canary does not allow",
        "^^^^^^^ give it a rate (`rate = 200`), or the suite `profile = \"maintenance\"` and a window",
    );
}

#[test]
fn a_disabled_suite_may_name_what_is_not_there() {
    let text = format!("{}\n[suite.t]\n", benchmark("workload = \"oltp_read_write\"\ntarget = \"later\"\n"))
        .replace("[suite.s]\n", "[suite.s]\nenabled = false\n");
    assert_problem(
        &text,
        "7:1: suite `t` has no benchmark",
        "^^^^^^^^^ add [[suite.t.benchmark]] with a workload, or a `preset`",
    );
}

#[test]
fn a_scratch_server_lies_beside_the_store_and_is_like_another() {
    let config = config(
        "[store]\npath = \"/data/b.db\"\n[target.ssd]\nkind = \"scratch\"\ndirectory = \"/ssd\"\n\
         start_timeout = \"5m\"\n[target.ssd.options]\npool = \"20G\"\nfast = true\n[target.sata]\nlike = \"ssd\"\n\
         directory = \"/sata\"\noptions = { pool = 5 }\n",
    );
    let scratch = |name: &str| match &config.targets[name] {
        Target::Scratch(scratch) => scratch.clone(),
        other => panic!("{name} is a {}", other.kind()),
    };
    assert_eq!(scratch("scratch").directory, Path::new("/data/scratch"));
    let sata = scratch("sata");
    assert_eq!((sata.directory.as_path(), sata.start_timeout), (Path::new("/sata"), Span::from_secs(300)));
    let options: Vec<(&str, &str)> = sata.options.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(options, [("fast", "ON"), ("pool", "5")]);
}

#[test]
fn a_listening_address_is_one_or_a_list() {
    let loaded = load_texts(&["[server]\nlisten = [\"127.0.0.1:1\", \":10104\"]\nsocket = \"\"\n"]).unwrap();
    let listen: Vec<String> = loaded.config.server.listen.iter().map(ToString::to_string).collect();
    assert_eq!(
        (listen, loaded.config.server.socket),
        (vec!["127.0.0.1:1".to_owned(), ":10104".to_owned()], None)
    );
}

#[test]
fn a_live_server_is_not_loaded_flat_out_by_a_canary() {
    let target = "[target.main]\nkind = \"server\"\nsocket = \"/s\"\n";
    let text = format!("{}{target}", benchmark("workload = \"oltp_read_write\"\ntarget = \"main\"\n"));
    assert_problem(
        &text,
        "3:1: this benchmark would load the live server `main` flat out, which profile canary does not allow",
        "^^^^^^^^ give it a rate (`rate = 200`), or the suite `profile = \"maintenance\"` and a window",
    );
    config(&text.replace("target = \"main\"\n", "target = \"main\"\nrate = 200\n"));
    config(&text.replace("[suite.s]", "[suite.s]\nprofile = \"lab\""));
    config(&text.replace("[suite.s]", "[suite.s]\nprofile = \"maintenance\"\nwindow = \"01:00-05:00\""));
}

#[test]
fn what_cannot_be_is_refused_at_its_place() {
    let cases: Vec<(&str, &str)> =
        REFUSED.split("\n====\n").filter_map(|case| case.split_once("\n----\n")).collect();
    assert!(cases.len() > 40);
    for (text, expected) in cases {
        assert_eq!(problems(text), expected);
    }
}

#[test]
fn a_matrix_has_at_most_500_cases() {
    let list = |count: usize| format!("{:?}", (1..=count).collect::<Vec<_>>());
    let text = |tables| {
        benchmark(&format!(
            "workload = \"oltp_read_write\"\ntarget = \"scratch\"\nthreads = {}\ntables = {}",
            list(20),
            list(tables)
        ))
    };
    assert_eq!(config(&text(25)).suites["s"].cases.len(), 500);
    assert_problem(
        &text(26),
        "3:1: the lists of benchmark `oltp_read_write` make 520 cases",
        "^^^^^^^^ at most 500: shorten a list, or split the benchmark",
    );
}

#[test]
fn a_target_that_is_wrong_is_still_defined() {
    let text = "[target.m]\nkind = \"server\"\n[[suite.s.benchmark]]\nworkload = \"oltp_read_write\"\ntarget = \"m\"\n";
    assert!(!problems(text).contains("not defined"), "{}", problems(text));
}

#[test]
fn a_password_in_the_file_is_refused_and_not_repeated() {
    let shown = problems("[target.m]\nkind = \"server\"\nhost = \"h\"\npassword = \"hunter2\"\n");
    assert!(
        shown.contains("unknown key `password`") && shown.contains("did you mean `password_file`?"),
        "{shown}"
    );
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn only_the_default_main_file_may_be_missing() {
    let missing = Path::new("/nonexistent/benchd.toml");
    let problems = load(missing, None, &FakeCatalogue, CPUS).unwrap_err();
    let shown = problems[0].to_string();
    assert!(shown.starts_with("benchd.toml: cannot be read: No such file"), "{shown}");
    assert_eq!(problems[0].file, "/nonexistent/benchd.toml");
}

#[test]
fn files_that_cannot_be_read_do_not_hide_the_problems_of_others() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.toml"), b"ok = 1\n\xff").unwrap();
    std::fs::create_dir(folder.path().join("b.toml")).unwrap();
    std::fs::write(folder.path().join("c.toml"), "wrong = 1").unwrap();
    std::fs::write(folder.path().join(".d.toml"), "hidden = 1").unwrap();
    std::fs::write(folder.path().join("e.toml.rpmnew"), "other = 1").unwrap();
    let main = folder.path().join("main");
    std::fs::write(&main, "").unwrap();
    let problems = load(&main, Some(folder.path()), &FakeCatalogue, CPUS).unwrap_err();
    let names: Vec<String> = problems.iter().map(|problem| problem::shown(&problem.file)).collect();
    assert_eq!(names, ["a.toml", "b.toml", "c.toml"]);
    assert!(problems[0].problem.contains("line 2 is not UTF-8"));
}

#[test]
fn what_a_broken_file_may_hold_is_not_missed_in_the_others() {
    let broken = "[target.main\nkind = \"server\"\n";
    let other =
        "[suite.s]\nround = 2\n[[suite.s.benchmark]]\nworkload = \"oltp_read_write\"\ntarget = \"main\"\n";
    let problems = load_texts(&[broken, other, "[suite.t]\nrounds = 0\n"]).unwrap_err();
    let found: Vec<&str> = problems.iter().map(|problem| problem.problem.as_str()).collect();
    assert_eq!(
        found,
        [
            "not TOML: unclosed table",
            "unknown key `round` in [suite.s]",
            "`rounds` is 0, outside of 1 to 1000"
        ]
    );
}

#[test]
fn problems_of_other_parts_are_placed_in_the_files() {
    let loaded = load_texts(&["[suite.host]\nwindow = \"06:00-07:00\"\n"]).unwrap();
    let problem = loaded.sources.problem("suite.host.window", "never meets the schedule", "widen it");
    assert_eq!((problem.line, problem.column, problem.underline), (2, 10, 13));
    assert_eq!(loaded.sources.line("suite.host.window"), Some(2));
}

#[test]
fn a_configuration_serialises_with_its_cases() {
    let json = serde_json::to_value(config("")).unwrap();
    assert_eq!(json["suites"]["quick"]["cases"][2]["parameters"]["threads"], 2);
    assert_eq!(json["targets"]["scratch"]["kind"], "scratch");
    assert_eq!(json["server"]["listen"], json!(["127.0.0.1:10104"]));
    let suite: Suite = serde_json::from_value(json["suites"]["quick"].clone()).unwrap();
    assert_eq!(suite, config("").suites["quick"]);
}

fn keys(keys: &[(&str, &str)]) -> Vec<(String, String)> {
    keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn an_ad_hoc_benchmark_has_the_types_of_the_defaults() {
    let arguments = keys(&[
        ("threads", "1,8"),
        ("target", "scratch"),
        ("time", "5s"),
        ("skip_trx", "true"),
        ("rate", "2.5"),
        ("engine", "7"),
    ]);
    let suite = ad_hoc(&config(""), "oltp_read_write", &arguments, &FakeCatalogue, CPUS).unwrap();
    let names: Vec<&str> = suite.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["oltp_read_write/threads=1", "oltp_read_write/threads=8"]);
    let parameters = json!({"threads": 8, "time": "5s", "warm_up": "10s", "rate": 2.5, "tables": 1,
        "engine": "7", "skip_trx": true, "create_options": ""});
    assert_eq!(serde_json::Value::from(suite.cases[1].parameters.clone()), parameters);
    assert_eq!((suite.name.as_str(), suite.profile), (AD_HOC, Profile::Canary));
    let arguments = keys(&[("target", "files"), ("flags", "direct,sync")]);
    let suite = ad_hoc(&config(""), "fileio", &arguments, &FakeCatalogue, CPUS).unwrap();
    assert_eq!(suite.cases[0].parameters["flags"], json!(["direct", "sync"]));
}

#[test]
fn problems_of_an_ad_hoc_benchmark_name_their_arguments() {
    let arguments = keys(&[("theads", "1"), ("tables", "1,x,2"), ("target", "sata"), ("tables", "3")]);
    let problems = ad_hoc(&config(""), "oltp_read_write", &arguments, &FakeCatalogue, CPUS).unwrap_err();
    assert_eq!(
        shown(&problems),
        "command line:2:1: unknown key `theads` of workload oltp_read_write\n   2 | theads=1\n     | ^^^^^^ did you mean `threads`?\n\
         command line:3:10: tables cannot be \"x\"\n   3 | tables=1,x,2\n     |          ^ write another\n\
         command line:4:8: target `sata` is not defined\n   4 | target=sata\n     |        ^^^^ defined are: files, scratch. Or add [target.sata]\n\
         command line:5:1: `tables` is given twice\n   5 | tables=3\n     | ^^^^^^ write tables=VALUE,VALUE for several"
    );
    let problems = ad_hoc(&config(""), "cpuu", &[], &FakeCatalogue, CPUS).unwrap_err();
    assert_eq!(problems[0].to_string().lines().last(), Some("     |    ^^^^ did you mean `cpu`?"));
}

proptest! {
    #[test]
    fn no_text_panics(text in "[\\[\\]a-z0-9.,={}\"'#\n\r\tä -]{0,80}|.{0,60}") {
        if let Err(problems) = load_texts(&[&text]) {
            prop_assert!(!shown(&problems).is_empty());
        }
    }

    #[test]
    fn no_damage_to_a_valid_file_panics(at in 0..4000_usize, cut in 0..30_usize, put in "[\\[\\]a-z0-9.,={}\"'#\n -]{0,8}") {
        let mut text = uncommented(&["#", "#| "]);
        let start = text.floor_char_boundary(at * text.len() / 4000);
        let end = text.floor_char_boundary((start + cut).min(text.len()));
        text.replace_range(start..end, &put);
        if let Err(problems) = load_texts(&[&text]) {
            for problem in &problems {
                prop_assert!(problem.line <= text.lines().count() + 1, "{problem}");
                prop_assert!(!problem.problem.is_empty() && !problem.hint.is_empty(), "{problem:?}");
            }
        }
    }

    #[test]
    fn no_argument_panics(workload in "(cpu|.{0,9})", arguments in prop::collection::vec(("(threads|tables|.{0,9})", ".{0,12}"), 0..4)) {
        let _ = ad_hoc(&built_in(&FakeCatalogue, CPUS).unwrap().config, &workload, &arguments, &FakeCatalogue, CPUS)
            .map_err(|problems| shown(&problems));
    }
}
