//! One client: takes requests and does them, one after another or with several under way.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;

use anyhow::Context as _;

use super::blocks;
use super::keys::Io;
use super::options::Job;
use super::requests::{Move, Request, Requests};
use crate::driver::random::Random;
use crate::driver::{Deferred, ErrorCode, Failed, Tally, Worker};
use crate::system::{Aio, Aligned, Buffers, Completion, MappedFile, Queue, Transfer, Uring};
use crate::workloads::books::{Books, Ledger};

/// The kinds of operations, by their places in what is told of them.
pub(super) const KINDS: &[&str] = &["read", "write", "fsync"];
const READ: usize = 0;
const WRITE: usize = 1;
const FSYNC: usize = 2;

/// What all clients share.
pub(super) struct Shared<'a> {
    pub(super) job: &'a Job,
    pub(super) seed: u64,
    pub(super) files: Vec<File>,
    /// The files in memory, when they are mapped.
    pub(super) mappings: Vec<MappedFile>,
    pub(super) requests: Requests<'a>,
    pub(super) ledger: Ledger,
}

/// How a client reads and writes.
enum Engine {
    /// One request after another, through one buffer.
    Single(Aligned),
    /// Several under way.
    Queued(Queued),
}

struct Queued {
    queue: Box<dyn Queue>,
    /// Slots with nothing under way.
    free: Vec<usize>,
    under_way: Vec<Option<UnderWay>>,
    /// Those that ended and are not counted yet.
    ended: Vec<Completion>,
}

/// A request that the kernel works on.
#[derive(Clone, Copy)]
struct UnderWay {
    request: Move,
    /// In native mode it counts when it ends, else it has counted already.
    operation: Option<Deferred>,
}

pub(super) struct Client<'a> {
    shared: &'a Shared<'a>,
    engine: Engine,
    /// In compatible mode: beside a block from memory they take a good part of the time.
    books: Option<Books<'a>>,
}

impl<'a> Client<'a> {
    pub(super) fn new(shared: &'a Shared<'a>, client: u32) -> anyhow::Result<Client<'a>> {
        let length = usize::try_from(shared.job.request).context("a request is larger than memory")?;
        let mut engine = match shared.job.io {
            Io::Sync | Io::Mmap => Engine::Single(Aligned::new(length)),
            Io::Async | Io::Uring => Engine::Queued(Queued::new(shared.job, length)?),
        };
        if shared.job.random_data || shared.job.validate {
            engine.fill(|slot, bytes| {
                blocks::fill_random(bytes, shared.seed ^ u64::from(client) << 32, slot);
            });
        }
        let mut random = Random::for_operation(shared.seed, u64::from(client));
        let books = (!shared.job.native).then(|| shared.ledger.books(&mut random));
        Ok(Client { shared, engine, books })
    }

    /// The next request; ends others, or lets other clients end theirs, until there is one.
    fn next(&mut self, operation: u64, tally: &mut Tally) -> Result<Request, Failed> {
        let mut random = None;
        let seed = self.shared.seed;
        let mut uniform = || random.get_or_insert_with(|| Random::for_operation(seed, operation)).uniform();
        loop {
            if let Some(request) = self.shared.requests.next(&mut uniform) {
                return Ok(request);
            }
            match &mut self.engine {
                Engine::Queued(queued) if queued.is_busy() => queued.reap(self.shared, tally)?,
                _ => std::thread::yield_now(),
            }
        }
    }

    fn transfer(&mut self, request: Move, operation: u64, tally: &mut Tally) -> Result<(), Failed> {
        match &mut self.engine {
            Engine::Single(buffer) => {
                let began = tally.begin();
                let bytes = &mut buffer.bytes()[..request.length as usize];
                self.shared.do_now(&request, bytes, operation)?;
                self.shared.count(&request, tally);
                tally.done(kind(&request), began);
            }
            Engine::Queued(queued) => queued.submit(self.shared, request, operation, tally)?,
        }
        if request.write && self.shared.job.fsync_all {
            self.sync(request.file, tally)?;
        }
        Ok(())
    }

    fn sync(&self, file: u32, tally: &mut Tally) -> Result<(), Failed> {
        let began = tally.begin();
        let synced = match (self.shared.mappings.get(file as usize), self.shared.file(file)) {
            (Some(mapping), _) => mapping.sync(),
            (None, Ok(file)) if self.shared.job.data_only => file.sync_data(),
            (None, Ok(file)) => file.sync_all(),
            (None, Err(error)) => Err(error),
        };
        synced.map_err(|error| broken(&format!("file {file} was not synced"), &error))?;
        tally.fsync();
        tally.done(FSYNC, began);
        Ok(())
    }
}

