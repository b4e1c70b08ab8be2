//! The tables of each generation of sysbench: how they are called, what they are made of, and how their rows are
//! written.

/// Rows of one INSERT of sysbench 0.4.
const ROWS_AT_ONCE_04: u32 = 10_000;
/// What sysbench 0.5 tells MyISAM to expect.
const MAX_ROWS: u32 = 1_000_000;

/// Whose tables they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    /// `sbtest1 … sbtestN` of sysbench 1.0.
    #[default]
    V10,
    /// Those of 0.5: the same with numbers without a sign.
    V05,
    /// The one table `sbtest` of 0.4, in which all rows are alike.
    V04,
    /// Those of `bulk_insert` of 1.0: two numbers a row.
    Pairs,
}

impl Shape {
    /// The name of a table; tables are numbered from 1.
    pub(crate) fn table(self, number: u32) -> String {
        match self {
            Shape::V04 => "sbtest".to_owned(),
            Shape::V10 | Shape::V05 | Shape::Pairs => format!("sbtest{number}"),
        }
    }

    /// The number of a table by its name; `None` when it is none of these tables.
    pub(super) fn number(self, name: &str) -> Option<u32> {
        let number = match self {
            Shape::V04 => 1,
            Shape::V10 | Shape::V05 | Shape::Pairs => name.strip_prefix("sbtest")?.parse().ok()?,
        };
        (self.table(number) == name).then_some(number)
    }

    /// The columns of CREATE TABLE, without the key.
    pub(super) fn columns(self, numbering: &str) -> String {
        let (integer, char) = match self {
            Shape::Pairs => return "id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL".to_owned(),
            Shape::V10 => ("INTEGER", "CHAR"),
            Shape::V05 => ("INTEGER UNSIGNED", "CHAR"),
            Shape::V04 => ("INTEGER UNSIGNED", "char"),
        };
        format!(
            "id {integer} NOT NULL{numbering}, k {integer} DEFAULT '0' NOT NULL, \
             c {char}(120) DEFAULT '' NOT NULL, pad {char}(60) DEFAULT '' NOT NULL"
        )
    }

    /// What follows the columns: the engine, and what else sysbench says there.
    pub(super) fn engine_clause(self, engine: &str) -> String {
        match self {
            Shape::V05 => format!("/*! ENGINE = {engine} MAX_ROWS = {MAX_ROWS} */"),
            Shape::V04 if engine.eq_ignore_ascii_case("myisam") => {
                format!("/*! ENGINE = {engine} MAX_ROWS = {MAX_ROWS} */")
            }
            Shape::V10 | Shape::V04 | Shape::Pairs => format!("/*! ENGINE = {engine} */"),
        }
    }

    /// The statement that makes the index on column k, where there is one.
    pub(super) fn create_index(self, table: u32) -> Option<String> {
        match self {
            Shape::V10 => Some(format!("CREATE INDEX k_{table} ON sbtest{table}(k)")),
            Shape::V05 => Some(format!("CREATE INDEX k_{table} on sbtest{table}(k)")),
            Shape::V04 => Some("CREATE INDEX k on sbtest(k)".to_owned()),
            Shape::Pairs => None,
        }
    }

    /// Whether that index is made while the table is still empty.
    pub(super) fn index_first(self) -> bool {
        self == Shape::V04
    }

    /// The most rows of one INSERT, beside the limit of its size.
    pub(super) fn rows_at_once(self) -> u32 {
        if self == Shape::V04 { ROWS_AT_ONCE_04 } else { u32::MAX }
    }

    /// Whether rows differ by anything but their id.
    pub(super) fn rows_differ(self) -> bool {
        self != Shape::V04
    }

    /// What tells a data set from that of sysbench 1.0, in its description.
    pub(super) fn word(self) -> &'static str {
        match self {
            Shape::V10 => "",
            Shape::V05 => " shape=0.5",
            Shape::V04 => " shape=0.4",
            Shape::Pairs => " shape=pairs",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Shape; 4] = [Shape::V10, Shape::V05, Shape::V04, Shape::Pairs];

    #[test]
    fn a_table_is_known_by_its_name() {
        for shape in ALL {
            assert_eq!(shape.number(&shape.table(1)), Some(1), "{shape:?}");
            for name in ["sbtest01", "sbtest+1", "sbtestx", "orders"] {
                assert_eq!(shape.number(name), None, "{shape:?}: {name}");
            }
        }
        assert_eq!(Shape::V10.number("sbtest12"), Some(12));
        assert_eq!((Shape::V10.number("sbtest"), Shape::V04.number("sbtest1")), (None, None));
    }

    #[test]
    fn each_shape_has_a_word_of_its_own() {
        let mut words = ALL.map(Shape::word);
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "{words:?}");
    }
}
