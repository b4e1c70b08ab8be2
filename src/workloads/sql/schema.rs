//! The tables of sysbench: their options, their definition, their identity.

use serde::{Deserialize, Serialize};

use super::shape::Shape;
use crate::config::ParameterError;
use crate::workloads::Key;

/// Version of what the rows look like; another one makes a data set anew.
const ROWS_REVISION: u32 = 1;
/// `id` is a signed INTEGER.
const LARGEST_ID: u32 = i32::MAX as u32;
/// Each table is entered in the schema's manifest, which is written anew each time.
pub(crate) const MOST_TABLES: u32 = 1_000;
/// Engines that keep no rows of their own: what is written to them arrives in tables that benchd did not create.
const ELSEWHERE: [&str; 9] =
    ["connect", "federated", "federatedx", "merge", "mrg_myisam", "oqgraph", "s3", "sphinx", "spider"];
/// Words that would make the table something else than its other keys say.
const NOT_OPTIONS: [&str; 11] = [
    "as",
    "connection",
    "engine",
    "insert_method",
    "like",
    "select",
    "sequence",
    "type",
    "union",
    "versioned",
    "versioning",
];
/// Engines that cannot take a change back.
const WITHOUT_TRANSACTIONS: [&str; 6] = ["archive", "aria", "blackhole", "csv", "memory", "myisam"];
/// Names of one engine, the one that a server answers with last.
const ALIASES: [(&str, &str); 4] =
    [("heap", "memory"), ("innobase", "innodb"), ("maria", "aria"), ("ndb", "ndbcluster")];

/// What the tables are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tables {
    /// Storage engine, as CREATE TABLE names it.
    pub(crate) engine: String,
    /// Text after the definition of each table.
    pub(crate) create_options: String,
    /// How many tables.
    pub(crate) tables: u32,
    /// Rows in each table.
    pub(crate) table_size: u32,
    /// The server gives the ids.
    pub(crate) auto_inc: bool,
    /// A secondary key on the id in place of the primary key.
    pub(crate) secondary: bool,
    /// An index on column k, made after loading.
    pub(crate) create_secondary: bool,
    /// Use the rows of an earlier case while they fit.
    pub(crate) reuse: bool,
    /// Whose tables they are; the workload says so.
    #[serde(skip)]
    pub(crate) shape: Shape,
    /// Whether they begin empty, whatever `table_size` says; the workload says so too.
    #[serde(skip)]
    pub(crate) empty: bool,
}

impl Default for Tables {
    fn default() -> Tables {
        Tables {
            engine: "innodb".to_owned(),
            create_options: String::new(),
            tables: 1,
            table_size: 10_000,
            auto_inc: true,
            secondary: false,
            create_secondary: true,
            reuse: true,
            shape: Shape::V10,
            empty: false,
        }
    }
}

/// The keys of [`Tables`].
pub(crate) const TABLE_KEYS: &[Key] = &[
    Key {
        name: "engine",
        meaning: "storage engine; read back after CREATE, a substituted one fails the case",
        peer: "--mysql-storage-engine",
    },
    Key { name: "create_options", meaning: "text after each CREATE TABLE", peer: "" },
    Key { name: "tables", meaning: "tables sbtest1, sbtest2, ...", peer: "--tables" },
    Key { name: "table_size", meaning: "rows in each table", peer: "--table-size" },
    Key { name: "auto_inc", meaning: "the server numbers the rows when they are loaded", peer: "--auto-inc" },
    Key {
        name: "secondary",
        meaning: "a secondary key on id in place of the primary key",
        peer: "--secondary",
    },
    Key {
        name: "create_secondary",
        meaning: "an index on k, made after loading",
        peer: "--create-secondary",
    },
    Key { name: "reuse", meaning: "use the rows that an earlier case left, when they fit", peer: "" },
];

impl Tables {
    /// Refuses what cannot be created, or would not be what the keys say.
    pub(crate) fn check(&self) -> Result<(), ParameterError> {
        self.check_engine()?;
        self.check_create_options()?;
        if self.tables == 0 || self.tables > MOST_TABLES {
            let hint = format!("write 1 to {MOST_TABLES}");
            return Err(refused("tables", format!("{} tables are not possible", self.tables), hint));
        }
        if self.table_size == 0 || self.table_size > LARGEST_ID {
            let hint = format!("write 1 to {LARGEST_ID}, the largest id of the tables");
            return Err(refused("table_size", format!("{} rows are not possible", self.table_size), hint));
        }
        Ok(())
    }

