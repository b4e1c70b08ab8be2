//! Data sets: gone on with after a load that was cut short, checked, and kept side by side.

use std::collections::BTreeSet;

use super::*;

/// Loads until so many rows are sent, then stops; gives how many the manifest says are kept.
fn load_and_stop(host: &mut Host, case: &dyn Workload, after: u64) -> u64 {
    let stop = Stop::new();
    let mut progress = |done: u64, _, _| {
        if done >= after {
            stop.request();
        }
    };
    let error = case.prepare(Some(&mut host.at), &stop, &mut progress).unwrap_err();
    assert!(format!("{error:#}").contains("stopped"), "{error:#}");
    let (_, kept) = host.schema().part("sbtest1").unwrap();
    assert_eq!(host.schema().dataset("sbtest1"), None);
    kept
}

/// Loads to the end; gives the rows that were there at first, and the tables made.
fn go_on(host: &mut Host, case: &dyn Workload) -> (u64, usize) {
    let access = host.access().clone();
    let mut first = None;
    let log = logged(&access, || {
        let mut progress = |done, _, _| {
            first.get_or_insert(done);
        };
        case.prepare(Some(&mut host.at), &Stop::new(), &mut progress).unwrap();
    });
    (first.unwrap(), log.iter().filter(|entry| entry.text.starts_with("CREATE TABLE")).count())
}

#[test]
fn a_load_that_was_cut_short_goes_on_where_its_rows_end() {
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        for engine in ["innodb", "myisam"] {
            for auto_inc in [true, false] {
                let keys = json!({"table_size": 60_000, "engine": engine, "auto_inc": auto_inc});
                let case = workload("oltp_read_only", keys.clone());
                let kept = load_and_stop(&mut host, case.as_ref(), 40_000);
                assert!(kept >= 20_000, "{flavour:?} {engine}: {kept}");

                let (first, made) = go_on(&mut host, case.as_ref());

                assert!(first >= kept && made == 0, "{flavour:?} {engine}: {first} of {kept}, {made} made");
                let sum = checksum(host.access(), "sbtest1");
                let mut anew = keys;
                anew["reuse"] = json!(false);
                prepare(workload("oltp_read_only", anew).as_ref(), &mut host.at);
                assert_eq!(checksum(host.access(), "sbtest1"), sum, "{flavour:?} {engine}");
                assert_eq!(value(host.access(), "SELECT COUNT(*) FROM sbtest1"), "60000");
            }
        }
    }
}

#[test]
fn rows_of_a_load_that_was_cut_short_are_used_only_when_they_are_the_right_ones() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_only", json!({"table_size": 60_000}));
    for change in [
        "UPDATE sbtest1 SET c = 'other' WHERE id = 1",
        "DELETE FROM sbtest1 WHERE id = 2",
        "DELETE FROM sbtest1 WHERE id > 10",
        "DROP TABLE sbtest1",
    ] {
        load_and_stop(&mut host, case.as_ref(), 30_000);
        execute(host.access(), &[change]);
        let (first, made) = go_on(&mut host, case.as_ref());
        assert_eq!((first, made), (0, 1), "{change}");
        prepare(workload("oltp_read_only", json!({"seed": 9})).as_ref(), &mut host.at);
    }
    load_and_stop(&mut host, case.as_ref(), 30_000);
    let other = workload("oltp_read_only", json!({"table_size": 60_000, "seed": 2}));
    assert_eq!(go_on(&mut host, other.as_ref()), (0, 1), "they are of another data set");
}

fn schema(at: &mut Prepared) -> &mut OwnedSchema {
    &mut at.server().unwrap().schema
}

