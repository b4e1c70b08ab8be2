//! `benchd scratch`: what benchd owns where, and its removal.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::source::nothing_there;
use super::{Common, Output, local, runtime, text};
use crate::config::{Config, Target};
use crate::daemon;
use crate::exit::{Ended, Exit};
use crate::inventory::HostFacts;
use crate::record::SCHEMA;
use crate::run::{SCHEMAS, server_access};
use crate::store::Reader;
use crate::target::{
    self, Client, DaemonIdentity, OwnedSchema, OwnershipError, ScratchHome, foreign_schemas,
};
use crate::text::counted;

/// What benchd owns where, with sizes; and its removal
#[derive(Debug, clap::Args)]
pub(crate) struct Scratch {
    /// Only this target
    target: Option<String>,
    /// Remove it: data of scratch servers, tables on servers one by one, each after the proof that benchd made it
    #[arg(long)]
    remove: bool,
}

/// One thing that was found.
enum Found {
    Schema {
        target: String,
        schema: Box<OwnedSchema>,
        bytes: u64,
    },
    Home(ScratchHome),
    /// Under benchd's names or in its way, and not proved to be its own.
    Foreign {
        target: String,
        what: String,
    },
}

/// Who looks, and where the local side of the proof is.
struct Owner<'a> {
    daemon: DaemonIdentity,
    local: &'a Path,
}

impl Scratch {
    pub(crate) fn execute(&self, common: &Common) -> Result<Exit> {
        let config = common.load()?.config;
        if let Some(name) = self.target.as_ref().filter(|name| !config.targets.contains_key(*name)) {
            let known: Vec<&str> = config.targets.keys().map(String::as_str).collect();
            let why = format!("target `{name}` is not defined; defined are: {}", known.join(", "));
            return Err(Ended::because(Exit::Wrong, why));
        }
        let store = local::store_path(&config)?;
        if !store.exists() {
            return Err(nothing_there(&store));
        }
        let uuid = Reader::open(&store)?.identity()?;
        let local = daemon::state_directory(&store).join(SCHEMAS);
        let owner = Owner { daemon: DaemonIdentity { uuid, host: HostFacts::read().name() }, local: &local };
        if self.remove {
            return self.remove(&config, &owner, common.output);
        }
        show(&self.find(&config, &owner), "", common.output)
    }

    /// Removes what is proved to be benchd's. No run can be under way meanwhile: this process holds the store.
    fn remove(&self, config: &Config, owner: &Owner<'_>, output: Output) -> Result<Exit> {
        let runner = local::runner(config).context("nothing was removed")?;
        runtime()?.block_on(runner.recover(&config.targets));
        let found = self.find(config, owner);
        let mut failed = None;
        for one in &found {
            let removed = remove_one(one, config, owner);
            failed = failed.or(removed.err());
        }
        show(&found, "removed ", output)?;
        failed.map_or(Ok(Exit::Done), Err)
    }

    fn find(&self, config: &Config, owner: &Owner<'_>) -> Vec<Found> {
        let wanted = |name: &str| self.target.as_deref().is_none_or(|target| target == name);
        let targets = config.targets.iter().filter(|(name, _)| wanted(name));
        targets.flat_map(|(name, target)| find_at(name, target, owner)).collect()
    }
}

fn find_at(name: &str, target: &Target, owner: &Owner<'_>) -> Vec<Found> {
    let found = match target {
        Target::Server(_) => on_server(name, target, owner),
        Target::Scratch(scratch) => target::scratch_homes(&scratch.directory, owner.daemon.uuid)
            .map(|homes| homes.into_iter().filter(|home| home.target == name).map(Found::Home).collect()),
        // Files of a load have no names: none outlives its run.
        Target::Directory(_) => Ok(Vec::new()),
    };
    found.unwrap_or_else(|error| {
        vec![Found::Foreign { target: name.to_owned(), what: format!("cannot be seen: {error:#}") }]
    })
}

