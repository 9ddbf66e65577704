// SPDX-License-Identifier: GPL-2.0-only
//! What a kernel takes for its idle loop, and what idle periods cost with it.

use idlewise_model::{LoopCosts, MAX_STATES, Prices, StatePrice};

use crate::Cluster;

/// What the idle loop takes of a CPU of speed 1024.
///
/// From a KVM guest (Linux 6.18, x86-64, 2.4 GHz) without tracing, the recordings of `traces/kvm-guest/decisions`: from the kernel's
/// "now" to the entry into the state the medians are 0.29 us with the tick kept and no sleep length (haltpoll) and 0.71 us with one (menu,
/// of that twice 0.045 us its own). Where the tick is stopped it is 0.7 us (ladder) to 1.3 us (haltpoll) more, most of that an exit to the
/// hypervisor, which a bare machine has not; starting it again is alike. The boot lab's guest runs some 2,200 instructions for both
/// (23.7 us at 4 ns, less five recorded events of 3 us): 0.8 us at one a cycle. [`crate::Costs`] has 0.75 us for asking again, with a
/// decision and its sleep length.
///
/// A decision takes 5 to 46 ns with everything in the nearest cache, about twice as long with the idle time between them (`cargo bench -p
/// idlewise-conform --bench deciding`). It counts as the same for all governors: what decides the same costs the same, in whichever file
/// it is.
const LOOP: LoopCosts = LoopCosts { decision_ns: 60, sleep_length_ns: 330, tick_stop_ns: 800, again_ns: 500 };

/// What the idle loop really takes lies between these times what is taken for it. Less with all of it in the nearest cache; more after long
/// sleeps (a tenth of the guest's stops took 9 us), in a virtual machine, and where a core's capacity says too little of kernel code.
pub const LOOP_COSTS_RANGE: [f64; 2] = [0.3, 4.0];

impl Cluster {
    /// What the idle loop takes of a CPU of this cluster at the clock of its energy table.
    #[must_use]
    pub fn loop_costs(&self) -> LoopCosts {
        LOOP.at_speed(self.speed_of_energy())
    }

    /// Speed at the clock of the energy table, 1..=1024; at the highest where no clock is known.
    fn speed_of_energy(&self) -> u32 {
        let speed = self.speed.unwrap_or(self.capacity);
        let top_khz = self.clock.as_ref().and_then(|c| c.points.last()).map(|p| p.khz);
        let (Some(top_khz), Some(power)) = (top_khz.filter(|khz| *khz > 0), &self.power) else {
            return speed;
        };
        let slower = u64::from(speed) * power.at_khz.min(top_khz) / top_khz;
        u32::try_from(slower).unwrap_or(speed).max(1)
    }

    /// What its idle periods cost, where the idle loop takes `costs`.
    #[must_use]
    pub fn prices(&self, costs: LoopCosts) -> Prices {
        let mut states = [StatePrice::default(); MAX_STATES];
        for ((to, energy), state) in states.iter_mut().zip(&self.energy.states).zip(self.table.states()) {
            *to = StatePrice {
                transition_fj: energy.transition_fj,
                power_uw: energy.power_uw,
                entry_ns: state.entry_ns.max(0).unsigned_abs(),
            };
        }
        Prices { states, active_uw: self.energy.active_power_uw, costs }
    }
}

#[cfg(test)]
mod tests {
    use crate::find;

    #[test]
    fn a_slow_core_takes_longer() {
        let pixel = find("pixel6").unwrap();
        let of = |n: usize| pixel.clusters[n].loop_costs();
        let (little, big) = (of(0), of(2));
        // 160 of 1024 at 930 of 1803 MHz: 82.
        assert_eq!((little.tick_stop_ns, little.decision_ns), (800 * 1024 / 82, 60 * 1024 / 82));
        assert!(big.tick_stop_ns < little.tick_stop_ns / 3, "{big:?}");
    }
}
