//! Peaks: how the host's samples were distributed since the start, and the worst of them in the last minutes.
//!
//! The sampler adds each pair of neighbouring samples at the interval, whoever scrapes and however often. So nothing
//! is lost between two scrapes, and two Prometheus servers see the same.

use std::collections::{BTreeMap, VecDeque};

use super::rates::{CpuRates, DirectionRates, DiskRates, NetworkRates, PressureRates, Rates};
use super::raw::{DeviceName, Moment, Sample};
use crate::units::Span;

/// Bounds of a distribution.
const BOUNDS: usize = 7;

/// Bounds of shares of a capacity: close together where it runs out.
const SHARES: &[f64; BOUNDS] = &[0.1, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95];

/// Bounds of the seconds a request takes: memory of a solid-state disk to a disk that is overrun.
const TIMES: &[f64; BOUNDS] = &[0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3];

/// Bounds of requests in flight.
const DEPTHS: &[f64; BOUNDS] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// Bounds of the share of time in which tasks waited: a tenth is much.
const WAITS: &[f64; BOUNDS] = &[0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8];

/// What of the host has peaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// [`CpuRates::utilization`].
    CpuUtilization,
    /// [`CpuRates::busiest`].
    CpuBusiest,
    /// The share of CPU time given to others by the hypervisor.
    CpuSteal,
    /// [`DiskRates::busy`].
    DiskBusy,
    /// [`DiskRates::read_await`].
    DiskReadAwait,
    /// [`DiskRates::write_await`].
    DiskWriteAwait,
    /// [`DiskRates::flush_await`].
    DiskFlushAwait,
    /// [`DiskRates::queue_depth`].
    DiskQueueDepth,
    /// [`DirectionRates::utilization`] of what came in.
    ReceiveUtilization,
    /// [`DirectionRates::utilization`] of what went out.
    TransmitUtilization,
    /// [`PressureRates::cpu_some`].
    PressureCpuSome,
    /// [`PressureRates::io_some`].
    PressureIoSome,
    /// [`PressureRates::io_full`].
    PressureIoFull,
    /// [`PressureRates::memory_some`].
    PressureMemorySome,
    /// [`PressureRates::memory_full`].
    PressureMemoryFull,
}

impl Measure {
    /// All of them.
    pub const ALL: &[Measure] = &[
        Measure::CpuUtilization,
        Measure::CpuBusiest,
        Measure::CpuSteal,
        Measure::DiskBusy,
        Measure::DiskReadAwait,
        Measure::DiskWriteAwait,
        Measure::DiskFlushAwait,
        Measure::DiskQueueDepth,
        Measure::ReceiveUtilization,
        Measure::TransmitUtilization,
        Measure::PressureCpuSome,
        Measure::PressureIoSome,
        Measure::PressureIoFull,
        Measure::PressureMemorySome,
        Measure::PressureMemoryFull,
    ];

    /// Whether it is one of disks.
    pub const fn is_of_disks(self) -> bool {
        matches!(
            self,
            Measure::DiskBusy
                | Measure::DiskReadAwait
                | Measure::DiskWriteAwait
                | Measure::DiskFlushAwait
                | Measure::DiskQueueDepth
        )
    }

    /// Whether it is one of network cards.
    pub const fn is_of_networks(self) -> bool {
        matches!(self, Measure::ReceiveUtilization | Measure::TransmitUtilization)
    }

    /// The upper bounds by which samples are counted.
    pub const fn bounds(self) -> &'static [f64; BOUNDS] {
        match self {
            Measure::CpuUtilization
            | Measure::CpuBusiest
            | Measure::CpuSteal
            | Measure::DiskBusy
            | Measure::ReceiveUtilization
            | Measure::TransmitUtilization => SHARES,
            Measure::DiskReadAwait | Measure::DiskWriteAwait | Measure::DiskFlushAwait => TIMES,
            Measure::DiskQueueDepth => DEPTHS,
            Measure::PressureCpuSome
            | Measure::PressureIoSome
            | Measure::PressureIoFull
            | Measure::PressureMemorySome
            | Measure::PressureMemoryFull => WAITS,
        }
    }
}

/// One measure of the host or of a device, over all samples since the start.
#[derive(Debug, Clone, PartialEq)]
pub struct Peak {
    /// What was measured.
    pub measure: Measure,
    /// On which device; `None` for the host as a whole.
    pub device: Option<DeviceName>,
    /// How many samples had at most each of the measure's bounds.
    pub up_to: [u64; BOUNDS],
    /// How many samples there were.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The largest sample in each trailing window that holds one.
    pub maxima: Vec<(Span, f64)>,
}

