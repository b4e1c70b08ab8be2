//! Loops of sysbench 1.0.20, with the instructions that GCC makes of them.
//!
//! What such a loop gives depends by 5 to 50 % on the choice of instructions, and by as much on where in a line of the
//! instruction cache it begins; both change with the compiler and with code that has nothing to do with it. Results
//! are comparable with those of sysbench only where both are fixed, so these are written as instructions, each at the
//! place it has in the program that Debian ships. Elsewhere than on x86-64 the compiler decides.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of primes from 3 below `max`, each number tried by division: by 2 as a test of its lowest bit, by each
/// further number in 64 bits, until one divides it or is above its root, compared as floating point.
#[cfg(target_arch = "x86_64")]
pub(crate) fn primes_below(max: u64) -> u64 {
    let mut primes = 0_u64;
    if max <= 3 {
        return primes;
    }
    // SAFETY: `div` faults when the divisor is 0, and it is 3 or more, or when the quotient does not fit in 64 bits,
    // which cannot be with 0 as the upper half of the dividend. Neither memory nor stack is touched, and the registers
    // and flags it changes are declared.
    unsafe {
        std::arch::asm!(
            "jmp 2f",
            ".p2align 6",
            ".skip 16, 0x90",
            "2:",
            "pxor xmm0, xmm0",
            "cvtsi2sd xmm0, rsi",
            "ucomisd xmm3, xmm0",
            "ja 6f",
            "sqrtsd xmm0, xmm0",
            "comisd xmm0, xmm2",
            "jb 5f",
            "test sil, 1",
            "je 6f",
            "mov ecx, 2",
            "jmp 4f",
            ".p2align 3",
            "3:",
            "pxor xmm1, xmm1",
            "cvtsi2sd xmm1, rcx",
            "comisd xmm0, xmm1",
            "jb 5f",
            "mov rax, rsi",
            "xor edx, edx",
            "div rcx",
            "test rdx, rdx",
            "je 6f",
            "4:",
            "add rcx, 1",
            "jns 3b",
            "5:",
            "add {primes}, 1",
            "6:",
            "add rsi, 1",
            "cmp rsi, rdi",
            "jne 2b",
            primes = inout(reg) primes,
            inout("rsi") 3_u64 => _,
            in("rdi") max,
            out("rax") _,
            out("rcx") _,
            out("rdx") _,
            out("xmm0") _,
            out("xmm1") _,
            in("xmm2") 2.0_f64,
            in("xmm3") 0.0_f64,
            options(pure, nomem, nostack),
        );
    }
    primes
}

/// The number of primes from 3 below `max`, each number tried by division.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn primes_below(max: u64) -> u64 {
    primes_by(max, |number, divisor| number % divisor)
}

/// The same in the language, by a function for the remainder of every division but those by 2.
#[cfg(any(test, not(target_arch = "x86_64")))]
fn primes_by(max: u64, mut remainder: impl FnMut(u64, u64) -> u64) -> u64 {
    let mut is_prime = |number: u64| {
        let root = (number as f64).sqrt();
        let mut divisors = (3_u64..).take_while(|divisor| *divisor as f64 <= root);
        !number.is_multiple_of(2) && divisors.all(|divisor| remainder(number, divisor) != 0)
    };
    (3..max).filter(|number| is_prime(*number)).count() as u64
}

