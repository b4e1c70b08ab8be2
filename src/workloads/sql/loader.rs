//! Makes the tables and fills them: several at a time, each row a pure function of the seed, its table and its
//! number, so that two loads of one description hold the same bytes.
//!
//! The schema's manifest says what each table holds. One whose loading was cut short is gone on with where its rows
//! end; one that holds what another case of the run wants is put aside under another name until that case comes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use super::fill::{Missing, Shared, Told};
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
/// How often the manifest is told how many rows are there: so much loading can be lost when all breaks down.
const TELL_MANIFEST: Duration = Duration::from_secs(2);

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

impl Load<'_> {
    /// Makes sure that the tables exist and hold the data set. A table that an earlier case left is used when it
    /// holds the same data and all of its rows are still there, and gone on with when its loading was cut short;
    /// otherwise it is dropped and made again.
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
        let size = self.tables.rows_each();
        let absent: u64 = missing.iter().map(|missing| u64::from(size - missing.rows)).sum();
        progress(self.tables.rows() - absent, self.tables.rows(), "rows");
        self.fill(&access, &mut at.schema, &missing, stop, progress)
    }

    /// Puts tables of other data aside or drops them, fetches those of this data, and makes those that are not there.
    /// Returns those that lack rows.
    fn make_missing(
        &self,
        client: &mut Client,
        schema: &mut OwnedSchema,
        stop: &Stop,
    ) -> anyhow::Result<Vec<Missing>> {
        self.change_names(client, schema)?;
        let names: Vec<String> = schema.tables().map(str::to_owned).collect();
        let mut absent: BTreeSet<u32> = (1..=self.tables.tables).collect();
        let mut missing = Vec::new();
        for name in names {
            match (self.tables.number(&name), self.rows_of_use(client, schema, &name)) {
                (None, _) if !is_put_aside(&name) => {}
                (None, _) if schema.data(&name).is_some_and(|data| schema.is_wanted(data)) => {}
                (Some(table), Some(rows)) => {
                    let whole = schema.dataset(&name).is_some();
                    missing.extend((absent.remove(&table) && !whole).then_some(Missing { table, rows }));
                }
                _ => schema.drop_table(client, &name)?,
            }
        }
        for table in absent {
            ensure!(!stop.requested(), STOPPED);
            self.make(client, schema, table).with_context(|| self.not_loaded(table))?;
            missing.push(Missing { table, rows: 0 });
        }
        missing.sort_by_key(|missing| missing.table);
        Ok(missing)
    }

    /// Puts aside what other cases of the run want, and fetches what was put aside for this one.
    fn change_names(&self, client: &mut Client, schema: &mut OwnedSchema) -> anyhow::Result<()> {
        let names: Vec<String> = schema.tables().map(str::to_owned).collect();
        let others = names.iter().filter(|name| self.tables.number(name).is_some()).filter_map(|name| {
            let data = schema.data(name)?;
            let wanted = data != self.description && schema.is_wanted(data);
            wanted.then(|| (name.clone(), put_aside(name, data)))
        });
        let others: Vec<(String, String)> = others.collect();
        schema.rename_tables(client, &others)?;
        let own = (1..=self.tables.tables)
            .map(|table| self.tables.name(table))
            .map(|name| (put_aside(&name, &self.description), name));
        let is_there = |(aside, name): &(String, String)| {
            schema.data(aside) == Some(self.description.as_str()) && schema.data(name).is_none()
        };
        let own: Vec<(String, String)> = own.filter(is_there).collect();
        Ok(schema.rename_tables(client, &own)?)
    }

    /// How many rows of a table can be used: all or, where loading was cut short, the first of them; `None` when it
    /// does not hold the very data of this case. The rows of a table beyond those of this case are not counted: they
    /// will be when a case uses it.
    fn rows_of_use(&self, client: &mut Client, schema: &OwnedSchema, name: &str) -> Option<u32> {
        let table = self.tables.number(name)?;
        if !self.tables.reuse || schema.data(name) != Some(self.description.as_str()) {
            return None;
        }
        match schema.part(name) {
            None if table > self.tables.tables => Some(self.tables.rows_each()),
            None => self.check_rows(client, table).ok().map(|()| self.tables.rows_each()),
            // A table without rows is made anew: its next number need not be 1 any more.
            Some((_, told)) => self.rows_that_can_stay(client, table, told).filter(|rows| *rows > 0),
        }
    }

    fn make(&self, client: &mut Client, schema: &mut OwnedSchema, table: u32) -> anyhow::Result<()> {
        let name = self.tables.name(table);
        schema.create_table(client, &name, &self.tables.definition())?;
        self.check_engine(client, table)?;
        Ok(schema.set_parts(client, [(name.as_str(), 0)], &self.description)?)
    }

    /// Fills the tables with a few connections, and tells how far it is.
    fn fill(
        &self,
        access: &Access,
        schema: &mut OwnedSchema,
        missing: &[Missing],
        stop: &Stop,
        progress: Progress<'_>,
    ) -> anyhow::Result<()> {
        let shared = Shared::new(access, stop, missing);
        let connections = missing.len().min(self.threads as usize).min(MOST_CONNECTIONS);
        thread::scope(|scope| {
            let (shared, (teller, told)) = (&shared, channel());
            let load = |teller: Sender<Told>| scope.spawn(move || self.fill_some(shared, &teller));
            let loaders: Vec<_> = (0..connections).map(|_| load(teller.clone())).collect();
            drop(teller);
            let followed = self.follow(shared, &told, schema, progress);
            shared.fail_if(followed.is_err());
            loaders.into_iter().try_for_each(|loader| {
                loader.join().unwrap_or_else(|_| bail!("a thread that loads rows panicked"))
            })?;
            followed
        })?;
        if stop.requested() {
            shared.await_end_of_connections();
            bail!(STOPPED);
        }
        Ok(())
    }

    /// Tells how many rows are loaded and keeps the manifest up to date, until all connections have ended; ends their
    /// statements on a stop.
    fn follow(
        &self,
        shared: &Shared<'_>,
        told: &Receiver<Told>,
        schema: &mut OwnedSchema,
        progress: Progress<'_>,
    ) -> anyhow::Result<()> {
        let of = self.tables.rows();
        let mut rows = shared.rows_there();
        let mut done = of - shared.rows_absent(self.tables.rows_each());
        let (mut killed, mut kept) = (false, Instant::now());
        loop {
            match told.recv_timeout(LOOK) {
                Ok(Told::Rows(more)) => {
                    done += u64::from(more);
                    progress(done, of, "rows");
                }
                Ok(Told::Kept(table, more)) => *rows.entry(table).or_default() += u64::from(more),
                Ok(Told::Whole(table)) => {
                    rows.remove(&table);
                    self.enter(shared.access, schema, table)?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if shared.stop.requested() && !std::mem::replace(&mut killed, true) {
                shared.kill_connections();
            }
            if kept.elapsed() > TELL_MANIFEST {
                self.enter_parts(shared.access, schema, &rows)?;
                kept = Instant::now();
            }
        }
        // After a stop or an error the next load begins where this one ended.
        if !rows.is_empty() {
            let _ = self.enter_parts(shared.access, schema, &rows);
        }
        Ok(())
    }

    pub(super) fn not_loaded(&self, table: u32) -> String {
        format!("table {} not loaded", self.tables.name(table))
    }

    /// States in the manifest that a table is whole. The connection is a new one: since the last table the server
    /// may have closed an idle one.
    fn enter(&self, access: &Access, schema: &mut OwnedSchema, table: u32) -> anyhow::Result<()> {
        let mut client = Client::connect(access)?;
        schema.set_dataset(&mut client, &self.tables.name(table), Some(&self.description))?;
        client.close();
        Ok(())
    }

    /// States in the manifest how many rows are there.
    fn enter_parts(
        &self,
        access: &Access,
        schema: &mut OwnedSchema,
        rows: &BTreeMap<u32, u64>,
    ) -> anyhow::Result<()> {
        let mut client = Client::connect(access)?;
        let named: Vec<(String, u64)> =
            rows.iter().map(|(table, rows)| (self.tables.name(*table), *rows)).collect();
        let parts = named.iter().map(|(name, rows)| (name.as_str(), *rows));
        schema.set_parts(&mut client, parts, &self.description)?;
        client.close();
        Ok(())
    }
}

/// The name of a table while its data is not in use.
fn put_aside(name: &str, description: &str) -> String {
    // FNV-1a: the manifest says what the table holds, the name only has to differ.
    let hash = description
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    format!("{name}_{hash:08x}")
}

/// Whether a table has a name that [`put_aside`] gave it.
fn is_put_aside(name: &str) -> bool {
    let is_hash = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    name.rsplit_once('_').is_some_and(|(_, hash)| is_hash(hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_was_put_aside_is_known_by_its_name() {
        let aside = put_aside("sbtest12", "rows 1: seed=1");
        assert!(is_put_aside(&aside) && aside.starts_with("sbtest12_"), "{aside}");
        assert_ne!(aside, put_aside("sbtest12", "rows 1: seed=2"));
        for name in ["sbtest12", "sbtest", "orders_archive", "sbtest_1"] {
            assert!(!is_put_aside(name), "{name}");
        }
    }
}
