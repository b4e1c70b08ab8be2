//! Ids that no two operations share.

/// The largest prime below 2^32.
const PRIME: u64 = 4_294_967_291;
/// Turns the first scrambling into another number before the second.
const MASK: u32 = 0x5bf0_3635;
/// The step through a table of sysbench 0.4, a prime.
const STEP: u64 = 2_147_483_647;

/// The id of the row that an operation of `oltp_insert` adds where the server does not number rows: each of 2^32
/// operations has another one, negative ones among them (the permutation of quadratic residues by J. Preshing, 2012,
/// in the public domain, as in sysbench 1.0.20).
pub(super) fn new_id(seed: u64, operation: u64) -> i64 {
    let (offset, _) = halves(seed);
    let first = scramble(operation as u32).wrapping_add(offset);
    i64::from(scramble(first ^ MASK)) - (1 << 31)
}

/// The id of the row that an operation of 0.4 deletes, of 1 to `rows`: all others come before one comes again, unless
/// `rows` is a multiple of the step.
pub(super) fn old_id(seed: u64, operation: u64, rows: u32) -> i64 {
    let (from, rows) = (u64::from(halves(seed).1), u64::from(rows.max(1)));
    let steps = u128::from(operation) * u128::from(STEP) + u128::from(from);
    1 + (steps % u128::from(rows)) as i64
}

/// A permutation of the numbers of 32 bits: squares modulo a prime that is 3 modulo 4 are all different up to its half.
fn scramble(number: u32) -> u32 {
    let number = u64::from(number);
    if number >= PRIME {
        return number as u32;
    }
    let square = number * number % PRIME;
    (if number <= PRIME / 2 { square } else { PRIME - square }) as u32
}

fn halves(seed: u64) -> (u32, u32) {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 32) as u32, mixed as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn new_ids_are_all_different_and_spread_over_all_whole_numbers() {
        let ids: BTreeSet<i64> = (0..100_000).map(|operation| new_id(7, operation)).collect();
        assert_eq!(ids.len(), 100_000);
        assert!(ids.iter().all(|id| (i64::from(i32::MIN)..=i64::from(i32::MAX)).contains(id)));
        let negative = ids.iter().filter(|id| **id < 0).count();
        assert!((45_000..55_000).contains(&negative), "{negative}");
        assert_ne!(new_id(7, 1), new_id(8, 1));
    }

    #[test]
    fn scrambling_keeps_the_last_numbers_apart_too() {
        let last: BTreeSet<u32> = (u32::MAX - 1_000..=u32::MAX).map(scramble).collect();
        assert_eq!(last.len(), 1_001);
    }

    #[test]
    fn old_ids_meet_every_row_before_one_comes_again() {
        for rows in [1, 10, 10_000] {
            let ids: BTreeSet<i64> =
                (0..u64::from(rows)).map(|operation| old_id(3, operation, rows)).collect();
            assert_eq!(ids, (1..=i64::from(rows)).collect());
        }
    }
}
