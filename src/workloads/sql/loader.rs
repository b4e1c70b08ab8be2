//! Makes the tables and fills them: several at a time, each row a pure function of the seed, its table and its
//! number, so that two loads of one description hold the same bytes.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::inserts::Inserts;
use super::schema::Tables;
use crate::driver::Stop;
use crate::driver::random::Ids;
use crate::target::{Access, Client, OwnedSchema, PreparedTarget};
use crate::units::Span;

/// More connections load no faster on a host that is to be measured, and each holds a statement in memory.
const MOST_CONNECTIONS: usize = 8;
/// What is said when the load was asked to stop.
const STOPPED: &str = "loading was stopped before its end";
/// How often the load looks whether it should stop.
const LOOK: Duration = Duration::from_millis(100);

/// The data set of one case.
#[derive(Debug)]
pub(crate) struct Load<'a> {
    /// What the tables are.
    pub(crate) tables: &'a Tables,
    /// How column k is drawn.
    pub(crate) k: &'a Ids,
    /// What decides the rows of each table, as text.
    pub(crate) description: String,
    /// Seed of the rows.
    pub(crate) seed: u64,
    /// Clients of the case; no more connections than these load it.
    pub(crate) threads: u32,
}

/// How far a load is: told with rows done, rows in all, and the word for them.
type Progress<'a> = &'a mut dyn FnMut(u64, u64, &'static str);

/// What a connection tells of its load.
enum Told {
    /// So many rows more are in a table.
    Rows(u64),
    /// This table has all of its rows, checked, and its index.
    Whole(u32),
}

/// What the connections of a load share.
struct Shared<'a> {
    access: &'a Access,
    stop: &'a Stop,
    /// The tables to fill, and the place of the next one that nobody fills yet.
    missing: &'a [u32],
    next: AtomicUsize,
    /// Set when something met an error: the others need not go on.
    failed: AtomicBool,
    /// The server's numbers of the connections.
    connections: Mutex<Vec<u32>>,
}

