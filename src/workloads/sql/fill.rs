//! Fills one table after the other on a connection of its own, and checks what is in them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::batch::Batch;
use super::inserts::{Inserts, Rows};
use super::loader::Load;
use crate::driver::Stop;
use crate::driver::random::Random;
use crate::target::{Access, Client, SqlError};

/// Rows that are read back of each table, beside its first and its last.
const SAMPLE: u64 = 62;
/// Statements of one connection in memory: one on its way, one being written.
const STATEMENTS_AHEAD: usize = 2;
/// "The table is full".
const TABLE_FULL: u16 = 1114;
/// The longest wait for the end of connections that were killed, and how often the server is asked meanwhile.
const LONGEST_END: Duration = Duration::from_millis(500);
const ASK: Duration = Duration::from_millis(2);

/// A table that lacks rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) table: u32,
    /// The rows that are there.
    pub(super) rows: u32,
}

/// What a connection tells of its load.
pub(super) enum Told {
    /// So many rows more were taken by the server.
    Rows(u32),
    /// So many rows more of a table are kept by the server whatever happens.
    Kept(u32, u32),
    /// This table has all of its rows, checked, and its index.
    Whole(u32),
}

/// What the connections of a load share.
pub(super) struct Shared<'a> {
    pub(super) access: &'a Access,
    pub(super) stop: &'a Stop,
    /// The tables to fill, and the place of the next one that nobody fills yet.
    missing: &'a [Missing],
    next: AtomicUsize,
    /// Set when something met an error: the others need not go on.
    failed: AtomicBool,
    /// The server's numbers of the connections.
    connections: Mutex<Vec<u32>>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(access: &'a Access, stop: &'a Stop, missing: &'a [Missing]) -> Shared<'a> {
        Shared {
            access,
            stop,
            missing,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            connections: Mutex::new(Vec::new()),
        }
    }

    /// The rows that are there of the tables to fill, by table.
    pub(super) fn rows_there(&self) -> BTreeMap<u32, u64> {
        self.missing.iter().map(|missing| (missing.table, u64::from(missing.rows))).collect()
    }

    /// How many rows are to come, of tables of such a size.
    pub(super) fn rows_absent(&self, table_size: u32) -> u64 {
        self.missing.iter().map(|missing| u64::from(table_size - missing.rows)).sum()
    }

    /// Ends the load of all connections when something failed.
    pub(super) fn fail_if(&self, failed: bool) {
        self.failed.fetch_or(failed, Ordering::Relaxed);
    }

    fn connect(&self) -> anyhow::Result<Client> {
        let client = Client::connect(self.access)?;
        if let Ok(mut connections) = self.connections.lock() {
            connections.push(client.id());
        }
        Ok(client)
    }

    fn next_table(&self) -> Option<Missing> {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        self.missing.get(place).filter(|_| !self.ending()).copied()
    }

    fn ending(&self) -> bool {
        self.stop.requested() || self.failed.load(Ordering::Relaxed)
    }

    /// Ends the statements under way from another connection: an index can take long to make.
    pub(super) fn kill_connections(&self) {
        let Ok(mut killer) = Client::connect(self.access) else { return };
        let connections = self.connections.lock().map(|ids| ids.clone()).unwrap_or_default();
        for connection in connections {
            // One that has ended by itself cannot be killed.
            let _ = killer.query(&format!("KILL {connection}"));
        }
        killer.close();
    }

    /// Waits until the server has ended the connections that were killed: until then rows may still come from them, and
    /// who goes on with the load would count too few.
    pub(super) fn await_end_of_connections(&self) {
        let Ok(mut client) = Client::connect(self.access) else { return };
        let killed = self.connections.lock().map(|ids| ids.clone()).unwrap_or_default();
        let begun = Instant::now();
        while any_alive(&mut client, &killed) && begun.elapsed() < LONGEST_END {
            thread::sleep(ASK);
        }
        client.close();
    }
}

/// Whether the server still has any of these connections, as far as it tells.
fn any_alive(client: &mut Client, connections: &[u32]) -> bool {
    let all = client.rows("SHOW PROCESSLIST").unwrap_or_default();
    let mut ids = all.iter().filter_map(|row| row.first()?.as_deref()?.parse().ok());
    ids.any(|id| connections.contains(&id))
}

