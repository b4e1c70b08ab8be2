//! The workloads that are scripts, each with its keys.

use super::group::{Generation, Group};
use super::keys::{Reads, Writes};
use super::options::{
    BRACKET, IDS, INDEX_UPDATES, NON_INDEX_UPDATES, ONLY, Options, POINTS, PREWARM, PROTOCOL, RANGES, READS,
    RECONNECT, RETRIES, TABLES, WRITES,
};
use super::options_04::{IDS_04, MODES, Mode, Nontrx, POINT_04, TABLE_04};
use super::{Keys, Script, build, defaults};
use crate::config::ParameterError;
use crate::workloads::sql::schema::refused;
use crate::workloads::{Common, Kind, Needs};

const READS_OF_ALL: &[Group] =
    &[Group::PointSelects, Group::SimpleRanges, Group::SumRanges, Group::OrderRanges, Group::DistinctRanges];
const WRITES_OF_ALL: &[Group] = &[Group::IndexUpdates, Group::NonIndexUpdates, Group::DeleteInserts];
const READS_AND_WRITES: &[Group] = &[
    Group::PointSelects,
    Group::SimpleRanges,
    Group::SumRanges,
    Group::OrderRanges,
    Group::DistinctRanges,
    Group::IndexUpdates,
    Group::NonIndexUpdates,
    Group::DeleteInserts,
];

/// These sections of keys, and those of every workload after them.
macro_rules! keys {
    ($($section:ident),+) => {
        Keys { sections: &[$(&$section),+], described: &[$($section.keys,)+ Common::KEYS] }
    };
}

/// A script of 1.0 before its own keys are named.
const V10: Script = Script {
    generation: Generation::V10,
    groups: |_| &[],
    keys: keys![TABLES, IDS, PROTOCOL, RETRIES, RECONNECT, PREWARM],
    settle: |_| Ok(()),
};

const POINT_SELECT_SCRIPT: Script = Script { groups: |_| &[Group::PointSelects], ..V10 };

const READ_ONLY_SCRIPT: Script = Script {
    groups: |_| READS_OF_ALL,
    keys: keys![TABLES, IDS, READS, BRACKET, PROTOCOL, RETRIES, RECONNECT, PREWARM],
    ..V10
};

const WRITE_ONLY_SCRIPT: Script = Script {
    groups: |_| WRITES_OF_ALL,
    keys: keys![TABLES, IDS, WRITES, BRACKET, PROTOCOL, RETRIES, RECONNECT, PREWARM],
    ..V10
};

const READ_WRITE_SCRIPT: Script = Script {
    groups: |_| READS_AND_WRITES,
    keys: keys![TABLES, IDS, READS, WRITES, BRACKET, PROTOCOL, RETRIES, RECONNECT, PREWARM],
    ..V10
};

const UPDATE_INDEX_SCRIPT: Script = Script {
    groups: |_| &[Group::IndexUpdates],
    keys: keys![TABLES, IDS, INDEX_UPDATES, PROTOCOL, RETRIES, RECONNECT, PREWARM],
    ..V10
};

const UPDATE_NON_INDEX_SCRIPT: Script = Script {
    groups: |_| &[Group::NonIndexUpdates],
    keys: keys![TABLES, IDS, NON_INDEX_UPDATES, PROTOCOL, RETRIES, RECONNECT, PREWARM],
    ..V10
};

/// Its one statement is never prepared.
pub(super) const INSERT_SCRIPT: Script =
    Script { groups: |_| &[Group::Inserts], keys: keys![TABLES, IDS, RETRIES, RECONNECT, PREWARM], ..V10 };

const DELETE_SCRIPT: Script = Script { groups: |_| &[Group::Deletes], ..V10 };

const RANDOM_POINTS_SCRIPT: Script = Script {
    groups: |_| &[Group::RandomPoints],
    keys: keys![TABLES, IDS, POINTS, PROTOCOL, RETRIES, RECONNECT, PREWARM],
    settle: one_table,
    ..V10
};

