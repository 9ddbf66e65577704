// SPDX-License-Identifier: GPL-2.0-only
//! Where a waking task costs least energy (`signal-behaviour.md` D2): of each clock's CPUs the one with most room is
//! a candidate, beside the one where the task ran last, and what the model says of the clock with and without the
//! task is compared.

use idlewise_platform::{EnergyModel, Kernel};

use super::util::Fit;
use crate::state::Sim;
use crate::state::load::View;
use idlewise_parts::watch::Watch;

/// What CPUs have to do.
pub(super) trait Work {
    /// The utilisation that energy is counted for, without the task.
    fn busy(&self, c: usize) -> u64;
    /// The performance that the CPU's clock is asked for if the task is on `to`.
    fn speed(&self, c: usize, to: Option<usize>) -> u64;
    /// What the task adds to `busy`.
    fn task_busy(&self) -> u64;
}

/// What has to be known of CPUs and of the task.
trait Question: Work {
    /// Whether the CPU's work with the task fits it, and how much room is left then; a CPU that the task may not use fits
    /// nothing.
    fn fit(&self, c: usize) -> (Fit, u64);
}

/// CPUs that share a clock, with their capacities and powers.
pub(super) struct Domain<'d> {
    pub(super) cpus: &'d [usize],
    pub(super) model: &'d EnergyModel,
    /// Of one of them.
    pub(super) capacity: u64,
}

/// What a clock's CPUs have to do without the task.
pub(super) struct Sums {
    busy: u64,
    /// The highest performance asked for, by which CPU, and the highest of the others.
    speed: u64,
    fastest: usize,
    second: u64,
}

impl Domain<'_> {
    pub(super) fn sums(&self, q: &impl Work) -> Sums {
        let mut s = Sums { busy: 0, speed: 0, fastest: usize::MAX, second: 0 };
        for &c in self.cpus {
            s.busy += q.busy(c);
            let speed = q.speed(c, None);
            if speed > s.speed {
                (s.speed, s.fastest, s.second) = (speed, c, s.speed);
            } else {
                s.second = s.second.max(speed);
            }
        }
        s
    }

    /// What the model says of that with the task on `to`, if it is anywhere.
    pub(super) fn energy(&self, q: &impl Work, s: &Sums, to: Option<usize>) -> u64 {
        let all = self.capacity * self.cpus.len() as u64;
        let busy = s.busy.min(all);
        let Some(c) = to else {
            return self.model.energy(s.speed.min(self.capacity), busy, self.capacity);
        };
        let others = if s.fastest == c { s.second } else { s.speed };
        let speed = q.speed(c, to).max(others);
        let with = (busy + q.task_busy()).min(all);
        self.model.energy(speed.min(self.capacity), with, self.capacity)
    }
}

/// The CPU for a task that ran last on `prev`, which is among those of the domains.
fn cheapest<'d>(domains: impl Iterator<Item = Domain<'d>>, prev: usize, q: &impl Question) -> usize {
    let (mut prev_fit, mut prev_delta, mut prev_capacity) = (Fit::Slow, u64::MAX, 0);
    let (mut best, mut best_fit, mut best_delta, mut best_capacity) = (prev, Fit::Slow, u64::MAX, 0);
    for domain in domains {
        let (mut prev_room, mut widest) = (None, None);
        for &c in domain.cpus {
            let (fit, room) = q.fit(c);
            if fit == Fit::No {
                continue;
            }
            if c == prev {
                prev_room = Some(room);
                prev_fit = fit;
            } else if widest.is_none_or(|(f, r, _)| (fit, room) > (f, r)) {
                widest = Some((fit, room, c));
            }
        }
        if prev_room.is_none() && widest.is_none() {
            continue;
        }
        let sums = domain.sums(q);
        let base = domain.energy(q, &sums, None);
        if prev_room.is_some() {
            let Some(delta) = domain.energy(q, &sums, Some(prev)).checked_sub(base) else { return prev };
            prev_delta = delta;
            prev_capacity = domain.capacity;
            best_delta = best_delta.min(delta);
        }
        // Next to `prev` only a CPU with more room is worth the move.
        let Some((fit, _, c)) = widest.filter(|(_, room, _)| prev_room.is_none_or(|p| *room > p)) else {
            continue;
        };
        if fit < best_fit || (fit == Fit::Slow && domain.capacity <= best_capacity) {
            continue;
        }
        let Some(delta) = domain.energy(q, &sums, Some(c)).checked_sub(base) else { return prev };
        if fit == Fit::Yes && best_fit == Fit::Yes && delta >= best_delta {
            continue;
        }
        (best, best_fit, best_delta, best_capacity) = (c, fit, delta, domain.capacity);
    }
    let better = best_fit > prev_fit
        || (best_fit == Fit::Yes && best_delta < prev_delta)
        || (best_fit == Fit::Slow && best_capacity > prev_capacity);
    if better { best } else { prev }
}

