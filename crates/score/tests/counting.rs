// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::{Breach, Entry, IdleState, IdleTable, Ledger, Miss, Outcome, TickChoice, WakeCause};
use idlewise_platform::{EnergyTable, Fall};
use idlewise_score::{Breaches, Score, Tally, Unplaced, entry_fj};

fn table() -> IdleTable {
    let state = |name: &str, us: i64| IdleState {
        name: name.to_owned(),
        exit_latency_ns: us * 400,
        target_residency_ns: us * 1000,
        entry_ns: 0,
        polling: false,
        disabled: false,
    };
    IdleTable::new(vec![state("WFI", 1), state("C2", 1000)]).unwrap()
}

fn entry(entered: u8, residency_ns: i64, miss: Miss, cause: WakeCause, latency_ns: i64) -> Entry {
    Entry {
        cpu: 0,
        start_ns: 0,
        residency_ns,
        wake_ns: residency_ns - latency_ns,
        latency_ns,
        tick_ns: if cause == WakeCause::Tick { 10_000 } else { 0 },
        loop_ns: 700,
        selected: entered,
        outcome: Outcome::Stayed { entered, miss },
        cause,
        tick: TickChoice::Kept,
        breach: Breach::default(),
    }
}

#[test]
fn shares_are_of_all_wakeups_and_latency_leaves_ticks_out() {
    let table = table();
    let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
    let mut tally = Tally::new(&table, &energy);
    tally.entry(&entry(1, 500_000, Miss::Above, WakeCause::Irq, 400_000));
    tally.entry(&entry(0, 3_000_000, Miss::Below, WakeCause::Hrtimer, 400));
    tally.entry(&entry(0, 1_000, Miss::None, WakeCause::Tick, 400));
    tally.entry(&entry(1, 1_500_000, Miss::None, WakeCause::Ipi, 400_000));
    tally.entry(&Entry { outcome: Outcome::Rejected, ..entry(1, 0, Miss::None, WakeCause::Unknown, 0) });
    let score = Score::of(&[&tally]);
    assert_eq!((score.wakeups, score.rejected, score.ticks, score.ticks_kept), (4, 1, Some(1), Some(4)));
    assert_eq!((score.too_deep_pct, score.too_shallow_pct), (25.0, 25.0));
    assert_eq!((score.latency.wakes, score.latency.p50_ns, score.latency.max_ns), (3, 400_000, 400_000));
    assert_eq!(score.states[1].rejected, 1);
    let fj = |i: usize, t: u64| energy.stay_fj(i, t, 0);
    let expected = fj(1, 100_000)
        + fj(0, 2_999_600)
        + fj(0, 600)
        + fj(1, 1_100_000)
        + energy.active_fj(10_000 + 5 * 700);
    assert_eq!(tally.energy_fj(), expected);
    assert_eq!(score.causes.values().sum::<u64>(), 4);
}

#[test]
fn the_energy_of_what_was_counted_is_that_of_all_entries() {
    let mut table = table();
    let energies =
        [Fall::Geometric, Fall::EqualSteps].map(|fall| EnergyTable::derived(&table, &[], fall).unwrap());
    let mut states = table.states().to_vec();
    states[1].entry_ns = 200_000;
    table = IdleTable::new(states).unwrap();
    let mut tally = Tally::new(&table, &energies[0]);
    let mut expected = [0, 0];
    for n in 0..200 {
        let cause = WakeCause::ALL[n % WakeCause::ALL.len()];
        let mut e = entry((n % 2) as u8, n as i64 * 7_001, Miss::None, cause, 100);
        if n % 9 == 0 {
            e.outcome = Outcome::Rejected;
        }
        tally.entry(&e);
        for (sum, energy) in expected.iter_mut().zip(&energies) {
            *sum += entry_fj(&table, energy, &e);
        }
    }
    assert_eq!(energies.each_ref().map(|energy| tally.counts.energy_fj(energy)), expected);
}

#[test]
#[should_panic(expected = "awake 3 ns before its wake")]
fn a_latency_below_zero_is_no_latency_of_four_seconds() {
    let table = table();
    let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
    Tally::new(&table, &energy).entry(&entry(0, 1_000, Miss::None, WakeCause::Irq, -3));
}

