//! Reads and writes of files, as sysbench 1.0.20 does them, or as tells most.
//!
//! One operation is what sysbench calls an event: a read, a write, or the sync of one file. All threads share the
//! files and one state that decides what comes next. In native mode operations under way count when they end,
//! with their real times, and each kind has a distribution of its own.

mod blocks;
mod ceilings;
mod client;
mod keys;
mod options;
mod requests;

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use anyhow::{Context as _, Result, anyhow, bail};
use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::config::ParameterError;
use crate::driver::{DriveError, Kinds, Observed, Plan, Stop, drive};
use crate::record::{CaseResult, Parameters};
use crate::system::{Aligned, MappedFile};
use crate::target::{FileSpec, Files, LEAST_FREE, Prepared, Space, Way, free_bytes, refuses_direct};
use crate::units::Bytes;

use super::books::Ledger;
use super::{Common, Kind, NO_SPACE, Needs, Workload, defaults_of, take};
use client::{Client, KINDS, Shared};
use keys::{Io, KEYS, Pattern};
use options::{Job, Options};
use requests::Requests;

/// The workload's entry in the table.
pub(super) const KIND: Kind = Kind {
    name: "fileio",
    about: "reads, writes and syncs files; comparable with sysbench fileio, and in native mode with fio",
    operation: "request",
    revision: 1,
    needs: Needs::Directory,
    keys: &[KEYS, Common::KEYS],
    defaults,
    build,
};

/// Block sizes that direct I/O is tried with, to say which would do.
const DIRECT_SIZES: [u64; 4] = [512, 1024, 2048, 4096];

fn defaults() -> Parameters {
    let mut all = defaults_of::<Options>();
    all.extend(defaults_of::<Common>());
    all
}

fn build(parameters: &Parameters) -> Result<Box<dyn Workload>, ParameterError> {
    let mut left = parameters.clone();
    let options: Options = take(&mut left)?;
    let common = Common::take_rest(left)?;
    Ok(Box::new(FileIo { job: options.job(&common)?, common }))
}

struct FileIo {
    common: Common,
    job: Job,
}

impl Workload for FileIo {
    fn plan(&self) -> Plan {
        self.common.plan()
    }

