//! What a client does beside its statements: it waits between them, connects anew, and tries again.

use std::time::Duration;

use super::draws::Lots;
use super::options::Options;
use super::options_04::{Mode, Reconnect};
use crate::config::ParameterError;
use crate::driver::Stop;
use crate::workloads::sql::schema::refused;
use crate::workloads::sql::session::pause;

/// The habits of all clients of a case.
#[derive(Debug, Clone)]
pub(super) struct Habits {
    /// How often one operation is tried again.
    pub(super) retries: u32,
    renewal: Renewal,
    /// The wait after connecting anew.
    connect_delay: Duration,
    /// The shortest wait before a statement, and how much longer it may be.
    thinking: Option<[Duration; 2]>,
    /// What is sent first on every connection.
    pub(super) opening: Option<String>,
}

/// When a client connects anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Renewal {
    Never,
    /// After so many operations.
    Every(u64),
    Statement,
    Operation,
    /// By lot, for each operation or for each statement.
    Drawn {
        each_statement: bool,
    },
}

/// When a client connects anew within one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Never,
    AfterEach,
    /// After about every other statement.
    AfterSome,
    AtEnd,
}

impl Habits {
    pub(super) fn of(options: &Options) -> Result<Habits, ParameterError> {
        let modes = &options.modes;
        let complex = modes.mode == Mode::Complex;
        let renewal = match (modes.reconnect, options.reconnect_every) {
            (Reconnect::Session, 0) => Renewal::Never,
            (Reconnect::Session, operations) => Renewal::Every(operations),
            (Reconnect::Query, _) => Renewal::Statement,
            (Reconnect::Transaction, _) if complex && !options.bracket.skip_trx => Renewal::Operation,
            (Reconnect::Transaction, _) => {
                let problem = "no COMMIT is sent after which a client could connect anew".to_owned();
                return Err(refused(
                    "reconnect",
                    problem,
                    "write \"query\" or \"random\", or mode = \"complex\"",
                ));
            }
            (Reconnect::Random, _) => Renewal::Drawn { each_statement: !complex },
        };
        let [shortest, longest] = modes.user_delay.map(|delay| delay.duration());
        let handler = options.point_04.handler;
        Ok(Habits {
            retries: options.retries,
            renewal,
            connect_delay: modes.connect_delay.duration(),
            thinking: (!longest.is_zero()).then(|| [shortest, longest.saturating_sub(shortest)]),
            opening: handler.then(|| format!("HANDLER {} OPEN", options.tables.name(1))),
        })
    }

    /// When a client connects anew within its operation of this number, from 1.
    #[inline]
    pub(super) fn within(&self, operations: u64, lots: &mut Lots) -> Within {
        match self.renewal {
            Renewal::Never => Within::Never,
            Renewal::Every(most) if operations.is_multiple_of(most) => Within::AtEnd,
            Renewal::Every(_) => Within::Never,
            Renewal::Statement => Within::AfterEach,
            Renewal::Operation => Within::AtEnd,
            Renewal::Drawn { each_statement: true } => Within::AfterSome,
            Renewal::Drawn { each_statement: false } => match lots.random().below(3) {
                0 => Within::Never,
                1 => Within::AfterEach,
                _ => Within::AtEnd,
            },
        }
    }

    /// Waits as a person would before a statement; true when the case is being stopped.
    #[inline]
    pub(super) fn think(&self, lots: &mut Lots, stop: &Stop) -> bool {
        match self.thinking {
            None => stop.requested(),
            Some([shortest, more]) => pause(stop, shortest + more.mul_f64(lots.random().uniform())),
        }
    }

    /// Waits after connecting anew; whether that counts as a statement, as it does in 0.4 alone.
    pub(super) fn settle_in(&self, stop: &Stop) -> bool {
        let old = !matches!(self.renewal, Renewal::Every(_));
        if old {
            pause(stop, self.connect_delay);
        }
        old
    }
}

impl Within {
    /// Whether to connect anew after a statement.
    #[inline]
    pub(super) fn after_statement(self, lots: &mut Lots) -> bool {
        self == Within::AfterEach || (self == Within::AfterSome && lots.random().below(2) == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    fn habits(change: impl FnOnce(&mut Options)) -> Result<Habits, ParameterError> {
        let mut options = Options::default();
        options.bracket.skip_trx = false;
        change(&mut options);
        Habits::of(&options)
    }

    fn withins(habits: &Habits) -> Vec<Within> {
        let mut lots = Lots::of(1, 1);
        (1..=100).map(|operations| habits.within(operations, &mut lots)).collect()
    }

    #[test]
    fn a_connection_stays_as_long_as_asked() {
        assert!(withins(&habits(|_| ()).unwrap()).iter().all(|within| *within == Within::Never));
        let every = withins(&habits(|options| options.reconnect_every = 10).unwrap());
        let places: Vec<usize> = (0..100).filter(|place| every[*place] == Within::AtEnd).collect();
        assert_eq!(places, (9..100).step_by(10).collect::<Vec<_>>());
        let query = habits(|options| options.modes.reconnect = Reconnect::Query).unwrap();
        assert!(withins(&query).iter().all(|within| *within == Within::AfterEach));
    }

    #[test]
    fn lots_decide_for_each_transaction_or_for_each_statement() {
        let drawn = withins(&habits(|options| options.modes.reconnect = Reconnect::Random).unwrap());
        for within in [Within::Never, Within::AfterEach, Within::AtEnd] {
            let count = drawn.iter().filter(|drawn| **drawn == within).count();
            assert!((15..55).contains(&count), "{within:?}: {count}");
        }
        let simple = |options: &mut Options| {
            options.modes.reconnect = Reconnect::Random;
            options.modes.mode = Mode::Simple;
        };
        assert!(withins(&habits(simple).unwrap()).iter().all(|within| *within == Within::AfterSome));
        let mut lots = Lots::of(2, 2);
        let some = (0..100).filter(|_| Within::AfterSome.after_statement(&mut lots)).count();
        assert!((30..70).contains(&some), "{some}");
    }

    #[test]
    fn a_transaction_that_nothing_ends_cannot_end_a_connection() {
        for change in
            [(|options: &mut Options| options.modes.mode = Mode::Sp) as fn(&mut Options), |options| {
                options.bracket.skip_trx = true
            }]
        {
            let refusal = habits(|options| {
                options.modes.reconnect = Reconnect::Transaction;
                change(options);
            });
            assert_eq!(refusal.unwrap_err().key, "reconnect");
        }
        assert!(habits(|options| options.modes.reconnect = Reconnect::Transaction).is_ok());
    }

    #[test]
    fn thinking_takes_at_least_the_shortest_time_and_a_stop_ends_it() {
        let delay = [Span::from_millis(20), Span::from_millis(30)];
        let habits = habits(|options| options.modes.user_delay = delay).unwrap();
        let (stop, begun) = (Stop::new(), std::time::Instant::now());
        assert!(!habits.think(&mut Lots::of(1, 1), &stop));
        assert!(begun.elapsed() >= Duration::from_millis(20));
        stop.request();
        assert!(habits.think(&mut Lots::of(1, 1), &stop));
    }
}
