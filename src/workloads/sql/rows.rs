//! What the columns hold, shaped as sysbench 1.0.20 fills them: groups of 11 random digits.

use crate::driver::random::Random;

/// Digit groups in column c: 119 characters in CHAR(120).
const C_GROUPS: usize = 10;
/// Digit groups in column pad: 59 characters in CHAR(60).
const PAD_GROUPS: usize = 5;
/// Digits of a group.
const GROUP_DIGITS: usize = 11;
/// Values of one group: 11 uniform digits are one uniform number below this.
const GROUP_VALUES: u64 = 100_000_000_000;
/// Characters of the longer column.
const LONGEST: usize = C_GROUPS * (GROUP_DIGITS + 1);

/// Appends a new value of column c.
pub(crate) fn push_c(text: &mut String, random: &mut Random) {
    push_groups(text, C_GROUPS, random);
}

/// Appends a new value of column pad.
pub(crate) fn push_pad(text: &mut String, random: &mut Random) {
    push_groups(text, PAD_GROUPS, random);
}

fn push_groups(text: &mut String, groups: usize, random: &mut Random) {
    let mut characters = [b'-'; LONGEST];
    for group in characters.chunks_exact_mut(GROUP_DIGITS + 1).take(groups) {
        let mut number = random.below(GROUP_VALUES);
        for digit in group[..GROUP_DIGITS].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
    // Digits and hyphens are text.
    let length = groups * (GROUP_DIGITS + 1) - 1;
    text.push_str(std::str::from_utf8(&characters[..length]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(push: fn(&mut String, &mut Random), operation: u64) -> String {
        let mut text = String::new();
        push(&mut text, &mut Random::for_operation(1, operation));
        text
    }

    fn is_shaped(text: &str, groups: usize) -> bool {
        let parts: Vec<&str> = text.split('-').collect();
        parts.len() == groups
            && parts.iter().all(|part| part.len() == 11 && part.bytes().all(|byte| byte.is_ascii_digit()))
    }

    #[test]
    fn c_has_ten_groups_of_eleven_digits_and_pad_five() {
        for operation in 0..100 {
            assert!(is_shaped(&value(push_c, operation), 10));
            assert!(is_shaped(&value(push_pad, operation), 5));
        }
        assert_eq!(value(push_c, 1).len(), 119);
        assert_eq!(value(push_pad, 1).len(), 59);
    }

    #[test]
    fn a_group_is_one_number_written_with_all_of_its_digits() {
        let mut random = Random::for_operation(1, 7);
        let groups: Vec<String> =
            (0..C_GROUPS).map(|_| format!("{:011}", random.below(GROUP_VALUES))).collect();
        assert_eq!(value(push_c, 7), groups.join("-"));
    }

    #[test]
    fn every_digit_appears_about_as_often_as_any_other_at_every_place() {
        let mut counts = [[0_u32; 10]; 11];
        for operation in 0..2_000 {
            for group in value(push_c, operation).split('-') {
                for (place, digit) in group.bytes().enumerate() {
                    counts[place][usize::from(digit - b'0')] += 1;
                }
            }
        }
        // 20,000 draws a place: 2,000 expected of each digit, standard deviation 42.
        assert!(counts.iter().flatten().all(|count| count.abs_diff(2_000) < 250), "{counts:?}");
    }
}
