//! The options of fileio, and the job they come to once a preset is applied and everything is checked.

use serde::{Deserialize, Serialize};

use super::keys::{Fill, Flags, Io, Mode, Pattern, Preset, SyncCall};
use crate::config::ParameterError;
use crate::units::Bytes;
use crate::workloads::Common;

/// Files of a case; each takes a descriptor in two processes.
const MOST_FILES: u32 = 10_000;
/// The smallest block of any device, and the largest request that is of use.
const BLOCKS: std::ops::RangeInclusive<u64> = 512..=64 << 20;
/// Requests under way in one thread.
const DEPTHS: std::ops::RangeInclusive<u32> = 1..=4096;
/// Memory for the data of requests under way, over all threads.
const MOST_MEMORY: u64 = 4 << 30;
/// Blocks that are validated are filled by whole ones.
const MOST_VALIDATED: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    preset: Preset,
    pattern: Pattern,
    mode: Mode,
    files: u32,
    total: Bytes,
    block_size: Bytes,
    io: Io,
    depth: u32,
    flags: Flags,
    fsync_every: u64,
    fsync_all: bool,
    fsync_end: bool,
    fsync: SyncCall,
    merged_requests: u32,
    ratio: f64,
    validate: bool,
    fill: Fill,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            preset: Preset::None,
            pattern: Pattern::RndRw,
            mode: Mode::Compatible,
            files: 128,
            total: Bytes::from_mib(2048),
            block_size: Bytes::new(16 << 10),
            io: Io::Sync,
            depth: 128,
            flags: Flags::default(),
            fsync_every: 100,
            fsync_all: false,
            fsync_end: true,
            fsync: SyncCall::Fsync,
            merged_requests: 0,
            ratio: 1.5,
            validate: false,
            fill: Fill::Auto,
        }
    }
}

/// What is done, without presets and defaults.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    pub(super) pattern: Pattern,
    pub(super) native: bool,
    pub(super) files: u32,
    /// Bytes of a file.
    pub(super) file_size: u64,
    pub(super) block: u64,
    /// Bytes of a request.
    pub(super) request: u64,
    pub(super) io: Io,
    pub(super) depth: u32,
    pub(super) flags: Flags,
    /// 0 is never.
    pub(super) fsync_every: u64,
    pub(super) fsync_all: bool,
    pub(super) fsync_end: bool,
    pub(super) data_only: bool,
    pub(super) ratio: f64,
    pub(super) validate: bool,
    pub(super) random_data: bool,
}

impl Options {
    /// The options with those of the preset where they are at their defaults.
    fn with_preset(mut self) -> Options {
        let default = Options::default();
        macro_rules! preset {
            ($($key:ident = $value:expr),+ $(,)?) => {{
                $(if self.$key == default.$key { self.$key = $value; })+
            }};
        }
        if self.preset != Preset::None {
            preset!(mode = Mode::Native, files = 1);
        }
        match self.preset {
            Preset::None => {}
            Preset::Wal => preset!(
                pattern = Pattern::SeqRewr,
                block_size = Bytes::new(4096),
                fsync_all = true,
                fsync = SyncCall::Fdatasync,
            ),
            Preset::RandomRead => {
                preset!(pattern = Pattern::RndRd, io = Io::Async, depth = 32, flags = Flags::direct())
            }
            Preset::RandomWrite => preset!(
                pattern = Pattern::RndWr,
                io = Io::Async,
                depth = 32,
                flags = Flags::direct(),
                fsync_every = 0,
            ),
            Preset::Sequential => preset!(
                pattern = Pattern::SeqRd,
                block_size = Bytes::from_mib(1),
                io = Io::Async,
                depth = 8,
                flags = Flags::direct(),
            ),
        }
        self
    }

    /// The job for so many threads, checked.
    pub(super) fn job(self, common: &Common) -> Result<Job, ParameterError> {
        let options = self.with_preset();
        options.check_sizes()?;
        let native = options.mode == Mode::Native;
        let job = Job {
            pattern: options.pattern,
            native,
            files: options.files,
            file_size: options.total.get() / u64::from(options.files),
            block: options.block_size.get(),
            request: options.block_size.get().saturating_mul(u64::from(options.merged_requests.max(1))),
            io: options.io,
            depth: if options.io.is_queued() { options.depth } else { 1 },
            fsync_every: if options.fsync_all { 0 } else { options.fsync_every },
            fsync_all: options.fsync_all,
            fsync_end: options.fsync_end && !options.fsync_all && options.pattern.writes(),
            data_only: options.fsync == SyncCall::Fdatasync,
            ratio: options.ratio,
            validate: options.validate,
            random_data: options.fill == Fill::Random || (options.fill == Fill::Auto && native),
            flags: options.flags.clone(),
        };
        options.check_ways(common)?;
        job.check_requests(common)?;
        job.check_direct()?;
        if job.validate {
            options.check_validated(&job)?;
        }
        Ok(job)
    }

