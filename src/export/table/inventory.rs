//! Facts of the host, and space on its filesystems.

use super::super::family::{BYTES, CELSIUS, FACTS, Family, NUMBER, Points, RATIO};
use super::super::snapshot::Snapshot;
use crate::inventory::{CardFacts, DiskFacts, Filesystem, Health};

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

/// What a disk says of itself, likewise.
macro_rules! health {
    ($name:literal, $kind:ident, $help:literal, $value:expr) => {
        Family::new(
            concat!("benchd_host_disk_", $name),
            $kind,
            &["device"],
            $help,
            (
                "answers of smartctl in /run/benchd-smart",
                "nobody leaves answers there, or not available behind this controller",
            ),
            |now, out| health(now, out, $value),
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
    Family::new(
        "benchd_host_disk_info",
        FACTS,
        &["device", "model", "serial", "firmware", "rotational", "scheduler", "write_cache"],
        "Disk facts; serial is hashed.",
        ("/sys/class/block", "device excluded or gone"),
        |now, out| disks(now).for_each(|(device, disk)| disk_facts(device, disk, out)),
    ),
    Family::new(
        "benchd_host_network_info",
        FACTS,
        &["device", "driver", "duplex"],
        "Network card facts.",
        ("/sys/class/net", "device excluded or gone"),
        |now, out| {
            let cards = now.host.iter().flat_map(|host| &host.networks).flat_map(|cards| &cards.values);
            for device in cards.map(|card| card.device.as_str()) {
                if let Some(CardFacts { driver, duplex }) = now.hardware.cards.get(device) {
                    out.fact(&[device, known(driver), known(duplex)]);
                }
            }
        },
    ),
    Family::new(
        "benchd_host_disk_link_speed_bytes",
        BYTES,
        &["device"],
        "Negotiated link speed in bytes per second.",
        ("/sys/class/ata_link; NVMe: PCI link", "virtual disk, or not visible behind this controller"),
        |now, out| disks(now).for_each(|(device, disk)| out.add_known(&[device], disk.link_speed)),
    ),
    Family::new(
        "benchd_host_disk_link_speed_maximum_bytes",
        BYTES,
        &["device"],
        "Highest link speed in bytes per second; larger than link_speed_bytes means a slow link.",
        ("/sys/class/ata_link; NVMe: PCI link", "virtual disk, or not visible behind this controller"),
        |now, out| disks(now).for_each(|(device, disk)| out.add_known(&[device], disk.link_speed_maximum)),
    ),
    health!("healthy", NUMBER, "1 when SMART's overall assessment passed.", |health| {
        health.passed.map(|passed| f64::from(u8::from(passed)))
    }),
    health!("wear_ratio", RATIO, "Used share of the rated endurance.", |health| {
        health.wear.map(|percent| percent as f64 / 100.0)
    }),
    health!("temperature_celsius", CELSIUS, "Temperature.", |health| {
        health.celsius.map(|degrees| degrees as f64)
    }),
    health!("reallocated_sectors", NUMBER, "Reallocated sectors.", |health| {
        health.reallocated.map(|sectors| sectors as f64)
    }),
    filesystem!("size_bytes", BYTES, "Size.", |fs| Some(fs.size.get())),
    filesystem!("free_bytes", BYTES, "Free, reserved blocks included.", |fs| Some(fs.free.get())),
    filesystem!("avail_bytes", BYTES, "Free for ordinary users.", |fs| Some(fs.available.get())),
    filesystem!("files", NUMBER, "Inodes.", |fs| fs.files),
    filesystem!("files_free", NUMBER, "Free inodes.", |fs| fs.files_free),
];

/// The disks that are sampled and of which facts are known.
fn disks(now: &Snapshot) -> impl Iterator<Item = (&str, &DiskFacts)> {
    let sampled = now.host.iter().flat_map(|host| &host.disks).flat_map(|disks| &disks.values);
    sampled.filter_map(|disk| {
        let device = disk.device.as_str();
        Some((device, now.hardware.disks.get(device)?))
    })
}

fn disk_facts(device: &str, disk: &DiskFacts, out: &mut Points) {
    let DiskFacts { model, serial, firmware, rotational, scheduler, write_cache, .. } = disk;
    let rest = [model, serial, firmware, rotational, scheduler, write_cache].map(known);
    out.fact(&[&[device][..], &rest].concat());
}

/// A label is left out where its value is not known.
fn known(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or_default()
}

fn health(now: &Snapshot, out: &mut Points, value: fn(&Health) -> Option<f64>) {
    for (disk, health) in &now.hardware.health {
        out.add_known(&[disk], value(health));
    }
}

fn filesystems(now: &Snapshot, out: &mut Points, value: fn(&Filesystem) -> Option<u64>) {
    for filesystem in &now.filesystems {
        let mountpoint = filesystem.mountpoint.to_string_lossy();
        let labels = [&filesystem.device, filesystem.fstype.as_str(), &mountpoint];
        out.add_known(&labels, value(filesystem).map(|number| number as f64));
    }
}
