//! Runs whose results are known, set side by side.

use serde_json::{Value, json};

use super::super::tests::result;
use super::*;
use crate::record::{Failure, RunId, SCHEMA, Stage};

/// A case of a run with these parameters and this throughput.
fn record(case: &str, index: u32, parameters: Value, per_second: f64) -> CaseRecord {
    let target = parameters["target"].as_str().map(str::to_owned);
    CaseRecord {
        schema: SCHEMA,
        run: RunId::new(),
        index,
        suite: "s".to_owned(),
        case: case.to_owned(),
        workload: "oltp_read_only".to_owned(),
        revision: 1,
        target,
        parameters: parameters.as_object().unwrap().clone(),
        operation: "transaction".to_owned(),
        start: jiff::Timestamp::UNIX_EPOCH,
        end: jiff::Timestamp::UNIX_EPOCH,
        outcome: Outcome::Finished,
        failure: None,
        stage_seconds: [].into(),
        result: Some(result(&|result| {
            (result.per_second, result.load.model) = (per_second, LoadModel::Closed);
            result.response.p95 = Some(10.0 / per_second);
        })),
        target_facts: [("innodb_flush_log_at_trx_commit", "1"), ("datadir", per_second.to_string().as_str())]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        limits: [].into(),
        notes: Vec::new(),
    }
}

/// Five rounds of two targets at two numbers of threads, in the order in which they run.
fn matrix() -> Vec<CaseRecord> {
    let points = [("ssd", 1, 1_000.0), ("ssd", 16, 9_000.0), ("sata", 1, 500.0), ("sata", 16, 9_018.0)];
    let mut records = Vec::new();
    for round in 0..5_u32 {
        let mut order = points.to_vec();
        if round % 2 == 1 {
            order.reverse();
        }
        for (target, threads, speed) in order {
            let index = u32::try_from(records.len()).unwrap();
            let noise = 1.0 + 0.002 * f64::from((index * 7) % 5) + 0.05 * f64::from(round);
            let parameters = json!({"target": target, "threads": threads, "engine": "innodb", "tables": 1});
            let name = format!("oltp/target={target}/threads={threads}");
            records.push(record(&name, index, parameters, speed * noise));
        }
    }
    records
}

fn cell<'a>(table: &'a Comparison, row: &[&str], column: &[&str]) -> &'a Cell {
    table.cells.iter().find(|cell| cell.row == row && cell.column == column).unwrap()
}

fn question(rows: &[&str], columns: &[&str]) -> Question {
    let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    Question { rows: owned(rows), columns: owned(columns), ..Question::default() }
}

#[test]
fn a_run_with_a_matrix_becomes_a_table_by_itself() {
    let table = of_run(&matrix()).unwrap();
    assert_eq!(
        (table.rows.as_slice(), table.columns.as_slice()),
        (&["target".to_owned()][..], &["threads".to_owned()][..])
    );
    assert_eq!((table.rounds, table.unit.as_str(), table.cells.len()), (5, "transactions/s", 4));
    assert_eq!(cell(&table, &["ssd"], &["1"]).against, None, "the first row is what others are set against");
    let slow = cell(&table, &["sata"], &["1"]).against.as_ref().unwrap();
    assert_eq!((slow.verdict, slow.first.as_deref()), (Verdict::Worse, Some("oltp/target=ssd/threads=1")));
    assert!((slow.ratio.unwrap() - 0.5).abs() < 0.01, "{slow:?}");
    let same = cell(&table, &["sata"], &["16"]).against.as_ref().unwrap();
    assert_eq!(same.verdict, Verdict::Same, "the drift of 20 % over the rounds cancels: {same:?}");
    let json = serde_json::to_string(&table).unwrap();
    assert_eq!(serde_json::from_str::<Comparison>(&json).unwrap(), table, "it comes through JSON");
    assert_eq!(table.differs, [""; 0], "where a server's data lies explains nothing");
}

#[test]
fn a_run_without_a_matrix_is_no_table() {
    let parameters = json!({"threads": 1});
    let records = [record("one", 0, parameters.clone(), 1.0), record("two", 1, parameters, 2.0)];
    assert_eq!(of_run(&records), None);
    assert_eq!(of_run(&[]), None);
    assert!(table(&records[..1], &Question::default()).unwrap_err().contains("fewer than two cases"));
}