impl Worker for Client<'_> {
    fn step(&mut self, operation: u64, tally: &mut Tally) -> Result<(), Failed> {
        let request = self.next(operation, tally)?;
        self.books.iter().for_each(Books::pass);
        match request {
            Request::Sync(file) => self.sync(file, tally)?,
            Request::Move(request) => self.transfer(request, operation, tally)?,
        }
        self.books.iter().for_each(Books::pass);
        Ok(())
    }

    /// Blocks of zeros one after the other are the same whoever writes them when.
    fn is_numbered(&self) -> bool {
        let job = self.shared.job;
        !job.pattern.is_sequential() || job.random_data || job.validate
    }

    fn between(&mut self) {
        self.books.iter_mut().for_each(Books::count);
    }

    /// Waits for what is under way, and syncs all files at the end, each client for itself as in sysbench.
    fn settle(&mut self, last: bool, tally: &mut Tally) -> Result<(), Failed> {
        if let Engine::Queued(queued) = &mut self.engine {
            while queued.is_busy() {
                queued.reap(self.shared, tally)?;
            }
        }
        if last && self.shared.job.fsync_end {
            (0..self.shared.job.files).try_for_each(|file| self.sync(file, tally))?;
        }
        Ok(())
    }
}

impl Engine {
    /// Fills every buffer.
    fn fill(&mut self, mut fill: impl FnMut(u64, &mut [u8])) {
        match self {
            Engine::Single(buffer) => fill(0, buffer.bytes()),
            Engine::Queued(Queued { queue, under_way, .. }) => {
                for slot in 0..under_way.len() {
                    queue.buffer(slot).into_iter().for_each(|bytes| fill(slot as u64, bytes));
                }
            }
        }
    }
}

impl Queued {
    fn new(job: &Job, length: usize) -> anyhow::Result<Queued> {
        let depth = job.depth as usize;
        // sysbench has one buffer for all requests of a thread, which the caches of a CPU can hold.
        let shared = !job.native && !job.validate;
        let buffers = Buffers::new(depth, length, shared);
        let queue: Box<dyn Queue> = match job.io {
            Io::Uring => Box::new(Uring::new(buffers).map_err(|error| no_uring(depth, error))?),
            _ => Box::new(Aio::new(buffers).with_context(|| {
                format!(
                    "no Linux AIO for {depth} requests: raise fs.aio-max-nr, or lower `depth` or `threads`"
                )
            })?),
        };
        Ok(Queued {
            queue,
            free: (0..depth).rev().collect(),
            under_way: vec![None; depth],
            ended: Vec::new(),
        })
    }

    fn is_busy(&self) -> bool {
        self.free.len() < self.under_way.len()
    }

    /// Hands a request to the kernel; when that fills the queue, waits until at least one has ended.
    fn submit(
        &mut self,
        shared: &Shared<'_>,
        request: Move,
        operation: u64,
        tally: &mut Tally,
    ) -> Result<(), Failed> {
        let slot =
            self.free.pop().ok_or_else(|| broken("no request was sent", &io::Error::other("no slot")))?;
        if request.write
            && let Some(bytes) = self.queue.buffer(slot)
        {
            shared.prepare_write(&request, &mut bytes[..request.length as usize], operation);
        }
        let submitted = shared.file(request.file).and_then(|file| {
            let (file, length) = (file.as_fd(), request.length as usize);
            let transfer = Transfer { slot, file, write: request.write, offset: request.offset, length };
            self.queue.submit(&transfer)
        });
        submitted.map_err(|error| failed(&request, &error))?;
        let operation = shared.job.native.then(|| tally.defer());
        self.under_way[slot] = Some(UnderWay { request, operation });
        if self.free.is_empty() { self.reap(shared, tally) } else { Ok(()) }
    }

    /// Waits until at least one request has ended, and counts those that have.
    fn reap(&mut self, shared: &Shared<'_>, tally: &mut Tally) -> Result<(), Failed> {
        self.queue.wait(&mut self.ended).map_err(|error| broken("the queue could not be read", &error))?;
        for Completion { slot, result } in self.ended.drain(..) {
            let Some(UnderWay { request, operation }) = self.under_way.get_mut(slot).and_then(Option::take)
            else {
                continue;
            };
            self.free.push(slot);
            let moved = result.map_err(|error| failed(&request, &error))?;
            if moved as u64 != request.length {
                let error = io::Error::other(format!("{moved} bytes of {}", request.length));
                return Err(failed(&request, &error));
            }
            if !request.write
                && shared.job.validate
                && let Some(bytes) = self.queue.buffer(slot)
            {
                shared.check(&request, &bytes[..request.length as usize])?;
            }
            shared.requests.ended(&request);
            shared.count(&request, tally);
            match operation {
                Some(operation) => tally.ended(operation, kind(&request)),
                None => tally.done(kind(&request), 0),
            }
        }
        Ok(())
    }
}

/// Why there is no io_uring, and what to do: it is forbidden for good, or there is too little of something.
fn no_uring(depth: usize, error: io::Error) -> anyhow::Error {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => {
            "no io_uring: kernel.io_uring_disabled, a seccomp filter or the kernel forbids it; set io = \"async\"".to_owned()
        }
        _ => format!("no io_uring for {depth} requests: lower `depth` or `threads`, or set io = \"async\""),
    };
    anyhow::Error::new(error).context(why)
}

