//! One operation of the oltp workloads as the statements it sends: their order, tables and values.

use crate::driver::random::{Ids, Random};
use crate::target::Bind;
use crate::workloads::sql::rows;
use crate::workloads::sql::statements::{Request, Template};

/// Statements of one kind that an operation sends one after the other, all to one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    PointSelects,
    SimpleRanges,
    SumRanges,
    OrderRanges,
    DistinctRanges,
    IndexUpdates,
    NonIndexUpdates,
    DeleteInserts,
}

/// Everything random in one operation.
#[derive(Debug)]
pub(super) struct Draws {
    /// Decides tables and ids: the same in every run of one seed.
    choices: Random,
    /// Decides the texts of columns c and pad: others in every run. An UPDATE that sets what the row already holds
    /// writes nothing, so on data that an earlier run left, equal texts would make writes into no writes.
    pub(super) texts: Random,
}

impl Draws {
    /// The draws of one operation; `run` is a number that no other run has.
    pub(super) fn of(seed: u64, run: u64, operation: u64) -> Draws {
        Draws {
            choices: Random::for_operation(seed, operation),
            texts: Random::for_operation(run, operation),
        }
    }
}

/// The shape of one operation: everything but its random values.
#[derive(Debug, Clone)]
pub(super) struct Transaction {
    /// BEGIN before and COMMIT after.
    pub(super) bracketed: bool,
    /// The groups in order, each with how often its statements are sent.
    pub(super) groups: Vec<(Group, u32)>,
    /// Ids of a range.
    pub(super) range_size: u32,
    /// How many tables there are.
    pub(super) tables: u32,
    /// The ids of a table.
    pub(super) ids: Ids,
}

