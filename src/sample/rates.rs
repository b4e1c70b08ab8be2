//! Rates: a pure function of two samples.
//!
//! What cannot be known is absent, never 0 and never negative: a group that was not read anew between the
//! two samples, a counter that went back (a device that was replaced, a restart, the wrap of a millisecond
//! counter), a device that only one of the two samples has.

use serde::{Deserialize, Serialize};

use super::raw::{
    Cpu, CpuTimes, DeviceName, Disk, Memory, Moment, Network, Pressure, Reading, Sample, Tcp, Traffic, Vmstat,
};

/// What happened between two samples, a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// All CPUs together.
    pub cpu: Option<CpuRates>,
    /// One entry a disk that both samples have, in the kernel's order.
    pub disks: Vec<DiskRates>,
    /// One entry a network card that both samples have, in the kernel's order.
    pub networks: Vec<NetworkRates>,
    /// Memory at the end, and its events on the way.
    pub memory: MemoryRates,
    /// Waiting for resources.
    pub pressure: PressureRates,
    /// TCP.
    pub tcp: TcpRates,
}

/// Use of the CPUs; shares are between 0 and 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuRates {
    /// Share of all CPUs' time that was not idle: 1 − idle − iowait.
    pub utilization: f64,
    /// The highest such share of any one CPU: finds one hot thread.
    pub busiest: f64,
    /// Share of each mode in all CPUs' time; they add up to 1.
    pub shares: CpuShares,
    /// Runnable processes and threads at the end.
    pub procs_running: Option<u64>,
    /// Processes and threads waiting for I/O at the end.
    pub procs_blocked: Option<u64>,
    /// Context switches a second.
    pub context_switches: Option<f64>,
}

/// Shares of the modes of CPU time, each between 0 and 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuShares {
    /// Ordinary processes in user mode.
    pub user: f64,
    /// Niced processes in user mode.
    pub nice: f64,
    /// Kernel mode.
    pub system: f64,
    /// Nothing to do.
    pub idle: f64,
    /// Nothing to do while a request to a disk was in flight.
    pub iowait: f64,
    /// Hardware interrupts.
    pub irq: f64,
    /// Software interrupts.
    pub softirq: f64,
    /// Given to others by the hypervisor.
    pub steal: f64,
}

/// Use of one disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiskRates {
    /// The kernel's name.
    pub device: DeviceName,
    /// Reads completed a second.
    pub read_iops: f64,
    /// Writes completed a second.
    pub write_iops: f64,
    /// Flushes completed a second; `None` on a kernel that does not count them.
    pub flush_iops: Option<f64>,
    /// Bytes read a second.
    pub read_bytes: f64,
    /// Bytes written a second.
    pub written_bytes: f64,
    /// Mean seconds of a read or write, waiting included; `None` without any.
    pub await_seconds: Option<f64>,
    /// Mean seconds of a read; `None` without any.
    pub read_await: Option<f64>,
    /// Mean seconds of a write; `None` without any.
    pub write_await: Option<f64>,
    /// Mean seconds of a flush; `None` without any.
    pub flush_await: Option<f64>,
    /// Mean requests in flight.
    pub queue_depth: f64,
    /// Share of time with a request in flight, 0 to 1; on solid-state and virtual disks 1 is not saturation.
    pub busy: f64,
}

/// Use of one network card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkRates {
    /// The kernel's name.
    pub device: DeviceName,
    /// What came in.
    pub receive: DirectionRates,
    /// What went out.
    pub transmit: DirectionRates,
}

/// Use of one direction of a network card.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DirectionRates {
    /// Bytes a second.
    pub bytes: f64,
    /// Packets a second.
    pub packets: f64,
    /// Packets with errors a second.
    pub errors: f64,
    /// Dropped packets a second.
    pub drops: f64,
    /// Share of the link's speed, 0 to 1; `None` when the speed is unknown.
    pub utilization: Option<f64>,
}

/// Memory at the end, and its events a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryRates {
    /// Bytes that can be had without swapping.
    pub available: Option<u64>,
    /// Share of the memory that cannot: 1 − available / total.
    pub used: Option<f64>,
    /// Page faults that needed a disk, a second.
    pub major_faults: Option<f64>,
    /// Pages swapped in a second.
    pub swap_in: Option<f64>,
    /// Pages swapped out a second.
    pub swap_out: Option<f64>,
}

