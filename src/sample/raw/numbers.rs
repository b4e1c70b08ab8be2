//! The shape and the numbers of a sample, apart: what the ring needs to keep samples as differences.

use jiff::Timestamp;

use super::{Cpu, CpuTimes, Disk, Memory, Network, Pressure, Reading, Sample, Tcp, Traffic, Vmstat};

impl Sample {
    /// Whether both hold the same groups of the same devices, so that their numbers correspond one to one.
    pub(crate) fn same_shape(&self, other: &Sample) -> bool {
        let groups = |sample: &Sample| {
            [
                sample.load.is_some(),
                sample.memory.is_some(),
                sample.vmstat.is_some(),
                sample.pressure.is_some(),
            ]
        };
        groups(self) == groups(other)
            && self.tcp.is_some() == other.tcp.is_some()
            && same(&self.cpu, &other.cpu, |a, b| {
                a.cpus.iter().map(|times| times.cpu).eq(b.cpus.iter().map(|times| times.cpu))
            })
            && same(&self.disks, &other.disks, |a, b| {
                a.iter().map(|disk| &disk.device).eq(b.iter().map(|disk| &disk.device))
            })
            && same(&self.networks, &other.networks, |a, b| {
                a.iter().map(|card| &card.device).eq(b.iter().map(|card| &card.device))
            })
    }

    /// Passes every number to `each`, which may change it, in an order that depends on the shape alone.
    pub(crate) fn each_number(&mut self, each: &mut dyn FnMut(&mut u64)) {
        each_timestamp(&mut self.at, each);
        each(&mut self.moment.0);
        in_reading(&mut self.cpu, each, Cpu::each_number);
        in_reading(&mut self.load, each, |load, each| {
            for average in [&mut load.one, &mut load.five, &mut load.fifteen] {
                let mut bits = average.to_bits();
                each(&mut bits);
                *average = f64::from_bits(bits);
            }
        });
        in_reading(&mut self.disks, each, |disks, each| {
            disks.iter_mut().for_each(|disk| disk.each_number(each));
        });
        in_reading(&mut self.networks, each, |cards, each| {
            cards.iter_mut().for_each(|card| card.each_number(each));
        });
        in_reading(&mut self.memory, each, |memory, each| each_optional(memory.numbers(), each));
        in_reading(&mut self.vmstat, each, |events, each| {
            let Vmstat { major_faults, swap_in, swap_out, oom_kills } = events;
            each_optional([major_faults, swap_in, swap_out, oom_kills], each);
        });
        in_reading(&mut self.pressure, each, |pressure, each| {
            let Pressure { cpu_some, cpu_full, io_some, io_full, memory_some, memory_full } = pressure;
            each_optional([cpu_some, cpu_full, io_some, io_full, memory_some, memory_full], each);
        });
        in_reading(&mut self.tcp, each, |tcp, each| {
            let Tcp { sent_segments, retransmitted_segments, listen_overflows, listen_drops } = tcp;
            each_optional([sent_segments, retransmitted_segments, listen_overflows, listen_drops], each);
        });
    }
}

impl Cpu {
    fn each_number(&mut self, each: &mut dyn FnMut(&mut u64)) {
        let Cpu { cpus, context_switches, interrupts, forks, procs_running, procs_blocked, boot_time } = self;
        cpus.iter_mut().flat_map(CpuTimes::counters_mut).for_each(&mut *each);
        each_optional([context_switches, interrupts, forks, procs_running, procs_blocked, boot_time], each);
    }
}

impl Disk {
    fn numbers(&mut self) -> ([&mut u64; 11], [&mut Option<u64>; 6]) {
        (
            [
                &mut self.reads,
                &mut self.reads_merged,
                &mut self.sectors_read,
                &mut self.read_ms,
                &mut self.writes,
                &mut self.writes_merged,
                &mut self.sectors_written,
                &mut self.write_ms,
                &mut self.in_flight,
                &mut self.io_ms,
                &mut self.weighted_io_ms,
            ],
            [
                &mut self.discards,
                &mut self.discards_merged,
                &mut self.sectors_discarded,
                &mut self.discard_ms,
                &mut self.flushes,
                &mut self.flush_ms,
            ],
        )
    }

    fn each_number(&mut self, each: &mut dyn FnMut(&mut u64)) {
        let (always, newer) = self.numbers();
        always.into_iter().for_each(&mut *each);
        each_optional(newer, each);
    }
}

impl Network {
    fn each_number(&mut self, each: &mut dyn FnMut(&mut u64)) {
        self.receive.counters_mut().into_iter().for_each(&mut *each);
        self.transmit.counters_mut().into_iter().for_each(&mut *each);
        let mut up = self.up.map(u64::from);
        each_optional([&mut self.speed, &mut up], each);
        self.up = up.map(|value| value != 0);
    }
}

fn same<T>(a: &Option<Reading<T>>, b: &Option<Reading<T>>, equal: impl Fn(&T, &T) -> bool) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => equal(a, b),
        (None, None) => true,
        _ => false,
    }
}

fn in_reading<T>(
    reading: &mut Option<Reading<T>>,
    each: &mut dyn FnMut(&mut u64),
    numbers: impl Fn(&mut T, &mut dyn FnMut(&mut u64)),
) {
    if let Some(reading) = reading {
        each(&mut reading.moment.0);
        numbers(&mut reading.values, each);
    }
}

/// A missing value travels as 0 and any other as one more than itself.
fn each_optional<const N: usize>(values: [&mut Option<u64>; N], each: &mut dyn FnMut(&mut u64)) {
    for value in values {
        let mut number = value.map_or(0, |value| value.saturating_add(1));
        each(&mut number);
        *value = number.checked_sub(1);
    }
}

/// Wall-clock nanoseconds fit 64 bits until the year 2262.
fn each_timestamp(at: &mut Timestamp, each: &mut dyn FnMut(&mut u64)) {
    let before = i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX);
    let mut number = before.cast_unsigned();
    each(&mut number);
    let after = number.cast_signed();
    if after != before {
        *at = Timestamp::from_nanosecond(i128::from(after)).unwrap_or(*at);
    }
}

impl Traffic {
    fn counters_mut(&mut self) -> [&mut u64; 4] {
        [&mut self.bytes, &mut self.packets, &mut self.errors, &mut self.drops]
    }
}

impl Memory {
    fn numbers(&mut self) -> [&mut Option<u64>; 14] {
        [
            &mut self.total,
            &mut self.free,
            &mut self.available,
            &mut self.buffers,
            &mut self.cached,
            &mut self.dirty,
            &mut self.writeback,
            &mut self.anonymous,
            &mut self.slab,
            &mut self.committed,
            &mut self.swap_total,
            &mut self.swap_free,
            &mut self.huge_pages_total,
            &mut self.huge_pages_free,
        ]
    }
}
