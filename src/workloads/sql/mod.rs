//! What the SQL workloads share: the tables and their rows, the statements over them, loading, and the session of
//! one client. The session of the measured loop speaks to a server through
//! [`crate::target::LoadConnection`], all else through [`crate::target::Client`].

mod batch;
mod fill;
pub(crate) mod ids;
mod inserts;
pub(crate) mod loader;
pub(crate) mod prewarm;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod shape;
pub(crate) mod statements;
