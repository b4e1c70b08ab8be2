//! The targets of one run in the worker: opened when a case first needs them, closed when the run is over.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};

use super::protocol::{RunRequest, TargetRequest};
use crate::driver::Stop;
use crate::target::{
    self, Access, Asker, Client, DaemonIdentity, Directory, Prepared, PreparedTarget, ScratchServer, Way,
};

/// The local side of the proof of what benchd owns on servers, in the state directory.
const LEDGER: &str = "scratch.json";

/// Targets opened so far.
pub(super) struct Targets<'a> {
    request: &'a RunRequest,
    stop: Stop,
    open: BTreeMap<String, Open>,
}

struct Open {
    server: Option<ScratchServer>,
    prepared: Prepared,
    facts: BTreeMap<String, String>,
}

impl<'a> Targets<'a> {
    pub(super) fn new(request: &'a RunRequest, stop: Stop) -> Targets<'a> {
        Targets { request, stop, open: BTreeMap::new() }
    }

    /// The target of that name, made ready: a scratch server runs, the schema is claimed.
    pub(super) fn open(&mut self, name: &str, note: &mut dyn FnMut(String)) -> Result<&mut Prepared> {
        if !self.open.contains_key(name) {
            let opened = self.make_ready(name, note)?;
            self.open.insert(name.to_owned(), opened);
        }
        self.open.get_mut(name).map(|open| &mut open.prepared).context("the target was just opened")
    }

    pub(super) fn way(&self, name: &str) -> Option<Way> {
        self.open.get(name).map(|open| open.prepared.way())
    }

    pub(super) fn facts(&self, name: &str) -> BTreeMap<String, String> {
        self.open.get(name).map(|open| open.facts.clone()).unwrap_or_default()
    }

    fn make_ready(&mut self, name: &str, note: &mut dyn FnMut(String)) -> Result<Open> {
        let request =
            self.request.targets.get(name).with_context(|| format!("target `{name}` is not defined"))?;
        match request {
            TargetRequest::Server { access, accept_excess_privileges } => {
                if !accept_excess_privileges {
                    refuse_excess(name, access)?;
                }
                self.claim(name, access, None)
            }
            TargetRequest::Scratch(options) => {
                self.stop_scratch_servers(note)?;
                let stop = || self.stop.requested();
                let mut asker = Asker { daemon: self.request.identity, stop: &stop, note };
                let server = ScratchServer::start(options, name, &mut asker)?;
                let access = server.access().clone();
                self.claim(name, &access, Some(server))
            }
            TargetRequest::Directory(options) => {
                let directory = Directory::open(name, options)?;
                let facts = BTreeMap::from([("path".to_owned(), options.path.display().to_string())]);
                Ok(Open { server: None, prepared: Prepared::Directory(directory), facts })
            }
        }
    }

    /// Connects, and proves what of the server is benchd's.
    fn claim(&self, name: &str, access: &Access, server: Option<ScratchServer>) -> Result<Open> {
        let access = Access { run: self.request.id.to_string(), ..access.clone() };
        let daemon = DaemonIdentity { uuid: self.request.identity, host: self.request.host.clone() };
        let mut client = Client::connect(&access).with_context(|| format!("target {name}"))?;
        let facts = match &server {
            Some(server) => server.facts().clone(),
            None => target::facts(&mut client).with_context(|| format!("target {name}"))?,
        };
        let ledger = self.request.state_directory.join(LEDGER);
        let prepared = PreparedTarget::claim(&mut client, name, &daemon, &ledger)?;
        client.close();
        Ok(Open { server, prepared: Prepared::Server(Box::new(prepared)), facts })
    }

    /// One scratch server at a time: the memory of two is more than a host may have.
    fn stop_scratch_servers(&mut self, note: &mut dyn FnMut(String)) -> Result<()> {
        let (scratch, others) =
            std::mem::take(&mut self.open).into_iter().partition(|(_, open)| open.server.is_some());
        self.open = others;
        close_all(scratch, note)
    }

    /// Closes what is open; every target is closed, whatever happens to the others.
    pub(super) fn close(self, note: &mut dyn FnMut(String)) -> Result<()> {
        close_all(self.open, note)
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

fn close_all(open: BTreeMap<String, Open>, note: &mut dyn FnMut(String)) -> Result<()> {
    let mut first = Ok(());
    for (name, open) in open {
        let Some(server) = open.server else { continue };
        match server.stop() {
            Ok(()) => note(format!("scratch server of target {name} stopped")),
            Err(error) => first = first.and(Err(error)),
        }
    }
    first
}