const RANDOM_RANGES_SCRIPT: Script = Script {
    groups: |_| &[Group::RandomRanges],
    keys: keys![TABLES, IDS, RANGES, PROTOCOL, RETRIES, RECONNECT, PREWARM],
    settle: one_table,
    ..V10
};

const SCRIPT_05: Script = Script {
    generation: Generation::V05,
    groups: |_| READS_AND_WRITES,
    keys: keys![TABLES, IDS, READS, WRITES, ONLY, BRACKET, RETRIES, RECONNECT, PREWARM],
    ..V10
};

pub(super) const SCRIPT_04: Script = Script {
    generation: Generation::V04,
    groups: |options| match (options.modes.mode, options.modes.nontrx) {
        (Mode::Complex, _) => READS_AND_WRITES,
        (Mode::Simple, _) => &[Group::PointSelects],
        (Mode::Sp, _) => &[Group::Calls],
        (Mode::Nontrx, Nontrx::Select) => &[Group::PadSelects],
        (Mode::Nontrx, Nontrx::UpdateKey) => &[Group::IndexUpdates],
        (Mode::Nontrx, Nontrx::UpdateNokey) => &[Group::NonIndexUpdates],
        (Mode::Nontrx, Nontrx::Insert) => &[Group::Inserts],
        (Mode::Nontrx, Nontrx::Delete) => &[Group::UniqueDeletes],
    },
    keys: keys![MODES, TABLE_04, IDS_04, READS, WRITES, ONLY, BRACKET, POINT_04, PROTOCOL, RETRIES],
    settle: one_statement_in_other_modes,
};

/// All modes of 0.4 but one send one statement, whatever the keys of transactions say.
fn one_statement_in_other_modes(options: &mut Options) -> Result<(), ParameterError> {
    if options.modes.mode != Mode::Complex {
        options.bracket.skip_trx = true;
        (options.reads, options.writes) = (Reads::ONE_POINT, Writes::default());
    }
    Ok(())
}

fn one_table(options: &mut Options) -> Result<(), ParameterError> {
    match options.tables.tables {
        1 => Ok(()),
        tables => {
            let problem = format!("only table sbtest1 of {tables} would be read");
            Err(refused("tables", problem, "write 1, or leave the key out"))
        }
    }
}

/// One row by its primary key.
pub(in crate::workloads) const POINT_SELECT: Kind = Kind {
    name: "oltp_point_select",
    about: "one row by its primary key, each statement on its own",
    operation: "transaction",
    revision: 1,
    needs: Needs::Server,
    keys: POINT_SELECT_SCRIPT.keys.described,
    defaults: || defaults(&POINT_SELECT_SCRIPT),
    build: |parameters| build(&POINT_SELECT_SCRIPT, parameters),
};

/// Reads in a transaction.
pub(in crate::workloads) const READ_ONLY: Kind = Kind {
    name: "oltp_read_only",
    about: "transactions of 10 rows by key and 4 ranges, reading only",
    keys: READ_ONLY_SCRIPT.keys.described,
    defaults: || defaults(&READ_ONLY_SCRIPT),
    build: |parameters| build(&READ_ONLY_SCRIPT, parameters),
    ..POINT_SELECT
};

/// Writes in a transaction.
pub(in crate::workloads) const WRITE_ONLY: Kind = Kind {
    name: "oltp_write_only",
    about: "transactions of 2 updates, a delete and an insert",
    keys: WRITE_ONLY_SCRIPT.keys.described,
    defaults: || defaults(&WRITE_ONLY_SCRIPT),
    build: |parameters| build(&WRITE_ONLY_SCRIPT, parameters),
    ..POINT_SELECT
};

