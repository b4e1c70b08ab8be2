//! The client threads: made together, let go together, and then the one loop that measures.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::part::Part;
use super::tally::{Tally, Timing};
use super::{Failed, Stop, Worker, clock};

/// The last stretch before a deadline, in nanoseconds, in which a client spins: a sleep ends up to this late.
const SPIN: u64 = 50_000;
/// Longest sleep, in nanoseconds: how late a client sees that it should end.
const SLICE: u64 = 100_000_000;

/// Numbers of operations that a client takes at once where neither the end of the load nor a start depends on them: the
/// counter of all clients moves from CPU to CPU, which costs a tenth of a microsecond each time.
const NUMBERS_AT_ONCE: u64 = 16;

/// What a client tells the reporter.
pub(super) enum Message {
    /// Its worker is made; it waits to be let go.
    Ready,
    /// Its worker could not be made.
    NotMade(anyhow::Error),
    /// It has done its last operation, at that instant.
    Ended { at: u64, why: Why },
}

/// Why a client ended.
#[derive(Debug)]
pub(super) enum Why {
    /// A limit of the plan was reached, or the driver ended the load.
    Over,
    /// Somebody asked the load to end.
    Stopped,
    /// It met something that makes going on senseless.
    Fatal(String),
}

/// What all clients share.
pub(super) struct Control<'a> {
    stop: &'a Stop,
    over: AtomicBool,
    gate: Mutex<Gate>,
    moved: Condvar,
}

/// Ends the load when it is dropped, so that no client outlives its reporter.
pub(super) struct EndOnDrop<'a>(pub(super) &'a Control<'a>);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

#[derive(Debug, Clone, Copy)]
enum Gate {
    Shut,
    Open { start: u64 },
    Cancelled,
}

