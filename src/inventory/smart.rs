//! What disks say of their own health (SMART). Only root may ask them, so benchd never does: it reads what somebody
//! leaves in a directory, a file `DISK.json` each as `smartctl --json --all /dev/DISK` prints it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::host::text;

/// Where the answers lie.
const ANSWERS: &str = "/run/benchd-smart";

/// The attribute of ATA disks that counts sectors replaced by spare ones.
const REALLOCATED: u64 = 5;

/// What a disk says of itself; `None` for what it does not say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Health {
    /// Whether its own assessment passed.
    pub passed: Option<bool>,
    /// Percent of the rated endurance that is used.
    pub wear: Option<u64>,
    /// Its temperature.
    pub celsius: Option<i64>,
    /// Sectors that were replaced by spare ones.
    pub reallocated: Option<u64>,
}

/// The health of each disk that tells it, by name.
pub(super) fn health() -> BTreeMap<String, Health> {
    health_of(Path::new(ANSWERS))
}

fn health_of(answers: &Path) -> BTreeMap<String, Health> {
    let Ok(entries) = fs::read_dir(answers) else { return BTreeMap::new() };
    let known = |path: &Path| Some((disk_of(path)?.to_owned(), health_in(path).ok()?));
    entries.flatten().filter_map(|entry| known(&entry.path())).collect()
}

fn disk_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_suffix(".json")
}

/// One fact a disk, `smart_sda`: its health, or why it is not known. One fact `smart` where nobody asks the disks.
pub(super) fn facts() -> BTreeMap<String, String> {
    facts_in(Path::new(ANSWERS))
}

fn facts_in(answers: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(answers) else {
        let why = format!("not available: nobody leaves answers of smartctl in {}", answers.display());
        return BTreeMap::from([("smart".to_owned(), why)]);
    };
    let fact = |path: &Path| {
        Some((
            format!("smart_{}", disk_of(path)?),
            health_in(path).map_or_else(not_available, |health| health.to_string()),
        ))
    };
    entries.flatten().filter_map(|entry| fact(&entry.path())).collect()
}

fn not_available(why: String) -> String {
    format!("not available: {why}")
}

/// The health in a file, or why there is none.
fn health_in(path: &Path) -> Result<Health, String> {
    let answer = text(path).ok_or("the file is empty or cannot be read")?;
    let answer: Value = serde_json::from_str(&answer).map_err(|error| format!("it is no JSON: {error}"))?;
    let health = Health::of(&answer);
    if health != Health::default() {
        return Ok(health);
    }
    let refusal = answer["smartctl"]["messages"][0]["string"].as_str();
    Err(refusal.unwrap_or("the disk or its controller does not tell").to_owned())
}

impl Health {
    fn of(answer: &Value) -> Health {
        let nvme = &answer["nvme_smart_health_information_log"];
        let ata = answer["ata_smart_attributes"]["table"].as_array();
        let reallocated = ata.and_then(|table| table.iter().find(|row| row["id"] == REALLOCATED));
        Health {
            passed: answer["smart_status"]["passed"].as_bool(),
            wear: nvme["percentage_used"].as_u64().or(answer["endurance_used"]["current_percent"].as_u64()),
            celsius: answer["temperature"]["current"].as_i64(),
            reallocated: reallocated.and_then(|row| row["raw"]["value"].as_u64()),
        }
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = self.passed.map(|passed| if passed { "passed" } else { "failed" }.to_owned());
        let told = [
            passed,
            self.wear.map(|percent| format!("{percent} % worn")),
            self.celsius.map(|degrees| format!("{degrees} °C")),
            self.reallocated.map(|sectors| format!("{sectors} reallocated sectors")),
        ];
        f.write_str(&told.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts_of(files: &[(&str, String)]) -> BTreeMap<String, String> {
        let answers = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(answers.path().join(name), text).unwrap();
        }
        facts_in(answers.path())
    }

    #[test]
    fn disks_tell_what_they_know_in_the_ways_of_their_kinds() {
        let ata = json!({
            "smart_status": {"passed": true}, "temperature": {"current": 31}, "endurance_used": {"current_percent": 4},
            "ata_smart_attributes": {"table": [
                {"id": 1, "raw": {"value": 99}}, {"id": 5, "raw": {"value": 0}}
            ]}
        });
        let nvme = json!({
            "smart_status": {"passed": false}, "temperature": {"current": 52},
            "nvme_smart_health_information_log": {"percentage_used": 103}
        });
        let facts = facts_of(&[("sda.json", ata.to_string()), ("nvme0n1.json", nvme.to_string())]);
        assert_eq!(facts["smart_sda"], "passed, 4 % worn, 31 °C, 0 reallocated sectors");
        assert_eq!(facts["smart_nvme0n1"], "failed, 103 % worn, 52 °C");
    }

    #[test]
    fn the_numbers_of_those_that_tell_are_known_by_disk() {
        let answers = tempfile::tempdir().unwrap();
        let tells = json!({"smart_status": {"passed": true}, "temperature": {"current": 31}}).to_string();
        for (name, text) in [("sda.json", tells.as_str()), ("sdb.json", "{}"), ("notes.txt", "{}")] {
            fs::write(answers.path().join(name), text).unwrap();
        }
        let sda = Health { passed: Some(true), celsius: Some(31), ..Health::default() };
        assert_eq!(health_of(answers.path()), BTreeMap::from([("sda".to_owned(), sda)]));
        assert!(health_of(Path::new("/nonexistent")).is_empty());
    }

    #[test]
    fn what_is_not_known_says_why_and_is_never_a_zero() {
        let refused = json!({"smartctl": {"exit_status": 2, "messages": [
            {"string": "Smartctl open device: /dev/sdb failed: Permission denied", "severity": "error"}
        ]}});
        let facts = facts_of(&[
            ("sdb.json", refused.to_string()),
            ("sdc.json", "{\"smart_support\": {\"available\": false}}".to_owned()),
            ("sdd.json", "smartctl: not found".to_owned()),
            ("sde.json", String::new()),
            ("README", "not an answer".to_owned()),
        ]);
        assert_eq!(facts.len(), 4, "{facts:?}");
        for (disk, why) in [
            ("smart_sdb", "not available: Smartctl open device: /dev/sdb failed: Permission denied"),
            ("smart_sdc", "not available: the disk or its controller does not tell"),
            ("smart_sde", "not available: the file is empty or cannot be read"),
        ] {
            assert_eq!(facts[disk], why);
        }
        assert!(facts["smart_sdd"].starts_with("not available: it is no JSON: "), "{facts:?}");
        let none = facts_in(Path::new("/nowhere/benchd-smart"));
        assert_eq!(
            none["smart"],
            "not available: nobody leaves answers of smartctl in /nowhere/benchd-smart"
        );
    }
}
