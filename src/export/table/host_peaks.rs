//! How the host's samples were distributed, and the worst of them.

use super::super::family::{Family, NUMBER, NUMBERS, Points, RATIO, RATIOS, SECONDS, TIMES};
use super::super::snapshot::Snapshot;
use crate::sample::{DeviceName, Measure, Peak};

/// A distribution over all samples: the metric's name without prefix, its kind, its labels, what it is, where it
/// comes from and when it is not there, the measure.
macro_rules! distribution {
    ($name:literal, $kind:ident, $labels:expr, $help:literal, $about:expr, $measure:ident) => {
        Family::new(concat!("benchd_host_", $name), $kind, $labels, $help, $about, |now, out| {
            of(now, Measure::$measure).for_each(|peak| distribution(peak, out));
        })
    };
}

/// The largest sample in each window, likewise.
macro_rules! largest {
    ($name:literal, $kind:ident, $labels:expr, $help:literal, $about:expr, $measure:ident) => {
        Family::new(concat!("benchd_host_", $name), $kind, $labels, $help, $about, |now, out| {
            of(now, Measure::$measure).for_each(|peak| largest(peak, out));
        })
    };
}

const WINDOW: &[&str] = &["window"];
const DEVICE: &[&str] = &["device"];
const DEVICE_WINDOW: &[&str] = &["device", "window"];

const CPU: (&str, &str) = ("/proc/stat", "before the second sample");
const DISK: (&str, &str) = ("/proc/diskstats deltas", "device excluded, gone or not in use");
const NO_REQUEST: (&str, &str) =
    ("/proc/diskstats deltas", "device excluded, gone or not in use; no such request in the window");
const FLUSH: (&str, &str) = ("/proc/diskstats deltas", "device excluded, gone or not in use; kernel < 5.5");
const NETWORK: (&str, &str) = ("/proc/net/dev deltas", "link speed unknown");
const PRESSURE: (&str, &str) = ("/proc/pressure", "pressure not available (RHEL: boot with psi=1)");

