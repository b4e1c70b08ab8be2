//! Facts of the host, and space on its filesystems.

use super::super::family::{BYTES, FACTS, Family, NUMBER, Points};
use super::super::snapshot::Snapshot;
use crate::inventory::Filesystem;

/// Facts of the host that are labels of `benchd_host_info`.
const HOST: &[&str] =
    &["kernel", "distribution", "cpu_model", "sockets", "cores", "virtualization", "governor", "clocksource"];

/// A number of a filesystem: the metric's name without prefix, its kind, what it is, the value.
macro_rules! filesystem {
    ($name:literal, $kind:ident, $help:literal, $value:expr) => {
        Family::new(
            concat!("benchd_host_filesystem_", $name),
            $kind,
            &["device", "fstype", "mountpoint"],
            concat!($help, " Only filesystems that hold data of a target, the store or /."),
            ("statvfs in a thread of its own, cached", "mount hung (last value for 2 min, then absent)"),
            |now, out| filesystems(now, out, $value),
        )
    };
}

pub(super) const FAMILIES: &[Family] = &[
    Family::new(
        "benchd_host_info",
        FACTS,
        HOST,
        "Facts that explain a number.",
        ("inventory", "never"),
        |now, out| {
            let fact = |name: &&str| now.facts.get(*name).map_or("", String::as_str);
            out.fact(&HOST.iter().map(fact).collect::<Vec<&str>>());
        },
    ),
    Family::new(
        "benchd_host_cpus",
        NUMBER,
        &[],
        "Online CPUs the daemon may use.",
        ("inventory", "never"),
        |now, out| out.known(now.cpus.map(f64::from)),
    ),
    filesystem!("size_bytes", BYTES, "Size.", |fs| Some(fs.size.get())),
    filesystem!("free_bytes", BYTES, "Free, reserved blocks included.", |fs| Some(fs.free.get())),
    filesystem!("avail_bytes", BYTES, "Free for ordinary users.", |fs| Some(fs.available.get())),
    filesystem!("files", NUMBER, "Inodes.", |fs| fs.files),
    filesystem!("files_free", NUMBER, "Free inodes.", |fs| fs.files_free),
];

fn filesystems(now: &Snapshot, out: &mut Points, value: fn(&Filesystem) -> Option<u64>) {
    for filesystem in &now.filesystems {
        let mountpoint = filesystem.mountpoint.to_string_lossy();
        let labels = [&filesystem.device, filesystem.fstype.as_str(), &mountpoint];
        out.add_known(&labels, value(filesystem).map(|number| number as f64));
    }
}
