//! Starts suites when they are due.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use anyhow::Result;
use jiff::{Timestamp, ToSpan};
use tokio::sync::{mpsc, oneshot, watch};

use super::watchdog::Pulse;
use crate::config::{self, Config, Loaded, Problem, Schedule, Suite};
use crate::http::{NextRun, NextRuns};
use crate::record::Trigger;
use crate::run::guards::window_of;
use crate::run::{Refused, Runner, Start};
use crate::schedule::{
    Active, Admission, Alarms, CatchUp, Due, Missed, Overlap, Recurrence, Timing, TimingProblem, TimingText,
    Wake, admit, catch_up, due, passed,
};

/// Wake-ups that may wait; one for each suite and one for all are enough.
const WAITING_WAKES: usize = 64;

/// The schedule of every suite, and what is planned.
pub(super) struct Scheduler {
    runner: Runner,
    config: watch::Receiver<Arc<Config>>,
    machine_id: String,
    next_runs: NextRuns,
    alarms: Alarms,
    wakes: mpsc::Receiver<Wake>,
    /// Questions whether it is alive.
    questions: mpsc::Receiver<oneshot::Sender<()>>,
    suites: BTreeMap<String, Scheduled>,
}

struct Scheduled {
    suite: Suite,
    timing: Timing,
    /// When the next start is planned, and when it is to be made; they differ for one that is made up for.
    next: Option<(Timestamp, Timestamp)>,
}

/// Checks the schedules of a configuration that is otherwise in order.
pub fn check_schedules(loaded: &Loaded) -> Vec<Problem> {
    let mut problems = Vec::new();
    for suite in loaded.config.suites.values() {
        for found in schedule_problems(suite) {
            let key = format!("suite.{}.{}", suite.name, found.key);
            problems.push(loaded.sources.problem(&key, found.problem, found.hint));
        }
    }
    problems
}

fn schedule_problems(suite: &Suite) -> Vec<TimingProblem> {
    match timing(suite, "") {
        None => crate::schedule::Window::parse(window_of(suite), zone(suite)).err().unwrap_or_default(),
        Some(Err(problems)) => problems,
        Some(Ok(timing)) => timing.never_meets(Timestamp::now()).into_iter().collect(),
    }
}

fn zone(suite: &Suite) -> &str {
    suite.timezone.as_deref().unwrap_or_default()
}

/// The timing of a suite with a schedule.
fn timing(suite: &Suite, machine_id: &str) -> Option<Result<Timing, Vec<TimingProblem>>> {
    let recurrence = match suite.schedule.as_ref()? {
        Schedule::Cron(cron) => Recurrence::Cron(cron),
        Schedule::Every(every) => Recurrence::Every(*every),
    };
    let text =
        TimingText { recurrence, timezone: zone(suite), window: window_of(suite), jitter: suite.jitter };
    Some(Timing::parse(&text, machine_id, &suite.name))
}

impl Scheduler {
    /// Plans every suite; gives what asks it whether it is alive, too. `last_seen` is when a run of the suite last began: starts between then and now were
    /// missed while the daemon was down.
    pub(super) async fn start(
        runner: Runner,
        config: watch::Receiver<Arc<Config>>,
        machine_id: String,
        next_runs: NextRuns,
        last_seen: &BTreeMap<String, Timestamp>,
    ) -> Result<(Scheduler, Pulse)> {
        let (wake, wakes) = mpsc::channel(WAITING_WAKES);
        let (pulse, questions) = mpsc::channel(1);
        let alarms = Alarms::start(wake).await?;
        let suites = BTreeMap::new();
        let mut scheduler =
            Scheduler { runner, config, machine_id, next_runs, alarms, wakes, questions, suites };
        scheduler.plan(last_seen);
        scheduler.set_alarms().await;
        Ok((scheduler, pulse))
    }

    /// Starts suites for as long as the daemon runs.
    pub(super) async fn work(mut self) {
        loop {
            tokio::select! {
                wake = self.wakes.recv() => match wake {
                    Some(Wake::Suite(name)) => self.look_at(&name),
                    Some(Wake::All) => {
                        for name in self.suites.keys().cloned().collect::<Vec<_>>() {
                            self.look_at(&name);
                        }
                    }
                    None => return,
                },
                Some(question) = self.questions.recv() => {
                    // Whoever asked may have given up.
                    let _ = question.send(());
                    continue;
                }
                changed = self.config.changed() => match changed {
                    Ok(()) => self.plan(&BTreeMap::new()),
                    Err(_) => return,
                },
            }
            self.set_alarms().await;
        }
    }

    /// Takes the schedules of the present configuration; suites whose schedule did not change keep their plan.
    fn plan(&mut self, last_seen: &BTreeMap<String, Timestamp>) {
        let config = Arc::clone(&self.config.borrow_and_update());
        let now = Timestamp::now();
        let mut suites = BTreeMap::new();
        for suite in config.suites.values() {
            let Some(Ok(timing)) = timing(suite, &self.machine_id) else { continue };
            let kept = self
                .suites
                .get(&suite.name)
                .filter(|old| same_schedule(&old.suite, suite))
                .and_then(|old| old.next);
            let next = kept.or_else(|| match last_seen.get(&suite.name) {
                Some(seen) => self.catch_up(suite, &timing, *seen, now),
                None => timing.next_start(now).map(|at| (at, at)),
            });
            suites.insert(suite.name.clone(), Scheduled { suite: suite.clone(), timing, next });
        }
        self.suites = suites;
    }

