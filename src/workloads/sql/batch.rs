//! INSERTs that become permanent together.

use std::time::{Duration, Instant};

use super::fill::Told;
use super::schema::Tables;
use super::session::pause;
use crate::driver::Stop;
use crate::target::{Client, SqlError};

/// So many statements become permanent together: waiting for the disk after each costs a fifth of the time. What is
/// lost when all breaks down is loaded again.
const STATEMENTS: u32 = 8;
/// "Got temporary error": a cluster writes no faster than its data nodes empty their redo logs (410), and has no room
/// for more changes at once than it was given (1217, 1234).
const TEMPORARY: u16 = 1297;
/// The longest a cluster is waited for to take one statement.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long until it is asked again.
const WAIT: Duration = Duration::from_millis(500);

/// Rows of one table that a connection has sent and that are not permanent yet.
pub(super) struct Batch {
    table: u32,
    statements: u32,
    rows: u32,
    /// Whether they go to a cluster. It takes so many changed rows in one transaction and no more, and a statement that
    /// it cannot take now it may take later.
    cluster: bool,
}

impl Batch {
    /// An empty one.
    pub(super) fn of(tables: &Tables, table: u32) -> Batch {
        Batch { table, statements: 0, rows: 0, cluster: tables.is_cluster() }
    }

    /// Sends a statement of so many rows, and makes permanent what is enough.
    pub(super) fn insert(
        &mut self,
        client: &mut Client,
        statement: &str,
        rows: u32,
        stop: &Stop,
        tell: &dyn Fn(Told),
    ) -> Result<(), SqlError> {
        let begun = Instant::now();
        loop {
            match self.try_insert(client, statement, rows, tell) {
                Err(error) if self.cluster && error.code == Some(TEMPORARY) && begun.elapsed() < PATIENCE => {
                    client.query("ROLLBACK")?;
                    (self.statements, self.rows) = (0, 0);
                    if pause(stop, WAIT) {
                        return Err(error);
                    }
                }
                tried => return tried,
            }
        }
    }

    fn try_insert(
        &mut self,
        client: &mut Client,
        statement: &str,
        rows: u32,
        tell: &dyn Fn(Told),
    ) -> Result<(), SqlError> {
        if self.statements == 0 {
            client.query("BEGIN")?;
        }
        client.query(statement)?;
        self.statements += 1;
        self.rows += rows;
        let enough = if self.cluster { 1 } else { STATEMENTS };
        if self.statements >= enough { self.keep(client, tell) } else { Ok(()) }
    }

    /// Makes permanent what is not yet.
    pub(super) fn keep(&mut self, client: &mut Client, tell: &dyn Fn(Told)) -> Result<(), SqlError> {
        if self.statements > 0 {
            client.query("COMMIT")?;
            tell(Told::Kept(self.table, self.rows));
        }
        (self.statements, self.rows) = (0, 0);
        Ok(())
    }
}
