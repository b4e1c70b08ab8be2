//! The facts that explain a number: the host as it is, and the space on its file systems.

mod disks;
mod filesystems;
mod hardware;
mod host;
mod machine;
mod mounts;
mod smart;

pub use filesystems::{Filesystem, Filesystems};
pub use hardware::{CardFacts, DiskFacts, Hardware};
pub use host::{HostFacts, facts};
pub use machine::machine_id;
pub use smart::Health;
