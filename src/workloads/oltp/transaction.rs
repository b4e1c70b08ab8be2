//! One operation of the oltp workloads as the statements it sends: their order, tables and values.

use super::draws::Draws;
use super::group::{Generation, Group};
use super::options::Options;
use crate::target::Bind;
use crate::workloads::sql::statements::{Book, Request, Statement};

/// The shape of one operation: everything but its random values.
#[derive(Debug, Clone)]
pub(super) struct Transaction {
    generation: Generation,
    bracket: Option<Bracket>,
    groups: Vec<Part>,
    /// Ids of a range.
    range_size: i64,
    /// From the first to the last value of k of a random range.
    delta: i64,
    random_points: u32,
    random_ranges: u32,
    tables: u32,
    table_size: u32,
    auto_inc: bool,
    /// All statements that it may send.
    pub(super) book: Book,
}

/// What stands before and after the statements.
#[derive(Debug, Clone, Copy)]
struct Bracket {
    open: Request,
    close: Request,
    /// What ends an attempt that failed.
    undo: &'static str,
}

/// The statements of one group.
#[derive(Debug, Clone, Copy)]
struct Part {
    group: Group,
    /// How often they are sent.
    count: u32,
    /// The first of them on the first table.
    first: Request,
    /// How many they are on each table.
    each: u32,
}

/// A statement to be sent.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) request: Request,
    pub(super) values: &'a [Bind<'a>],
    /// Whether it belongs to the statement before, so that nothing may come between: a row that was deleted is
    /// inserted again.
    pub(super) joined: bool,
}

impl Transaction {
    /// An operation with the groups in order, each with how often its statements are sent.
    pub(super) fn new(generation: Generation, options: &Options, groups: &[(Group, u32)]) -> Transaction {
        let tables = &options.tables;
        let mut book = Book::default();
        let bracket = (!options.bracket.skip_trx).then(|| bracket(generation, options, &mut book));
        let mut enter = |(group, count): &(Group, u32)| {
            let of_table = |table| group.statements(generation, options, &tables.name(table));
            let all: Vec<Statement> = (1..=tables.tables).flat_map(of_table).collect();
            let each = (all.len() / tables.tables.max(1) as usize) as u32;
            let numbers: Vec<Request> = all.into_iter().map(|statement| book.enter(statement)).collect();
            let first = numbers.first().copied()?;
            Some(Part { group: *group, count: *count, first, each })
        };
        let groups = groups.iter().filter_map(&mut enter).collect();
        Transaction {
            generation,
            bracket,
            groups,
            range_size: i64::from(options.reads.range_size),
            delta: i64::from(options.ranges.delta),
            random_points: options.points.random_points,
            random_ranges: options.ranges.number_of_ranges,
            tables: tables.tables,
            table_size: tables.table_size,
            auto_inc: tables.auto_inc,
            book,
        }
    }

