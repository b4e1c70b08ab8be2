//! Randomness that does not depend on timing: every operation has a generator of its own, seeded by the case's
//! seed and the operation's number.

mod distribution;

pub use distribution::{Distribution, Ids};

/// A stream of random numbers (xoshiro256++ by Blackman and Vigna, 2019, seeded by SplitMix64).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The generator of one operation: the same pair gives the same numbers, on any machine.
    pub fn for_operation(seed: u64, operation: u64) -> Random {
        let mut mix = SplitMix(SplitMix(seed).next() ^ operation);
        Random { state: [mix.next(), mix.next(), mix.next(), mix.next()] }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number of [0, 1), one of 2^53 equally likely.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A whole number of [0, n), all equally likely; 0 when `n` is 0 (Lemire 2019, without bias).
    pub fn below(&mut self, n: u64) -> u64 {
        let mut product = u128::from(self.bits()) * u128::from(n);
        if (product as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (product as u64) < threshold {
                product = u128::from(self.bits()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// Fills a text with random decimal digits.
    pub fn digits(&mut self, text: &mut [u8]) {
        for chunk in text.chunks_mut(DIGITS_AT_ONCE) {
            let mut number = self.below(10_u64.pow(DIGITS_AT_ONCE as u32));
            for digit in chunk {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
    }
}

/// Digits made of one random number; 10^19 is the largest power of ten in 64 bits.
const DIGITS_AT_ONCE: usize = 19;

/// SplitMix64 (Steele, Lea and Flood 2014): turns close seeds into unrelated ones.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_has_the_same_numbers_everywhere_and_always() {
        let numbers = |seed, operation| {
            let mut random = Random::for_operation(seed, operation);
            [random.bits(), random.bits()]
        };
        assert_eq!(numbers(1, 42), numbers(1, 42));
        assert_ne!(numbers(1, 42), numbers(1, 43));
        assert_ne!(numbers(1, 42), numbers(2, 42));
        assert_ne!(numbers(1, 2), numbers(2, 1));
        assert_eq!(
            numbers(1, 0),
            [8_089_978_747_140_965_633, 5_687_923_198_772_495_674],
            "stored results depend on these numbers"
        );
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        let mut random = Random { state: [1, 2, 3, 4] };
        assert_eq!(random.bits(), 41_943_041);
        assert_eq!(random.bits(), 58_720_359);
        assert_eq!(random.bits(), 3_588_806_011_781_223);
        assert_eq!(SplitMix(0).next(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn first_numbers_of_neighbouring_operations_are_unrelated() {
        let first: Vec<f64> = (0..100_000).map(|n| Random::for_operation(3, n).uniform()).collect();
        let mean = first.iter().sum::<f64>() / 1e5;
        let together = first.windows(2).map(|pair| (pair[0] - 0.5) * (pair[1] - 0.5)).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.003, "{mean}");
        assert!(together.abs() < 0.001, "covariance {together}");
    }

    #[test]
    fn numbers_below_a_bound_are_all_met_equally() {
        let mut random = Random::for_operation(1, 1);
        let mut met = [0_u32; 6];
        (0..60_000).for_each(|_| met[random.below(6) as usize] += 1);
        assert!(met.iter().all(|n| (9_600..10_400).contains(n)), "{met:?}");
        assert_eq!(random.below(1), 0);
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn digits_are_ten_and_equally_likely_at_every_place() {
        let mut random = Random::for_operation(1, 1);
        let mut met = [[0_u32; 10]; 40];
        for _ in 0..20_000 {
            let mut text = [0; 40];
            random.digits(&mut text);
            text.iter().zip(&mut met).for_each(|(digit, met)| met[usize::from(digit - b'0')] += 1);
        }
        assert!(met.iter().flatten().all(|n| (1_800..2_200).contains(n)), "{met:?}");
    }
}
