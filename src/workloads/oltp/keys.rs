//! Groups of keys of the oltp workloads: what each says, with its default.

use serde::{Deserialize, Serialize};

use crate::config::ParameterError;
use crate::workloads::Key;
use crate::workloads::sql::schema::refused;
use crate::workloads::sql::session::Protocol;

pub(super) fn at_least_one(key: &str, value: u32, most: u32) -> Result<(), ParameterError> {
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
    pub(super) fn check(self) -> Result<(), ParameterError> {
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

    pub(super) fn check(&self) -> Result<(), ParameterError> {
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
