//! A server at one instant.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::about::About;
use super::holdings::Holdings;
use super::status::Status;
use super::unit::UnitUse;
use crate::config::Role;
use crate::sample::Moment;

/// A server at one instant: raw counters and states. What could not be learnt is `None`.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSample {
    /// Wall clock when it was asked.
    pub at: Timestamp,
    /// The same instant on the clock that never goes back: since the server is watched.
    pub moment: Moment,
    /// How long the answers took.
    pub took: Duration,
    /// What the server is.
    pub about: Arc<About>,
    /// Its status variables.
    pub status: Status,
    /// Threads that run for benchd itself, the asking one among them.
    pub own_running: Option<u64>,
    /// Replicas that are connected.
    pub replicas: Option<u64>,
    /// From where it replicates; empty when it does not.
    pub channels: Option<Vec<Channel>>,
    /// What the server is found to be; `None` when the account may not see enough.
    pub role: Option<Role>,
    /// What its processes use, if it runs on this host in a unit of its own.
    pub unit: Option<UnitUse>,
    /// What lies there under benchd's names.
    pub holdings: Option<Holdings>,
}

/// One source that a server replicates from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Channel {
    /// Seconds by which it is behind its source, a delay that was asked for taken off.
    pub lag: Option<u64>,
    /// Whether both of its threads run.
    pub runs: bool,
}

impl ServerSample {
    /// Threads that run for others than benchd.
    pub fn others_running(&self) -> Option<u64> {
        Some(self.status.threads_running?.saturating_sub(self.own_running?))
    }

    /// Seconds by which the server is behind the source it is furthest behind; not known when it is not of one.
    pub fn lag(&self) -> Option<u64> {
        let lags: Option<Vec<u64>> = self.channels.as_ref()?.iter().map(|channel| channel.lag).collect();
        lags?.into_iter().max()
    }

    /// Whether replication from all sources runs; `None` for a server that does not replicate.
    pub fn replicates(&self) -> Option<bool> {
        let channels = self.channels.as_ref().filter(|channels| !channels.is_empty())?;
        Some(channels.iter().all(|channel| channel.runs))
    }

    /// The role that all of this amounts to.
    pub(super) fn found(&self) -> Option<Role> {
        if let Some(cluster) = self.about.cluster {
            return Some(cluster);
        }
        if self.status.ndb_data_nodes.is_some_and(|nodes| nodes > 0) {
            return Some(Role::Ndb);
        }
        match (self.channels.as_deref()?, self.replicas) {
            ([], Some(0)) => Some(Role::Standalone),
            ([], Some(_)) => Some(Role::Source),
            ([], None) => None,
            _ => Some(Role::Replica),
        }
    }
}

/// A server that tells no more than this, for tests.
#[cfg(test)]
pub(crate) fn sample_of(seconds: u64, status: Status) -> ServerSample {
    ServerSample {
        at: Timestamp::UNIX_EPOCH + Duration::from_secs(seconds),
        moment: Moment::from_nanos(seconds * 1_000_000_000),
        took: Duration::ZERO,
        about: Arc::default(),
        status,
        own_running: Some(1),
        replicas: Some(0),
        channels: Some(Vec::new()),
        role: None,
        unit: None,
        holdings: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(channels: Option<Vec<Channel>>, replicas: Option<u64>) -> ServerSample {
        ServerSample { channels, replicas, ..sample_of(0, Status::default()) }
    }

    fn channel(lag: Option<u64>, runs: bool) -> Channel {
        Channel { lag, runs }
    }

    #[test]
    fn the_furthest_behind_of_several_sources_counts_and_one_not_known_makes_it_not_known() {
        let lag = |channels: Vec<Channel>| with(Some(channels), None).lag();
        assert_eq!(lag(vec![channel(Some(3), true), channel(Some(5), true)]), Some(5));
        assert_eq!(lag(vec![channel(Some(3), true), channel(None, false)]), None);
        assert_eq!((lag(Vec::new()), with(None, None).lag()), (None, None));
    }

    #[test]
    fn replication_runs_when_all_of_it_does() {
        let runs = |channels: Vec<Channel>| with(Some(channels), None).replicates();
        assert_eq!(runs(vec![channel(None, true), channel(None, true)]), Some(true));
        assert_eq!(runs(vec![channel(None, true), channel(None, false)]), Some(false));
        assert_eq!((runs(Vec::new()), with(None, None).replicates()), (None, None));
    }

    #[test]
    fn a_role_is_what_is_found_and_never_guessed() {
        let replica = || Some(vec![channel(None, true)]);
        for (channels, replicas, role) in [
            (Some(Vec::new()), Some(0), Some(Role::Standalone)),
            (Some(Vec::new()), Some(2), Some(Role::Source)),
            (replica(), Some(0), Some(Role::Replica)),
            (replica(), Some(1), Some(Role::Replica)),
            (replica(), None, Some(Role::Replica)),
            (Some(Vec::new()), None, None),
            (None, Some(0), None),
        ] {
            assert_eq!(with(channels.clone(), replicas).found(), role, "{channels:?} {replicas:?}");
        }
        let about = Arc::new(About { cluster: Some(Role::Galera), ..About::default() });
        assert_eq!(ServerSample { about, ..with(None, None) }.found(), Some(Role::Galera));
        let status = Status { ndb_data_nodes: Some(2), ..Status::default() };
        assert_eq!(sample_of(0, status).found(), Some(Role::Ndb));
    }

    #[test]
    fn benchds_own_threads_do_not_count() {
        let running = |own| ServerSample {
            own_running: own,
            ..sample_of(0, Status { threads_running: Some(5), ..Status::default() })
        };
        assert_eq!(running(Some(2)).others_running(), Some(3));
        assert_eq!(running(Some(9)).others_running(), Some(0), "some ended between two statements");
        assert_eq!(running(None).others_running(), None);
    }
}
