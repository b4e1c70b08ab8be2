//! Options of workloads: plain structs whose `Default` is the only source of defaults, read from the parameters
//! of a case key by key so that an error names its key.

use std::ops::RangeInclusive;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::config::ParameterError;
use crate::driver::{Arrivals, Kinds, Pace, Pin, Plan};
use crate::record::Parameters;
use crate::units::{Rate, Share, Span};

use super::Key;

/// More clients than any server takes connections by default; each costs the generator 0.3 to 0.8 MB.
const MAX_THREADS: u32 = 10_000;

/// The options that every workload has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Common {
    /// Clients: threads with one connection each.
    pub threads: u32,
    /// Measured time; `0s` is no limit by time.
    pub time: Span,
    /// Stop after so many operations; 0 is no limit by number.
    pub operations: u64,
    /// Time before measuring.
    pub warm_up: Span,
    /// Operations a second in open loop; 0 is closed loop.
    #[serde(serialize_with = "as_written")]
    pub rate: f64,
    /// How arrivals are spaced in open loop.
    pub pace: Arrivals,
    /// Seed of everything random.
    pub seed: u64,
    /// On which CPUs the threads run.
    pub pin: Pin,
    /// Failed operations beyond this share fail the case.
    pub max_errors: Share,
}

impl Common {
    /// The keys of these options.
    pub const KEYS: &'static [Key] = &[
        Key { name: "threads", meaning: "clients: threads with one connection each", peer: "--threads" },
        Key { name: "time", meaning: "measured time; \"0s\" = no limit by time", peer: "--time" },
        Key {
            name: "operations",
            meaning: "stop after so many operations; 0 = by time alone",
            peer: "--events",
        },
        Key { name: "warm_up", meaning: "time before measuring", peer: "" },
        Key { name: "rate", meaning: "operations a second, open loop; 0 = closed loop", peer: "--rate" },
        Key { name: "pace", meaning: "arrivals in open loop: poisson | even", peer: "" },
        Key { name: "seed", meaning: "same seed, same operations, whatever the timing", peer: "--rand-seed" },
        Key { name: "pin", meaning: "none | core: each thread on a CPU of its own", peer: "" },
        Key { name: "max_errors", meaning: "failed operations beyond this share fail the case", peer: "" },
    ];

    /// Takes these options out of what the workload's own options left, checks them, and refuses what is left over.
    ///
    /// # Errors
    /// The first key that cannot be used or that nobody knows.
    pub fn take_rest(parameters: Parameters) -> Result<Common, ParameterError> {
        let common = Common::take_rest_of_bounded(parameters)?;
        if common.time.is_zero() && common.operations == 0 {
            return Err(ParameterError {
                key: "time".to_owned(),
                problem: "the case would never end".to_owned(),
                hint: "give it a `time` or a number of `operations`".to_owned(),
            });
        }
        Ok(common)
    }

    /// The same for a workload whose own options end the case, so that it needs no limit here.
    ///
    /// # Errors
    /// The first key that cannot be used or that nobody knows.
    pub fn take_rest_of_bounded(mut parameters: Parameters) -> Result<Common, ParameterError> {
        let common: Common = take(&mut parameters)?;
        let wrong = |key: &str, problem: String, hint: &str| {
            Err(ParameterError { key: key.to_owned(), problem, hint: hint.to_owned() })
        };
        if let Some(key) = parameters.keys().next() {
            return wrong(
                key,
                format!("unknown key `{key}`"),
                "`benchd workloads NAME` lists the keys of a workload",
            );
        }
        if !(1..=MAX_THREADS).contains(&common.threads) {
            let problem = format!("`threads` cannot be {}", common.threads);
            return wrong("threads", problem, &format!("write a number of 1 to {MAX_THREADS}"));
        }
        if !common.rate.is_finite() || common.rate < 0.0 {
            let problem = format!("`rate` cannot be {}", common.rate);
            return wrong("rate", problem, "write operations a second, or 0 for as fast as the clients can");
        }
        Ok(common)
    }

    /// The load these options ask for.
    pub fn plan(&self) -> Plan {
        let pace = match Rate::new(self.rate) {
            Some(rate) => Pace::Open { rate, arrivals: self.pace },
            None => Pace::FlatOut,
        };
        Plan {
            clients: self.threads,
            warm_up: self.warm_up,
            time: self.time,
            operations: self.operations,
            operations_each: 0,
            pace,
            pin: self.pin,
            seed: self.seed,
            interval: Span::from_secs(1),
            max_errors: self.max_errors,
            kinds: Kinds::default(),
        }
    }
}

impl Default for Common {
    fn default() -> Common {
        Common {
            threads: 1,
            time: Span::from_secs(60),
            operations: 0,
            warm_up: Span::from_secs(10),
            rate: 0.0,
            pace: Arrivals::Poisson,
            seed: 1,
            pin: Pin::None,
            max_errors: Share::from_percent(1),
        }
    }
}

/// Writes a whole number without a fraction, as a person writes it.
fn as_written<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match *number as u64 {
        whole if whole as f64 == *number => serializer.serialize_u64(whole),
        _ => serializer.serialize_f64(*number),
    }
}

/// A value that a workload cannot run with.
pub(super) fn refused(key: &str, problem: String, hint: impl Into<String>) -> ParameterError {
    ParameterError { key: key.to_owned(), problem, hint: hint.into() }
}

