// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{LoopCosts, TickChoice, WakeCause};

const COSTS: LoopCosts =
    LoopCosts { decision_ns: 30, sleep_length_ns: 400, tick_stop_ns: 2_000, again_ns: 700 };

#[test]
fn each_thing_that_happened_is_paid_once() {
    assert_eq!(COSTS.of(false, TickChoice::Kept, WakeCause::Hrtimer), 30);
    assert_eq!(COSTS.of(true, TickChoice::WasStopped, WakeCause::Hrtimer), 430);
    assert_eq!(COSTS.of(true, TickChoice::Stopped, WakeCause::Hrtimer), 2_430);
    assert_eq!(COSTS.of(false, TickChoice::Kept, WakeCause::Tick), 730);
    assert_eq!(COSTS.of(false, TickChoice::Kept, WakeCause::PollLimit), 730);
    assert_eq!(LoopCosts::NONE.of(true, TickChoice::Stopped, WakeCause::Tick), 0);
}
