//! Reads every table once, so that a measurement begins with what it needs in the server's memory.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use super::schema::Tables;
use crate::driver::Stop;
use crate::target::{Access, Client};
use crate::units::Span;

/// How often reading looks whether it should stop.
const LOOK: Duration = Duration::from_millis(100);

/// Reads all tables, one after the other. `progress` is told tables read, tables in all, and the word for them.
pub(crate) fn read_all(
    access: &Access,
    tables: &Tables,
    stop: &Stop,
    progress: &mut dyn FnMut(u64, u64, &'static str),
) -> anyhow::Result<()> {
    // Reading waits as long as it takes: a large table is one statement.
    let access = Access { statement_timeout: Span::ZERO, ..access.clone() };
    let client = Client::connect(&access)?;
    let connection = client.id();
    thread::scope(|scope| {
        let (teller, told) = channel();
        // Whoever is told has gone only when all is over.
        let tell = move |table| teller.send(table).unwrap_or_default();
        let reader = scope.spawn(move || read(client, tables, stop, tell));
        let mut killed = false;
        loop {
            match told.recv_timeout(LOOK) {
                Ok(table) => progress(table, u64::from(tables.tables), "tables"),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if stop.requested() && !std::mem::replace(&mut killed, true) {
                kill(&access, connection);
            }
        }
        let read = reader.join().unwrap_or_else(|_| bail!("the thread that reads tables panicked"));
        ensure!(!stop.requested(), "reading the tables was stopped before its end");
        read
    })
}

fn read(mut client: Client, tables: &Tables, stop: &Stop, tell: impl Fn(u64)) -> anyhow::Result<()> {
    for table in 1..=tables.tables {
        for sql in statements(tables, table) {
            if stop.requested() {
                return Ok(());
            }
            client
                .query(&sql)
                .with_context(|| format!("table {} not read before the warm-up", tables.name(table)))?;
        }
        tell(u64::from(table));
    }
    client.close();
    Ok(())
}

/// What sysbench 1.0.20 sends for `prewarm`, but without LIMIT in the inner SELECT: with it the server would first copy the
/// table, into memory of up to 2 GiB.
fn statements(tables: &Tables, table: u32) -> [String; 3] {
    let name = tables.name(table);
    // Without a primary key the rows themselves are read when the key on id is left out.
    let key = if tables.secondary { "IGNORE KEY (xid)" } else { "FORCE KEY (PRIMARY)" };
    [
        format!("ANALYZE TABLE {name}"),
        format!("SELECT AVG(id) FROM (SELECT * FROM {name} {key}) t"),
        format!("SELECT COUNT(*) FROM (SELECT * FROM {name} WHERE k LIKE '%0%') t"),
    ]
}

/// Ends the statement under way from another connection.
fn kill(access: &Access, connection: u32) {
    let Ok(mut killer) = Client::connect(access) else { return };
    // One that has ended by itself cannot be killed.
    let _ = killer.query(&format!("KILL {connection}"));
    killer.close();
}