pub(super) const FAMILIES: &[Family] = &[
    distribution!(
        "cpu_utilization_ratio",
        RATIOS,
        &[],
        "Seconds by CPU utilisation of the whole host, 1 - idle - iowait.",
        CPU,
        CpuUtilization
    ),
    largest!(
        "cpu_utilization_max_ratio",
        RATIO,
        WINDOW,
        "Highest 1 s CPU utilisation of the host in the window.",
        CPU,
        CpuUtilization
    ),
    largest!(
        "cpu_busiest_max_ratio",
        RATIO,
        WINDOW,
        "Highest 1 s utilisation of any one CPU in the window: finds one hot thread.",
        CPU,
        CpuBusiest
    ),
    largest!(
        "cpu_steal_max_ratio",
        RATIO,
        WINDOW,
        "Highest 1 s share of stolen time in the window.",
        CPU,
        CpuSteal
    ),
    distribution!(
        "disk_busy_ratio",
        RATIOS,
        DEVICE,
        "Seconds by share of time with a request in flight; on SSD and virtual disks 1 does not mean saturated.",
        DISK,
        DiskBusy
    ),
    largest!(
        "disk_busy_max_ratio",
        RATIO,
        DEVICE_WINDOW,
        "Highest 1 s share of time with a request in flight in the window; on SSD and virtual disks 1 does not mean \
         saturated.",
        DISK,
        DiskBusy
    ),
    distribution!(
        "disk_read_await_seconds",
        TIMES,
        DEVICE,
        "Seconds by mean time of a read, seconds with reads only.",
        DISK,
        DiskReadAwait
    ),
    largest!(
        "disk_read_await_max_seconds",
        SECONDS,
        DEVICE_WINDOW,
        "Highest 1 s mean time of a read in the window.",
        NO_REQUEST,
        DiskReadAwait
    ),
    distribution!(
        "disk_write_await_seconds",
        TIMES,
        DEVICE,
        "Seconds by mean time of a write, seconds with writes only.",
        DISK,
        DiskWriteAwait
    ),
    largest!(
        "disk_write_await_max_seconds",
        SECONDS,
        DEVICE_WINDOW,
        "Highest 1 s mean time of a write in the window.",
        NO_REQUEST,
        DiskWriteAwait
    ),
    distribution!(
        "disk_flush_await_seconds",
        TIMES,
        DEVICE,
        "Seconds by mean time of a flush, seconds with flushes only.",
        FLUSH,
        DiskFlushAwait
    ),
    largest!(
        "disk_flush_await_max_seconds",
        SECONDS,
        DEVICE_WINDOW,
        "Highest 1 s mean time of a flush in the window.",
        NO_REQUEST,
        DiskFlushAwait
    ),
    distribution!(
        "disk_queue_depth",
        NUMBERS,
        DEVICE,
        "Seconds by mean requests in flight.",
        DISK,
        DiskQueueDepth
    ),
    largest!(
        "disk_queue_depth_max",
        NUMBER,
        DEVICE_WINDOW,
        "Highest 1 s mean of requests in flight in the window.",
        DISK,
        DiskQueueDepth
    ),
    distribution!(
        "network_receive_utilization_ratio",
        RATIOS,
        DEVICE,
        "Seconds by share of the link speed received.",
        NETWORK,
        ReceiveUtilization
    ),
    largest!(
        "network_receive_utilization_max_ratio",
        RATIO,
        DEVICE_WINDOW,
        "Highest 1 s share of the link speed received in the window.",
        NETWORK,
        ReceiveUtilization
    ),
    distribution!(
        "network_transmit_utilization_ratio",
        RATIOS,
        DEVICE,
        "Seconds by share of the link speed transmitted.",
        NETWORK,
        TransmitUtilization
    ),
    largest!(
        "network_transmit_utilization_max_ratio",
        RATIO,
        DEVICE_WINDOW,
        "Highest 1 s share of the link speed transmitted in the window.",
        NETWORK,
        TransmitUtilization
    ),
    distribution!(
        "pressure_cpu_some_ratio",
        RATIOS,
        &[],
        "Seconds by share in which some task waited for a CPU.",
        PRESSURE,
        PressureCpuSome
    ),
    distribution!(
        "pressure_io_some_ratio",
        RATIOS,
        &[],
        "Seconds by share in which some task waited for a disk.",
        PRESSURE,
        PressureIoSome
    ),
    distribution!(
        "pressure_memory_some_ratio",
        RATIOS,
        &[],
        "Seconds by share in which some task waited for memory.",
        PRESSURE,
        PressureMemorySome
    ),
    largest!(
        "pressure_cpu_some_max_ratio",
        RATIO,
        WINDOW,
        "Highest 1 s share in which some task waited for a CPU in the window.",
        PRESSURE,
        PressureCpuSome
    ),
    largest!(
        "pressure_io_some_max_ratio",
        RATIO,
        WINDOW,
        "Highest 1 s share in which some task waited for a disk in the window.",
        PRESSURE,
        PressureIoSome
    ),
    largest!(
        "pressure_io_full_max_ratio",
        RATIO,
        WINDOW,
        "Highest 1 s share in which every task waited for a disk in the window.",
        PRESSURE,
        PressureIoFull
    ),
    largest!(
        "pressure_memory_some_max_ratio",
        RATIO,
        WINDOW,
        "Highest 1 s share in which some task waited for memory in the window.",
        PRESSURE,
        PressureMemorySome
    ),
    largest!(
        "pressure_memory_full_max_ratio",
        RATIO,
        WINDOW,
        "Highest 1 s share in which every task waited for memory in the window.",
        PRESSURE,
        PressureMemoryFull
    ),
];

fn of(now: &Snapshot, measure: Measure) -> impl Iterator<Item = &Peak> {
    now.peaks.iter().filter(move |peak| peak.measure == measure)
}

fn device(peak: &Peak) -> Option<&str> {
    peak.device.as_ref().map(DeviceName::as_str)
}

fn distribution(peak: &Peak, out: &mut Points) {
    let bounds = peak.measure.bounds().iter().copied();
    let buckets: Vec<(f64, u64)> = bounds.zip(peak.up_to).collect();
    let labels: Vec<&str> = device(peak).into_iter().collect();
    out.distribution(&labels, &buckets, peak.count, peak.sum);
}

fn largest(peak: &Peak, out: &mut Points) {
    for (window, value) in &peak.maxima {
        let window = format!("{}s", window.seconds());
        let labels: Vec<&str> = device(peak).into_iter().chain([window.as_str()]).collect();
        out.add(&labels, *value);
    }
}
