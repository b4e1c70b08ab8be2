//! The collectors as one table, and what each of them reports about itself.

mod cpu;
mod devices;
mod disk;
mod load;
mod memory;
mod network;
mod pressure;
mod tcp;
mod vmstat;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::file::ReadError;
use super::raw::{Moment, Reading, Sample};
use super::{Root, Settings};

/// One collector: its name, as metrics have it, and how it brings its part of a sample up to date.
struct Collector {
    name: &'static str,
    read: fn(&mut Sources, &mut Sample, &Attempt) -> Result<(), ReadError>,
}

/// Every collector, in the order they are read: first what changes fastest.
const COLLECTORS: [Collector; 8] = [
    Collector { name: "cpu", read: |from, to, now| now.keep(&mut to.cpu, from.cpu.read(&mut from.buffer)) },
    Collector {
        name: "disk",
        read: |from, to, now| now.keep(&mut to.disks, from.disk.read(&mut from.buffer)),
    },
    Collector {
        name: "network",
        read: |from, to, now| now.keep(&mut to.networks, from.network.read(&mut from.buffer)),
    },
    Collector {
        name: "pressure",
        read: |from, to, now| now.keep(&mut to.pressure, from.pressure.read(&mut from.buffer)),
    },
    Collector {
        name: "memory",
        read: |from, to, now| now.keep(&mut to.memory, from.memory.read(&mut from.buffer)),
    },
    Collector {
        name: "vmstat",
        read: |from, to, now| now.keep(&mut to.vmstat, from.vmstat.read(&mut from.buffer)),
    },
    Collector { name: "tcp", read: |from, to, now| now.keep(&mut to.tcp, from.tcp.read(&mut from.buffer)) },
    Collector {
        name: "load",
        read: |from, to, now| now.keep(&mut to.load, from.load.read(&mut from.buffer)),
    },
];

/// How a collector's last reading ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectorOutcome {
    /// The values are new.
    Read,
    /// This host has nothing to read, which is not a failure.
    Absent,
    /// It went wrong; the last values are served.
    Failed,
}

/// What a collector reports about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorState {
    /// The collector's name: `cpu`, `disk`, …
    pub name: &'static str,
    /// How the last reading ended.
    pub outcome: CollectorOutcome,
    /// How long the last reading took.
    pub duration: Duration,
    /// When values were last read; `None` before the first time.
    pub last_success: Option<Timestamp>,
    /// The last failure and when it was, kept after the collector has recovered.
    pub last_error: Option<(Timestamp, String)>,
}

impl CollectorState {
    fn new(name: &'static str) -> CollectorState {
        CollectorState {
            name,
            outcome: CollectorOutcome::Absent,
            duration: Duration::ZERO,
            last_success: None,
            last_error: None,
        }
    }

    /// Whether the last reading succeeded; having nothing to read is success.
    pub fn succeeded(&self) -> bool {
        self.outcome != CollectorOutcome::Failed
    }

    fn note(&mut self, at: Timestamp, duration: Duration, result: Result<(), ReadError>) {
        self.duration = duration;
        self.outcome = match result {
            Ok(()) => {
                self.last_success = Some(at);
                CollectorOutcome::Read
            }
            Err(ReadError::Absent(_)) => CollectorOutcome::Absent,
            Err(ReadError::Failed(error)) => {
                self.last_error = Some((at, error));
                CollectorOutcome::Failed
            }
        };
    }
}

/// The files and memories of all collectors, and the scratch buffer they share.
struct Sources {
    buffer: Vec<u8>,
    cpu: cpu::Source,
    load: load::Source,
    disk: disk::Source,
    network: network::Source,
    memory: memory::Source,
    vmstat: vmstat::Source,
    pressure: pressure::Source,
    tcp: tcp::Source,
}

/// One reading of one collector.
struct Attempt {
    origin: Instant,
    begun: Instant,
    deadline: Duration,
}

impl Attempt {
    /// Keeps what was read, unless it took too long: then the last values stay.
    fn keep<T>(&self, kept: &mut Option<Reading<T>>, read: Result<T, ReadError>) -> Result<(), ReadError> {
        let took = self.begun.elapsed();
        match read {
            Ok(_) if took > self.deadline => Err(ReadError::Failed(format!(
                "reading took {took:.1?}, longer than sample.deadline ({:?}); the last values are served",
                self.deadline
            ))),
            Ok(values) => {
                *kept = Some(Reading { moment: moment(self.origin, Instant::now()), values });
                Ok(())
            }
            Err(error) => {
                if let ReadError::Absent(_) = error {
                    *kept = None;
                }
                Err(error)
            }
        }
    }
}