    fn check_sizes(&self) -> Result<(), ParameterError> {
        let (block, files) = (self.block_size, self.files);
        if !(1..=MOST_FILES).contains(&files) {
            return wrong("files", format!("`files` cannot be {files}"), "write a number of 1 to 10000");
        }
        if !BLOCKS.contains(&block.get()) {
            return wrong(
                "block_size",
                format!("`block_size` cannot be {block}"),
                "write a size of 512B to 64MiB",
            );
        }
        if self.total.get() / u64::from(files) < block.get() {
            let problem =
                format!("{} in {files} files makes no operation: no file has a block of {block}", self.total);
            return wrong("total", problem, "give a larger `total`, fewer `files` or a smaller `block_size`");
        }
        if !DEPTHS.contains(&self.depth) {
            let problem = format!("`depth` cannot be {}", self.depth);
            return wrong("depth", problem, "write a number of 1 to 4096");
        }
        if !self.ratio.is_finite() || self.ratio < 0.0 {
            let problem = format!("`ratio` cannot be {}", self.ratio);
            return wrong("ratio", problem, "write how many reads go with one write, such as 1.5");
        }
        if self.merged_requests > 1 && !self.pattern.is_sequential() {
            let problem = "`merged_requests` merges neighbours, which a random pattern has not".to_owned();
            return wrong("merged_requests", problem, "leave it out, or take a sequential pattern");
        }
        Ok(())
    }

    /// Ways of reading and writing that exclude each other.
    fn check_ways(&self, common: &Common) -> Result<(), ParameterError> {
        let native = self.mode == Mode::Native;
        if self.io == Io::Uring && !native {
            return wrong(
                "io",
                "sysbench has no io_uring, so nothing would be comparable".to_owned(),
                "set mode = \"native\", or io = \"async\"",
            );
        }
        if self.io == Io::Mmap && !self.flags.is_empty() {
            let problem = format!("flags {} have no effect on mapped memory", self.flags);
            return wrong("flags", problem, "leave them out, or take another `io`");
        }
        if self.io.is_queued() && native && self.fsync_all {
            let problem = "a sync after each write leaves nothing to queue".to_owned();
            return wrong("fsync_all", problem, "set io = \"sync\", or flags = [\"dsync\"] instead");
        }
        if self.io.is_queued() && native && common.rate > 0.0 {
            let problem = "requests that end between two intended starts would be seen too late".to_owned();
            return wrong(
                "rate",
                problem,
                "set io = \"sync\" and as many `threads` as requests may be under way",
            );
        }
        Ok(())
    }

    fn check_validated(&self, job: &Job) -> Result<(), ParameterError> {
        if self.fill != Fill::Auto {
            let problem = "blocks that are validated hold their own data".to_owned();
            return wrong("fill", problem, "leave `fill` out, or set validate = false");
        }
        if !job.block.is_power_of_two() || job.block > MOST_VALIDATED {
            let problem = format!("blocks of {} cannot be validated", self.block_size);
            return wrong("validate", problem, "take a `block_size` that is a power of two, at most 1MiB");
        }
        if !job.file_size.is_multiple_of(job.block) {
            let problem = format!("files of {} are not whole blocks", Bytes::new(job.file_size));
            return wrong("validate", problem, "take a `total` that `files` and `block_size` divide");
        }
        Ok(())
    }
}

impl Job {
    /// Whether a sync never finds its file clean.
    pub(super) fn syncs_each_write(&self) -> bool {
        self.fsync_all || (self.fsync_every == 1 && self.files == 1)
    }

    fn check_requests(&self, common: &Common) -> Result<(), ParameterError> {
        let request = Bytes::new(self.request);
        if self.request > self.file_size.min(*BLOCKS.end()) {
            let problem = format!("a request of {request} is larger than a file, or than 64MiB");
            return wrong("merged_requests", problem, "merge fewer");
        }
        let memory =
            self.request.saturating_mul(u64::from(self.depth)).saturating_mul(u64::from(common.threads));
        if memory > MOST_MEMORY {
            let problem = format!("requests under way would take {} of memory", Bytes::new(memory));
            let hint = "at most 4GiB: less `depth`, fewer `threads` or a smaller `block_size`";
            return wrong(if self.io.is_queued() { "depth" } else { "block_size" }, problem, hint);
        }
        Ok(())
    }