    fn check_engine(&self) -> Result<(), ParameterError> {
        let engine = self.engine.as_str();
        let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if engine.is_empty() || engine.len() > 64 || !engine.chars().all(name) {
            let hint = "write a name as SHOW ENGINES gives it, \"innodb\"";
            return Err(refused("engine", format!("\"{engine}\" is not the name of a storage engine"), hint));
        }
        if ELSEWHERE.iter().any(|elsewhere| engine.eq_ignore_ascii_case(elsewhere)) {
            let problem = format!("engine {engine} keeps its rows in tables that benchd did not create");
            return Err(refused("engine", problem, "write an engine that stores rows itself, \"innodb\""));
        }
        Ok(())
    }

    fn check_create_options(&self) -> Result<(), ParameterError> {
        let refuse = |part: &str| {
            let problem = format!("`{part}` may not stand in create_options");
            let hint = "write table options only, \"ROW_FORMAT=COMPRESSED\"; the engine has a key of its own";
            Err(refused("create_options", problem, hint))
        };
        let options = self.create_options.to_ascii_lowercase();
        if let Some(part) = [";", "--", "#", "/*", "\0"].into_iter().find(|part| options.contains(part)) {
            return refuse(part);
        }
        let mut words = options.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.find(|word| NOT_OPTIONS.contains(word)).map_or(Ok(()), refuse)
    }

    /// The name of a table; tables are numbered from 1.
    pub(crate) fn name(&self, table: u32) -> String {
        self.shape.table(table)
    }

    /// The number of a table by its name; `None` when it is none of these tables.
    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.shape.number(name)
    }

    /// What follows `CREATE TABLE name`, as sysbench sends it.
    pub(crate) fn definition(&self) -> String {
        let numbering = if self.auto_inc { " AUTO_INCREMENT" } else { "" };
        let key = if self.secondary { "KEY xid (id)" } else { "PRIMARY KEY (id)" };
        let (columns, engine) = (self.shape.columns(numbering), self.shape.engine_clause(&self.engine));
        format!("( {columns}, {key} ) {engine} {}", self.create_options).trim_end().to_owned()
    }

    /// The statement that makes the index on column k, when there is to be one.
    pub(crate) fn create_index(&self, table: u32) -> Option<String> {
        self.create_secondary.then(|| self.shape.create_index(table)).flatten()
    }

    /// Whether that index is made while the table is still empty.
    pub(crate) fn index_first(&self) -> bool {
        self.shape.index_first()
    }

    /// Whether the engine that a server says a table has is the one asked for.
    pub(crate) fn is_engine(&self, found: &str) -> bool {
        canonical(&self.engine) == canonical(found)
    }

    /// Whether the engine can take a change back.
    pub(crate) fn has_transactions(&self) -> bool {
        !WITHOUT_TRANSACTIONS.contains(&canonical(&self.engine).as_str())
    }

    /// Whether the engine is that of an NDB Cluster.
    pub(crate) fn is_cluster(&self) -> bool {
        self.is_engine("ndbcluster")
    }

    /// Rows that a table begins with.
    pub(crate) fn rows_each(&self) -> u32 {
        if self.empty { 0 } else { self.table_size }
    }

    /// Rows of all tables.
    pub(crate) fn rows(&self) -> u64 {
        u64::from(self.tables) * u64::from(self.rows_each())
    }

    /// What decides every byte of each table beside the table's number, as text: two equal texts mean the same
    /// data. `k` names the distribution of column k with its constants.
    pub(crate) fn description(&self, seed: u64, k: &str) -> String {
        let (seed, k) = if self.shape.rows_differ() && !self.empty { (seed, k) } else { (0, "") };
        format!(
            "rows {ROWS_REVISION}: seed={seed} table_size={} k=({k}) engine={} auto_inc={} secondary={} \
             create_secondary={} create_options=({}){}",
            self.rows_each(),
            canonical(&self.engine),
            self.auto_inc,
            self.secondary,
            self.create_secondary,
            self.create_options,
            self.shape.word(),
        )
    }
}

fn canonical(engine: &str) -> String {
    let name = engine.to_ascii_lowercase();
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, of)| (*of).to_owned())
}