/// All measures so far.
pub(super) struct Peaks {
    windows: Vec<Span>,
    tracks: BTreeMap<(Measure, Option<DeviceName>), Track>,
}

/// One measure so far.
#[derive(Default)]
struct Track {
    up_to: [u64; BOUNDS],
    count: u64,
    sum: f64,
    /// The samples that no later one exceeds, so oldest and largest first: the first of them that lies in a window
    /// is the largest of that window.
    falling: VecDeque<(Moment, f64)>,
}

impl Peaks {
    pub(super) fn new(windows: &[Span]) -> Peaks {
        Peaks { windows: windows.to_vec(), tracks: BTreeMap::new() }
    }

    /// Changes the trailing windows; a longer one fills from now on.
    pub(super) fn set_windows(&mut self, windows: &[Span]) {
        self.windows = windows.to_vec();
    }

    /// Adds what happened between two neighbouring samples. A device that is gone takes its measures along.
    pub(super) fn observe(&mut self, older: &Sample, newer: &Sample) {
        self.tracks.retain(|(measure, device), _| is_there(*measure, device.as_ref(), newer));
        let oldest = since(newer.moment, self.windows.iter().max().copied().unwrap_or_default());
        each_value(&Rates::between(older, newer), &mut |measure, device, value| {
            let track = self.tracks.entry((measure, device.cloned())).or_default();
            if let Some(value) = value {
                track.add(measure, newer.moment, value, oldest);
            }
        });
    }

    /// Every measure, with windows that end at an instant.
    pub(super) fn as_of(&self, now: Moment) -> Vec<Peak> {
        let peak = |((measure, device), track): (&(Measure, Option<DeviceName>), &Track)| Peak {
            measure: *measure,
            device: device.clone(),
            up_to: track.up_to,
            count: track.count,
            sum: track.sum,
            maxima: self
                .windows
                .iter()
                .filter_map(|window| Some((*window, track.max_from(since(now, *window))?)))
                .collect(),
        };
        self.tracks.iter().map(peak).collect()
    }
}

impl Track {
    fn add(&mut self, measure: Measure, at: Moment, value: f64, oldest: Moment) {
        for (count, bound) in self.up_to.iter_mut().zip(measure.bounds()) {
            *count += u64::from(value <= *bound);
        }
        self.count += 1;
        self.sum += value;
        while self.falling.back().is_some_and(|(_, last)| *last <= value) {
            self.falling.pop_back();
        }
        while self.falling.front().is_some_and(|(first, _)| *first < oldest) {
            self.falling.pop_front();
        }
        self.falling.push_back((at, value));
    }

    fn max_from(&self, oldest: Moment) -> Option<f64> {
        self.falling.iter().find(|(at, _)| *at >= oldest).map(|(_, value)| *value)
    }
}

/// The begin of a window that ends at a moment.
fn since(end: Moment, window: Span) -> Moment {
    let nanos = u64::try_from(window.duration().as_nanos()).unwrap_or(u64::MAX);
    Moment::from_nanos(end.nanos().saturating_sub(nanos))
}

/// Whether a sample has the device, and knows the speed of a card.
fn is_there(measure: Measure, device: Option<&DeviceName>, sample: &Sample) -> bool {
    let Some(device) = device else { return true };
    if measure.is_of_networks() {
        let mut cards = sample.networks.iter().flat_map(|cards| &cards.values);
        return cards.any(|card| card.device == *device && card.speed.is_some());
    }
    sample.disks.iter().flat_map(|disks| &disks.values).any(|disk| disk.device == *device)
}

/// Receives a measure, its device, and its value if there was something to measure.
type Each<'a> = &'a mut dyn FnMut(Measure, Option<&DeviceName>, Option<f64>);

fn each_value(rates: &Rates, each: Each<'_>) {
    rates.cpu.iter().for_each(|cpu| cpu_values(cpu, each));
    rates.disks.iter().for_each(|disk| disk_values(disk, each));
    rates.networks.iter().for_each(|card| network_values(card, each));
    pressure_values(&rates.pressure, each);
}

fn cpu_values(cpu: &CpuRates, each: Each<'_>) {
    each(Measure::CpuUtilization, None, Some(cpu.utilization));
    each(Measure::CpuBusiest, None, Some(cpu.busiest));
    each(Measure::CpuSteal, None, Some(cpu.shares.steal));
}

