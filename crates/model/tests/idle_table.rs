// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{IdleState, IdleTable, Miss, TableError};

fn state(exit_us: i64, residency_us: i64) -> IdleState {
    IdleState {
        name: format!("S{residency_us}"),
        exit_latency_ns: exit_us * 1000,
        target_residency_ns: residency_us * 1000,
        entry_ns: 0,
        polling: residency_us == 0,
        disabled: false,
    }
}

fn skx() -> IdleTable {
    IdleTable::new(vec![state(0, 0), state(2, 2), state(10, 20), state(133, 600)]).unwrap()
}

#[test]
fn above_needs_an_enabled_shallower_state() {
    let table = skx();
    assert_eq!(table.verdict(3, 599_999, 0), Miss::Above);
    assert_eq!(table.verdict(3, 600_000, 0), Miss::None);
    assert_eq!(table.verdict(3, 10, 0b0111), Miss::None);
    assert_eq!(table.verdict(0, -5, 0), Miss::None);
}

#[test]
fn residencies_are_those_with_the_verdict() {
    let table = skx();
    for disabled in [0, 0b0100, 0b0111, 0b1000, 0b0001] {
        for entered in 0..4 {
            for miss in [Miss::Above, Miss::None, Miss::Below] {
                let judged = table.residencies(entered, miss, disabled);
                let edges = [*judged.start(), *judged.end()].into_iter();
                for ns in edges.flat_map(|ns| [ns.saturating_sub(1), ns, ns.saturating_add(1)]) {
                    let has = ns >= 0 && table.verdict(entered, ns, disabled) == miss;
                    assert_eq!(judged.contains(&ns), has, "{entered} {miss:?} {disabled:b} {ns}");
                }
            }
        }
    }
}

#[test]
fn below_subtracts_the_exit_latency_and_looks_at_the_next_enabled_state_only() {
    let table = skx();
    assert_eq!(table.verdict(1, 21_999, 0), Miss::None);
    assert_eq!(table.verdict(1, 22_000, 0), Miss::Below);
    assert_eq!(table.verdict(1, 22_000, 0b0100), Miss::None, "C1E off: only C6 counts, and it would not pay");
    assert_eq!(table.verdict(1, 602_000, 0b0100), Miss::Below);
    assert_eq!(table.verdict(0, 2_000, 0), Miss::Below);
    assert_eq!(table.verdict(3, i64::MAX, 0), Miss::None);
}

#[test]
fn a_choice_is_only_wrong_where_another_was_better() {
    let table = skx();
    let breach = |chosen, disabled, limit_us: i64| {
        let b = table.breach(chosen, disabled, limit_us * 1000);
        (b.disabled, b.over_limit, b.no_state)
    };
    assert_eq!(breach(3, 0, 133), (false, false, false));
    assert_eq!(breach(3, 0, 132), (false, true, false));
    assert_eq!(breach(1, 0b0001, 0), (false, false, false), "no state that is on keeps the limit");
    assert_eq!(breach(0, 0b0001, 0), (true, false, false), "state 0 does, but is off");
    assert_eq!(breach(2, 0b0101, 5), (true, true, false));
    assert_eq!(breach(0, 0b1111, 0), (false, false, false), "all are off: one must be taken");
    assert_eq!(breach(4, 0, 0), (false, false, true));
}

#[test]
fn tables_that_make_no_sense_are_refused() {
    assert_eq!(IdleTable::new(vec![]), Err(TableError::Empty));
    assert!(matches!(
        IdleTable::new(vec![state(1, 5), state(1, 4)]),
        Err(TableError::Unordered { index: 1, .. })
    ));
    assert!(matches!(IdleTable::new(vec![state(-1, 5)]), Err(TableError::Negative { .. })));
    assert!(matches!(IdleTable::new(vec![state(1, i64::MAX / 2000)]), Err(TableError::Absurd { .. })));
    let entry = IdleState { entry_ns: 2000, ..state(1, 5) };
    assert!(matches!(IdleTable::new(vec![entry]), Err(TableError::EntryTooLong { .. })));
    assert_eq!(IdleTable::new(vec![state(1, 1); 11]), Err(TableError::TooMany(11)));
}

#[test]
fn poll_limit_takes_the_first_enabled_state_of_ten_microseconds() {
    let table = skx();
    assert_eq!(table.poll_limit_ns(0, 4_000_000), 20_000);
    assert_eq!(table.poll_limit_ns(0b0100, 4_000_000), 250_000, "C6 is capped at a sixteenth of the tick");
    assert_eq!(table.poll_limit_ns(0b1100, 4_000_000), 250_000);
}
