//! The workload `memory`: single words as sysbench 1.0.20 moves them, the bandwidth of the memory, and the time of a
//! load that waits for the one before it.

mod caches;
mod compatible;
mod native;
mod options;

use std::path::Path;

use anyhow::Context as _;

use self::compatible::Shared;
use self::native::{Chase, Stream};
use self::options::{KEYS, Mode, Options, Scope, Size};
use super::{Common, Kind, Needs, Workload, defaults_of, take};
use crate::config::ParameterError;
use crate::driver::{DriveError, Observed, Plan, Stop, drive};
use crate::record::{CaseResult, Parameters};
use crate::system::Mapping;
use crate::target::Way;
use crate::units::Bytes;

/// The workload's entry in the table.
pub(super) const KIND: Kind = Kind {
    name: "memory",
    about: "passes over memory: word by word as sysbench memory, at full bandwidth, or load after load",
    operation: "event",
    revision: 1,
    needs: Needs::Nothing,
    keys: &[KEYS, Common::KEYS],
    defaults,
    build,
};

/// Bytes of a word, the unit of every access.
const WORD: u64 = 8;
/// A page where nothing else is asked for.
const PAGE: u64 = 4096;

fn defaults() -> Parameters {
    let mut all = defaults_of::<Options>();
    all.extend(defaults_of::<Common>());
    all
}

fn build(parameters: &Parameters) -> Result<Box<dyn Workload>, ParameterError> {
    let mut left = parameters.clone();
    let options: Options = take(&mut left)?;
    let common = match options.ends_by_volume() {
        true => Common::take_rest_of_bounded(left)?,
        false => Common::take_rest(left)?,
    };
    options.check(common.threads)?;
    Ok(Box::new(Memory { common, options }))
}

struct Memory {
    common: Common,
    options: Options,
}

impl Workload for Memory {
    fn plan(&self) -> Plan {
        let operations_each = match self.options.mode {
            Mode::Compatible => self.options.events_each(self.common.threads),
            Mode::Native | Mode::Latency => 0,
        };
        Plan { operations_each, ..self.common.plan() }
    }

    fn memory(&self) -> Bytes {
        let threads = u64::from(self.common.threads);
        let bytes = match (self.options.mode, self.options.scope) {
            (Mode::Compatible, Scope::Global) => self.options.block_size.get(),
            (Mode::Compatible, Scope::Local) => self.options.block_size.get().saturating_mul(threads),
            (Mode::Native | Mode::Latency, _) => self.size().saturating_mul(threads),
        };
        Bytes::new(bytes)
    }

    fn measure(
        &self,
        _way: Option<&Way>,
        stop: &Stop,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<CaseResult, DriveError> {
        let (plan, options, seed) = (self.plan(), &self.options, self.common.seed);
        match options.mode {
            Mode::Compatible => {
                let shared = Shared::new(options, plan.clients).map_err(DriveError::Make)?;
                drive(&plan, stop, |client| shared.worker(client, seed), observe)
            }
            Mode::Native => {
                let make = |_| {
                    let memory = buffer(self.size(), options.huge_pages)?;
                    memory.ask_for_huge_pages();
                    Ok(Stream::new(options.operation, memory))
                };
                drive(&plan, stop, make, observe)
            }
            Mode::Latency => {
                let make = |client| Ok(Chase::new(buffer(self.size(), options.huge_pages)?, seed, client));
                drive(&plan, stop, make, observe)
            }
        }
    }
}

impl Memory {
    /// The buffer of one thread in bytes.
    fn size(&self) -> u64 {
        match self.options.size {
            Size::Bytes(size) => size.get(),
            Size::Auto => {
                let caches = caches::last_level(Path::new("/sys/devices/system/cpu"));
                wider_than(caches, u64::from(self.common.threads))
            }
        }
    }
}

/// All threads together stream through so many times the last caches, and no less than the following, or much of
/// what they move comes from there (STREAM's rule by McCalpin: four times).
const CACHES: u64 = 4;
const AT_LEAST: u64 = 256 << 20;

/// The buffer of each of so many threads beside last caches of so many bytes, in whole pages.
fn wider_than(caches: u64, threads: u64) -> u64 {
    let all = caches.saturating_mul(CACHES).max(AT_LEAST);
    (all / threads.max(1)).next_multiple_of(PAGE)
}

/// Memory of the calling thread, which it is the first to touch: it lies where that thread runs.
fn buffer(bytes: u64, huge: bool) -> anyhow::Result<Mapping> {
    let page = if huge { huge_page()? } else { PAGE };
    let words = usize::try_from(bytes / WORD).context("the buffer is too large")?;
    let mapping = Mapping::new(words, usize::try_from(page)?, huge);
    mapping.map_err(|error| match huge {
        true => anyhow::anyhow!(
            "{} of huge pages not taken: {error}; {}. Set aside more with vm.nr_hugepages, or use huge_pages = false",
            Bytes::new(bytes),
            free_huge_pages()
        ),
        false => anyhow::anyhow!("{} of memory not taken: {error}; use less", Bytes::new(bytes)),
    })
}

/// The size of a huge page of this kernel.
fn huge_page() -> anyhow::Result<u64> {
    meminfo("Hugepagesize:").map(|kib| kib * 1024).context(
        "huge pages not taken: this kernel has none (no Hugepagesize in /proc/meminfo); use huge_pages = false",
    )
}

fn free_huge_pages() -> String {
    let known =
        |name| meminfo(name).map_or_else(|| "an unknown number".to_owned(), |value| value.to_string());
    format!("{} of {} huge pages are free", known("HugePages_Free:"), known("HugePages_Total:"))
}

fn meminfo(name: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests;