    /// Decides about starts that passed unseen, and counts them.
    fn catch_up(
        &self,
        suite: &Suite,
        timing: &Timing,
        since: Timestamp,
        now: Timestamp,
    ) -> Option<(Timestamp, Timestamp)> {
        match catch_up(timing, missed(suite), since, now) {
            CatchUp::Wait { next } => next.map(|at| (at, at)),
            CatchUp::Missed { starts, next } => {
                self.count_missed(&suite.name, starts);
                next.map(|at| (at, at))
            }
            CatchUp::Start { planned, at, missed } => {
                self.count_missed(&suite.name, missed);
                Some((planned, at))
            }
        }
    }

    fn count_missed(&self, suite: &str, starts: u64) {
        if starts > 0 {
            log::warn!(BENCHD_SUITE = suite; "{suite}: {starts} scheduled starts missed");
            self.runner.count_missed(suite, starts);
        }
    }

    /// Compares a suite's planned start with the clock as it is now.
    fn look_at(&mut self, name: &str) {
        let now = Timestamp::now();
        let Some(scheduled) = self.suites.get(name) else { return };
        let Some((planned, start)) = scheduled.next else { return };
        let next = match due(&scheduled.timing, start, now) {
            Due::Early(again) if again == start => return,
            Due::Early(again) => Some((again, again)),
            Due::Now => self.begin(scheduled, planned, now),
            Due::Missed => {
                let since = planned.checked_sub(1.nanosecond()).unwrap_or(planned);
                match self.catch_up(&scheduled.suite, &scheduled.timing, since, now) {
                    Some((planned, at)) if at <= now => self.begin(scheduled, planned, now),
                    next => next,
                }
            }
        };
        if let Some(scheduled) = self.suites.get_mut(name) {
            scheduled.next = next;
        }
    }

    /// Starts a suite that is due, or counts why not; gives the start after this one.
    fn begin(
        &self,
        scheduled: &Scheduled,
        planned: Timestamp,
        now: Timestamp,
    ) -> Option<(Timestamp, Timestamp)> {
        let Scheduled { suite, timing, .. } = scheduled;
        let active = match self.runner.active() {
            None => Active::Nothing,
            Some(active) if active.suite == suite.name => Active::Own,
            Some(_) => Active::Other,
        };
        let queued = self.runner.is_queued(&suite.name);
        match admit(overlap(suite), active, queued, timing.window(), now) {
            Admission::Start | Admission::Queue { .. } => self.ask(suite),
            Admission::Missed(reason) => {
                log::warn!(BENCHD_SUITE = suite.name; "{}: scheduled start missed: {reason}", suite.name);
                self.runner.count_missed(&suite.name, 1);
            }
        }
        self.count_missed(&suite.name, passed(timing, planned, now));
        timing.next_start(now).map(|at| (at, at))
    }

    fn ask(&self, suite: &Suite) {
        let start = Start {
            suite: suite.clone(),
            targets: self.config.borrow().targets.clone(),
            trigger: Trigger::Schedule,
            by: "schedule".to_owned(),
            note: None,
            cases: Vec::new(),
            queue: true,
            overrides: BTreeSet::new(),
        };
        let (runner, name) = (self.runner.clone(), suite.name.clone());
        // The guards look at disks, which may hang.
        tokio::task::spawn_blocking(move || match runner.start(start) {
            Ok(_) | Err(Refused::Blocked(..) | Refused::Draining) => {}
            Err(refused) => log::warn!(BENCHD_SUITE = name; "{name} not started: {refused:?}"),
        });
    }

    /// Tells everybody when suites start next.
    async fn set_alarms(&mut self) {
        let planned: BTreeMap<String, NextRun> = self
            .suites
            .iter()
            .filter_map(|(name, scheduled)| {
                let (_, at) = scheduled.next?;
                Some((name.clone(), NextRun { at, interval: scheduled.timing.longest_gap(Timestamp::now()) }))
            })
            .collect();
        let before = std::mem::replace(
            &mut *self.next_runs.lock().unwrap_or_else(PoisonError::into_inner),
            planned.clone(),
        );
        for name in before.keys().filter(|name| !planned.contains_key(*name)) {
            complain(self.alarms.clear(name).await);
        }
        for (name, next) in
            planned.iter().filter(|(name, next)| before.get(*name).map(|old| old.at) != Some(next.at))
        {
            complain(self.alarms.set(name, next.at).await);
        }
    }
}

/// An alarm that fails is made up for by the look at all suites that comes twice a minute.
fn complain(set: Result<()>) {
    if let Err(error) = set {
        log::error!("{error:#}");
    }
}

fn same_schedule(old: &Suite, new: &Suite) -> bool {
    (&old.schedule, &old.timezone, &old.window, old.jitter)
        == (&new.schedule, &new.timezone, &new.window, new.jitter)
}

fn missed(suite: &Suite) -> Missed {
    match suite.missed {
        config::Missed::Skip => Missed::Skip,
        config::Missed::Once => Missed::Once,
    }
}

fn overlap(suite: &Suite) -> Overlap {
    match suite.overlap {
        config::Overlap::Skip => Overlap::Skip,
        config::Overlap::Queue => Overlap::Queue,
    }
}
