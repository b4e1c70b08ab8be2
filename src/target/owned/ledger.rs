//! The local side of the proof: what benchd made on which server, in a file that is whole after a crash.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::target::durable::replace_file;

/// Tables of a schema, each with what it holds.
pub(crate) type Manifest = BTreeMap<String, Data>;

/// What a table holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Data {
    /// It is not known.
    #[default]
    Unknown,
    /// A data set whole, by its description.
    Whole(String),
    /// At least so many of the first rows of a data set, by its description: its loading goes on, or was cut short.
    Part { part_of: String, rows: u64 },
}

/// Who made a schema, when, and where. The same stands in the schema itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) daemon: Uuid,
    pub(crate) host: String,
    /// The server the schema was made on; a copy of it has another identity.
    pub(crate) server: String,
    /// Chosen for this schema alone: a schema of the same name made later has another one.
    pub(crate) nonce: Uuid,
    pub(crate) created: Timestamp,
}

/// What benchd made on one server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) owner: Owner,
    /// Whether the schema's own marker is known to be written; until then the making may be taken up again.
    pub(crate) marked: bool,
    pub(crate) tables: Manifest,
}

/// The file, by server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ledger {
    path: PathBuf,
    servers: BTreeMap<String, Entry>,
}

impl Ledger {
    /// Reads the file; one that does not exist is empty, one that cannot be understood is an error.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Ledger> {
        let name = path.display();
        let servers = match fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).with_context(|| {
                format!(
                    "{name}, which says what benchd made, is damaged: nothing is done without it; restore it"
                )
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error).with_context(|| format!("{name} cannot be read")),
        };
        Ok(Ledger { path: path.to_owned(), servers })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn entry(&self, server: &str) -> Option<&Entry> {
        self.servers.get(server)
    }

    /// Keeps an entry; it is on the disk when this returns.
    pub(crate) fn keep(&mut self, entry: &Entry) -> anyhow::Result<()> {
        self.servers.insert(entry.owner.server.clone(), entry.clone());
        replace_file(&self.path, &serde_json::to_string_pretty(&self.servers)?)
    }

    /// Forgets the entry of a server.
    pub(crate) fn forget(&mut self, server: &str) -> anyhow::Result<()> {
        self.servers.remove(server);
        replace_file(&self.path, &serde_json::to_string_pretty(&self.servers)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn entry(server: &str) -> Entry {
        let owner = Owner {
            daemon: Uuid::new_v4(),
            host: "db1".to_owned(),
            server: server.to_owned(),
            nonce: Uuid::new_v4(),
            created: Timestamp::UNIX_EPOCH,
        };
        let part = Data::Part { part_of: "1000 rows".to_owned(), rows: 10 };
        let data = [Data::Unknown, Data::Whole("1000 rows".to_owned()), part];
        let tables = ["t1", "t2", "t3"].map(str::to_owned).into_iter().zip(data).collect();
        Entry { owner, marked: true, tables }
    }

    #[test]
    fn what_was_kept_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("owned.json");
        let (one, two) = (entry("a"), entry("b"));
        let mut ledger = Ledger::read(&path).unwrap();
        assert_eq!(ledger.entry("a"), None);
        ledger.keep(&one).unwrap();
        ledger.keep(&two).unwrap();
        assert_eq!(Ledger::read(&path).unwrap(), ledger);
        ledger.forget("a").unwrap();
        let again = Ledger::read(&path).unwrap();
        assert_eq!((again.entry("a"), again.entry("b")), (None, Some(&two)));
    }

    #[test]
    fn what_tables_hold_is_written_as_no_text_as_a_text_or_as_a_part_of_one() {
        let text = serde_json::to_string(&entry("a").tables).unwrap();
        assert_eq!(text, r#"{"t1":null,"t2":"1000 rows","t3":{"part_of":"1000 rows","rows":10}}"#);
    }

    #[test]
    fn a_damaged_file_is_no_empty_one() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("owned.json");
        for text in ["", "{", "[]"] {
            fs::write(&path, text).unwrap();
            assert!(Ledger::read(&path).unwrap_err().to_string().contains("is damaged"), "{text}");
        }
    }
}
