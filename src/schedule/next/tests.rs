use super::*;
use crate::schedule::{Recurrence, TimingText};
use jiff::ToSpan;
use proptest::prelude::*;

const ZONES: [&str; 4] = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"];
const CRONS: [&str; 13] = [
    "0 3 * * *",
    "30 2 * * *",
    "*/10 2 * * *",
    "45 1,2 * * 6,0",
    "0 * * * *",
    "30 */2 * * *",
    "*/7 * * * *",
    "15 0-4 * * 1-5",
    "30 2 1 * 1",
    "0 0 31 * *",
    "0 2 29 2 *",
    "20 15 2 * * 0",
    "*/40 * * * * *",
];
const WINDOWS: [&str; 5] = ["", "01:00-05:00", "02:00-03:00", "22:00-04:30", "00:30-02:15"];

fn timing(recurrence: Recurrence<'_>, timezone: &str, window: &str, jitter: u64) -> Timing {
    let text = TimingText { recurrence, timezone, window, jitter: Span::ZERO };
    let checked = Timing::parse(&text, "machine", "suite").unwrap();
    Timing { jitter: SignedDuration::from_secs(i64::try_from(jitter).unwrap()), ..checked }
}

fn cron(schedule: &str, timezone: &str) -> Timing {
    timing(Recurrence::Cron(schedule), timezone, "", 0)
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The starts after an instant, as its zone's clocks show them.
fn starts(timing: &Timing, after: &str, count: usize) -> Vec<String> {
    let zone = timing.window().zone();
    std::iter::successors(timing.next_start(at(after)), |start| timing.next_start(*start))
        .take(count)
        .map(|start| start.to_zoned(zone.clone()).strftime("%d %H:%M %z").to_string())
        .collect()
}

fn minutes_between(timing: &Timing, from: &str, to: &str) -> Vec<i64> {
    let starts = std::iter::successors(timing.next_start(at(from)), |start| timing.next_start(*start));
    let starts: Vec<Timestamp> = starts.take_while(|start| *start <= at(to)).collect();
    starts.windows(2).map(|pair| pair[1].duration_since(pair[0]).as_mins()).collect()
}

#[test]
fn a_fixed_start_that_clocks_skip_comes_once_right_after_the_gap() {
    let berlin = cron("30 2 * * *", "Europe/Berlin");
    let expected = ["28 02:30 +0100", "29 03:00 +0200", "30 02:30 +0200"];
    assert_eq!(starts(&berlin, "2026-03-27T12:00:00Z", 3), expected);
    let new_york = cron("30 2 * * *", "America/New_York");
    let expected = ["07 02:30 -0500", "08 03:00 -0400", "09 02:30 -0400"];
    assert_eq!(starts(&new_york, "2026-03-06T12:00:00Z", 3), expected);
    let lord_howe = cron("15 2 * * *", "Australia/Lord_Howe");
    let expected = ["03 02:15 +1030", "04 02:30 +1100", "05 02:15 +1100"];
    assert_eq!(starts(&lord_howe, "2026-10-02T12:00:00Z", 3), expected);
}

#[test]
fn several_fixed_starts_in_one_gap_become_one() {
    let berlin = cron("*/20 2,3 * * *", "Europe/Berlin");
    let expected = ["29 03:00 +0200", "29 03:20 +0200", "29 03:40 +0200", "30 02:00 +0200"];
    assert_eq!(starts(&berlin, "2026-03-29T00:00:00Z", 4), expected);
}

#[test]
fn a_fixed_start_that_clocks_show_twice_comes_in_the_first_pass() {
    let berlin = cron("30 2 * * *", "Europe/Berlin");
    let expected = ["24 02:30 +0200", "25 02:30 +0200", "26 02:30 +0100"];
    assert_eq!(starts(&berlin, "2026-10-23T12:00:00Z", 3), expected);
    let new_york = cron("30 1 * * *", "America/New_York");
    let expected = ["01 01:30 -0400", "02 01:30 -0500"];
    assert_eq!(starts(&new_york, "2026-11-01T04:00:00Z", 2), expected);
    let lord_howe = cron("45 1 * * *", "Australia/Lord_Howe");
    let expected = ["05 01:45 +1100", "06 01:45 +1030"];
    assert_eq!(starts(&lord_howe, "2026-04-04T13:00:00Z", 2), expected);
}

#[test]
fn asked_in_the_second_pass_a_fixed_start_is_not_repeated() {
    let berlin = cron("30 2 * * *", "Europe/Berlin");
    assert_eq!(starts(&berlin, "2026-10-25T01:10:00Z", 1), ["26 02:30 +0100"]);
}

#[test]
fn a_schedule_of_every_hour_keeps_its_rhythm_through_both_changes() {
    for zone in ["Europe/Berlin", "America/New_York"] {
        let hourly = cron("30 * * * *", zone);
        let gaps = minutes_between(&hourly, "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
        assert_eq!(gaps.len(), 365 * 24 - 1, "{zone}");
        assert!(gaps.iter().all(|gap| *gap == 60), "{zone}");
    }
}

#[test]
fn where_clocks_change_by_half_an_hour_a_schedule_of_every_hour_follows_them() {
    let hourly = cron("15 * * * *", "Australia/Lord_Howe");
    let spring = ["04 01:15 +1030", "04 03:15 +1100", "04 04:15 +1100"];
    assert_eq!(starts(&hourly, "2026-10-03T14:30:00Z", 3), spring);
    let autumn = cron("45 * * * *", "Australia/Lord_Howe");
    let expected = ["05 01:45 +1100", "05 01:45 +1030", "05 02:45 +1030"];
    assert_eq!(starts(&autumn, "2026-04-04T14:00:00Z", 3), expected);
}

#[test]
fn a_stepped_hour_starts_in_both_passes() {
    let expected = ["25 00:00 +0200", "25 02:00 +0200", "25 02:00 +0100", "25 04:00 +0100"];
    for schedule in ["0 */2 * * *", "0 0-22/2 * * *"] {
        let berlin = cron(schedule, "Europe/Berlin");
        assert_eq!(starts(&berlin, "2026-10-24T21:00:00Z", 4), expected, "{schedule}");
    }
}

#[test]
fn the_instant_at_which_clocks_are_set_back_counts_by_what_they_show_then() {
    let berlin = cron("0 */3 * * *", "Europe/Berlin");
    let expected = ["25 00:00 +0200", "25 03:00 +0100", "25 06:00 +0100"];
    assert_eq!(starts(&berlin, "2026-10-24T21:00:00Z", 3), expected);
}

#[test]
fn a_day_that_a_zone_left_out_is_made_up_for_at_its_end() {
    let apia = cron("0 3 * * *", "Pacific/Apia");
    let expected = ["29 03:00 -1000", "31 00:00 +1400", "31 03:00 +1400"];
    assert_eq!(starts(&apia, "2011-12-29T12:00:00Z", 3), expected);
}

#[test]
fn every_is_aligned_to_the_epoch_whenever_it_is_asked() {
    let six_hours = timing(Recurrence::Every(Span::from_secs(6 * 3600)), "Europe/Berlin", "", 0);
    for asked in ["2026-11-30T00:00:00Z", "2026-11-30T03:17:55.5Z", "2026-11-30T05:59:59.999999999Z"] {
        assert_eq!(six_hours.next_start(at(asked)), Some(at("2026-11-30T06:00:00Z")), "{asked}");
    }
    assert_eq!(six_hours.next_start(at("1969-12-31T23:00:00Z")), Some(Timestamp::UNIX_EPOCH));
}

#[test]
fn the_jitter_moves_the_start_and_not_the_schedule() {
    let daily = timing(Recurrence::Cron("0 3 * * *"), "UTC", "02:00-05:00", 1020);
    assert_eq!(daily.next_start(at("2026-12-01T03:05:00Z")), Some(at("2026-12-01T03:17:00Z")));
    assert_eq!(daily.next_start(at("2026-12-01T03:17:00Z")), Some(at("2026-12-02T03:17:00Z")));
}

#[test]
fn there_is_no_start_when_schedule_or_start_lie_outside_the_window() {
    let hourly = timing(Recurrence::Cron("50 * * * *"), "UTC", "02:00-05:00", 900);
    let expected = ["01 03:05 +0000", "01 04:05 +0000", "02 03:05 +0000"];
    assert_eq!(starts(&hourly, "2026-12-01T00:00:00Z", 3), expected);
}

#[test]
fn a_start_that_a_gap_moves_out_of_its_window_is_none() {
    let berlin = timing(Recurrence::Cron("30 2 * * *"), "Europe/Berlin", "02:00-03:00", 0);
    assert_eq!(starts(&berlin, "2026-03-28T12:00:00Z", 1), ["30 02:30 +0200"]);
}

#[test]
fn a_dense_schedule_with_a_short_window_is_found_without_trying_each_instant() {
    let dense = timing(Recurrence::Every(Span::from_secs(1)), "Europe/Berlin", "02:00-02:01", 0);
    assert_eq!(dense.next_start(at("2026-12-01T01:00:59Z")), Some(at("2026-12-02T01:00:00Z")));
}

#[test]
fn near_the_end_of_time_there_is_no_start() {
    for timing in
        [cron("0 3 * * *", "Europe/Berlin"), timing(Recurrence::Every(Span::from_secs(60)), "UTC", "", 60)]
    {
        assert_eq!(timing.next_start(Timestamp::MAX), None);
    }
}

#[test]
fn the_longest_gap_spans_weekends_and_clock_changes() {
    let hours = |timing: &Timing, from: &str| timing.longest_gap(at(from)).map(|gap| gap.seconds() / 3600.0);
    let berlin = cron("0 3 * * *", "Europe/Berlin");
    assert_eq!(hours(&berlin, "2026-12-01T00:00:00Z"), Some(24.0));
    assert_eq!(hours(&berlin, "2026-10-20T00:00:00Z"), Some(25.0));
    assert_eq!(hours(&cron("0 3 * * 1-5", "UTC"), "2026-12-01T12:00:00Z"), Some(72.0));
    assert_eq!(hours(&cron("0 3 * * 0", "UTC"), "2026-12-07T00:00:00Z"), Some(168.0));
    assert_eq!(hours(&cron("0 3 1 * *", "UTC"), "2026-12-02T00:00:00Z"), Some(744.0));
    let windowed = timing(Recurrence::Cron("*/10 * * * *"), "UTC", "02:00-05:00", 0);
    assert_eq!(hours(&windowed, "2026-12-01T00:00:00Z"), Some(21.0 + 1.0 / 6.0));
    let seconds = timing(Recurrence::Every(Span::from_secs(1)), "UTC", "", 0);
    assert_eq!(seconds.longest_gap(at("2026-12-01T00:00:00Z")), Some(Span::from_secs(1)));
}

#[test]
fn a_window_that_never_meets_the_schedule_is_told_with_both_times() {
    let now = at("2026-12-01T12:00:00Z");
    let text = |timing: &Timing| timing.never_meets(now).map(|problem| problem.to_string());
    let night = timing(Recurrence::Cron("0 3 * * *"), "Europe/Berlin", "06:00-07:00", 1020);
    assert_eq!(
        text(&night).as_deref(),
        Some(
            "the window 06:00-07:00 never meets the schedule (03:00, with jitter 03:17 Europe/Berlin): \
             widen the window or move `schedule`: a run may only start inside its window"
        )
    );
    let late = timing(Recurrence::Cron("0 3,6 * * *"), "UTC", "05:55-06:10", 1020);
    assert!(text(&late).unwrap().contains("(06:00, with jitter 06:17 UTC)"));
    let every = timing(Recurrence::Every(Span::from_secs(6 * 3600)), "UTC", "01:00-02:00", 0);
    assert!(text(&every).unwrap().contains("(06:00 UTC): widen the window or move `every`"));
}

#[test]
fn a_window_that_meets_the_schedule_only_when_clocks_change_never_meets_it() {
    let now = at("2026-12-01T12:00:00Z");
    assert!(
        timing(Recurrence::Cron("30 2 * * *"), "Europe/Berlin", "03:00-04:00", 0).never_meets(now).is_some()
    );
    assert!(
        timing(Recurrence::Cron("30 2 * * *"), "Europe/Berlin", "02:00-03:00", 0).never_meets(now).is_none()
    );
    assert!(cron("0 3 29 2 *", "UTC").never_meets(now).is_none());
}

/// Instants near the changes of clocks of the zones under test, and others.
fn instants() -> impl Strategy<Value = Timestamp> {
    let changes =
        ["2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z"];
    let lord_howe = ["2026-10-03T15:30:00Z", "2026-04-04T15:00:00Z", "2026-12-24T00:00:00Z"];
    let changes: Vec<Timestamp> = changes.iter().chain(&lord_howe).map(|text| at(text)).collect();
    (prop::sample::select(changes), -172_800_000_i64..172_800_000)
        .prop_map(|(change, milliseconds)| change + milliseconds.milliseconds())
}

fn recurrences() -> impl Strategy<Value = Recurrence<'static>> {
    prop_oneof![
        4 => prop::sample::select(&CRONS[..]).prop_map(Recurrence::Cron),
        1 => (1_u64..200_000).prop_map(|seconds| Recurrence::Every(Span::from_secs(seconds))),
    ]
}

fn timings() -> impl Strategy<Value = Timing> {
    let words = (prop::sample::select(&ZONES[..]), prop::sample::select(&WINDOWS[..]));
    (recurrences(), words, 0_u64..5_400)
        .prop_map(|(recurrence, (zone, window), jitter)| timing(recurrence, zone, window, jitter))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_start_is_later_than_asked_and_inside_the_window(timing in timings(), after in instants()) {
        if let Some(start) = timing.next_start(after) {
            prop_assert!(start > after);
            prop_assert!(timing.window().is_open(start), "{start}");
            prop_assert!(timing.window().is_open(start - timing.jitter), "{start}");
        }
    }

    #[test]
    fn a_start_is_the_same_asked_right_before_it(timing in timings(), after in instants()) {
        if let Some(start) = timing.next_start(after) {
            prop_assert_eq!(timing.next_start(start - 1.nanosecond()), Some(start));
        }
    }

    #[test]
    fn asked_later_the_start_is_not_earlier(timing in timings(), one in instants(), other in instants()) {
        let (first, second) = (one.min(other), one.max(other));
        if let (Some(earlier), Some(later)) = (timing.next_start(first), timing.next_start(second)) {
            prop_assert!(earlier <= later);
            prop_assert!(earlier <= second || earlier == later, "no start is passed over or made up");
        }
    }

    /// Away from changes of clocks a fixed schedule is what cron says of the wall clock.
    #[test]
    fn every_start_of_a_cron_schedule_fits_it_or_ends_a_gap(
        schedule in prop::sample::select(&CRONS[..]),
        zone in prop::sample::select(&ZONES[..]),
        after in instants(),
    ) {
        let timing = cron(schedule, zone);
        let start = timing.next_start(after).unwrap();
        let civil = timing.window().zone().to_offset(start).to_datetime(start);
        let Rhythm::Cron(cron) = &timing.rhythm else { unreachable!() };
        let ends_a_gap = timing.window().zone().following(start - TICK).next().is_some_and(|c| c.timestamp() == start);
        prop_assert!(cron.next(civil, true) == Some(civil) || ends_a_gap, "{civil}");
    }
}