impl Shared<'_> {
    fn file(&self, number: u32) -> io::Result<&File> {
        self.files.get(number as usize).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// Does a request and waits for it.
    fn do_now(&self, request: &Move, bytes: &mut [u8], operation: u64) -> Result<(), Failed> {
        if request.write {
            self.prepare_write(request, bytes, operation);
        }
        let moved = match (self.mappings.get(request.file as usize), request.write) {
            (Some(mapping), true) => mapping.write(request.offset, bytes),
            (Some(mapping), false) => mapping.read(request.offset, bytes),
            (None, true) => self.file(request.file).and_then(|file| file.write_all_at(bytes, request.offset)),
            (None, false) => {
                self.file(request.file).and_then(|file| file.read_exact_at(bytes, request.offset))
            }
        };
        moved.map_err(|error| failed(request, &error))?;
        if !request.write && self.job.validate {
            self.check(request, bytes)?;
        }
        self.requests.ended(request);
        Ok(())
    }

    /// Makes the bytes of a write differ from those of every other one, where they are not zeros.
    fn prepare_write(&self, request: &Move, bytes: &mut [u8], operation: u64) {
        if self.job.random_data || self.job.validate {
            blocks::mark(bytes, operation);
        }
        if self.job.validate {
            for (offset, block) in self.blocks(request).zip(bytes.chunks_mut(self.job.block as usize)) {
                blocks::seal(block, request.file, offset);
            }
        }
    }

    /// Refuses blocks that are not what was written to their place.
    fn check(&self, request: &Move, bytes: &[u8]) -> Result<(), Failed> {
        for (offset, block) in self.blocks(request).zip(bytes.chunks(self.job.block as usize)) {
            if !blocks::is_sealed(block, request.file, offset) {
                let error = io::Error::other(
                    "it does not hold what was written there: the disk or the kernel is broken",
                );
                return Err(broken(&format!("the block of file {} at byte {offset}", request.file), &error));
            }
        }
        Ok(())
    }

    /// Where the blocks of a request begin.
    fn blocks(&self, request: &Move) -> impl Iterator<Item = u64> + use<> {
        (request.offset..).step_by(self.job.block as usize)
    }

    fn count(&self, request: &Move, tally: &mut Tally) {
        match request.write {
            true => tally.written_bytes(request.length),
            false => tally.read_bytes(request.length),
        }
    }
}

fn kind(request: &Move) -> usize {
    if request.write { WRITE } else { READ }
}

fn failed(request: &Move, error: &io::Error) -> Failed {
    let Move { write, file, offset, length } = request;
    let done = if *write { "written to" } else { "read from" };
    broken(&format!("{length} bytes at {offset} were not {done} file {file}"), error)
}

/// Going on with a file that fails would measure something else.
fn broken(what: &str, error: &io::Error) -> Failed {
    Failed { code: ErrorCode::Other, fatal: Some(format!("{what}: {error}")) }
}

#[cfg(test)]
mod tests {
    use super::super::options::Options;
    use super::*;
    use crate::workloads::{Common, take};

    fn job(keys: serde_json::Value) -> Job {
        let mut keys = keys.as_object().unwrap().clone();
        let options: Options = take(&mut keys).unwrap();
        options.job(&Common::default()).unwrap()
    }

    #[test]
    fn a_block_that_changed_on_the_disk_ends_the_load_whatever_reads_it() {
        for io in ["sync", "async", "mmap"] {
            let job = job(serde_json::json!({
                "pattern": "seqrd", "files": 1, "total": "64KiB", "block_size": "4KiB", "validate": true, "io": io
            }));
            let file = tempfile::tempfile().unwrap();
            let mut whole = vec![7; 64 << 10];
            for (block, offset) in whole.chunks_mut(4096).zip((0..).step_by(4096)) {
                blocks::seal(block, 0, offset);
            }
            whole[3 * 4096 + 100] ^= 1;
            file.write_all_at(&whole, 0).unwrap();
            let mappings = match job.io {
                Io::Mmap => vec![MappedFile::new(&file, 64 << 10).unwrap()],
                _ => Vec::new(),
            };
            let requests = Requests::new(&job);
            let shared = Shared {
                job: &job,
                seed: 1,
                files: vec![file],
                mappings,
                requests,
                ledger: Ledger::default(),
            };
            let mut client = Client::new(&shared, 0).unwrap();
            let mut tally = Tally::default();
            let mut all = (0..16).try_for_each(|number| client.step(number, &mut tally));
            all = all.and_then(|()| client.settle(false, &mut tally));
            let sentence = all.unwrap_err().fatal.unwrap();
            assert!(
                sentence.starts_with("the block of file 0 at byte 12288: it does not hold"),
                "{sentence}"
            );
        }
    }
}