#[test]
fn keys_that_do_not_tell_cases_apart_are_refused_with_what_varies() {
    let why = table(&matrix(), &question(&["target"], &[])).unwrap_err();
    assert!(why.contains("oltp/target=ssd/threads=1") && why.contains("would be in one cell"), "{why}");
    let why = table(&matrix(), &question(&["colour"], &[])).unwrap_err();
    assert_eq!(why, "no case has a key `colour`; in this run vary: target, threads");
}

#[test]
fn less_is_better_of_response_times() {
    let question = Question { measure: Some(Measure::P95), ..question(&["target"], &["threads"]) };
    let table = table(&matrix(), &question).unwrap();
    let slow = cell(&table, &["sata"], &["1"]);
    assert_eq!((slow.against.as_ref().unwrap().verdict, table.unit.as_str()), (Verdict::Worse, "seconds"));
    assert!(slow.value.unwrap() > cell(&table, &["ssd"], &["1"]).value.unwrap());
}

type Change<'a> = &'a dyn Fn(&mut CaseRecord);

/// The reasons why the second target's first cell is not comparable, after a change of its records.
fn reasons(change: Change<'_>) -> (Verdict, Vec<String>) {
    let mut records = matrix();
    records.iter_mut().filter(|record| record.target.as_deref() == Some("sata")).for_each(change);
    let judged = |anyway| {
        let question = Question { anyway, ..question(&["target"], &["threads"]) };
        cell(&table(&records, &question).unwrap(), &["sata"], &["1"]).against.clone().unwrap()
    };
    let (against, anyway) = (judged(false), judged(true));
    assert_eq!(against.ratio.is_some(), against.not_comparable.is_empty());
    assert!(anyway.ratio.is_some(), "asked for, the number is shown all the same");
    assert_eq!((anyway.verdict, &anyway.not_comparable), (against.verdict, &against.not_comparable));
    (against.verdict, against.not_comparable)
}

#[test]
fn what_does_not_measure_the_same_gets_no_verdict_and_the_reason() {
    let set = |key: &'static str, value: Value| {
        move |record: &mut CaseRecord| drop(record.parameters.insert(key.to_owned(), value.clone()))
    };
    let changes: [(Change<'_>, &str); 7] = [
        (&|record| record.revision = 2, "workload revision differs (2, 1)"),
        (&set("engine", json!("myisam")), "engine differs (myisam, innodb)"),
        (&set("tables", json!(2)), "tables differs (2, 1)"),
        (&set("protocol", json!("text")), ""),
        (&|record| record.workload = "cpu".to_owned(), "workload differs (cpu, oltp_read_only)"),
        (
            &|record| {
                drop(record.target_facts.insert("innodb_flush_log_at_trx_commit".to_owned(), "2".to_owned()))
            },
            "innodb_flush_log_at_trx_commit differs (2, 1)",
        ),
        (
            &|record| record.result.as_mut().unwrap().load.model = LoadModel::Open,
            "load model differs (open, closed)",
        ),
    ];
    for (change, reason) in changes {
        let (verdict, found) = reasons(change);
        match reason {
            "" => assert_eq!(
                (verdict, found.len()),
                (Verdict::Worse, 0),
                "a key that only one side knows is no difference"
            ),
            _ => assert_eq!((verdict, found), (Verdict::NotComparable, vec![reason.to_owned()])),
        }
    }
    assert_eq!(reasons(&|_| ()), (Verdict::Worse, Vec::new()));
}

#[test]
fn an_engine_in_the_rows_is_shown_without_a_verdict() {
    let mut records = matrix();
    for record in &mut records {
        let engine = if record.target.as_deref() == Some("ssd") { "innodb" } else { "myisam" };
        record.parameters.insert("engine".to_owned(), json!(engine));
        record.target = Some("one".to_owned());
    }
    for record in &mut records {
        drop(record.parameters.insert("target".to_owned(), json!("one")));
    }
    let table = table(&records, &question(&["engine"], &["threads"])).unwrap();
    assert_eq!(cell(&table, &["myisam"], &["1"]).against.as_ref().unwrap().verdict, Verdict::NotComparable);
}

#[test]
fn rounds_that_did_not_finish_and_a_generator_at_its_limit_are_told() {
    let mut records = matrix();
    records[0].outcome = Outcome::Failed;
    let failure = Failure { stage: Stage::Measure, reason: "errors".to_owned(), message: "no".to_owned() };
    records[0].failure = Some(failure);
    records[1].result.as_mut().unwrap().limited = true;
    let table = of_run(&records).unwrap();
    assert_eq!(cell(&table, &["ssd"], &["1"]).rounds, 4);
    assert_eq!(
        table.notes,
        [
            "oltp/target=ssd/threads=1: 4 of 5 rounds finished",
            "oltp/target=ssd/threads=16: the load generator was the limit in 1 of 5 rounds"
        ]
    );
}

