//! The rows of a table, each a pure function of the seed, its table and its number, and the INSERT statements that
//! fill a table with them.

use std::fmt::Write as _;

use super::rows;
use super::schema::Tables;
use super::shape::Shape;
use crate::driver::random::{Ids, Random};

/// The largest INSERT of rows that differ, as sysbench 1.0.20 sends it: about 2,700 rows.
const STATEMENT_BYTES: usize = 512 << 10;
/// The columns beside the id in every row of sysbench 0.4: as text, and as a server gives them back.
const ROW_04: &str = "0,' ','qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt'";
const VALUES_04: [&str; 3] = ["0", "", "qqqqqqqqqqwwwwwwwwwweeeeeeeeeerrrrrrrrrrtttttttttt"];
/// Room for the longest row: two ids, c, pad and what stands between them.
const ROW_BYTES: usize = 256;

/// The rows of one table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    shape: Shape,
    /// How column k is drawn.
    k: &'a Ids,
    seed: u64,
}

impl<'a> Rows<'a> {
    pub(crate) fn of(table: u32, shape: Shape, k: &'a Ids, seed: u64) -> Rows<'a> {
        Rows { shape, k, seed: Random::for_operation(seed, u64::from(table)).bits() }
    }

    /// The columns k, c and pad of a row, without blanks at their ends.
    pub(crate) fn values(&self, row: u32) -> [String; 3] {
        if self.shape == Shape::V04 {
            return VALUES_04.map(str::to_owned);
        }
        let (k, mut random) = self.begin(row);
        let [mut c, mut pad] = [String::new(), String::new()];
        rows::push_c(&mut c, &mut random);
        rows::push_pad(&mut pad, &mut random);
        [k.to_string(), c, pad]
    }

    fn begin(&self, row: u32) -> (u64, Random) {
        let mut random = Random::for_operation(self.seed, u64::from(row));
        (self.k.pick(&mut random), random)
    }

    /// Writes a row in brackets, with its id when that is to be given.
    fn push(&self, row: u32, with_id: bool, text: &mut String) {
        let separator = if self.shape == Shape::V04 { "," } else { ", " };
        text.push('(');
        if with_id {
            // Writing to a String cannot fail.
            let _ = write!(text, "{row}{separator}");
        }
        if self.shape == Shape::V04 {
            text.push_str(ROW_04);
        } else {
            self.push_values(row, text);
        }
        text.push(')');
    }

    fn push_values(&self, row: u32, text: &mut String) {
        let (k, mut random) = self.begin(row);
        let _ = write!(text, "{k}, '");
        rows::push_c(text, &mut random);
        text.push_str("', '");
        rows::push_pad(text, &mut random);
        text.push('\'');
    }
}

/// The INSERT statements of one table.
pub(crate) struct Inserts<'a> {
    tables: &'a Tables,
    rows: Rows<'a>,
    table: u32,
    /// Whether the statements give the ids.
    ids: bool,
    /// The last row written.
    row: u32,
}

impl<'a> Inserts<'a> {
    /// All rows after the first so many. Those that follow rows of an earlier load have their ids given, and all of a
    /// cluster, which is sent some twice: a server may have used up numbers for rows that it did not keep.
    pub(crate) fn after(row: u32, tables: &'a Tables, rows: Rows<'a>, table: u32) -> Inserts<'a> {
        let ids = !tables.auto_inc || row > 0 || tables.is_cluster();
        Inserts { tables, rows, table, ids, row }
    }

    /// Writes the next statement in the place of a text; gives how many rows it has, none when all are written.
    pub(crate) fn write(&mut self, statement: &mut String) -> u32 {
        let first = self.row;
        let last = self.tables.rows_each().min(first.saturating_add(self.tables.shape.rows_at_once()));
        statement.clear();
        statement.reserve(STATEMENT_BYTES);
        while self.row < last && self.has_room(statement) {
            self.row += 1;
            self.push_start(statement);
            self.rows.push(self.row, self.ids, statement);
        }
        self.row - first
    }

    fn has_room(&self, statement: &str) -> bool {
        !self.tables.shape.rows_differ() || statement.len() + ROW_BYTES <= STATEMENT_BYTES
    }

    fn push_start(&self, statement: &mut String) {
        if !statement.is_empty() {
            statement.push(',');
            return;
        }
        let columns = if self.ids { "id, k, c, pad" } else { "k, c, pad" };
        // Writing to a String cannot fail.
        let _ = write!(statement, "INSERT INTO {}({columns}) VALUES", self.tables.name(self.table));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::random::Distribution;

    fn statements(tables: &Tables, seed: u64, table: u32) -> Vec<(String, u64)> {
        let k = Distribution::Uniform.over(1, u64::from(tables.table_size));
        let mut inserts = Inserts::after(0, tables, Rows::of(table, tables.shape, &k, seed), table);
        let mut next = || {
            let mut statement = String::new();
            let rows = inserts.write(&mut statement);
            (rows > 0).then_some((statement, u64::from(rows)))
        };
        std::iter::from_fn(&mut next).collect()
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
        let read_back = ROW_04.replace('\'', "").replace(", ,", ",,");
        assert_eq!(VALUES_04.join(","), read_back);
    }

    #[test]
    fn a_table_that_begins_empty_has_no_rows() {
        let tables = Tables { empty: true, ..Tables::default() };
        assert!(statements(&tables, 1, 1).is_empty());
    }

    #[test]
    fn statements_after_a_row_hold_the_rows_that_follow_it_with_their_ids() {
        let tables = Tables { table_size: 100, ..Tables::default() };
        let k = Distribution::Uniform.over(1, 100);
        let rows = Rows::of(1, Shape::V10, &k, 1);
        let (all, _) = &statements(&tables, 1, 1)[0];
        let mut inserts = Inserts::after(98, &tables, rows, 1);
        let mut rest = "what was there".to_owned();
        let count = inserts.write(&mut rest);
        assert!(rest.starts_with("INSERT INTO sbtest1(id, k, c, pad) VALUES(99, "), "{rest}");
        let [last_k, last_c, last_pad] = rows.values(100);
        assert!(rest.ends_with(&format!(",(100, {last_k}, '{last_c}', '{last_pad}')")), "{rest}");
        assert!(all.ends_with(&format!(",({last_k}, '{last_c}', '{last_pad}')")), "{all}");
        assert_eq!((count, inserts.write(&mut rest), rest.as_str()), (2, 0, ""));
        assert_eq!(Inserts::after(100, &tables, rows, 1).write(&mut rest), 0);
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
