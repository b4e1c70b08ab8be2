//! The kinds of statements of the oltp workloads, and their texts as each generation of sysbench sends them.

use super::keys::Only;
use super::options::Options;
use crate::workloads::sql::shape::Shape;
use crate::workloads::sql::statements::Statement;

/// Whose behaviour a workload shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Generation {
    /// sysbench 1.0.20.
    #[default]
    V10,
    /// The script `oltp.lua` of sysbench 0.5.
    V05,
    /// The test `oltp` of sysbench 0.4.
    V04,
}

impl Generation {
    /// Its tables.
    pub(super) fn shape(self) -> Shape {
        match self {
            Generation::V10 => Shape::V10,
            Generation::V05 => Shape::V05,
            Generation::V04 => Shape::V04,
        }
    }

    /// Whether all statements of an operation go to one table.
    pub(super) fn keeps_table(self) -> bool {
        self != Generation::V10
    }

    /// Whether LOCK TABLES stands in for BEGIN where the engine has no transactions.
    pub(super) fn locks_tables(self) -> bool {
        self != Generation::V10
    }

    /// Whether an operation is tried again with the values of the first attempt.
    pub(super) fn repeats_values(self) -> bool {
        self == Generation::V04
    }
}

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
    /// A DELETE of an id that is drawn as any other.
    Deletes,
    /// A new row.
    Inserts,
    /// Rows of several values of k.
    RandomPoints,
    /// How many rows are in several ranges of k.
    RandomRanges,
    /// 0.4: column pad of one row.
    PadSelects,
    /// 0.4: a DELETE of an id that no other operation deletes.
    UniqueDeletes,
    /// 0.4: a stored procedure.
    Calls,
}

impl Group {
    /// How often an operation sends the statements of this group.
    pub(super) fn count(self, options: &Options) -> u32 {
        let (reads, writes) = (&options.reads, &options.writes);
        let range = |count| if reads.range_selects { count } else { 0 };
        match self {
            Group::PointSelects => reads.point_selects,
            Group::SimpleRanges => range(reads.simple_ranges),
            Group::SumRanges => range(reads.sum_ranges),
            Group::OrderRanges => range(reads.order_ranges),
            Group::DistinctRanges => range(reads.distinct_ranges),
            Group::IndexUpdates => writes.index_updates,
            Group::NonIndexUpdates => writes.non_index_updates,
            Group::DeleteInserts => writes.delete_inserts,
            Group::Deletes
            | Group::Inserts
            | Group::RandomPoints
            | Group::RandomRanges
            | Group::PadSelects
            | Group::UniqueDeletes
            | Group::Calls => 1,
        }
    }

    /// Whether an operation that only reads, or only writes, sends it.
    pub(super) fn is_of(self, only: Only) -> bool {
        let reads = match self {
            Group::PointSelects
            | Group::SimpleRanges
            | Group::SumRanges
            | Group::OrderRanges
            | Group::DistinctRanges
            | Group::RandomPoints
            | Group::RandomRanges
            | Group::PadSelects => true,
            Group::IndexUpdates
            | Group::NonIndexUpdates
            | Group::DeleteInserts
            | Group::Deletes
            | Group::Inserts
            | Group::UniqueDeletes => false,
            // Nobody knows what it does.
            Group::Calls => return true,
        };
        if reads { !only.write_only } else { !only.read_only }
    }

