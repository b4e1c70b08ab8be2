//! Memory of the host.

use super::super::family::{BYTES, COUNT, Family, Points};
use super::super::snapshot::Snapshot;
use crate::sample::{Memory, Vmstat};

/// A field of `/proc/meminfo`: the middle of the metric's name, the kernel's name, the value.
macro_rules! memory {
    ($name:literal, $field:literal, $value:ident) => {
        Family::new(
            concat!("benchd_host_memory_", $name, "_bytes"),
            BYTES,
            &[],
            concat!($field, " of /proc/meminfo."),
            ("/proc/meminfo", "field missing"),
            |now, out| memory(now, out, |memory| memory.$value),
        )
    };
}

/// A counter of `/proc/vmstat`: the kernel's name, what it counts, the value.
macro_rules! vmstat {
    ($field:literal, $help:literal, $value:ident) => {
        Family::new(
            concat!("benchd_host_vmstat_", $field, "_total"),
            COUNT,
            &[],
            $help,
            (concat!("/proc/vmstat ", $field), "field missing"),
            |now, out| vmstat(now, out, |vmstat| vmstat.$value),
        )
    };
}

pub(super) const FAMILIES: &[Family] = &[
    memory!("total", "MemTotal", total),
    memory!("free", "MemFree", free),
    memory!("available", "MemAvailable", available),
    memory!("buffers", "Buffers", buffers),
    memory!("cached", "Cached", cached),
    memory!("dirty", "Dirty", dirty),
    memory!("writeback", "Writeback", writeback),
    memory!("anonymous", "AnonPages", anonymous),
    memory!("slab", "Slab", slab),
    memory!("committed", "Committed_AS", committed),
    memory!("swap_total", "SwapTotal", swap_total),
    memory!("swap_free", "SwapFree", swap_free),
    memory!("huge_pages_total", "HugePages_Total x Hugepagesize", huge_pages_total),
    memory!("huge_pages_free", "HugePages_Free x Hugepagesize", huge_pages_free),
    vmstat!("pgmajfault", "Major page faults.", major_faults),
    vmstat!("pswpin", "Pages swapped in.", swap_in),
    vmstat!("pswpout", "Pages swapped out.", swap_out),
    vmstat!("oom_kill", "Processes killed for lack of memory.", oom_kills),
];

fn memory(now: &Snapshot, out: &mut Points, value: fn(&Memory) -> Option<u64>) {
    let memory = now.host.as_ref().and_then(|host| host.memory.as_ref());
    out.known(memory.and_then(|memory| value(memory)).map(|bytes| bytes as f64));
}

fn vmstat(now: &Snapshot, out: &mut Points, value: fn(&Vmstat) -> Option<u64>) {
    let vmstat = now.host.as_ref().and_then(|host| host.vmstat.as_ref());
    out.known(vmstat.and_then(|vmstat| value(vmstat)).map(|count| count as f64));
}
