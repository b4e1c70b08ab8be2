//! What the tables of an owned schema hold, and their names: a data set that waits for its turn is put aside under
//! another name.

use std::collections::BTreeSet;

use super::ledger::Data;
use super::{OwnedSchema, OwnershipError};
use crate::target::client::Client;

impl OwnedSchema {
    /// The tables it holds.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.entry.tables.keys().map(String::as_str)
    }

    /// The description of the data set a table holds whole; `None` for a table that is not there, or whose data
    /// is not known.
    pub fn dataset(&self, table: &str) -> Option<&str> {
        match self.entry.tables.get(table)? {
            Data::Whole(description) => Some(description),
            Data::Unknown | Data::Part { .. } => None,
        }
    }

    /// The description of the data set whose loading into a table was cut short, and how many of its first rows are
    /// there at least.
    pub fn part(&self, table: &str) -> Option<(&str, u64)> {
        match self.entry.tables.get(table)? {
            Data::Part { part_of, rows } => Some((part_of, *rows)),
            Data::Unknown | Data::Whole(_) => None,
        }
    }

    /// Names the data sets that this run uses: [`OwnedSchema::is_wanted`].
    pub fn want(&mut self, descriptions: BTreeSet<String>) {
        self.wanted = descriptions;
    }

    /// Whether a data set is used by a case of this run, so that its tables are to be kept.
    pub fn is_wanted(&self, description: &str) -> bool {
        self.wanted.contains(description)
    }

    /// The description of the data set that a table holds, whole or in part.
    pub fn data(&self, table: &str) -> Option<&str> {
        self.dataset(table).or_else(|| self.part(table).map(|(description, _)| description))
    }

    /// Gives tables other names, in one statement; a table keeps what it holds.
    ///
    /// # Errors
    /// When ownership is no longer proved, a table was not created here, a name is taken, or the server says no.
    pub fn rename_tables(
        &mut self,
        client: &mut Client,
        names: &[(String, String)],
    ) -> Result<(), OwnershipError> {
        if names.is_empty() {
            return Ok(());
        }
        let contents = self.prove(client)?;
        // Both names stand in the manifest meanwhile: whichever a table has after a crash, it is known.
        for (from, to) in names {
            self.check_table_name(to)?;
            let Some(held) = self.entry.tables.get(from).cloned() else {
                return Err(self.not_made_here(from));
            };
            if contents.tables.contains(to) {
                return Err(self.refused(&format!("it already holds table {to}")));
            }
            self.entry.tables.insert(to.clone(), held);
        }
        self.publish(client)?;
        let schema = &self.name;
        let pairs = names.iter().map(|(from, to)| format!("`{schema}`.`{from}` TO `{schema}`.`{to}`"));
        client.query(&format!("RENAME TABLE {}", pairs.collect::<Vec<_>>().join(", ")))?;
        for (from, _) in names {
            self.entry.tables.remove(from);
        }
        self.publish(client)
    }

    /// Drops the tables of which is not known what they hold: what a run that was cut short began. Gives their names.
    ///
    /// # Errors
    /// When ownership is no longer proved, or the server says no.
    pub fn drop_half_loaded(&mut self, client: &mut Client) -> Result<Vec<String>, OwnershipError> {
        let half = self.entry.tables.iter().filter(|(_, data)| **data == Data::Unknown);
        let half: Vec<String> = half.map(|(table, _)| table.clone()).collect();
        half.iter().try_for_each(|table| self.drop_table(client, table))?;
        Ok(half)
    }

    /// States that a table holds a data set whole, or, with `None`, that it no longer does.
    ///
    /// # Errors
    /// When the table was not created here, or the statement cannot be kept.
    pub fn set_dataset(
        &mut self,
        client: &mut Client,
        table: &str,
        description: Option<&str>,
    ) -> Result<(), OwnershipError> {
        let whole = |description: &str| Data::Whole(description.to_owned());
        self.set_data(client, [(table, description.map_or(Data::Unknown, whole))])
    }

    /// States that tables hold so many of the first rows of a data set at least.
    ///
    /// # Errors
    /// When a table was not created here, or the statement cannot be kept.
    pub fn set_parts<'a>(
        &mut self,
        client: &mut Client,
        parts: impl IntoIterator<Item = (&'a str, u64)>,
        description: &str,
    ) -> Result<(), OwnershipError> {
        let part = |rows| Data::Part { part_of: description.to_owned(), rows };
        self.set_data(client, parts.into_iter().map(|(table, rows)| (table, part(rows))))
    }

    fn set_data<'a>(
        &mut self,
        client: &mut Client,
        tables: impl IntoIterator<Item = (&'a str, Data)>,
    ) -> Result<(), OwnershipError> {
        for (table, data) in tables {
            match self.entry.tables.get_mut(table) {
                Some(held) => *held = data,
                None => return Err(self.not_made_here(table)),
            }
        }
        self.publish(client)
    }
}
