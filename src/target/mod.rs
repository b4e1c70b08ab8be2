//! Database servers as targets of load: a connection to one, the facts that explain its results, throw-away
//! servers started from the installed binaries, and the proof of ownership without which nothing is dropped.
//!
//! This module knows SQL and servers. What the load does, and how it is measured, stands elsewhere.

mod access;
mod client;
mod defaults;
mod durable;
mod error;
mod facts;
mod owned;
mod privileges;
mod relay;
mod scratch;
mod session_rules;
mod tls;
mod wire;

pub use access::{Access, Secret, Tls, read_password};
pub use client::{Answer, Bind, Client, Statement};
pub use defaults::{Defaults, read_defaults};
pub use error::{ErrorClass, SqlError};
pub use facts::facts;
pub use owned::{DaemonIdentity, OwnedSchema, OwnershipError, PreparedTarget};
pub use privileges::excess_privileges;
pub use scratch::{Asker, ScratchOptions, ScratchServer, recover};
pub use wire::{LoadConnection, LoadStatement};