/// As many accesses to words as there are, each drawn by the generator whose state is given: the state, the bytes of
/// all words and their place are read from memory each time, as there.
#[cfg(target_arch = "x86_64")]
macro_rules! at_random {
    ($access:literal, $place:literal, $words:ident, $state:ident) => {{
        let (bytes, first) = (($words.len() * size_of::<AtomicU64>()) as u64, $words.as_ptr());
        if $words.is_empty() {
            return;
        }
        // SAFETY: the state's two words are read and written as relaxed atomic accesses of this thread. What is drawn
        // is below 1 by at least 2^-52, so its product with the count of words is below that by at least one unit in
        // the last place: each access is an aligned one of 8 bytes to a word of the slice, which on x86-64 is a relaxed
        // atomic access. No stack is touched, and the registers and flags it changes are declared.
        unsafe {
            std::arch::asm!(
                "mov {at}, [{bytes}]",
                "jmp 4f",
                ".p2align 6",
                concat!(".skip ", $place, ", 0x90"),
                "2:",
                "cvttsd2si {at}, {drawn}",
                "3:",
                "mov {low}, [{first}]",
                $access,
                "mov {at}, [{bytes}]",
                "add {step}, 8",
                "cmp {at}, {step}",
                "jle 5f",
                "4:",
                "mov {low}, [{state}]",
                "mov {high}, [{state} + 8]",
                "sar {at}, 3",
                "pxor {count}, {count}",
                "cvtsi2sd {count}, {at}",
                "mov {mixed}, {low}",
                "mov {turned}, {low}",
                "add {low}, {high}",
                "shr {low}, 12",
                "xor {mixed}, {high}",
                "ror {turned}, 9",
                "or {low}, {one}",
                "mov {shifted}, {mixed}",
                "xor {turned}, {mixed}",
                "ror {mixed}, 28",
                "movq {drawn}, {low}",
                "shl {shifted}, 14",
                "mov [{state} + 8], {mixed}",
                "subsd {drawn}, {unit}",
                "xor {turned}, {shifted}",
                "mov [{state}], {turned}",
                "mulsd {drawn}, {count}",
                "comisd {drawn}, {most}",
                "jb 2b",
                "subsd {drawn}, {most}",
                "cvttsd2si {at}, {drawn}",
                "xor {at}, {sign}",
                "jmp 3b",
                "5:",
                state = in(reg) $state.as_ptr(),
                bytes = in(reg) &raw const bytes,
                first = in(reg) &raw const first,
                one = in(reg) 1.0_f64.to_bits(),
                sign = in(reg) 1_u64 << 63,
                unit = in(xmm_reg) 1.0_f64,
                most = in(xmm_reg) (1_u64 << 63) as f64,
                step = inout(reg) 0_u64 => _,
                at = out(reg) _,
                low = out(reg) _,
                high = out(reg) _,
                mixed = out(reg) _,
                turned = out(reg) _,
                shifted = out(reg) _,
                drawn = out(xmm_reg) _,
                count = out(xmm_reg) _,
                options(nostack),
            );
        }
    }};
}

/// Reads as many words as there are, each anywhere among them.
#[inline(never)]
#[cfg(target_arch = "x86_64")]
pub(crate) fn read_at_random(words: &[AtomicU64], state: &[AtomicU64; 2]) {
    at_random!("mov {low}, [{low} + 8*{at}]", 0, words, state);
}

/// Stores to as many words as there are, each anywhere among them, the bytes passed so far.
#[inline(never)]
#[cfg(target_arch = "x86_64")]
pub(crate) fn store_at_random(words: &[AtomicU64], state: &[AtomicU64; 2]) {
    at_random!("mov [{low} + 8*{at}], {step}", 32, words, state);
}

/// Reads as many words as there are, each anywhere among them.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn read_at_random(words: &[AtomicU64], state: &[AtomicU64; 2]) {
    for _ in words {
        let _ = drawn(words, state).map(|word| word.load(Ordering::Relaxed));
    }
}

/// Stores to as many words as there are, each anywhere among them, the bytes passed so far.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn store_at_random(words: &[AtomicU64], state: &[AtomicU64; 2]) {
    for number in 0..words.len() {
        if let Some(word) = drawn(words, state) {
            word.store((number * size_of::<AtomicU64>()) as u64, Ordering::Relaxed);
        }
    }
}

/// A word anywhere, by a step of xoroshiro128+ (Blackman and Vigna, 2016).
#[cfg(not(target_arch = "x86_64"))]
fn drawn<'a>(words: &'a [AtomicU64], [a, b]: &[AtomicU64; 2]) -> Option<&'a AtomicU64> {
    let (first, second) = (a.load(Ordering::Relaxed), b.load(Ordering::Relaxed));
    let mixed = first ^ second;
    a.store(first.rotate_left(55) ^ mixed ^ (mixed << 14), Ordering::Relaxed);
    b.store(mixed.rotate_left(36), Ordering::Relaxed);
    let uniform = f64::from_bits((first.wrapping_add(second) >> 12) | 1.0_f64.to_bits()) - 1.0;
    words.get((uniform * words.len() as f64) as usize)
}

/// Stores into the word at an offset how many words are left from it on.
#[cfg(target_arch = "x86_64")]
macro_rules! store_left {
    ($offset:literal) => {
        concat!(
            "lea {at}, [{word} + ",
            $offset,
            "]\n",
            "mov {left}, {end}\n",
            "sub {left}, {at}\n",
            "sar {left}, 3\n",
            "mov [{word} + ",
            $offset,
            "], {left}"
        )
    };
}

