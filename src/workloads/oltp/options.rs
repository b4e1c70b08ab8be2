//! The options of the oltp workloads beside those of the tables: groups of keys, of which each workload has some.

use serde::{Deserialize, Serialize};

use super::options_04::{Modes, PointOptions};
use crate::config::ParameterError;
use crate::record::Parameters;
use crate::workloads::sql::ids::IdOptions;
use crate::workloads::sql::schema::{Tables, refused};
use crate::workloads::sql::session::Protocol;
use crate::workloads::{Key, defaults_of, take};

/// The largest statement of `select_random_points` and `select_random_ranges` has so many values.
const MOST_VALUES: u32 = 10_000;

/// What all keys of a workload say; where it has no such keys, what its script does.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) tables: Tables,
    pub(super) ids: IdOptions,
    pub(super) reads: Reads,
    pub(super) writes: Writes,
    pub(super) points: Points,
    pub(super) ranges: Ranges,
    pub(super) bracket: Bracket,
    pub(super) only: Only,
    pub(super) protocol: Protocol,
    pub(super) retries: u32,
    pub(super) reconnect_every: u64,
    pub(super) prewarm: bool,
    pub(super) modes: Modes,
    pub(super) point_04: PointOptions,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tables: Tables::default(),
            ids: IdOptions::default(),
            reads: Reads::ONE_POINT,
            writes: Writes::default(),
            points: Points::default(),
            ranges: Ranges::default(),
            bracket: Bracket { skip_trx: true },
            only: Only::default(),
            protocol: Protocol::Text,
            retries: Retrying::default().retries,
            reconnect_every: 0,
            prewarm: false,
            modes: Modes::default(),
            point_04: PointOptions::default(),
        }
    }
}

/// A group of keys.
#[derive(Debug)]
pub(super) struct Section {
    /// Its keys with their defaults.
    pub(super) defaults: fn() -> Parameters,
    /// Moves the values of its keys from the parameters into the options.
    pub(super) take: fn(&mut Parameters, &mut Options) -> Result<(), ParameterError>,
}

pub(super) const TABLES: Section = Section {
    defaults: defaults_of::<Tables>,
    take: |rest, options| {
        options.tables = take(rest)?;
        options.tables.check()
    },
};

pub(super) const IDS: Section = Section {
    defaults: defaults_of::<IdOptions>,
    take: |rest, options| {
        options.ids = take(rest)?;
        options.ids.check()
    },
};

pub(super) const READS: Section = Section {
    defaults: defaults_of::<Reads>,
    take: |rest, options| {
        options.reads = take(rest)?;
        options.reads.check()
    },
};

pub(super) const WRITES: Section = Section {
    defaults: defaults_of::<Writes>,
    take: |rest, options| take(rest).map(|writes| options.writes = writes),
};

pub(super) const INDEX_UPDATES: Section = Section {
    defaults: defaults_of::<IndexUpdates>,
    take: |rest, options| {
        options.writes.index_updates = take::<IndexUpdates>(rest)?.index_updates;
        Ok(())
    },
};

pub(super) const NON_INDEX_UPDATES: Section = Section {
    defaults: defaults_of::<NonIndexUpdates>,
    take: |rest, options| {
        options.writes.non_index_updates = take::<NonIndexUpdates>(rest)?.non_index_updates;
        Ok(())
    },
};

pub(super) const POINTS: Section = Section {
    defaults: defaults_of::<Points>,
    take: |rest, options| {
        options.points = take(rest)?;
        at_least_one("random_points", options.points.random_points, MOST_VALUES)
    },
};

pub(super) const RANGES: Section = Section {
    defaults: defaults_of::<Ranges>,
    take: |rest, options| {
        options.ranges = take(rest)?;
        at_least_one("number_of_ranges", options.ranges.number_of_ranges, MOST_VALUES / 2)
    },
};

pub(super) const BRACKET: Section = Section {
    defaults: defaults_of::<Bracket>,
    take: |rest, options| take(rest).map(|bracket| options.bracket = bracket),
};