    fn prepare(
        &self,
        at: Option<&mut Prepared>,
        stop: &Stop,
        progress: &mut dyn FnMut(u64, u64, &'static str),
    ) -> Result<()> {
        let directory = at
            .and_then(Prepared::directory)
            .ok_or_else(|| anyhow!("no files are made without a directory: give `target`"))?;
        if let Some(filesystem) = refuses_direct(directory.path()).filter(|_| self.job.flags.is_direct()) {
            bail!(
                "{} lies on {filesystem}, which is memory: direct I/O has no device to go to there; name a \
                 directory on a disk, or leave \"direct\" out of `flags`",
                directory.path().display()
            );
        }
        let all = self.job.file_size.saturating_mul(u64::from(self.job.files)) >> 20;
        let mut fill = |file, at, bytes: &mut [u8]| {
            self.fill(file, at, bytes);
            !stop.requested()
        };
        directory.make(&self.files(), &mut fill, &mut |done| progress(done >> 20, all, "MiB"))
    }

    fn measure(
        &self,
        way: Option<&Way>,
        stop: &Stop,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<CaseResult, DriveError> {
        let files =
            way.and_then(Way::files).context("no load without files: give `target`").map_err(unable)?;
        let shared = self.open(files).map_err(unable)?;
        let mut low = None;
        let mut watch = |observed| {
            if low.is_none() {
                low = lack_of_space(files);
                low.iter().for_each(|_| stop.request());
            }
            observe(observed);
        };
        let kinds = Kinds { names: KINDS, timed: self.job.native };
        let plan = Plan { kinds, ..self.plan() };
        let driven = drive(&plan, stop, |client| Client::new(&shared, client), &mut watch);
        let mut result = driven.map_err(|error| as_of_files(error, low))?;
        if refuses_direct(&files.directory).is_none() {
            result.ceilings = ceilings::of_device(&self.job, &result);
        }
        Ok(result)
    }
}

impl FileIo {
    /// The files of this case.
    fn files(&self) -> FileSpec {
        let job = &self.job;
        let content = match job.pattern {
            Pattern::SeqWr => None,
            _ if job.validate => Some(format!("checked {} {}", job.block, self.common.seed)),
            _ if job.random_data => Some(format!("random {}", self.common.seed)),
            _ => Some("zeros".to_owned()),
        };
        let space = match (job.pattern, job.io) {
            // As sysbench has them: pages that have their blocks already are written faster.
            (Pattern::SeqWr, Io::Mmap) if !job.native => Space::Hole,
            (Pattern::SeqWr, Io::Sync | Io::Async | Io::Uring) => Space::Empty,
            _ => Space::Blocks,
        };
        // sysbench writes its files block by block.
        let piece = if job.native { u64::MAX } else { job.block };
        FileSpec { count: job.files, size: job.file_size, content, piece, space }
    }

    /// Fills a part of a file that is whole blocks from its begin.
    fn fill(&self, file: u32, at: u64, bytes: &mut [u8]) {
        if !self.job.random_data && !self.job.validate {
            return;
        }
        blocks::fill_random(bytes, self.common.seed ^ u64::from(file) << 32, at);
        if self.job.validate {
            let offsets = (at..).step_by(self.job.block as usize);
            for (block, offset) in bytes.chunks_mut(self.job.block as usize).zip(offsets) {
                blocks::seal(block, file, offset);
            }
        }
    }

    /// Opens the files as the clients will use them.
    fn open(&self, files: &Files) -> Result<Shared<'_>> {
        let job = &self.job;
        let what = || format!("the files in {} could not be opened", files.directory.display());
        let opened = files.open(job.flags.bits()).with_context(what)?;
        if job.flags.is_direct() {
            check_direct(job, &opened).with_context(what)?;
        }
        let mut mappings = Vec::new();
        if job.io == Io::Mmap {
            let size = usize::try_from(job.file_size).with_context(what)?;
            for file in &opened {
                mappings.push(MappedFile::new(file, size).with_context(what)?);
            }
        }
        Ok(Shared {
            job,
            seed: self.common.seed,
            files: opened,
            mappings,
            requests: Requests::new(job),
            ledger: Ledger::default(),
        })
    }
}

/// Tries direct I/O, whose rules only the filesystem and the device know; takes the files out of memory, where they
/// are since they were filled.
fn check_direct(job: &Job, files: &[File]) -> Result<()> {
    for file in files {
        // Advice that is not taken costs speed alone.
        let _ = posix_fadvise(file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
    }
    let Some(file) = files.first().filter(|_| job.pattern != Pattern::SeqWr) else { return Ok(()) };
    let read = |size: u64, at: u64| {
        let mut buffer = Aligned::new(size as usize);
        file.read_at(buffer.bytes(), at)
    };
    let second = if job.file_size >= 2 * job.block { job.block } else { 0 };
    let Err(error) = read(job.block, second) else { return Ok(()) };
    let fits = |size: &u64| *size <= job.file_size / 2 && read(*size, *size).is_ok();
    match DIRECT_SIZES.into_iter().find(fits) {
        Some(size) => bail!(
            "direct I/O with blocks of {} is refused ({error}): take a `block_size` that is a multiple of {}",
            Bytes::new(job.block),
            Bytes::new(size)
        ),
        None => bail!("direct I/O is refused by this filesystem ({error}): leave \"direct\" out of `flags`"),
    }
}

/// What to say when there is too little space left for others.
fn lack_of_space(files: &Files) -> Option<String> {
    let free = free_bytes(&files.directory).ok()?;
    (free < LEAST_FREE.get()).then(|| {
        format!(
            "ended because {} MiB are free in {} (limit {LEAST_FREE}): somebody else fills the disk; make room",
            free >> 20,
            files.directory.display()
        )
    })
}

/// The word for failures of files in records.
const FILES: &str = "files";

fn unable(error: anyhow::Error) -> DriveError {
    DriveError::Aborted { reason: FILES, message: format!("{error:#}"), partial: None }
}

/// The same in the words of a load that has no server.
fn as_of_files(error: DriveError, low: Option<String>) -> DriveError {
    match (error, low) {
        (DriveError::Stopped { partial }, Some(message)) => {
            DriveError::Aborted { reason: NO_SPACE, message, partial }
        }
        (DriveError::Make(error), _) => unable(error),
        (DriveError::Fatal { message, partial }, _) => {
            DriveError::Aborted { reason: FILES, message, partial }
        }
        (other, _) => other,
    }
}
