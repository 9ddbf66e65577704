// SPDX-License-Identifier: GPL-2.0-only
//! Placement of fair tasks without an energy model (`signal-behaviour.md` D3).

use super::util::Fit;
use crate::state::Sim;
use idlewise_parts::watch::Watch;

impl<W: Watch> Sim<'_, W> {
    /// The CPU for a task that ran last on `prev` and is woken up on `waker`: a free one near the better of the two, or
    /// that one.
    pub(super) fn place_plainly(&mut self, task: u32, prev: u32, waker: u32) -> u32 {
        let target = self.nearer(task, prev, waker);
        let recent = std::mem::replace(&mut self.tasks[task].recent, prev);
        let takes = |c: u32| {
            self.tasks[task].may_run_on(c)
                && self.is_free(c)
                && (!self.placer.asymmetric || self.view().task_fit(task, c as usize) == Fit::Yes)
        };
        if takes(target) {
            return target;
        }
        for c in [prev, recent] {
            if c != target && self.near(c, target) && takes(c) {
                return c;
            }
        }
        let found = if self.placer.asymmetric {
            self.free_by_size(task, target as usize)
        } else {
            self.free_core_or_sibling(task, target, prev).or_else(|| self.free_in_cluster(task, target))
        };
        found.unwrap_or(target)
    }

    /// Where to look first: where the task ran last or where it is woken up (`wake_affine`).
    fn nearer(&self, task: u32, prev: u32, waker: u32) -> u32 {
        let t = &self.tasks[task];
        if waker == prev || !t.may_run_on(waker) {
            return prev;
        }
        let idle = |c: u32| self.cpus[c as usize].is_idle();
        if idle(prev) {
            return prev;
        }
        if idle(waker) && self.near(waker, prev) {
            return waker;
        }
        // Loads as they would be, the waker's favoured by half of what domains may differ (imbalance_pct 117).
        let view = self.view();
        let load = |c: u32| u128::from(self.cpus[c as usize].pelt.fair().load);
        let room = |c: u32| u128::from(view.room(c as usize));
        let own = u128::from(t.pelt.avg().load);
        let here = (load(waker) + own) * 100 * room(prev);
        let there = load(prev).saturating_sub(own) * 108 * room(waker);
        if here < there { waker } else { prev }
    }

    /// The first free CPU from `target` on that is large enough, else the free one that comes closest.
    fn free_by_size(&self, task: u32, target: usize) -> Option<u32> {
        let view = self.view();
        let n = self.cpus.len();
        let mut best: Option<(Fit, u64, u32)> = None;
        for c in (target..n).chain(0..target) {
            if !self.tasks[task].may_run_on(c as u32) || !self.is_free(c as u32) {
                continue;
            }
            let fit = view.task_fit(task, c);
            if fit == Fit::Yes {
                return Some(c as u32);
            }
            let room = if fit == Fit::Slow { view.size(c) } else { view.room(c) };
            if best.is_none_or(|(f, r, _)| fit < f || (fit == f && room > r)) {
                best = Some((fit, room, c as u32));
            }
        }
        best.map(|(_, _, c)| c)
    }

    /// A CPU that is one thread of several: the first of a core in its cluster that is free as a whole, behind `target`; where
    /// there is none, a free thread of the core where the task ran last (`select_idle_core`, `select_idle_smt` of 6.12).
    fn free_core_or_sibling(&self, task: u32, target: u32, prev: u32) -> Option<u32> {
        let core = |c: u32| self.machine.cpus[c as usize].core.clone();
        if core(target).len() == 1 {
            return None;
        }
        let t = &self.tasks[task];
        let free = self.behind(target).find(|c| t.may_run_on(*c) && self.core_is_free(*c));
        let siblings = core(prev).map(|c| c as u32).filter(|_| self.near(prev, target));
        free.or_else(|| siblings.into_iter().find(|c| t.may_run_on(*c) && self.is_free(*c)))
    }

    /// All threads of the CPU's core are free.
    fn core_is_free(&self, c: u32) -> bool {
        self.machine.cpus[c as usize].core.clone().all(|thread| self.is_free(thread as u32))
    }

    /// The CPUs of the cluster of `target`, from the one behind it on, itself last.
    fn behind(&self, target: u32) -> impl Iterator<Item = u32> {
        let cpus = &self.placer.clusters[self.machine.cpus[target as usize].cache];
        let at = cpus.iter().position(|c| *c == target as usize).map_or(0, |at| at + 1);
        let (behind, before) = cpus.split_at_checked(at).map_or((&[][..], &cpus[..]), |(a, b)| (b, a));
        behind.iter().chain(before).map(|c| *c as u32)
    }

    /// The first free CPU behind `target` in its cluster, of as many as are looked at.
    fn free_in_cluster(&self, task: u32, target: u32) -> Option<u32> {
        let cluster = self.machine.cpus[target as usize].cache;
        let t = &self.tasks[task];
        let all = self.behind(target).filter(|c| t.may_run_on(*c));
        all.take(self.placer.scan[cluster]).find(|c| self.is_free(*c))
    }

    /// How many CPUs of a cluster a waking task looks at, by how full they are (`SIS_UTIL`); found with balancing.
    pub(super) fn set_scan(&mut self, cluster: usize) {
        let view = self.view();
        let cpus = &self.placer.clusters[cluster];
        let n = cpus.len() as u64;
        let sum: u64 = cpus.iter().map(|c| view.util_now(*c)).sum();
        let mean = sum / n.max(1);
        let taken = (mean * mean * 117 * 117 / (10_000 * 1024)).min(1024);
        self.placer.scan[cluster] = ((1024 - taken) * n / 1024) as usize;
    }

    /// The CPU for a new task, whose parent runs on `prev`: of the cluster with most free CPUs, `prev`'s where it is no worse,
    /// the free one with the least utilisation; where none is free, the one with least to do.
    pub(super) fn place_new(&self, task: u32, prev: u32) -> u32 {
        let t = &self.tasks[task];
        let may = |c: &usize| t.may_run_on(*c as u32);
        let free = |c: &usize| *c != prev as usize && self.is_free(*c as u32);
        let view = self.view();
        let mut best: Option<((usize, u64, bool), usize)> = None;
        for (i, cpus) in self.placer.clusters.iter().enumerate() {
            let count = cpus.iter().filter(|c| may(c) && free(c)).count();
            let util: u64 = cpus.iter().map(|c| view.util_now(*c)).sum();
            let local = cpus.contains(&(prev as usize));
            // Most free CPUs; the own cluster; least utilisation.
            let key = (count, if local { u64::MAX } else { u64::MAX - 1 - util }, local);
            if count > 0 && best.is_none_or(|(b, _)| key > b) {
                best = Some((key, i));
            }
        }
        if let Some((_, i)) = best {
            let all = || self.placer.clusters[i].iter().copied().filter(|c| may(c) && free(c));
            let local = self.placer.clusters[i].contains(&(prev as usize));
            // In another cluster it begins with the CPU that wakes up fastest, in its own behind the parent's.
            let fastest = || all().min_by_key(|c| self.waking_cost(*c)).unwrap_or(prev as usize);
            let from = if local { prev as usize } else { fastest() };
            let behind = |c: usize| (c + self.cpus.len() - from) % self.cpus.len();
            // Of a core of several threads, how many are busy comes first.
            let busy = |c: usize| {
                self.machine.cpus[c].core.clone().filter(|thread| !self.is_free(*thread as u32)).count()
            };
            return all()
                .min_by_key(|c| (busy(*c), view.util_now(*c), behind(*c)))
                .map_or(prev, |c| c as u32);
        }
        let load = |c: &usize| self.cpus[*c].pelt.fair().load * 1024 / view.room(*c);
        let all = (0..self.cpus.len()).filter(may);
        all.min_by_key(|c| (load(c), self.cpus[*c].waiting(), *c)).map_or(prev, |c| c as u32)
    }

    /// How long the idle state of a CPU takes to leave, then how long ago it was entered.
    fn waking_cost(&self, c: usize) -> (i64, u64) {
        let Some(stay) = self.cpus[c].stay else { return (0, 0) };
        let states = self.machine.cpus[c].table.states();
        let exit_ns = states.get(stay.state).map_or(0, |s| s.exit_latency_ns);
        (exit_ns, self.now_ns - stay.start_ns)
    }
}