pub(super) const ONLY: Section = Section {
    defaults: defaults_of::<Only>,
    take: |rest, options| {
        options.only = take(rest)?;
        options.only.check()
    },
};

pub(super) const PROTOCOL: Section = Section {
    defaults: defaults_of::<Sending>,
    take: |rest, options| {
        options.protocol = take::<Sending>(rest)?.protocol;
        Ok(())
    },
};

pub(super) const RETRIES: Section = Section {
    defaults: defaults_of::<Retrying>,
    take: |rest, options| {
        options.retries = take::<Retrying>(rest)?.retries;
        Ok(())
    },
};

pub(super) const RECONNECT: Section = Section {
    defaults: defaults_of::<Reconnecting>,
    take: |rest, options| {
        options.reconnect_every = take::<Reconnecting>(rest)?.reconnect_every;
        Ok(())
    },
};

pub(super) const PREWARM: Section = Section {
    defaults: defaults_of::<Prewarming>,
    take: |rest, options| {
        options.prewarm = take::<Prewarming>(rest)?.prewarm;
        Ok(())
    },
};

fn at_least_one(key: &str, value: u32, most: u32) -> Result<(), ParameterError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(refused(key, format!("`{key}` cannot be {value}"), format!("write 1 to {most}")))
}

/// How statements are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sending {
    /// How values travel.
    pub(super) protocol: Protocol,
}

pub(super) const PROTOCOL_KEYS: &[Key] = &[Key {
    name: "protocol",
    meaning: "prepared (values in binary) | text (values written in)",
    peer: "--db-ps-mode",
}];

/// What comes after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Retrying {
    /// How often one operation is tried again.
    pub(super) retries: u32,
}

impl Default for Retrying {
    fn default() -> Retrying {
        Retrying { retries: 10 }
    }
}

pub(super) const RETRY_KEYS: &[Key] = &[Key {
    name: "retries",
    meaning: "times an operation is tried again after a deadlock, lock wait timeout or duplicate key",
    peer: "",
}];

/// How long a connection stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reconnecting {
    /// Operations of a client until it connects anew; 0 is never.
    pub(super) reconnect_every: u64,
}

pub(super) const RECONNECT_KEYS: &[Key] = &[Key {
    name: "reconnect_every",
    meaning: "operations after which a client connects anew; 0 = never",
    peer: "--reconnect",
}];

/// What is done before the warm-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prewarming {
    /// Read every table once.
    pub(super) prewarm: bool,
}

pub(super) const PREWARM_KEYS: &[Key] =
    &[Key { name: "prewarm", meaning: "read every table once before the warm-up", peer: "prewarm" }];

/// BEGIN and COMMIT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bracket {
    /// Send neither.
    pub(super) skip_trx: bool,
}

pub(super) const BRACKET_KEYS: &[Key] =
    &[Key { name: "skip_trx", meaning: "send no BEGIN and COMMIT", peer: "--skip-trx" }];

/// Half of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Only {
    pub(super) read_only: bool,
    pub(super) write_only: bool,
}

impl Only {
    fn check(self) -> Result<(), ParameterError> {
        if self.read_only && self.write_only {
            let problem = "with read_only and write_only an operation has no statement".to_owned();
            return Err(refused("write_only", problem, "leave one of them false"));
        }
        Ok(())
    }
}

pub(super) const ONLY_KEYS: &[Key] = &[
    Key { name: "read_only", meaning: "send only the statements that read", peer: "--oltp-read-only" },
    Key { name: "write_only", meaning: "send only the statements that write", peer: "--oltp-write-only" },
];

/// The statements that read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reads {
    /// Rows that a range names.
    pub(super) range_size: u32,
    /// Send the four kinds of ranges at all.
    pub(super) range_selects: bool,
    pub(super) point_selects: u32,
    pub(super) simple_ranges: u32,
    pub(super) sum_ranges: u32,
    pub(super) order_ranges: u32,
    pub(super) distinct_ranges: u32,
}

impl Default for Reads {
    fn default() -> Reads {
        Reads {
            range_size: 100,
            range_selects: true,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
        }
    }
}

