//! The workloads `oltp_point_select`, `oltp_read_only`, `oltp_write_only` and `oltp_read_write`: the scripts of
//! sysbench 1.0.20 with their tables, statements, counts and random ids.
//!
//! One implementation; a [`Script`] says which groups of statements an operation has.

mod client;
mod options;
mod transaction;

use uuid::Uuid;

use self::client::{OltpClient, Seeds};
use self::options::{BRACKET_KEYS, Bracket, READ_KEYS, Reads, SENDING_KEYS, Sending, WRITE_KEYS, Writes};
use self::transaction::{Group, Transaction};
use super::sql::ids::{ID_KEYS, IdOptions};
use super::sql::loader::Load;
use super::sql::schema::{TABLE_KEYS, Tables, refused};
use super::{Common, Kind, Needs, Workload, defaults_of, take};
use crate::config::ParameterError;
use crate::driver::{DriveError, Observed, Plan, Stop, drive};
use crate::record::{CaseResult, Parameters};
use crate::target::{Prepared, Way};

/// What an operation is made of.
#[derive(Debug)]
struct Script {
    /// The groups of statements in the order they are sent.
    groups: &'static [Group],
    /// Whether BEGIN and COMMIT enclose them, unless `skip_trx` says otherwise.
    bracketed: bool,
}

const POINT_SELECT_SCRIPT: Script = Script { groups: &[Group::PointSelects], bracketed: false };

const READ_ONLY_SCRIPT: Script = Script {
    groups: &[
        Group::PointSelects,
        Group::SimpleRanges,
        Group::SumRanges,
        Group::OrderRanges,
        Group::DistinctRanges,
    ],
    bracketed: true,
};

const WRITE_ONLY_SCRIPT: Script =
    Script { groups: &[Group::IndexUpdates, Group::NonIndexUpdates, Group::DeleteInserts], bracketed: true };

const READ_WRITE_SCRIPT: Script = Script {
    groups: &[
        Group::PointSelects,
        Group::SimpleRanges,
        Group::SumRanges,
        Group::OrderRanges,
        Group::DistinctRanges,
        Group::IndexUpdates,
        Group::NonIndexUpdates,
        Group::DeleteInserts,
    ],
    bracketed: true,
};

/// One row by its primary key.
pub(super) const POINT_SELECT: Kind = Kind {
    name: "oltp_point_select",
    about: "one row by its primary key, each statement on its own",
    operation: "transaction",
    revision: 1,
    needs: Needs::Server,
    keys: &[TABLE_KEYS, ID_KEYS, SENDING_KEYS, Common::KEYS],
    defaults: || defaults(&POINT_SELECT_SCRIPT),
    build: |parameters| build(&POINT_SELECT_SCRIPT, parameters),
};

/// Reads in a transaction.
pub(super) const READ_ONLY: Kind = Kind {
    name: "oltp_read_only",
    about: "transactions of 10 rows by key and 4 ranges, reading only",
    operation: "transaction",
    revision: 1,
    needs: Needs::Server,
    keys: &[TABLE_KEYS, ID_KEYS, READ_KEYS, BRACKET_KEYS, SENDING_KEYS, Common::KEYS],
    defaults: || defaults(&READ_ONLY_SCRIPT),
    build: |parameters| build(&READ_ONLY_SCRIPT, parameters),
};

/// Writes in a transaction.
pub(super) const WRITE_ONLY: Kind = Kind {
    name: "oltp_write_only",
    about: "transactions of 2 updates, a delete and an insert",
    operation: "transaction",
    revision: 1,
    needs: Needs::Server,
    keys: &[TABLE_KEYS, ID_KEYS, WRITE_KEYS, BRACKET_KEYS, SENDING_KEYS, Common::KEYS],
    defaults: || defaults(&WRITE_ONLY_SCRIPT),
    build: |parameters| build(&WRITE_ONLY_SCRIPT, parameters),
};

