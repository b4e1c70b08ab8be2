//! The kinds of load: what each does in one operation, its options, and the table of all of them.
//!
//! A new workload is a file of its own and a line in [`ALL`].

mod books;
mod cpu;
mod fileio;
mod memory;
mod mutex;
mod oltp;
mod options;
mod sql;
mod threads;

use crate::config::{Catalogue, ParameterError};
use crate::driver::{DriveError, Observed, Plan, Stop};
use crate::record::{CaseResult, Parameters};
use crate::target::{Prepared, Way};
use crate::units::Bytes;

pub use crate::config::Needs;
pub use options::{Common, defaults_of, take};

/// Why a load ended that found the disk filling up: the word in its record.
pub const NO_SPACE: &str = "no_space";

/// Every workload, in the order they are listed to people.
pub const ALL: &[&Kind] = &[
    &cpu::KIND,
    &memory::KIND,
    &fileio::KIND,
    &threads::KIND,
    &mutex::KIND,
    &oltp::POINT_SELECT,
    &oltp::READ_ONLY,
    &oltp::WRITE_ONLY,
    &oltp::READ_WRITE,
    &oltp::UPDATE_INDEX,
    &oltp::UPDATE_NON_INDEX,
    &oltp::INSERT,
    &oltp::DELETE,
    &oltp::RANDOM_POINTS,
    &oltp::RANDOM_RANGES,
    &oltp::BULK_INSERT,
    &oltp::OLTP_05,
    &oltp::OLTP_04,
];

/// The static description of a workload.
pub struct Kind {
    /// Its name in the configuration, in records and in metrics.
    pub name: &'static str,
    /// What it measures, in one sentence.
    pub about: &'static str,
    /// What one operation is: `event`, `transaction`.
    pub operation: &'static str,
    /// Version of the algorithm; results of different revisions are never compared.
    pub revision: u32,
    /// What it loads.
    pub needs: Needs,
    /// Its keys in groups, the workload's own first.
    pub keys: &'static [&'static [Key]],
    /// Every key with its default.
    pub defaults: fn() -> Parameters,
    /// Makes the workload of one case from its parameters.
    pub build: fn(&Parameters) -> Result<Box<dyn Workload>, ParameterError>,
}

/// One key of a workload's configuration.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it means, with its unit and range.
    pub meaning: &'static str,
    /// The option of sysbench 1.0.20 that does the same; empty when there is none.
    pub peer: &'static str,
}

/// A workload with the parameters of one case.
pub trait Workload {
    /// The load to drive.
    fn plan(&self) -> Plan;

    /// Memory that the load takes beside what the driver needs for each client.
    fn memory(&self) -> Bytes {
        Bytes::new(0)
    }

    /// What decides the rows of the tables that it keeps on a server, as text: cases with equal ones share the tables.
    fn data_set(&self) -> Option<String> {
        None
    }

    /// Makes ready what the load needs; `progress` is told units done, units in all, and what is counted.
    ///
    /// # Errors
    /// What could not be made ready, where, and what to do about it.
    fn prepare(
        &self,
        _at: Option<&mut Prepared>,
        _stop: &Stop,
        _progress: &mut dyn FnMut(u64, u64, &'static str),
    ) -> anyhow::Result<()> {
        Ok(())
    }

    /// Drives the load and measures it; `observe` is told of every interval, of the warm-up too.
    ///
    /// # Errors
    /// See [`DriveError`].
    fn measure(
        &self,
        way: Option<&Way>,
        stop: &Stop,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<CaseResult, DriveError>;
}

/// The workload of that name.
pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.iter().copied().find(|kind| kind.name == name)
}

/// The data set of a case: [`Workload::data_set`]; `None` for one that cannot be built, too.
pub fn data_set(workload: &str, parameters: &Parameters) -> Option<String> {
    (find(workload)?.build)(parameters).ok()?.data_set()
}

/// All workloads, for the configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct Workloads;

impl Catalogue for Workloads {
    fn workloads(&self) -> Vec<&'static str> {
        ALL.iter().map(|kind| kind.name).collect()
    }

    fn defaults(&self, workload: &str) -> Option<Parameters> {
        find(workload).map(|kind| (kind.defaults)())
    }

    fn needs(&self, workload: &str) -> Needs {
        find(workload).map_or(Needs::Nothing, |kind| kind.needs)
    }

    fn check(&self, workload: &str, parameters: &Parameters) -> Result<(), ParameterError> {
        let kind = find(workload).ok_or_else(|| ParameterError {
            key: "workload".to_owned(),
            problem: format!("there is no workload `{workload}`"),
            hint: format!("workloads are {}", self.workloads().join(", ")),
        })?;
        (kind.build)(parameters).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_unique_and_fit_for_a_label() {
        let names: BTreeSet<&str> = ALL.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), ALL.len());
        let fits = |name: &&str| {
            name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        };
        assert!(names.iter().all(fits), "{names:?}");
    }

    #[test]
    fn every_key_is_described_and_has_a_default_and_nothing_else_has() {
        for kind in ALL {
            let described: Vec<&str> = kind.keys.iter().copied().flatten().map(|key| key.name).collect();
            let unique: BTreeSet<&str> = described.iter().copied().collect();
            assert_eq!(unique.len(), described.len(), "{}", kind.name);
            let defaults = (kind.defaults)();
            assert_eq!(unique, defaults.keys().map(String::as_str).collect(), "{}", kind.name);
        }
    }

    #[test]
    fn every_workload_can_be_built_of_its_defaults() {
        for kind in ALL {
            let defaults = (kind.defaults)();
            let workload = (kind.build)(&defaults).map_err(|error| error.to_string()).unwrap();
            let span = |key: &str| defaults[key].as_str().unwrap().parse().unwrap();
            let common = Plan { time: span("time"), warm_up: span("warm_up"), ..Common::default().plan() };
            assert_eq!(Plan { operations_each: 0, ..workload.plan() }, common, "{}", kind.name);
        }
    }

    #[test]
    fn every_workload_refuses_values_that_its_common_keys_cannot_have() {
        for kind in ALL {
            for (key, value) in [
                ("threads", json!(0)),
                ("threads", json!(10_001)),
                ("threads", json!("many")),
                ("time", json!(5)),
                ("time", json!("5")),
                ("operations", json!(-1)),
                ("warm_up", json!("-1s")),
                ("rate", json!(-1)),
                ("rate", json!("fast")),
                ("pace", json!("jumpy")),
                ("seed", json!(-1)),
                ("pin", json!("socket")),
                ("max_errors", json!("101%")),
                ("max_errors", json!(1)),
                ("speed", json!(1)),
            ] {
                let mut parameters = (kind.defaults)();
                parameters.insert(key.to_owned(), value.clone());
                let refused = (kind.build)(&parameters).err().map(|error| error.key);
                assert_eq!(refused.as_deref(), Some(key), "{} {key} = {value}", kind.name);
            }
        }
    }

    #[test]
    fn the_catalogue_refuses_what_it_does_not_know() {
        let check = |workload, parameters: serde_json::Value| {
            Workloads.check(workload, parameters.as_object().unwrap()).map_err(|error| error.key)
        };
        assert_eq!(check("cpu", json!({"threads": 4})), Ok(()));
        assert_eq!(check("cpu", json!({"tables": 4})), Err("tables".to_owned()));
        assert_eq!(check("gpu", json!({})), Err("workload".to_owned()));
        assert_eq!(Workloads.defaults("gpu"), None);
        assert_eq!(Workloads.needs("cpu"), Needs::Nothing);
    }
}