/// Share of time in which some task, or every task, waited for a resource; 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PressureRates {
    /// Some task waited for a CPU.
    pub cpu_some: Option<f64>,
    /// Some task waited for a disk.
    pub io_some: Option<f64>,
    /// Every task waited for a disk.
    pub io_full: Option<f64>,
    /// Some task waited for memory.
    pub memory_some: Option<f64>,
    /// Every task waited for memory.
    pub memory_full: Option<f64>,
}

/// TCP segments and refused connections a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TcpRates {
    /// Segments sent.
    pub sent_segments: Option<f64>,
    /// Segments sent again.
    pub retransmitted_segments: Option<f64>,
    /// Connections dropped while listening.
    pub listen_drops: Option<f64>,
}

impl Rates {
    /// What happened from `older` to `newer`.
    pub fn between(older: &Sample, newer: &Sample) -> Rates {
        Rates {
            cpu: pair(&older.cpu, &newer.cpu).and_then(cpu),
            disks: devices(pair(&older.disks, &newer.disks), |disk| &disk.device, disk),
            networks: devices(pair(&older.networks, &newer.networks), |card| &card.device, network),
            memory: memory(newer.memory.as_deref(), pair(&older.vmstat, &newer.vmstat)),
            pressure: pair(&older.pressure, &newer.pressure).map(pressure).unwrap_or_default(),
            tcp: pair(&older.tcp, &newer.tcp).map(tcp).unwrap_or_default(),
        }
    }
}

/// One group of two samples, read at different times.
#[derive(Clone, Copy)]
struct Pair<'a, T> {
    old: &'a T,
    new: &'a T,
    seconds: f64,
}

fn pair<'a, T>(old: &'a Option<Reading<T>>, new: &'a Option<Reading<T>>) -> Option<Pair<'a, T>> {
    let (old, new) = (old.as_ref()?, new.as_ref()?);
    let seconds = Moment::seconds_since(new.moment, old.moment)?;
    Some(Pair { old: &old.values, new: &new.values, seconds })
}

impl<T> Pair<'_, T> {
    /// How much a counter grew; `None` when it went back.
    fn grown(&self, counter: impl Fn(&T) -> u64) -> Option<f64> {
        grown(counter(self.old), counter(self.new))
    }

    /// How much a counter grew in a second.
    fn rate(&self, counter: impl Fn(&T) -> u64) -> Option<f64> {
        Some(self.grown(counter)? / self.seconds)
    }

    /// How much a counter that may be missing grew in a second.
    fn optional_rate(&self, counter: impl Fn(&T) -> Option<u64>) -> Option<f64> {
        Some(grown(counter(self.old)?, counter(self.new)?)? / self.seconds)
    }
}

fn grown(old: u64, new: u64) -> Option<f64> {
    new.checked_sub(old).map(|difference| difference as f64)
}