/// A number outside of its range.
pub(super) fn in_range(key: &str, value: u64, range: &RangeInclusive<u64>) -> Result<(), ParameterError> {
    if range.contains(&value) {
        return Ok(());
    }
    let hint = format!("write a number of {} to {}", range.start(), range.end());
    Err(refused(key, format!("`{key}` cannot be {value}"), hint))
}

/// Takes the options `T` out of the parameters: exactly the keys that `T::default()` has, each with its default
/// where it is not given.
///
/// # Errors
/// The first key whose value cannot be used.
pub fn take<T: Default + Serialize + DeserializeOwned>(
    parameters: &mut Parameters,
) -> Result<T, ParameterError> {
    let mut options = defaults_of::<T>();
    let keys: Vec<String> = options.keys().cloned().collect();
    for key in keys {
        let Some(given) = parameters.remove(&key) else { continue };
        let default = options.insert(key.clone(), given.clone()).unwrap_or_default();
        read::<T>(&options).map_err(|error| unusable(&key, &given, &default, &error))?;
    }
    read(&options).map_err(|error| ParameterError { key: String::new(), problem: error, hint: String::new() })
}

/// Every key of the options `T` with its default.
pub fn defaults_of<T: Default + Serialize>() -> Parameters {
    parameters_of(&T::default())
}

/// Options as they are written in the configuration.
pub(super) fn parameters_of<T: Serialize>(options: &T) -> Parameters {
    match serde_json::to_value(options) {
        Ok(Value::Object(options)) => options,
        _ => Parameters::new(),
    }
}

fn read<T: DeserializeOwned>(options: &Parameters) -> Result<T, String> {
    serde_json::from_value(Value::Object(options.clone())).map_err(|error| error.to_string())
}

/// Says what is wrong with a value in the words of the configuration, not of the code that reads it.
fn unusable(key: &str, given: &Value, default: &Value, error: &str) -> ParameterError {
    let (problem, hint) = match (error.split_once(", expected "), error.split_once(": ")) {
        (Some((_, expected)), _) => {
            (format!("`{key}` cannot be {given}"), format!("write {}, as {default}", in_words(expected)))
        }
        (None, Some((problem, hint))) => (problem.to_owned(), hint.to_owned()),
        (None, None) => (error.to_owned(), format!("the default is {default}")),
    };
    ParameterError { key: key.to_owned(), problem, hint }
}

fn in_words(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "f64" => "a number",
        "a boolean" => "true or false",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parameters(value: Value) -> Parameters {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn options_take_their_keys_and_leave_the_others() {
        let mut given = parameters(json!({"threads": 8, "time": "5s", "max_prime": 20_000}));
        let common: Common = take(&mut given).unwrap();
        assert_eq!(common, Common { threads: 8, time: Span::from_secs(5), ..Common::default() });
        assert_eq!(given, parameters(json!({"max_prime": 20_000})));
    }

    #[test]
    fn an_error_names_its_key_and_says_what_to_write() {
        let error = |value: Value| {
            let error = take::<Common>(&mut parameters(value)).unwrap_err();
            (error.key, error.problem, error.hint)
        };
        let wrong =
            |key: &str, problem: &str, hint: &str| (key.to_owned(), problem.to_owned(), hint.to_owned());
        assert_eq!(
            error(json!({"time": 300})),
            wrong("time", "a duration needs a unit", "write \"300s\" or \"300m\"")
        );
        assert_eq!(
            error(json!({"threads": "many"})),
            wrong("threads", "`threads` cannot be \"many\"", "write a whole number of at least 0, as 1")
        );
        assert_eq!(
            error(json!({"threads": -1})),
            wrong("threads", "`threads` cannot be -1", "write a whole number of at least 0, as 1")
        );
        assert_eq!(
            error(json!({"pace": "jumpy"})),
            wrong("pace", "`pace` cannot be \"jumpy\"", "write `poisson` or `even`, as \"poisson\"")
        );
    }

    #[test]
    fn what_is_left_over_or_out_of_range_is_refused() {
        let problem = |value: Value| {
            let error = Common::take_rest(parameters(value)).unwrap_err();
            (error.key, error.problem)
        };
        assert_eq!(problem(json!({"treads": 2})).0, "treads");
        assert_eq!(problem(json!({"threads": 0})).0, "threads");
        assert_eq!(problem(json!({"rate": -5})).0, "rate");
        assert_eq!(
            problem(json!({"time": "0s"})),
            ("time".to_owned(), "the case would never end".to_owned())
        );
        assert!(Common::take_rest(parameters(json!({"time": "0s", "operations": 7}))).is_ok());
    }

    #[test]
    fn defaults_read_as_a_person_writes_them_and_every_key_is_described() {
        let defaults = defaults_of::<Common>();
        assert_eq!(
            Value::Object(defaults.clone()),
            json!({
                "threads": 1, "time": "1m", "operations": 0, "warm_up": "10s", "rate": 0,
                "pace": "poisson", "seed": 1, "pin": "none", "max_errors": "1%"
            })
        );
        let mut described: Vec<&str> = Common::KEYS.iter().map(|key| key.name).collect();
        described.sort_unstable();
        assert_eq!(described, defaults.keys().collect::<Vec<_>>());
    }

    #[test]
    fn a_rate_makes_the_loop_open() {
        let plan = |rate| Common { rate, ..Common::default() }.plan();
        assert_eq!(plan(0.0).pace, Pace::FlatOut);
        let rate = Rate::new(200.0).unwrap();
        assert_eq!(plan(200.0).pace, Pace::Open { rate, arrivals: Arrivals::Poisson });
    }
}