    /// The key that says how often its statements are sent, of those that can be 0.
    pub(super) fn key(self) -> &'static str {
        match self {
            Group::IndexUpdates => "index_updates",
            Group::NonIndexUpdates => "non_index_updates",
            _ => "point_selects",
        }
    }

    /// Its statements on a table, in the order in which they are sent.
    pub(super) fn statements(self, generation: Generation, options: &Options, table: &str) -> Vec<Statement> {
        let prepared = |text: String| vec![Statement::new(text)];
        match (generation, self) {
            (Generation::V04, _) => self.statements_04(options, table),
            (_, Group::DeleteInserts) => vec![
                Statement::new(format!("DELETE FROM {table} WHERE id=?")),
                Statement::new(format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)")),
            ],
            (_, Group::Inserts) => {
                vec![Statement::plain(format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)"))]
            }
            (_, Group::PointSelects) => prepared(format!("SELECT c FROM {table} WHERE id=?")),
            (_, Group::IndexUpdates) => prepared(format!("UPDATE {table} SET k=k+1 WHERE id=?")),
            (_, Group::NonIndexUpdates) => prepared(format!("UPDATE {table} SET c=? WHERE id=?")),
            (_, Group::Deletes) => prepared(format!("DELETE FROM {table} WHERE id=?")),
            (_, Group::RandomPoints) => prepared(random_points(table, options.points.random_points)),
            (_, Group::RandomRanges) => prepared(random_ranges(table, options.ranges.number_of_ranges)),
            (Generation::V05, range) => prepared(range.range_05(table, options.reads.range_size)),
            (Generation::V10, range) => prepared(range.range(table)),
        }
    }

    /// The text of a range of ids; empty for what is none.
    fn range(self, table: &str) -> String {
        let (what, order) = match self {
            Group::SimpleRanges => ("c", ""),
            Group::SumRanges => ("SUM(k)", ""),
            Group::OrderRanges => ("c", " ORDER BY c"),
            Group::DistinctRanges => ("DISTINCT c", " ORDER BY c"),
            _ => return String::new(),
        };
        format!("SELECT {what} FROM {table} WHERE id BETWEEN ? AND ?{order}")
    }

    /// In 0.5 the server adds the size of a range to its start.
    fn range_05(self, table: &str, size: u32) -> String {
        let more = size - 1;
        self.range(table).replace("AND ?", &format!("AND ?+{more}")).replace("SUM(k)", "SUM(K)")
    }

    fn statements_04(self, options: &Options, table: &str) -> Vec<Statement> {
        let range =
            |what: &str, order: &str| format!("SELECT {what} from {table} where id between ? and ?{order}");
        let delete = || format!("DELETE from {table} where id=?");
        let text = match self {
            Group::PointSelects if options.point_04.handler => {
                let key = if options.tables.secondary { "xid" } else { "PRIMARY" };
                format!("HANDLER {table} READ `{key}` = (?)")
            }
            Group::PointSelects if options.point_04.all_columns => {
                format!("SELECT id, k, c, pad from {table} where id=?")
            }
            Group::PointSelects => format!("SELECT c from {table} where id=?"),
            Group::PadSelects => format!("SELECT pad from {table} where id=?"),
            Group::SimpleRanges => range("c", ""),
            Group::SumRanges => range("SUM(K)", ""),
            Group::OrderRanges => range("c", " order by c"),
            Group::DistinctRanges => range("DISTINCT c", " order by c"),
            Group::IndexUpdates => format!("UPDATE {table} set k=k+1 where id=?"),
            Group::NonIndexUpdates => format!("UPDATE {table} set c=? where id=?"),
            Group::Deletes | Group::UniqueDeletes => delete(),
            Group::DeleteInserts => return vec![Statement::new(delete()), Statement::new(insert_04(table))],
            Group::Inserts if options.tables.auto_inc => format!("INSERT INTO {table} values(NULL,?,?,?)"),
            Group::Inserts => format!("INSERT INTO {table} values(?,?,?,?)"),
            Group::Calls => format!("CALL {}(?,?)", options.modes.procedure),
            Group::RandomPoints | Group::RandomRanges => String::new(),
        };
        vec![Statement::new(text)]
    }
}

/// In 0.4 a row that was deleted comes back with the same columns always.
fn insert_04(table: &str) -> String {
    format!("INSERT INTO {table} values(?,0,' ','aaaaaaaaaaffffffffffrrrrrrrrrreeeeeeeeeeyyyyyyyyyy')")
}

fn random_points(table: &str, points: u32) -> String {
    format!("SELECT id, k, c, pad FROM {table} WHERE k IN ({})", list("?", points, ", "))
}

fn random_ranges(table: &str, ranges: u32) -> String {
    format!("SELECT count(k) FROM {table} WHERE {}", list("k BETWEEN ? AND ?", ranges, " OR "))
}

fn list(part: &str, times: u32, between: &str) -> String {
    vec![part; times as usize].join(between)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::oltp::keys::Reads;

    const ALL: [Group; 15] = [
        Group::PointSelects,
        Group::SimpleRanges,
        Group::SumRanges,
        Group::OrderRanges,
        Group::DistinctRanges,
        Group::IndexUpdates,
        Group::NonIndexUpdates,
        Group::DeleteInserts,
        Group::Deletes,
        Group::Inserts,
        Group::RandomPoints,
        Group::RandomRanges,
        Group::PadSelects,
        Group::UniqueDeletes,
        Group::Calls,
    ];

    #[test]
    fn the_server_adds_the_size_of_a_range_in_0_5() {
        let options = Options { reads: Reads::default(), ..Options::default() };
        let text = |group: Group| group.statements(Generation::V05, &options, "sbtest1")[0].text().to_owned();
        assert_eq!(text(Group::SumRanges), "SELECT SUM(K) FROM sbtest1 WHERE id BETWEEN ? AND ?+99");
        let ordered = "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ?+99 ORDER BY c";
        assert_eq!(text(Group::DistinctRanges), ordered);
    }

    #[test]
    fn only_a_replaced_row_takes_two_statements() {
        for group in ALL {
            let parts = if group == Group::DeleteInserts { 2 } else { 1 };
            for generation in [Generation::V10, Generation::V05, Generation::V04] {
                assert_eq!(group.statements(generation, &Options::default(), "t").len(), parts, "{group:?}");
            }
        }
    }

    #[test]
    fn there_is_a_place_for_each_point_and_for_both_ends_of_each_range() {
        assert_eq!(random_points("t", 3), "SELECT id, k, c, pad FROM t WHERE k IN (?, ?, ?)");
        let two = "SELECT count(k) FROM t WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?";
        assert_eq!(random_ranges("t", 2), two);
    }
}
