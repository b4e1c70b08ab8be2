//! What is read at one instant: raw counters, with the time at which each group of them was read.

mod devices;
mod numbers;

use std::ops::Deref;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use devices::{DeviceName, Disk, Network, Traffic};

/// Clock ticks in a second of `/proc/stat` and `/proc/PID/stat` (`USER_HZ`, 100 on every platform built for).
pub const TICKS_PER_SECOND: u64 = 100;

/// A point on a clock that never goes back: nanoseconds since the sampler's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Moment(u64);

impl Moment {
    /// So many nanoseconds after the sampler's start.
    pub const fn from_nanos(nanos: u64) -> Moment {
        Moment(nanos)
    }

    /// Nanoseconds after the sampler's start.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds from an earlier moment to this one; `None` when no time passed.
    pub fn seconds_since(self, earlier: Moment) -> Option<f64> {
        let nanos = self.0.checked_sub(earlier.0).filter(|nanos| *nanos > 0)?;
        Some(nanos as f64 / 1e9)
    }
}

/// The values of one collector and when it read them. A collector that failed leaves its last reading in
/// place, so the moment says how old the values are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading<T> {
    /// When the values were read.
    pub moment: Moment,
    /// What was read.
    pub values: T,
}

impl<T> Deref for Reading<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.values
    }
}

/// The host at one instant. A group is `None` when it was never read or does not exist here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Wall clock when the sample was begun.
    pub at: Timestamp,
    /// The same instant on the clock that never goes back.
    pub moment: Moment,
    /// `/proc/stat`.
    pub cpu: Option<Reading<Cpu>>,
    /// `/proc/loadavg`.
    pub load: Option<Reading<Load>>,
    /// `/proc/diskstats`, in the kernel's order.
    pub disks: Option<Reading<Vec<Disk>>>,
    /// `/proc/net/dev` and `/sys/class/net`, in the kernel's order.
    pub networks: Option<Reading<Vec<Network>>>,
    /// `/proc/meminfo`.
    pub memory: Option<Reading<Memory>>,
    /// `/proc/vmstat`.
    pub vmstat: Option<Reading<Vmstat>>,
    /// `/proc/pressure`.
    pub pressure: Option<Reading<Pressure>>,
    /// `/proc/net/snmp` and `/proc/net/netstat`.
    pub tcp: Option<Reading<Tcp>>,
}

impl Sample {
    /// A sample in which nothing was read yet.
    pub fn empty(at: Timestamp, moment: Moment) -> Sample {
        Sample {
            at,
            moment,
            cpu: None,
            load: None,
            disks: None,
            networks: None,
            memory: None,
            vmstat: None,
            pressure: None,
            tcp: None,
        }
    }
}

/// What `/proc/stat` says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// One entry an online CPU.
    pub cpus: Vec<CpuTimes>,
    /// Context switches since boot.
    pub context_switches: Option<u64>,
    /// Interrupts serviced since boot.
    pub interrupts: Option<u64>,
    /// Processes and threads created since boot.
    pub forks: Option<u64>,
    /// Runnable processes and threads now.
    pub procs_running: Option<u64>,
    /// Processes and threads waiting for I/O now.
    pub procs_blocked: Option<u64>,
    /// Boot time, seconds since the Unix epoch.
    pub boot_time: Option<u64>,
}

/// Time of one CPU by mode since boot, in ticks of which [`TICKS_PER_SECOND`] make a second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// The CPU's number.
    pub cpu: u32,
    /// Ordinary processes in user mode; guests are in it.
    pub user: u64,
    /// Niced processes in user mode.
    pub nice: u64,
    /// Processes in kernel mode.
    pub system: u64,
    /// Nothing to do. Never goes back by less than a reset of the CPU does.
    pub idle: u64,
    /// Nothing to do while a request to a disk was in flight. Held as `idle` is.
    pub iowait: u64,
    /// Hardware interrupts.
    pub irq: u64,
    /// Software interrupts.
    pub softirq: u64,
    /// Time the hypervisor gave to others.
    pub steal: u64,
}

impl CpuTimes {
    /// The modes by name, as node_exporter names and orders them.
    pub const fn modes(&self) -> [(&'static str, u64); 8] {
        [
            ("user", self.user),
            ("nice", self.nice),
            ("system", self.system),
            ("idle", self.idle),
            ("iowait", self.iowait),
            ("irq", self.irq),
            ("softirq", self.softirq),
            ("steal", self.steal),
        ]
    }

    /// The modes' counters, in the kernel's order.
    pub(crate) fn counters_mut(&mut self) -> [&mut u64; 8] {
        [
            &mut self.user,
            &mut self.nice,
            &mut self.system,
            &mut self.idle,
            &mut self.iowait,
            &mut self.irq,
            &mut self.softirq,
            &mut self.steal,
        ]
    }
}

/// Load averages: runnable tasks and tasks waiting for a disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Over 1 minute.
    pub one: f64,
    /// Over 5 minutes.
    pub five: f64,
    /// Over 15 minutes.
    pub fifteen: f64,
}

