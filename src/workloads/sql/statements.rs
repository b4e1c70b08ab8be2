//! The statements over the tables `sbtest1 … sbtestN`: their texts as sysbench 1.0.20 sends them, and how values
//! are written into them for the text protocol.

use std::fmt::Write as _;

use crate::target::Bind;

/// A statement without its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// Opens a transaction.
    Begin,
    /// Makes a transaction permanent.
    Commit,
    /// A statement on a table; tables are numbered from 1.
    On(Template, u32),
}

impl Request {
    /// A number of its own, from 0: requests on the first tables come first.
    #[inline]
    pub(crate) fn number(self) -> usize {
        match self {
            Request::Begin => 0,
            Request::Commit => 1,
            Request::On(template, table) => 2 + (table as usize - 1) * TEMPLATES + template as usize,
        }
    }

    /// Its text, with a `?` for each value.
    pub(crate) fn text(self) -> String {
        match self {
            Request::Begin => "BEGIN".to_owned(),
            Request::Commit => "COMMIT".to_owned(),
            Request::On(template, table) => template.text(table),
        }
    }
}

/// A statement without its table and its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Template {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
}

/// How many templates there are.
const TEMPLATES: usize = Template::Insert as usize + 1;

impl Template {
    fn text(self, table: u32) -> String {
        match self {
            Template::PointSelect => format!("SELECT c FROM sbtest{table} WHERE id=?"),
            Template::SimpleRange => format!("SELECT c FROM sbtest{table} WHERE id BETWEEN ? AND ?"),
            Template::SumRange => format!("SELECT SUM(k) FROM sbtest{table} WHERE id BETWEEN ? AND ?"),
            Template::OrderRange => {
                format!("SELECT c FROM sbtest{table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Template::DistinctRange => {
                format!("SELECT DISTINCT c FROM sbtest{table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Template::IndexUpdate => format!("UPDATE sbtest{table} SET k=k+1 WHERE id=?"),
            Template::NonIndexUpdate => format!("UPDATE sbtest{table} SET c=? WHERE id=?"),
            Template::Delete => format!("DELETE FROM sbtest{table} WHERE id=?"),
            Template::Insert => format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
        }
    }
}

/// Writes the values of a statement in the places of its `?`, in order. Texts must hold neither quotes nor
/// backslashes, as those of [`super::rows`] do.
pub(crate) fn write_in(text: &str, values: &[Bind<'_>], statement: &mut String) {
    statement.clear();
    let mut parts = text.split('?');
    statement.push_str(parts.next().unwrap_or_default());
    for (value, part) in values.iter().zip(parts) {
        // Writing to a String cannot fail.
        let _ = match value {
            Bind::Integer(integer) => write!(statement, "{integer}"),
            Bind::Text(text) => write!(statement, "'{text}'"),
        };
        statement.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_a_number_of_its_own() {
        let last = Request::On(Template::Insert, 1).number();
        assert_eq!(last, Request::On(Template::PointSelect, 2).number() - 1);
        assert_eq!(Request::On(Template::PointSelect, 1).number(), 2);
        assert_eq!([Request::Begin, Request::Commit].map(Request::number), [0, 1]);
    }

    #[test]
    fn values_are_written_in_the_places_of_the_question_marks() {
        let mut statement = "left over".to_owned();
        let values = [Bind::Integer(7), Bind::Integer(-3), Bind::Text("11-22"), Bind::Text("33")];
        write_in(&Request::On(Template::Insert, 2).text(), &values, &mut statement);
        assert_eq!(statement, "INSERT INTO sbtest2 (id, k, c, pad) VALUES (7, -3, '11-22', '33')");
        write_in(&Request::On(Template::SumRange, 12).text(), &values[..2], &mut statement);
        assert_eq!(statement, "SELECT SUM(k) FROM sbtest12 WHERE id BETWEEN 7 AND -3");
    }
}
