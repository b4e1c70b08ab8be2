//! The workload `bulk_insert` of sysbench 1.0.20: each client fills a table of its own with rows of two numbers, as
//! many in one INSERT as fit into 512 KiB. An operation is a row, so most of them only write a few bytes of a text.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::client::{code_of, count};
use super::server;
use crate::config::ParameterError;
use crate::driver::random::Distribution;
use crate::driver::{DriveError, Failed, Observed, Plan, Stop, Tally, Worker, drive};
use crate::record::{CaseResult, Parameters};
use crate::target::{Access, Prepared, Way};
use crate::workloads::sql::loader::Load;
use crate::workloads::sql::schema::{MOST_TABLES, Tables, refused};
use crate::workloads::sql::session::{Protocol, Session};
use crate::workloads::sql::shape::Shape;
use crate::workloads::sql::statements::Book;
use crate::workloads::{Common, Key, Kind, Needs, Workload, defaults_of, take};

/// The largest INSERT.
const STATEMENT_BYTES: usize = 512 << 10;
/// Room for the longest row: two numbers of ten digits, and what stands between.
const ROW_BYTES: usize = 32;

/// What the tables are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    engine: String,
    create_options: String,
}

impl Default for Options {
    fn default() -> Options {
        let Tables { engine, create_options, .. } = Tables::default();
        Options { engine, create_options }
    }
}

const KEYS: &[Key] = &[
    Key {
        name: "engine",
        meaning: "storage engine; read back after CREATE, a substituted one fails the case",
        peer: "--mysql-storage-engine",
    },
    Key { name: "create_options", meaning: "text after each CREATE TABLE", peer: "--create-table-options" },
];

/// Rows in bulk.
pub(in crate::workloads) const KIND: Kind = Kind {
    name: "bulk_insert",
    about: "rows of two numbers in INSERTs of 512 KiB, each client into a table of its own",
    operation: "row",
    revision: 1,
    needs: Needs::Server,
    keys: &[KEYS, Common::KEYS],
    defaults: || {
        let mut parameters = defaults_of::<Options>();
        parameters.extend(defaults_of::<Common>());
        parameters
    },
    build: |parameters| Ok(Box::new(Bulk::new(parameters)?)),
};

/// One case.
#[derive(Debug)]
struct Bulk {
    common: Common,
    tables: Tables,
}

impl Bulk {
    fn new(parameters: &Parameters) -> Result<Bulk, ParameterError> {
        let mut rest = parameters.clone();
        let Options { engine, create_options } = take(&mut rest)?;
        let common = Common::take_rest(rest)?;
        if common.threads > MOST_TABLES {
            let problem = format!("{} clients cannot have a table each", common.threads);
            return Err(refused("threads", problem, format!("write at most {MOST_TABLES}")));
        }
        let tables = Tables {
            engine,
            create_options,
            tables: common.threads,
            auto_inc: false,
            create_secondary: false,
            shape: Shape::Pairs,
            empty: true,
            ..Tables::default()
        };
        tables.check()?;
        Ok(Bulk { common, tables })
    }
}

impl Workload for Bulk {
    fn plan(&self) -> Plan {
        self.common.plan()
    }

    fn prepare(
        &self,
        at: Option<&mut Prepared>,
        stop: &Stop,
        progress: &mut dyn FnMut(u64, u64, &'static str),
    ) -> anyhow::Result<()> {
        let load = Load {
            tables: &self.tables,
            k: &Distribution::Uniform.over(1, 1),
            description: self.tables.description(self.common.seed, ""),
            seed: self.common.seed,
            threads: self.common.threads,
        };
        load.ensure(server(at)?, stop, progress)
    }

    fn measure(
        &self,
        way: Option<&Way>,
        stop: &Stop,
        observe: &mut dyn FnMut(Observed),
    ) -> Result<CaseResult, DriveError> {
        let access = way
            .and_then(Way::server)
            .ok_or_else(|| DriveError::Make(anyhow::anyhow!("no load without a server: give `target`")))?;
        let book = Book::default();
        let connect = |client| BulkClient::connect(access, &book, &self.tables.name(client + 1));
        drive(&self.plan(), stop, connect, observe)
    }
}

/// A client with its connection and its table.
struct BulkClient<'a> {
    session: Session<'a>,
    /// How each statement begins.
    head: String,
    /// The statement being written; empty when there is no row to be sent.
    sql: String,
    /// The row that was written last.
    row: u64,
}

impl<'a> BulkClient<'a> {
    fn connect(access: &Access, book: &'a Book, table: &str) -> anyhow::Result<BulkClient<'a>> {
        let session = Session::connect(access, Protocol::Text, book, None)?;
        let sql = String::with_capacity(STATEMENT_BYTES);
        Ok(BulkClient { session, head: format!("INSERT INTO {table} VALUES"), sql, row: 0 })
    }

    /// Sends the rows that wait. Those of a statement that failed were counted before, so there is no going on.
    fn send(&mut self, tally: &mut Tally) -> Result<(), Failed> {
        if self.sql.is_empty() {
            return Ok(());
        }
        let sent = self.session.query(&self.sql);
        self.sql.clear();
        sent.map(|answer| count(answer, tally)).map_err(|error| Failed {
            code: code_of(&error),
            fatal: Some(format!("rows up to {} were not inserted: {error}", self.row)),
        })
    }
}

impl Worker for BulkClient<'_> {
    fn step(&mut self, _operation: u64, tally: &mut Tally) -> Result<(), Failed> {
        self.row += 1;
        let start = if self.sql.is_empty() { self.head.as_str() } else { "," };
        self.sql.push_str(start);
        // Writing to a String cannot fail.
        let _ = write!(self.sql, "({0},{0})", self.row);
        if self.sql.len() + ROW_BYTES > STATEMENT_BYTES { self.send(tally) } else { Ok(()) }
    }

    fn settle(&mut self, _last: bool, tally: &mut Tally) -> Result<(), Failed> {
        self.send(tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_client_has_an_empty_table_of_its_own() {
        let mut parameters = (KIND.defaults)();
        parameters.insert("threads".to_owned(), json!(7));
        let tables = Bulk::new(&parameters).unwrap().tables;
        assert_eq!((tables.tables, tables.rows()), (7, 0));
        parameters.insert("threads".to_owned(), json!(1_001));
        assert_eq!(Bulk::new(&parameters).unwrap_err().key, "threads");
    }
}