/// The answers that energy-aware placement needs from a machine's state.
struct Asked<'s, 't> {
    view: View<'s, 't>,
    energy_pelt: &'s idlewise_signal::pelt::Pelt,
    task: u32,
    clamps: (u64, u64),
    busy: u64,
    kernel: Kernel,
}

impl Asked<'_, '_> {
    /// The limits of a CPU with the task on it.
    fn clamps_with(&self, c: usize) -> (u64, u64) {
        if self.view.cpus[c].is_idle() || !self.view.load.clamped {
            return self.clamps;
        }
        let (min, max) = self.view.clamps_of(c);
        (min.max(self.clamps.0), max.max(self.clamps.1))
    }

    /// Work of all kinds, without limits (`effective_cpu_util`, for energy).
    fn all(&self, c: usize, util: u64) -> u64 {
        self.energy_pelt.need(&self.view.cpus[c].pelt, util, &Default::default()).util
    }
}

impl Question for Asked<'_, '_> {
    fn fit(&self, c: usize) -> (Fit, u64) {
        if !self.view.tasks[self.task].may_run_on(c as u32) {
            return (Fit::No, 0);
        }
        let util = self.view.util_if(c, self.task, Some(c), false);
        (self.view.fit(util, self.clamps_with(c), c), self.view.room(c).saturating_sub(util))
    }
}

impl Work for Asked<'_, '_> {
    fn busy(&self, c: usize) -> u64 {
        self.all(c, self.view.util_if(c, self.task, None, false))
    }

    fn speed(&self, c: usize, to: Option<usize>) -> u64 {
        let mut limits = self.view.limits(c);
        if to == Some(c) && self.view.load.clamped {
            let (min, max) = self.clamps_with(c);
            (limits.clamp_min, limits.clamp_max) = (min as u32, max as u32);
        }
        let rq = &self.view.cpus[c].pelt;
        let pelt = &self.view.load.pelt;
        match self.kernel {
            // The model adds the headroom.
            Kernel::V6_1 => pelt.need(rq, self.view.util_if(c, self.task, to, false), &limits).util,
            Kernel::V6_12 => {
                let need = pelt.need(rq, self.view.util_if(c, self.task, to, true), &limits);
                need.min.max((need.util + (need.util >> 2)).min(need.max))
            }
        }
    }

    fn task_busy(&self) -> u64 {
        self.busy
    }
}

impl<W: Watch> Sim<'_, W> {
    /// The CPU for a task that wakes up while none has too much to do. It may be one that the task may not use, where it
    /// ran last.
    pub(super) fn place_by_energy(&self, task: u32) -> usize {
        let view = self.view();
        let t = &self.tasks[task];
        let prev = t.cpu as usize;
        let (util, clamps) = (view.task_util(task), t.clamps());
        if util == 0 && (clamps.0 == 0 || !self.load.clamped) {
            return prev;
        }
        let (size, irq) = (view.size(prev), self.cpus[prev].pelt.irq().util);
        let busy = if irq >= size { size } else { util * (size - irq) / size };
        let kernel = self.placer.models.first().map(|m| m.kernel).unwrap_or_default();
        let energy_pelt = &self.placer.energy_pelt;
        let q = Asked { view, energy_pelt, task, clamps, busy, kernel };
        let domains = (0..self.machine.clocks.len()).filter_map(|clock| self.domain(clock));
        cheapest(domains, prev, &q)
    }
}

#[cfg(test)]
mod tests {
    use idlewise_platform::Platform;

    use super::*;

    /// CPUs with so much to do, all of one speed per cluster; the task is `size` large anywhere.
    struct Plain {
        util: Vec<u64>,
        capacity: Vec<u64>,
        size: u64,
        /// CPUs whose clock is slower than the task asks for.
        slow: Vec<usize>,
    }

    impl Plain {
        fn with(&self, c: usize, to: Option<usize>) -> u64 {
            (self.util[c] + if to == Some(c) { self.size } else { 0 }).min(self.capacity[c])
        }
    }

    impl Question for Plain {
        fn fit(&self, c: usize) -> (Fit, u64) {
            let util = self.with(c, Some(c));
            let fits = super::super::util::leaves_margin(util, self.capacity[c]);
            let fit = match (fits, self.slow.contains(&c)) {
                (false, _) => Fit::No,
                (true, true) => Fit::Slow,
                (true, false) => Fit::Yes,
            };
            (fit, self.capacity[c].saturating_sub(util))
        }
    }

