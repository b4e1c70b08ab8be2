//! What is requested next, as sysbench 1.0.20 decides it: one state for all threads.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::keys::Pattern;
use super::options::Job;

/// Places tried before a client lets others end what they have under way.
const TRIES: u32 = 16;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Move(Move),
    /// Make everything in a file durable.
    Sync(u32),
}

/// Bytes to read or to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) write: bool,
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Decides requests for all clients.
#[derive(Debug)]
pub(super) struct Requests<'a> {
    job: &'a Job,
    state: Mutex<State>,
    /// What the mixed pattern goes by.
    mix: Mix,
}

/// Reads and writes of the mixed pattern. sysbench counts those that have ended: with many under way it does not see
/// what it has just decided, and makes as many reads, or writes, in a row. In native mode those decided are counted.
#[derive(Debug, Default)]
struct Mix {
    reads: AtomicU64,
    writes: AtomicU64,
}

impl Mix {
    fn count(&self, write: bool) {
        let count = if write { &self.writes } else { &self.reads };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// A read, as long as reads to writes would stay below the ratio.
    fn is_write(&self, ratio: f64) -> bool {
        let next = |count: &AtomicU64| (count.load(Ordering::Relaxed) + 1) as f64;
        next(&self.reads) / next(&self.writes) >= ratio
    }
}

#[derive(Debug, Default)]
struct State {
    /// Where a sequential pattern goes on.
    file: u32,
    offset: u64,
    /// Requests decided, syncs left out.
    count: u64,
    /// Whether anything was written since the last series of syncs.
    dirty: bool,
    /// The file that a series of syncs has come to.
    syncing: u32,
    /// Places under way, where contents are checked: two requests at once would mix.
    taken: HashSet<(u32, u64)>,
}

impl<'a> Requests<'a> {
    pub(super) fn new(job: &'a Job) -> Requests<'a> {
        Requests { job, state: Mutex::default(), mix: Mix::default() }
    }

    /// The next request; `None` when the place it would go to is under way, and another has to end first.
    /// Random places are drawn by `uniform`, which gives numbers of [0, 1).
    pub(super) fn next(&self, uniform: &mut dyn FnMut() -> f64) -> Option<Request> {
        let (job, mut state) = (self.job, self.state());
        if let Some(file) = state.sync_due(job) {
            return Some(Request::Sync(file));
        }
        let mixed = job.pattern == Pattern::RndRw;
        let write = if mixed { self.mix.is_write(job.ratio) } else { job.pattern.writes() };
        let (file, offset) = match job.pattern.is_sequential() {
            true => Some((state.file, state.offset)).filter(|place| !state.taken.contains(place)),
            false => state.random_place(job, uniform),
        }?;
        let length = job.request.min(job.file_size - offset);
        state.count += 1;
        state.dirty |= write;
        if mixed && job.native {
            self.mix.count(write);
        }
        if job.pattern.is_sequential() {
            state.advance(job, length);
        }
        if job.validate {
            state.taken.insert((file, offset));
        }
        Some(Request::Move(Move { write, file, offset, length }))
    }

    /// A request is no longer under way.
    pub(super) fn ended(&self, done: &Move) {
        if self.job.pattern == Pattern::RndRw && !self.job.native {
            self.mix.count(done.write);
        }
        if self.job.validate {
            self.state().taken.remove(&(done.file, done.offset));
        }
    }

    /// Each change is complete in itself, so a panic of another client spoils nothing.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The file to sync now. A series over all files is due after every so many requests, if any of them wrote.
    fn sync_due(&mut self, job: &Job) -> Option<u32> {
        if job.fsync_every == 0 || !self.dirty || !self.count.is_multiple_of(job.fsync_every) {
            return None;
        }
        let file = self.syncing;
        self.syncing += 1;
        if self.syncing == job.files {
            (self.syncing, self.dirty) = (0, false);
        }
        Some(file)
    }

    /// A block of all files together, each as likely as the others.
    fn random_place(&self, job: &Job, uniform: &mut dyn FnMut() -> f64) -> Option<(u32, u64)> {
        let total = job.file_size * u64::from(job.files);
        let place = |_| {
            let position = (uniform() * total as f64) as u64 / job.block * job.block;
            // A file count fits in 32 bits, and so does the number of a file.
            ((position / job.file_size) as u32, position % job.file_size)
        };
        (0..TRIES).map(place).find(|place| !self.taken.contains(place))
    }

    fn advance(&mut self, job: &Job, length: u64) {
        self.offset += length;
        if self.offset >= job.file_size {
            (self.file, self.offset) = ((self.file + 1) % job.files, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::keys::Io;
    use super::super::options::Options;
    use super::*;
    use crate::driver::random::Random;
    use crate::workloads::{Common, take};

    fn job(keys: serde_json::Value) -> Job {
        let mut keys = keys.as_object().unwrap().clone();
        let options: Options = take(&mut keys).unwrap();
        options.job(&Common::default()).unwrap()
    }

    /// Requests of which up to `depth` are under way at once.
    fn draw_queued(job: &Job, count: u64, depth: usize) -> Vec<Request> {
        let requests = Requests::new(job);
        let mut under_way = Vec::new();
        let mut draw = |number| {
            let request = requests.next(&mut || Random::for_operation(1, number).uniform()).unwrap();
            if let Request::Move(request) = request {
                under_way.push(request);
            }
            if under_way.len() == depth {
                under_way.drain(..).for_each(|request| requests.ended(&request));
            }
            request
        };
        (0..count).map(&mut draw).collect()
    }

    fn draw(job: &Job, count: u64) -> Vec<Request> {
        draw_queued(job, count, 1)
    }

    fn is_write(request: &Request) -> bool {
        matches!(request, Request::Move(Move { write: true, .. }))
    }

    #[test]
    fn a_sequence_goes_through_each_file_and_begins_again() {
        let job =
            job(serde_json::json!({"pattern": "seqrd", "files": 2, "total": "80KiB", "block_size": "16KiB"}));
        let places: Vec<(u32, u64, u64)> = draw(&job, 7)
            .into_iter()
            .map(|request| match request {
                Request::Move(Move { write: false, file, offset, length }) => {
                    (file, offset >> 10, length >> 10)
                }
                other => panic!("{other:?}"),
            })
            .collect();
        let expected = [(0, 0, 16), (0, 16, 16), (0, 32, 8), (1, 0, 16), (1, 16, 16), (1, 32, 8), (0, 0, 16)];
        assert_eq!(places, expected);
    }

    #[test]
    fn requests_are_merged_and_end_with_their_file() {
        let job = job(serde_json::json!({
            "pattern": "seqrewr", "files": 1, "total": "80KiB", "merged_requests": 2, "fsync_every": 0
        }));
        let lengths = draw(&job, 4).into_iter().map(|request| match request {
            Request::Move(Move { write: true, length, .. }) => length >> 10,
            other => panic!("{other:?}"),
        });
        assert_eq!(lengths.collect::<Vec<_>>(), [32, 32, 16, 32]);
    }

    #[test]
    fn all_files_are_synced_after_so_many_requests_and_only_when_dirty() {
        let keys = |pattern: &str| serde_json::json!({"pattern": pattern, "files": 3, "total": "1MiB", "fsync_every": 5});
        let syncs = |pattern: &str| -> Vec<bool> {
            draw(&job(keys(pattern)), 18).iter().map(|request| matches!(request, Request::Sync(_))).collect()
        };
        let (o, s) = (false, true);
        assert_eq!(syncs("rndwr"), [o, o, o, o, o, s, s, s, o, o, o, o, o, s, s, s, o, o]);
        assert!(syncs("rndrd").iter().all(|sync| !sync));
        assert_eq!(syncs("rndrw"), syncs("rndwr"), "reads count as requests");
    }

    #[test]
    fn reads_and_writes_are_in_the_ratio_from_the_first_on() {
        for (ratio, writes) in [(1.5, 400), (0.0, 1000), (3.0, 250)] {
            let job = job(serde_json::json!({"ratio": ratio, "fsync_every": 0}));
            let written = draw(&job, 1000).iter().filter(|request| is_write(request)).count();
            assert!(written.abs_diff(writes) <= 1, "{ratio}: {written}");
        }
    }

    #[test]
    fn queued_requests_are_mixed_by_those_that_ended_as_in_sysbench_and_evenly_in_native_mode() {
        let longest_row = |mode: &str| {
            let keys = serde_json::json!({"fsync_every": 0, "io": "async", "mode": mode});
            let requests = draw_queued(&job(keys), 1280, 128);
            let written = requests.iter().filter(|request| is_write(request)).count();
            assert!((384..=640).contains(&written), "{mode}: {written}");
            requests.chunk_by(|a, b| is_write(a) == is_write(b)).map(<[Request]>::len).max().unwrap()
        };
        assert!(longest_row("compatible") >= 128);
        assert!(longest_row("native") <= 2);
    }

    #[test]
    fn places_are_blocks_and_all_are_met() {
        let job = job(serde_json::json!({"pattern": "rndrd", "files": 4, "total": "256KiB"}));
        let mut met = HashSet::new();
        for request in draw(&job, 500) {
            let Request::Move(Move { write: false, file, offset, length }) = request else {
                panic!("{request:?}")
            };
            assert_eq!((offset % job.block, length), (0, job.block));
            met.insert((file, offset));
        }
        assert_eq!(met.len(), 16);
    }

    #[test]
    fn a_place_under_way_is_not_given_twice_where_contents_are_checked() {
        let mut job =
            job(serde_json::json!({"pattern": "rndrd", "files": 1, "total": "32KiB", "validate": true}));
        let requests = Requests::new(&job);
        let mut random = Random::for_operation(1, 1);
        let mut given = Vec::new();
        while let Some(Request::Move(request)) = requests.next(&mut || random.uniform()) {
            given.push(request);
        }
        assert_eq!(given.len(), 2);
        requests.ended(&given[0]);
        assert_eq!(requests.next(&mut || random.uniform()), Some(Request::Move(given[0])));
        (job.pattern, job.io) = (Pattern::SeqRd, Io::Async);
        let requests = Requests::new(&job);
        assert!((0..2).all(|_| requests.next(&mut || random.uniform()).is_some()));
        assert_eq!(requests.next(&mut || random.uniform()), None);
    }
}
