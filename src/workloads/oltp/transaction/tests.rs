use std::collections::BTreeSet;
use std::convert::Infallible;

use super::*;
use crate::driver::random::{Distribution, Ids};
use crate::workloads::oltp::draws::{Place, Seeds};
use crate::workloads::oltp::keys::{Bracket as Keys, Reads};
use crate::workloads::sql::schema::Tables;

/// The text of a statement, and its values.
type Sent = (String, Vec<String>);

fn options(generation: Generation) -> Options {
    let tables = Tables { tables: 4, table_size: 1_000, shape: generation.shape(), ..Tables::default() };
    let bracket = Keys { skip_trx: false };
    Options { tables, bracket, reads: Reads::default(), ..Options::default() }
}

fn transaction(generation: Generation, groups: &[(Group, u32)]) -> Transaction {
    Transaction::new(generation, &options(generation), groups)
}

fn v10(groups: &[(Group, u32)]) -> Transaction {
    transaction(Generation::V10, groups)
}

fn ids() -> Ids {
    Distribution::Uniform.over(1, 1_000)
}

const PLACE: Place = Place { client: 2, clients: 8 };

fn sent(transaction: &Transaction, operation: u64) -> Vec<Sent> {
    sent_in_run(1, transaction, operation)
}

fn sent_in_run(run: u64, transaction: &Transaction, operation: u64) -> Vec<Sent> {
    let ids = ids();
    walked(transaction, &mut Draws::of(Seeds { case: 1, run }, operation, PLACE, &ids))
}

fn walked(transaction: &Transaction, draws: &mut Draws<'_>) -> Vec<Sent> {
    let mut sent = Vec::new();
    let walked: Result<(), Infallible> = transaction.walk(draws, &mut |step| {
        let text = |value: &Bind<'_>| match value {
            Bind::Integer(integer) => integer.to_string(),
            Bind::Text(text) => (*text).to_owned(),
        };
        let statement = transaction.book.find(step.request).unwrap().text().to_owned();
        sent.push((statement, step.values.iter().map(text).collect()));
        Ok(())
    });
    walked.unwrap();
    sent
}

fn tables(sent: &[Sent]) -> Vec<u32> {
    sent.iter()
        .filter_map(|(text, _)| {
            let rest = text.split_once("sbtest")?.1;
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        })
        .collect()
}

#[test]
fn a_group_stays_on_one_table_and_groups_part() {
    let transaction = v10(&[(Group::PointSelects, 10), (Group::DeleteInserts, 3)]);
    let mut groups_differ = false;
    let mut seen = BTreeSet::new();
    for operation in 0..100 {
        let tables = tables(&sent(&transaction, operation));
        let (selects, replaces) = tables.split_at(10);
        assert!(selects.iter().all(|table| *table == selects[0]));
        assert!(replaces.len() == 6 && replaces.iter().all(|table| *table == replaces[0]));
        groups_differ |= selects[0] != replaces[0];
        seen.extend(tables);
    }
    assert!(groups_differ);
    assert_eq!(seen, BTreeSet::from([1, 2, 3, 4]));
}

#[test]
fn an_operation_of_0_5_stays_on_one_table_and_operations_part() {
    let transaction = transaction(Generation::V05, &[(Group::PointSelects, 5), (Group::IndexUpdates, 5)]);
    let mut seen = BTreeSet::new();
    for operation in 0..100 {
        let tables = tables(&sent(&transaction, operation));
        assert!(tables.len() == 10 && tables.iter().all(|table| *table == tables[0]));
        seen.insert(tables[0]);
    }
    assert_eq!(seen, BTreeSet::from([1, 2, 3, 4]));
}

/// Both ends of a range.
fn ends(transaction: &Transaction, operation: u64) -> [i64; 2] {
    let sent = sent(transaction, operation);
    [0, 1].map(|place| sent[1].1[place].parse().unwrap())
}

#[test]
fn ranges_name_as_many_ids_as_asked_and_pass_the_last_row() {
    let transaction = v10(&[(Group::OrderRanges, 1)]);
    let mut passed = false;
    for operation in 0..200 {
        let [from, to] = ends(&transaction, operation);
        assert_eq!(to - from, 99);
        assert!((1..=1_000).contains(&from));
        passed |= to > 1_000;
    }
    assert!(passed);
}

#[test]
fn ranges_of_0_4_end_inside_the_table_and_the_distinct_one_is_a_row_longer() {
    for (group, ids) in [(Group::OrderRanges, 100), (Group::DistinctRanges, 101)] {
        let transaction = transaction(Generation::V04, &[(group, 1)]);
        let all: Vec<[i64; 2]> = (0..300).map(|operation| ends(&transaction, operation)).collect();
        assert!(all.iter().all(|[from, to]| to - from + 1 == ids && *from >= 1 && *to <= 1_000), "{all:?}");
        assert!(all.iter().filter(|[from, _]| *from == 900).count() > 10, "the last start takes what is cut");
    }
}