/// Memory now, in bytes. A field is `None` when this kernel does not have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// `MemTotal`.
    pub total: Option<u64>,
    /// `MemFree`.
    pub free: Option<u64>,
    /// `MemAvailable`.
    pub available: Option<u64>,
    /// `Buffers`.
    pub buffers: Option<u64>,
    /// `Cached`.
    pub cached: Option<u64>,
    /// `Dirty`.
    pub dirty: Option<u64>,
    /// `Writeback`.
    pub writeback: Option<u64>,
    /// `AnonPages`.
    pub anonymous: Option<u64>,
    /// `Slab`.
    pub slab: Option<u64>,
    /// `Committed_AS`.
    pub committed: Option<u64>,
    /// `SwapTotal`.
    pub swap_total: Option<u64>,
    /// `SwapFree`.
    pub swap_free: Option<u64>,
    /// `HugePages_Total` times `Hugepagesize`.
    pub huge_pages_total: Option<u64>,
    /// `HugePages_Free` times `Hugepagesize`.
    pub huge_pages_free: Option<u64>,
}

/// Events of the memory management since boot. A field is `None` when this kernel does not have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vmstat {
    /// `pgmajfault`: page faults that needed a disk.
    pub major_faults: Option<u64>,
    /// `pswpin`: pages swapped in.
    pub swap_in: Option<u64>,
    /// `pswpout`: pages swapped out.
    pub swap_out: Option<u64>,
    /// `oom_kill`: processes killed for lack of memory; kernel 4.13.
    pub oom_kills: Option<u64>,
}

/// Time in which tasks waited for a resource, microseconds since boot: `some` at least one, `full` all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pressure {
    /// `/proc/pressure/cpu`, some.
    pub cpu_some: Option<u64>,
    /// `/proc/pressure/cpu`, full; kernel 5.13, 0 for the whole host.
    pub cpu_full: Option<u64>,
    /// `/proc/pressure/io`, some.
    pub io_some: Option<u64>,
    /// `/proc/pressure/io`, full.
    pub io_full: Option<u64>,
    /// `/proc/pressure/memory`, some.
    pub memory_some: Option<u64>,
    /// `/proc/pressure/memory`, full.
    pub memory_full: Option<u64>,
}

/// TCP since boot. A field is `None` when this kernel does not have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tcp {
    /// `OutSegs`: segments sent.
    pub sent_segments: Option<u64>,
    /// `RetransSegs`: segments sent again.
    pub retransmitted_segments: Option<u64>,
    /// `ListenOverflows`: full accept queues met.
    pub listen_overflows: Option<u64>,
    /// `ListenDrops`: connections dropped while listening.
    pub listen_drops: Option<u64>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    fn counter() -> impl Strategy<Value = u64> {
        prop_oneof![0..1000_u64, 0..u64::MAX]
    }

    fn numbered(mut sample: Sample) -> impl Strategy<Value = Sample> {
        let mut count = 0;
        sample.each_number(&mut |_| count += 1);
        vec(counter(), count - 2).prop_map(move |numbers| {
            let mut sample = sample.clone();
            let mut position = 0;
            sample.each_number(&mut |number| {
                // The first two are the times of the sample, the rest may be anything.
                if position >= 2 {
                    *number = numbers[position - 2];
                }
                position += 1;
            });
            if let Some(load) = &mut sample.load {
                load.values = Load { one: 0.25, five: 1e9, fifteen: 0.0 };
            }
            sample
        })
    }

    fn disk(device: &str) -> Disk {
        Disk {
            device: device.into(),
            reads: 0,
            reads_merged: 0,
            sectors_read: 0,
            read_ms: 0,
            writes: 0,
            writes_merged: 0,
            sectors_written: 0,
            write_ms: 0,
            in_flight: 0,
            io_ms: 0,
            weighted_io_ms: 0,
            discards: None,
            discards_merged: None,
            sectors_discarded: None,
            discard_ms: None,
            flushes: None,
            flush_ms: None,
        }
    }

    fn reading<T>(values: T) -> Reading<T> {
        Reading { moment: Moment::default(), values }
    }

    prop_compose! {
        fn shape()(
            nanos in 0..4_000_000_000_000_000_000_i64,
            cpus in 0..3_u32,
            disks in option::of(vec("sd[a-c]", 0..3)),
            cards in option::of(vec("eth[0-2]", 0..3)),
            present in any::<[bool; 6]>(),
        ) -> Sample {
            let at = Timestamp::from_nanosecond(nanos.into()).unwrap();
            let times = (0..cpus).map(|cpu| CpuTimes { cpu, ..CpuTimes::default() }).collect();
            let card = |device: &String| Network {
                device: device.as_str().into(),
                receive: Traffic::default(),
                transmit: Traffic::default(),
                speed: None,
                up: None,
            };
            Sample {
                at,
                moment: Moment::from_nanos(nanos.cast_unsigned()),
                cpu: present[0].then(|| reading(Cpu { cpus: times, ..Cpu::default() })),
                load: present[1].then(|| reading(Load::default())),
                disks: disks.map(|names| reading(names.iter().map(|name| disk(name)).collect())),
                networks: cards.map(|names| reading(names.iter().map(card).collect())),
                memory: present[2].then(|| reading(Memory::default())),
                vmstat: present[3].then(|| reading(Vmstat::default())),
                pressure: present[4].then(|| reading(Pressure::default())),
                tcp: present[5].then(|| reading(Tcp::default())),
            }
        }
    }

    /// A sample of any shape with any numbers.
    pub(crate) fn any_sample() -> impl Strategy<Value = Sample> {
        shape().prop_flat_map(numbered)
    }

    proptest! {
        #[test]
        fn a_sample_survives_json(sample in any_sample()) {
            let text = serde_json::to_string(&sample).unwrap();
            prop_assert_eq!(serde_json::from_str::<Sample>(&text).unwrap(), sample);
        }
    }
}
