//! The oltp workloads: the scripts of sysbench 1.0.20 with their tables, statements, counts and random ids; and
//! `oltp05` and `oltp04`, which behave as the scripts of the same purpose did in 0.5 and 0.4.
//!
//! One implementation; a [`Script`] says which groups of statements an operation has, and which keys decide it.
//! `bulk_insert`, whose operations are rows, is on its own.

mod bulk;
mod client;
mod draws;
mod group;
mod habits;
mod keys;
mod kinds;
mod options;
mod options_04;
mod transaction;
mod unique;

use uuid::Uuid;

use self::client::{OltpClient, Task};
use self::draws::{Place, Seeds};
use self::group::{Generation, Group};
use self::habits::Habits;
use self::options::{Options, Section};
use self::transaction::Transaction;
use super::sql::loader::Load;
use super::sql::prewarm;
use super::sql::schema::refused;
use super::{Common, Key, Workload, defaults_of};
use crate::config::ParameterError;
use crate::driver::random::Ids;
use crate::driver::{DriveError, Observed, Plan, Stop, drive};
use crate::record::{CaseResult, Parameters};
use crate::target::{Prepared, PreparedTarget, Way};

pub(super) use self::bulk::KIND as BULK_INSERT;
pub(super) use self::kinds::{
    DELETE, INSERT, OLTP_04, OLTP_05, POINT_SELECT, RANDOM_POINTS, RANDOM_RANGES, READ_ONLY, READ_WRITE,
    UPDATE_INDEX, UPDATE_NON_INDEX, WRITE_ONLY,
};

/// What an operation is made of.
#[derive(Debug)]
struct Script {
    generation: Generation,
    /// The groups of statements in the order they are sent.
    groups: fn(&Options) -> &'static [Group],
    keys: Keys,
    /// What follows from all keys together, and must be so.
    settle: fn(&mut Options) -> Result<(), ParameterError>,
}

/// The keys of a script, its own first.
#[derive(Debug, Clone, Copy)]
struct Keys {
    /// Beside those of every workload.
    sections: &'static [&'static Section],
    /// What all of them mean.
    described: &'static [&'static [Key]],
}

/// The keys that mean something to a script, with their defaults.
fn defaults(script: &Script) -> Parameters {
    let mut parameters = Parameters::new();
    script.keys.sections.iter().for_each(|section| parameters.extend((section.defaults)()));
    parameters.extend(defaults_of::<Common>());
    parameters
}

fn build(script: &Script, parameters: &Parameters) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(Oltp::new(script, parameters)?))
}

/// One case of any of the scripts.
#[derive(Debug)]
struct Oltp {
    common: Common,
    options: Options,
    /// The ids of a whole table.
    ids: Ids,
    /// Whether each client meets ids of its own part of the table.
    parted: bool,
    transaction: Transaction,
    habits: Habits,
}

impl Oltp {
    fn new(script: &Script, parameters: &Parameters) -> Result<Oltp, ParameterError> {
        let mut rest = parameters.clone();
        let mut options = Options::default();
        script.keys.sections.iter().try_for_each(|section| (section.take)(&mut rest, &mut options))?;
        let common = Common::take_rest(rest)?;
        (script.settle)(&mut options)?;
        let groups = groups(script, &options)?;
        let sends = |wanted: Group| groups.iter().any(|(group, _)| *group == wanted);
        options.tables.shape = script.generation.shape();
        // Ids that the client gives to new rows must not meet those of loaded ones; 0.4 empties its table first.
        let given = !options.tables.auto_inc || script.generation == Generation::V04;
        options.tables.empty = sends(Group::Inserts) && given;
        options.ids.old = script.generation != Generation::V10;
        Ok(Oltp {
            ids: options.ids.over(options.tables.table_size),
            parted: sends(Group::RandomPoints) || sends(Group::RandomRanges),
            transaction: Transaction::new(script.generation, &options, &groups),
            habits: Habits::of(&options)?,
            common,
            options,
        })
    }

    /// What decides the rows of each table.
    fn description(&self) -> String {
        self.options.tables.description(self.common.seed, &self.options.ids.description())
    }

    /// The ids that a client meets.
    fn ids_of(&self, place: Place) -> Ids {
        if !self.parted {
            return self.ids.clone();
        }
        // Both ends are met, and the first of all is 0, as in sysbench.
        let border = |client: u32| {
            u64::from(self.options.tables.table_size) * u64::from(client) / u64::from(place.clients)
        };
        self.options.ids.between(border(place.client), border(place.client + 1))
    }
}

/// The groups that send anything, with their counts.
fn groups(script: &Script, options: &Options) -> Result<Vec<(Group, u32)>, ParameterError> {
    let all = (script.groups)(options);
    let counted = all.iter().filter(|group| group.is_of(options.only));
    let counted = counted.map(|group| (*group, group.count(options)));
    let groups: Vec<(Group, u32)> = counted.filter(|(_, count)| *count > 0).collect();
    if groups.is_empty() {
        let key = all.first().map_or("point_selects", |group| group.key());
        let problem = "with all counts at 0 an operation has no statement".to_owned();
        return Err(refused(key, problem, "leave one of the counts above 0"));
    }
    Ok(groups)
}

fn server(at: Option<&mut Prepared>) -> anyhow::Result<&mut PreparedTarget> {
    at.and_then(Prepared::server)
        .ok_or_else(|| anyhow::anyhow!("no tables are made without a server: give `target`"))
}

impl Workload for Oltp {
    fn plan(&self) -> Plan {
        self.common.plan()
    }

    fn data_set(&self) -> Option<String> {
        self.options.tables.reuse.then(|| self.description())
    }

    fn prepare(
        &self,
        at: Option<&mut Prepared>,
        stop: &Stop,
        progress: &mut dyn FnMut(u64, u64, &'static str),
    ) -> anyhow::Result<()> {
        let at = server(at)?;
        let load = Load {
            tables: &self.options.tables,
            k: &self.ids,
            description: self.description(),
            seed: self.common.seed,
            threads: self.common.threads,
        };
        load.ensure(at, stop, progress)?;
        if self.options.prewarm {
            prewarm::read_all(&at.access, &self.options.tables, stop, progress)?;
        }
        Ok(())
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
        let task = Task {
            access,
            transaction: &self.transaction,
            protocol: self.options.protocol,
            habits: &self.habits,
            seeds: Seeds { case: self.common.seed, run: Uuid::new_v4().as_u64_pair().0 },
            stop,
        };
        let connect = |client| {
            let place = Place { client, clients: self.common.threads };
            OltpClient::connect(&task, place, self.ids_of(place))
        };
        drive(&self.plan(), stop, connect, observe)
    }
}

#[cfg(test)]
mod tests;
