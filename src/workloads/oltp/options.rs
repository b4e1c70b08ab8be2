//! The options of the oltp workloads beside those of the tables: groups of keys, of which each workload has some.

use super::keys::{
    BRACKET_KEYS, Bracket, INDEX_UPDATE_KEYS, IndexUpdates, NON_INDEX_UPDATE_KEYS, NonIndexUpdates,
    ONLY_KEYS, Only, POINT_KEYS, PREWARM_KEYS, PROTOCOL_KEYS, Points, Prewarming, RANGE_KEYS, READ_KEYS,
    RECONNECT_KEYS, RETRY_KEYS, Ranges, Reads, Reconnecting, Retrying, Sending, WRITE_KEYS, Writes,
    at_least_one,
};
use super::options_04::{Modes, PointOptions};
use crate::config::ParameterError;
use crate::record::Parameters;
use crate::workloads::sql::ids::{ID_KEYS, IdOptions};
use crate::workloads::sql::schema::{TABLE_KEYS, Tables};
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
    /// What they mean.
    pub(super) keys: &'static [Key],
    /// Each with its default.
    pub(super) defaults: fn() -> Parameters,
    /// Moves the values of its keys from the parameters into the options.
    pub(super) take: fn(&mut Parameters, &mut Options) -> Result<(), ParameterError>,
}

pub(super) const TABLES: Section = Section {
    keys: TABLE_KEYS,
    defaults: defaults_of::<Tables>,
    take: |rest, options| {
        options.tables = take(rest)?;
        options.tables.check()
    },
};

pub(super) const IDS: Section = Section {
    keys: ID_KEYS,
    defaults: defaults_of::<IdOptions>,
    take: |rest, options| {
        options.ids = take(rest)?;
        options.ids.check()
    },
};

pub(super) const READS: Section = Section {
    keys: READ_KEYS,
    defaults: defaults_of::<Reads>,
    take: |rest, options| {
        options.reads = take(rest)?;
        options.reads.check()
    },
};

pub(super) const WRITES: Section = Section {
    keys: WRITE_KEYS,
    defaults: defaults_of::<Writes>,
    take: |rest, options| take(rest).map(|writes| options.writes = writes),
};

pub(super) const INDEX_UPDATES: Section = Section {
    keys: INDEX_UPDATE_KEYS,
    defaults: defaults_of::<IndexUpdates>,
    take: |rest, options| {
        options.writes.index_updates = take::<IndexUpdates>(rest)?.index_updates;
        Ok(())
    },
};

pub(super) const NON_INDEX_UPDATES: Section = Section {
    keys: NON_INDEX_UPDATE_KEYS,
    defaults: defaults_of::<NonIndexUpdates>,
    take: |rest, options| {
        options.writes.non_index_updates = take::<NonIndexUpdates>(rest)?.non_index_updates;
        Ok(())
    },
};

pub(super) const POINTS: Section = Section {
    keys: POINT_KEYS,
    defaults: defaults_of::<Points>,
    take: |rest, options| {
        options.points = take(rest)?;
        at_least_one("random_points", options.points.random_points, MOST_VALUES)
    },
};

pub(super) const RANGES: Section = Section {
    keys: RANGE_KEYS,
    defaults: defaults_of::<Ranges>,
    take: |rest, options| {
        options.ranges = take(rest)?;
        at_least_one("number_of_ranges", options.ranges.number_of_ranges, MOST_VALUES / 2)
    },
};

pub(super) const BRACKET: Section = Section {
    keys: BRACKET_KEYS,
    defaults: defaults_of::<Bracket>,
    take: |rest, options| take(rest).map(|bracket| options.bracket = bracket),
};

pub(super) const ONLY: Section = Section {
    keys: ONLY_KEYS,
    defaults: defaults_of::<Only>,
    take: |rest, options| {
        options.only = take(rest)?;
        options.only.check()
    },
};

pub(super) const PROTOCOL: Section = Section {
    keys: PROTOCOL_KEYS,
    defaults: defaults_of::<Sending>,
    take: |rest, options| {
        options.protocol = take::<Sending>(rest)?.protocol;
        Ok(())
    },
};

pub(super) const RETRIES: Section = Section {
    keys: RETRY_KEYS,
    defaults: defaults_of::<Retrying>,
    take: |rest, options| {
        options.retries = take::<Retrying>(rest)?.retries;
        Ok(())
    },
};

pub(super) const RECONNECT: Section = Section {
    keys: RECONNECT_KEYS,
    defaults: defaults_of::<Reconnecting>,
    take: |rest, options| {
        options.reconnect_every = take::<Reconnecting>(rest)?.reconnect_every;
        Ok(())
    },
};

pub(super) const PREWARM: Section = Section {
    keys: PREWARM_KEYS,
    defaults: defaults_of::<Prewarming>,
    take: |rest, options| {
        options.prewarm = take::<Prewarming>(rest)?.prewarm;
        Ok(())
    },
};
