//! The queue of runs: one at a time, in the order they were asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use super::guards::{self, Situation, Writer};
use super::launch::Launcher;
use super::live::Live;
use super::plan::RunPlan;
use super::queue::{
    Accepted, ActiveRun, CancelError, Counters, Follow, QueuedRun, Refused, Start, State, StopReason, Waiting,
};
use super::recover::{Ground, LeftOver};
use super::stuck::{Doing, in_thread};
use crate::config::Target;
use crate::observe::Observer;
use crate::record::{Event, GuardCheck, Outcome, RunId, Trigger};
use crate::sample::Sampler;
use crate::store::Store;

/// How often a run that waits for its window is looked at.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// What was left over may take so long to end: a server writes what its buffers hold. Longer, and it is reported.
const CLEAR_LIMIT: Duration = Duration::from_secs(15);

/// What a runner works with.
pub struct RunnerParts {
    /// Where records go.
    pub store: Store,
    /// How workers are started.
    pub launcher: Box<dyn Launcher>,
    /// Samples of the host taken meanwhile.
    pub sampler: Arc<Sampler>,
    /// Asks the servers that are targets, more often while a run uses them.
    pub observer: Arc<Observer>,
    /// Name of the host.
    pub host: String,
    /// Finds out the facts of the host that explain its numbers, as they are when a run begins.
    pub host_facts: fn() -> BTreeMap<String, String>,
    /// Directory of benchd's own files.
    pub state_directory: PathBuf,
    /// Who this benchd is.
    pub identity: Uuid,
}

/// Runs suites, one at a time. Clones are handles to the same queue.
#[derive(Clone)]
pub struct Runner {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    pub(super) parts: RunnerParts,
    state: Mutex<State>,
    changed: Notify,
    ended: watch::Sender<u64>,
}

impl Shared {
    /// The state, whatever happened to a thread that held it: every change of it is complete in itself.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all records are on disk, at most so long; false when they are kept in memory.
    pub(super) async fn written(&self, within: Duration) -> bool {
        let store = self.parts.store.clone();
        matches!(tokio::task::spawn_blocking(move || store.flush(within)).await, Ok(true))
    }

    /// Ends and removes what a run left whose worker is gone.
    pub(super) async fn clear(self: &Arc<Self>, targets: &BTreeMap<String, Target>) {
        let (ground, doing, shared) = (self.ground(targets), Doing::default(), Arc::clone(self));
        let now = doing.clone();
        let work = async move {
            let found = ground.clear(shared.parts.launcher.as_ref(), now).await;
            shared.state().count_left_over(&found);
        };
        self.within(CLEAR_LIMIT, doing, work).await;
    }

    /// Ends the load process of a run whose worker has ended in order, should it still be there.
    pub(super) async fn clear_load(self: &Arc<Self>, targets: &BTreeMap<String, Target>) {
        let (ground, doing, shared) = (self.ground(targets), Doing::default(), Arc::clone(self));
        let now = doing.clone();
        let work = async move {
            let found = in_thread(move || ground.clear_load(&now)).await.unwrap_or_default();
            shared.state().count_left_over(&found);
        };
        self.within(CLEAR_LIMIT, doing, work).await;
    }

    fn ground(&self, targets: &BTreeMap<String, Target>) -> Ground {
        Ground::new(&self.parts.state_directory, self.parts.identity, targets)
    }

    /// Notes an event of a run.
    pub(super) fn log(&self, id: RunId, event: Event) {
        let over = matches!(event, Event::End { .. });
        self.state().log(id, event, Instant::now());
        if over {
            self.ended.send_modify(|ended| *ended += 1);
        }
    }
}

impl Runner {
    /// A runner with an empty queue; [`work`](Runner::work) executes what is put into it.
    pub fn new(parts: RunnerParts) -> Runner {
        let (ended, _) = watch::channel(0);
        Runner { shared: Arc::new(Shared { parts, state: Mutex::default(), changed: Notify::new(), ended }) }
    }

    /// Starts a run, or puts it into the queue.
    ///
    /// # Errors
    /// Says why it does not begin; a run blocked by guards is kept in the store.
    pub fn start(&self, start: Start) -> Result<Accepted, Refused> {
        let plan = RunPlan::new(&start.suite, &start.cases);
        if plan.cases.is_empty() {
            return Err(Refused::NoCase);
        }
        let id = RunId::new();
        let checks = self.check(&start, &plan);
        let mut state = self.shared.state();
        if state.draining {
            return Err(Refused::Draining);
        }
        if let Some(active) = state.in_the_way().filter(|_| !start.queue) {
            return Err(Refused::Active(Box::new(active)));
        }
        let mut ignored = start.overrides.clone();
        if start.queue {
            ignored.insert(guards::WINDOW.to_owned());
        }
        let blocking = guards::blocking(&checks, &ignored);
        if !blocking.is_empty() {
            drop(state);
            self.keep_blocked(id, &start, &plan, checks);
            return Err(Refused::Blocked(id, blocking));
        }
        let position = state.waiting.len() + usize::from(state.active.is_some());
        let accepted = Accepted { id, position, cases: plan.cases.len(), planned: plan.planned };
        state.open_log(id, Instant::now());
        state.waiting.push_back(Waiting { id, start, plan });
        drop(state);
        self.shared.changed.notify_one();
        Ok(accepted)
    }

    /// What the guards say about a run now.
    pub fn check(&self, start: &Start, plan: &RunPlan) -> Vec<GuardCheck> {
        guards::check(&Situation {
            suite: &start.suite,
            targets: &start.targets,
            plan,
            now: Timestamp::now(),
            stuck: &self.stuck(),
            writer: if self.shared.parts.launcher.apart() { Writer::Apart } else { Writer::Same },
        })
    }

