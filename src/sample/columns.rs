//! Samples as columns of numbers: how the host's part of a run's series is stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::rates::{CpuRates, DiskRates, MemoryRates, NetworkRates, PressureRates, Rates, TcpRates};
use super::raw::Sample;

/// The rates between neighbouring samples as columns, sorted by name.
///
/// Every column has one value for each pair of neighbours, so one fewer than there are samples; NaN where the
/// value is unknown. A column of which no value is known is left out.
///
/// | name | unit |
/// |---|---|
/// | `cpu`, `cpu_busiest`, `cpu_user`, `cpu_system`, `cpu_iowait`, `steal` | share of CPU time, 0–1 |
/// | `procs_running`, `procs_blocked` | processes and threads |
/// | `context_switches` | 1/s |
/// | `disk.DEVICE.{read,write,flush}_iops` | requests/s |
/// | `disk.DEVICE.{read,written}_bytes` | bytes/s |
/// | `disk.DEVICE.{await,read_await,write_await,flush_await}` | seconds |
/// | `disk.DEVICE.queue`, `.busy` | requests; share of time, 0–1 |
/// | `network.DEVICE.rx`, `.tx`, `.rx_packets`, `.tx_packets` | bytes/s; packets/s |
/// | `network.DEVICE.{rx,tx}_utilization`, `.drops`, `.errors` | share of the link, 0–1; packets/s |
/// | `memory.available`, `.used` | bytes; share, 0–1 |
/// | `memory.major_faults`, `.swap_in`, `.swap_out` | 1/s |
/// | `pressure.cpu.some`, `pressure.{io,memory}.{some,full}` | share of time, 0–1 |
/// | `tcp.sent`, `tcp.retransmitted`, `tcp.listen_drops` | 1/s |
pub fn columns(samples: &[Arc<Sample>]) -> Vec<(String, Vec<f64>)> {
    let length = samples.len().saturating_sub(1);
    let mut columns = BTreeMap::new();
    for (row, pair) in samples.windows(2).enumerate() {
        let rates = Rates::between(&pair[0], &pair[1]);
        each_value(&rates, &mut |name, value| {
            if let Some(value) = value {
                columns.entry(name).or_insert_with(|| vec![f64::NAN; length])[row] = value;
            }
        });
    }
    columns.into_iter().collect()
}

/// Receives the name of a value, and the value if it is known.
type Each<'a> = &'a mut dyn FnMut(String, Option<f64>);

fn each_value(rates: &Rates, each: Each<'_>) {
    rates.cpu.iter().for_each(|cpu| cpu_values(cpu, each));
    rates.disks.iter().for_each(|disk| disk_values(disk, each));
    rates.networks.iter().for_each(|card| network_values(card, each));
    memory_values(&rates.memory, each);
    pressure_values(&rates.pressure, each);
    tcp_values(&rates.tcp, each);
}

fn with_prefix<const N: usize>(prefix: &str, values: [(&str, Option<f64>); N], each: Each<'_>) {
    values.into_iter().for_each(|(item, value)| each(format!("{prefix}{item}"), value));
}

fn number(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

fn cpu_values(cpu: &CpuRates, each: Each<'_>) {
    let values = [
        ("cpu", Some(cpu.utilization)),
        ("cpu_busiest", Some(cpu.busiest)),
        ("cpu_user", Some(cpu.shares.user)),
        ("cpu_system", Some(cpu.shares.system)),
        ("cpu_iowait", Some(cpu.shares.iowait)),
        ("steal", Some(cpu.shares.steal)),
        ("procs_running", number(cpu.procs_running)),
        ("procs_blocked", number(cpu.procs_blocked)),
        ("context_switches", cpu.context_switches),
    ];
    with_prefix("", values, each);
}

fn disk_values(disk: &DiskRates, each: Each<'_>) {
    let values = [
        ("read_iops", Some(disk.read_iops)),
        ("write_iops", Some(disk.write_iops)),
        ("flush_iops", disk.flush_iops),
        ("read_bytes", Some(disk.read_bytes)),
        ("written_bytes", Some(disk.written_bytes)),
        ("await", disk.await_seconds),
        ("read_await", disk.read_await),
        ("write_await", disk.write_await),
        ("flush_await", disk.flush_await),
        ("queue", Some(disk.queue_depth)),
        ("busy", Some(disk.busy)),
    ];
    with_prefix(&format!("disk.{}.", disk.device.as_str()), values, each);
}

fn network_values(card: &NetworkRates, each: Each<'_>) {
    let (rx, tx) = (&card.receive, &card.transmit);
    let values = [
        ("rx", Some(rx.bytes)),
        ("tx", Some(tx.bytes)),
        ("rx_packets", Some(rx.packets)),
        ("tx_packets", Some(tx.packets)),
        ("rx_utilization", rx.utilization),
        ("tx_utilization", tx.utilization),
        ("drops", Some(rx.drops + tx.drops)),
        ("errors", Some(rx.errors + tx.errors)),
    ];
    with_prefix(&format!("network.{}.", card.device.as_str()), values, each);
}

fn memory_values(memory: &MemoryRates, each: Each<'_>) {
    let values = [
        ("available", number(memory.available)),
        ("used", memory.used),
        ("major_faults", memory.major_faults),
        ("swap_in", memory.swap_in),
        ("swap_out", memory.swap_out),
    ];
    with_prefix("memory.", values, each);
}

fn pressure_values(pressure: &PressureRates, each: Each<'_>) {
    let values = [
        ("cpu.some", pressure.cpu_some),
        ("io.some", pressure.io_some),
        ("io.full", pressure.io_full),
        ("memory.some", pressure.memory_some),
        ("memory.full", pressure.memory_full),
    ];
    with_prefix("pressure.", values, each);
}

fn tcp_values(tcp: &TcpRates, each: Each<'_>) {
    let values = [
        ("sent", tcp.sent_segments),
        ("retransmitted", tcp.retransmitted_segments),
        ("listen_drops", tcp.listen_drops),
    ];
    with_prefix("tcp.", values, each);
}