#[test]
fn an_index_that_was_made_before_the_end_is_not_made_again() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_only", json!({}));
    prepare(case.as_ref(), &mut host.at);
    let description = host.schema().dataset("sbtest1").unwrap().to_owned();
    for with_index in [true, false] {
        let mut client = Client::connect(host.access()).unwrap();
        schema(&mut host.at).set_parts(&mut client, [("sbtest1", 1_000)], &description).unwrap();
        if !with_index {
            client.query("DROP INDEX k_1 ON sbtest1").unwrap();
        }
        assert_eq!(go_on(&mut host, case.as_ref()), (1_000, 0));
        let index = client.rows("SHOW INDEX FROM sbtest1 WHERE Key_name = 'k_1'").unwrap();
        assert_eq!((index.len(), host.schema().dataset("sbtest1")), (1, Some(description.as_str())));
    }
}

#[test]
fn a_data_set_that_another_case_of_the_run_wants_is_put_aside_and_fetched_again() {
    for flavour in Flavour::present() {
        let mut host = Host::start(flavour).unwrap();
        let case = |engine: &str| workload("oltp_write_only", json!({"tables": 2, "engine": engine}));
        let (innodb, myisam) = (case("innodb"), case("myisam"));
        let wanted = [&innodb, &myisam].map(|case| case.data_set().unwrap());
        schema(&mut host.at).want(BTreeSet::from(wanted));
        let made = |host: &mut Host, case: &dyn Workload| loading(case, &mut host.at)["create"];
        assert_eq!([made(&mut host, innodb.as_ref()), made(&mut host, myisam.as_ref())], [2, 2]);
        assert_eq!(host.schema().tables().count(), 4);
        for (case, engine) in [(&innodb, "InnoDB"), (&myisam, "MyISAM"), (&innodb, "InnoDB")] {
            assert_eq!(made(&mut host, case.as_ref()), 0, "{flavour:?} {engine}");
            let question = "SELECT engine FROM information_schema.tables WHERE table_name = 'sbtest2' \
                            AND table_schema = DATABASE()";
            assert_eq!(value(host.access(), question), engine);
            measure(case.as_ref(), host.access());
        }
        schema(&mut host.at).want(BTreeSet::new());
        assert_eq!(made(&mut host, innodb.as_ref()), 0);
        let held: Vec<&str> = host.schema().tables().collect();
        assert_eq!(held, ["sbtest1", "sbtest2"], "what no case wants is dropped, wherever it is");
    }
}

#[test]
fn a_load_that_was_cut_short_is_put_aside_too() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let large = workload("oltp_read_only", json!({"table_size": 60_000}));
    let small = workload("oltp_read_only", json!({}));
    schema(&mut host.at).want([&large, &small].map(|case| case.data_set().unwrap()).into());
    let kept = load_and_stop(&mut host, large.as_ref(), 40_000);
    assert_eq!(go_on(&mut host, small.as_ref()), (0, 1));
    let (first, made) = go_on(&mut host, large.as_ref());
    assert!(first >= kept && made == 0, "{first} of {kept}, {made} made");
}

#[test]
fn engines_of_a_server_hold_the_same_rows() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let mut sums = ["innodb", "myisam", "aria", "memory"].map(|engine| {
        let case = workload("oltp_read_write", json!({"engine": engine, "tables": 2, "threads": 2}));
        prepare(case.as_ref(), &mut host.at);
        let sum = value(host.access(), "SELECT SUM(CRC32(CONCAT_WS('#', id, k, c, pad))) FROM sbtest2");
        assert_eq!(measure(case.as_ref(), host.access()).errors.failed, 0, "{engine}");
        sum
    });
    sums.sort();
    assert_eq!(sums[0], sums[3]);
}

#[test]
fn a_table_that_does_not_fit_in_memory_says_what_to_raise() {
    let Some(mut host) = Host::start(Flavour::MariaDb) else { return };
    let case = workload("oltp_read_only", json!({"engine": "memory", "table_size": 500_000}));
    let error = case.prepare(Some(&mut host.at), &Stop::new(), &mut |_, _, _| ()).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("table sbtest1 not loaded") && error.contains("max_heap_table_size"), "{error}");
}
