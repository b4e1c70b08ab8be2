//! The sampler thread: a sample at every interval, and one whenever somebody asks.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use jiff::Timestamp;
use tokio::sync::oneshot;

use super::collectors::{CollectorState, Collectors};
use super::peaks::{Peak, Peaks};
use super::raw::Sample;
use super::ring::Ring;
use super::{Root, Settings};
use crate::units::Span;

/// The shortest interval: below it the ticks of `/proc/stat` say nothing.
pub const SHORTEST_INTERVAL: Span = Span::from_millis(100);

/// The longest interval: beyond it peaks are lost.
pub const LONGEST_INTERVAL: Span = Span::from_secs(10);

/// Samples the host all the time in a thread of its own.
///
/// Reading a file of the kernel cannot be interrupted: should one block, the thread waits for it, and everybody
/// else is served the newest sample there is. What took longer than the collector's deadline is not used.
pub struct Sampler {
    shared: Arc<Mutex<Shared>>,
    commands: Sender<Command>,
    thread: Option<JoinHandle<()>>,
}

/// How many samples were taken at the interval, and how many were not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Samples taken.
    pub samples: u64,
    /// Deadlines that were missed by more than one interval.
    pub missed: u64,
}

/// What the thread hands out.
struct Shared {
    latest: Arc<Sample>,
    ring: Ring,
    peaks: Peaks,
    collectors: Vec<CollectorState>,
    counts: Counts,
}

enum Command {
    Fresh(oneshot::Sender<Arc<Sample>>),
    Configure(Box<Settings>),
    Stop,
}

impl Sampler {
    /// Takes the first sample and starts the thread.
    ///
    /// # Errors
    /// When the system cannot start another thread.
    pub fn start(settings: Settings, root: Root) -> anyhow::Result<Sampler> {
        let mut collectors = Collectors::new(root, &settings);
        let latest = Arc::new(collectors.take(None));
        let mut ring = Ring::new(nanos(settings.ring));
        ring.push(&latest);
        let shared = Arc::new(Mutex::new(Shared {
            latest: Arc::clone(&latest),
            ring,
            peaks: Peaks::new(&settings.peak_windows),
            collectors: collectors.states().to_vec(),
            counts: Counts { samples: 1, missed: 0 },
        }));
        let (commands, inbox) = mpsc::channel();
        let interval = interval(&settings);
        let worker = Worker {
            collectors,
            interval,
            shared: Arc::clone(&shared),
            inbox,
            waiting: Vec::new(),
            last_at_interval: latest,
        };
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || worker.run())
            .context("cannot start the sampler thread: raise the limit of threads (TasksMax, ulimit -u)")?;
        Ok(Sampler { shared, commands, thread: Some(thread) })
    }

    /// The newest sample.
    pub fn latest(&self) -> Arc<Sample> {
        Arc::clone(&self.lock().latest)
    }

    /// Asks for a sample taken after this call. It is not one of those at the interval: [`Sampler::between`] does
    /// not give it.
    ///
    /// The receiver may be awaited, or waited for outside of a runtime; it fails when the sampler has stopped.
    pub fn request(&self) -> oneshot::Receiver<Arc<Sample>> {
        let (answer, sample) = oneshot::channel();
        // A stopped thread drops the answer, which the receiver sees.
        let _ = self.commands.send(Command::Fresh(answer));
        sample
    }

    /// A sample taken after this call, or the newest one if that takes longer than `within`.
    pub async fn fresh(&self, within: Duration) -> Arc<Sample> {
        match tokio::time::timeout(within, self.request()).await {
            Ok(Ok(sample)) => sample,
            _ => self.latest(),
        }
    }

    /// The samples at the interval whose wall-clock time lies between two instants, both included, oldest first.
    /// Goes back as far as the ring covers, less when the samples of a large host at a short interval would take
    /// more than 4 MiB.
    pub fn between(&self, from: Timestamp, to: Timestamp) -> Vec<Arc<Sample>> {
        let blocks = self.lock().ring.blocks();
        let mut samples = Vec::new();
        blocks.iter().for_each(|block| block.add_between(from, to, &mut samples));
        samples
    }

    /// What each collector reports about its last reading.
    pub fn collectors(&self) -> Vec<CollectorState> {
        self.lock().collectors.clone()
    }

    /// The peaks of the samples at the interval since the start, with windows that end at the newest sample. Asking
    /// changes nothing.
    pub fn peaks(&self) -> Vec<Peak> {
        let shared = self.lock();
        shared.peaks.as_of(shared.latest.moment)
    }

    /// How many samples were taken and missed.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Changes the settings; the next sample is taken at once and by them.
    pub fn configure(&self, settings: Settings) {
        // A stopped thread has no use for them.
        let _ = self.commands.send(Command::Configure(Box::new(settings)));
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let stopped = self.commands.send(Command::Stop);
        if let (Ok(()), Some(thread)) = (stopped, self.thread.take()) {
            // The thread's panic, if there was one, has been reported by the panic hook.
            let _ = thread.join();
        }
    }
}