    /// Asks a run to end; a run that waits is taken out of the queue.
    ///
    /// # Errors
    /// When no run of this id is active or waits.
    pub fn cancel(&self, id: RunId, by: &str) -> Result<(), CancelError> {
        let mut state = self.shared.state();
        if let Some(active) = state.active.as_mut().filter(|active| active.view.id == id) {
            active.view.cancelling = true;
            active.stop.send_if_modified(|reason| {
                let first = reason.is_none();
                reason.get_or_insert_with(|| StopReason::Cancelled(by.to_owned()));
                first
            });
            return Ok(());
        }
        let Some(place) = state.waiting.iter().position(|waiting| waiting.id == id) else {
            return Err(if state.follow(id).is_some() { CancelError::Ended } else { CancelError::Unknown });
        };
        let waiting = state.waiting.remove(place);
        drop(state);
        if let Some(waiting) = waiting {
            self.end_before_start(
                &waiting,
                Outcome::Cancelled,
                &format!("cancelled by {by} while it waited"),
            );
        }
        Ok(())
    }

    /// The run that is active now.
    pub fn active(&self) -> Option<ActiveRun> {
        self.shared.state().active.as_ref().map(|active| active.view.clone())
    }

    /// How many runs wait.
    pub fn queue_length(&self) -> usize {
        self.shared.state().waiting.len()
    }

    /// Whether a run of a suite waits.
    pub fn is_queued(&self, suite: &str) -> bool {
        self.shared.state().waiting.iter().any(|waiting| waiting.plan.suite == suite)
    }

    /// The runs that wait, in the order in which they were asked for.
    pub fn queue(&self) -> Vec<QueuedRun> {
        self.shared.state().waiting.iter().map(QueuedRun::from).collect()
    }

    /// How many runs have ended since the program began; changes when the next one has.
    pub fn ended(&self) -> watch::Receiver<u64> {
        self.shared.ended.subscribe()
    }

    /// The numbers of what runs right now.
    pub fn live(&self) -> Live {
        self.shared.state().live.clone()
    }

    /// What was counted since the program began.
    pub fn counters(&self) -> Counters {
        self.shared.state().counters.clone()
    }

    /// Counts scheduled starts that did not become a run.
    pub fn count_missed(&self, suite: &str, starts: u64) {
        self.shared.state().count(suite).missed += starts;
    }

    /// The events of a run that is active, waits, or ended a moment ago.
    pub fn follow(&self, id: RunId) -> Option<Follow> {
        self.shared.state().follow(id)
    }

    /// Ends and removes what an earlier process left. To be called before [`work`](Runner::work).
    pub async fn recover(&self, targets: &BTreeMap<String, Target>) {
        let runs = self.shared.parts.store.recovered();
        self.shared.state().count_left_over(&vec![LeftOver::Run; runs]);
        self.shared.clear(targets).await;
    }

    /// What earlier runs left and was ended or removed since the program began.
    pub fn left_over(&self) -> BTreeMap<LeftOver, u64> {
        self.shared.state().left_over.clone()
    }

    /// What does not end, and keeps runs from starting.
    pub fn stuck(&self) -> Vec<String> {
        self.shared.state().stuck.in_words()
    }

    /// Executes runs until [`drain`](Runner::drain) is called and the last one is over.
    pub async fn work(self) {
        loop {
            match self.next() {
                Some(waiting) => self.turn_of(waiting).await,
                None if self.shared.state().draining => return,
                None => {
                    // Woken by a new run, or in time for a window that opens.
                    let _ = tokio::time::timeout(LOOK_AGAIN, self.shared.changed.notified()).await;
                }
            }
        }
    }

    /// The first run whose turn it is. A run that was asked for waits for its window; a scheduled one whose window
    /// closed before its turn goes on to its guards, which refuse it.
    fn next(&self) -> Option<Waiting> {
        let state = self.shared.state();
        let now = Timestamp::now();
        let turn = |waiting: &Waiting| {
            waiting.start.trigger == Trigger::Schedule
                || waiting.start.overrides.contains(guards::WINDOW)
                || guards::window_is_open(&waiting.start.suite, now)
        };
        state.waiting.iter().find(|waiting| turn(waiting)).cloned()
    }

    /// Asks the guards about a run and executes it. It stays in the queue meanwhile, where others find it in their way and
    /// it can be cancelled.
    async fn turn_of(&self, waiting: Waiting) {
        let checks = self.check_beside(&waiting.start, &waiting.plan).await;
        if let Some(waiting) = self.take(waiting.id) {
            self.execute(waiting, checks).await;
        }
    }

    /// Takes a run out of the queue; `None` when it no longer waits.
    fn take(&self, id: RunId) -> Option<Waiting> {
        let mut state = self.shared.state();
        let place = state.waiting.iter().position(|waiting| waiting.id == id)?;
        state.waiting.remove(place)
    }

    /// Ends what runs, forgets what waits, starts nothing more.
    pub fn drain(&self) {
        let mut state = self.shared.state();
        state.draining = true;
        let waiting: Vec<Waiting> = state.waiting.drain(..).collect();
        if let Some(active) = &state.active {
            active.stop.send_if_modified(|reason| reason.replace(StopReason::Drain).is_none());
        }
        drop(state);
        for waiting in &waiting {
            self.end_before_start(waiting, Outcome::Aborted, "the daemon was stopped while the run waited");
        }
        self.shared.changed.notify_one();
    }
}

#[cfg(test)]
mod tests;
