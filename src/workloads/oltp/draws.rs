//! Everything random in one operation.

use std::fmt::Write as _;

use super::unique;
use crate::driver::random::{Ids, Random};
use crate::workloads::sql::rows;

/// The numbers of which sysbench 0.4 joins some to a text are below this.
const NUMBERS_04: u64 = (1 << 30) - 1;

/// What makes operations repeatable, and runs differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seeds {
    /// The case's seed.
    pub(super) case: u64,
    /// A number that no other run has.
    pub(super) run: u64,
}

/// Which of how many clients one is, from 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) client: u32,
    pub(super) clients: u32,
}

/// A generator that is made when it is first asked for: most operations need none but the one of their ids.
#[derive(Debug)]
pub(super) struct Lots {
    seed: u64,
    operation: u64,
    made: Option<Random>,
}

impl Lots {
    /// One operation's generator.
    pub(super) fn of(seed: u64, operation: u64) -> Lots {
        Lots { seed, operation, made: None }
    }

    /// The generator.
    pub(super) fn random(&mut self) -> &mut Random {
        self.made.get_or_insert_with(|| Random::for_operation(self.seed, self.operation))
    }
}

/// The draws of one operation.
#[derive(Debug)]
pub(super) struct Draws<'a> {
    /// Decides tables and ids: the same in every run of one seed.
    pub(super) choices: Random,
    /// Decides the texts of columns c and pad: others in every run. An UPDATE that sets what the row already holds
    /// writes nothing, so on data that an earlier run left, equal texts would make writes into no writes.
    pub(super) texts: Lots,
    ids: &'a Ids,
    seeds: Seeds,
    pub(super) place: Place,
    operation: u64,
}

impl<'a> Draws<'a> {
    /// The draws of one operation of a client, which meets these ids.
    pub(super) fn of(seeds: Seeds, operation: u64, place: Place, ids: &'a Ids) -> Draws<'a> {
        Draws {
            choices: Random::for_operation(seeds.case, operation),
            texts: Lots::of(seeds.run, operation),
            ids,
            seeds,
            place,
            operation,
        }
    }

    /// What decides how a client behaves between statements: the same in each attempt, other in every run, and without
    /// regard to the texts.
    pub(super) fn lots(&self) -> Lots {
        Lots::of(!self.seeds.run, self.operation)
    }

    /// The same draws from their beginning.
    pub(super) fn again(&mut self) {
        *self = Draws::of(self.seeds, self.operation, self.place, self.ids);
    }

    /// An id, or a value of k.
    pub(super) fn id(&mut self) -> i64 {
        self.ids.pick(&mut self.choices) as i64
    }

    /// A table of so many, numbered from 1.
    pub(super) fn table(&mut self, tables: u32) -> u32 {
        1 + self.choices.below(u64::from(tables)) as u32
    }

    /// A value of column c.
    pub(super) fn c(&mut self) -> String {
        self.text(rows::push_c)
    }

    /// A value of column pad.
    pub(super) fn pad(&mut self) -> String {
        self.text(rows::push_pad)
    }

    fn text(&mut self, push: fn(&mut String, &mut Random)) -> String {
        let mut text = String::with_capacity(120);
        push(&mut text, self.texts.random());
        text
    }

    /// So many whole numbers as sysbench 0.4 joins them, 10 for column c and 5 for pad.
    pub(super) fn numbers(&mut self, many: u32) -> String {
        let mut text = String::with_capacity(120);
        for number in 0..many {
            let hyphen = if number > 0 { "-" } else { "" };
            // Writing to a String cannot fail.
            let _ = write!(text, "{hyphen}{}", self.texts.random().below(NUMBERS_04));
        }
        text
    }

    /// An id for a new row, which no other operation of the case has.
    pub(super) fn new_id(&self) -> i64 {
        unique::new_id(self.seeds.case, self.operation)
    }

    /// The same among the numbers without a sign.
    pub(super) fn new_unsigned_id(&self) -> i64 {
        self.new_id() - i64::from(i32::MIN)
    }

    /// The id of a row of 1 to `rows`, which the next operations do not have.
    pub(super) fn old_id(&self, rows: u32) -> i64 {
        unique::old_id(self.seeds.case, self.operation, rows)
    }
}