impl Load<'_> {
    /// Fills one table after the other until none is left.
    pub(super) fn fill_some(&self, shared: &Shared<'_>, told: &Sender<Told>) -> anyhow::Result<()> {
        let filled = shared.connect().and_then(|mut client| {
            let filled = self.fill_next(&mut client, shared, told);
            client.close();
            filled
        });
        // A connection that was killed by a stop is no error of its own.
        if filled.is_err() && !shared.stop.requested() {
            shared.fail_if(true);
            return filled;
        }
        Ok(())
    }

    fn fill_next(&self, client: &mut Client, shared: &Shared<'_>, told: &Sender<Told>) -> anyhow::Result<()> {
        while let Some(missing) = shared.next_table() {
            self.fill_table(client, missing, shared, told).with_context(|| self.not_loaded(missing.table))?;
        }
        Ok(())
    }

    fn fill_table(
        &self,
        client: &mut Client,
        missing: Missing,
        shared: &Shared<'_>,
        told: &Sender<Told>,
    ) -> anyhow::Result<()> {
        let Missing { table, rows } = missing;
        let index_first = self.tables.index_first();
        if index_first {
            self.make_index(client, table, true)?;
        }
        // Whoever is told has gone only when it met an error, and that is reported.
        let tell = |what| told.send(what).unwrap_or_default();
        if !self.insert_all(client, missing, shared, &tell)? {
            return Ok(());
        }
        if !index_first {
            self.make_index(client, table, rows > 0)?;
        }
        self.check_rows(client, table)?;
        self.check_sample(client, table, self.tables.rows_each())?;
        tell(Told::Whole(table));
        Ok(())
    }

    /// Sends the rows that a table lacks, while the next statement is written by a thread of its own, so that the
    /// server does not wait for it. False when the load is ending before that is done.
    fn insert_all(
        &self,
        client: &mut Client,
        Missing { table, rows }: Missing,
        shared: &Shared<'_>,
        tell: &dyn Fn(Told),
    ) -> anyhow::Result<bool> {
        let inserts = Inserts::after(rows, self.tables, self.rows(table), table);
        thread::scope(|scope| {
            let ((written, to_send), (used, to_write)) = (channel(), channel());
            (0..STATEMENTS_AHEAD).try_for_each(|_| used.send(String::new()))?;
            scope.spawn(move || write_ahead(inserts, &to_write, &written));
            let mut open = Batch::of(self.tables, table);
            for (statement, rows) in to_send {
                if shared.ending() {
                    return Ok(false);
                }
                let inserted = open.insert(client, &statement, rows, shared.stop, tell);
                inserted.map_err(|error| self.not_inserted(error))?;
                tell(Told::Rows(rows));
                // The other thread has gone when all is written.
                let _ = used.send(statement);
            }
            open.keep(client, tell)?;
            Ok(true)
        })
    }

    /// Makes the index on k; of a table whose loading was cut short it may be there.
    fn make_index(&self, client: &mut Client, table: u32, may_be_there: bool) -> anyhow::Result<()> {
        let Some(index) = self.tables.create_index(table) else { return Ok(()) };
        let name = index.split_whitespace().nth(2).unwrap_or_default();
        if may_be_there {
            let question = format!("SHOW INDEX FROM {} WHERE Key_name = '{name}'", self.tables.name(table));
            if !client.rows(&question)?.is_empty() {
                return Ok(());
            }
        }
        client.query(&index)?;
        Ok(())
    }

    fn not_inserted(&self, error: SqlError) -> anyhow::Error {
        let full = error.code == Some(TABLE_FULL);
        let advice = match self.tables.engine.to_ascii_lowercase().as_str() {
            "memory" | "heap" if full => {
                "; raise max_heap_table_size, in which a table of this engine must fit, or lower `table_size`"
            }
            _ => "",
        };
        anyhow::anyhow!("{error}{advice}")
    }

    fn rows(&self, table: u32) -> Rows<'_> {
        Rows::of(table, self.tables.shape, self.k, self.seed)
    }

    /// A server may make a table with another engine than the one asked for.
    pub(super) fn check_engine(&self, client: &mut Client, table: u32) -> anyhow::Result<()> {
        let name = self.tables.name(table);
        let question = format!(
            "SELECT ENGINE FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{name}'"
        );
        let rows = client.rows(&question)?;
        let found = rows.into_iter().flatten().flatten().next().unwrap_or_default();
        ensure!(
            self.tables.is_engine(&found),
            "the server made it with engine {found} instead of {}; SHOW ENGINES lists those it has",
            self.tables.engine
        );
        Ok(())
    }

    /// All rows must be there, numbered from 1.
    pub(super) fn check_rows(&self, client: &mut Client, table: u32) -> anyhow::Result<()> {
        let name = self.tables.name(table);
        let size = self.tables.rows_each().to_string();
        let found = self.count(client, table)?;
        let whole = if size == "0" { [size.as_str(), "", ""] } else { [size.as_str(), "1", size.as_str()] };
        ensure!(
            found == whole,
            "{name} holds {} instead of rows 1 to {size}; if the server numbers rows in steps \
             (auto_increment_increment), write auto_inc = false",
            match found.as_slice() {
                [count, first, last] => format!("{count} rows with ids from {first} to {last}"),
                _ => "an unknown number of rows".to_owned(),
            }
        );
        Ok(())
    }

    /// The number of rows of a table, its least id and its largest.
    fn count(&self, client: &mut Client, table: u32) -> Result<Vec<String>, SqlError> {
        let name = self.tables.name(table);
        let rows = client.rows(&format!("SELECT COUNT(*), MIN(id), MAX(id) FROM {name}"))?;
        Ok(rows.into_iter().flatten().map(Option::unwrap_or_default).collect())
    }

    /// How many rows of a table whose loading was cut short can stay: the server has no fewer than the manifest was
    /// told of, no gap is among them, and those looked at are the right ones.
    pub(super) fn rows_that_can_stay(&self, client: &mut Client, table: u32, told: u64) -> Option<u32> {
        let found = self.count(client, table).ok()?;
        let [rows, first, last] = found.as_slice() else { return None };
        let count: u32 = rows.parse().ok()?;
        let without_gap = count == 0 || (first == "1" && last == rows);
        let fits = without_gap && u64::from(count) >= told && count <= self.tables.rows_each();
        let stay = fits && self.check_sample(client, table, count).is_ok();
        stay.then_some(count)
    }

    /// Reads some of the first `count` rows back: they must be those that were sent.
    fn check_sample(&self, client: &mut Client, table: u32, count: u32) -> anyhow::Result<()> {
        if count == 0 {
            return Ok(());
        }
        let name = self.tables.name(table);
        let ids = sample(self.seed ^ u64::from(table), count);
        let list: Vec<String> = ids.iter().map(u32::to_string).collect();
        let sql = format!("SELECT id, k, c, pad FROM {name} WHERE id IN ({}) ORDER BY id", list.join(","));
        let found = client.rows(&sql)?;
        let rows = self.rows(table);
        for (place, id) in ids.iter().enumerate() {
            let [k, c, pad] = rows.values(*id);
            let sent = [id.to_string(), k, c, pad];
            let same = found.get(place).is_some_and(|row| is_row(row, &sent));
            ensure!(
                same,
                "row {id} of {name} is not the one that was sent: the server changed it, or others write here"
            );
        }
        Ok(())
    }
}

