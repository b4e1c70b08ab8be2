//! The one schema on a server that benchd may change, and the proof that it made everything in it.
//!
//! The proof has two sides that must agree: a marker table in the schema, and the same facts in a local file. A
//! schema of the same name without them is someone's; one whose marker names another server is a copy. Both are
//! left alone. Tables are dropped one by one by their full name; the schema itself is never dropped, because a
//! table made between the check and the drop would go with it.

mod ledger;
mod marker;
mod survey;
mod tables;

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use uuid::Uuid;

use self::ledger::{Data, Entry, Ledger, Manifest, Owner};
pub(crate) use self::marker::schema_name;
use self::marker::{Contents, MARKER_TABLE, Marker};
pub use self::survey::foreign_schemas;
use super::access::Access;
use super::client::Client;
use super::error::SqlError;
use super::facts;

/// "Database exists".
const SCHEMA_EXISTS: u16 = 1007;
/// "Unknown table".
const NO_SUCH_TABLE: u16 = 1051;

/// Whose work a schema is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonIdentity {
    /// The daemon's own number, made once with its store.
    pub uuid: Uuid,
    /// The name of the host it runs on.
    pub host: String,
}

/// Why nothing was done in a schema.
#[derive(Debug, thiserror::Error)]
pub enum OwnershipError {
    /// The schema is a copy: its marker names another server.
    #[error("{0}")]
    Foreign(String),
    /// The schema, or something in it, is not proved to be benchd's.
    #[error("{0}")]
    Refused(String),
    /// The server said no, or nothing.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// The local side of the proof cannot be read or written.
    #[error("{0:#}")]
    Local(#[from] anyhow::Error),
}

/// A schema that is proved to be benchd's own: the only thing that can create or drop tables.
#[derive(Debug)]
pub struct OwnedSchema {
    name: String,
    target: String,
    ledger: Ledger,
    entry: Entry,
    /// Data sets that are wanted beside the one in use.
    wanted: BTreeSet<String>,
}

/// A server that is ready for a workload: how to reach it, and where in it there is room.
#[derive(Debug)]
pub struct PreparedTarget {
    /// With the schema set.
    pub access: Access,
    /// What may be made and dropped.
    pub schema: OwnedSchema,
}

impl PreparedTarget {
    /// Claims benchd's schema on the server a client is connected to.
    ///
    /// # Errors
    /// As [`OwnedSchema::claim`].
    pub fn claim(
        client: &mut Client,
        target: &str,
        daemon: &DaemonIdentity,
        local: &Path,
    ) -> Result<PreparedTarget, OwnershipError> {
        let schema = OwnedSchema::claim(client, target, daemon, local)?;
        let access = Access { schema: Some(schema.name.clone()), ..client.access().clone() };
        Ok(PreparedTarget { access, schema })
    }
}

impl OwnedSchema {
    /// Takes the schema `benchd_scratch_<8 hex digits of the daemon>` of a server, or makes it where there is
    /// none. `local` is the file of the local side; it may serve several servers.
    ///
    /// # Errors
    /// When ownership of the schema or of anything in it is not proved (it is then untouched), or the server or
    /// the file cannot be used.
    pub fn claim(
        client: &mut Client,
        target: &str,
        daemon: &DaemonIdentity,
        local: &Path,
    ) -> Result<OwnedSchema, OwnershipError> {
        let server = facts::identity(client)?;
        let name = marker::schema_name(daemon.uuid);
        let ledger = Ledger::read(local)?;
        let known = ledger.entry(&server).cloned();
        let exists = marker::schema_exists(client, &name)?;
        let (entry, make) = match known {
            Some(entry) if exists => (entry, false),
            _ => (new_entry(daemon, server), !exists),
        };
        let mut schema =
            OwnedSchema { name, target: target.to_owned(), ledger, entry, wanted: BTreeSet::new() };
        if make {
            schema.make(client)?;
        } else if schema.may_resume(client)? {
            schema.mark(client)?;
        }
        let contents = schema.prove(client)?;
        schema.entry.marked = true;
        schema.entry.tables.retain(|table, _| contents.tables.contains(table));
        schema.publish(client)?;
        Ok(schema)
    }

    /// The schema's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Creates a table. `definition` is what follows `CREATE TABLE name`. Use a connection whose statement limit
    /// suits the work.
    ///
    /// # Errors
    /// When ownership is no longer proved, a table of this name exists, or the server says no.
    pub fn create_table(
        &mut self,
        client: &mut Client,
        table: &str,
        definition: &str,
    ) -> Result<(), OwnershipError> {
        self.check_table_name(table)?;
        let contents = self.prove(client)?;
        if contents.tables.contains(table) {
            return Err(self.refused(&format!("it already holds table {table}; drop it first")));
        }
        self.entry.tables.insert(table.to_owned(), Data::Unknown);
        self.publish(client)?;
        let created = client.query(&format!("CREATE TABLE `{}`.`{table}` {definition}", self.name));
        if let Err(error) = created {
            let error = explained(client, error);
            // The server said no, so what may have that name now is not ours. Without its answer it may be.
            if error.code.is_some() {
                self.entry.tables.remove(table);
                self.publish(client)?;
            }
            return Err(error.into());
        }
        Ok(())
    }

    /// Drops a table that was created here.
    ///
    /// # Errors
    /// When ownership is no longer proved, the table was not created here, or the server says no.
    pub fn drop_table(&mut self, client: &mut Client, table: &str) -> Result<(), OwnershipError> {
        if !self.entry.tables.contains_key(table) {
            return Err(self.not_made_here(table));
        }
        self.prove(client)?;
        match client.query(&format!("DROP TABLE `{}`.`{table}`", self.name)) {
            Err(error) if error.code != Some(NO_SUCH_TABLE) => return Err(error.into()),
            _ => {}
        }
        self.entry.tables.remove(table);
        self.publish(client)
    }