/// Stores into each word how many words are left, in order.
///
/// The value is computed anew for each word from addresses, which is what limits this loop: LLVM counts down
/// instead and stores half as fast again, so results would not be comparable.
#[cfg(target_arch = "x86_64")]
pub(crate) fn store_words_left(words: &[AtomicU64]) {
    const AT_ONCE: usize = 8;
    let (whole, rest) = words.split_at(words.len() / AT_ONCE * AT_ONCE);
    if !whole.is_empty() {
        // SAFETY: it stores to the words of `whole` only, each with one aligned 8-byte store, which is a relaxed
        // atomic store on x86-64; there are a whole number of eight and at least eight. No stack is touched, and
        // the registers and flags it changes are declared.
        unsafe {
            std::arch::asm!(
                ".p2align 6; .skip 6, 0x90",
                "2:",
                store_left!(0),
                store_left!(8),
                store_left!(16),
                store_left!(24),
                store_left!(32),
                store_left!(40),
                store_left!(48),
                store_left!(56),
                "add {word}, 64",
                "cmp {word}, {last}",
                "jb 2b",
                word = inout(reg) whole.as_ptr() => _,
                last = in(reg) whole.as_ptr_range().end,
                end = in(reg) words.as_ptr_range().end,
                at = out(reg) _,
                left = out(reg) _,
                options(nostack),
            );
        }
    }
    count_down(rest);
}

/// Stores into each word how many words are left, in order.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn store_words_left(words: &[AtomicU64]) {
    count_down(words);
}

fn count_down(words: &[AtomicU64]) {
    for (word, left) in words.iter().zip((1..=words.len() as u64).rev()) {
        word.store(left, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> Vec<AtomicU64> {
        (0..count).map(|_| AtomicU64::new(u64::MAX)).collect()
    }

    #[test]
    fn an_event_finds_the_primes_with_the_remainders_of_sysbench() {
        for (max, primes, remainders) in
            [(10_000, 1_228, 117_526), (20_000, 2_261, 301_275), (100_000, 9_591, 2_745_693)]
        {
            let mut divisions = 0;
            let counting = |number: u64, divisor: u64| {
                divisions += 1;
                number % divisor
            };
            assert_eq!((primes_by(max, counting), primes_below(max)), (primes, primes));
            let parity_tests = max - 4;
            assert_eq!(divisions + parity_tests, remainders);
        }
    }

    #[test]
    fn short_sweeps_find_what_the_language_finds() {
        for max in 0..200 {
            assert_eq!(primes_below(max), primes_by(max, |number, divisor| number % divisor), "{max}");
        }
    }

    #[test]
    fn random_stores_reach_every_word_and_nothing_else() {
        for count in [0, 1, 3, 128, 1_000] {
            let (words, state) = (words(count + 2), [AtomicU64::new(1), AtomicU64::new(2)]);
            (0..50).for_each(|_| store_at_random(&words[1..=count], &state));
            let value = |word: &AtomicU64| word.load(Ordering::Relaxed);
            assert!(words[1..=count].iter().all(|word| value(word) < 8 * count as u64), "{count}");
            assert_eq!((value(&words[0]), value(&words[count + 1])), (u64::MAX, u64::MAX));
        }
    }

    #[test]
    fn random_reads_draw_once_a_word_by_xoroshiro() {
        let (words, state) = (words(2), [AtomicU64::new(1), AtomicU64::new(2)]);
        read_at_random(&words, &state);
        let (a, b) = step(step((1, 2)));
        assert_eq!(state.map(AtomicU64::into_inner), [a, b]);
    }

    fn step((first, second): (u64, u64)) -> (u64, u64) {
        let mixed = first ^ second;
        (first.rotate_left(55) ^ mixed ^ (mixed << 14), mixed.rotate_left(36))
    }

    #[test]
    fn each_word_holds_how_many_are_left_and_no_other_is_touched() {
        for length in [0, 1, 7, 8, 9, 16, 129] {
            let words: Vec<AtomicU64> = (0..length + 2).map(|_| AtomicU64::new(u64::MAX)).collect();
            store_words_left(&words[1..=length]);
            let stored: Vec<u64> = words.into_iter().map(AtomicU64::into_inner).collect();
            assert_eq!((stored[0], stored[length + 1]), (u64::MAX, u64::MAX));
            assert!(stored[1..=length].iter().copied().eq((1..=length as u64).rev()), "{length}");
        }
    }
}
