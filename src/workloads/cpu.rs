//! The speed of the integer divider of one CPU, as sysbench 1.0.20 measures it.
//!
//! One operation is what sysbench calls an event: every number from 3 below `max_prime` is tried for primality by
//! trial division. To give the same number of events a second, it does what the program that distributions ship
//! does: a parity test for the divisor 2, which GCC makes of it, a 64-bit division for each further divisor, and
//! the bound compared as floating point at each step.

use std::hint::black_box;

use serde::{Deserialize, Serialize};

use crate::config::ParameterError;
use crate::driver::{DriveError, Failed, Observed, Plan, Stop, Tally, Worker, drive};
use crate::record::{CaseResult, Parameters};
use crate::system::primes_below;
use crate::target::Way;

use super::options::in_range;
use super::{Common, Key, Kind, Needs, Workload, defaults_of, take};

/// The workload's entry in the table.
pub(super) const KIND: Kind = Kind {
    name: "cpu",
    about: "sweeps for primes by trial division; the speed of the integer divider, comparable with sysbench cpu",
    operation: "event",
    revision: 1,
    needs: Needs::Nothing,
    keys: &[KEYS, Common::KEYS],
    defaults,
    build,
};

const KEYS: &[Key] = &[
    Key {
        name: "max_prime",
        meaning: "one event tries every number below it; 4 to 1000000000",
        peer: "--cpu-max-prime",
    },
    Key {
        name: "mode",
        meaning: "compatible: the divisions of sysbench 1.0.20 | native: no more than needed, in 32 bits",
        peer: "",
    },
];

/// From one number tried to sweeps of about a day.
const MAX_PRIME: std::ops::RangeInclusive<u64> = 4..=1_000_000_000;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    max_prime: u64,
    mode: Mode,
}

/// How a number is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// With the instructions of sysbench 1.0.20 as GCC compiles it.
    Compatible,
    /// With no more than the task needs.
    Native,
}

impl Default for Options {
    fn default() -> Options {
        Options { max_prime: 10_000, mode: Mode::Compatible }
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
    in_range("max_prime", options.max_prime, &MAX_PRIME)?;
    Ok(Box::new(Cpu { common, options }))
}

struct Cpu {
    common: Common,
    options: Options,
}

impl Workload for Cpu {
    fn plan(&self) -> Plan {
        self.common.plan()
    }

    fn measure(
        &self,
        _way: Option<&Way>,
        stop: &Stop,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<CaseResult, DriveError> {
        let max_prime = self.options.max_prime;
        match self.options.mode {
            Mode::Compatible => drive(&self.plan(), stop, |_| Ok(Sweep { max_prime }), observe),
            Mode::Native => drive(&self.plan(), stop, |_| Ok(NativeSweep { max_prime }), observe),
        }
    }
}

struct Sweep {
    max_prime: u64,
}

impl Worker for Sweep {
    fn step(&mut self, _operation: u64, _tally: &mut Tally) -> Result<(), Failed> {
        // The bound must look new each time and the count must look used, or the compiler drops the sweep.
        black_box(primes_below(black_box(self.max_prime)));
        Ok(())
    }
}

struct NativeSweep {
    max_prime: u64,
}

impl Worker for NativeSweep {
    fn step(&mut self, _operation: u64, _tally: &mut Tally) -> Result<(), Failed> {
        // `MAX_PRIME` is below 2^32.
        black_box(native_primes_below(black_box(self.max_prime) as u32));
        Ok(())
    }
}

/// The number of primes from 3 below `max`: even numbers are not tried, nor by even divisors, and all is done in
/// whole numbers of 32 bits, which no compiler divides in 64.
fn native_primes_below(max: u32) -> u32 {
    let mut primes = 0;
    let mut root = 1;
    for number in (3..max).step_by(2) {
        while (root + 1) * (root + 1) <= number {
            root += 1;
        }
        primes += u32::from((3..=root).step_by(2).all(|divisor| !number.is_multiple_of(divisor)));
    }
    primes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_smallest_sweep_tries_the_number_three() {
        assert_eq!((primes_below(4), primes_below(8)), (1, 3));
    }

    #[test]
    fn an_event_takes_time_that_grows_with_its_bound() {
        for mode in ["compatible", "native"] {
            let time = |max_prime: u64| {
                let parameters = json!({
                    "max_prime": max_prime, "mode": mode, "time": "0s", "operations": 20, "warm_up": "0s"
                });
                let cpu = build(parameters.as_object().unwrap()).unwrap();
                cpu.measure(None, &Stop::new(), &mut |_| {}).unwrap().service.mean.unwrap()
            };
            assert!(time(40_000) > 2.0 * time(10_000), "{mode}: 6.5 times the divisions");
        }
    }

    #[test]
    fn both_modes_find_the_same_primes() {
        for max in [4, 5, 8, 9, 10, 25, 26, 10_000, 20_000] {
            assert_eq!(u64::from(native_primes_below(max)), primes_below(u64::from(max)), "{max}");
        }
    }

    #[test]
    fn a_bound_that_makes_no_sweep_is_refused() {
        let error = |max_prime: i64| {
            build(json!({"max_prime": max_prime}).as_object().unwrap()).err().map(|error| error.to_string())
        };
        let expected = "max_prime: `max_prime` cannot be 3: write a number of 4 to 1000000000";
        assert_eq!(error(3).as_deref(), Some(expected));
        assert!(error(-1).is_some() && error(1_000_000_001).is_some());
        assert!(build(json!({"mode": "fast"}).as_object().unwrap()).is_err());
        assert_eq!(error(4), None);
    }
}
