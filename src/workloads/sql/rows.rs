//! What the columns hold, shaped as sysbench 1.0.20 fills them: groups of 11 random digits.

use std::fmt::Write as _;

use crate::driver::random::Random;

/// Digit groups in column c: 119 characters in CHAR(120).
const C_GROUPS: usize = 10;
/// Digit groups in column pad: 59 characters in CHAR(60).
const PAD_GROUPS: usize = 5;
/// Values of one group: 11 uniform digits are one uniform number below this.
const GROUP_VALUES: u64 = 100_000_000_000;

/// Appends a new value of column c.
pub(crate) fn push_c(text: &mut String, random: &mut Random) {
    push_groups(text, C_GROUPS, random);
}

/// Appends a new value of column pad.
pub(crate) fn push_pad(text: &mut String, random: &mut Random) {
    push_groups(text, PAD_GROUPS, random);
}

fn push_groups(text: &mut String, groups: usize, random: &mut Random) {
    for group in 0..groups {
        let hyphen = if group > 0 { "-" } else { "" };
        // Writing to a String cannot fail.
        let _ = write!(text, "{hyphen}{:011}", random.below(GROUP_VALUES));
    }
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
