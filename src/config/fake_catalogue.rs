//! A fake catalogue with the names of real workloads and few keys: the configuration is tested without them.

use serde_json::{Value, json};

use super::{Catalogue, Needs, ParameterError};
use crate::record::Parameters;

/// Workloads that are names, keys and simple rules.
pub(super) struct FakeCatalogue;

impl Catalogue for FakeCatalogue {
    fn workloads(&self) -> Vec<&'static str> {
        vec!["cpu", "fileio", "memory", "threads", "oltp_point_select", "oltp_read_write"]
    }

    fn defaults(&self, workload: &str) -> Option<Parameters> {
        let common = json!({"threads": 1, "time": "60s", "warm_up": "10s", "rate": 0});
        let own = match workload {
            "cpu" => json!({"max_prime": 10000}),
            "memory" => json!({"mode": "compatible", "operation": "write", "size": "auto"}),
            "threads" => json!({"locks": 8}),
            "fileio" => json!({"preset": "", "total": "2GiB", "flags": []}),
            "oltp_point_select" | "oltp_read_write" => {
                json!({"tables": 1, "engine": "innodb", "skip_trx": false, "create_options": ""})
            }
            _ => return None,
        };
        let maps = [common, own].into_iter().filter_map(|value| value.as_object().cloned());
        Some(maps.flatten().collect())
    }

    fn needs(&self, workload: &str) -> Needs {
        match workload {
            "fileio" => Needs::Directory,
            "cpu" | "memory" | "threads" => Needs::Nothing,
            _ => Needs::Server,
        }
    }

    /// Each value has the type of its default, and numbers are not negative.
    fn check(&self, workload: &str, parameters: &Parameters) -> Result<(), ParameterError> {
        let defaults = self.defaults(workload).unwrap_or_default();
        for (key, value) in parameters {
            let same_type = match defaults.get(key) {
                Some(Value::String(_)) => value.is_string(),
                Some(Value::Bool(_)) => value.is_boolean(),
                Some(Value::Array(_)) => value.is_array() || value.is_string(),
                _ => value.as_f64().is_some_and(|number| number >= 0.0),
            };
            if !same_type {
                let problem = format!("{key} cannot be {value}");
                return Err(ParameterError { key: key.clone(), problem, hint: "write another".to_owned() });
            }
        }
        Ok(())
    }
}
