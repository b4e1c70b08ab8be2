//! The INSERT statements that fill a table: each row a pure function of the seed, its table and its number.

use std::fmt::Write as _;

use super::rows;
use super::schema::Tables;
use super::shape::Shape;
use crate::driver::random::{Ids, Random};

/// The largest INSERT of rows that differ, as sysbench 1.0.20 sends it: about 2,700 rows.
const STATEMENT_BYTES: usize = 512 << 10;
/// The columns beside the id in every row of sysbench 0.4.
const ROW_04: &str = "0,' ','qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt'";
/// Room for the longest row: two ids, c, pad and what stands between them.
const ROW_BYTES: usize = 256;

/// The INSERT statements of one table, one at a time in the same memory.
pub(crate) struct Inserts<'a> {
    tables: &'a Tables,
    /// How column k is drawn.
    k: &'a Ids,
    table: u32,
    /// The last row written.
    row: u32,
    statement: String,
    seed: u64,
}

impl<'a> Inserts<'a> {
    pub(crate) fn new(tables: &'a Tables, k: &'a Ids, seed: u64, table: u32) -> Inserts<'a> {
        let seed = Random::for_operation(seed, u64::from(table)).bits();
        Inserts { tables, k, table, row: 0, statement: String::with_capacity(STATEMENT_BYTES), seed }
    }

    /// The next statement and how many rows it has.
    pub(crate) fn next(&mut self) -> Option<(&str, u64)> {
        let Tables { auto_inc, shape, .. } = *self.tables;
        let first = self.row;
        let last = self.tables.rows_each().min(first.saturating_add(shape.rows_at_once()));
        self.statement.clear();
        while self.row < last && self.has_room() {
            self.row += 1;
            self.push_start(auto_inc);
            self.push_row(auto_inc);
        }
        (self.row > first).then_some((self.statement.as_str(), u64::from(self.row - first)))
    }

    fn has_room(&self) -> bool {
        !self.tables.shape.rows_differ() || self.statement.len() + ROW_BYTES <= STATEMENT_BYTES
    }

    fn push_start(&mut self, auto_inc: bool) {
        if !self.statement.is_empty() {
            self.statement.push(',');
            return;
        }
        let columns = if auto_inc { "k, c, pad" } else { "id, k, c, pad" };
        // Writing to a String cannot fail.
        let _ = write!(self.statement, "INSERT INTO {}({columns}) VALUES", self.tables.name(self.table));
    }

    fn push_row(&mut self, auto_inc: bool) {
        if self.tables.shape == Shape::V04 {
            self.push_row_04(auto_inc);
            return;
        }
        let mut random = Random::for_operation(self.seed, u64::from(self.row));
        let k = self.k.pick(&mut random);
        let text = &mut self.statement;
        text.push('(');
        if !auto_inc {
            let _ = write!(text, "{}, ", self.row);
        }
        let _ = write!(text, "{k}, '");
        rows::push_c(text, &mut random);
        text.push_str("', '");
        rows::push_pad(text, &mut random);
        text.push_str("')");
    }

    fn push_row_04(&mut self, auto_inc: bool) {
        // Writing to a String cannot fail.
        let _ = match auto_inc {
            true => write!(self.statement, "({ROW_04})"),
            false => write!(self.statement, "({},{ROW_04})", self.row),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::random::Distribution;

    fn statements(tables: &Tables, seed: u64, table: u32) -> Vec<(String, u64)> {
        let k = Distribution::Uniform.over(1, u64::from(tables.table_size));
        let mut inserts = Inserts::new(tables, &k, seed, table);
        let mut all = Vec::new();
        while let Some((statement, rows)) = inserts.next() {
            all.push((statement.to_owned(), rows));
        }
        all
    }

    #[test]
    fn rows_go_in_statements_of_at_most_512_kib_and_all_of_them() {
        let tables = Tables { table_size: 10_000, ..Tables::default() };
        let statements = statements(&tables, 1, 1);
        assert_eq!(statements.iter().map(|(_, rows)| rows).sum::<u64>(), 10_000);
        let (last, full) = statements.split_last().unwrap();
        assert!(full.iter().all(|(text, _)| (500 << 10..=512 << 10).contains(&text.len())));
        assert!(full.iter().all(|(_, rows)| (2_600..2_800).contains(rows)));
        assert!(last.0.len() <= STATEMENT_BYTES);
        for (text, rows) in &statements {
            assert!(text.starts_with("INSERT INTO sbtest1(k, c, pad) VALUES("));
            assert_eq!(text.matches("),(").count() as u64 + 1, *rows);
        }
    }

    #[test]
    fn the_longest_row_fits_in_the_room_kept_for_one() {
        let longest = format!(",({0}, {0}, '{1:119}', '{1:59}')", i32::MAX, "");
        assert!(longest.len() <= ROW_BYTES);
    }

    #[test]
    fn ids_are_given_when_the_server_does_not_number_the_rows() {
        let tables = Tables { table_size: 3, auto_inc: false, ..Tables::default() };
        let (text, _) = &statements(&tables, 1, 7)[0];
        assert!(text.starts_with("INSERT INTO sbtest7(id, k, c, pad) VALUES(1, "), "{text}");
        assert!(text.contains("),(2, ") && text.contains("),(3, "), "{text}");
    }

    #[test]
    fn rows_of_sysbench_0_4_are_alike_and_10_000_go_at_once() {
        let tables = Tables { table_size: 10_001, shape: Shape::V04, ..Tables::default() };
        let all = statements(&tables, 1, 1);
        assert_eq!(all.iter().map(|(_, rows)| *rows).collect::<Vec<_>>(), [10_000, 1]);
        assert_eq!(all[1].0, format!("INSERT INTO sbtest(k, c, pad) VALUES({ROW_04})"));
        let given = Tables { auto_inc: false, table_size: 2, ..tables };
        let values = format!("INSERT INTO sbtest(id, k, c, pad) VALUES(1,{ROW_04}),(2,{ROW_04})");
        assert_eq!(statements(&given, 1, 1)[0].0, values);
    }

    #[test]
    fn a_table_that_begins_empty_has_no_rows() {
        let tables = Tables { empty: true, ..Tables::default() };
        assert!(statements(&tables, 1, 1).is_empty());
    }

    #[test]
    fn rows_depend_on_seed_and_table_and_on_nothing_else() {
        let tables = Tables { table_size: 100, ..Tables::default() };
        let rows =
            |seed, table| statements(&tables, seed, table)[0].0.split_once("VALUES").unwrap().1.to_owned();
        assert_eq!(rows(1, 1), rows(1, 1));
        assert_ne!(rows(1, 1), rows(2, 1));
        assert_ne!(rows(1, 1), rows(1, 2));
        assert_ne!(rows(1, 2), rows(2, 1));
    }
}
