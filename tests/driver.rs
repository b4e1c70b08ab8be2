//! The driver at its boundary, with fake workers in the process.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use benchd::driver::{
    Arrivals, DriveError, ErrorCode, Failed, Kinds, Observed, Pace, Pin, Plan, Stop, Tally, Worker, drive,
};
use benchd::record::{CaseResult, LIVE_BUCKETS_SECONDS, LoadModel, Statements};
use benchd::units::{Rate, Share, Span};
use proptest::prelude::*;

/// A worker that does what a closure says.
struct FakeWorker<F>(F);

impl<F: FnMut(u64, &mut Tally) -> Result<(), Failed>> Worker for FakeWorker<F> {
    fn step(&mut self, operation: u64, tally: &mut Tally) -> Result<(), Failed> {
        (self.0)(operation, tally)
    }
}

const SERVER_GONE: Failed = Failed { code: ErrorCode::Connection, fatal: None };
const DEADLOCK: Failed = Failed { code: ErrorCode::Server(1213), fatal: None };
/// The first number of the operations of a warm-up.
const WARM_UP: u64 = 1 << 62;

/// A closed loop without limits that reports every 50 ms.
fn plan(clients: u32) -> Plan {
    Plan {
        clients,
        warm_up: Span::ZERO,
        time: Span::ZERO,
        operations: 0,
        operations_each: 0,
        pace: Pace::FlatOut,
        pin: Pin::None,
        seed: 1,
        interval: Span::from_millis(50),
        max_errors: Share::from_percent(1),
        kinds: Kinds::default(),
    }
}

fn open(clients: u32, rate: f64, arrivals: Arrivals, milliseconds: u64) -> Plan {
    let pace = Rate::new(rate).map_or(Pace::FlatOut, |rate| Pace::Open { rate, arrivals });
    Plan { pace, time: Span::from_millis(milliseconds), ..plan(clients) }
}

/// Drives fake workers that all do the same.
fn run(
    plan: &Plan,
    step: impl Fn(u64, &mut Tally) -> Result<(), Failed> + Sync,
) -> Result<CaseResult, DriveError> {
    observed(plan, step).0
}

fn observed(
    plan: &Plan,
    step: impl Fn(u64, &mut Tally) -> Result<(), Failed> + Sync,
) -> (Result<CaseResult, DriveError>, Vec<Observed>) {
    let mut seen = Vec::new();
    let result = drive(plan, &Stop::new(), |_| Ok(FakeWorker(&step)), &mut |observed| seen.push(observed));
    (result, seen)
}

fn due(result: &CaseResult) -> u64 {
    result.operations + result.errors.failed + result.load.never_sent
}