impl Reads {
    /// One point select and no more.
    pub(super) const ONE_POINT: Reads = Reads {
        range_size: 1,
        range_selects: false,
        point_selects: 1,
        simple_ranges: 0,
        sum_ranges: 0,
        order_ranges: 0,
        distinct_ranges: 0,
    };

    fn check(&self) -> Result<(), ParameterError> {
        if self.range_size == 0 {
            let problem = "a range of 0 rows is not possible".to_owned();
            return Err(refused("range_size", problem, "write 1 or more"));
        }
        Ok(())
    }
}

pub(super) const READ_KEYS: &[Key] = &[
    Key { name: "range_size", meaning: "ids that a range names", peer: "--range-size" },
    Key { name: "range_selects", meaning: "send the four kinds of ranges", peer: "--range-selects" },
    Key { name: "point_selects", meaning: "SELECT c of one id", peer: "--point-selects" },
    Key { name: "simple_ranges", meaning: "SELECT c of a range", peer: "--simple-ranges" },
    Key { name: "sum_ranges", meaning: "SELECT SUM(k) of a range", peer: "--sum-ranges" },
    Key { name: "order_ranges", meaning: "SELECT c of a range, ordered", peer: "--order-ranges" },
    Key {
        name: "distinct_ranges",
        meaning: "SELECT DISTINCT c of a range, ordered",
        peer: "--distinct-ranges",
    },
];

/// The statements that write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Writes {
    pub(super) index_updates: u32,
    pub(super) non_index_updates: u32,
    pub(super) delete_inserts: u32,
}

impl Default for Writes {
    fn default() -> Writes {
        Writes { index_updates: 1, non_index_updates: 1, delete_inserts: 1 }
    }
}

const INDEX_UPDATES_KEY: Key =
    Key { name: "index_updates", meaning: "UPDATE of column k of one id", peer: "--index-updates" };
const NON_INDEX_UPDATES_KEY: Key =
    Key { name: "non_index_updates", meaning: "UPDATE of column c of one id", peer: "--non-index-updates" };

pub(super) const WRITE_KEYS: &[Key] = &[
    INDEX_UPDATES_KEY,
    NON_INDEX_UPDATES_KEY,
    Key {
        name: "delete_inserts",
        meaning: "DELETE of one id and INSERT of the same id",
        peer: "--delete-inserts",
    },
];

/// The statements of `oltp_update_index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct IndexUpdates {
    pub(super) index_updates: u32,
}

impl Default for IndexUpdates {
    fn default() -> IndexUpdates {
        IndexUpdates { index_updates: Writes::default().index_updates }
    }
}

pub(super) const INDEX_UPDATE_KEYS: &[Key] = &[INDEX_UPDATES_KEY];

/// The statements of `oltp_update_non_index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NonIndexUpdates {
    pub(super) non_index_updates: u32,
}

impl Default for NonIndexUpdates {
    fn default() -> NonIndexUpdates {
        NonIndexUpdates { non_index_updates: Writes::default().non_index_updates }
    }
}

pub(super) const NON_INDEX_UPDATE_KEYS: &[Key] = &[NON_INDEX_UPDATES_KEY];

/// The statement of `select_random_points`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Points {
    /// Values of k that it names.
    pub(super) random_points: u32,
}

impl Default for Points {
    fn default() -> Points {
        Points { random_points: 10 }
    }
}

pub(super) const POINT_KEYS: &[Key] =
    &[Key { name: "random_points", meaning: "values of k that a statement names", peer: "--random-points" }];

/// The statement of `select_random_ranges`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ranges {
    pub(super) number_of_ranges: u32,
    /// From the first to the last value of k of a range.
    pub(super) delta: u32,
}

impl Default for Ranges {
    fn default() -> Ranges {
        Ranges { number_of_ranges: 10, delta: 5 }
    }
}

pub(super) const RANGE_KEYS: &[Key] = &[
    Key {
        name: "number_of_ranges",
        meaning: "ranges of k that a statement names",
        peer: "--number-of-ranges",
    },
    Key { name: "delta", meaning: "from the first to the last value of a range", peer: "--delta" },
];