/// Reads and writes in a transaction.
pub(super) const READ_WRITE: Kind = Kind {
    name: "oltp_read_write",
    about: "transactions of 14 reads and 4 writes, the mix that sysbench is known for",
    operation: "transaction",
    revision: 1,
    needs: Needs::Server,
    keys: &[TABLE_KEYS, ID_KEYS, READ_KEYS, WRITE_KEYS, BRACKET_KEYS, SENDING_KEYS, Common::KEYS],
    defaults: || defaults(&READ_WRITE_SCRIPT),
    build: |parameters| build(&READ_WRITE_SCRIPT, parameters),
};

impl Script {
    fn reads_ranges(&self) -> bool {
        self.groups.contains(&Group::SimpleRanges)
    }

    fn writes(&self) -> bool {
        self.groups.contains(&Group::IndexUpdates)
    }
}

/// The keys that mean something to a script, with their defaults.
fn defaults(script: &Script) -> Parameters {
    let mut parameters = defaults_of::<Tables>();
    parameters.extend(defaults_of::<IdOptions>());
    parameters.extend(defaults_of::<Sending>());
    if script.reads_ranges() {
        parameters.extend(defaults_of::<Reads>());
    }
    if script.writes() {
        parameters.extend(defaults_of::<Writes>());
    }
    if script.bracketed {
        parameters.extend(defaults_of::<Bracket>());
    }
    parameters.extend(defaults_of::<Common>());
    parameters
}

fn build(script: &Script, parameters: &Parameters) -> Result<Box<dyn Workload>, ParameterError> {
    Ok(Box::new(Oltp::new(script, parameters)?))
}

/// One case of any of the four.
#[derive(Debug)]
struct Oltp {
    common: Common,
    tables: Tables,
    ids: IdOptions,
    sending: Sending,
    transaction: Transaction,
}

impl Oltp {
    fn new(script: &Script, parameters: &Parameters) -> Result<Oltp, ParameterError> {
        let mut rest = parameters.clone();
        let tables: Tables = take(&mut rest)?;
        let ids: IdOptions = take(&mut rest)?;
        let sending: Sending = take(&mut rest)?;
        let reads = if script.reads_ranges() { take(&mut rest)? } else { Reads::ONE_POINT };
        let writes = if script.writes() { take(&mut rest)? } else { Writes::default() };
        let bracket = if script.bracketed { take(&mut rest)? } else { Bracket { skip_trx: true } };
        let common = Common::take_rest(rest)?;
        tables.check()?;
        ids.check()?;
        reads.check()?;
        let transaction = Transaction {
            bracketed: !bracket.skip_trx,
            groups: groups(script, &reads, &writes)?,
            range_size: reads.range_size,
            tables: tables.tables,
            ids: ids.over(tables.table_size),
        };
        Ok(Oltp { common, tables, ids, sending, transaction })
    }
}

/// The groups that send anything, with their counts.
fn groups(script: &Script, reads: &Reads, writes: &Writes) -> Result<Vec<(Group, u32)>, ParameterError> {
    let counted = script.groups.iter().map(|group| (*group, group.count(reads, writes)));
    let groups: Vec<(Group, u32)> = counted.filter(|(_, count)| *count > 0).collect();
    if groups.is_empty() {
        let key = if script.reads_ranges() { "point_selects" } else { "index_updates" };
        let problem = "with all counts at 0 an operation has no statement";
        return Err(refused(key, problem, "leave one of the counts above 0"));
    }
    Ok(groups)
}

impl Workload for Oltp {
    fn plan(&self) -> Plan {
        self.common.plan()
    }

