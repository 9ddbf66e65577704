// SPDX-License-Identifier: GPL-2.0-only
//! What does a stay leave behind: the residency, the verdict, what the governor is given (`governor-behaviour.md` 1.4,
//! 1.5)?

use idlewise_idle::Left;
use idlewise_madeinput::idle_loop::{Script, TICK, idle_since, iterate, left, quiet, state, table};
use idlewise_model::{Breach, Entry, IdleState, IdleTable, Miss, Outcome, TickChoice, WakeCause};
use proptest::prelude::*;

#[test]
fn a_stay_is_measured_told_and_written_down() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(3, true)]);
    idle.enter(&mut script, &quiet(TICK + 10));
    let end = Left {
        entered: 3,
        wake_at_ns: TICK + 900_010,
        exit_at_ns: TICK + 1_000_010,
        running_at_ns: TICK + 1_000_010,
        handled_at_ns: TICK + 1_004_010,
        cause: WakeCause::Hrtimer,
        tick_ran: false,
    };
    let mut ledger: Vec<Entry> = Vec::new();
    idle.leave(&mut script, &end, &mut ledger);
    assert_eq!(script.told, [(3, TICK + 1_004_010)], "handlers run before reflect");
    assert_eq!(script.residencies, [1_000_000], "and are not in the residency, which reflect can read");
    let expected = Entry {
        cpu: 3,
        start_ns: TICK + 10,
        residency_ns: 1_000_000,
        wake_ns: 900_000,
        latency_ns: 100_000,
        tick_ns: 0,
        loop_ns: 0,
        selected: 3,
        outcome: Outcome::Stayed { entered: 3, miss: Miss::None },
        cause: WakeCause::Hrtimer,
        tick: TickChoice::Stopped,
        breach: Breach::default(),
    };
    assert_eq!(ledger, [expected]);
}

#[test]
fn a_handler_that_runs_before_the_exit_shortens_the_latency_only() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(1, false)]);
    idle.enter(&mut script, &quiet(TICK));
    let end = Left { exit_at_ns: TICK + 900, running_at_ns: TICK + 600, ..left(1, TICK + 500) };
    let mut ledger: Vec<Entry> = Vec::new();
    idle.leave(&mut script, &end, &mut ledger);
    assert_eq!((ledger[0].residency_ns, ledger[0].wake_ns, ledger[0].latency_ns), (900, 500, 100));
}

#[test]
fn a_driver_that_enters_another_state_than_selected_is_judged_by_the_entered_one() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(3, false)]);
    for (entered, ns, miss) in [
        (1, 100_000, Miss::Below),
        (2, 100_000, Miss::None),
        (2, 15_000, Miss::Above),
        (3, 100_000, Miss::Above),
    ] {
        idle.enter(&mut script, &quiet(TICK));
        let mut ledger: Vec<Entry> = Vec::new();
        idle.leave(&mut script, &left(entered, TICK + ns), &mut ledger);
        assert_eq!(ledger[0].selected, 3);
        assert_eq!(ledger[0].outcome, Outcome::Stayed { entered: entered as u8, miss });
        assert_eq!(script.told.last().unwrap().0, entered);
    }
}

#[test]
fn a_clock_that_went_back_makes_a_negative_residency_and_a_stay_that_was_too_deep() {
    let table = table();
    let mut idle = idle_since(&table, TICK);
    let mut script = Script::new(&[(1, false)]);
    idle.enter(&mut script, &quiet(TICK + 100));
    let mut ledger: Vec<Entry> = Vec::new();
    idle.leave(&mut script, &left(1, TICK + 60), &mut ledger);
    assert_eq!((ledger[0].residency_ns, script.residencies[0]), (-40, -40));
    assert_eq!(ledger[0].outcome, Outcome::Stayed { entered: 1, miss: Miss::Above });
}

#[test]
fn the_verdict_looks_at_the_states_that_are_off_when_the_cpu_wakes() {
    let table = table();
    let mut script = Script::new(&[(1, false)]);
    for (at_entry, at_wake, miss) in [(0b0000, 0b0100, Miss::None), (0b0100, 0b0000, Miss::Below)] {
        let mut idle = idle_since(&table, TICK);
        idle.set_disabled(&mut script, at_entry);
        idle.enter(&mut script, &quiet(TICK));
        idle.set_disabled(&mut script, at_wake);
        let mut ledger: Vec<Entry> = Vec::new();
        // Enough for C1E (20 us), not for C6 (600 us).
        idle.leave(&mut script, &left(1, TICK + 22_000), &mut ledger);
        assert_eq!(ledger[0].outcome, Outcome::Stayed { entered: 1, miss });
    }
}