    /// Makes the schema. The local side knows of it first, so that a crash on the way can be taken up again.
    fn make(&mut self, client: &mut Client) -> Result<(), OwnershipError> {
        self.ledger.keep(&self.entry)?;
        match marker::create_schema(client, &self.name) {
            Ok(()) => self.mark(client),
            Err(error) => {
                if error.code.is_some() {
                    self.ledger.forget(&self.entry.owner.server)?;
                }
                if error.code == Some(SCHEMA_EXISTS) {
                    return Err(self.refused("someone else made it; rename it, benchd never touches it"));
                }
                Err(error.into())
            }
        }
    }

    fn mark(&mut self, client: &mut Client) -> Result<(), OwnershipError> {
        marker::write(client, &self.name, &self.entry)?;
        self.entry.marked = true;
        Ok(self.ledger.keep(&self.entry)?)
    }

    /// Whether an earlier making of this schema was cut short before its marker: the local side has begun it,
    /// and there is nothing in it but, at most, an empty marker table.
    fn may_resume(&self, client: &mut Client) -> Result<bool, OwnershipError> {
        let begun = self.ledger.entry(&self.entry.owner.server) == Some(&self.entry) && !self.entry.marked;
        if !begun || marker::read(client, &self.name)? != Marker::None {
            return Ok(false);
        }
        let contents = marker::contents(client, &self.name)?;
        Ok(contents == Contents::default())
    }

    /// Proves that the schema and all in it is ours, as far as the account can see; otherwise says what is not.
    fn prove(&self, client: &mut Client) -> Result<Contents, OwnershipError> {
        let server = facts::identity(client)?;
        if server != self.entry.owner.server {
            return Err(self.refused("the connection leads to another server than before"));
        }
        let found = marker::read(client, &self.name)?;
        if found == Marker::None {
            return Err(self
                .refused("it has no marker of benchd's: someone else made it, and benchd never touches it"));
        }
        if found.server() != Some(&server) {
            let from = found.server().unwrap_or_default();
            let why = format!(
                "it carries the marker of another server ({from}): this one was cloned from it. Left alone"
            );
            return Err(OwnershipError::Foreign(self.nothing_done(&why)));
        }
        if found != Marker::of(&self.entry.owner) {
            let file = self.ledger.path().display();
            return Err(self.refused(&format!(
                "its marker and {file} do not agree on who made it. Restore that file, or drop the schema yourself; \
                 benchd never will"
            )));
        }
        let contents = marker::contents(client, &self.name)?;
        match foreign_object(&contents, &self.entry.tables) {
            Some(object) => Err(self.refused(&format!(
                "it holds {object} that benchd did not create; move or drop it yourself, benchd never will"
            ))),
            None => Ok(contents),
        }
    }

    /// Keeps the list of tables on both sides. The local side is the one that counts.
    fn publish(&mut self, client: &mut Client) -> Result<(), OwnershipError> {
        self.ledger.keep(&self.entry)?;
        Ok(marker::write_manifest(client, &self.name, &self.entry)?)
    }

    fn check_table_name(&self, table: &str) -> Result<(), OwnershipError> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if table == MARKER_TABLE || !(1..=64).contains(&table.len()) || !table.bytes().all(fits) {
            return Err(self.refused(&format!("`{table}` cannot name a table in it")));
        }
        Ok(())
    }

    fn not_made_here(&self, table: &str) -> OwnershipError {
        self.refused(&format!("benchd did not create table {table} in it"))
    }

    fn refused(&self, why: &str) -> OwnershipError {
        OwnershipError::Refused(self.nothing_done(why))
    }

    fn nothing_done(&self, why: &str) -> String {
        format!("nothing done in schema {} on {}: {why}", self.name, self.target)
    }
}

/// An error of the server with what else it has to say of the statement: an engine's reason is only among its warnings.
fn explained(client: &mut Client, mut error: SqlError) -> SqlError {
    let warnings = client.rows("SHOW WARNINGS").unwrap_or_default();
    for text in warnings.into_iter().filter_map(|row| row.into_iter().nth(2).flatten()) {
        let text = text.trim_end_matches('.');
        if !error.message.contains(text) {
            error.message = format!("{}; {text}", error.message.trim_end_matches('.'));
        }
    }
    error
}

fn new_entry(daemon: &DaemonIdentity, server: String) -> Entry {
    let owner = Owner {
        daemon: daemon.uuid,
        host: daemon.host.clone(),
        server,
        nonce: Uuid::new_v4(),
        created: Timestamp::now(),
    };
    Entry { owner, marked: false, tables: Manifest::new() }
}

/// The first thing in a schema that is not in its manifest.
fn foreign_object(contents: &Contents, tables: &Manifest) -> Option<String> {
    let table = contents.tables.iter().find(|table| !tables.contains_key(*table));
    table.map(|table| format!("table {table}")).or_else(|| contents.others.first().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_of_the_manifest_are_ours() {
        let manifest = Manifest::from([("t1".to_owned(), Data::Unknown)]);
        let contents = |tables: &[&str], others: &[&str]| Contents {
            tables: tables.iter().map(|name| (*name).to_owned()).collect(),
            others: others.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert_eq!(foreign_object(&contents(&["t1"], &[]), &manifest), None);
        assert_eq!(foreign_object(&contents(&[], &[]), &manifest), None);
        assert_eq!(foreign_object(&contents(&["t1", "t2"], &[]), &manifest).as_deref(), Some("table t2"));
        assert_eq!(foreign_object(&contents(&["t1"], &["view t1"]), &manifest).as_deref(), Some("view t1"));
    }
}