impl Load<'_> {
    /// Makes sure that the tables exist and hold the data set. A table that an earlier case left is used when it
    /// holds the same data and all of its rows are still there; otherwise it is dropped and made again.
    pub(crate) fn ensure(
        &self,
        at: &mut PreparedTarget,
        stop: &Stop,
        progress: Progress<'_>,
    ) -> anyhow::Result<()> {
        // Loading waits as long as it takes: a large table's index is one statement.
        let access = Access { statement_timeout: Span::ZERO, ..at.access.clone() };
        let mut client = Client::connect(&access)?;
        let missing = self.make_missing(&mut client, &mut at.schema, stop)?;
        client.close();
        let rows = u64::from(self.tables.rows_each());
        let kept = self.tables.rows() - missing.len() as u64 * rows;
        progress(kept, self.tables.rows(), "rows");
        self.fill(&access, &mut at.schema, &missing, stop, progress)
    }

    /// Drops tables that hold other data, and makes those that are not there, still empty. Returns the numbers of
    /// these.
    fn make_missing(
        &self,
        client: &mut Client,
        schema: &mut OwnedSchema,
        stop: &Stop,
    ) -> anyhow::Result<Vec<u32>> {
        let names: Vec<String> = schema.tables().map(str::to_owned).collect();
        let mut missing: BTreeSet<u32> = (1..=self.tables.tables).collect();
        for name in names {
            let Some(table) = self.tables.number(&name) else { continue };
            if self.may_use(client, schema, table) {
                missing.remove(&table);
            } else {
                schema.drop_table(client, &name)?;
            }
        }
        for table in &missing {
            ensure!(!stop.requested(), STOPPED);
            self.make(client, schema, *table).with_context(|| self.not_loaded(*table))?;
        }
        Ok(missing.into_iter().collect())
    }

    /// Whether a table holds the very data of this case. The rows of a table beyond those of this case are not
    /// counted: they will be when a case uses it.
    fn may_use(&self, client: &mut Client, schema: &OwnedSchema, table: u32) -> bool {
        let same = schema.dataset(&self.tables.name(table)) == Some(self.description.as_str());
        self.tables.reuse && same && (table > self.tables.tables || self.check_rows(client, table).is_ok())
    }

    fn make(&self, client: &mut Client, schema: &mut OwnedSchema, table: u32) -> anyhow::Result<()> {
        schema.create_table(client, &self.tables.name(table), &self.tables.definition())?;
        self.check_engine(client, table)
    }

    /// Fills the empty tables with a few connections, and tells how far it is.
    fn fill(
        &self,
        access: &Access,
        schema: &mut OwnedSchema,
        missing: &[u32],
        stop: &Stop,
        progress: Progress<'_>,
    ) -> anyhow::Result<()> {
        let shared = Shared {
            access,
            stop,
            missing,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            connections: Mutex::new(Vec::new()),
        };
        let connections = missing.len().min(self.threads as usize).min(MOST_CONNECTIONS);
        thread::scope(|scope| {
            let (shared, (teller, told)) = (&shared, channel());
            let load = |teller: Sender<Told>| scope.spawn(move || self.fill_some(shared, &teller));
            let loaders: Vec<_> = (0..connections).map(|_| load(teller.clone())).collect();
            drop(teller);
            let followed = self.follow(shared, &told, schema, progress);
            shared.failed.fetch_or(followed.is_err(), Ordering::Relaxed);
            loaders.into_iter().try_for_each(|loader| {
                loader.join().unwrap_or_else(|_| bail!("a thread that loads rows panicked"))
            })?;
            followed
        })?;
        ensure!(!stop.requested(), STOPPED);
        Ok(())
    }

    /// Tells how many rows are loaded and enters whole tables in the manifest, until all connections have ended;
    /// ends their statements on a stop.
    fn follow(
        &self,
        shared: &Shared<'_>,
        told: &Receiver<Told>,
        schema: &mut OwnedSchema,
        progress: Progress<'_>,
    ) -> anyhow::Result<()> {
        let of = self.tables.rows();
        let mut done = of - shared.missing.len() as u64 * u64::from(self.tables.rows_each());
        let mut killed = false;
        loop {
            match told.recv_timeout(LOOK) {
                Ok(Told::Rows(rows)) => {
                    done += rows;
                    progress(done, of, "rows");
                }
                Ok(Told::Whole(table)) => self.enter(shared.access, schema, table)?,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if shared.stop.requested() && !std::mem::replace(&mut killed, true) {
                shared.kill_connections();
            }
        }
    }

    /// States in the manifest that a table is whole. The connection is a new one: since the last table the server
    /// may have closed an idle one.
    fn enter(&self, access: &Access, schema: &mut OwnedSchema, table: u32) -> anyhow::Result<()> {
        let mut client = Client::connect(access)?;
        schema.set_dataset(&mut client, &self.tables.name(table), Some(&self.description))?;
        client.close();
        Ok(())
    }

    /// Fills one table after the other until none is left.
    fn fill_some(&self, shared: &Shared<'_>, told: &Sender<Told>) -> anyhow::Result<()> {
        let filled = shared.connect().and_then(|mut client| {
            let filled = self.fill_next(&mut client, shared, told);
            client.close();
            filled
        });
        // A connection that was killed by a stop is no error of its own.
        if filled.is_err() && !shared.stop.requested() {
            shared.failed.store(true, Ordering::Relaxed);
            return filled;
        }
        Ok(())
    }

    fn fill_next(&self, client: &mut Client, shared: &Shared<'_>, told: &Sender<Told>) -> anyhow::Result<()> {
        while let Some(table) = shared.next_table() {
            self.fill_table(client, table, shared, told).with_context(|| self.not_loaded(table))?;
        }
        Ok(())
    }

    fn fill_table(
        &self,
        client: &mut Client,
        table: u32,
        shared: &Shared<'_>,
        told: &Sender<Told>,
    ) -> anyhow::Result<()> {
        // Whoever is told has gone only when it met an error, and that is reported.
        let tell = |what| told.send(what).unwrap_or_default();
        let index = self.tables.create_index(table);
        let (before, after) = if self.tables.index_first() { (index, None) } else { (None, index) };
        before.map_or(Ok(()), |index| client.query(&index).map(drop))?;
        let mut inserts = Inserts::new(self.tables, self.k, self.seed, table);
        while let Some((statement, rows)) = inserts.next() {
            if shared.ending() {
                return Ok(());
            }
            client.query(statement)?;
            tell(Told::Rows(rows));
        }
        after.map_or(Ok(()), |index| client.query(&index).map(drop))?;
        self.check_rows(client, table)?;
        tell(Told::Whole(table));
        Ok(())
    }

    /// A server may make a table with another engine than the one asked for.
    fn check_engine(&self, client: &mut Client, table: u32) -> anyhow::Result<()> {
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
    fn check_rows(&self, client: &mut Client, table: u32) -> anyhow::Result<()> {
        let name = self.tables.name(table);
        let rows = client.rows(&format!("SELECT COUNT(*), MIN(id), MAX(id) FROM {name}"))?;
        let found: Vec<String> = rows.into_iter().flatten().map(Option::unwrap_or_default).collect();
        let size = self.tables.rows_each().to_string();
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

    fn not_loaded(&self, table: u32) -> String {
        format!("table {} not loaded", self.tables.name(table))
    }
}

impl Shared<'_> {
    fn connect(&self) -> anyhow::Result<Client> {
        let client = Client::connect(self.access)?;
        if let Ok(mut connections) = self.connections.lock() {
            connections.push(client.id());
        }
        Ok(client)
    }

    fn next_table(&self) -> Option<u32> {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        self.missing.get(place).filter(|_| !self.ending()).copied()
    }

    fn ending(&self) -> bool {
        self.stop.requested() || self.failed.load(Ordering::Relaxed)
    }

    /// Ends the statements under way from another connection: an index can take long to make.
    fn kill_connections(&self) {
        let Ok(mut killer) = Client::connect(self.access) else { return };
        let connections = self.connections.lock().map(|ids| ids.clone()).unwrap_or_default();
        for connection in connections {
            // One that has ended by itself cannot be killed.
            let _ = killer.query(&format!("KILL {connection}"));
        }
        killer.close();
    }
}
