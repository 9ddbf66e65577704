// SPDX-License-Identifier: GPL-2.0-only
//! The values of a parameter as they are written.

use idlewise_sweep::Axis;

fn values(text: &str) -> Vec<String> {
    let axis = Axis::parse("x", text).unwrap();
    (0..axis.counted()).map(|n| axis.value(n)).collect()
}

#[test]
fn ranges_have_both_ends_and_lists_their_order() {
    assert_eq!(values("3..6"), ["3", "4", "5", "6"]);
    assert_eq!(values("-1..1"), ["-1", "0", "1"]);
    assert_eq!(values("5000..20000/5000"), ["5000", "10000", "15000", "20000"]);
    assert_eq!(values("0..9/4"), ["0", "4", "8"]);
    assert_eq!(values("8|1..2|y"), ["8", "1", "2", "y"]);
    assert_eq!(values("7"), ["7"]);
}

#[test]
fn a_long_range_is_known_by_its_ends() {
    let axis = Axis::parse("x", "0..9223372036854775807|3").unwrap();
    assert_eq!(axis.some(100), ["0", "9223372036854775807", "3"]);
    assert_eq!(axis.value((1 << 63) - 1), "9223372036854775807");
    assert!(Axis::parse("x", "-9223372036854775808..9223372036854775807").unwrap_err().contains("counted"));
}

#[test]
fn what_is_no_range_is_refused_with_the_word_at_fault() {
    for (text, word) in [
        ("nan..5", "`nan` is not a whole number"),
        ("1..inf", "`inf`"),
        ("1.5..3", "`1.5`"),
        ("1..", "``"),
        ("9..3", "write it as 3..9"),
        ("1..9/0", "`1..9/0`: the step"),
        ("1..9/-2", "the step"),
        ("1||2", "empty"),
    ] {
        let why = Axis::parse("x", text).unwrap_err();
        assert!(why.starts_with(&format!("x={text}: ")) && why.contains(word), "{text}: {why}");
    }
}
