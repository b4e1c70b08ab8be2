//! When scheduled runs start: the next instants as a pure function of the schedule and a clock given as an
//! argument, the rules for starts that could not be met, and the alarm that wakes the daemon.
//!
//! * [`Timing`] is a suite's schedule as it was written, checked; [`Timing::next_start`] gives its next start.
//! * [`Window`] is the time of day in which a run may start.
//! * [`due`], [`catch_up`], [`admit`] and [`leave_queue`] decide what becomes of a planned start.
//! * [`Alarms`] only wakes: what is due is decided by [`due`] against the clock as it is then.

mod alarm;
mod cron;
mod next;
mod rules;
mod timing;
mod window;

pub use alarm::{Alarms, Wake};
pub use rules::{
    Active, Admission, CatchUp, Due, MissReason, Missed, Overlap, admit, catch_up, due, leave_queue, passed,
};
pub use timing::{Recurrence, Timing, TimingProblem, TimingText};
pub use window::Window;