    /// Walks through one operation. A table is drawn uniformly: by 1.0 once a group, by earlier ones once an operation.
    pub(super) fn walk<E>(
        &self,
        draws: &mut Draws<'_>,
        send: &mut impl FnMut(Step<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(bracket) = self.bracket {
            send(Step { request: bracket.open, values: &[], joined: false })?;
        }
        let kept = self.generation.keeps_table().then(|| draws.table(self.tables));
        for part in &self.groups {
            let table = kept.unwrap_or_else(|| draws.table(self.tables));
            let first = part.first.plus((table - 1) * part.each);
            for _ in 0..part.count {
                self.statement(part.group, first, draws, send)?;
            }
        }
        if let Some(bracket) = self.bracket {
            send(Step { request: bracket.close, values: &[], joined: false })?;
        }
        Ok(())
    }

    /// Sends the statements of a group once. What the shortest of them do not need is in functions of its own.
    #[inline]
    fn statement<E>(
        &self,
        group: Group,
        request: Request,
        draws: &mut Draws<'_>,
        send: &mut impl FnMut(Step<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let id = draws.id();
        let mut step = |values: &[Bind<'_>]| send(Step { request, values, joined: false });
        match group {
            Group::PointSelects | Group::IndexUpdates | Group::Deletes | Group::PadSelects => {
                step(&[Bind::Integer(id)])
            }
            Group::SimpleRanges | Group::SumRanges | Group::OrderRanges | Group::DistinctRanges => {
                step(&self.range(group, id).map(Bind::Integer))
            }
            Group::NonIndexUpdates => self.update_text(id, draws, &mut step),
            Group::DeleteInserts => self.replace(id, request, draws, send),
            Group::Inserts => self.insert(id, draws, &mut step),
            Group::RandomPoints => step(&self.points(id, draws)),
            Group::RandomRanges => step(&self.ranges(id, draws)),
            Group::UniqueDeletes => step(&[Bind::Integer(draws.old_id(self.table_size))]),
            Group::Calls => {
                let place = draws.place;
                step(&[place.client, place.clients].map(|number| Bind::Integer(i64::from(number))))
            }
        }
    }

    #[inline(never)]
    fn update_text<E>(
        &self,
        id: i64,
        draws: &mut Draws<'_>,
        step: &mut impl FnMut(&[Bind<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        step(&[Bind::Text(&self.c(draws)), Bind::Integer(id)])
    }

    #[inline(never)]
    fn points(&self, first: i64, draws: &mut Draws<'_>) -> Vec<Bind<'static>> {
        let others = (1..self.random_points).map(|_| draws.id());
        std::iter::once(first).chain(others).map(Bind::Integer).collect()
    }

    #[inline(never)]
    fn ranges(&self, first: i64, draws: &mut Draws<'_>) -> Vec<Bind<'static>> {
        let others = (1..self.random_ranges).map(|_| draws.id());
        let ends = std::iter::once(first).chain(others).flat_map(|from| [from, from + self.delta]);
        ends.map(Bind::Integer).collect()
    }

    /// Both values of a range that begins at an id. 1.0 lets it pass the last row, and 0.5 has the server add its size;
    /// in 0.4 it ends inside the table, and the distinct one is a row longer.
    fn range(&self, group: Group, id: i64) -> [i64; 2] {
        match self.generation {
            Generation::V10 => [id, id + self.range_size - 1],
            Generation::V05 => [id, id],
            Generation::V04 => {
                let from = id.min(i64::from(self.table_size) - self.range_size).max(1);
                let more = i64::from(group == Group::DistinctRanges);
                [from, from + self.range_size - 1 + more]
            }
        }
    }

    fn c(&self, draws: &mut Draws<'_>) -> String {
        if self.generation == Generation::V04 { draws.numbers(10) } else { draws.c() }
    }

    fn pad(&self, draws: &mut Draws<'_>) -> String {
        if self.generation == Generation::V04 { draws.numbers(5) } else { draws.pad() }
    }

    /// Deletes a row and inserts one with the same id.
    #[inline(never)]
    fn replace<E>(
        &self,
        id: i64,
        delete: Request,
        draws: &mut Draws<'_>,
        send: &mut impl FnMut(Step<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (insert, one) = (delete.plus(1), [Bind::Integer(id)]);
        if self.generation == Generation::V04 {
            send(Step { request: delete, values: &one, joined: false })?;
            return send(Step { request: insert, values: &one, joined: true });
        }
        let k = Bind::Integer(draws.id());
        let (c, pad) = (draws.c(), draws.pad());
        send(Step { request: delete, values: &one, joined: false })?;
        let row = [Bind::Integer(id), k, Bind::Text(&c), Bind::Text(&pad)];
        send(Step { request: insert, values: &row, joined: true })
    }

    /// Adds a row. Where the server numbers rows, 1.0 sends 0 for the id, and the statement of 0.4 has NULL in it.
    #[inline(never)]
    fn insert<E>(
        &self,
        k: i64,
        draws: &mut Draws<'_>,
        step: &mut impl FnMut(&[Bind<'_>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let id = match self.generation {
            _ if self.auto_inc => 0,
            Generation::V10 => draws.new_id(),
            Generation::V05 | Generation::V04 => draws.new_unsigned_id(),
        };
        let (c, pad) = (self.c(draws), self.pad(draws));
        let row = [Bind::Integer(id), Bind::Integer(k), Bind::Text(&c), Bind::Text(&pad)];
        let without_id = self.generation == Generation::V04 && self.auto_inc;
        step(&row[usize::from(without_id)..])
    }

    /// What ends an attempt that failed; `None` where each statement stands for itself.
    pub(super) fn undo(&self) -> Option<&'static str> {
        self.bracket.map(|bracket| bracket.undo)
    }

    /// Whether an operation sends statements of this group.
    pub(super) fn sends(&self, group: Group) -> bool {
        self.groups.iter().any(|part| part.group == group)
    }

    /// Whether it is tried again with the values of the first attempt.
    pub(super) fn repeats_values(&self) -> bool {
        self.generation.repeats_values()
    }
}

fn bracket(generation: Generation, options: &Options, book: &mut Book) -> Bracket {
    let tables = &options.tables;
    if !generation.locks_tables() || tables.has_transactions() {
        let [open, close] = ["BEGIN", "COMMIT"].map(|text| book.enter(Statement::new(text)));
        return Bracket { open, close, undo: "ROLLBACK" };
    }
    let reads = generation == Generation::V04 && options.only.read_only;
    let how = if reads { "READ" } else { "WRITE" };
    let locks: Vec<String> =
        (1..=tables.tables).map(|table| format!("{} {how}", tables.name(table))).collect();
    let lock = format!("LOCK TABLES {}", locks.join(" ,"));
    let [open, close] = [&*lock, "UNLOCK TABLES"].map(|text| book.enter(Statement::plain(text)));
    Bracket { open, close, undo: "UNLOCK TABLES" }
}

#[cfg(test)]
mod tests;
