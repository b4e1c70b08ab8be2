//! What files and writes hold: zeros, random bytes, or blocks that say whether they are what was written.

use crate::driver::random::Random;

/// The end of a checked block: where it belongs, and the sum of everything before the sum.
const PLACE: usize = 8;
const SUM: usize = 8;
/// A part this small holds its own mark, so that no two writes are the same to a device that looks for that.
const SECTOR: usize = 512;

/// Fills with random bytes, the same for the same numbers.
pub(super) fn fill_random(bytes: &mut [u8], seed: u64, number: u64) {
    let mut random = Random::for_operation(seed, number);
    for chunk in bytes.chunks_mut(8) {
        let bits = random.bits().to_le_bytes();
        chunk.copy_from_slice(&bits[..chunk.len()]);
    }
}

/// Makes random bytes differ from those of every other write, sector by sector.
pub(super) fn mark(bytes: &mut [u8], number: u64) {
    for (place, sector) in (0_u64..).zip(bytes.chunks_exact_mut(SECTOR)) {
        let mark = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31) ^ place;
        sector[..8].copy_from_slice(&mark.to_le_bytes());
    }
}

/// Ends a block with its place and its sum.
pub(super) fn seal(block: &mut [u8], file: u32, offset: u64) {
    let Some(place) = block.len().checked_sub(PLACE + SUM) else { return };
    block[place..place + PLACE].copy_from_slice(&offset.to_le_bytes());
    let sum = sum(&block[..place + PLACE], file);
    block[place + PLACE..].copy_from_slice(&sum.to_le_bytes());
}

/// Whether a block is one that was sealed for this place, and has not changed since.
pub(super) fn is_sealed(block: &[u8], file: u32, offset: u64) -> bool {
    let Some((body, end)) = block.len().checked_sub(SUM).and_then(|at| block.split_at_checked(at)) else {
        return false;
    };
    body.ends_with(&offset.to_le_bytes()) && end == sum(body, file).to_le_bytes()
}

/// A sum that any change of the bytes changes, but for one chance in 2^64 (the hash of Firefox, 8 bytes at once).
fn sum(bytes: &[u8], file: u32) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let add = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let start = add(u64::from(file) + 1, rest.len() as u64);
    words.iter().fold(start, |sum, word| add(sum, u64::from_le_bytes(*word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_bit_and_any_other_place_is_seen() {
        let mut block = [0; 512];
        fill_random(&mut block, 1, 7);
        seal(&mut block, 3, 8192);
        assert!(is_sealed(&block, 3, 8192));
        assert!(!is_sealed(&block, 2, 8192) && !is_sealed(&block, 3, 0));
        for bit in 0..block.len() * 8 {
            let mut changed = block;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_sealed(&changed, 3, 8192), "bit {bit}");
        }
        assert!(!is_sealed(&[0; 512], 0, 0), "a hole is no block");
    }

    #[test]
    fn random_bytes_are_the_same_for_the_same_numbers_and_marked_apart() {
        let filled = |number| {
            let mut bytes = vec![0; 1029];
            fill_random(&mut bytes, 1, number);
            bytes
        };
        assert_eq!(filled(1), filled(1));
        let (mut one, mut other) = (filled(1), filled(1));
        mark(&mut one, 1);
        mark(&mut other, 2);
        assert_ne!(one[..512], other[..512]);
        assert_ne!(one[512..1024], other[512..1024]);
        assert_ne!(one[..8], one[512..520]);
    }
}