/// Reads and writes in a transaction.
pub(in crate::workloads) const READ_WRITE: Kind = Kind {
    name: "oltp_read_write",
    about: "transactions of 14 reads and 4 writes, the mix that sysbench is known for",
    keys: READ_WRITE_SCRIPT.keys.described,
    defaults: || defaults(&READ_WRITE_SCRIPT),
    build: |parameters| build(&READ_WRITE_SCRIPT, parameters),
    ..POINT_SELECT
};

/// Updates of an indexed column.
pub(in crate::workloads) const UPDATE_INDEX: Kind = Kind {
    name: "oltp_update_index",
    about: "an update of an indexed column of one row",
    keys: UPDATE_INDEX_SCRIPT.keys.described,
    defaults: || defaults(&UPDATE_INDEX_SCRIPT),
    build: |parameters| build(&UPDATE_INDEX_SCRIPT, parameters),
    ..POINT_SELECT
};

/// Updates of a column without an index.
pub(in crate::workloads) const UPDATE_NON_INDEX: Kind = Kind {
    name: "oltp_update_non_index",
    about: "an update of a column of one row that has no index",
    keys: UPDATE_NON_INDEX_SCRIPT.keys.described,
    defaults: || defaults(&UPDATE_NON_INDEX_SCRIPT),
    build: |parameters| build(&UPDATE_NON_INDEX_SCRIPT, parameters),
    ..POINT_SELECT
};

/// New rows.
pub(in crate::workloads) const INSERT: Kind = Kind {
    name: "oltp_insert",
    about: "a new row, in tables that grow",
    keys: INSERT_SCRIPT.keys.described,
    defaults: || defaults(&INSERT_SCRIPT),
    build: |parameters| build(&INSERT_SCRIPT, parameters),
    ..POINT_SELECT
};

/// Rows that go.
pub(in crate::workloads) const DELETE: Kind = Kind {
    name: "oltp_delete",
    about: "a row deleted by its primary key, until none is left",
    keys: DELETE_SCRIPT.keys.described,
    defaults: || defaults(&DELETE_SCRIPT),
    build: |parameters| build(&DELETE_SCRIPT, parameters),
    ..POINT_SELECT
};

/// Rows of several values of an indexed column.
pub(in crate::workloads) const RANDOM_POINTS: Kind = Kind {
    name: "select_random_points",
    about: "rows of 10 values of an indexed column",
    keys: RANDOM_POINTS_SCRIPT.keys.described,
    defaults: || defaults(&RANDOM_POINTS_SCRIPT),
    build: |parameters| build(&RANDOM_POINTS_SCRIPT, parameters),
    ..POINT_SELECT
};

/// A count over several ranges of an indexed column.
pub(in crate::workloads) const RANDOM_RANGES: Kind = Kind {
    name: "select_random_ranges",
    about: "how many rows lie in 10 short ranges of an indexed column",
    keys: RANDOM_RANGES_SCRIPT.keys.described,
    defaults: || defaults(&RANDOM_RANGES_SCRIPT),
    build: |parameters| build(&RANDOM_RANGES_SCRIPT, parameters),
    ..POINT_SELECT
};

/// What sysbench 0.5 did.
pub(in crate::workloads) const OLTP_05: Kind = Kind {
    name: "oltp05",
    about: "transactions as sysbench 0.5 sends them: as text, each on one table",
    keys: SCRIPT_05.keys.described,
    defaults: || defaults(&SCRIPT_05),
    build: |parameters| build(&SCRIPT_05, parameters),
    ..POINT_SELECT
};

/// What sysbench 0.4 did.
pub(in crate::workloads) const OLTP_04: Kind = Kind {
    name: "oltp04",
    about: "the test `oltp` of sysbench 0.4: one table of equal rows, in four modes",
    keys: SCRIPT_04.keys.described,
    defaults: || defaults(&SCRIPT_04),
    build: |parameters| build(&SCRIPT_04, parameters),
    ..POINT_SELECT
};
