// SPDX-License-Identifier: GPL-2.0-only
//! Which operating point does a target mean?

use idlewise_freq::{Limits, Relation, Table};

use Relation::{Close, CloseEfficient, High, HighEfficient, Low, LowEfficient};

fn table() -> Table {
    Table::new(vec![500, 1000, 1500, 2000]).unwrap()
}

fn resolved(table: &Table, min_khz: u32, max_khz: u32, asked: &[(u32, Relation, u32)]) {
    let limits = table.fit(Limits { min_khz, max_khz });
    for &(target, relation, meant) in asked {
        assert_eq!(table.resolve(target, relation, limits), meant, "{target} {relation:?} in {limits:?}");
    }
}

#[test]
fn low_is_the_entry_at_or_above_and_high_the_one_at_or_below() {
    let asked = [
        (1000, Low, 1000),
        (1001, Low, 1500),
        (3000, Low, 2000),
        (0, Low, 500),
        (1000, High, 1000),
        (1499, High, 1000),
        (0, High, 500),
        (9999, High, 2000),
    ];
    resolved(&table(), 0, u32::MAX, &asked);
}

#[test]
fn close_is_the_nearest_entry_and_the_lower_of_two() {
    resolved(
        &table(),
        0,
        9999,
        &[(1249, Close, 1000), (1250, Close, 1000), (1251, Close, 1500), (2500, Close, 2000)],
    );
}

#[test]
fn a_target_is_held_within_the_limits_first() {
    let asked =
        [(100, Low, 1000), (100, High, 1000), (9999, Low, 1500), (9999, High, 1500), (9999, Close, 1500)];
    resolved(&table(), 1000, 1500, &asked);
    // Limits between entries: what is beyond them is not chosen.
    let asked =
        [(100, Low, 1000), (9999, Low, 1500), (9999, High, 1500), (600, High, 1000), (1600, Close, 1500)];
    resolved(&table(), 900, 1700, &asked);
}

#[test]
fn inefficient_entries_are_passed_over_unless_the_limits_leave_nothing_else() {
    let table = table().with_inefficient(&[1500]).unwrap();
    let asked = [
        (1100, LowEfficient, 2000),
        (1100, Low, 1500),
        (1900, HighEfficient, 1000),
        (1900, High, 1500),
        (1600, CloseEfficient, 2000),
        (1500, CloseEfficient, 1000),
    ];
    resolved(&table, 0, 9999, &asked);
    resolved(&table, 0, 1500, &[(1100, LowEfficient, 1500), (800, LowEfficient, 1000)]);
    resolved(&table, 1500, 2000, &[(1600, HighEfficient, 1500)]);
    resolved(
        &table,
        1500,
        1500,
        &[(1, LowEfficient, 1500), (1, HighEfficient, 1500), (1, CloseEfficient, 1500)],
    );
}

#[test]
fn limits_always_leave_an_entry_and_the_maximum_wins() {
    let fitted = |min_khz, max_khz| {
        let l = table().fit(Limits { min_khz, max_khz });
        (l.min_khz, l.max_khz)
    };
    assert_eq!(fitted(0, u32::MAX), (500, 2000));
    assert_eq!(fitted(1500, 1000), (1000, 1000));
    assert_eq!(fitted(1100, 1200), (1100, 1500));
    assert_eq!(fitted(3000, 4000), (2000, 2000));
    assert_eq!(fitted(0, 0), (500, 500));
}

#[test]
fn a_table_that_makes_no_sense_is_refused_with_the_reason() {
    for (khz, word) in
        [(vec![], "no operating point"), (vec![0], "0 kHz"), (vec![5, 5], "ascend"), (vec![5, 4], "ascend")]
    {
        let said = Table::new(khz).unwrap_err().to_string();
        assert!(said.contains(word), "{said}");
    }
    assert!(table().with_inefficient(&[700]).unwrap_err().to_string().contains("700 kHz"));
    // The highest entry stays, whatever is said of it.
    let all = table().with_inefficient(&[500, 1000, 1500, 2000]).unwrap();
    resolved(&all, 0, 9999, &[(1, LowEfficient, 2000)]);
}
