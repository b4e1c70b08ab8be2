//! The options of the oltp workloads beside those of the tables, each struct one group of keys.

use serde::{Deserialize, Serialize};

use super::transaction::Group;
use crate::config::ParameterError;
use crate::workloads::Key;
use crate::workloads::sql::schema::refused;
use crate::workloads::sql::session::Protocol;

/// How statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sending {
    /// How values travel.
    pub(super) protocol: Protocol,
    /// How often one operation is tried again.
    pub(super) retries: u32,
}

impl Default for Sending {
    fn default() -> Sending {
        Sending { protocol: Protocol::Prepared, retries: 10 }
    }
}

pub(super) const SENDING_KEYS: &[Key] = &[
    Key {
        name: "protocol",
        meaning: "prepared (values in binary) | text (values written in)",
        peer: "--db-ps-mode",
    },
    Key {
        name: "retries",
        meaning: "times an operation is tried again after a deadlock, lock wait timeout or duplicate key",
        peer: "",
    },
];

/// BEGIN and COMMIT.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bracket {
    /// Send neither.
    pub(super) skip_trx: bool,
}

pub(super) const BRACKET_KEYS: &[Key] =
    &[Key { name: "skip_trx", meaning: "send no BEGIN and COMMIT", peer: "--skip-trx" }];

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
            return Err(refused("range_size", "a range of 0 rows is not possible", "write 1 or more"));
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

pub(super) const WRITE_KEYS: &[Key] = &[
    Key { name: "index_updates", meaning: "UPDATE of column k of one id", peer: "--index-updates" },
    Key { name: "non_index_updates", meaning: "UPDATE of column c of one id", peer: "--non-index-updates" },
    Key {
        name: "delete_inserts",
        meaning: "DELETE of one id and INSERT of the same id",
        peer: "--delete-inserts",
    },
];

impl Group {
    /// How often an operation sends the statements of this group.
    pub(super) fn count(self, reads: &Reads, writes: &Writes) -> u32 {
        let range = |count| if reads.range_selects { count } else { 0 };
        match self {
            Group::PointSelects => reads.point_selects,
            Group::SimpleRanges => range(reads.simple_ranges),
            Group::SumRanges => range(reads.sum_ranges),
            Group::OrderRanges => range(reads.order_ranges),
            Group::DistinctRanges => range(reads.distinct_ranges),
            Group::IndexUpdates => writes.index_updates,
            Group::NonIndexUpdates => writes.non_index_updates,
            Group::DeleteInserts => writes.delete_inserts,
        }
    }
}
