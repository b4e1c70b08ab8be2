//! `scale`: the one knob that makes a suite smaller or larger. It multiplies rows, operations, sizes of files and times,
//! never threads, sizes of blocks or rates.

use std::collections::BTreeMap;

use serde_json::Value;

use super::benchmark::Case;
use super::catalogue::{Catalogue, ParameterError};
use super::read::{Read, Wrong, wrong};
use super::source::Findings;
use super::suite::Suite;
use super::target::ScratchTarget;
use super::tree::{self, Node};
use crate::record::Parameters;
use crate::units::{Bytes, Span};

/// Numbers of rows and operations.
const NUMBERS: [&str; 5] = ["table_size", "operations", "rows", "statements_total", "statements_per_client"];
/// Lengths of time.
const TIMES: [&str; 3] = ["time", "warm_up", "ramp"];
/// Sizes of files.
const SIZES: [&str; 1] = ["total"];
/// No time is scaled below this: less says nothing.
const SHORTEST: Span = Span::from_secs(1);
/// No size of files is scaled below this.
const SMALLEST: u64 = 1 << 20;
/// No option of a server is scaled below this: servers do not start with less, or take this in its place.
const SMALLEST_OPTION: u64 = 8 << 20;
/// The option that decides how much memory a server takes.
const BUFFER_POOL: &str = "innodb_buffer_pool_size";
/// What servers take for it by themselves.
const SERVERS_OWN_POOL: u64 = 128 << 20;
/// What a server has beside it: connections, dictionaries, statistics, files that it reads.
const BESIDE_POOL: u64 = 1 << 30;
/// Factors that make sense.
const FACTORS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// A factor of the file.
pub(super) struct Factor(pub(super) f64);

impl Read for Factor {
    fn read(node: &Node, found: &mut Findings) -> Option<Factor> {
        let number = match &node.value {
            tree::Value::Scalar(Value::Number(number)) => number.as_f64(),
            _ => None,
        };
        match number.map(|number| (number, check(number))) {
            Some((number, Ok(()))) => return Some(Factor(number)),
            Some((_, Err(wrong))) => found.mistakes.push(node.mistake(wrong.problem, wrong.hint)),
            None => found
                .mistakes
                .push(node.mistake("`scale` takes a number", "write 1.0, or 0.01 for a hundredth")),
        }
        None
    }
}

fn check(factor: f64) -> Result<(), Wrong> {
    if FACTORS.contains(&factor) {
        return Ok(());
    }
    Err(wrong(format!("a scale of {factor} is not possible"), "write a number from 0.000001 to 1000000"))
}

impl Suite {
    /// The suite with another scale or another number of rounds; its cases are checked at that scale.
    ///
    /// # Errors
    /// Which number cannot be, or which key of which case cannot be scaled so.
    pub fn resized(
        &self,
        scale: Option<f64>,
        rounds: Option<u32>,
        catalogue: &dyn Catalogue,
    ) -> Result<Suite, ParameterError> {
        let resized = Suite {
            scale: scale.unwrap_or(self.scale),
            rounds: rounds.unwrap_or(self.rounds),
            ..self.clone()
        };
        let refuse = |key: &str, wrong: Wrong| ParameterError {
            key: key.to_owned(),
            problem: wrong.problem,
            hint: wrong.hint,
        };
        check(resized.scale).map_err(|wrong| refuse("scale", wrong))?;
        if !(1..=1000).contains(&resized.rounds) {
            let problem = format!("{} rounds are not possible", resized.rounds);
            return Err(refuse("rounds", wrong(problem, "write a number from 1 to 1000")));
        }
        for case in resized.cases.iter().filter(|_| scale.is_some()) {
            catalogue.check(&case.workload, &case.scaled(resized.scale).parameters).map_err(|error| {
                ParameterError {
                    problem: format!("{} at scale {}: {}", case.name, resized.scale, error.problem),
                    ..error
                }
            })?;
        }
        Ok(resized)
    }
}

impl Case {
    /// The case with its rows, operations, file sizes and times multiplied.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Case {
        Case { parameters: scaled(&self.parameters, factor), ..self.clone() }
    }
}

fn scaled(parameters: &Parameters, factor: f64) -> Parameters {
    let mut parameters = parameters.clone();
    if factor == 1.0 {
        return parameters;
    }
    for (key, value) in &mut parameters {
        let new = match key.as_str() {
            key if NUMBERS.contains(&key) => {
                value.as_u64().map(|number| Value::from(multiplied(number, factor, 1)))
            }
            key if TIMES.contains(&key) => {
                text(value).map(|time| Value::from(time_scaled(time, factor).to_string()))
            }
            key if SIZES.contains(&key) => {
                text(value).map(|size| Value::from(size_scaled(size, factor).to_string()))
            }
            _ => None,
        };
        if let Some(new) = new {
            *value = new;
        }
    }
    parameters
}

fn text<T: std::str::FromStr>(value: &Value) -> Option<T> {
    value.as_str()?.parse().ok()
}

/// A number multiplied; not below `least` unless it was before. 0 means none, and stays.
fn multiplied(number: u64, factor: f64, least: u64) -> u64 {
    let product = (number as f64 * factor).round() as u64;
    product.max(least.min(number))
}

/// Whole MiB, so that files and blocks divide it.
fn size_scaled(size: Bytes, factor: f64) -> Bytes {
    match multiplied(size.get(), factor, SMALLEST) {
        small if small < SMALLEST => Bytes::new(small),
        large => Bytes::new(large / SMALLEST * SMALLEST),
    }
}