impl Transaction {
    /// Walks through one operation. A table is drawn uniformly once a group; ranges are not cut at the last row.
    pub(super) fn walk<E>(
        &self,
        draws: &mut Draws,
        send: &mut impl FnMut(Request, &[Bind<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.bracketed {
            send(Request::Begin, &[])?;
        }
        for (group, count) in &self.groups {
            let table = self.table(&mut draws.choices);
            for _ in 0..*count {
                self.statement(*group, table, draws, send)?;
            }
        }
        if self.bracketed {
            send(Request::Commit, &[])?;
        }
        Ok(())
    }

    fn statement<E>(
        &self,
        group: Group,
        table: u32,
        draws: &mut Draws,
        send: &mut impl FnMut(Request, &[Bind<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let id = self.id(&mut draws.choices);
        let end = id + i64::from(self.range_size) - 1;
        let one = [Bind::Integer(id)];
        let range = [Bind::Integer(id), Bind::Integer(end)];
        let mut step = |template, values: &[Bind<'_>]| send(Request::On(template, table), values);
        match group {
            Group::PointSelects => step(Template::PointSelect, &one),
            Group::SimpleRanges => step(Template::SimpleRange, &range),
            Group::SumRanges => step(Template::SumRange, &range),
            Group::OrderRanges => step(Template::OrderRange, &range),
            Group::DistinctRanges => step(Template::DistinctRange, &range),
            Group::IndexUpdates => step(Template::IndexUpdate, &one),
            Group::NonIndexUpdates => {
                let c = text(rows::push_c, &mut draws.texts);
                step(Template::NonIndexUpdate, &[Bind::Text(&c), Bind::Integer(id)])
            }
            Group::DeleteInserts => {
                let k = self.id(&mut draws.choices);
                let (c, pad) = (text(rows::push_c, &mut draws.texts), text(rows::push_pad, &mut draws.texts));
                step(Template::Delete, &one)?;
                let row = [Bind::Integer(id), Bind::Integer(k), Bind::Text(&c), Bind::Text(&pad)];
                step(Template::Insert, &row)
            }
        }
    }

    fn table(&self, random: &mut Random) -> u32 {
        1 + random.below(u64::from(self.tables)) as u32
    }

    fn id(&self, random: &mut Random) -> i64 {
        self.ids.pick(random) as i64
    }

    /// Whether an operation sends statements of this group.
    pub(super) fn sends(&self, group: Group) -> bool {
        self.groups.iter().any(|(sent, _)| *sent == group)
    }
}

fn text(push: fn(&mut String, &mut Random), random: &mut Random) -> String {
    let mut text = String::with_capacity(120);
    push(&mut text, random);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::random::Distribution;
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    type Sent = (Request, Vec<String>);

    fn transaction(groups: &[(Group, u32)]) -> Transaction {
        Transaction {
            bracketed: true,
            groups: groups.to_vec(),
            range_size: 100,
            tables: 4,
            ids: Distribution::Uniform.over(1, 1_000),
        }
    }

    fn sent(transaction: &Transaction, operation: u64) -> Vec<Sent> {
        sent_in_run(1, transaction, operation)
    }

    fn sent_in_run(run: u64, transaction: &Transaction, operation: u64) -> Vec<Sent> {
        let mut sent = Vec::new();
        let mut draws = Draws::of(1, run, operation);
        let walked: Result<(), Infallible> = transaction.walk(&mut draws, &mut |request, values| {
            let text = |value: &Bind<'_>| match value {
                Bind::Integer(integer) => integer.to_string(),
                Bind::Text(text) => (*text).to_owned(),
            };
            sent.push((request, values.iter().map(text).collect()));
            Ok(())
        });
        walked.unwrap();
        sent
    }

    fn tables(sent: &[Sent]) -> Vec<u32> {
        sent.iter()
            .filter_map(|(request, _)| match request {
                Request::On(_, table) => Some(*table),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_group_stays_on_one_table_and_groups_part() {
        let transaction = transaction(&[(Group::PointSelects, 10), (Group::DeleteInserts, 3)]);
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
    fn ranges_name_as_many_ids_as_asked_and_pass_the_last_row() {
        let transaction = transaction(&[(Group::OrderRanges, 1)]);
        let mut passed = false;
        for operation in 0..200 {
            let sent = sent(&transaction, operation);
            let [from, to] = [0, 1].map(|place| sent[1].1[place].parse::<i64>().unwrap());
            assert_eq!(to - from, 99);
            assert!((1..=1_000).contains(&from));
            passed |= to > 1_000;
        }
        assert!(passed);
    }

    #[test]
    fn the_row_that_is_deleted_is_inserted_again_with_new_values() {
        let sent = sent(&transaction(&[(Group::DeleteInserts, 1)]), 5);
        let [_, (_, deleted), (_, inserted), _] = sent.as_slice() else { panic!("{sent:?}") };
        assert_eq!(deleted[0], inserted[0]);
        assert!((1..=1_000).contains(&inserted[1].parse::<u32>().unwrap()));
        assert_eq!((inserted[2].len(), inserted[3].len()), (119, 59));
    }

    #[test]
    fn an_operation_meets_the_same_rows_in_every_run_and_writes_other_texts() {
        let transaction = transaction(&[(Group::PointSelects, 10), (Group::NonIndexUpdates, 1)]);
        let (mut one, mut other) = (sent_in_run(1, &transaction, 7), sent_in_run(2, &transaction, 7));
        assert_eq!(one, sent_in_run(1, &transaction, 7));
        let texts = [&mut one, &mut other].map(|sent| sent[11].1.remove(0));
        assert_eq!(one, other);
        assert_ne!(texts[0], texts[1]);
        assert_ne!(one[..11], sent(&transaction, 8)[..11]);
    }

    #[test]
    fn a_second_attempt_has_new_values() {
        let transaction = transaction(&[(Group::PointSelects, 10)]);
        let mut draws = Draws::of(1, 1, 1);
        let mut attempt = || {
            let mut ids = Vec::new();
            let walked: Result<(), Infallible> = transaction.walk(&mut draws, &mut |_, values| {
                ids.extend(values.iter().map(|value| format!("{value:?}")));
                Ok(())
            });
            walked.unwrap();
            ids
        };
        assert_ne!(attempt(), attempt());
    }

    #[test]
    fn the_first_error_ends_the_walk() {
        let mut asked = 0;
        let walked = transaction(&[(Group::PointSelects, 10)]).walk(&mut Draws::of(1, 1, 1), &mut |_, _| {
            asked += 1;
            if asked == 3 { Err("lost") } else { Ok(()) }
        });
        assert_eq!((walked, asked), (Err("lost"), 3));
    }
}