/// Writes statements into texts that were used, until all are written or nobody wants them any more.
fn write_ahead(mut inserts: Inserts<'_>, used: &Receiver<String>, written: &Sender<(String, u32)>) {
    while let Ok(mut statement) = used.recv() {
        let rows = inserts.write(&mut statement);
        if rows == 0 || written.send((statement, rows)).is_err() {
            return;
        }
    }
}

/// Whether a row read back is the one sent; a server may fill up texts with blanks.
fn is_row(row: &[Option<String>], sent: &[String; 4]) -> bool {
    let found = row.iter().map(|value| value.as_deref().unwrap_or_default().trim_end());
    found.eq(sent.iter().map(String::as_str))
}

/// The first row, the last, and some between them, in order.
fn sample(seed: u64, count: u32) -> Vec<u32> {
    let mut random = Random::for_operation(seed, u64::from(count));
    let between = (0..SAMPLE).map(|_| 1 + random.below(u64::from(count)) as u32);
    let mut ids: Vec<u32> = [1, count].into_iter().chain(between).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_first_row_and_the_last_and_none_twice() {
        for count in [1, 2, 63, 64, 1_000_000] {
            let ids = sample(7, count);
            assert_eq!((ids[0], *ids.last().unwrap()), (1, count));
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
            assert!(ids.len() <= 64);
        }
        assert_eq!(sample(7, 1_000_000).len(), 64);
        assert_ne!(sample(7, 1_000_000), sample(8, 1_000_000));
    }
}