impl<'a> Control<'a> {
    pub(super) fn new(stop: &'a Stop) -> Control<'a> {
        Control { stop, over: AtomicBool::new(false), gate: Mutex::new(Gate::Shut), moved: Condvar::new() }
    }

    /// Lets the waiting clients go, at the instant `start`.
    pub(super) fn open(&self, start: u64) {
        self.move_gate(Gate::Open { start });
    }

    /// Ends the load: clients that wait are released, the others end before their next operation.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        if matches!(*self.gate(), Gate::Shut) {
            self.move_gate(Gate::Cancelled);
        }
    }

    fn move_gate(&self, to: Gate) {
        *self.gate() = to;
        self.moved.notify_all();
    }

    /// Waits to be let go, and returns the instant of the start.
    fn start(&self) -> Option<u64> {
        let mut gate = self.gate();
        loop {
            match *gate {
                Gate::Open { start } => return Some(start),
                Gate::Cancelled => return None,
                Gate::Shut => gate = self.moved.wait(gate).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// The gate is a plain value, so a panic of its holder cannot have left it half written.
    fn gate(&self) -> MutexGuard<'_, Gate> {
        self.gate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the instant and returns the present one; an error when the load must end instead.
    #[inline]
    fn wait_until(&self, instant: u64) -> Result<u64, Why> {
        loop {
            if self.stop.requested() {
                return Err(Why::Stopped);
            }
            if self.over.load(Ordering::Relaxed) {
                return Err(Why::Over);
            }
            let now = clock::now();
            match instant.saturating_sub(now) {
                0 => return Ok(now),
                left if left > SPIN => clock::sleep_until(now + (left - SPIN).min(SLICE)),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

/// The life of a client thread.
pub(super) fn live<W: Worker>(
    client: usize,
    make: impl FnOnce() -> anyhow::Result<W>,
    parts: &[Part],
    control: &Control<'_>,
    messages: &Sender<Message>,
) {
    // When the reporter has gone itself, nobody is left to be told.
    let tell = |message| messages.send(message).unwrap_or_default();
    let mut worker = match caught(make) {
        Ok(Ok(worker)) => worker,
        Ok(Err(error)) => return tell(Message::NotMade(error)),
        Err(panic) => return tell(Message::NotMade(anyhow::anyhow!(panic))),
    };
    tell(Message::Ready);
    let Some(start) = control.start() else { return };
    clock::wake_precisely();
    let ended = caught(|| work(&mut worker, client, parts, start, control));
    tell(ended.unwrap_or_else(|panic| Message::Ended { at: clock::now(), why: Why::Fatal(panic) }));
    // Only now: taking the worker apart, as its making, is no part of the load. A panic there has nothing left to spoil.
    let _ = caught(|| drop(worker));
}

/// Runs the code; a panic in it becomes a sentence.
fn caught<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("a client");
        format!("{name} panicked: {}: a defect of benchd, please report it", text_of(&*panic))
    })
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    panic.downcast_ref::<&str>().copied().or_else(owned).unwrap_or("no text")
}

/// Does the parts of the load one after the other, in the same connection and without a gap.
fn work<W: Worker>(
    worker: &mut W,
    client: usize,
    parts: &[Part],
    start: u64,
    control: &Control<'_>,
) -> Message {
    let mut why = Why::Over;
    for part in parts {
        let Some(counts) = part.counts.get(client) else { break };
        let mut tally = Tally::over(counts);
        let (cpu, begun) = (clock::thread_cpu(), clock::now());
        why = operate(worker, part, &mut tally, start, control);
        if matches!(why, Why::Over) {
            why = settle(worker, part, &mut tally);
        }
        tally.spent(clock::thread_cpu().saturating_sub(cpu), clock::now().saturating_sub(begun));
        if !matches!(why, Why::Over) {
            break;
        }
    }
    Message::Ended { at: clock::now(), why }
}

/// The numbers of a client's operations.
struct Numbers<'a> {
    /// What clients take numbers from.
    taken: &'a AtomicU64,
    /// How many are taken at once.
    at_once: u64,
    /// The next number, and how many more were taken.
    next: u64,
    left: u64,
}

impl<'a> Numbers<'a> {
    fn new<W: Worker>(worker: &W, part: &'a Part) -> Numbers<'a> {
        let at_once = if part.needs_order() { 1 } else { NUMBERS_AT_ONCE };
        let left = if worker.is_numbered() || part.needs_order() { 0 } else { u64::MAX };
        Numbers { taken: &part.taken.0, at_once, next: 0, left }
    }

    #[inline]
    fn take(&mut self) -> u64 {
        if self.left == 0 {
            self.next = self.taken.fetch_add(self.at_once, Ordering::Relaxed);
            self.left = self.at_once;
        }
        self.left -= 1;
        self.next += 1;
        self.next - 1
    }
}

/// The one hot loop: takes a number, waits for its intended start, sends, counts. Limits are met between
/// operations, never inside one, as in sysbench.
///
/// A function of its own, whose frame holds nothing else: what lies on the stack between two uses is in no cache any more
/// either.
#[inline(never)]
fn operate<W: Worker>(
    worker: &mut W,
    part: &Part,
    tally: &mut Tally,
    start: u64,
    control: &Control<'_>,
) -> Why {
    let (from, to) = (start.saturating_add(part.from), start.saturating_add(part.to));
    let mut schedule = part.schedule.clone();
    let mut free = from;
    let mut numbers = Numbers::new(worker, part);
    for _ in 0..part.operations_each {
        let number = numbers.take();
        if number >= part.operations {
            return Why::Over;
        }
        let intended = schedule.as_mut().map(|schedule| from.saturating_add(schedule.at(number)));
        let sent = match control.wait_until(intended.unwrap_or(from).min(to)) {
            Ok(now) if now < to => now,
            ended => {
                intended.into_iter().for_each(|intended| tally.leave_unsent(intended));
                return ended.err().unwrap_or(Why::Over);
            }
        };
        tally.sent(intended, free, sent);
        let done = worker.step(part.first_operation + number, tally);
        let end = clock::now();
        let timing = Timing { intended, free: std::mem::replace(&mut free, end), sent, end };
        match done {
            Ok(()) if tally.take_deferred() => {}
            Ok(()) => {
                tally.completed(timing);
                worker.between();
            }
            Err(failed) => {
                if let Some(why) = met(failed, timing, tally) {
                    return why;
                }
            }
        }
    }
    Why::Over
}

/// Lets the worker end what it has under way at the end of a part; a failure there took as long as the ending did.
fn settle<W: Worker>(worker: &mut W, part: &Part, tally: &mut Tally) -> Why {
    let begun = clock::now();
    let Err(failed) = worker.settle(!part.warm_up, tally) else { return Why::Over };
    let timing = Timing { intended: None, free: begun, sent: begun, end: clock::now() };
    met(failed, timing, tally).unwrap_or(Why::Over)
}

/// Counts a failure; whether it ends the case.
fn met(failed: Failed, timing: Timing, tally: &mut Tally) -> Option<Why> {
    tally.failed(failed.code, timing);
    failed.fatal.map(Why::Fatal)
}