#[test]
fn open_loop_times_count_from_the_intended_start_when_fake_workers_freeze() {
    // With a rate of R for the time T, a freeze of D and far more capacity than R, the quantile q of the response
    // time is D - (1 - q) T: arrivals into the freeze wait for what is left of it.
    const TIME: f64 = 2.0;
    const FREEZE: f64 = 0.4;
    let first = OnceLock::new();
    let result = run(&open(8, 1_000.0, Arrivals::Even, 2_000), |_, _| {
        let since = first.get_or_init(Instant::now).elapsed().as_secs_f64();
        if (0.8..0.8 + FREEZE).contains(&since) {
            thread::sleep(Duration::from_secs_f64(0.8 + FREEZE - since));
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(due(&result), 2_000, "no arrival is skipped");
    assert_eq!(result.response.count, result.operations);
    let near = |measured: Option<f64>, quantile: f64| {
        let expected = FREEZE - (1.0 - quantile) * TIME;
        let ratio = measured.unwrap() / expected;
        assert!(
            (0.7..1.4).contains(&ratio),
            "quantile {quantile}: {measured:?} where {expected} is expected"
        );
    };
    near(result.response.p90, 0.90);
    near(result.response.p95, 0.95);
    near(result.response.p99, 0.99);
    assert!(result.response.p50.unwrap() < FREEZE / 4.0);
    assert!(result.service.p99.unwrap() < FREEZE / 4.0, "only eight operations were under way in the freeze");
    near(result.lag.p95, 0.95);
    let late = result.generator.late_p99.unwrap();
    assert!(late < FREEZE / 4.0, "clients that wait for an answer are not late by their own fault: {late}");
}

#[test]
fn even_arrivals_are_exactly_rate_times_time() {
    let result = run(&open(2, 500.0, Arrivals::Even, 600), |_, _| Ok(())).unwrap();
    assert_eq!(due(&result), 300);
    assert_eq!((result.load.model, result.load.asked_per_second), (LoadModel::Open, Some(500.0)));
    assert!(result.seconds >= 0.6);
}

#[test]
fn poisson_arrivals_depend_on_the_seed_alone() {
    let arrivals = |seed, clients| {
        let plan = Plan { seed, ..open(clients, 800.0, Arrivals::Poisson, 400) };
        due(&run(&plan, |_, _| Ok(())).unwrap())
    };
    let with_seed_one = arrivals(1, 1);
    assert_eq!(arrivals(1, 4), with_seed_one);
    assert!((220..420).contains(&with_seed_one), "{with_seed_one} where 320 are expected");
    assert!((2..6).any(|seed| arrivals(seed, 1) != with_seed_one));
}

#[test]
fn what_was_due_and_not_sent_is_counted_and_called_an_overload() {
    let (result, seen) = observed(&open(1, 1_000.0, Arrivals::Even, 500), |_, _| {
        thread::sleep(Duration::from_millis(20));
        Ok(())
    });
    let result = result.unwrap();
    assert_eq!(due(&result), 500);
    assert!(result.load.never_sent >= 474, "{:?}", result.load);
    assert!(result.load.overloaded);
    let overdue: Vec<u64> = seen.iter().map(|observed| observed.interval.overdue).collect();
    assert!(overdue.windows(2).all(|pair| pair[0] < pair[1]), "it falls behind more and more: {overdue:?}");
    assert_eq!(overdue.last(), Some(&result.load.never_sent));
    let age = |age: Option<f64>, expected: f64| (age.unwrap() - expected).abs() < 1e-6;
    let first = result.operations as f64 / 1_000.0;
    assert!(age(result.load.never_sent_oldest_seconds, 0.5 - first), "{:?}", result.load);
    assert!(age(result.load.never_sent_youngest_seconds, 0.001), "{:?}", result.load);
}

#[test]
fn a_load_that_keeps_up_is_not_overloaded() {
    let result = run(&Plan { operations: 100, ..open(4, 400.0, Arrivals::Even, 0) }, |_, _| Ok(())).unwrap();
    assert_eq!((result.operations, result.load.never_sent, result.load.overloaded), (100, 0, false));
    assert_eq!(
        (result.load.never_sent_oldest_seconds, result.load.never_sent_youngest_seconds),
        (None, None)
    );
    assert!(result.seconds > 0.24, "the last of 100 arrivals is due after 247.5 ms");
    assert!(result.lag.count == 100 && result.service.count == 100);
}

#[test]
fn closed_loop_has_no_lag_and_responds_as_it_serves() {
    let result = run(&Plan { operations: 500, ..plan(2) }, |_, _| Ok(())).unwrap();
    assert_eq!((result.load.model, result.load.asked_per_second), (LoadModel::Closed, None));
    assert_eq!((result.response, result.lag.count), (result.service, 0));
    assert_eq!(result.histograms.keys().collect::<Vec<_>>(), ["response"]);
    assert_eq!(result.histograms["response"].decode().unwrap().len(), 500);
}

#[test]
fn operations_are_numbered_once_each_and_their_limit_is_exact() {
    let times: Vec<AtomicU32> = std::iter::repeat_with(AtomicU32::default).take(10_000).collect();
    let result = run(&Plan { operations: 10_000, time: Span::from_secs(600), ..plan(7) }, |operation, _| {
        times[usize::try_from(operation).unwrap()].fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    assert_eq!(result.unwrap().operations, 10_000);
    assert!(times.iter().all(|times| times.load(Ordering::Relaxed) == 1));
}

#[test]
fn a_load_that_ends_by_time_does_no_number_twice_and_leaves_few_out() {
    const CLIENTS: u32 = 3;
    let numbers = Mutex::new(BTreeSet::new());
    let result = run(&Plan { time: Span::from_millis(100), ..plan(CLIENTS) }, |operation, _| {
        assert!(numbers.lock().unwrap().insert(operation));
        Ok(())
    });
    let (done, numbers) = (result.unwrap().operations, numbers.into_inner().unwrap());
    assert_eq!(numbers.len() as u64, done);
    let left_out = numbers.last().unwrap() + 1 - done;
    assert!(left_out < 16 * u64::from(CLIENTS), "{left_out}");
}

#[test]
fn time_ends_a_load_between_operations_never_inside_one() {
    let result = run(&Plan { time: Span::from_millis(200), ..plan(2) }, |_, _| {
        thread::sleep(Duration::from_millis(300));
        Ok(())
    })
    .unwrap();
    assert_eq!(result.operations, 2);
    assert!(result.seconds >= 0.3, "the overrun belongs to the measured time");
}

#[test]
fn clients_are_named_threads_that_begin_when_all_are_made() {
    let made = AtomicU32::new(0);
    let names = Mutex::new(BTreeSet::new());
    let make = |client: u32| {
        thread::sleep(Duration::from_millis(u64::from(client) * 10));
        made.fetch_add(1, Ordering::SeqCst);
        Ok(FakeWorker(|_, _: &mut Tally| {
            assert_eq!(made.load(Ordering::SeqCst), 3);
            names.lock().unwrap().insert(thread::current().name().map(str::to_owned));
            thread::sleep(Duration::from_millis(1));
            Ok(())
        }))
    };
    drive(&Plan { time: Span::from_millis(300), ..plan(3) }, &Stop::new(), make, &mut |_| {}).unwrap();
    let names: Vec<Option<String>> = names.into_inner().unwrap().into_iter().collect();
    assert_eq!(names, [Some("client-0".into()), Some("client-1".into()), Some("client-2".into())]);
}

#[test]
fn errors_are_counted_by_code_and_are_no_response_times() {
    let plan = Plan { operations: 1_000, max_errors: Share::from_percent(100), ..plan(4) };
    let result = run(&plan, |operation, tally| match operation % 10 {
        0 => Err(DEADLOCK),
        1 => {
            tally.retry(ErrorCode::Server(1205));
            tally.retry(ErrorCode::Server(1213));
            Ok(())
        }
        _ => Ok(()),
    })
    .unwrap();
    assert_eq!((result.operations, result.response.count), (900, 900));
    assert_eq!((result.errors.failed, result.errors.retried), (100, 200));
    assert_eq!(result.errors.by_code, [("1205".to_owned(), 100), ("1213".to_owned(), 200)].into());
    assert_eq!((result.failed.count, result.overflow), (100, 0));
    assert_eq!(result.histograms.keys().collect::<Vec<_>>(), ["error", "response"]);
    assert_eq!(result.histograms["error"].decode().unwrap().len(), 100);
}

#[test]
fn how_long_a_failure_took_is_told_from_its_intended_start_and_apart_from_answers() {
    let plan = Plan { max_errors: Share::from_percent(100), ..open(1, 200.0, Arrivals::Even, 200) };
    let result = run(&plan, |operation, _| match operation {
        3 => {
            thread::sleep(Duration::from_millis(60));
            Err(Failed { code: ErrorCode::Timeout, fatal: None })
        }
        4 => Err(DEADLOCK),
        _ => Ok(()),
    })
    .unwrap();
    assert_eq!((result.failed.count, result.response.count), (2, 38));
    assert!(result.failed.max.unwrap() >= 0.059);
    let failed = result.histograms["error"].decode().unwrap();
    assert!(failed.min() > 50_000_000, "the second failed at once, 55 ms after it was due: {}", failed.min());
    assert!(result.response.max.unwrap() < result.failed.max.unwrap());
}

#[test]
fn too_many_errors_fail_the_case_at_its_end() {
    let error = run(&Plan { operations: 50, ..plan(2) }, |operation, _| match operation {
        7 | 8 => Err(DEADLOCK),
        9 => Err(SERVER_GONE),
        _ => Ok(()),
    })
    .unwrap_err();
    let text = error.to_string();
    let DriveError::TooManyErrors { failed: 3, ended: 50, most, partial, .. } = error else {
        panic!("{text}")
    };
    assert_eq!((most.as_str(), partial.unwrap().operations), ("1213", 47));
    assert!(text.contains("3 of 50") && text.contains("1%"), "{text}");
}

#[test]
fn too_many_errors_end_an_endless_case() {
    let error = run(&plan(2), |_, _| {
        thread::sleep(Duration::from_micros(100));
        Err(SERVER_GONE)
    })
    .unwrap_err();
    assert!(matches!(error, DriveError::TooManyErrors { failed: 100.., .. }), "{error}");
}

#[test]
fn one_early_error_does_not_fail_the_case() {
    let result = run(&Plan { operations: 1_000, ..plan(1) }, |operation, _| match operation {
        0 => Err(DEADLOCK),
        1 => {
            thread::sleep(Duration::from_millis(120));
            Ok(())
        }
        _ => Ok(()),
    });
    assert_eq!(result.unwrap().errors.failed, 1);
}

#[test]
fn a_fatal_failure_ends_the_case_at_once_with_its_sentence() {
    let error = run(&plan(4), |operation, _| match operation {
        500 => Err(Failed { code: ErrorCode::Server(1146), fatal: Some("table sbtest1 is gone".to_owned()) }),
        _ => Ok(()),
    })
    .unwrap_err();
    let DriveError::Fatal { message, partial } = error else { panic!("{error}") };
    let partial = partial.unwrap();
    assert_eq!(message, "table sbtest1 is gone");
    assert_eq!(partial.errors.by_code, [("1146".to_owned(), 1)].into());
    // Each client takes up to 16 numbers at once, some of which it may not have come to.
    assert!(partial.operations >= 500 - 4 * 16, "{}", partial.operations);
}

#[test]
fn a_panic_of_one_client_ends_the_case_and_names_the_client() {
    let make = |client: u32| {
        Ok(FakeWorker(move |_, _: &mut Tally| match client {
            2 => panic!("a number that is none"),
            _ => Ok(()),
        }))
    };
    let error = drive(&plan(4), &Stop::new(), make, &mut |_| {}).err().unwrap().to_string();
    assert!(error.contains("client-2") && error.contains("a number that is none"), "{error}");
}

#[test]
fn one_client_that_cannot_be_made_ends_all_before_any_operation() {
    let stepped = AtomicBool::new(false);
    let outcome = |failing: fn() -> anyhow::Result<()>| {
        let make = |client: u32| {
            if client == 3 {
                failing()?;
            }
            Ok(FakeWorker(|_, _: &mut Tally| {
                stepped.store(true, Ordering::SeqCst);
                Ok(())
            }))
        };
        drive(&plan(8), &Stop::new(), make, &mut |_| {}).unwrap_err()
    };
    let refused = outcome(|| Err(anyhow::anyhow!("too many connections")));
    assert!(matches!(&refused, DriveError::Make(error) if error.to_string() == "too many connections"));
    let panicked = outcome(|| panic!("out of handles")).to_string();
    assert!(panicked.contains("client-3") && panicked.contains("out of handles"), "{panicked}");
    assert!(!stepped.load(Ordering::SeqCst));
}

#[test]
fn a_stop_is_seen_before_the_next_operation() {
    let (stop, done) = (Stop::new(), AtomicU64::new(0));
    let make = |_| {
        Ok(FakeWorker(|_, _: &mut Tally| {
            if done.fetch_add(1, Ordering::SeqCst) + 1 == 10 {
                stop.request();
            }
            Ok(())
        }))
    };
    let error = drive(&plan(1), &stop, make, &mut |_| {}).unwrap_err();
    let DriveError::Stopped { partial } = error else { panic!("{error}") };
    assert_eq!((partial.unwrap().operations, done.into_inner()), (10, 10));
}

#[test]
fn a_stop_is_seen_while_clients_wait_for_an_arrival() {
    let stop = Stop::new();
    let begun = Instant::now();
    let plan = Plan { time: Span::ZERO, ..open(2, 0.001, Arrivals::Even, 0) };
    let error = thread::scope(|scope| {
        let load = scope.spawn(|| {
            drive(&plan, &stop, |_| Ok(FakeWorker(|_, _: &mut Tally| Ok(()))), &mut |_| stop.request())
        });
        load.join().unwrap().unwrap_err()
    });
    assert!(matches!(error, DriveError::Stopped { partial: Some(_) }));
    assert!(begun.elapsed() < Duration::from_secs(100), "the next arrival is due after 1,000 s");
}

#[test]
fn a_stop_in_the_warm_up_leaves_no_result() {
    let stop = Stop::new();
    let plan = Plan { warm_up: Span::from_secs(600), ..plan(2) };
    let make = |_| Ok(FakeWorker(|_, _: &mut Tally| Ok(())));
    let error = drive(&plan, &stop, make, &mut |_| stop.request()).unwrap_err();
    assert!(matches!(error, DriveError::Stopped { partial: None }));
}

#[test]
fn a_client_stuck_in_an_operation_does_not_delay_the_reporter() {
    let released = AtomicBool::new(false);
    let mut intervals = 0;
    let make = |client: u32| {
        let released = &released;
        Ok(FakeWorker(move |_, _: &mut Tally| {
            while client == 0 && !released.load(Ordering::SeqCst) {
                thread::yield_now();
            }
            Ok(())
        }))
    };
    let result = drive(&Plan { time: Span::from_millis(100), ..plan(2) }, &Stop::new(), make, &mut |_| {
        intervals += 1;
        released.fetch_or(intervals == 4, Ordering::SeqCst);
    });
    assert!(result.unwrap().seconds > 0.15, "it was released two intervals after the end");
    assert!(intervals >= 4);
}

#[test]
fn a_panic_of_the_observer_does_not_leave_clients_behind() {
    let observed = std::panic::catch_unwind(|| {
        drive(&plan(2), &Stop::new(), |_| Ok(FakeWorker(|_, _: &mut Tally| Ok(()))), &mut |_| {
            panic!("no more")
        })
    });
    assert!(observed.is_err());
}

#[test]
fn a_limit_for_each_client_holds_for_each() {
    let by_client: Mutex<Vec<u64>> = Mutex::new(vec![0; 3]);
    let make = |client: u32| {
        let by_client = &by_client;
        Ok(FakeWorker(move |operation, _: &mut Tally| {
            by_client.lock().unwrap()[client as usize] += u64::from(operation < WARM_UP);
            // A client ten times as slow does as many.
            thread::sleep(Duration::from_millis(if client == 0 { 10 } else { 1 }));
            Ok(())
        }))
    };
    let plan = Plan { operations_each: 7, warm_up: Span::from_millis(30), ..plan(3) };
    let result = drive(&plan, &Stop::new(), make, &mut |_| {}).unwrap();
    assert_eq!(result.operations, 21);
    assert_eq!(by_client.into_inner().unwrap(), [7, 7, 7]);
}

#[test]
fn what_is_done_between_operations_is_in_no_response_time() {
    struct Slow(Duration);
    impl Worker for Slow {
        fn step(&mut self, _operation: u64, _tally: &mut Tally) -> Result<(), Failed> {
            Ok(())
        }
        fn between(&mut self) {
            thread::sleep(self.0);
        }
    }
    let pause = Duration::from_millis(5);
    let result = drive(&Plan { operations: 40, ..plan(1) }, &Stop::new(), |_| Ok(Slow(pause)), &mut |_| {});
    let result = result.unwrap();
    assert!(result.seconds >= 39.0 * pause.as_secs_f64());
    assert!(result.response.p50.unwrap() < pause.as_secs_f64());
}

/// The CPUs that the calling thread may use, as the kernel writes them.
fn allowed_cpus() -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap().trim().to_owned()
}

#[test]
fn pinned_clients_have_a_cpu_each_and_others_have_all() {
    let cpus = u32::try_from(thread::available_parallelism().unwrap().get()).unwrap();
    let seen = |pin| {
        let seen: Mutex<BTreeSet<String>> = Mutex::default();
        let plan = Plan { operations_each: 1, pin, ..plan(cpus) };
        run(&plan, |_, _| {
            seen.lock().unwrap().insert(allowed_cpus());
            Ok(())
        })
        .unwrap();
        seen.into_inner().unwrap()
    };
    let pinned = seen(Pin::Core);
    assert_eq!(pinned.len(), cpus as usize, "{pinned:?}");
    assert!(pinned.iter().all(|list| list.parse::<u32>().is_ok()), "{pinned:?}");
    assert_eq!(seen(Pin::None), BTreeSet::from([allowed_cpus()]));
}

#[test]
fn more_pinned_clients_than_cpus_are_refused() {
    let error = run(&Plan { operations: 1, pin: Pin::Core, ..plan(5000) }, |_, _| Ok(())).unwrap_err();
    assert!(matches!(error, DriveError::Make(_)));
    assert!(error.to_string().starts_with("5000 threads cannot have a CPU each"), "{error}");
}

#[test]
fn the_warm_up_is_shown_and_not_counted() {
    let warm = AtomicU64::new(0);
    let plan = Plan { warm_up: Span::from_millis(120), operations: 200, ..plan(3) };
    let (result, seen) = observed(&plan, |operation, tally| {
        tally.read();
        tally.read_bytes(512);
        tally.written_bytes(16);
        tally.fsync();
        if operation < WARM_UP {
            return Ok(());
        }
        warm.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(5));
        Err(SERVER_GONE)
    });
    let result = result.unwrap();
    assert_eq!((result.operations, result.errors.failed), (200, 0));
    assert_eq!(result.statements, Statements { read: 200, write: 0, other: 0 });
    assert_eq!((result.bytes_read, result.bytes_written, result.fsyncs), (200 * 512, 200 * 16, 200));
    assert_eq!(result.warm_up_seconds, 0.12);
    assert!(result.intervals.iter().all(|interval| interval.errors.is_empty()));
    let (warm_up, measured): (Vec<Observed>, Vec<Observed>) = seen.into_iter().partition(|seen| seen.warm_up);
    assert!(warm_up.iter().any(|seen| !seen.interval.errors.is_empty()));
    assert_eq!(measured.len(), result.intervals.len());
    assert!(warm.into_inner() >= 3);
}

#[test]
fn arrivals_of_the_warm_up_never_count_in_the_measured_part() {
    let first = OnceLock::new();
    let plan = Plan { warm_up: Span::from_millis(100), ..open(2, 1_000.0, Arrivals::Even, 300) };
    let result = run(&plan, |operation, _| {
        let since = first.get_or_init(Instant::now).elapsed();
        if operation >= WARM_UP && since > Duration::from_millis(50) {
            thread::sleep(Duration::from_millis(150).saturating_sub(since));
        }
        Ok(())
    })
    .unwrap();
    assert_eq!(due(&result), 300, "the backlog of the warm-up is dropped, its own arrivals wait");
    assert!(result.response.max.unwrap() > 0.03, "arrivals of the first 50 ms met the freeze of the warm-up");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn intervals_add_up_to_the_whole(
        clients in 1_u32..5,
        rate in prop::option::of(500.0..4_000.0_f64),
        fails_every in 2_u64..20,
        milliseconds in 30_u64..160,
    ) {
        let max_errors = Share::from_percent(100);
        let plan = match rate {
            Some(rate) => Plan { max_errors, ..open(clients, rate, Arrivals::Poisson, milliseconds) },
            None => Plan { max_errors, time: Span::from_millis(milliseconds), ..plan(clients) },
        };
        let (result, seen) = observed(&plan, |operation, tally| {
            tally.write();
            tally.other();
            tally.retry(ErrorCode::Timeout);
            if operation.is_multiple_of(fails_every) { Err(DEADLOCK) } else { Ok(()) }
        });
        let result = result.unwrap();
        let sum = |of: &dyn Fn(&Observed) -> u64| seen.iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(&|seen| seen.interval.operations), result.operations);
        prop_assert_eq!(sum(&|seen| seen.interval.response.count), result.response.count);
        prop_assert_eq!(sum(&|seen| seen.interval.retried), result.errors.retried);
        prop_assert_eq!(sum(&|seen| seen.interval.statements.total()), result.statements.total());
        for (code, count) in &result.errors.by_code {
            prop_assert_eq!(sum(&|seen| seen.interval.errors.get(code).copied().unwrap_or(0)), *count);
        }
        let seconds: f64 = seen.iter().map(|seen| seen.interval.seconds).sum();
        prop_assert!((seconds - result.seconds).abs() < 0.001);
        prop_assert_eq!(result.histograms["response"].decode().unwrap().len(), result.operations);
        for (seen, stored) in seen.iter().zip(&result.intervals) {
            let live = &seen.interval;
            prop_assert_eq!(live.buckets.len(), LIVE_BUCKETS_SECONDS.len());
            prop_assert!(live.buckets.is_sorted() && live.buckets.iter().all(|count| *count <= live.operations));
            prop_assert!(stored.buckets.is_empty());
            prop_assert_eq!((stored.at, stored.operations), (live.at, live.operations));
        }
    }
}

#[test]
fn live_buckets_hold_the_times_up_to_their_bounds() {
    let (_, seen) = observed(&Plan { operations: 12, ..plan(3) }, |_, _| {
        thread::sleep(Duration::from_millis(12));
        Ok(())
    });
    let count = |bound: f64| {
        let at = LIVE_BUCKETS_SECONDS.iter().position(|other| *other == bound).unwrap();
        seen.iter().map(|seen| seen.interval.buckets[at]).sum::<u64>()
    };
    assert_eq!((count(1e-2), count(30.0)), (0, 12));
    assert!(seen.iter().map(|seen| seen.interval.response_sum).sum::<f64>() > 12.0 * 0.0119);
}

#[test]
fn the_generator_accounts_for_itself() {
    let plan = Plan { time: Span::from_millis(200), ..plan(1) };
    let (result, seen) = observed(&plan, |_, _| Ok(()));
    let result = result.unwrap();
    assert!(result.generator.cpu_seconds > 0.01, "{:?}", result.generator);
    let parts = result.generator.user_cpu_seconds + result.generator.system_cpu_seconds;
    assert!((result.generator.cpu_seconds - parts).abs() < 1e-9, "{:?}", result.generator);
    assert!(result.generator.cpu_seconds_per_operation > 0.0);
    assert!(result.generator.peak_memory_bytes > 1 << 20);
    assert!(result.generator.cpus >= 1.0);
    let idle = run(&plan, |_, _| {
        thread::sleep(Duration::from_millis(20));
        Ok(())
    });
    let (busy, idle) = (result.generator.busiest_thread, idle.unwrap().generator.busiest_thread);
    assert!(busy <= 1.01 && idle < busy / 2.0, "{idle} of its time, {busy} when it never waits");
    assert!(seen.windows(2).all(|pair| pair[0].cpu_seconds <= pair[1].cpu_seconds));
    assert_eq!(seen[0].clients, 1);
}
