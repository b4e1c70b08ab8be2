//! The tables `[profile.NAME]`: how much of the host the load of a suite may take.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::read::{Read, Section, Wrong, between};
use super::source::Findings;
use super::tree::Node;
use crate::record::Profile;
use crate::units::{Bytes, UnitError};

/// The least urgent of the levels of a class of input and output (ioprio_set(2)).
const LAST_LEVEL: u8 = 7;
/// CPUs that a list may name.
const MOST_CPUS: u32 = 4096;

/// How urgent the input and output of the load is, as ionice(1) names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum IoPriority {
    /// Follows from the nice value.
    None,
    /// One of eight levels, 0 the most urgent.
    BestEffort(u8),
    /// Only when nobody else wants the disk.
    Idle,
}

impl fmt::Display for IoPriority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IoPriority::None => f.write_str("none"),
            IoPriority::BestEffort(level) => write!(f, "best-effort:{level}"),
            IoPriority::Idle => f.write_str("idle"),
        }
    }
}

impl FromStr for IoPriority {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<IoPriority, UnitError> {
        let level = text.strip_prefix("best-effort:").and_then(|level| level.parse().ok());
        match (text, level) {
            ("none", _) => Ok(IoPriority::None),
            ("idle", _) => Ok(IoPriority::Idle),
            (_, Some(level @ 0..=LAST_LEVEL)) => Ok(IoPriority::BestEffort(level)),
            _ => Err(UnitError {
                problem: format!("\"{text}\" is not a priority of input and output"),
                hint: "write \"none\", \"idle\", or \"best-effort:0\" to \"best-effort:7\"".to_owned(),
            }),
        }
    }
}

/// CPUs by number, written `0-3,8`; none means all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cpus(Vec<u32>);

impl Cpus {
    /// Their numbers, in order.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join(","))
    }
}

impl FromStr for Cpus {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Cpus, UnitError> {
        let wrong = || UnitError {
            problem: format!("\"{text}\" is not a list of CPUs"),
            hint: "write \"0-3\" or \"0,2,8-11\"; \"\" is all of them".to_owned(),
        };
        let mut numbers = Vec::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.parse().ok().filter(|number| *number < MOST_CPUS);
            let (first, last): (u32, u32) =
                number(first).zip(number(last)).filter(|(first, last)| first <= last).ok_or_else(wrong)?;
            numbers.extend(first..=last);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Cpus(numbers))
    }
}

macro_rules! as_text {
    ($($name:ty),+) => {$(
        impl From<$name> for String {
            fn from(value: $name) -> String {
                value.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<$name, String> {
                text.parse().map_err(|error: UnitError| error.problem)
            }
        }

        impl Read for $name {
            fn read(node: &Node, found: &mut Findings) -> Option<$name> {
                match String::read(node, found)?.parse::<$name>() {
                    Ok(value) => Some(value),
                    Err(error) => {
                        found.mistakes.push(node.mistake(error.problem, error.hint));
                        None
                    }
                }
            }
        }
    )+};
}

as_text!(IoPriority, Cpus);

/// How much of the host the load of a profile may take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Nice value of the load, and of the scratch servers started for it.
    pub nice: u32,
    /// The same for input and output.
    pub io_priority: IoPriority,
    /// Weight of all runs for CPU time, beside services that have 100.
    pub cpu_weight: u32,
    /// The same for input and output.
    pub io_weight: u32,
    /// Most memory of the load beside what it fills by order; scratch servers have their own.
    pub memory_max: Bytes,
    /// CPUs the load may use, and the scratch servers started for it.
    pub cpus: Cpus,
    /// How much sooner than others the kernel ends the load when memory runs out.
    pub oom_score_adj: u32,
}

impl Limits {
    /// The defaults of a profile: those of live servers stand back behind everyone.
    pub fn of(profile: Profile) -> Limits {
        let (nice, io_priority, weight, mib) = match profile {
            Profile::Canary => (10, IoPriority::BestEffort(LAST_LEVEL), 20, 1024),
            Profile::Maintenance => (0, IoPriority::None, 100, 2048),
            Profile::Lab => (0, IoPriority::None, 100, 4096),
        };
        Limits {
            nice,
            io_priority,
            cpu_weight: weight,
            io_weight: weight,
            memory_max: Bytes::from_mib(mib),
            cpus: Cpus::default(),
            oom_score_adj: 1000,
        }
    }

    fn read(profile: Profile, node: &Node, found: &mut Findings) -> Limits {
        let mut limits = Limits::of(profile);
        let Some(mut section) = Section::of(node, found) else { return limits };
        section.check("nice", &mut limits.nice, between(0, 19));
        section.set("io_priority", &mut limits.io_priority);
        section.check("cpu_weight", &mut limits.cpu_weight, between(1, 10_000));
        section.check("io_weight", &mut limits.io_weight, between(1, 10_000));
        section.check("memory_max", &mut limits.memory_max, possible_memory());
        section.set("cpus", &mut limits.cpus);
        section.check("oom_score_adj", &mut limits.oom_score_adj, between(0, 1000));
        section.end();
        limits
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::of(Profile::Canary)
    }
}

/// Accepts a limit of memory with which a load or a server can start.
pub(super) fn possible_memory() -> impl FnOnce(&Bytes) -> Result<(), Wrong> {
    between(Bytes::from_mib(64), Bytes::new(1 << 50))
}

/// The limits of every profile.
pub type Profiles = BTreeMap<Profile, Limits>;

/// The limits of every profile where nothing is written.
pub(super) fn default_profiles() -> Profiles {
    Profile::ALL.iter().map(|profile| (*profile, Limits::of(*profile))).collect()
}

/// Reads the tables `[profile.NAME]`.
pub(super) fn read_profiles(node: &Node, found: &mut Findings) -> Profiles {
    let mut profiles = default_profiles();
    let Some(mut section) = Section::of(node, found) else { return profiles };
    for (profile, limits) in &mut profiles {
        if let Some(node) = section.get(profile.as_str()) {
            *limits = Limits::read(*profile, node, section.found);
        }
    }
    section.end();
    profiles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_numbers_and_ranges() {
        for (text, numbers) in [("", vec![]), ("3", vec![3]), ("0-2,8,1", vec![0, 1, 2, 8])] {
            assert_eq!(text.parse::<Cpus>().unwrap().numbers(), numbers, "{text}");
        }
        for text in ["a", "1-", "3-1", "0,,1", "-1", "0-99999"] {
            assert!(text.parse::<Cpus>().is_err(), "{text}");
        }
    }

    #[test]
    fn limits_travel_whole() {
        for profile in Profile::ALL {
            let limits = Limits { cpus: "0,2-3".parse().unwrap(), ..Limits::of(*profile) };
            let text = serde_json::to_string(&limits).unwrap();
            assert_eq!(serde_json::from_str::<Limits>(&text).unwrap(), limits);
        }
    }

    #[test]
    fn a_level_beyond_the_last_is_no_priority() {
        assert_eq!("best-effort:7".parse(), Ok(IoPriority::BestEffort(7)));
        for text in ["best-effort:8", "best-effort", "realtime:0", ""] {
            assert!(text.parse::<IoPriority>().is_err(), "{text}");
        }
    }
}
