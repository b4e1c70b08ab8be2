//! The transaction of oltp_read_write over a bare connection, as sysbench 1.0 sends it.

use crate::bare::{Bare, Statement, Value};
use crate::next_id;

/// Rows of a range.
const RANGE: i64 = 100;
/// Point selects of a transaction.
const POINTS: usize = 10;
const RANGES: [&str; 4] = [
    "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
    "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
    "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
    "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
];

/// A connection, its statements, and where its ids and texts come from.
pub(crate) struct Transaction {
    connection: Bare,
    begin: Statement,
    point: Statement,
    ranges: [Statement; 4],
    index_update: Statement,
    update: Statement,
    delete: Statement,
    insert: Statement,
    commit: Statement,
    state: u64,
    rows: u64,
}

impl Transaction {
    /// Connects and prepares all statements.
    pub(crate) fn connect(address: &str, schema: &str, rows: u64) -> Transaction {
        let mut connection = Bare::connect(address, schema);
        let mut prepare = |sql| connection.prepare(sql);
        Transaction {
            begin: prepare("BEGIN"),
            point: prepare(crate::SELECT),
            ranges: RANGES.map(&mut prepare),
            index_update: prepare("UPDATE sbtest1 SET k=k+1 WHERE id=?"),
            update: prepare("UPDATE sbtest1 SET c=? WHERE id=?"),
            delete: prepare("DELETE FROM sbtest1 WHERE id=?"),
            insert: prepare("INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)"),
            commit: prepare("COMMIT"),
            connection,
            state: 0,
            rows,
        }
    }

    /// Sends one transaction, with ids that follow from a number; again for as long as the server ends it by a deadlock.
    pub(crate) fn run(&mut self, number: i64) {
        self.state = self.state.wrapping_add(number as u64);
        while !self.attempt() {
            assert!(self.connection.query("ROLLBACK"), "the server does not roll back");
        }
    }

    fn attempt(&mut self) -> bool {
        let Transaction { connection, state, rows, .. } = self;
        let mut id = || next_id(state, *rows);
        let one = |id: i64| [Value::Whole(id)];
        connection.execute(&mut self.begin, &[])
            && (0..POINTS).all(|_| connection.execute(&mut self.point, &one(id())))
            && self.ranges.iter_mut().all(|range| {
                let from = id();
                connection.execute(range, &[from, from + RANGE - 1].map(Value::Whole))
            })
            && connection.execute(&mut self.index_update, &one(id()))
            && connection.execute(&mut self.update, &[Value::Text(&digits::<119>(id())), Value::Whole(id())])
            && {
                let (id, k) = (id(), id());
                let row = [
                    Value::Whole(id),
                    Value::Whole(k),
                    Value::Text(&digits::<119>(k)),
                    Value::Text(&digits::<59>(k)),
                ];
                connection.execute(&mut self.delete, &one(id)) && connection.execute(&mut self.insert, &row)
            }
            && connection.execute(&mut self.commit, &[])
    }
}

/// Digits in groups of eleven.
fn digits<const LENGTH: usize>(mut number: i64) -> [u8; LENGTH] {
    std::array::from_fn(|place| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if place % 12 == 11 { b'-' } else { b'0' + (number as u64 >> 33) as u8 % 10 }
    })
}
