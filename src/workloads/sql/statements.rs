//! The statements of a workload: all of them in one book, each known by its number, and how values are written into
//! them for the text protocol.

use std::fmt::Write as _;

use crate::target::Bind;

/// A statement by its number in its [`Book`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Request(u32);

/// A statement without its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement {
    /// With a `?` for each value, and no other.
    text: String,
    /// Where these are.
    places: Vec<usize>,
    /// Whether it is sent as text whatever the protocol is.
    plain: bool,
}

/// Every statement that a workload sends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Book(Vec<Statement>);

impl Request {
    /// Its number, from 0.
    #[inline]
    pub(crate) fn number(self) -> usize {
        self.0 as usize
    }

    /// The statement so many places after this one.
    #[inline]
    pub(crate) fn plus(self, places: u32) -> Request {
        Request(self.0 + places)
    }
}

impl Statement {
    /// One that is prepared where the protocol is.
    pub(crate) fn new(text: impl Into<String>) -> Statement {
        let text = text.into();
        let places = text.match_indices('?').map(|(place, _)| place).collect();
        Statement { text, places, plain: false }
    }

    /// One that is always sent as text.
    pub(crate) fn plain(text: impl Into<String>) -> Statement {
        Statement { plain: true, ..Statement::new(text) }
    }

    /// Its text, with a `?` for each value.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is sent as text whatever the protocol is.
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Writes it with its values. Texts must hold neither quotes nor backslashes, as those of [`super::rows`] do.
    pub(crate) fn write(&self, values: &[Bind<'_>], sql: &mut String) {
        sql.clear();
        let mut from = 0;
        for (place, value) in self.places.iter().zip(values) {
            sql.push_str(&self.text[from..*place]);
            from = place + 1;
            match value {
                // Writing to a String cannot fail.
                Bind::Integer(integer) => write!(sql, "{integer}").unwrap_or_default(),
                Bind::Text(text) => {
                    sql.push('\'');
                    sql.push_str(text);
                    sql.push('\'');
                }
            }
        }
        sql.push_str(&self.text[from..]);
    }
}

impl Book {
    /// Enters a statement.
    pub(crate) fn enter(&mut self, statement: Statement) -> Request {
        self.0.push(statement);
        Request(self.0.len() as u32 - 1)
    }

    /// The statement of a number that this book gave.
    pub(crate) fn find(&self, request: Request) -> Option<&Statement> {
        self.0.get(request.number())
    }

    /// The numbers of all statements.
    pub(crate) fn requests(&self) -> impl Iterator<Item = Request> + use<> {
        (0..self.0.len() as u32).map(Request)
    }

    /// How many statements there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_found_by_the_number_it_was_given() {
        let mut book = Book::default();
        let requests = ["BEGIN", "COMMIT", "SELECT 1"].map(|text| book.enter(Statement::new(text)));
        assert_eq!(requests.map(Request::number), [0, 1, 2]);
        assert_eq!(book.find(requests[0].plus(2)), Some(&Statement::new("SELECT 1")));
        assert_eq!((book.find(requests[2].plus(1)), book.len()), (None, 3));
    }

    #[test]
    fn values_are_written_in_the_places_of_the_question_marks() {
        let mut sql = "left over".to_owned();
        let insert = Statement::new("INSERT INTO sbtest2 (id, k, c, pad) VALUES (?, ?, ?, ?)");
        let values = [Bind::Integer(7), Bind::Integer(-3), Bind::Text("11-22"), Bind::Text("33")];
        insert.write(&values, &mut sql);
        assert_eq!(sql, "INSERT INTO sbtest2 (id, k, c, pad) VALUES (7, -3, '11-22', '33')");
        Statement::new("SELECT c FROM t WHERE id BETWEEN ? AND ?+99").write(&values[..2], &mut sql);
        assert_eq!(sql, "SELECT c FROM t WHERE id BETWEEN 7 AND -3+99");
        Statement::plain("BEGIN").write(&[], &mut sql);
        assert_eq!(sql, "BEGIN");
    }
}