#[test]
fn the_row_that_is_deleted_is_inserted_again_with_new_values() {
    let sent = sent(&v10(&[(Group::DeleteInserts, 1)]), 5);
    let [_, (_, deleted), (_, inserted), _] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(deleted[0], inserted[0]);
    assert!((1..=1_000).contains(&inserted[1].parse::<u32>().unwrap()));
    assert_eq!((inserted[2].len(), inserted[3].len()), (119, 59));
}

#[test]
fn only_the_second_half_of_a_replaced_row_may_not_be_parted_from_the_first() {
    for generation in [Generation::V10, Generation::V04] {
        let transaction = transaction(generation, &[(Group::IndexUpdates, 1), (Group::DeleteInserts, 1)]);
        let mut joined = Vec::new();
        let ids = ids();
        let mut draws = Draws::of(Seeds { case: 1, run: 1 }, 1, PLACE, &ids);
        let walked: Result<(), Infallible> = transaction.walk(&mut draws, &mut |step| {
            joined.push(step.joined);
            Ok(())
        });
        walked.unwrap();
        assert_eq!(joined, [false, false, false, true, false]);
    }
}

#[test]
fn an_operation_meets_the_same_rows_in_every_run_and_writes_other_texts() {
    let transaction = v10(&[(Group::PointSelects, 10), (Group::NonIndexUpdates, 1)]);
    let (mut one, mut other) = (sent_in_run(1, &transaction, 7), sent_in_run(2, &transaction, 7));
    assert_eq!(one, sent_in_run(1, &transaction, 7));
    let texts = [&mut one, &mut other].map(|sent| sent[11].1.remove(0));
    assert_eq!(one, other);
    assert_ne!(texts[0], texts[1]);
    assert_ne!(one[..11], sent(&transaction, 8)[..11]);
}

#[test]
fn a_second_attempt_has_new_values_unless_the_draws_begin_again() {
    let transaction = v10(&[(Group::PointSelects, 10)]);
    let ids = ids();
    let mut draws = Draws::of(Seeds { case: 1, run: 1 }, 1, PLACE, &ids);
    let first = walked(&transaction, &mut draws);
    assert_ne!(first, walked(&transaction, &mut draws));
    draws.again();
    assert_eq!(first, walked(&transaction, &mut draws));
}

#[test]
fn the_first_error_ends_the_walk() {
    let mut asked = 0;
    let ids = ids();
    let mut draws = Draws::of(Seeds { case: 1, run: 1 }, 1, PLACE, &ids);
    let walked = v10(&[(Group::PointSelects, 10)]).walk(&mut draws, &mut |_| {
        asked += 1;
        if asked == 3 { Err("lost") } else { Ok(()) }
    });
    assert_eq!((walked, asked), (Err("lost"), 3));
}

#[test]
fn a_new_row_has_an_id_of_its_own_where_the_server_does_not_number_rows() {
    let numbered = |auto_inc: bool, operation: u64| {
        let mut options = options(Generation::V10);
        options.tables.auto_inc = auto_inc;
        let transaction = Transaction::new(Generation::V10, &options, &[(Group::Inserts, 1)]);
        sent(&transaction, operation)[1].1.clone()
    };
    let given: BTreeSet<String> = (0..100).map(|operation| numbered(false, operation)[0].clone()).collect();
    assert_eq!((numbered(true, 1)[0].as_str(), given.len()), ("0", 100));
    assert_eq!(numbered(true, 1)[2].len(), 119);
    let old = transaction(Generation::V04, &[(Group::Inserts, 1)]);
    assert_eq!(sent(&old, 1)[1].1.len(), 3, "the id is a NULL of the text");
}

#[test]
fn a_procedure_is_told_which_client_calls_and_how_many_there_are() {
    let calls = transaction(Generation::V04, &[(Group::Calls, 1)]);
    assert_eq!(sent(&calls, 1)[1].1, ["2", "8"]);
}

#[test]
fn engines_without_transactions_are_locked_by_earlier_generations() {
    let brackets = |generation: Generation, engine: &str, read_only: bool| {
        let mut options = options(generation);
        options.tables = Tables { engine: engine.to_owned(), tables: 2, ..options.tables };
        options.only.read_only = read_only;
        let transaction = Transaction::new(generation, &options, &[(Group::PointSelects, 1)]);
        let sent = sent(&transaction, 1);
        [sent[0].0.clone(), sent[2].0.clone(), transaction.undo().unwrap().to_owned()]
    };
    assert_eq!(brackets(Generation::V10, "myisam", false), ["BEGIN", "COMMIT", "ROLLBACK"]);
    assert_eq!(brackets(Generation::V05, "InnoDB", false), ["BEGIN", "COMMIT", "ROLLBACK"]);
    let both = "LOCK TABLES sbtest1 WRITE ,sbtest2 WRITE";
    assert_eq!(brackets(Generation::V05, "MyISAM", true), [both, "UNLOCK TABLES", "UNLOCK TABLES"]);
    assert!(brackets(Generation::V04, "aria", true)[0].starts_with("LOCK TABLES sbtest READ"));
}
