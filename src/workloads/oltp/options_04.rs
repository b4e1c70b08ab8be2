//! The options of the test `oltp` of sysbench 0.4 that later generations do not have.

use serde::{Deserialize, Serialize};

use super::options::{Options, Section};
use crate::config::ParameterError;
use crate::units::Span;
use crate::workloads::sql::ids::{IdOptions, RandType};
use crate::workloads::sql::schema::{Tables, refused};
use crate::workloads::{Key, defaults_of, take};

/// The longest wait that can be asked for.
const LONGEST_DELAY: Span = Span::from_secs(3_600);

/// What an operation is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    /// One point select.
    Simple,
    /// A transaction.
    #[default]
    Complex,
    /// One statement, which is another than in `simple`.
    Nontrx,
    /// A call of a stored procedure.
    Sp,
}

/// The statement of mode `nontrx`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Nontrx {
    #[default]
    Select,
    UpdateKey,
    UpdateNokey,
    Insert,
    Delete,
}

/// When a client connects anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reconnect {
    /// Never.
    #[default]
    Session,
    /// After each statement.
    Query,
    /// After each COMMIT.
    Transaction,
    /// By lot: in mode `complex` one of the three for each transaction, else after every other statement.
    Random,
}

/// What an operation is, and how it is spaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Modes {
    pub(super) mode: Mode,
    pub(super) nontrx: Nontrx,
    /// The stored procedure of mode `sp`.
    pub(super) procedure: String,
    pub(super) reconnect: Reconnect,
    /// Wait after connecting anew.
    pub(super) connect_delay: Span,
    /// Shortest and longest wait before each statement.
    pub(super) user_delay: [Span; 2],
}

impl Default for Modes {
    fn default() -> Modes {
        Modes {
            mode: Mode::Complex,
            nontrx: Nontrx::Select,
            procedure: String::new(),
            reconnect: Reconnect::Session,
            connect_delay: Span::from_millis(10),
            user_delay: [Span::ZERO; 2],
        }
    }
}

const MODE_KEYS: &[Key] = &[
    Key { name: "mode", meaning: "simple | complex | nontrx | sp", peer: "--oltp-test-mode" },
    Key {
        name: "nontrx",
        meaning: "mode nontrx: select | update_key | update_nokey | insert | delete",
        peer: "--oltp-nontrx-mode",
    },
    Key {
        name: "procedure",
        meaning: "mode sp: the stored procedure, \"schema.name\"",
        peer: "--oltp-sp-name",
    },
    Key {
        name: "reconnect",
        meaning: "session (never) | query | transaction | random",
        peer: "--oltp-reconnect-mode",
    },
    Key { name: "connect_delay", meaning: "wait after connecting anew", peer: "--oltp-connect-delay" },
    Key {
        name: "user_delay",
        meaning: "shortest and longest wait before each statement",
        peer: "--oltp-user-delay-min, -max",
    },
];

pub(super) const MODES: Section = Section {
    keys: MODE_KEYS,
    defaults: defaults_of::<Modes>,
    take: |rest, options| {
        options.modes = take(rest)?;
        options.modes.check()
    },
};

impl Modes {
    fn check(&self) -> Result<(), ParameterError> {
        let [shortest, longest] = self.user_delay;
        if shortest > longest || longest > LONGEST_DELAY {
            let problem = format!("waits of {shortest} to {longest} are not possible");
            return Err(refused("user_delay", problem, "write the shortest first, and at most 1h"));
        }
        if self.connect_delay > LONGEST_DELAY {
            let problem = format!("a wait of {} is not possible", self.connect_delay);
            return Err(refused("connect_delay", problem, "write at most 1h"));
        }
        self.check_procedure()
    }

    fn check_procedure(&self) -> Result<(), ParameterError> {
        let part = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_$".contains(c))
        };
        let name = self.procedure.split('.').count() <= 2 && self.procedure.split('.').all(part);
        let problem = match (self.mode, self.procedure.as_str()) {
            (Mode::Sp, "") => "mode sp calls a stored procedure, and none is given".to_owned(),
            (_, procedure) if procedure.is_empty() || name => return Ok(()),
            (_, procedure) => format!("\"{procedure}\" is not the name of a procedure"),
        };
        Err(refused("procedure", problem, "write its schema and its name, \"shop.load\""))
    }
}

/// How one row is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PointOptions {
    pub(super) handler: bool,
    pub(super) all_columns: bool,
}

