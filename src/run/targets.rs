//! The targets of one run in the worker: opened when a case first needs them, closed when the run is over.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::groups::{Groups, SERVER};
use super::guards::{connections_of, most_of};
use super::limits::{self, Stamp};
use super::protocol::{RunRequest, TargetRequest};
use super::recover::LeftOver;
use crate::driver::Stop;
use crate::record::Profile;
use crate::target::{
    self, Abandoned, Access, Asker, Client, Connections, DaemonIdentity, Directory, Killed, OfRun, Prepared,
    PreparedTarget, ScratchOptions, ScratchServer, Way,
};
use crate::text::counted;
use crate::units::{Bytes, Span};
use crate::workloads;

/// The local side of the proof of what benchd owns on servers, in the state directory.
pub(crate) const LEDGER: &str = "scratch.json";

/// The longest a server may take to end what a run left open on it.
const KILL_LIMIT: Span = Span::from_secs(2);

/// Takes what is to be said while targets are opened and closed.
pub(super) trait Teller {
    /// A sentence that a person should read.
    fn note(&self, text: String);
    /// Something of an earlier run was ended or removed.
    fn left_over(&self, kind: LeftOver);
}

/// Targets opened so far.
pub(super) struct Targets<'a> {
    request: &'a RunRequest,
    groups: &'a Groups,
    stop: Stop,
    open: BTreeMap<String, Open>,
}

struct Open {
    server: Option<ScratchServer>,
    /// Whether the server runs on while other targets are used.
    stays: bool,
    /// Most memory of its own server.
    memory: Bytes,
    prepared: Prepared,
    facts: BTreeMap<String, String>,
    /// What holds for its own server.
    limits: Stamp,
}