fn on_server(name: &str, target: &Target, owner: &Owner<'_>) -> Result<Vec<Found>> {
    let mut client = connect(name, target)?;
    let mut found = Vec::new();
    match OwnedSchema::existing(&mut client, name, &owner.daemon, owner.local) {
        Ok(None) => {}
        Ok(Some(schema)) => {
            let bytes = schema.bytes(&mut client)?;
            found.push(Found::Schema { target: name.to_owned(), schema: Box::new(schema), bytes });
        }
        Err(OwnershipError::Foreign(what) | OwnershipError::Refused(what)) => {
            found.push(Found::Foreign { target: name.to_owned(), what });
        }
        Err(error) => return Err(error.into()),
    }
    for schema in foreign_schemas(&mut client, &owner.daemon)? {
        let what = format!("schema {schema} is not this daemon's. Left alone");
        found.push(Found::Foreign { target: name.to_owned(), what });
    }
    client.close();
    Ok(found)
}

fn connect(name: &str, target: &Target) -> Result<Client> {
    let Target::Server(server) = target else { anyhow::bail!("not a server that exists") };
    Ok(Client::connect(&server_access(name, server)?)?)
}

/// Everything is proved again, so that nothing is removed that came since it was shown.
fn remove_one(found: &Found, config: &Config, owner: &Owner<'_>) -> Result<()> {
    match found {
        Found::Foreign { .. } => Ok(()),
        Found::Home(home) => target::remove_scratch(home, owner.daemon.uuid),
        Found::Schema { target: name, .. } => {
            let target = config.targets.get(name).context("the target is not defined any more")?;
            let mut client = connect(name, target)?;
            match OwnedSchema::existing(&mut client, name, &owner.daemon, owner.local)? {
                Some(mut schema) => Ok(schema.drop_all(&mut client)?),
                None => Ok(()),
            }
        }
    }
}

fn show(found: &[Found], done: &str, output: Output) -> Result<Exit> {
    if output != Output::Text {
        let (foreign, owned): (Vec<&Found>, Vec<&Found>) =
            found.iter().partition(|one| matches!(one, Found::Foreign { .. }));
        let each = |list: Vec<&Found>| list.into_iter().map(as_json).collect::<Vec<Value>>();
        return text::print_json(&json!({
            "schema": SCHEMA, "cmd": "scratch", "removed": !done.is_empty(),
            "owned": each(owned), "foreign": each(foreign),
        }));
    }
    if found.is_empty() {
        return text::print("benchd owns nothing on its targets\n");
    }
    let rows: Vec<Vec<String>> = found.iter().map(|one| row(one, done)).collect();
    text::print(&text::table(&rows))
}

fn row(found: &Found, done: &str) -> Vec<String> {
    match found {
        Found::Schema { target, schema, bytes } => vec![
            target.clone(),
            format!("{done}schema {}", schema.name()),
            format!(
                "{}, {}, since {}, by this daemon",
                size(*bytes),
                counted(schema.tables().count() as u64, "table"),
                text::local_time(schema.created())
            ),
        ],
        Found::Home(home) => vec![
            home.target.clone(),
            format!("{done}{}", home.path.display()),
            match &home.data {
                Some(data) => format!("{}, {data} data directory", size(home.bytes)),
                None => format!("{}, no complete data", size(home.bytes)),
            },
        ],
        Found::Foreign { target, what } => {
            vec!["foreign".to_owned(), format!("{target}: {what}"), String::new()]
        }
    }
}

fn size(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn as_json(found: &Found) -> Value {
    match found {
        Found::Schema { target, schema, bytes } => json!({
            "target": target, "kind": "schema", "name": schema.name(), "bytes": bytes, "since": schema.created(),
            "tables": schema.tables().collect::<Vec<_>>(),
        }),
        Found::Home(home) => json!({
            "target": home.target, "kind": "scratch", "path": home.path, "bytes": home.bytes, "data": home.data,
        }),
        Found::Foreign { target, what } => json!({ "target": target, "what": what }),
    }
}