const POINT_04_KEYS: &[Key] = &[
    Key {
        name: "handler",
        meaning: "read one row by HANDLER instead of SELECT",
        peer: "--oltp-point-select-mysql-handler",
    },
    Key { name: "all_columns", meaning: "read all columns of one row", peer: "--oltp-point-select-all-cols" },
];

pub(super) const POINT_04: Section = Section {
    keys: POINT_04_KEYS,
    defaults: defaults_of::<PointOptions>,
    take: |rest, options| take(rest).map(|point| options.point_04 = point),
};

/// The one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    engine: String,
    create_options: String,
    table_size: u32,
    auto_inc: bool,
    secondary: bool,
    reuse: bool,
}

impl Default for Table {
    fn default() -> Table {
        let Tables { engine, create_options, table_size, auto_inc, secondary, reuse, .. } = Tables::default();
        Table { engine, create_options, table_size, auto_inc, secondary, reuse }
    }
}

const TABLE_KEYS_04: &[Key] = &[
    Key {
        name: "engine",
        meaning: "storage engine; read back after CREATE, a substituted one fails the case",
        peer: "--mysql-table-engine",
    },
    Key { name: "create_options", meaning: "text after CREATE TABLE", peer: "--mysql-create-options" },
    Key { name: "table_size", meaning: "rows of table sbtest", peer: "--oltp-table-size" },
    Key {
        name: "auto_inc",
        meaning: "the server numbers the rows when they are loaded",
        peer: "--oltp-auto-inc",
    },
    Key {
        name: "secondary",
        meaning: "a secondary key on id in place of the primary key; needs auto_inc = false",
        peer: "--oltp-secondary",
    },
    Key { name: "reuse", meaning: "use the rows that an earlier case left, when they fit", peer: "" },
];

pub(super) const TABLE_04: Section =
    Section { keys: TABLE_KEYS_04, defaults: defaults_of::<Table>, take: take_table };

fn take_table(rest: &mut crate::record::Parameters, options: &mut Options) -> Result<(), ParameterError> {
    let Table { engine, create_options, table_size, auto_inc, secondary, reuse } = take(rest)?;
    if auto_inc && secondary {
        let problem = "a secondary key on id goes with ids that are given".to_owned();
        return Err(refused("secondary", problem, "write auto_inc = false beside it"));
    }
    options.tables =
        Tables { engine, create_options, table_size, auto_inc, secondary, reuse, ..Tables::default() };
    options.tables.check()
}

/// The shapes that 0.4 knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Shape {
    #[default]
    Special,
    Uniform,
    Gaussian,
}

/// The distribution of ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct OldIds {
    rand_type: Shape,
    rand_spec_pct: u32,
    rand_spec_iter: u32,
    rand_spec_res: u32,
}

impl Default for OldIds {
    fn default() -> OldIds {
        let IdOptions { rand_spec_pct, rand_spec_iter, rand_spec_res, .. } = IdOptions::default();
        OldIds { rand_type: Shape::Special, rand_spec_pct, rand_spec_iter, rand_spec_res }
    }
}

const ID_KEYS_04: &[Key] = &[
    Key {
        name: "rand_type",
        meaning: "ids met: special (a hot band in the middle) | uniform | gaussian",
        peer: "--oltp-dist-type",
    },
    Key { name: "rand_spec_pct", meaning: "special: percent of ids that are hot", peer: "--oltp-dist-pct" },
    Key {
        name: "rand_spec_iter",
        meaning: "special, gaussian: uniform numbers averaged",
        peer: "--oltp-dist-iter",
    },
    Key {
        name: "rand_spec_res",
        meaning: "special: percent of accesses to hot ids, below 100",
        peer: "--oltp-dist-res",
    },
];

pub(super) const IDS_04: Section = Section {
    keys: ID_KEYS_04,
    defaults: defaults_of::<OldIds>,
    take: |rest, options| {
        let OldIds { rand_type, rand_spec_pct, rand_spec_iter, rand_spec_res } = take(rest)?;
        let rand_type = match rand_type {
            Shape::Special => RandType::Special,
            Shape::Uniform => RandType::Uniform,
            Shape::Gaussian => RandType::Gaussian,
        };
        options.ids =
            IdOptions { rand_type, rand_spec_pct, rand_spec_iter, rand_spec_res, ..IdOptions::default() };
        options.ids.check()
    },
};