/// All collectors of one host, ready to take samples.
pub(super) struct Collectors {
    root: Root,
    origin: Instant,
    deadline: Duration,
    sources: Sources,
    states: Vec<CollectorState>,
}

impl Collectors {
    pub(super) fn new(root: Root, settings: &Settings) -> Collectors {
        Collectors {
            sources: sources(&root, settings),
            root,
            origin: Instant::now(),
            deadline: settings.deadline.duration(),
            states: COLLECTORS.iter().map(|collector| CollectorState::new(collector.name)).collect(),
        }
    }

    /// Changes what is collected; the next sample is by the new settings.
    pub(super) fn configure(&mut self, settings: &Settings) {
        self.deadline = settings.deadline.duration();
        self.sources.disk = disk::Source::new(&self.root, settings.disks.clone());
        self.sources.network = network::Source::new(&self.root, settings);
    }

    /// Takes a sample. A collector that fails leaves the values of `last` in place and stops no other.
    pub(super) fn take(&mut self, last: Option<&Sample>) -> Sample {
        let (at, begun) = (Timestamp::now(), Instant::now());
        let moment = moment(self.origin, begun);
        let mut sample = last.cloned().unwrap_or_else(|| Sample::empty(at, moment));
        sample.at = at;
        sample.moment = moment;
        for (collector, state) in COLLECTORS.iter().zip(&mut self.states) {
            let attempt = Attempt { origin: self.origin, begun: Instant::now(), deadline: self.deadline };
            let sources = &mut self.sources;
            let result = unless_it_panics(|| (collector.read)(sources, &mut sample, &attempt));
            state.note(at, attempt.begun.elapsed(), result);
        }
        sample
    }

    pub(super) fn states(&self) -> &[CollectorState] {
        &self.states
    }
}

fn sources(root: &Root, settings: &Settings) -> Sources {
    Sources {
        buffer: Vec::new(),
        cpu: cpu::Source::new(root),
        load: load::Source::new(root),
        disk: disk::Source::new(root, settings.disks.clone()),
        network: network::Source::new(root, settings),
        memory: memory::Source::new(root),
        vmstat: vmstat::Source::new(root),
        pressure: pressure::Source::new(root),
        tcp: tcp::Source::new(root),
    }
}

fn moment(origin: Instant, now: Instant) -> Moment {
    let nanos = now.saturating_duration_since(origin).as_nanos();
    Moment::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// A panic is a failed reading: nothing was kept of it, and the next reading begins from the file again.
fn unless_it_panics(read: impl FnOnce() -> Result<(), ReadError>) -> Result<(), ReadError> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|panic| Err(ReadError::Failed(panic_text(panic.as_ref()))))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the collector panicked: {}", text.unwrap_or("no message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(deadline: Duration) -> Attempt {
        let begun = Instant::now();
        Attempt { origin: begun, begun, deadline }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = COLLECTORS.iter().map(|collector| collector.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COLLECTORS.len());
    }

    #[test]
    fn a_slow_collector_fails_and_serves_its_last_values() {
        let mut kept = Some(Reading { moment: Moment::from_nanos(5), values: 1 });
        let error = attempt(Duration::ZERO).keep(&mut kept, Ok(2)).unwrap_err();
        assert!(error.to_string().contains("sample.deadline"), "{error}");
        assert_eq!(kept, Some(Reading { moment: Moment::from_nanos(5), values: 1 }));
    }

    #[test]
    fn a_failed_collector_serves_its_last_values_and_an_absent_one_none() {
        let mut kept = Some(Reading { moment: Moment::from_nanos(5), values: 1 });
        let now = attempt(Duration::from_secs(60));
        now.keep(&mut kept, Err(ReadError::Failed("x".to_owned()))).unwrap_err();
        assert!(kept.is_some());
        now.keep(&mut kept, Err(ReadError::Absent("/x".into()))).unwrap_err();
        assert_eq!(kept, None);
    }

    #[test]
    fn a_panic_is_a_failed_reading() {
        let error = unless_it_panics(|| panic!("index 3 of {}", 2)).unwrap_err();
        assert_eq!(error, ReadError::Failed("the collector panicked: index 3 of 2".to_owned()));
    }

    #[test]
    fn the_last_error_stays_after_recovery() {
        let mut state = CollectorState::new("cpu");
        let at = Timestamp::UNIX_EPOCH;
        state.note(at, Duration::ZERO, Err(ReadError::Failed("x".to_owned())));
        assert!(!state.succeeded());
        state.note(at, Duration::ZERO, Ok(()));
        assert!(state.succeeded());
        assert_eq!(state.last_error, Some((at, "x".to_owned())));
    }
}