/// Without a read, write or flush there is a distribution to which the second adds nothing.
fn disk_values(disk: &DiskRates, each: Each<'_>) {
    let device = Some(&disk.device);
    each(Measure::DiskBusy, device, Some(disk.busy));
    each(Measure::DiskReadAwait, device, disk.read_await);
    each(Measure::DiskWriteAwait, device, disk.write_await);
    if disk.flush_iops.is_some() {
        each(Measure::DiskFlushAwait, device, disk.flush_await);
    }
    each(Measure::DiskQueueDepth, device, Some(disk.queue_depth));
}

fn network_values(card: &NetworkRates, each: Each<'_>) {
    let mut direction = |measure, rates: &DirectionRates| {
        if rates.utilization.is_some() {
            each(measure, Some(&card.device), rates.utilization);
        }
    };
    direction(Measure::ReceiveUtilization, &card.receive);
    direction(Measure::TransmitUtilization, &card.transmit);
}

fn pressure_values(pressure: &PressureRates, each: Each<'_>) {
    let values = [
        (Measure::PressureCpuSome, pressure.cpu_some),
        (Measure::PressureIoSome, pressure.io_some),
        (Measure::PressureIoFull, pressure.io_full),
        (Measure::PressureMemorySome, pressure.memory_some),
        (Measure::PressureMemoryFull, pressure.memory_full),
    ];
    for (measure, value) in values.into_iter().filter(|(_, value)| value.is_some()) {
        each(measure, None, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::raw::{Disk, Network, Pressure, Reading, Traffic};
    use jiff::Timestamp;
    use proptest::prelude::*;

    fn second(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    /// A sample with one disk: so many milliseconds busy, so many reads of 2 ms.
    fn sample(seconds: u64, device: &str, busy_ms: u64, reads: u64) -> Sample {
        let disk = Disk {
            device: device.into(),
            reads,
            reads_merged: 0,
            sectors_read: 0,
            read_ms: 2 * reads,
            writes: 0,
            writes_merged: 0,
            sectors_written: 0,
            write_ms: 0,
            in_flight: 0,
            io_ms: busy_ms,
            weighted_io_ms: 3 * busy_ms,
            discards: None,
            discards_merged: None,
            sectors_discarded: None,
            discard_ms: None,
            flushes: None,
            flush_ms: None,
        };
        let moment = second(seconds);
        let disks = Some(Reading { moment, values: vec![disk] });
        Sample { disks, ..Sample::empty(Timestamp::UNIX_EPOCH, moment) }
    }

    fn with_card(mut sample: Sample, bytes: u64, speed: Option<u64>) -> Sample {
        let (receive, transmit) = (Traffic { bytes, ..Traffic::default() }, Traffic::default());
        let card = Network { device: "eth0".into(), receive, transmit, speed, up: None };
        sample.networks = Some(Reading { moment: sample.moment, values: vec![card] });
        sample
    }

    fn of(peaks: &Peaks, now: u64, measure: Measure) -> Option<Peak> {
        peaks.as_of(second(now)).into_iter().find(|peak| peak.measure == measure)
    }

    fn windows(seconds: &[u64]) -> Vec<Span> {
        seconds.iter().map(|seconds| Span::from_secs(*seconds)).collect()
    }

    proptest! {
        #[test]
        fn the_largest_of_each_window_is_that_of_a_plain_search(
            values in proptest::collection::vec(0..8_u8, 1..60),
            window in 1..40_u64,
        ) {
            let (longest, mut track) = (Span::from_secs(40), Track::default());
            for (at, value) in (0_u64..).zip(&values) {
                track.add(Measure::DiskBusy, second(at), f64::from(*value), since(second(at), longest));
                let from = usize::try_from(at.saturating_sub(window)).unwrap();
                let plain = values[from..=usize::try_from(at).unwrap()].iter().max();
                let found = track.max_from(since(second(at), Span::from_secs(window)));
                prop_assert_eq!(found, plain.map(|value| f64::from(*value)));
            }
        }
    }

    #[test]
    fn samples_are_counted_up_to_and_with_each_bound() {
        let mut peaks = Peaks::new(&windows(&[60]));
        // Busy for 900 ms, which is a bound, then for 50 ms.
        let samples = [sample(0, "sda", 0, 0), sample(1, "sda", 900, 0), sample(2, "sda", 950, 0)];
        samples.windows(2).for_each(|pair| peaks.observe(&pair[0], &pair[1]));
        let busy = of(&peaks, 2, Measure::DiskBusy).unwrap();
        assert_eq!((busy.up_to, busy.count), ([1, 1, 1, 1, 1, 2, 2], 2));
        assert!((busy.sum - 0.95).abs() < 1e-9);
        assert_eq!(busy.maxima, [(Span::from_secs(60), 0.9)]);
        assert_eq!(of(&peaks, 2, Measure::DiskQueueDepth).unwrap().up_to, [1, 1, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn a_peak_leaves_each_window_in_its_time_and_stays_in_the_distribution() {
        let mut peaks = Peaks::new(&windows(&[5, 60]));
        let busy = |seconds: u64| if seconds == 0 { 0 } else { 700 + 10 * seconds };
        for seconds in 0..30 {
            let (older, newer) =
                (sample(seconds, "sda", busy(seconds), 0), sample(seconds + 1, "sda", busy(seconds + 1), 0));
            peaks.observe(&older, &newer);
        }
        // One second of 0.71, then 0.01 each.
        let maxima = |now| {
            let maxima = of(&peaks, now, Measure::DiskBusy).unwrap().maxima;
            maxima.into_iter().map(|(_, value)| (value * 100.0).round()).collect::<Vec<f64>>()
        };
        assert_eq!(maxima(30), [1.0, 71.0]);
        let all = of(&peaks, 30, Measure::DiskBusy).unwrap();
        assert_eq!((all.up_to[3], all.up_to[4], all.count), (29, 30, 30));
        assert_eq!(maxima(200), [] as [f64; 0], "nothing was sampled in the window");
    }

    #[test]
    fn seconds_without_a_request_are_not_in_the_distribution_of_its_times() {
        let mut peaks = Peaks::new(&windows(&[60]));
        peaks.observe(&sample(0, "sda", 0, 0), &sample(1, "sda", 0, 0));
        let idle = of(&peaks, 1, Measure::DiskReadAwait).unwrap();
        assert_eq!((idle.count, idle.maxima.len()), (0, 0));
        peaks.observe(&sample(1, "sda", 0, 0), &sample(2, "sda", 4, 2));
        let read = of(&peaks, 2, Measure::DiskReadAwait).unwrap();
        assert_eq!((read.count, read.up_to, read.maxima[0].1), (1, [0, 0, 1, 1, 1, 1, 1], 0.002));
        assert_eq!(of(&peaks, 2, Measure::DiskFlushAwait), None, "this kernel does not count flushes");
    }

    #[test]
    fn a_device_that_goes_takes_its_peaks_along() {
        let mut peaks = Peaks::new(&windows(&[60]));
        peaks.observe(&sample(0, "sda", 0, 0), &sample(1, "sda", 100, 0));
        // A reading that failed leaves the last one in place: the disk is still there.
        let failed = Sample { moment: second(2), ..sample(1, "sda", 100, 0) };
        peaks.observe(&sample(1, "sda", 100, 0), &failed);
        assert_eq!(of(&peaks, 2, Measure::DiskBusy).unwrap().count, 1);
        peaks.observe(&failed, &sample(3, "sdb", 0, 0));
        assert_eq!(of(&peaks, 3, Measure::DiskBusy), None);
        peaks.observe(&sample(3, "sdb", 0, 0), &sample(4, "sdb", 500, 0));
        let new = of(&peaks, 4, Measure::DiskBusy).unwrap();
        assert_eq!((new.device.unwrap().as_str(), new.count), ("sdb", 1));
    }

    #[test]
    fn a_card_has_peaks_while_its_speed_is_known() {
        let card = |seconds, bytes, speed| with_card(sample(seconds, "sda", 0, 0), bytes, speed);
        let mut peaks = Peaks::new(&windows(&[60]));
        peaks.observe(&card(0, 0, Some(1000)), &card(1, 800, Some(1000)));
        assert_eq!(of(&peaks, 1, Measure::ReceiveUtilization).unwrap().maxima[0].1, 0.8);
        peaks.observe(&card(1, 800, Some(1000)), &card(2, 900, None));
        assert_eq!(of(&peaks, 2, Measure::ReceiveUtilization), None);
        assert!(of(&peaks, 2, Measure::DiskBusy).is_some());
    }

    #[test]
    fn pressure_that_the_kernel_does_not_offer_has_no_peaks() {
        let with = |seconds, io_some| {
            let mut sample = sample(seconds, "sda", 0, 0);
            let values = Pressure { io_some: Some(io_some), ..Pressure::default() };
            sample.pressure = Some(Reading { moment: sample.moment, values });
            sample
        };
        let mut peaks = Peaks::new(&windows(&[60]));
        peaks.observe(&with(0, 0), &with(1, 250_000));
        assert_eq!(of(&peaks, 1, Measure::PressureIoSome).unwrap().maxima[0].1, 0.25);
        assert_eq!(of(&peaks, 1, Measure::PressureCpuSome), None);
    }
}
