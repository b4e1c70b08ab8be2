//! Threads that take turns at a few mutexes: scheduler and contended locks, as sysbench 1.0.20 measures them.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

use super::options::in_range;
use super::{Common, Key, Kind, Needs, Workload, defaults_of, take};
use crate::config::ParameterError;
use crate::driver::{DriveError, Failed, Observed, Plan, Stop, Tally, Worker, drive};
use crate::record::{CaseResult, Parameters};
use crate::system::PthreadMutexes;
use crate::target::Way;

/// The workload's entry in the table.
pub(super) const KIND: Kind = Kind {
    name: "threads",
    about: "locks and yields in turn; the speed of the scheduler with contended mutexes, comparable with sysbench threads",
    operation: "event",
    revision: 1,
    needs: Needs::Nothing,
    keys: &[KEYS, Common::KEYS],
    defaults,
    build,
};

const KEYS: &[Key] = &[
    Key { name: "locks", meaning: "mutexes that the threads share; 1 to 1000000", peer: "--thread-locks" },
    Key {
        name: "yields",
        meaning: "times that an event locks, yields and unlocks; 1 to 1000000000",
        peer: "--thread-yields",
    },
];

const LOCKS: std::ops::RangeInclusive<u64> = 1..=1_000_000;
const YIELDS: std::ops::RangeInclusive<u64> = 1..=1_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    locks: u64,
    yields: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { locks: 8, yields: 1000 }
    }
}

fn defaults() -> Parameters {
    let mut all = defaults_of::<Options>();
    all.extend(defaults_of::<Common>());
    all
}

fn build(parameters: &Parameters) -> Result<Box<dyn Workload>, ParameterError> {
    let mut left = parameters.clone();
    let options: Options = take(&mut left)?;
    let common = Common::take_rest(left)?;
    in_range("locks", options.locks, &LOCKS)?;
    in_range("yields", options.yields, &YIELDS)?;
    Ok(Box::new(Threads { common, options }))
}

struct Threads {
    common: Common,
    options: Options,
}

impl Workload for Threads {
    fn plan(&self) -> Plan {
        self.common.plan()
    }

    fn measure(
        &self,
        _way: Option<&Way>,
        stop: &Stop,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<CaseResult, DriveError> {
        let shared = Shared {
            count: self.options.locks as usize,
            mutexes: PthreadMutexes::new(self.options.locks as usize),
            next: AtomicUsize::new(0),
        };
        let yields = self.options.yields;
        drive(&self.plan(), stop, |_| Ok(Turns { shared: &shared, yields }), observe)
    }
}

/// What the threads share. The mutexes stand side by side, as sysbench's do.
struct Shared {
    mutexes: PthreadMutexes<0>,
    count: usize,
    /// The number of the next event: it chooses the mutex.
    next: AtomicUsize,
}

struct Turns<'a> {
    shared: &'a Shared,
    yields: u64,
}

impl Worker for Turns<'_> {
    fn step(&mut self, _operation: u64, _tally: &mut Tally) -> Result<(), Failed> {
        let mutex = self.shared.next.fetch_add(1, Ordering::Relaxed) % self.shared.count;
        for _ in 0..self.yields {
            self.shared.mutexes.locked(mutex, std::thread::yield_now);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_counted_over_all_threads_and_their_time_grows_with_the_yields() {
        let measure = |yields: u64| {
            let parameters = json!({
                "threads": 2, "locks": 1, "yields": yields, "time": "0s", "operations": 100, "warm_up": "0s"
            });
            let threads = build(parameters.as_object().unwrap()).unwrap();
            threads.measure(None, &Stop::new(), &mut |_| {}).unwrap()
        };
        let (short, long) = (measure(10), measure(1000));
        assert_eq!((short.operations, long.operations), (100, 100));
        assert!(long.service.p50.unwrap() > 5.0 * short.service.p50.unwrap(), "100 times the yields");
    }

    #[test]
    fn what_makes_no_event_is_refused() {
        let error = |parameters: serde_json::Value| {
            build(parameters.as_object().unwrap()).err().map(|error| error.to_string())
        };
        let no_lock = "locks: `locks` cannot be 0: write a number of 1 to 1000000";
        assert_eq!(error(json!({"locks": 0})).as_deref(), Some(no_lock));
        let no_yield = "yields: `yields` cannot be 0: write a number of 1 to 1000000000";
        assert_eq!(error(json!({"yields": 0})).as_deref(), Some(no_yield));
        assert!(error(json!({"locks": 1_000_001})).is_some() && error(json!({"yields": -1})).is_some());
        assert_eq!(error(json!({"locks": 1, "yields": 1})), None);
    }
}