    fn prepare(
        &self,
        at: Option<&mut Prepared>,
        stop: &Stop,
        progress: &mut dyn FnMut(u64, u64, &'static str),
    ) -> anyhow::Result<()> {
        let at = at
            .and_then(Prepared::server)
            .ok_or_else(|| anyhow::anyhow!("no tables are made without a server: give `target`"))?;
        let load = Load {
            tables: &self.tables,
            k: &self.transaction.ids,
            description: self.tables.description(self.common.seed, &self.ids.description()),
            seed: self.common.seed,
            threads: self.common.threads,
        };
        load.ensure(at, stop, progress)
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
        let seeds = Seeds { case: self.common.seed, run: Uuid::new_v4().as_u64_pair().0 };
        let connect =
            |_client| OltpClient::connect(access, &self.transaction, self.sending, seeds, stop.clone());
        drive(&self.plan(), stop, connect, observe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    const KINDS: [&Kind; 4] = [&POINT_SELECT, &READ_ONLY, &WRITE_ONLY, &READ_WRITE];

    fn refusal(kind: &Kind, key: &str, value: Value) -> Option<String> {
        let mut parameters = (kind.defaults)();
        parameters.insert(key.to_owned(), value);
        (kind.build)(&parameters).err().map(|error| error.key)
    }

    #[test]
    fn every_key_with_a_default_is_explained_and_no_other() {
        for kind in KINDS {
            let defaults: BTreeSet<String> = (kind.defaults)().keys().cloned().collect();
            let explained: BTreeSet<String> =
                kind.keys.iter().flat_map(|group| group.iter()).map(|key| key.name.to_owned()).collect();
            assert_eq!(defaults, explained, "{}", kind.name);
            assert!((kind.build)(&(kind.defaults)()).is_ok(), "{}", kind.name);
        }
    }

    #[test]
    fn a_kind_knows_only_keys_that_mean_something_to_it() {
        for (kind, key) in [
            (&POINT_SELECT, "point_selects"),
            (&POINT_SELECT, "skip_trx"),
            (&READ_ONLY, "index_updates"),
            (&WRITE_ONLY, "range_size"),
        ] {
            assert_eq!(refusal(kind, key, json!(1)).as_deref(), Some(key), "{}", kind.name);
        }
    }

    #[test]
    fn senseless_values_are_refused_by_their_key() {
        for (key, value) in [
            ("tables", json!(0)),
            ("tables", json!(-1)),
            ("table_size", json!(0)),
            ("engine", json!("inno`db")),
            ("create_options", json!("UNION=(t)")),
            ("rand_type", json!("normal")),
            ("rand_spec_pct", json!(101)),
            ("protocol", json!("binary")),
            ("range_size", json!(0)),
            ("skip_trx", json!("yes")),
            ("retries", json!("many")),
            ("threads", json!(0)),
            ("random_points", json!(10)),
        ] {
            assert_eq!(refusal(&READ_WRITE, key, value.clone()).as_deref(), Some(key), "{value}");
        }
    }

    #[test]
    fn an_operation_without_statements_is_refused() {
        let mut parameters = (WRITE_ONLY.defaults)();
        for key in ["index_updates", "non_index_updates", "delete_inserts"] {
            assert!((WRITE_ONLY.build)(&parameters).is_ok());
            parameters.insert(key.to_owned(), json!(0));
        }
        assert_eq!((WRITE_ONLY.build)(&parameters).err().unwrap().key, "index_updates");
    }

    fn counts(kind_script: &Script, changes: &[(&str, Value)]) -> (bool, Vec<u32>) {
        let mut parameters = defaults(kind_script);
        parameters.extend(changes.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
        let transaction = Oltp::new(kind_script, &parameters).unwrap().transaction;
        (transaction.bracketed, transaction.groups.iter().map(|(_, count)| *count).collect())
    }

    #[test]
    fn operations_have_the_statements_of_sysbench() {
        assert_eq!(counts(&POINT_SELECT_SCRIPT, &[]), (false, vec![1]));
        assert_eq!(counts(&READ_ONLY_SCRIPT, &[]), (true, vec![10, 1, 1, 1, 1]));
        assert_eq!(counts(&WRITE_ONLY_SCRIPT, &[]), (true, vec![1, 1, 1]));
        assert_eq!(counts(&READ_WRITE_SCRIPT, &[]), (true, vec![10, 1, 1, 1, 1, 1, 1, 1]));
        let changes = [("range_selects", json!(false)), ("skip_trx", json!(true))];
        assert_eq!(counts(&READ_WRITE_SCRIPT, &changes), (false, vec![10, 1, 1, 1]));
    }
}
