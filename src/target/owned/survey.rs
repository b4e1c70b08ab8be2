//! What benchd has on a server, and what only looks like it: nothing is made here.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use super::ledger::Ledger;
use super::{DaemonIdentity, OwnedSchema, OwnershipError, marker, new_entry};
use crate::target::client::Client;
use crate::target::error::SqlError;
use crate::target::facts;

/// Between two drops: each may hold up the server's other work for a moment.
const PAUSE: Duration = Duration::from_millis(100);

impl OwnedSchema {
    /// The schema of an earlier run; `None` when there is none, or nothing in it yet.
    ///
    /// # Errors
    /// As [`OwnedSchema::claim`].
    pub fn existing(
        client: &mut Client,
        target: &str,
        daemon: &DaemonIdentity,
        local: &Path,
    ) -> Result<Option<OwnedSchema>, OwnershipError> {
        let name = marker::schema_name(daemon.uuid);
        if !marker::schema_exists(client, &name)? {
            return Ok(None);
        }
        let server = facts::identity(client)?;
        let ledger = Ledger::read(local)?;
        let entry = ledger.entry(&server).cloned().unwrap_or_else(|| new_entry(daemon, server));
        let mut schema =
            OwnedSchema { name, target: target.to_owned(), ledger, entry, wanted: BTreeSet::new() };
        if schema.may_resume(client)? {
            return Ok(None);
        }
        let contents = schema.prove(client)?;
        schema.entry.tables.retain(|table, _| contents.tables.contains(table));
        Ok(Some(schema))
    }

    /// When it was made.
    pub fn created(&self) -> Timestamp {
        self.entry.owner.created
    }

    /// Bytes its tables take, as the server says.
    ///
    /// # Errors
    /// When the server does not answer.
    pub fn bytes(&self, client: &mut Client) -> Result<u64, SqlError> {
        let sql = format!(
            "SELECT CAST(COALESCE(SUM(data_length + index_length), 0) AS UNSIGNED) FROM information_schema.tables \
             WHERE table_schema = '{}'",
            self.name
        );
        let rows = client.rows(&sql)?;
        Ok(rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok()).unwrap_or(0))
    }

    /// Drops every table that was created here, one by one, each after the proof. The empty schema stays, with its
    /// marker.
    ///
    /// # Errors
    /// When ownership is no longer proved, or the server says no.
    pub fn drop_all(&mut self, client: &mut Client) -> Result<(), OwnershipError> {
        let tables: Vec<String> = self.tables().map(str::to_owned).collect();
        for (index, table) in tables.iter().enumerate() {
            if index > 0 {
                std::thread::sleep(PAUSE);
            }
            self.drop_table(client, table)?;
        }
        Ok(())
    }
}

/// Schemas whose names begin as benchd's and that are not this daemon's: copies, or another daemon's.
///
/// # Errors
/// When the server does not answer.
pub fn foreign_schemas(client: &mut Client, daemon: &DaemonIdentity) -> Result<Vec<String>, SqlError> {
    let sql = format!(
        "SELECT schema_name FROM information_schema.schemata WHERE schema_name LIKE 'benchd\\_scratch\\_%' \
         AND schema_name <> '{}' ORDER BY 1",
        marker::schema_name(daemon.uuid)
    );
    Ok(client.rows(&sql)?.into_iter().flatten().flatten().collect())
}