#[test]
fn options_that_differ_between_servers_are_named() {
    let mut records = matrix();
    for record in records.iter_mut().filter(|record| record.target.as_deref() == Some("sata")) {
        record.target_facts.insert("preload".to_owned(), "/lib/libjemalloc.so.2".to_owned());
    }
    assert_eq!(of_run(&records).unwrap().differs, ["preload"]);
}

#[test]
fn two_runs_are_set_side_by_side_case_by_case() {
    let (a, mut b) = (matrix(), matrix());
    b.retain(|record| record.target.as_deref() == Some("ssd"));
    b.iter_mut().for_each(|record| record.result.as_mut().unwrap().per_second *= 2.0);
    let runs = two_runs(&a, &b, &Question::default()).unwrap();
    let found: Vec<(&str, Verdict)> =
        runs.cases.iter().map(|pair| (pair.case.as_str(), pair.against.verdict)).collect();
    let json = serde_json::to_string(&runs).unwrap();
    assert_eq!(serde_json::from_str::<TwoRuns>(&json).unwrap(), runs, "it comes through JSON");
    assert_eq!(
        found,
        [("oltp/target=ssd/threads=1", Verdict::Better), ("oltp/target=ssd/threads=16", Verdict::Better)]
    );
    let once = |records: &[CaseRecord]| records.iter().take(4).cloned().collect::<Vec<CaseRecord>>();
    let single = two_runs(&once(&a), &once(&b), &Question::default()).unwrap();
    assert!(
        single
            .cases
            .iter()
            .all(|pair| pair.against.verdict == Verdict::Unclear || pair.against.interval95.is_some())
    );
    assert_eq!(two_runs(&a, &[], &Question::default()).unwrap_err(), "the two have no case in common");
}

/// So many runs of one case, each of `rounds` rounds that scatter little around a speed of the run's own.
fn nights(count: usize, rounds: u32, speed: impl Fn(usize) -> f64) -> Vec<CaseRecord> {
    let one = record("oltp", 0, json!({"threads": 1, "engine": "innodb"}), 0.0);
    let night = |night: usize| {
        let run = RunId::new();
        let (one, speed) = (&one, speed(night));
        (0..rounds).map(move |index| {
            let mut record = CaseRecord { run, index, ..one.clone() };
            record.result.as_mut().unwrap().per_second = speed * (1.0 + 0.001 * f64::from(index));
            record
        })
    };
    (0..count).flat_map(night).collect()
}

#[test]
fn of_several_runs_a_side_each_is_one_result() {
    let wide = |night: usize| if night.is_multiple_of(2) { 900.0 } else { 1_100.0 };
    let [a, b] = [nights(6, 5, wide), nights(4, 5, |night| wide(night) * 1.03)];
    let runs = two_runs(&a, &b, &Question::default()).unwrap();
    assert_eq!((runs.runs, runs.cases.len()), ([6, 4], 1));
    let [low, high] = runs.cases[0].against.interval95.unwrap();
    assert!(low < 0.95 && high > 1.1, "nights differ, however alike the rounds of each are: {low} {high}");
    assert_eq!(runs.cases[0].against.verdict, Verdict::Unclear);
    let single = two_runs(&a[..5], &b[..5], &Question::default()).unwrap();
    assert_eq!((single.runs, single.cases[0].against.verdict), ([1, 1], Verdict::Better));
    let slow = two_runs(&a, &nights(4, 2, |night| wide(night) / 2.0), &Question::default()).unwrap();
    assert_eq!(slow.cases[0].against.verdict, Verdict::Worse);
}

#[test]
fn sides_of_which_no_case_measures_the_same_are_refused_unless_asked_for() {
    let (a, mut b) = (nights(2, 2, |_| 1_000.0), nights(2, 2, |_| 2_000.0));
    b[3].parameters.insert("engine".to_owned(), json!("myisam"));
    let why = two_runs(&a, &b, &Question::default()).unwrap_err();
    assert!(why.contains("(oltp: engine differs (myisam, innodb))") && why.contains("--anyway"), "{why}");
    let anyway = two_runs(&a, &b, &Question { anyway: true, ..Question::default() }).unwrap();
    let against = &anyway.cases[0].against;
    assert_eq!(against.verdict, Verdict::NotComparable);
    assert!((against.ratio.unwrap() - 2.0).abs() < 0.01, "{against:?}");
}
