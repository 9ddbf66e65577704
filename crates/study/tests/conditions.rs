// SPDX-License-Identifier: GPL-2.0-only
use idlewise_recording::CommandError;
use idlewise_study::compare::MeasureChange;
use idlewise_study::condition::{ComparedMetric, Condition, Counting, measures, vocabulary};
use proptest::prelude::*;

fn read(text: &str) -> Result<Condition, CommandError> {
    Condition::read(text, &vocabulary())
}

fn holds(text: &str, a: f64, b: f64) -> (bool, String) {
    let condition = read(text).unwrap();
    let measure = measures().nth(condition.metric()).unwrap();
    let measured = condition.measure("here", &MeasureChange::new(measure, a, b).met());
    (measured.holds, measured.words)
}

#[test]
fn the_longest_name_is_meant_and_a_name_may_hold_blanks() {
    let metrics =
        [("time", Counting::Time), ("time to first", Counting::Time), ("rapl a-0", Counting::Number)];
    for (text, metric) in [("time>1s", 0), (" time to first > +5%", 1), ("rapl a-0 >= 2", 2)] {
        assert_eq!(Condition::read(text, &metrics).unwrap().metric(), metric, "{text}");
    }
    let said = Condition::read("times > 1s", &metrics).unwrap_err().to_string();
    assert!(said.contains("one of time, time to first, rapl a-0"), "{said}");
    assert!(Condition::read("time > 1s", &[]).is_err());
}

#[test]
fn a_sign_asks_for_the_change_and_none_for_the_value_of_b() {
    let cases = [
        ("too_deep > +1pp", 4.0, 5.5, true, "+1.50pp (4.00 % to 5.50 %)"),
        ("too_deep > 5%", 4.0, 5.5, true, "5.50 %"),
        ("too_deep>6%", 4.0, 5.5, false, "5.50 %"),
        ("  latency_p99 >=  200 us ", 0.0, 200_000.0, true, "200 us"),
        ("latency_p99 > +10us", 200_000.0, 209_000.0, false, "+9.00 us (200 us to 209 us)"),
        ("latency_mean > +2%", 1000.0, 1030.0, true, "+3.00% (1.00 us to 1.03 us)"),
        ("latency_mean > -5%", 1000.0, 930.0, false, "-7.00% (1.00 us to 930 ns)"),
        ("latency_mean > +1000%", 0.0, 1.0, true, "more (0 ns to 1.00 ns)"),
        ("latency_mean > +0%", 0.0, 0.0, false, "+0.00% (0 ns to 0 ns)"),
        ("energy <= -0.5%", 10.0, 9.0, true, "-10.00% (10.000 to 9.000)"),
        ("wakeups < 100", 0.0, 99.0, true, "99"),
        ("ticks > +100", 10.0, 120.0, true, "+110 (10 to 120)"),
        ("differ > 5%", 0.0, 4.0, false, "4.00 %"),
    ];
    for (text, a, b, expected, words) in cases {
        assert_eq!(holds(text, a, b), (expected, words.to_owned()), "{text}");
    }
}

#[test]
fn a_mistake_is_answered_with_its_place_and_an_example() {
    let cases = [
        ("", 1, "too_deep, too_shallow"),
        ("deep > 1%", 1, "too_deep"),
        ("too_deep", 9, "> >= < <="),
        ("too_deep == 5%", 10, "> >= < <="),
        ("too_deep >", 11, "+1pp"),
        ("too_deep > +5%", 12, "percentage points"),
        ("too_deep > 1pp", 12, "a share (5%)"),
        ("too_deep > --5%", 12, "too_deep > +1pp"),
        ("differ > +5pp", 10, "without sign"),
        ("latency_p99 > 200", 15, "ns, us, ms or s"),
        ("latency_p99 > 200h", 15, "ns, us, ms or s"),
        ("latency_p99 > 1.2.3us", 15, "200us"),
        ("energy > 5mJ", 10, "energy > +2%"),
        ("wakeups > 5%", 11, "a number"),
        ("too_deep > 5% or so", 15, "nothing more"),
        ("\u{b5}", 1, "one of"),
        ("too_deep > 101%", 12, "always 0% to 100%"),
        ("too_deep > 100%", 12, "always 0% to 100%"),
        ("too_deep < 101%", 12, "always 0% to 100%"),
        ("differ>=100.5%", 9, "always 0% to 100%"),
        ("too_deep < 0%", 12, "always 0% to 100%"),
        ("too_deep > +101pp", 12, "always -100pp to +100pp"),
        ("latency_p99 < 0us", 15, "always 0 or more"),
        ("energy < -100%", 10, "always -100% or more"),
        ("energy <= -150%", 11, "always -100% or more"),
    ];
    for (text, position, words) in cases {
        let said = read(text).unwrap_err().to_string();
        assert!(said.contains(&format!("at character {position}:")), "{text}: {said}");
        assert!(said.contains(words) && said.contains("for example"), "{text}: {said}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in ".*") {
        let _ = read(&text);
    }

    #[test]
    fn nearly_right_text_is_read_or_refused(
        metric in "too_deep|latency_p99|energy|differ|ticks",
        op in "[<>=!]{0,3}",
        value in "[-+]{0,2}[0-9.]{0,400}(us|pp|%|ms|\u{b5}s)?",
    ) {
        if let Ok(c) = read(&format!("{metric}{op}{value}")) {
            // Its limit is a number: some value is above it, another below.
            let at = |v: f64| {
                let shown = |v: f64| v.to_string();
                let met = ComparedMetric { a: 0.0, b: v, change: v, change_pct: Some(v), shown: &shown };
                c.measure("here", &met).holds
            };
            prop_assert!(at(f64::MIN) != at(f64::MAX), "{c:?}");
        }
    }
}