fn time_scaled(time: Span, factor: f64) -> Span {
    time.scaled(factor).max(SHORTEST.min(time))
}

impl ScratchTarget {
    /// The options of the server, those named in `scaled` multiplied.
    pub fn options_at(&self, factor: f64) -> BTreeMap<String, String> {
        let mut options = self.options.clone();
        if factor == 1.0 {
            return options;
        }
        for name in &self.scaled {
            if let Some(value) = options.get_mut(name)
                && let Some(size) = option_size(value)
            {
                *value = multiplied(size, factor, SMALLEST_OPTION).to_string();
            }
        }
        options
    }

    /// The memory that its server may have: that of the target, or enough for what its options ask for.
    pub fn memory_at(&self, factor: f64) -> Bytes {
        self.memory_max.unwrap_or_else(|| {
            let is_pool = |name: &str| {
                let name = name.to_ascii_lowercase().replace('-', "_");
                name.strip_prefix("loose_").unwrap_or(&name) == BUFFER_POOL
            };
            let options = self.options_at(factor);
            let pool = options.iter().find(|(name, _)| is_pool(name)).and_then(|(_, size)| option_size(size));
            Bytes::new(pool.unwrap_or(SERVERS_OWN_POOL).saturating_add(BESIDE_POOL))
        })
    }
}

/// A size as servers read it: a number, with K, M, G or T for powers of 1024.
pub(super) fn option_size(text: &str) -> Option<u64> {
    let (number, shift) = match text.to_ascii_uppercase().strip_suffix(['K', 'M', 'G', 'T']) {
        None => (text, 0),
        Some(_) => {
            let (number, unit) = text.split_at(text.len() - 1);
            (number, 10 * (1 + "KMGT".find(&unit.to_ascii_uppercase())?))
        }
    };
    number.parse::<u64>().ok()?.checked_shl(u32::try_from(shift).ok()?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(factor: f64, parameters: Value) -> Value {
        scaled(parameters.as_object().unwrap(), factor).into()
    }

    #[test]
    fn amounts_and_times_are_scaled_and_nothing_else() {
        let all = json!({"table_size": 25_000_000, "tables": 16, "threads": 16, "time": "6000s", "warm_up": "2m",
            "operations": 0, "rate": 200, "range_size": 100, "total": "2GiB", "block_size": "16KiB", "seed": 1});
        let small = json!({"table_size": 25_000, "tables": 16, "threads": 16, "time": "6s", "warm_up": "1s",
            "operations": 0, "rate": 200, "range_size": 100, "total": "2MiB", "block_size": "16KiB", "seed": 1});
        assert_eq!(at(0.001, all.clone()), small);
        assert_eq!(at(1.0, all.clone()), all);
    }

    #[test]
    fn nothing_is_scaled_to_nothing_and_nothing_stays_nothing() {
        let tiny = json!({"table_size": 10, "time": "0s", "warm_up": "500ms", "total": "64KiB"});
        assert_eq!(
            at(0.01, tiny),
            json!({"table_size": 1, "time": "0s", "warm_up": "500ms", "total": "64KiB"})
        );
    }

    #[test]
    fn sizes_of_a_servers_options_are_read_as_the_server_reads_them() {
        for (text, size) in [
            ("20G", Some(20 << 30)),
            ("1536M", Some(1536 << 20)),
            ("64k", Some(65_536)),
            ("100", Some(100)),
            ("big", None),
            ("", None),
            ("1.5G", None),
        ] {
            assert_eq!(option_size(text), size, "{text}");
        }
    }

    #[test]
    fn options_named_in_scaled_are_scaled() {
        let options = [("innodb_buffer_pool_size", "20G"), ("redo", "1536M"), ("max_connections", "100")];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let scaled = ["innodb_buffer_pool_size", "redo"].map(str::to_owned).to_vec();
        let target =
            ScratchTarget { options, scaled, ..ScratchTarget::beside(std::path::Path::new("/x/benchd.db")) };
        let small = target.options_at(0.001);
        let found = ["innodb_buffer_pool_size", "redo", "max_connections"].map(|name| small[name].as_str());
        assert_eq!(found, ["21474836", "8388608", "100"]);
        assert_eq!(target.options_at(1.0)["innodb_buffer_pool_size"], "20G");
    }

    #[test]
    fn a_server_has_memory_for_its_buffer_pool_and_a_gib_beside_it() {
        let at = |name: &str, value: &str, factor| {
            let options = [(name.to_owned(), value.to_owned())].into();
            let beside = ScratchTarget::beside(std::path::Path::new("/x/benchd.db"));
            let target = ScratchTarget { options, scaled: vec![name.to_owned()], ..beside };
            let given = ScratchTarget { memory_max: Some(Bytes::from_mib(7)), ..target.clone() };
            assert_eq!(given.memory_at(factor), Bytes::from_mib(7));
            target.memory_at(factor)
        };
        assert_eq!(at("loose-innodb-buffer-pool-size", "20G", 1.0), Bytes::from_mib(21 << 10));
        assert_eq!(at("innodb_buffer_pool_size", "20G", 0.1), Bytes::from_mib(3 << 10));
        assert_eq!(at("max_connections", "20", 1.0), Bytes::from_mib(1152));
    }
}