impl<'a> Targets<'a> {
    pub(super) fn new(request: &'a RunRequest, groups: &'a Groups, stop: Stop) -> Targets<'a> {
        Targets { request, groups, stop, open: BTreeMap::new() }
    }

    /// The target of that name, made ready: a scratch server runs, the schema is claimed.
    pub(super) fn open(&mut self, name: &str, teller: &dyn Teller) -> Result<&mut Prepared> {
        if !self.open.contains_key(name) {
            let opened = self.make_ready(name, teller)?;
            self.open.insert(name.to_owned(), opened);
        }
        self.open.get_mut(name).map(|open| &mut open.prepared).context("the target was just opened")
    }

    /// How a load gets to a target.
    pub(super) fn way(&self, name: &str) -> Option<Way> {
        let mut way = self.open.get(name)?.prepared.way();
        if let Way::Server(access) = &mut way {
            access.limit_on_server = self.limits_on_server();
        }
        Some(way)
    }

    /// What a statement of the load may take, and who sees to it.
    fn limit_of(&self, access: &Access) -> Stamp {
        let by = if self.limits_on_server() { "client and server" } else { "client" };
        Stamp::from([("statement_timeout".to_owned(), format!("{} by {by}", access.statement_timeout))])
    }

    /// Whether servers limit the load's statements too. MariaDB keeps the limits of all connections under one lock, which
    /// many clients wait for: a machine without users is spared that.
    fn limits_on_server(&self) -> bool {
        self.request.profile != Profile::Lab
    }

    pub(super) fn facts(&self, name: &str) -> BTreeMap<String, String> {
        self.open.get(name).map(|open| open.facts.clone()).unwrap_or_default()
    }

    pub(super) fn limits(&self, name: &str) -> Stamp {
        self.open.get(name).map(|open| open.limits.clone()).unwrap_or_default()
    }

    fn make_ready(&mut self, name: &str, teller: &dyn Teller) -> Result<Open> {
        let request =
            self.request.targets.get(name).with_context(|| format!("target `{name}` is not defined"))?;
        match request {
            TargetRequest::Server { access, accept_excess_privileges } => {
                if !accept_excess_privileges {
                    refuse_excess(name, access)?;
                }
                self.check_connections(name, access, teller)?;
                self.claim(name, access, None, teller)
            }
            TargetRequest::Scratch(options) => {
                self.make_room(teller)?;
                let (server, limits) = self.start_scratch_server(name, options, teller)?;
                let access = server.access().clone();
                let mut open = self.claim(name, &access, Some(server), teller)?;
                open.limits.extend(limits);
                Ok(Open { stays: options.keep_running, memory: options.memory_max, ..open })
            }
            TargetRequest::Directory(options) => {
                let directory = Directory::open(name, options)?;
                let facts = target::facts_of(&options.path);
                let (prepared, limits) = (Prepared::Directory(directory), Stamp::new());
                Ok(Open { server: None, stays: false, memory: Bytes::default(), prepared, facts, limits })
            }
        }
    }

    /// Starts a scratch server in the control group of those that run; gives what of their memory holds.
    fn start_scratch_server(
        &self,
        name: &str,
        options: &ScratchOptions,
        teller: &dyn Teller,
    ) -> Result<(ScratchServer, Stamp)> {
        let stop = || self.stop.requested();
        let mut note = |text| teller.note(text);
        let mut limits = Stamp::new();
        let most = options.memory_max.get() + self.open.values().map(|open| open.memory.get()).sum::<u64>();
        let most = Bytes::new(most);
        let mut start = |command: &mut Command| {
            let started = self.groups.start(SERVER, most, || command.spawn());
            limits::enter(&mut limits, "server_memory_max", &most, started.limited);
            started.started
        };
        let mut asker =
            Asker { daemon: self.request.identity, stop: &stop, start: &mut start, note: &mut note };
        let server = ScratchServer::start(options, name, &mut asker)?;
        Ok((server, limits))
    }

    /// Connects, and proves what of the server is benchd's.
    fn claim(
        &self,
        name: &str,
        access: &Access,
        server: Option<ScratchServer>,
        teller: &dyn Teller,
    ) -> Result<Open> {
        let run = self.request.id.to_string();
        let stop = self.stop.clone();
        let access = Access {
            daemon: Some(self.request.identity),
            run: run.clone(),
            abandoned: Abandoned::when(move || stop.requested()),
            ..access.clone()
        };
        let daemon = DaemonIdentity { uuid: self.request.identity, host: self.request.host.clone() };
        let mut client = Client::connect(&access).with_context(|| format!("target {name}"))?;
        let facts = match &server {
            Some(server) => server.facts().clone(),
            None => target::facts(&mut client).with_context(|| format!("target {name}"))?,
        };
        let ledger = self.request.state_directory.join(LEDGER);
        let mut prepared = PreparedTarget::claim(&mut client, name, &daemon, &ledger)?;
        if server.is_none() {
            self.end_connections(&mut client, name, OfRun::Others(&run), teller)?;
        }
        for table in prepared.schema.drop_half_loaded(&mut client)? {
            teller.note(format!("table {table} on {name} was left half loaded by an earlier run: dropped"));
            teller.left_over(LeftOver::Schema);
        }
        client.close();
        prepared.schema.want(self.data_sets(name));
        let limits = self.limit_of(&access);
        let prepared = Prepared::Server(Box::new(prepared));
        Ok(Open { server, stays: false, memory: Bytes::default(), prepared, facts, limits })
    }

    /// The data sets that the cases of this run use on a target.
    fn data_sets(&self, name: &str) -> BTreeSet<String> {
        let cases = self.request.cases.iter().filter(|case| case.target.as_deref() == Some(name));
        cases.filter_map(|case| workloads::data_set(&case.workload, &case.parameters)).collect()
    }

    /// Ends connections that runs of this daemon left open on a server.
    fn end_connections(
        &self,
        client: &mut Client,
        name: &str,
        of: OfRun<'_>,
        teller: &dyn Teller,
    ) -> Result<()> {
        match target::kill_own(client, self.request.identity, of).with_context(|| format!("target {name}"))? {
            Killed::Some(0) | Killed::Unseen(0) => {}
            Killed::Some(count) => {
                let connections = counted(count, "connection");
                teller.note(format!("{connections} of a run that was cut short, on {name}: killed"));
                teller.left_over(LeftOver::Schema);
            }
            Killed::Unseen(count) => teller.note(format!(
                "{name} has {} by benchd's account in its schema; for what cannot be seen with performance_schema off: left \
                 alone",
                counted(count, "more connection")
            )),
        }
        Ok(())
    }

    /// A live server keeps room for its users; in profile lab it is only said.
    fn check_connections(&self, name: &str, access: &Access, teller: &dyn Teller) -> Result<()> {
        let cases = self.request.cases.iter().filter(|case| case.target.as_deref() == Some(name));
        let asked = cases.map(|case| connections_of(&case.parameters)).max().unwrap_or(0);
        let mut client = Client::connect(access).with_context(|| format!("target {name}"))?;
        let found = Connections::of(&mut client).with_context(|| format!("target {name}"))?;
        client.close();
        let most = most_of(found.most.saturating_sub(found.open));
        if asked <= most {
            return Ok(());
        }
        let why = format!(
            "connections: a case opens {asked} to {name}, where {} of {} are in use (limit {most})",
            found.open, found.most
        );
        ensure!(self.request.profile == Profile::Lab, "{why}; use fewer threads");
        teller.note(why);
        Ok(())
    }

    /// Ends what the run itself still has open on servers that exist, after a stop or a load that was cut short. A
    /// server that does not answer is not waited for.
    pub(super) fn end_own_connections(&self, teller: &dyn Teller) {
        let run = self.request.id.to_string();
        let existing = self.open.iter().filter_map(|(name, open)| match (&open.server, &open.prepared) {
            (None, Prepared::Server(server)) => Some((name, &server.access)),
            _ => None,
        });
        for (name, access) in existing {
            let access = Access {
                schema: None,
                suppress_binlog: false,
                lock_wait_timeout: Span::ZERO,
                connect_timeout: KILL_LIMIT,
                statement_timeout: KILL_LIMIT,
                ..access.clone()
            };
            let ended = Client::connect(&access)
                .map_err(anyhow::Error::from)
                .and_then(|mut client| self.end_connections(&mut client, name, OfRun::This(&run), teller));
            if let Err(error) = ended {
                teller.note(format!(
                    "connections to {name} may be left for the server to end, or for the next run: {error:#}"
                ));
            }
        }
    }

    /// One scratch server at a time, beside those that were asked to stay: the memory of two is more than a host may
    /// have.
    fn make_room(&mut self, teller: &dyn Teller) -> Result<()> {
        let (going, others) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|(_, open)| open.server.is_some() && !open.stays);
        self.open = others;
        close_all(going, teller)
    }

    /// Closes what is open; every target is closed, whatever happens to the others.
    pub(super) fn close(self, teller: &dyn Teller) -> Result<()> {
        close_all(self.open, teller)
    }
}

/// An account that could harm a live server is not used for load by oversight.
fn refuse_excess(name: &str, access: &Access) -> Result<()> {
    let mut client = Client::connect(access).with_context(|| format!("target {name}"))?;
    let excess = target::excess_privileges(&mut client).with_context(|| format!("target {name}"))?;
    client.close();
    ensure!(
        excess.is_empty(),
        "target {name}: the account {} has {} on *.*, far more than it needs; take one with rights on benchd's own \
         schema alone, or set accept_excess_privileges = true in [target.{name}]",
        access.user,
        excess.join(", ")
    );
    Ok(())
}

fn close_all(open: BTreeMap<String, Open>, teller: &dyn Teller) -> Result<()> {
    let mut first = Ok(());
    for (name, open) in open {
        let Some(server) = open.server else { continue };
        match server.stop() {
            Ok(()) => teller.note(format!("scratch server of target {name} stopped")),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}
