// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::GroupedChanges;

#[test]
fn half_and_twice_make_none_and_shares_are_added() {
    let changes = [("a", -50.0), ("b", 100.0)];
    assert!(GroupedChanges::of(&changes, false).mean().unwrap().abs() < 1e-9);
    assert!((GroupedChanges::of(&changes, true).mean().unwrap() - 25.0).abs() < 1e-9);
    assert_eq!(GroupedChanges::of(&[], false).mean(), None);
}

#[test]
fn five_recordings_of_one_machine_have_an_interval_only_alone() {
    let one = GroupedChanges::of(&[("a", 1.0), ("a", 2.0), ("a", 1.5), ("a", 1.0), ("a", 2.0)], false);
    assert_eq!(one.interval(0.95), None);
    assert!(one.or_each_alone().interval(0.95).is_some());
    let lost = [("a", 1.0), ("b", 2.0), ("c", 1.5), ("d", 1.0), ("e", -100.0)];
    assert_eq!(GroupedChanges::of(&lost, false).interval(0.95), None);
}