/// A value that a key may not have.
pub(crate) fn refused(key: &str, problem: impl Into<String>, hint: impl Into<String>) -> ParameterError {
    ParameterError { key: key.to_owned(), problem: problem.into(), hint: hint.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_defined_as_sysbench_defines_it() {
        assert_eq!(
            Tables::default().definition(),
            "( id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id) ) \
             /*! ENGINE = innodb */"
        );
        assert_eq!(Tables::default().create_index(3).unwrap(), "CREATE INDEX k_3 ON sbtest3(k)");
        let other = Tables {
            engine: "MyISAM".to_owned(),
            create_options: "MAX_ROWS=1000".to_owned(),
            auto_inc: false,
            secondary: true,
            create_secondary: false,
            ..Tables::default()
        };
        assert!(other.definition().starts_with("( id INTEGER NOT NULL, k "));
        assert!(other.definition().ends_with(", KEY xid (id) ) /*! ENGINE = MyISAM */ MAX_ROWS=1000"));
        assert_eq!(other.create_index(2), None);
    }

    #[test]
    fn earlier_generations_have_other_tables() {
        let of = |shape, engine: &str| Tables { shape, engine: engine.to_owned(), ..Tables::default() };
        assert_eq!(
            of(Shape::V05, "innodb").definition(),
            "( id INTEGER UNSIGNED NOT NULL AUTO_INCREMENT, k INTEGER UNSIGNED DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id) ) \
             /*! ENGINE = innodb MAX_ROWS = 1000000 */"
        );
        assert!(of(Shape::V04, "innodb").definition().ends_with("PRIMARY KEY (id) ) /*! ENGINE = innodb */"));
        assert!(of(Shape::V04, "MyISAM").definition().ends_with("/*! ENGINE = MyISAM MAX_ROWS = 1000000 */"));
        assert_eq!(of(Shape::V04, "innodb").create_index(1).unwrap(), "CREATE INDEX k on sbtest(k)");
        let pairs = Tables { auto_inc: false, ..of(Shape::Pairs, "innodb") };
        assert_eq!(
            pairs.definition(),
            "( id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id) ) /*! ENGINE = innodb */"
        );
        assert_eq!(pairs.create_index(1), None);
    }

    #[test]
    fn a_substituted_engine_is_told_from_another_name_of_the_same() {
        let tables = |engine: &str| Tables { engine: engine.to_owned(), ..Tables::default() };
        assert!(tables("innodb").is_engine("InnoDB"));
        assert!(tables("ndb").is_engine("ndbcluster"));
        assert!(tables("heap").is_engine("MEMORY"));
        assert!(!tables("rocksdb").is_engine("InnoDB"));
        assert!(tables("RocksDB").has_transactions() && !tables("Maria").has_transactions());
    }

    fn refusal(tables: &Tables) -> Option<String> {
        tables.check().err().map(|error| error.key)
    }

    #[test]
    fn senseless_tables_are_refused_by_their_key() {
        let base = Tables::default;
        assert_eq!(refusal(&base()), None);
        assert_eq!(refusal(&Tables { tables: 0, ..base() }).as_deref(), Some("tables"));
        assert_eq!(refusal(&Tables { tables: MOST_TABLES + 1, ..base() }).as_deref(), Some("tables"));
        assert_eq!(refusal(&Tables { table_size: 0, ..base() }).as_deref(), Some("table_size"));
        assert_eq!(refusal(&Tables { table_size: LARGEST_ID + 1, ..base() }).as_deref(), Some("table_size"));
        for engine in ["", "inno db", "innodb */ UNION", "x;", "MERGE", "federated", "Spider"] {
            let tables = Tables { engine: engine.to_owned(), ..base() };
            assert_eq!(refusal(&tables).as_deref(), Some("engine"), "{engine}");
        }
    }

    #[test]
    fn create_options_can_only_be_options() {
        let with = |options: &str| Tables { create_options: options.to_owned(), ..Tables::default() };
        for options in ["ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8", "CHARSET=utf8mb4", "COMMENT='selected'"] {
            assert_eq!(refusal(&with(options)), None, "{options}");
        }
        for options in ["; DROP TABLE t", "UNION=(orders)", "select * from orders", "engine=MERGE", "x -- y"]
        {
            assert_eq!(refusal(&with(options)).as_deref(), Some("create_options"), "{options}");
        }
    }

    #[test]
    fn whatever_changes_the_rows_changes_their_description() {
        let base = Tables::default();
        let description = |tables: &Tables| tables.description(1, "special");
        let others = [
            Tables { engine: "myisam".to_owned(), ..base.clone() },
            Tables { create_options: "ROW_FORMAT=DYNAMIC".to_owned(), ..base.clone() },
            Tables { table_size: 5, ..base.clone() },
            Tables { auto_inc: false, ..base.clone() },
            Tables { secondary: true, ..base.clone() },
            Tables { create_secondary: false, ..base.clone() },
            Tables { shape: Shape::V05, ..base.clone() },
            Tables { empty: true, ..base.clone() },
        ];
        for other in &others {
            assert_ne!(description(other), description(&base), "{other:?}");
        }
        assert_ne!(base.description(2, "special"), description(&base));
        assert_ne!(base.description(1, "uniform"), description(&base));
        let same = Tables { reuse: false, tables: 9, engine: "InnoDB".to_owned(), ..base.clone() };
        assert_eq!(description(&same), description(&base));
        let alike = Tables { shape: Shape::V04, ..base };
        assert_eq!(alike.description(1, "special"), alike.description(2, "uniform"));
    }
}
