//! What lies on a server under benchd's names.

use std::path::PathBuf;

use crate::target::{Client, DaemonIdentity, OwnedSchema, OwnershipError, foreign_schemas};

/// Who asks, and where the local side of the proof of what it owns is.
#[derive(Debug, Clone)]
pub struct Owner {
    /// The daemon.
    pub daemon: DaemonIdentity,
    /// The file that says what it made on which server.
    pub ledger: PathBuf,
}

/// What lies on a server under benchd's names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Bytes of what this daemon made there; `None` when it made nothing.
    pub own: Option<u64>,
    /// Schemas that it did not make: copies, or another daemon's.
    pub foreign: u64,
}

impl Holdings {
    /// Asks for them. Nothing is changed, whatever is found.
    pub(super) fn of(client: &mut Client, target: &str, owner: &Owner) -> anyhow::Result<Holdings> {
        let mut holdings = Holdings { own: None, foreign: 0 };
        match OwnedSchema::existing(client, target, &owner.daemon, &owner.ledger) {
            Ok(Some(schema)) => holdings.own = Some(schema.bytes(client)?),
            Ok(None) => {}
            Err(OwnershipError::Foreign(_) | OwnershipError::Refused(_)) => holdings.foreign += 1,
            Err(error) => return Err(error.into()),
        }
        holdings.foreign += foreign_schemas(client, &owner.daemon)?.len() as u64;
        Ok(holdings)
    }
}