/// The rates of each device that both have; a device whose counters went back is left out.
fn devices<T, R>(
    pair: Option<Pair<'_, Vec<T>>>,
    name: impl Fn(&T) -> &DeviceName,
    rates: impl Fn(Pair<'_, T>) -> Option<R>,
) -> Vec<R> {
    let Some(Pair { old, new, seconds }) = pair else { return Vec::new() };
    let rates_of = |(position, new): (usize, &T)| {
        let old = counterpart(old, position, |old| name(old) == name(new))?;
        rates(Pair { old, new, seconds })
    };
    new.iter().enumerate().filter_map(rates_of).collect()
}

/// The same device in the older sample: nearly always at the same position.
fn counterpart<T>(old: &[T], position: usize, same: impl Fn(&T) -> bool) -> Option<&T> {
    old.get(position).filter(|old| same(old)).or_else(|| old.iter().find(|old| same(old)))
}

/// Shares are of the ticks that were counted, not of the clock: they add up to 1 whatever the clock says.
fn cpu(pair: Pair<'_, Cpu>) -> Option<CpuRates> {
    let mut sum = [0.0; 8];
    let mut busiest: f64 = 0.0;
    for (position, new) in pair.new.cpus.iter().enumerate() {
        let old = counterpart(&pair.old.cpus, position, |old| old.cpu == new.cpu);
        let Some(ticks) = old.and_then(|old| ticks(old, new)) else { continue };
        busiest = busiest.max(busy(&ticks).unwrap_or(0.0));
        sum.iter_mut().zip(ticks).for_each(|(sum, ticks)| *sum += ticks);
    }
    Some(CpuRates {
        utilization: busy(&sum)?,
        busiest,
        shares: CpuShares::of(&sum)?,
        procs_running: pair.new.procs_running,
        procs_blocked: pair.new.procs_blocked,
        context_switches: pair.optional_rate(|cpu| cpu.context_switches),
    })
}

/// The ticks of each mode of one CPU; `None` when one of them went back.
fn ticks(old: &CpuTimes, new: &CpuTimes) -> Option<[f64; 8]> {
    let mut ticks = [0.0; 8];
    for ((ticks, (_, old)), (_, new)) in ticks.iter_mut().zip(old.modes()).zip(new.modes()) {
        *ticks = grown(old, new)?;
    }
    Some(ticks)
}

/// Share of ticks, in the order of [`CpuTimes::modes`], that are neither idle nor iowait; `None` without any.
fn busy(ticks: &[f64; 8]) -> Option<f64> {
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    let busy = user + nice + system + irq + softirq + steal;
    let total = busy + idle + iowait;
    (total > 0.0).then(|| busy / total)
}

impl CpuShares {
    /// Shares of ticks in the order of [`CpuTimes::modes`]; `None` without any.
    fn of(ticks: &[f64; 8]) -> Option<CpuShares> {
        let total: f64 = ticks.iter().sum();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks.map(|ticks| ticks / total);
        (total > 0.0).then_some(CpuShares { user, nice, system, idle, iowait, irq, softirq, steal })
    }
}

fn disk(pair: Pair<'_, Disk>) -> Option<DiskRates> {
    let (reads, writes) = (pair.grown(|disk| disk.reads)?, pair.grown(|disk| disk.writes)?);
    let (read_ms, write_ms) = (pair.grown(|disk| disk.read_ms)?, pair.grown(|disk| disk.write_ms)?);
    let flushes = optionally_grown(pair.old.flushes, pair.new.flushes)?;
    let flush_ms = optionally_grown(pair.old.flush_ms, pair.new.flush_ms)?;
    Some(DiskRates {
        device: pair.new.device.clone(),
        read_iops: reads / pair.seconds,
        write_iops: writes / pair.seconds,
        flush_iops: flushes.map(|flushes| flushes / pair.seconds),
        read_bytes: pair.rate(Disk::read_bytes)?,
        written_bytes: pair.rate(Disk::written_bytes)?,
        await_seconds: mean_seconds(read_ms + write_ms, reads + writes),
        read_await: mean_seconds(read_ms, reads),
        write_await: mean_seconds(write_ms, writes),
        flush_await: flush_ms.zip(flushes).and_then(|(time, flushes)| mean_seconds(time, flushes)),
        queue_depth: pair.rate(|disk| disk.weighted_io_ms)? / 1000.0,
        busy: (pair.rate(|disk| disk.io_ms)? / 1000.0).min(1.0),
    })
}

/// How much a counter grew that this kernel may not have: `None` when it went back, `Some(None)` when missing.
fn optionally_grown(old: Option<u64>, new: Option<u64>) -> Option<Option<f64>> {
    match (old, new) {
        (Some(old), Some(new)) => grown(old, new).map(Some),
        _ => Some(None),
    }
}

fn mean_seconds(milliseconds: f64, requests: f64) -> Option<f64> {
    (requests > 0.0).then(|| milliseconds / requests / 1000.0)
}

fn network(pair: Pair<'_, Network>) -> Option<NetworkRates> {
    let speed = pair.new.speed;
    let direction = |traffic: fn(&Network) -> &Traffic| {
        let bytes = pair.rate(|card| traffic(card).bytes)?;
        Some(DirectionRates {
            bytes,
            packets: pair.rate(|card| traffic(card).packets)?,
            errors: pair.rate(|card| traffic(card).errors)?,
            drops: pair.rate(|card| traffic(card).drops)?,
            utilization: speed.filter(|speed| *speed > 0).map(|speed| (bytes / speed as f64).min(1.0)),
        })
    };
    Some(NetworkRates {
        device: pair.new.device.clone(),
        receive: direction(|card| &card.receive)?,
        transmit: direction(|card| &card.transmit)?,
    })
}

fn memory(now: Option<&Memory>, events: Option<Pair<'_, Vmstat>>) -> MemoryRates {
    let available = now.and_then(|memory| memory.available);
    let total = now.and_then(|memory| memory.total).filter(|total| *total > 0);
    let rate = |counter: fn(&Vmstat) -> Option<u64>| events.and_then(|pair| pair.optional_rate(counter));
    MemoryRates {
        available,
        used: available.zip(total).map(|(available, total)| (1.0 - available as f64 / total as f64).max(0.0)),
        major_faults: rate(|events| events.major_faults),
        swap_in: rate(|events| events.swap_in),
        swap_out: rate(|events| events.swap_out),
    }
}

fn pressure(pair: Pair<'_, Pressure>) -> PressureRates {
    let share = |total: fn(&Pressure) -> Option<u64>| {
        pair.optional_rate(total).map(|microseconds| (microseconds / 1e6).min(1.0))
    };
    PressureRates {
        cpu_some: share(|pressure| pressure.cpu_some),
        io_some: share(|pressure| pressure.io_some),
        io_full: share(|pressure| pressure.io_full),
        memory_some: share(|pressure| pressure.memory_some),
        memory_full: share(|pressure| pressure.memory_full),
    }
}

fn tcp(pair: Pair<'_, Tcp>) -> TcpRates {
    TcpRates {
        sent_segments: pair.optional_rate(|tcp| tcp.sent_segments),
        retransmitted_segments: pair.optional_rate(|tcp| tcp.retransmitted_segments),
        listen_drops: pair.optional_rate(|tcp| tcp.listen_drops),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::columns;
    use crate::sample::raw::tests::any_sample;
    use jiff::Timestamp;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::Index;
    use std::sync::Arc;

    fn at(milliseconds: u64) -> Moment {
        Moment::from_nanos(milliseconds * 1_000_000)
    }

    fn sample(milliseconds: u64, fill: impl FnOnce(&mut Sample, Moment)) -> Sample {
        let mut sample = Sample::empty(Timestamp::UNIX_EPOCH, at(milliseconds));
        fill(&mut sample, at(milliseconds));
        sample
    }

    fn with_cpus(milliseconds: u64, cpus: Vec<CpuTimes>) -> Sample {
        sample(milliseconds, |sample, moment| {
            sample.cpu = Some(Reading { moment, values: Cpu { cpus, ..Cpu::default() } });
        })
    }

    /// A disk with so many reads and flushes of 2 ms each.
    fn disk_of(device: &str, reads: u64, flushes: Option<u64>) -> Disk {
        Disk {
            device: device.into(),
            reads,
            reads_merged: 0,
            sectors_read: 8 * reads,
            read_ms: 2 * reads,
            writes: 0,
            writes_merged: 0,
            sectors_written: 0,
            write_ms: 0,
            in_flight: 0,
            io_ms: 5 * reads,
            weighted_io_ms: 2 * reads,
            discards: None,
            discards_merged: None,
            sectors_discarded: None,
            discard_ms: None,
            flushes,
            flush_ms: flushes.map(|flushes| 2 * flushes),
        }
    }

    fn with_disks(milliseconds: u64, disks: Vec<Disk>) -> Sample {
        sample(milliseconds, |sample, moment| sample.disks = Some(Reading { moment, values: disks }))
    }

    fn with_card(milliseconds: u64, bytes: u64, speed: Option<u64>) -> Sample {
        let receive = Traffic { bytes, packets: bytes / 1000, errors: 0, drops: 1 };
        let card =
            Network { device: "eth0".into(), receive, transmit: Traffic::default(), speed, up: Some(true) };
        sample(milliseconds, |sample, moment| {
            sample.networks = Some(Reading { moment, values: vec![card] });
        })
    }

    #[test]
    fn cpu_utilization_is_of_all_cpus_and_iowait_is_idle() {
        let cpu = |cpu, user, idle, iowait, steal| CpuTimes {
            cpu,
            user,
            idle,
            iowait,
            steal,
            ..CpuTimes::default()
        };
        let older = with_cpus(0, vec![cpu(0, 10, 100, 0, 0), cpu(1, 0, 100, 0, 0)]);
        let newer = with_cpus(1000, vec![cpu(0, 100, 100, 0, 10), cpu(1, 0, 150, 50, 0)]);
        let rates = Rates::between(&older, &newer).cpu.unwrap();
        assert_eq!(rates.utilization, 0.5);
        assert_eq!(rates.busiest, 1.0);
        assert_eq!(rates.shares.steal, 0.05);
        assert_eq!(rates.shares.user, 0.45);
    }

    #[test]
    fn a_cpu_that_restarted_or_came_is_left_out() {
        let cpu = |cpu, user, idle| CpuTimes { cpu, user, idle, ..CpuTimes::default() };
        let older = with_cpus(0, vec![cpu(0, 0, 1000), cpu(1, 0, 0)]);
        let newer = with_cpus(1000, vec![cpu(0, 5, 0), cpu(1, 25, 75), cpu(2, 100, 0)]);
        assert_eq!(Rates::between(&older, &newer).cpu.unwrap().utilization, 0.25);
    }

    #[test]
    fn disk_rates_are_as_iostat_has_them() {
        let older = with_disks(0, vec![disk_of("sda", 0, Some(0))]);
        let newer = with_disks(2000, vec![disk_of("sda", 100, Some(10))]);
        let rates = Rates::between(&older, &newer).disks.remove(0);
        assert_eq!((rates.read_iops, rates.write_iops, rates.flush_iops), (50.0, 0.0, Some(5.0)));
        assert_eq!(rates.read_bytes, 50.0 * 4096.0);
        assert_eq!((rates.read_await, rates.write_await), (Some(0.002), None));
        assert_eq!((rates.await_seconds, rates.flush_await), (Some(0.002), Some(0.002)));
        assert_eq!((rates.queue_depth, rates.busy), (0.1, 0.25));
    }

    #[test]
    fn busy_is_at_most_1_however_late_the_kernel_counts() {
        let older = with_disks(0, vec![disk_of("sda", 0, None)]);
        let newer = with_disks(100, vec![disk_of("sda", 100, None)]);
        let rates = Rates::between(&older, &newer).disks.remove(0);
        assert_eq!((rates.busy, rates.flush_iops, rates.flush_await), (1.0, None, None));
    }

    #[test]
    fn vanished_new_and_replaced_disks_have_no_rates_and_the_others_do() {
        let disks =
            |names: &[(&str, u64)]| names.iter().map(|(name, reads)| disk_of(name, *reads, None)).collect();
        let older = with_disks(0, disks(&[("sda", 5), ("sdb", 5), ("sdc", 5)]));
        let newer = with_disks(1000, disks(&[("sdb", 6), ("sdc", 4), ("sdd", 9)]));
        let rates = Rates::between(&older, &newer).disks;
        assert_eq!(rates.iter().map(|disk| disk.device.as_str()).collect::<Vec<_>>(), ["sdb"]);
    }

    #[test]
    fn network_utilization_needs_a_speed() {
        let rates = |speed| {
            let newer = with_card(500, 25_000_000, speed);
            Rates::between(&with_card(0, 0, speed), &newer).networks.remove(0)
        };
        assert_eq!(rates(Some(125_000_000)).receive.utilization, Some(0.4));
        assert_eq!(rates(Some(125_000_000)).receive.bytes, 50e6);
        assert_eq!(rates(None).receive.utilization, None);
    }

    #[test]
    fn pressure_is_a_share_of_time_and_faults_are_a_second() {
        let with = |milliseconds, waited, faults| {
            sample(milliseconds, |sample, moment| {
                let pressure = Pressure { io_some: Some(waited), ..Pressure::default() };
                sample.pressure = Some(Reading { moment, values: pressure });
                let events = Vmstat { major_faults: Some(faults), ..Vmstat::default() };
                sample.vmstat = Some(Reading { moment, values: events });
                let memory = Memory { total: Some(1000), available: Some(750), ..Memory::default() };
                sample.memory = Some(Reading { moment, values: memory });
            })
        };
        let rates = Rates::between(&with(0, 100, 5), &with(500, 200_100, 15));
        assert_eq!((rates.pressure.io_some, rates.pressure.io_full), (Some(0.4), None));
        assert_eq!(rates.memory.major_faults, Some(20.0));
        assert_eq!((rates.memory.available, rates.memory.used), (Some(750), Some(0.25)));
    }

    #[test]
    fn a_collector_that_failed_in_between_gives_nothing_then_the_true_mean() {
        let first = with_disks(0, vec![disk_of("sda", 0, None)]);
        let mut stale = first.clone();
        stale.moment = at(1000);
        let third = with_disks(2000, vec![disk_of("sda", 10, None)]);
        assert!(Rates::between(&first, &stale).disks.is_empty());
        assert_eq!(Rates::between(&stale, &third).disks[0].read_iops, 5.0);
    }

    #[test]
    fn columns_are_equally_long_with_gaps_where_a_value_is_unknown() {
        let samples = [
            with_disks(0, vec![disk_of("sda", 0, None)]),
            with_disks(1000, vec![disk_of("sda", 7, None), disk_of("sdb", 0, None)]),
            with_disks(2000, vec![disk_of("sda", 7, None), disk_of("sdb", 1, None)]),
        ];
        let columns = columns(&samples.map(Arc::new));
        let column = |name: &str| columns.iter().find(|(n, _)| n == name).map(|(_, values)| values.clone());
        assert_eq!(column("disk.sda.read_iops"), Some(vec![7.0, 0.0]));
        assert_eq!(column("disk.sdb.read_iops").unwrap()[1], 1.0);
        assert!(column("disk.sdb.read_iops").unwrap()[0].is_nan());
        assert!(column("disk.sda.await").unwrap()[1].is_nan());
        assert_eq!(column("disk.sda.flush_await"), None);
        assert!(columns.iter().all(|(_, values)| values.len() == 2));
    }

    #[test]
    fn fewer_than_two_samples_make_no_columns() {
        assert!(columns(&[]).is_empty());
        assert!(columns(&[Arc::new(with_disks(0, vec![disk_of("sda", 0, None)]))]).is_empty());
    }

    /// The same host later: its numbers have grown, but one of them may have begun anew.
    fn later(older: &Sample, grown: &[u64], reset: Option<Index>) -> Sample {
        let mut newer = older.clone();
        let mut count = 0;
        newer.each_number(&mut |number| {
            *number = number.saturating_add(grown[count % grown.len()]);
            count += 1;
        });
        let (mut position, reset) = (0, reset.map(|index| index.index(count)));
        newer.each_number(&mut |number| {
            // The first two are the times of the sample, which have no part in the rates.
            if reset == Some(position) && position >= 2 {
                *number = 0;
            }
            position += 1;
        });
        newer
    }

    proptest! {
        #[test]
        fn whatever_the_counters_did_no_rate_is_negative_or_not_a_number(
            older in any_sample(), grown in vec(0..10_000_000_u64, 200), reset in option::of(any::<Index>()),
        ) {
            let newer = later(&older, &grown, reset);
            for (name, values) in columns(&[Arc::new(older), Arc::new(newer)]) {
                let is_share = ["cpu", "steal", "busy", "some", "full", "used"].iter().any(|end| name.ends_with(end))
                    || name.starts_with("cpu_") || name.ends_with("utilization");
                let most = if is_share { 1.0 } else { f64::MAX };
                prop_assert!((0.0..=most).contains(&values[0]), "{name} = {}", values[0]);
            }
        }

        #[test]
        fn no_time_between_two_samples_means_no_rates(sample in any_sample()) {
            let rates = Rates::between(&sample, &sample);
            prop_assert!(rates.cpu.is_none() && rates.disks.is_empty() && rates.networks.is_empty());
            prop_assert_eq!(rates.pressure, PressureRates::default());
            prop_assert_eq!(rates.memory.major_faults, None);
        }
    }
}
