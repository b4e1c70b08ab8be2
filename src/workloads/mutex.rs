//! Short critical sections under many mutexes, as sysbench 1.0.20 measures them.

use std::sync::atomic::{AtomicU32, Ordering};

use serde::{Deserialize, Serialize};

use super::options::{in_range, refused};
use super::{Common, Key, Kind, Needs, Workload, defaults_of, take};
use crate::config::ParameterError;
use crate::driver::random::Random;
use crate::driver::{DriveError, Failed, Observed, Plan, Stop, Tally, Worker, drive};
use crate::record::{CaseResult, Parameters};
use crate::system::PthreadMutexes;
use crate::target::Way;
use crate::units::{Bytes, Span};

/// The workload's entry in the table.
pub(super) const KIND: Kind = Kind {
    name: "mutex",
    about: "short work under one of many mutexes, one event a thread; its time is the result, comparable with sysbench mutex",
    operation: "event",
    revision: 1,
    needs: Needs::Nothing,
    keys: &[KEYS, Common::KEYS],
    defaults,
    build,
};

const KEYS: &[Key] = &[
    Key { name: "mutexes", meaning: "mutexes that the threads share; 1 to 1000000", peer: "--mutex-num" },
    Key { name: "locks", meaning: "times that an event locks one; 1 to 1000000000", peer: "--mutex-locks" },
    Key { name: "loops", meaning: "empty loops before each lock; 0 to 4294967295", peer: "--mutex-loops" },
];

const MUTEXES: std::ops::RangeInclusive<u64> = 1..=1_000_000;
const LOCKS: std::ops::RangeInclusive<u64> = 1..=1_000_000_000;
const LOOPS: std::ops::RangeInclusive<u64> = 0..=u32::MAX as u64;

/// So far apart are the mutexes of sysbench beside their own size, so that they share no cache line.
const PAD: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    mutexes: u64,
    locks: u64,
    loops: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { mutexes: 4096, locks: 50_000, loops: 10_000 }
    }
}

/// Each thread does one event, so nothing else limits a case.
fn common() -> Common {
    Common { time: Span::ZERO, warm_up: Span::ZERO, ..Common::default() }
}

fn defaults() -> Parameters {
    let mut all = defaults_of::<Options>();
    all.extend(super::options::parameters_of(&common()));
    all
}

fn build(parameters: &Parameters) -> Result<Box<dyn Workload>, ParameterError> {
    let mut left = defaults();
    left.extend(parameters.clone());
    let options: Options = take(&mut left)?;
    let common = Common::take_rest_of_bounded(left)?;
    in_range("mutexes", options.mutexes, &MUTEXES)?;
    in_range("locks", options.locks, &LOCKS)?;
    in_range("loops", options.loops, &LOOPS)?;
    for (key, is_given) in [
        ("time", !common.time.is_zero()),
        ("warm_up", !common.warm_up.is_zero()),
        ("operations", common.operations != 0),
        ("rate", common.rate != 0.0),
    ] {
        if is_given {
            let problem = format!("`{key}` cannot be: each thread does one event, as long as it takes");
            return Err(refused(key, problem, "remove it; `locks` and `loops` make the event longer"));
        }
    }
    Ok(Box::new(Mutex { common, options }))
}

struct Mutex {
    common: Common,
    options: Options,
}

impl Workload for Mutex {
    fn plan(&self) -> Plan {
        Plan { operations_each: 1, ..self.common.plan() }
    }

    fn memory(&self) -> Bytes {
        Bytes::new(self.options.mutexes * (PAD + 40) as u64)
    }

    fn measure(
        &self,
        _way: Option<&Way>,
        stop: &Stop,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<CaseResult, DriveError> {
        let shared = Shared {
            options: &self.options,
            mutexes: PthreadMutexes::new(self.options.mutexes as usize),
            loops: AtomicU32::new(self.options.loops as u32),
            sum: AtomicU32::new(0),
        };
        let seed = self.common.seed;
        drive(&self.plan(), stop, |_| Ok(Sections { shared: &shared, seed }), observe)
    }
}

/// What the threads share.
struct Shared<'a> {
    options: &'a Options,
    mutexes: PthreadMutexes<PAD>,
    /// Read again in each loop, as sysbench reads it, so that the loop is one and no compiler shortens it.
    loops: AtomicU32,
    /// What the sections count up. They hold different mutexes, so counts get lost, in sysbench too.
    sum: AtomicU32,
}

struct Sections<'a> {
    shared: &'a Shared<'a>,
    seed: u64,
}

impl Worker for Sections<'_> {
    fn step(&mut self, operation: u64, _tally: &mut Tally) -> Result<(), Failed> {
        let Shared { options, mutexes, loops, sum } = self.shared;
        let mut random = Random::for_operation(self.seed, operation);
        for _ in 0..options.locks {
            let number = random.below(options.mutexes) as usize;
            let mut done = 0;
            while done < loops.load(Ordering::Relaxed) {
                done += 1;
            }
            mutexes.locked(number, || {
                sum.store(sum.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn measure(parameters: serde_json::Value) -> CaseResult {
        let mutex = build(parameters.as_object().unwrap()).unwrap();
        mutex.measure(None, &Stop::new(), &mut |_| {}).unwrap()
    }

    #[test]
    fn each_thread_does_one_event() {
        for threads in [1, 3, 8] {
            let result = measure(json!({"threads": threads, "locks": 100, "loops": 10}));
            assert_eq!(result.operations, threads);
        }
    }

    #[test]
    fn an_event_takes_time_that_grows_with_its_loops_and_its_locks() {
        let time =
            |locks: u64, loops: u64| measure(json!({"locks": locks, "loops": loops})).service.mean.unwrap();
        let short = time(1000, 100);
        assert!(time(1000, 10_000) > 5.0 * short, "about 50 times the loops");
        assert!(time(30_000, 100) > 5.0 * short, "30 times the locks");
    }

    #[test]
    fn what_makes_no_event_or_limits_one_is_refused() {
        let error = |parameters: serde_json::Value| {
            build(parameters.as_object().unwrap()).err().map(|error| error.key).unwrap_or_default()
        };
        for (key, value) in [
            ("mutexes", json!(0)),
            ("mutexes", json!(1_000_001)),
            ("locks", json!(0)),
            ("loops", json!(1_u64 << 32)),
            ("loops", json!(-1)),
            ("time", json!("10s")),
            ("warm_up", json!("1s")),
            ("operations", json!(5)),
            ("rate", json!(10)),
            ("threads", json!(0)),
        ] {
            assert_eq!(error(json!({key: value})), key, "{value}");
        }
        assert_eq!(error(json!({"loops": 0, "mutexes": 1, "locks": 1})), "");
    }
}
