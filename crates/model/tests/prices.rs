// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{LoopCosts, MAX_STATES, Prices, StatePrice};

/// Running costs 100 a ns, the shallow state 10, the deep one 1 and 9000 for the way: it pays from 1000 ns on.
fn prices() -> Prices {
    let mut states = [StatePrice::default(); MAX_STATES];
    states[0].power_uw = 10;
    states[1] = StatePrice { transition_fj: 9_000, power_uw: 1, entry_ns: 50 };
    Prices { states, active_uw: 100, costs: LoopCosts { again_ns: 5, ..LoopCosts::NONE } }
}

#[test]
fn the_cheapest_is_the_deepest_that_pays() {
    let p = prices();
    assert_eq!(p.cheapest(0b11, 999), Some((0, 9_990)));
    assert_eq!(p.cheapest(0b11, 1_000), Some((1, 10_000)));
    assert_eq!(p.cheapest(0b01, 5_000), Some((0, 50_000)));
    assert_eq!(p.cheapest(0b10, 10), Some((1, 9_050)));
    assert_eq!(p.cheapest(0, 10), None);
}

#[test]
fn kept_ticks_cost_their_handlers_and_shorter_idle_periods() {
    let p = prices();
    // Two ticks, at 400 and 1400, of 20 ns: three idle periods of 400, 980 and 580 ns, all in the shallow state.
    let kept = 10 * (400 + 980 + 580) + 2 * 100 * (20 + 5);
    assert_eq!(p.of_ticks(0b11, 0, 2_000, 400, 1_000, 20), kept - (9_000 + 2_000));
    assert_eq!(p.of_ticks(0b11, 0, 400, 400, 1_000, 20), 0);
}
