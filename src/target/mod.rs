//! Targets of load: database servers and directories. Of servers a connection to one, the facts that explain its
//! results, throw-away servers started from the installed binaries, and the proof of ownership without which
//! nothing is dropped; of directories files that leave nothing behind.
//!
//! This module knows SQL, servers and files. What the load does, and how it is measured, stands elsewhere.

mod access;
mod client;
mod connections;
mod defaults;
mod directory;
mod durable;
mod error;
mod facts;
mod owned;
mod privileges;
mod relay;
mod scratch;
mod server_version;
mod session_rules;
mod tls;
mod wire;

pub use access::{Abandoned, Access, Secret, Tls, read_password};
pub use client::{Answer, Bind, Client, Statement};
pub use connections::{Connections, Killed, OfRun, kill_own};
pub use defaults::{Defaults, read_defaults};
pub use directory::{
    Barrier, Directory, DirectoryOptions, FileSpec, Files, LEAST_FREE, Space, Unfit, facts_of, free_bytes,
    look_at, refuses_direct,
};
pub(crate) use durable::{replace_file, unfinished};
pub use error::{ErrorClass, SqlError};
pub use facts::facts;
pub(crate) use owned::schema_name;
pub use owned::{DaemonIdentity, OwnedSchema, OwnershipError, PreparedTarget, foreign_schemas};
pub use privileges::{
    Difference, Group, Privilege, Purpose, compare_privileges, excess_privileges, needed, suppressing,
};
pub use scratch::{
    Asker, LeftOver, ScratchHome, ScratchOptions, ScratchServer, is_untidy, recover, remove_scratch,
    scratch_homes,
};
pub use server_version::ServerVersion;
pub use wire::{LoadConnection, LoadStatement};

use serde::{Deserialize, Serialize};

/// A target that is ready for a workload.
#[derive(Debug)]
pub enum Prepared {
    /// A server.
    Server(Box<PreparedTarget>),
    /// A directory.
    Directory(Directory),
}

impl Prepared {
    /// The server, when it is one.
    pub fn server(&mut self) -> Option<&mut PreparedTarget> {
        match self {
            Prepared::Server(server) => Some(server),
            Prepared::Directory(_) => None,
        }
    }

    /// The directory, when it is one.
    pub fn directory(&mut self) -> Option<&mut Directory> {
        match self {
            Prepared::Directory(directory) => Some(directory),
            Prepared::Server(_) => None,
        }
    }

    /// How a load process gets to it.
    pub fn way(&self) -> Way {
        match self {
            Prepared::Server(server) => Way::Server(Box::new(server.access.clone())),
            Prepared::Directory(directory) => Way::Files(directory.files()),
        }
    }
}

/// How a load process gets to its target.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// By a connection.
    Server(Box<Access>),
    /// By files that the worker holds open.
    Files(Files),
}

impl Way {
    /// The way to a server, when it is one.
    pub fn server(&self) -> Option<&Access> {
        match self {
            Way::Server(access) => Some(access),
            Way::Files(_) => None,
        }
    }

    /// The way to files, when it is one.
    pub fn files(&self) -> Option<&Files> {
        match self {
            Way::Files(files) => Some(files),
            Way::Server(_) => None,
        }
    }
}