/// Nothing is left half done under this lock, so a panic elsewhere does not spoil what it guards.
fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn interval(settings: &Settings) -> Duration {
    settings.interval.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL).duration()
}

fn nanos(span: Span) -> u64 {
    u64::try_from(span.duration().as_nanos()).unwrap_or(u64::MAX)
}

/// What lives in the thread.
struct Worker {
    collectors: Collectors,
    interval: Duration,
    shared: Arc<Mutex<Shared>>,
    inbox: Receiver<Command>,
    waiting: Vec<oneshot::Sender<Arc<Sample>>>,
    /// What the next one at the interval is compared with; those asked for do not count.
    last_at_interval: Arc<Sample>,
}

impl Worker {
    /// One wait serves the interval, the requests and the end.
    fn run(mut self) {
        let mut next = Instant::now() + self.interval;
        loop {
            match self.inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(command) => {
                    let Some(reconfigured) = self.obey(command) else { return };
                    if reconfigured {
                        next = Instant::now();
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = Instant::now();
            if now >= next {
                let missed = missed(next, now, self.interval);
                self.take(Some(missed));
                next += self.interval * (missed + 1);
            } else if !self.waiting.is_empty() {
                self.take(None);
            }
        }
    }

    /// Obeys a command and all that came with it. `None` means stop, `Some(true)` that the settings changed.
    fn obey(&mut self, first: Command) -> Option<bool> {
        let mut reconfigured = false;
        let mut command = first;
        loop {
            match command {
                Command::Fresh(answer) => self.waiting.push(answer),
                Command::Configure(settings) => {
                    self.collectors.configure(&settings);
                    self.interval = interval(&settings);
                    let mut shared = lock(&self.shared);
                    shared.ring.cover(nanos(settings.ring));
                    shared.peaks.set_windows(&settings.peak_windows);
                    reconfigured = true;
                }
                Command::Stop => return None,
            }
            match self.inbox.try_recv() {
                Ok(another) => command = another,
                Err(_) => return Some(reconfigured),
            }
        }
    }

    /// Takes a sample, answers everybody who waits for one and keeps it if it is one of those at the interval,
    /// before which so many were missed.
    fn take(&mut self, at_interval: Option<u32>) {
        let last = Arc::clone(&lock(&self.shared).latest);
        let sample = Arc::new(self.collectors.take(Some(&last)));
        let mut shared = lock(&self.shared);
        shared.latest = Arc::clone(&sample);
        shared.collectors.clone_from_slice(self.collectors.states());
        if let Some(missed) = at_interval {
            shared.ring.push(&sample);
            if is_an_interval(&self.last_at_interval, &sample, self.interval) {
                shared.peaks.observe(&self.last_at_interval, &sample);
            }
            self.last_at_interval = Arc::clone(&sample);
            shared.counts.samples += 1;
            shared.counts.missed += u64::from(missed);
        }
        drop(shared);
        for answer in self.waiting.drain(..) {
            // Whoever asked may have given up.
            let _ = answer.send(Arc::clone(&sample));
        }
    }
}

/// Whether two samples are so far apart that what happened between them says something: new settings are followed by
/// a sample at once, and one tick of a CPU in a few milliseconds would be a peak.
fn is_an_interval(older: &Sample, newer: &Sample, interval: Duration) -> bool {
    let seconds = newer.moment.seconds_since(older.moment);
    seconds.is_some_and(|seconds| seconds >= interval.as_secs_f64() / 2.0)
}

/// Whole intervals that have gone by since a deadline; the next one keeps to the grid of deadlines.
fn missed(deadline: Instant, now: Instant, interval: Duration) -> u32 {
    let late = now.saturating_duration_since(deadline).as_nanos() / interval.as_nanos().max(1);
    u32::try_from(late).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_missed_after_a_whole_interval() {
        let (deadline, interval) = (Instant::now(), Duration::from_secs(1));
        let after = |millis| missed(deadline, deadline + Duration::from_millis(millis), interval);
        assert_eq!([after(0), after(999), after(1000), after(3500)], [0, 0, 1, 3]);
    }
}
