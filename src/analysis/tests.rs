//! Series whose truth is known, judged.

use std::collections::BTreeMap;

use super::*;
use crate::record::{Errors, Generator, Load, LoadModel, Percentiles, Statements, Steady};

/// Reproducible noise.
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(seed: u64) -> Noise {
        Noise((seed + 1).wrapping_mul(0xd134_2543_de82_ef95).rotate_left(32))
    }

    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normally distributed: the sum of twelve uniform numbers.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }

    /// Values around 1 with this deviation, each resembling the one before (autoregressive of order 1).
    pub(super) fn series(&mut self, count: usize, deviation: f64, correlation: f64) -> Vec<f64> {
        let own = (1.0 - correlation * correlation).sqrt();
        let mut last = self.normal();
        let mut next = || {
            last = correlation * last + own * self.normal();
            1.0 + deviation * last
        };
        (0..count).map(|_| next()).collect()
    }
}

/// Intervals of a second with a throughput that has a shape, and noise as a server has it.
fn shaped(seed: u64, seconds: u32, deviation: f64, shape: &dyn Fn(f64) -> f64) -> Vec<Interval> {
    let noise = Noise::new(seed).series(seconds as usize, deviation, 0.4);
    let rates = (0..seconds).zip(noise).map(|(at, noise)| shape(f64::from(at)) * noise * 10_000.0);
    rates.map(|rate| interval(1.0, rate.max(0.0) as u64)).collect()
}

fn interval(seconds: f64, operations: u64) -> Interval {
    Interval {
        at: 0.0,
        seconds,
        operations,
        statements: Statements::default(),
        response: Percentiles::default(),
        errors: [].into(),
        retried: 0,
        overdue: 0,
        buckets: Vec::new(),
        response_sum: 0.0,
    }
}

/// Of 100 series of a shape: the share found steady, the median of what was cut, and the mean throughput after it.
fn judged(seconds: u32, deviation: f64, shape: &dyn Fn(f64) -> f64) -> (f64, f64, f64) {
    let found: Vec<Steady> =
        (0..100).map(|seed| steady(&Series::of(&shaped(seed, seconds, deviation, shape))).unwrap()).collect();
    assert!(found.iter().all(|found| found.steady == found.why.is_none()));
    let steady = found.iter().filter(|found| found.steady).count() as f64 / 100.0;
    let cut = median(found.iter().map(|found| found.cut_seconds).collect());
    (steady, cut, mean(&found.iter().map(|found| found.per_second).collect::<Vec<f64>>()))
}

#[test]
fn a_throughput_that_only_has_noise_is_steady_however_much() {
    for (seconds, deviation) in [(40, 0.03), (60, 0.03), (120, 0.03), (120, 0.001), (60, 0.10), (300, 0.03)] {
        let (steady, cut, mean) = judged(seconds, deviation, &|_| 1.0);

        assert!(steady >= 0.88, "{steady} of {seconds} s with {deviation}");
        assert!(cut <= 5.0 && (mean / 10_000.0 - 1.0).abs() < 0.01, "{cut} {mean}");
    }
}

#[test]
fn a_beginning_that_is_unlike_the_rest_is_cut_and_the_mean_is_right() {
    let slow_start = |t: f64| 1.0 - (-t / 8.0).exp();
    let (steady, cut, mean) = judged(120, 0.03, &slow_start);
    assert!(steady >= 0.85 && (20.0..=40.0).contains(&cut), "{steady} {cut}");
    assert!((mean / 10_000.0 - 1.0).abs() < 0.01, "{mean}");
    let (steady, cut, mean) = judged(120, 0.03, &|t| if t < 20.0 { 1.25 } else { 1.0 });
    assert!(steady >= 0.85 && cut == 20.0, "{steady} {cut}");
    assert!((mean / 10_000.0 - 1.0).abs() < 0.01, "{mean}");
}

#[test]
fn what_does_not_settle_drifts_or_dips_is_not_steady() {
    let shapes: [(&str, &dyn Fn(f64) -> f64); 4] = [
        ("a start of half the time", &|t| 1.0 - (-t / 20.0).exp()),
        ("a slope of 10 %", &|t| 1.0 + 0.1 * t / 120.0),
        ("a step down", &|t| if t < 80.0 { 1.0 } else { 0.8 }),
        ("a late dip", &|t| if t < 100.0 { 1.0 } else { 0.8 }),
    ];
    for (name, shape) in shapes {
        let (steady, ..) = judged(120, 0.03, shape);

        assert!(steady <= 0.25, "{name} is steady in {steady}");
    }
}

