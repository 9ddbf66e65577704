// SPDX-License-Identifier: GPL-2.0-only
//! Where Android 3.18 and 4.4 put a waking task while no CPU has too much to do (`signal-behaviour.md` D8): among the
//! smallest CPUs that are large enough for it, the first that is busy and needs no higher clock. The energy model only
//! has a veto.

use super::eas::{Domain, Work};
use super::util::leaves_margin;
use crate::state::Sim;
use crate::state::load::View;
use idlewise_parts::watch::Watch;

/// Utilisations with the task away from where it ran last, where it is still counted.
struct Moved<'s, 't> {
    view: View<'s, 't>,
    prev: usize,
    util: u64,
}

impl Work for Moved<'_, '_> {
    fn busy(&self, c: usize) -> u64 {
        let own = if c == self.prev { self.util } else { 0 };
        self.view.util_now(c).saturating_sub(own)
    }

    fn speed(&self, c: usize, to: Option<usize>) -> u64 {
        self.busy(c) + if to == Some(c) { self.util } else { 0 }
    }

    fn task_busy(&self) -> u64 {
        self.util
    }
}

impl<W: Watch> Sim<'_, W> {
    /// The CPU for a task that wakes up; where it ran last if no other is better. It may be one that the task may not use.
    pub(super) fn place_as_android(&self, task: u32) -> usize {
        let view = self.view();
        let prev = self.tasks[task].cpu as usize;
        let util = view.task_util(task);
        let to = self.first_with_room(task, prev, util);
        if to == prev || self.is_overutilized(prev) {
            return to;
        }
        let q = Moved { view, prev, util };
        let energy = |at: usize| -> u64 {
            let clocks = [prev, to].map(|c| self.machine.cpus[c].clock);
            let both = if clocks[0] == clocks[1] { &clocks[..1] } else { &clocks[..] };
            let of = |clock: &usize| {
                let domain = self.domain(*clock)?;
                let sums = domain.sums(&q);
                Some(domain.energy(&q, &sums, Some(at).filter(|c| domain.cpus.contains(c))))
            };
            both.iter().filter_map(of).sum()
        };
        if energy(to) < energy(prev) { to } else { prev }
    }

    pub(super) fn domain(&self, clock: usize) -> Option<Domain<'_>> {
        let cpus = self.machine.clocks.get(clock)?.cpus.as_slice();
        let capacity = cpus.first().map_or(0, |c| u64::from(self.machine.cpus[*c].capacity));
        Some(Domain { cpus, model: self.placer.models.get(clock)?, capacity })
    }

    fn first_with_room(&self, task: u32, prev: usize, util: u64) -> usize {
        let view = self.view();
        let largest = (0..self.cpus.len()).map(|c| view.size(c)).max();
        let fits = |c: usize| {
            let room = view.room(c);
            largest.is_some_and(|l| l == room || leaves_margin(l, room)) || leaves_margin(util, room)
        };
        // Clusters in turn from that of `prev`, which it stays where none is large enough.
        let (clusters, own) = (&self.placer.clusters, self.machine.cpus[prev].cache);
        let all = (own..clusters.len()).chain(0..own).filter_map(|i| clusters[i].first().map(|c| (i, *c)));
        let (chosen, _) =
            all.filter(|(_, c)| fits(*c)).min_by_key(|(_, c)| view.room(*c)).unwrap_or((own, prev));
        let mut to = prev;
        for &c in clusters[chosen].iter().filter(|c| self.tasks[task].may_run_on(**c as u32)) {
            // On `prev` the task is counted twice: there it was, and is not yet forgotten.
            let with = view.util_now(c) + util;
            if with > view.size(c) {
                continue;
            }
            if with < self.size_now(c) {
                to = c;
                if !self.cpus[c].is_idle() {
                    break;
                }
            }
            if to == prev {
                to = c;
            }
        }
        to
    }

    /// A CPU's capacity at its present clock.
    fn size_now(&self, c: usize) -> u64 {
        let spec = &self.machine.cpus[c];
        let points = &self.machine.clocks[spec.clock].points;
        let khz = |i: usize| points.get(i).map_or(0, |p| u64::from(p.khz));
        let (now, highest) = (khz(self.clocks[spec.clock].point), khz(points.len().saturating_sub(1)));
        // Without a clock it has all of it.
        let scale = (now << 10).checked_div(highest).unwrap_or(1024);
        (u64::from(spec.capacity) * scale) >> 10
    }
}
