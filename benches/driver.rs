//! What the driver costs: the loop beside a plain one, a recorded time, and how late an open loop sends.
//!
//! `cargo bench --bench driver`
#![allow(missing_docs, reason = "the macros of the crate make public functions")]
#![allow(clippy::unwrap_used, reason = "a measurement that cannot be made ends as a test does")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use benchd::driver::random::Random;
use benchd::driver::{Arrivals, Buckets, Failed, Kinds, Layout, Pace, Plan, Stop, Tally, Worker, drive};
use benchd::record::{CaseResult, new_histogram};
use benchd::units::{Rate, Share, Span};
use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};

/// An operation of a few nanoseconds.
struct Brief(u64);

impl Brief {
    #[inline]
    fn operate(&mut self, operation: u64) {
        self.0 = black_box(self.0.rotate_left(5) ^ operation);
    }
}

impl Worker for Brief {
    fn step(&mut self, operation: u64, _tally: &mut Tally) -> Result<(), Failed> {
        self.operate(operation);
        Ok(())
    }
}

fn plan(pace: Pace, time: Span, operations: u64) -> Plan {
    Plan {
        operations_each: 0,
        pin: benchd::driver::Pin::None,
        clients: 1,
        warm_up: Span::ZERO,
        time,
        operations,
        pace,
        seed: 1,
        interval: Span::from_secs(1),
        max_errors: Share::from_percent(1),
        kinds: Kinds::default(),
    }
}

fn load(plan: &Plan) -> CaseResult {
    drive(plan, &Stop::new(), |_| Ok(Brief(1)), &mut |_| ()).unwrap()
}

/// A rate at which every arrival is overdue, so that nothing is waited for.
fn overdue(arrivals: Arrivals) -> Pace {
    Pace::Open { rate: Rate::new(1e9).unwrap(), arrivals }
}

/// The same operation in a loop with nothing around it, and driven: the difference is the driver's overhead.
fn the_loop(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("loop");
    group.bench_function("plain", |bencher| {
        bencher.iter_custom(|operations| {
            let (mut worker, begun) = (Brief(1), Instant::now());
            (0..operations).for_each(|operation| worker.operate(operation));
            begun.elapsed()
        });
    });
    let paces = [
        ("closed", Pace::FlatOut),
        ("open, even", overdue(Arrivals::Even)),
        ("open, poisson", overdue(Arrivals::Poisson)),
    ];
    for (name, pace) in paces {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|operations| {
                Duration::from_secs_f64(load(&plan(pace, Span::ZERO, operations)).seconds)
            });
        });
    }
    group.finish();
}

/// Recording one time, beside the crate whose layout it has.
fn histogram(criterion: &mut Criterion) {
    let mut random = Random::for_operation(1, 1);
    let times: Vec<u64> = (0..4_096).map(|_| random.bits() >> (24 + random.below(20))).collect();
    let mut next = times.iter().cycle();
    let mut group = criterion.benchmark_group("histogram");
    let mut other = new_histogram().unwrap();
    let buckets = Buckets::new(Layout::fine(&other));
    group.bench_function("record", |bencher| bencher.iter(|| buckets.record(*next.next().unwrap())));
    group.bench_function("hdrhistogram", |bencher| {
        bencher.iter(|| other.saturating_record(*next.next().unwrap()));
    });
    group.finish();
}

/// How late the 99th percentile of operations is sent; the time shown is that, not what it took to find out.
fn pace(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pace");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_secs(1));
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        let rate = Rate::new(5_000.0).unwrap();
        group.bench_function(format!("lag p99 at 5,000 a second, {arrivals:?}"), |bencher| {
            bencher.iter_custom(|turns| {
                let result = load(&plan(Pace::Open { rate, arrivals }, Span::from_secs(2), 0));
                Duration::from_secs_f64(result.lag.p99.unwrap()) * u32::try_from(turns).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(driver, the_loop, histogram, pace);
criterion_main!(driver);