    fn check_direct(&self) -> Result<(), ParameterError> {
        let whole = self.block.is_multiple_of(*BLOCKS.start()) && self.file_size.is_multiple_of(self.block);
        if self.flags.is_direct() && !whole {
            let problem = format!(
                "direct I/O moves whole blocks: block_size {} is not a multiple of 512B, or does not divide the {} of a file",
                Bytes::new(self.block),
                Bytes::new(self.file_size)
            );
            return wrong("flags", problem, "take another `block_size` or `total`, or no \"direct\"");
        }
        Ok(())
    }
}

fn wrong<T>(key: &str, problem: String, hint: &str) -> Result<T, ParameterError> {
    Err(ParameterError { key: key.to_owned(), problem, hint: hint.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::workloads::take;

    fn job(keys: Value) -> Result<Job, ParameterError> {
        let mut keys = keys.as_object().unwrap().clone();
        let options: Options = take(&mut keys)?;
        let common = Common::take_rest(keys)?;
        options.job(&common)
    }

    #[test]
    fn a_preset_sets_what_is_at_its_default_and_nothing_else() {
        let wal = job(json!({"preset": "wal", "total": "64MiB"})).unwrap();
        assert_eq!((wal.files, wal.block, wal.file_size), (1, 4096, 64 << 20));
        assert!(wal.fsync_all && wal.data_only && wal.native && wal.random_data && !wal.fsync_end);
        assert_eq!(wal.pattern, Pattern::SeqRewr);
        let other = job(json!({"preset": "wal", "files": 2, "block_size": "16KiB", "fsync": "fdatasync"}));
        let other = other.map(|job| (job.files, job.block));
        assert_eq!(other, Ok((2, 4096)), "16KiB is the default, and so not seen as written");
        for preset in ["random-read", "random-write", "sequential"] {
            let job = job(json!({"preset": preset})).unwrap();
            assert!(job.flags.is_direct() && job.native && job.io == Io::Async, "{preset}");
        }
    }

    #[test]
    fn what_is_out_of_range_or_makes_no_sense_together_is_refused_by_its_key() {
        for (key, keys) in [
            ("files", json!({"files": 0})),
            ("files", json!({"files": 10_001})),
            ("block_size", json!({"block_size": "0B"})),
            ("block_size", json!({"block_size": "511B"})),
            ("block_size", json!({"block_size": "65MiB"})),
            ("total", json!({"total": "0B"})),
            ("total", json!({"total": "100B"})),
            ("total", json!({"total": "1MiB"})),
            ("depth", json!({"depth": 0})),
            ("depth", json!({"depth": 4097})),
            ("depth", json!({"depth": 4096, "io": "async", "threads": 100})),
            ("ratio", json!({"ratio": -1})),
            ("merged_requests", json!({"merged_requests": 2})),
            ("merged_requests", json!({"merged_requests": 2000, "pattern": "seqrd"})),
            ("io", json!({"io": "uring"})),
            ("io", json!({"io": "libaio"})),
            ("flags", json!({"flags": ["noatime"]})),
            ("flags", json!({"flags": ["direct", 7]})),
            ("flags", json!({"flags": true})),
            ("flags", json!({"io": "mmap", "flags": ["direct"]})),
            ("flags", json!({"flags": ["direct"], "block_size": "700B"})),
            ("flags", json!({"flags": ["direct"], "files": 3})),
            ("fsync_all", json!({"io": "async", "mode": "native", "fsync_all": true})),
            ("rate", json!({"io": "async", "mode": "native", "rate": 5})),
            ("fill", json!({"validate": true, "fill": "zeros"})),
            ("validate", json!({"validate": true, "block_size": "12KiB", "files": 1})),
            ("validate", json!({"validate": true, "total": "100000000B"})),
            ("pattern", json!({"pattern": "random"})),
            ("preset", json!({"preset": "logs"})),
            ("fsync", json!({"fsync": "sync"})),
        ] {
            let refused = job(keys.clone()).err().map(|error| error.key);
            assert_eq!(refused.as_deref(), Some(key), "{keys}");
        }
    }

    #[test]
    fn sizes_and_rules_are_those_of_sysbench() {
        let job = job(json!({})).unwrap();
        assert_eq!((job.files, job.file_size, job.block, job.request), (128, 16 << 20, 16 << 10, 16 << 10));
        assert!(!job.random_data && job.fsync_end && job.fsync_every == 100);
        let job =
            self::job(json!({"pattern": "seqrd", "merged_requests": 3, "total": "1000000B", "files": 3}));
        assert_eq!(
            job.map(|job| (job.file_size, job.request, job.fsync_end)),
            Ok((333_333, 48 << 10, false))
        );
    }
}