#[test]
fn an_empty_run_has_a_score_of_nothing() {
    let table = table();
    let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
    let score = Score::of(&[&Tally::new(&table, &energy)]);
    assert_eq!((score.wakeups, score.latency.known(score.latency.max_ns)), (0, None));
    assert!(score.too_deep_pct.is_nan() && score.states[0].residency_pct.is_nan(), "a share of nothing");
    assert_eq!((score.ticks, score.ticks_kept, score.ticks_unknown), (Some(0), Some(0), 0));
    assert_eq!(Score::of(&[]).states.len(), 0);
}

#[test]
fn what_no_entry_tells_is_unknown_and_not_0() {
    let table = table();
    let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
    let told = |tick, cause| {
        let mut tally = Tally::new(&table, &energy);
        tally.entry(&Entry {
            tick: TickChoice::Unknown,
            ..entry(0, 1_000, Miss::None, WakeCause::Unknown, 0)
        });
        tally.entry(&Entry { tick, ..entry(0, 1_000, Miss::None, cause, 0) });
        let score = Score::of(&[&tally]);
        (score.ticks, score.ticks_kept, score.ticks_stopped, score.ticks_stopped_before, score.ticks_unknown)
    };
    assert_eq!(told(TickChoice::Unknown, WakeCause::Unknown), (None, None, None, None, 2));
    assert_eq!(told(TickChoice::Unknown, WakeCause::Tick), (Some(1), None, None, None, 2));
    assert_eq!(told(TickChoice::Stopped, WakeCause::Unknown), (None, Some(0), Some(1), Some(0), 1));
    assert_eq!(told(TickChoice::WasStopped, WakeCause::Irq), (Some(0), Some(0), Some(0), Some(1), 1));
}

#[test]
fn stays_in_states_that_the_table_lacks_are_in_no_number_but_their_own() {
    let table = table();
    let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
    let mut tally = Tally::new(&table, &energy);
    tally.entry(&entry(0, 1_000, Miss::None, WakeCause::Irq, 0));
    let known = Score::of(&[&tally]);
    tally.entry(&entry(2, 50_000, Miss::None, WakeCause::Irq, 0));
    tally.entry(&entry(255, 7_000, Miss::None, WakeCause::Tick, 0));
    let score = Score::of(&[&tally]);
    let unplaced = |entries, residency_ns| Unplaced { entries, residency_ns };
    assert_eq!(score.unplaced, BTreeMap::from([(2, unplaced(1, 50_000)), (255, unplaced(1, 7_000))]));
    assert_eq!(score.states[0].residency_pct, 100.0);
    assert_eq!(Score { unplaced: BTreeMap::new(), ..score }, known);
}

#[test]
fn a_refused_entry_costs_what_running_for_so_long_costs() {
    let table = table();
    let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
    let mut tally = Tally::new(&table, &energy);
    let refused = Entry {
        outcome: Outcome::Rejected,
        wake_ns: 34_000,
        ..entry(1, 0, Miss::None, WakeCause::Unknown, 0)
    };
    tally.entry(&refused);
    assert_eq!(tally.energy_fj(), energy.active_fj(34_700));
    let score = Score::of(&[&tally]);
    assert_eq!((score.rejected, score.rejected_ns, score.wakeups), (1, 34_000, 0));
}

#[test]
fn choices_with_which_something_is_wrong_are_counted_refused_ones_too() {
    let table = table();
    let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
    let mut tally = Tally::new(&table, &energy);
    let fine = entry(0, 1_000, Miss::None, WakeCause::Irq, 0);
    tally.entry(&fine);
    let both = Breach { disabled: true, over_limit: true, no_state: false };
    tally.entry(&Entry { breach: both, ..fine });
    tally.entry(&Entry { breach: both, outcome: Outcome::Rejected, ..fine });
    tally.entry(&Entry { breach: Breach { no_state: true, ..Breach::default() }, ..fine });
    let expected = Breaches { disabled: 2, over_limit: 2, no_state: 1 };
    assert_eq!(Score::of(&[&tally]).breaches, expected);
}
