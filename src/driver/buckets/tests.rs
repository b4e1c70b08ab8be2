use proptest::prelude::*;

use crate::record::new_histogram;

use super::*;

proptest! {
    #[test]
    fn times_are_kept_as_hdrhistogram_keeps_them(times in prop::collection::vec(any_time(), 1..100)) {
        let mut expected = new_histogram().unwrap();
        let layout = Layout::fine(&expected);
        let buckets = Buckets::new(layout);
        let longer = times.iter().filter(|time| **time > expected.high()).count() as u64;
        for time in times {
            buckets.record(time);
            expected.saturating_record(time.min(expected.high()));
        }
        prop_assert_eq!(buckets.overflow(), longer);
        let mut sum = Sum::new(layout);
        buckets.add_to(&mut sum);
        let mut filled = new_histogram().unwrap();
        layout.fill(&mut filled, &sum.counts);
        let counts = |histogram: &Histogram<u64>| -> Vec<(u64, u64)> {
            histogram
                .iter_recorded()
                .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
                .collect()
        };
        prop_assert_eq!(counts(&filled), counts(&expected));
    }

    #[test]
    fn coarse_buckets_are_within_one_percent(time in 1_u64..600_000_000_000) {
        let layout = Layout::coarse(&new_histogram().unwrap());
        let lowest = layout.lowest(layout.index(time));
        prop_assert!(lowest <= time);
        prop_assert!(time - lowest <= time / 100);
    }
}

/// Times spread over all magnitudes, beyond the longest too.
fn any_time() -> impl Strategy<Value = u64> {
    (0_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift)
}

/// Reads over and over while another thread counts.
#[test]
fn a_reading_is_whole_and_never_less_than_an_earlier_one() {
    const TIMES: u64 = 300_000;
    let layout = Layout::fine(&new_histogram().unwrap());
    let (buckets, told) = (Buckets::new(layout), AtomicU64::new(0));
    let read = || {
        let mut sum = Sum::new(layout);
        buckets.add_to(&mut sum);
        sum.counts
    };
    thread::scope(|scope| {
        let count = scope.spawn(|| {
            for number in 0..TIMES {
                buckets.record(1_000 * (1 + number % 50));
                told.store(number + 1, Ordering::Release);
            }
        });
        let mut before = read();
        while !count.is_finished() {
            let least = told.load(Ordering::Acquire);
            let now = read();
            assert!(now.iter().zip(&before).all(|(now, before)| now >= before));
            assert!(now.iter().sum::<u64>() + 2 * BATCH > least);
            before = now;
        }
    });
    let all = read();
    assert_eq!(all.iter().sum::<u64>(), TIMES);
    assert_eq!(all[layout.index(7_000)], TIMES / 50);
}

#[test]
fn times_that_wait_are_read_too() {
    let layout = Layout::fine(&new_histogram().unwrap());
    let buckets = Buckets::new(layout);
    for number in 1..=3 * BATCH {
        buckets.record(5);
        let mut sum = Sum::new(layout);
        buckets.add_to(&mut sum);
        assert_eq!((sum.counts[5], sum.counts.iter().sum::<u64>()), (number, number));
    }
}

#[test]
fn a_count_of_more_than_32_bits_is_whole() {
    const BEFORE: u64 = FULL as u64 - 3;
    let layout = Layout::fine(&new_histogram().unwrap());
    let buckets = Buckets::new(layout);
    let mut expected = 0;
    for _ in 0..4 {
        buckets.counts[7].store(FULL - 3, Ordering::Relaxed);
        (0..BATCH).for_each(|_| buckets.record(7));
        let mut sum = Sum::new(layout);
        buckets.add_to(&mut sum);
        expected = expected / u64::from(FULL) * u64::from(FULL) + BEFORE + BATCH;
        assert_eq!((sum.counts[7], sum.counts[8]), (expected, 0));
    }
    assert!(expected > 1 << 33);
}

#[test]
fn a_count_of_which_a_part_is_being_moved_is_not_read() {
    let layout = Layout::fine(&new_histogram().unwrap());
    let buckets = Buckets::new(layout);
    buckets.counts[7].store(FULL - 3, Ordering::Relaxed);
    (0..BATCH).for_each(|_| buckets.record(7));
    let (carries, upper) = (buckets.carries.load(Ordering::Relaxed), &buckets.counts[layout.len() + 7]);
    // As the writer leaves them when it is halfway.
    buckets.carries.store(carries - 1, Ordering::Relaxed);
    upper.store(0, Ordering::Relaxed);
    let mut sum = Sum::new(layout);
    assert!(!buckets.try_add_to(&mut sum, 0));
    assert_eq!(sum.counts[7], 0);
    upper.store(1, Ordering::Relaxed);
    buckets.carries.store(carries, Ordering::Relaxed);
    assert!(buckets.try_add_to(&mut sum, 0));
    assert_eq!(sum.counts[7], u64::from(FULL) - 3 + BATCH);
}

#[test]
fn without_buckets_nothing_is_kept() {
    let buckets = Buckets::default();
    buckets.record(5);
    assert!(buckets.counts.is_empty());
}