    impl Work for Plain {
        fn busy(&self, c: usize) -> u64 {
            self.util[c]
        }
        fn speed(&self, c: usize, to: Option<usize>) -> u64 {
            let util = self.with(c, to);
            util + (util >> 2)
        }
        fn task_busy(&self) -> u64 {
            self.size
        }
    }

    const CPUS: [&[usize]; 3] = [&[0, 1, 2, 3], &[4, 5], &[6, 7]];

    /// Placed by its measured powers, as if no supplies were known.
    fn pixel6() -> Platform {
        let mut platform = idlewise_platform::find("pixel6").unwrap();
        platform.clusters.iter_mut().flat_map(|c| &mut c.clock).for_each(|c| c.coefficient = None);
        platform
    }

    fn models(scale: u64) -> Vec<EnergyModel> {
        let mut models: Vec<EnergyModel> =
            pixel6().clusters.iter().map(|c| EnergyModel::new(c, Kernel::V6_12).unwrap()).collect();
        models[0].states.iter_mut().for_each(|s| s.cost = s.cost * scale / 1000);
        models
    }

    fn idle(size: u64) -> Plain {
        let capacity = vec![160, 160, 160, 160, 498, 498, 1024, 1024];
        Plain { util: vec![0; 8], capacity, size, slow: Vec::new() }
    }

    fn choose(q: &Plain, prev: usize, scale: u64) -> usize {
        let models = models(scale);
        let domains = CPUS.iter().zip(&models).map(|(cpus, model)| Domain {
            cpus,
            model,
            capacity: q.capacity[cpus[0]],
        });
        cheapest(domains, prev, q)
    }

    #[test]
    fn energy_of_a_cluster_is_the_cost_of_its_clock_times_what_it_has_to_do() {
        let models = models(1000);
        let big = Domain { cpus: CPUS[2], model: &models[2], capacity: 1024 };
        // 300 of work ask for 375: 1106 MHz gives 404, where it costs 251880 uW * 10 / 404 = 6234.
        let mut q = idle(100);
        q.util[6] = 300;
        assert_eq!(big.energy(&q, &big.sums(&q), None), 1_870_200);
        // On the other CPU the task leaves the clock where it is: 400 * 6234.
        assert_eq!(big.energy(&q, &big.sums(&q), Some(7)), 2_493_600);
        // On the same one 400 ask for 500: 1426 MHz gives 521, 382610 * 10 / 521 = 7343; 400 * 7343.
        assert_eq!(big.energy(&q, &big.sums(&q), Some(6)), 2_937_200);
        let mid = Domain { cpus: CPUS[1], model: &models[1], capacity: 498 };
        // 100 ask for 125: 696 MHz gives 153, 54730 * 10 / 153 = 3577.
        assert_eq!(mid.energy(&q, &mid.sums(&q), Some(4)), 357_700);
        assert_eq!(mid.energy(&q, &mid.sums(&q), None), 0);
    }

    #[test]
    fn the_cheapest_cluster_that_fits_is_taken() {
        // As measured, 100 cost 16869 * 100 on LITTLE (125 ask for more than 1328 MHz: 1598 MHz, 13839), 3577 * 100 on MID.
        assert_eq!(choose(&idle(100), 0, 1000), 4);
        // With LITTLE's powers at a fifth it is 2767 * 100: it stays.
        assert_eq!(choose(&idle(100), 0, 200), 0);
        assert_eq!(choose(&idle(100), 4, 200), 0);
        // 160 * 4 / 5 = 128: what is more does not fit.
        assert_eq!(choose(&idle(130), 0, 200), 4);
        // Nor does 400 on MID.
        assert_eq!(choose(&idle(400), 4, 200), 6);
    }

    #[test]
    fn the_last_cpu_is_kept_unless_another_has_more_room_and_costs_less() {
        let mut q = idle(50);
        // Equal costs: stay.
        assert_eq!(choose(&q, 2, 200), 2);
        // More room next door, and a lower clock by that: 35 + 50 need 106, 50 alone need 62.
        q.util[2] = 35;
        assert_eq!(choose(&q, 2, 200), 0);
        // Less room elsewhere: they are not even asked about.
        q.util = vec![40, 40, 30, 40, 0, 0, 0, 0];
        assert_eq!(choose(&q, 2, 100), 2);
    }

    #[test]
    fn a_cpu_that_is_as_fast_as_the_task_asks_for_comes_first() {
        let mut q = idle(50);
        q.slow = vec![0, 1, 2, 3];
        assert_eq!(choose(&q, 0, 100), 4);
        // Where none is, the largest.
        q.slow = (0..8).collect();
        assert_eq!(choose(&q, 0, 100), 6);
    }
}
