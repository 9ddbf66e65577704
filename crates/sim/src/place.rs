// SPDX-License-Identifier: GPL-2.0-only
//! Where tasks go: at waking up, when a CPU runs dry, at the tick.

use crate::engine::Sim;
use crate::watch::Watch;

impl<W: Watch> Sim<'_, W> {
    /// The CPU for a task that wakes up; `by` wakes it.
    ///
    /// The one where it ran last if nothing runs there; else the waker's; else an idle one, near ones first; else the
    /// one of the first two where fewer tasks wait.
    pub(crate) fn place(&self, task: u32, by: Option<usize>) -> u32 {
        let t = &self.tasks[task];
        let may = |c: u32| t.may_run_on(c);
        let prev = if may(t.cpu) { t.cpu } else { t.cpus.first().copied().unwrap_or(0) };
        let fits = |c: u32| self.fits(task, c);
        let free = |c: u32| may(c) && self.cpus[c as usize].is_idle();
        if free(prev) && fits(prev) && !t.is_new {
            return prev;
        }
        let waker = by.map_or(prev, |b| b as u32);
        let waker = if may(waker) { waker } else { prev };
        if free(waker) && fits(waker) && self.near(waker, prev) && !t.is_new {
            return waker;
        }
        let all = || (0..self.cpus.len() as u32).filter(|c| free(*c));
        let key = |c: &u32| {
            let spec = &self.machine.cpus[*c as usize];
            // Where none fits, the largest is best; where several do, near ones are.
            let size = if fits(*c) { 0 } else { 2048 - spec.capacity };
            (size, !self.near(*c, prev), *c)
        };
        if let Some(best) = all().min_by_key(key) {
            return best;
        }
        let load = |c: u32| (self.cpus[c as usize].waiting(), c != prev, c);
        let candidates = if t.is_new { 0..self.cpus.len() as u32 } else { 0..0 };
        candidates.filter(|c| may(*c)).chain([prev, waker]).min_by_key(|c| load(*c)).unwrap_or(prev)
    }

    fn near(&self, a: u32, b: u32) -> bool {
        let cluster = |c: u32| self.machine.cpus[c as usize].cluster;
        cluster(a) == cluster(b)
    }

    /// Whether what the task uses is no more than four fifths of the CPU (`fits_capacity`).
    fn fits(&self, task: u32, c: u32) -> bool {
        let t = &self.tasks[task];
        let capacity = u64::from(self.machine.cpus[c as usize].capacity);
        !t.is_fair() || self.load.pelt.task_util(&t.pelt) * 1280 < capacity * 1024
    }

    /// A CPU that would have nothing to do takes a task that waits elsewhere, from the longest queue.
    pub(crate) fn pull(&mut self, c: usize) {
        let me = c as u32;
        let mut best: Option<(usize, u32)> = None;
        for (other, cpu) in self.cpus.iter().enumerate() {
            let waiting = cpu.fair.waiting();
            if other == c || waiting.is_empty() || best.is_some_and(|(n, _)| n >= waiting.len()) {
                continue;
            }
            if let Some(task) = waiting.iter().find(|t| self.tasks[**t].may_run_on(me)) {
                best = Some((waiting.len(), *task));
            }
        }
        if let Some((_, task)) = best {
            self.push_waiting(task, me, Some(c));
        }
    }

    /// At the tick of a busy CPU: a task that waits here while another CPU has nothing to do goes there; so does the
    /// one that runs if it is too large for this CPU and a larger one is free.
    pub(crate) fn balance(&mut self, c: usize) {
        let me = c as u32;
        // A domain of n CPUs is balanced every n ms.
        let every = (self.cpus.len() as u64 * 1_000_000).div_ceil(self.machine.grid.period_ns).max(1);
        if !self.cpus[c].ticks.is_multiple_of(every) {
            return;
        }
        let idle = |s: &Self, task: u32| {
            (0..s.cpus.len() as u32).find(|o| s.tasks[task].may_run_on(*o) && s.cpus[*o as usize].is_idle())
        };
        let movable = self.cpus[c].fair.waiting().iter().find_map(|t| idle(self, *t).map(|to| (*t, to)));
        if let Some((task, to)) = movable {
            self.push_waiting(task, to, Some(c));
            return;
        }
        let Some(task) = self.cpus[c].curr else { return };
        if self.fits(task, me) || self.cpus[c].need_resched {
            return;
        }
        let capacity = |o: u32| self.machine.cpus[o as usize].capacity;
        let larger = (0..self.cpus.len() as u32)
            .filter(|o| capacity(*o) * 1024 > capacity(me) * 1078)
            .filter(|o| self.tasks[task].may_run_on(*o) && self.cpus[*o as usize].is_idle())
            .max_by_key(|o| (capacity(*o), u32::MAX - *o));
        if let Some(to) = larger {
            self.push_running(c, task, to);
        }
    }
}
