// SPDX-License-Identifier: GPL-2.0-only
//! Is the oracle what its row in a table claims: never wrong by the core's own verdict, never above the latency limit,
//! never in a state that is off, never woken by the tick?

use idlewise_idle::{Chooser, IdleCpu, Left, Moment, NEVER_AT_NS, Oracle, Timers};
use idlewise_madeinput::idle_loop::{GRID, T, TICK, left, moment, quiet, state, table};
use idlewise_model::{Breach, Entry, IdleState, IdleTable, Miss, NO_LATENCY_LIMIT_NS, Outcome, TickChoice};
use proptest::prelude::*;

/// Puts the oracle before one wait of `wait_ns` and gives what came of it.
fn wait(table: &IdleTable, mask: u16, limit_ns: i64, wait_ns: u64) -> (usize, TickChoice, Entry) {
    let start = TICK + 1_234;
    let mut oracle = Oracle::new(table, None);
    let mut idle = IdleCpu::new(0, table, GRID);
    idle.set_disabled(&mut oracle, mask);
    idle.begin_visit(start);
    let wake_at_ns = start + wait_ns;
    let m = Moment { wake_at_ns, latency_limit_ns: limit_ns, ..moment(start, wake_at_ns, NEVER_AT_NS) };
    let entered = idle.enter(&mut oracle, &m);
    assert!(entered.breach == Breach::default());
    assert!(idle.tick_due_ns() >= wake_at_ns, "the tick would wake it");
    let exit_at_ns = idle.exit_at_ns(entered.state, start, wake_at_ns);
    let mut ledger: Vec<Entry> = Vec::new();
    let end = Left {
        exit_at_ns,
        running_at_ns: exit_at_ns,
        handled_at_ns: exit_at_ns,
        ..left(entered.state, wake_at_ns)
    };
    idle.leave(&mut oracle, &end, &mut ledger);
    (entered.state, entered.tick, ledger[0])
}

fn tables() -> impl Strategy<Value = IdleTable> {
    prop::collection::vec((0i64..2_000_000, 0i64..3_000_000, 0i64..=100), 1..=10).prop_map(|parts| {
        let mut residencies: Vec<i64> = parts.iter().map(|p| p.1).collect();
        residencies.sort_unstable();
        let states =
            parts.iter().zip(residencies).map(|(&(exit_latency_ns, _, entry_pct), target_residency_ns)| {
                let entry_ns = exit_latency_ns * entry_pct / 100;
                IdleState { exit_latency_ns, target_residency_ns, entry_ns, ..state(0, 0, 0) }
            });
        IdleTable::new(states.collect()).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn without_a_latency_limit_the_core_finds_no_miss(
        table in tables(), mask in 0u16..1024, wait_ns in 0u64..10_000_000,
    ) {
        let (_, _, entry) = wait(&table, mask, NO_LATENCY_LIMIT_NS, wait_ns);
        let Outcome::Stayed { miss, .. } = entry.outcome else { panic!("{entry:?}") };
        prop_assert_eq!(miss, Miss::None);
    }

    #[test]
    fn it_takes_the_deepest_state_that_is_on_pays_and_keeps_the_limit(
        table in tables(), mask in 0u16..1024, wait_ns in 0u64..10_000_000, limit_ns in 0i64..3_000_000,
    ) {
        let (chosen, ..) = wait(&table, mask, limit_ns, wait_ns);
        let on: Vec<usize> = (0..table.len()).filter(|i| mask & 1 << i == 0).collect();
        let mut good = on.iter().copied().filter(|&i| {
            let s = &table.states()[i];
            s.exit_latency_ns <= limit_ns && s.target_residency_ns <= wait_ns as i64
        });
        // Where none will do: the shallowest that is on and keeps the limit, else that is on; where none is on: state 0, as
        // nothing else is left.
        let quick = on.iter().copied().find(|&i| table.states()[i].exit_latency_ns <= limit_ns);
        let expected = good.next_back().or(quick).or(on.first().copied()).unwrap_or(0);
        prop_assert_eq!(chosen, expected);
    }

    #[test]
    fn the_tick_is_stopped_exactly_when_it_would_come_first(wait_ns in 0u64..4 * T) {
        let (_, tick, _) = wait(&table(), 0, NO_LATENCY_LIMIT_NS, wait_ns);
        let first = wait_ns > T - 1_234;
        prop_assert_eq!(tick, if first { TickChoice::Stopped } else { TickChoice::Kept });
    }
}

#[test]
fn an_event_at_the_very_tick_needs_no_stopping() {
    let tick = |ns| wait(&table(), 0, NO_LATENCY_LIMIT_NS, ns).1;
    assert_eq!((tick(T - 1_234), tick(T - 1_233)), (TickChoice::Kept, TickChoice::Stopped));
}

#[test]
fn where_the_core_keeps_the_tick_it_counts_with_it() {
    let table = table();
    // 500 us before a tick that the kernel needs: C6 does not pay, though the event is far.
    let start = TICK + T - 500_000;
    for (tick_needed, state, kept) in [(true, 2, TickChoice::Kept), (false, 3, TickChoice::Stopped)] {
        let mut oracle = Oracle::new(&table, None);
        let mut idle = IdleCpu::new(0, &table, GRID);
        idle.begin_visit(start);
        let timers = Timers::Pending {
            hrtimer_at_ns: NEVER_AT_NS,
            wheel_at_ns: NEVER_AT_NS,
            stale_event_at_ns: NEVER_AT_NS,
            tick_needed,
        };
        let m = Moment { wake_at_ns: TICK + 9 * T, timers, ..quiet(start) };
        let entered = idle.enter(&mut oracle, &m);
        assert_eq!((entered.state, entered.tick), (state, kept));
    }
}

#[test]
fn states_that_change_while_it_runs_are_followed() {
    let table = table();
    let mut oracle = Oracle::new(&table, None);
    let mut idle = IdleCpu::new(0, &table, GRID);
    let mut choose = |mask| {
        idle.set_disabled(&mut oracle, mask);
        idle.begin_visit(TICK);
        idle.enter(&mut oracle, &Moment { wake_at_ns: TICK + 700_000, ..quiet(TICK) }).state
    };
    assert_eq!([choose(0), choose(0b1000), choose(0b1100), choose(0b0100), choose(0)], [3, 2, 1, 3, 3]);
}

#[test]
fn it_reads_the_ticks_flag_as_governors_do() {
    let table = table();
    let mut oracle = Oracle::new(&table, None);
    oracle.device().got_tick = true;
    let mut idle = IdleCpu::new(0, &table, GRID);
    idle.begin_visit(TICK);
    idle.enter(&mut oracle, &quiet(TICK));
    idle.leave(&mut oracle, &left(3, TICK + 700_000), &mut Vec::new());
    assert!(!oracle.device().got_tick);
}
