//! Disks and network cards of the host.

use super::super::family::{BYTES, COUNT, COUNT_BYTES, COUNT_SECONDS, Family, Kind, NUMBER, Points};
use super::super::snapshot::Snapshot;
use super::flag;
use crate::sample::{Disk, Network, Tcp};

/// A value of `/proc/diskstats`: the metric's name without prefix, its kind, what it is, the kernel's field, the
/// value in the kernel's unit.
macro_rules! disk {
    ($name:literal, $kind:ident, $help:literal, $field:literal, $value:expr) => {
        disk!($name, $kind, $help, $field, $value, "device excluded or gone")
    };
    ($name:literal, $kind:ident, $help:literal, $field:literal, $value:expr, $absent:literal) => {
        Family::new(
            concat!("benchd_host_disk_", $name),
            $kind,
            &["device"],
            $help,
            (concat!("/proc/diskstats ", $field), $absent),
            |now, out| disks(now, out, $kind, $value),
        )
    };
}

/// The same of flushes, which older kernels do not count.
macro_rules! flush {
    ($name:literal, $kind:ident, $help:literal, $field:literal, $value:expr) => {
        disk!($name, $kind, $help, $field, $value, "kernel < 5.5")
    };
}

/// A counter of `/proc/net/dev`: the metric's name without prefix, its kind, what it is, the value.
macro_rules! traffic {
    ($name:literal, $kind:ident, $help:literal, $value:expr) => {
        Family::new(
            concat!("benchd_host_network_", $name, "_total"),
            $kind,
            &["device"],
            $help,
            ("/proc/net/dev", "device excluded or gone"),
            |now, out| networks(now, out, |card| Some($value(card) as f64)),
        )
    };
}

/// A counter of TCP: the metric's name without prefix, what it is, where it stands, the value.
macro_rules! tcp {
    ($name:literal, $help:literal, $source:literal, $value:ident) => {
        Family::new(
            concat!("benchd_host_tcp_", $name, "_total"),
            COUNT,
            &[],
            $help,
            ($source, "file unreadable"),
            |now, out| tcp(now, out, |tcp| tcp.$value),
        )
    };
}

pub(super) const DISKS: &[Family] = &[
    disk!("reads_completed_total", COUNT, "Reads completed.", "field 1", |disk| disk.reads),
    disk!("reads_merged_total", COUNT, "Reads merged.", "field 2", |disk| disk.reads_merged),
    disk!("read_bytes_total", COUNT_BYTES, "Bytes read.", "field 3 x 512", |disk| disk.read_bytes()),
    disk!("read_time_seconds_total", COUNT_SECONDS, "Time spent in reads.", "field 4", |disk| disk.read_ms),
    disk!("writes_completed_total", COUNT, "Writes completed.", "field 5", |disk| disk.writes),
    disk!("writes_merged_total", COUNT, "Writes merged.", "field 6", |disk| disk.writes_merged),
    disk!("written_bytes_total", COUNT_BYTES, "Bytes written.", "field 7 x 512", |disk| disk.written_bytes()),
    disk!("write_time_seconds_total", COUNT_SECONDS, "Time spent in writes.", "field 8", |disk| disk
        .write_ms),
    disk!("io_now", NUMBER, "Requests in flight.", "field 9", |disk| disk.in_flight),
    disk!("io_time_seconds_total", COUNT_SECONDS, "Time with a request in flight.", "field 10", |disk| disk
        .io_ms),
    disk!(
        "io_time_weighted_seconds_total",
        COUNT_SECONDS,
        "Request-seconds in flight.",
        "field 11",
        |disk| { disk.weighted_io_ms }
    ),
    flush!("flush_requests_total", COUNT, "Flushes completed.", "field 16", |disk| disk.flushes),
    flush!(
        "flush_requests_time_seconds_total",
        COUNT_SECONDS,
        "Time spent in flushes.",
        "field 17",
        |disk| { disk.flush_ms }
    ),
];

pub(super) const NETWORK: &[Family] = &[
    traffic!("receive_bytes", COUNT_BYTES, "Bytes received.", |card: &Network| card.receive.bytes),
    traffic!("receive_packets", COUNT, "Packets received.", |card: &Network| card.receive.packets),
    traffic!("receive_errs", COUNT, "Errors received.", |card: &Network| card.receive.errors),
    traffic!("receive_drop", COUNT, "Dropped packets received.", |card: &Network| card.receive.drops),
    traffic!("transmit_bytes", COUNT_BYTES, "Bytes transmitted.", |card: &Network| card.transmit.bytes),
    traffic!("transmit_packets", COUNT, "Packets transmitted.", |card: &Network| card.transmit.packets),
    traffic!("transmit_errs", COUNT, "Errors transmitted.", |card: &Network| card.transmit.errors),
    traffic!("transmit_drop", COUNT, "Dropped packets transmitted.", |card: &Network| card.transmit.drops),
    Family::new(
        "benchd_host_network_speed_bytes",
        BYTES,
        &["device"],
        "Link speed in bytes per second: the configured one, else the card's when credible.",
        ("sample.link_speed, /sys/class/net/*/speed", "speed unknown, <= 0, or virtual and 10 Mbit/s"),
        |now, out| networks(now, out, |card| card.speed.map(|speed| speed as f64)),
    ),
    Family::new(
        "benchd_host_network_up",
        NUMBER,
        &["device"],
        "1 when operstate is up.",
        ("/sys/class/net/*/operstate", "device excluded or gone"),
        |now, out| networks(now, out, |card| card.up.map(flag)),
    ),
    tcp!("sent_segments", "TCP segments sent.", "/proc/net/snmp OutSegs", sent_segments),
    tcp!(
        "retransmitted_segments",
        "TCP segments sent again.",
        "/proc/net/snmp RetransSegs",
        retransmitted_segments
    ),
    tcp!(
        "listen_overflows",
        "Full accept queues met.",
        "/proc/net/netstat ListenOverflows",
        listen_overflows
    ),
    tcp!("listen_drops", "Connections dropped in LISTEN.", "/proc/net/netstat ListenDrops", listen_drops),
];

/// The kernel counts time in milliseconds.
fn disks<V: Into<Option<u64>>>(now: &Snapshot, out: &mut Points, kind: (Kind, &str), value: fn(&Disk) -> V) {
    let Some(disks) = now.host.as_ref().and_then(|host| host.disks.as_ref()) else { return };
    let unit = if kind == COUNT_SECONDS { 1e3 } else { 1.0 };
    for disk in disks.iter() {
        let value: Option<u64> = value(disk).into();
        out.add_known(&[disk.device.as_str()], value.map(|value| value as f64 / unit));
    }
}

fn networks(now: &Snapshot, out: &mut Points, value: fn(&Network) -> Option<f64>) {
    let Some(cards) = now.host.as_ref().and_then(|host| host.networks.as_ref()) else { return };
    cards.iter().for_each(|card| out.add_known(&[card.device.as_str()], value(card)));
}

fn tcp(now: &Snapshot, out: &mut Points, value: fn(&Tcp) -> Option<u64>) {
    let tcp = now.host.as_ref().and_then(|host| host.tcp.as_ref());
    out.known(tcp.and_then(|tcp| value(tcp)).map(|count| count as f64));
}
