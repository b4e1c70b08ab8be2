//! The remote side of the proof: the marker in the schema, and what else the schema holds.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::ledger::{Entry, Owner};
use crate::target::client::{Bind, Client};
use crate::target::error::SqlError;

/// The table that holds the marker.
pub(crate) const MARKER_TABLE: &str = "_owner";
/// "Table does not exist" and "unknown column": there is no marker of ours.
const NO_MARKER: [u16; 2] = [1146, 1054];
/// A row read as text is compared with this one, in this order.
const COLUMNS: &str = "daemon_uuid, host, server_uuid, nonce, created_at";

/// What a schema says about who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Marker {
    /// Nothing, or nothing that benchd could have written.
    None,
    /// One owner, whose fields are the texts of [`COLUMNS`].
    Owner(Vec<String>),
}

impl Marker {
    pub(crate) fn of(owner: &Owner) -> Marker {
        Marker::Owner(fields(owner))
    }

    /// The server the schema was made on, as the marker says.
    pub(crate) fn server(&self) -> Option<&str> {
        match self {
            Marker::Owner(fields) => fields.get(2).map(String::as_str),
            Marker::None => None,
        }
    }
}

fn fields(owner: &Owner) -> Vec<String> {
    vec![
        owner.daemon.to_string(),
        owner.host.clone(),
        owner.server.clone(),
        owner.nonce.to_string(),
        owner.created.to_string(),
    ]
}

/// The one name a daemon's schema can have.
pub(crate) fn schema_name(daemon: Uuid) -> String {
    format!("benchd_scratch_{}", &daemon.simple().to_string()[..8])
}

pub(crate) fn schema_exists(client: &mut Client, schema: &str) -> Result<bool, SqlError> {
    let sql = format!("SELECT schema_name FROM information_schema.schemata WHERE schema_name = '{schema}'");
    Ok(!client.rows(&sql)?.is_empty())
}

pub(crate) fn create_schema(client: &mut Client, schema: &str) -> Result<(), SqlError> {
    // Without IF NOT EXISTS: one that someone else makes at this moment must not become ours.
    client.query(&format!("CREATE DATABASE `{schema}`")).map(drop)
}

/// Reads the marker of a schema.
pub(crate) fn read(client: &mut Client, schema: &str) -> Result<Marker, SqlError> {
    let mut rows = match client.rows(&format!("SELECT {COLUMNS} FROM `{schema}`.`{MARKER_TABLE}`")) {
        Ok(rows) => rows,
        Err(error) if error.code.is_some_and(|code| NO_MARKER.contains(&code)) => return Ok(Marker::None),
        Err(error) => return Err(error),
    };
    let only = if rows.len() == 1 { rows.pop() } else { None };
    Ok(only.and_then(|row| row.into_iter().collect()).map_or(Marker::None, Marker::Owner))
}

/// Writes the marker into a schema that was just made.
pub(crate) fn write(client: &mut Client, schema: &str, entry: &Entry) -> Result<(), SqlError> {
    client.query(&format!(
        "CREATE TABLE IF NOT EXISTS `{schema}`.`{MARKER_TABLE}` (daemon_uuid CHAR(36) NOT NULL PRIMARY KEY, \
         host VARCHAR(255) NOT NULL, server_uuid TEXT NOT NULL, nonce CHAR(36) NOT NULL, \
         created_at VARCHAR(40) NOT NULL, manifest_json LONGTEXT NOT NULL, log_bin TINYINT NOT NULL) \
         DEFAULT CHARACTER SET utf8mb4"
    ))?;
    let sql = format!(
        "INSERT INTO `{schema}`.`{MARKER_TABLE}` ({COLUMNS}, manifest_json, log_bin) VALUES (?, ?, ?, ?, ?, ?, ?)"
    );
    let statement = client.prepare(&sql)?;
    let (fields, manifest) = (fields(&entry.owner), manifest(entry));
    let log_bin = i64::from(!client.access().suppress_binlog);
    let mut binds: Vec<Bind<'_>> = fields.iter().map(|field| Bind::Text(field)).collect();
    binds.extend([Bind::Text(&manifest), Bind::Integer(log_bin)]);
    client.execute(&statement, &binds).map(drop)
}

/// Writes the list of tables beside the marker, for people and for whoever has lost the local side.
pub(crate) fn write_manifest(client: &mut Client, schema: &str, entry: &Entry) -> Result<(), SqlError> {
    let sql = format!("UPDATE `{schema}`.`{MARKER_TABLE}` SET manifest_json = ? WHERE nonce = ?");
    let statement = client.prepare(&sql)?;
    let (manifest, nonce) = (manifest(entry), entry.owner.nonce.to_string());
    client.execute(&statement, &[Bind::Text(&manifest), Bind::Text(&nonce)]).map(drop)
}

fn manifest(entry: &Entry) -> String {
    serde_json::json!(entry.tables).to_string()
}

/// What a schema holds beside its marker: tables by name, and everything else by kind and name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) tables: BTreeSet<String>,
    pub(crate) others: Vec<String>,
}

/// Everything in a schema that the account may see.
pub(crate) fn contents(client: &mut Client, schema: &str) -> Result<Contents, SqlError> {
    let mut found = Contents::default();
    for row in client.rows(&format!(
        "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = '{schema}'"
    ))? {
        let [name, kind] =
            <[Option<String>; 2]>::try_from(row).unwrap_or_default().map(Option::unwrap_or_default);
        match kind.as_str() {
            "BASE TABLE" if name == MARKER_TABLE => {}
            "BASE TABLE" => drop(found.tables.insert(name)),
            other => found.others.push(format!("{} {name}", other.to_lowercase())),
        }
    }
    for (kind, table, column) in [
        ("view", "views", "table"),
        ("routine", "routines", "routine"),
        ("trigger", "triggers", "trigger"),
        ("event", "events", "event"),
    ] {
        let sql = format!(
            "SELECT {column}_name FROM information_schema.{table} WHERE {column}_schema = '{schema}'"
        );
        let names = client.rows(&sql)?.into_iter().flatten().flatten();
        found.others.extend(names.map(|name| format!("{kind} {name}")));
    }
    found.others.dedup();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schemas_name_comes_from_the_daemon_alone() {
        let daemon = Uuid::from_u128(0x5f1c09ae_0000_4000_8000_000000000000);
        assert_eq!(schema_name(daemon), "benchd_scratch_5f1c09ae");
    }
}
