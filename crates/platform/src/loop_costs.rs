// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel takes for its idle loop, and what idle periods cost with it.

use idlewise_model::{LoopCosts, MAX_STATES, Prices, StatePrice};

use crate::Cluster;

/// What the idle loop takes, on any machine: as handlers count as long as they were recorded, whatever the machine is replayed on.
///
/// From a KVM guest (Linux 6.18, x86-64, 2.4 GHz; no ftrace, BPF records each idle period), the recordings of
/// `traces/kvm-guest/decisions`: from the kernel's "now" to the entry into the state the medians are 0.29 us with the tick kept and no sleep
/// length (haltpoll) and 0.71 us with one (menu, of that twice 0.045 us its own). Where the tick is stopped it is 0.7 us more in the median and
/// 1.9 us in the mean (ladder), 1.3 and 4.0 us (haltpoll), 11.7 and 12.9 us (menu, which stops it before long sleeps); part of it is an exit
/// to the hypervisor. Starting it again is not in these. The boot lab's guest runs some 2,200 instructions for both (23.7 us at 4 ns, less
/// five recorded events of 3 us): 0.9 us at one a cycle of 2.4 GHz. Asking again: an assumption, as [`crate::Costs`] has it.
///
/// A decision takes 5 to 46 ns with everything in the nearest cache, about twice as long with idle time between them (`cargo bench -p
/// idlewise-conform --bench deciding`). It counts as the same for all governors: what decides the same costs the same, in whichever file
/// it is.
pub const LOOP_COSTS: LoopCosts =
    LoopCosts { decision_ns: 60, sleep_length_ns: 330, tick_stop_ns: 2_000, again_ns: 500 };

/// What the idle loop really takes lies between these times what is taken for it. Less with all of it in the nearest cache of a fast core; more
/// after long sleeps, in a virtual machine, and on slow cores.
pub const LOOP_COSTS_RANGE: [f64; 2] = [0.3, 6.0];

impl Cluster {
    /// What its idle periods cost, with what the idle loop takes.
    #[must_use]
    pub fn prices(&self) -> Prices {
        let mut states = [StatePrice::default(); MAX_STATES];
        for ((to, energy), state) in states.iter_mut().zip(&self.energy.states).zip(self.table.states()) {
            *to = StatePrice {
                transition_fj: energy.transition_fj,
                power_uw: energy.power_uw,
                entry_ns: state.entry_ns.max(0).unsigned_abs(),
            };
        }
        Prices { states, active_uw: self.energy.active_power_uw, costs: LOOP_COSTS }
    }
}