#[test]
fn at_the_boundaries_the_verdict_turns_by_one_nanosecond() {
    let table = table();
    let case = |entered: usize, ns: u64, mask: u16| {
        let mut script = Script::new(&[(entered as i32, false)]);
        let mut idle = idle_since(&table, TICK);
        idle.set_disabled(&mut script, mask);
        let (_, entry) = iterate(&mut idle, &mut script, TICK, ns);
        let Outcome::Stayed { miss, .. } = entry.outcome else { panic!("{entry:?}") };
        miss
    };
    // Too deep: below the target residency, if anything shallower is on.
    assert_eq!((case(3, 599_999, 0), case(3, 600_000, 0)), (Miss::Above, Miss::None));
    assert_eq!((case(3, 599_999, 0b0011), case(3, 599_999, 0b0111)), (Miss::Above, Miss::None));
    assert_eq!((case(2, 19_999, 0), case(2, 20_000, 0)), (Miss::Above, Miss::None));
    // Too shallow: the residency less the entered state's exit latency pays for the next state that is on.
    assert_eq!((case(2, 609_999, 0), case(2, 610_000, 0)), (Miss::None, Miss::Below));
    assert_eq!((case(1, 21_999, 0), case(1, 22_000, 0)), (Miss::None, Miss::Below));
    assert_eq!((case(1, 601_999, 0b0100), case(1, 602_000, 0b0100)), (Miss::None, Miss::Below));
    assert_eq!(case(1, 1 << 40, 0b1100), Miss::None, "nothing deeper is on");
    // The polling state: no exit latency, so the next state's residency is the boundary.
    assert_eq!((case(0, 1_999, 0), case(0, 2_000, 0), case(0, 0, 0)), (Miss::None, Miss::Below, Miss::None));
    // The entered state itself may be off: nothing prevents a governor from choosing it.
    assert_eq!((case(3, 599_999, 0b1000), case(2, 610_000, 0b0100)), (Miss::Above, Miss::Below));
}

#[test]
fn too_shallow_needs_a_residency_above_the_exit_latency_itself() {
    // A next state that costs nothing: "diff > EL" is then the boundary.
    let table = IdleTable::new(vec![state(5, 0, 0), state(5, 0, 0)]).unwrap();
    let case = |ns: u64| {
        let (_, entry) = iterate(&mut idle_since(&table, TICK), &mut Script::new(&[(0, false)]), TICK, ns);
        entry.outcome
    };
    assert_eq!(case(5_000), Outcome::Stayed { entered: 0, miss: Miss::None });
    assert_eq!(case(5_001), Outcome::Stayed { entered: 0, miss: Miss::Below });
}

/// Section 1.5 word by word.
fn verdict(states: &[(i64, i64)], entered: usize, diff: i64, disabled: u16) -> Miss {
    let off: Vec<bool> = (0..states.len()).map(|i| disabled & 1 << i != 0).collect();
    let (exit_latency, residency) = states[entered];
    if diff < residency {
        if off[..entered].iter().any(|off| !off) {
            return Miss::Above;
        }
    } else if diff > exit_latency {
        for i in entered + 1..states.len() {
            if !off[i] {
                return if diff - exit_latency >= states[i].1 { Miss::Below } else { Miss::None };
            }
        }
    }
    Miss::None
}

fn tables() -> impl Strategy<Value = Vec<(i64, i64)>> {
    prop::collection::vec((0i64..2_000, 0i64..2_000), 1..=10).prop_map(|mut states| {
        let mut residencies: Vec<i64> = states.iter().map(|s| s.1).collect();
        residencies.sort_unstable();
        states.iter_mut().zip(residencies).for_each(|(s, r)| s.1 = r);
        states
    })
}

fn from_pairs(states: &[(i64, i64)]) -> IdleTable {
    let state = |&(exit_latency_ns, target_residency_ns): &(i64, i64)| IdleState {
        exit_latency_ns,
        target_residency_ns,
        ..state(0, 0, 0)
    };
    IdleTable::new(states.iter().map(state).collect()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_verdict_is_the_kernels_for_any_table(
        states in tables(),
        selected in 0usize..10,
        entered in 0usize..10,
        ns in prop_oneof![0u64..5_000, Just(u64::from(u32::MAX))],
        mask in 0u16..1024,
    ) {
        let table = from_pairs(&states);
        let (selected, entered) = (selected % states.len(), entered % states.len());
        let mut script = Script::new(&[(selected as i32, false)]);
        let mut idle = idle_since(&table, TICK);
        idle.set_disabled(&mut script, mask);
        idle.enter(&mut script, &quiet(TICK));
        let mut ledger: Vec<Entry> = Vec::new();
        idle.leave(&mut script, &left(entered, TICK + ns), &mut ledger);
        let miss = verdict(&states, entered, ns as i64, mask);
        prop_assert_eq!(ledger[0].outcome, Outcome::Stayed { entered: entered as u8, miss });
        prop_assert_eq!(usize::from(ledger[0].selected), selected);
    }

    #[test]
    fn a_state_is_left_after_it_was_entered_completely(
        exit in 0i64..1_000, entry in 0i64..1_000, wake in 0u64..3_000,
    ) {
        let (entry, exit) = (entry.min(exit), exit);
        let s = IdleState { exit_latency_ns: exit, entry_ns: entry, ..state(0, 0, 0) };
        let table = IdleTable::new(vec![s]).unwrap();
        let idle = idle_since(&table, TICK);
        // Not before the way in is done, and the way out takes the rest.
        let expected = wake.max(entry as u64) + (exit - entry) as u64;
        prop_assert_eq!(idle.exit_at_ns(0, TICK, TICK + wake), TICK + expected);
    }
}
