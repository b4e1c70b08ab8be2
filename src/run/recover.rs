//! What a worker that died left running is ended: scratch servers proved to be benchd's own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use uuid::Uuid;

use crate::config::Target;
use crate::target;

/// Ends scratch servers that still run below the directories of these targets, and says so in the journal. Only
/// while no worker is at work.
pub(super) async fn end_left_over_servers(targets: &BTreeMap<String, Target>, identity: Uuid) {
    let directories: BTreeSet<PathBuf> = targets
        .values()
        .filter_map(|target| match target {
            Target::Scratch(scratch) => Some(scratch.directory.clone()),
            Target::Server(_) | Target::Directory(_) => None,
        })
        .collect();
    let ended = tokio::task::spawn_blocking(move || {
        for directory in directories {
            match target::recover(&directory, identity) {
                Ok(targets) => targets.iter().for_each(|name| {
                    log::warn!(
                        "a scratch server of target {name} still ran without its worker; it was ended"
                    );
                }),
                Err(error) => log::error!("left-over scratch servers: {error:#}"),
            }
        }
    });
    if let Err(error) = ended.await {
        log::error!("left-over scratch servers: {error}");
    }
}