#[test]
fn a_reason_says_what_changed_by_how_much_against_which_limit() {
    let found = steady(&Series::of(&shaped(1, 120, 0.001, &|t| 1.0 + 0.1 * t / 120.0))).unwrap();
    let why = found.why.unwrap();
    assert!(why.contains('%'), "{why}");
    let dip = steady(&Series::of(&shaped(1, 120, 0.001, &|t| if t < 100.0 { 1.0 } else { 0.8 }))).unwrap();
    let why = dip.why.unwrap();
    assert!(why.starts_with("the throughput changed by -20.6 % in its last sixth (limit 1.0 %)"), "{why}");
}

#[test]
fn too_short_a_part_is_not_judged_and_a_rest_of_an_interval_is_left_out() {
    let series = |count: usize| Series { rates: vec![5.0; count], seconds: vec![1.0; count] };
    assert_eq!(steady(&series(39)), None);
    let found = steady(&series(40)).unwrap();
    assert_eq!((found.steady, found.cut_seconds, found.per_second, found.drift), (true, 0.0, 5.0, 0.0));
    assert_eq!(steady(&Series { rates: vec![0.0; 60], seconds: vec![1.0; 60] }), None);
    let rest = Series::of(&[interval(1.0, 5), interval(1.0, 5), interval(0.2, 4)]);
    assert_eq!(rest.rates, [5.0, 5.0]);
    assert_eq!(Series::of(&[interval(0.2, 4)]).rates, [20.0]);
}

pub(super) fn result(change: &dyn Fn(&mut CaseResult)) -> CaseResult {
    let percentiles = Percentiles { p50: Some(0.002), ..Percentiles::default() };
    let mut result = CaseResult {
        bytes_read: 0,
        bytes_written: 0,
        fsyncs: 0,
        load: Load {
            model: LoadModel::Open,
            clients: 4,
            asked_per_second: Some(10_000.0),
            never_sent: 0,
            never_sent_oldest_seconds: None,
            never_sent_youngest_seconds: None,
            overloaded: false,
        },
        seconds: 60.0,
        warm_up_seconds: 0.0,
        operations: 600_000,
        per_second: 10_000.0,
        statements: Statements::default(),
        response: percentiles,
        service: percentiles,
        lag: Percentiles { p99: Some(0.9), ..percentiles },
        by_operation: BTreeMap::new(),
        ceilings: BTreeMap::new(),
        failed: Percentiles::default(),
        overflow: 0,
        steady: None,
        error: None,
        limited: false,
        limited_by: None,
        errors: Errors::default(),
        generator: Generator {
            cpu_seconds: 90.0,
            cpus: 2.0,
            busiest_thread: 0.9,
            late_p99: Some(0.0009),
            ..Generator::default()
        },
        intervals: shaped(1, 60, 0.03, &|_| 1.0),
        histograms: [].into(),
    };
    change(&mut result);
    result
}

#[test]
fn the_generator_is_the_limit_by_its_cpus_its_threads_or_its_own_lateness_only() {
    assert_eq!(
        limit(&result(&|_| ())),
        None,
        "waiting for clients that wait for the target is not its fault"
    );
    let why = |change: &dyn Fn(&mut CaseResult)| limit(&result(change)).unwrap_or_default();
    assert_eq!(
        why(&|result| result.generator.cpu_seconds = 115.2),
        "it used 96 % of its 2 CPUs (limit 80 %)"
    );
    assert!(why(&|result| result.generator.busiest_thread = 0.97).contains("97 % of the time (limit 95 %)"));
    let late = why(&|result| result.generator.late_p99 = Some(0.0011));
    assert!(late.contains("1.10 ms late") && late.contains("limit 1.00 ms"), "{late}");
    let slow = |result: &mut CaseResult| {
        result.response.p50 = Some(0.05);
        result.generator.late_p99 = Some(0.0049);
    };
    assert_eq!(why(&slow), "");
    assert_eq!(why(&|result| result.generator.cpus = 0.0), "", "an older record does not say");
}

#[test]
fn a_result_is_judged_whole_and_load_on_the_process_itself_is_no_limit() {
    let mut busy = result(&|result| result.generator.cpu_seconds = 120.0);
    judge(&mut busy, false);
    assert_eq!((busy.limited, &busy.limited_by), (false, &None), "the workload is the generator");
    judge(&mut busy, true);
    assert!(busy.limited && busy.limited_by.is_some());
    assert!(busy.steady.is_some());
    let error = busy.error.unwrap();
    assert!((0.002..0.012).contains(&error), "{error} where 0.006 is expected");
}
