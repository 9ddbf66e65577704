// SPDX-License-Identifier: GPL-2.0-only
//! Real-time and deadline tasks: one that cannot run where it is goes to a CPU that does something less urgent.

use crate::state::Sim;
use idlewise_parts::watch::Watch;

impl<W: Watch> Sim<'_, W> {
    /// The highest rank that runs or waits on a CPU; 0 for fair tasks and for nothing.
    fn rank_of(&self, c: usize) -> u32 {
        let cpu = &self.cpus[c];
        cpu.first.iter().chain(&cpu.curr).map(|t| self.tasks[*t].rank()).max().unwrap_or(0)
    }

    /// Where `task` is most urgent by far: `prev` and `waker` before others, if it is more urgent anywhere.
    fn least_urgent(&self, task: u32, prev: u32, waker: u32) -> Option<u32> {
        let t = &self.tasks[task];
        let all = (0..self.cpus.len() as u32).filter(|c| t.may_run_on(*c));
        let key = |c: &u32| (self.rank_of(*c as usize), *c != prev, *c != waker, !self.near(*c, prev), *c);
        all.min_by_key(key).filter(|c| self.rank_of(*c as usize) < t.rank())
    }

    /// The CPU for a task that wakes up: where it ran last, unless something as urgent runs there.
    pub(super) fn place_first(&self, task: u32, prev: u32, by: Option<usize>) -> u32 {
        if self.rank_of(prev as usize) < self.tasks[task].rank() {
            return prev;
        }
        self.least_urgent(task, prev, by.map_or(prev, |b| b as u32)).unwrap_or(prev)
    }

    /// A CPU has chosen what it runs: tasks that wait go to CPUs that run something less urgent.
    pub(crate) fn push_first(&mut self, c: usize) {
        while let Some(task) = self.most_urgent(c, |_| true) {
            let Some(to) = self.least_urgent(task, c as u32, c as u32).filter(|to| *to as usize != c) else {
                return;
            };
            self.push_waiting(task, to, Some(c));
        }
    }

    /// A CPU is about to do something less urgent than before: more urgent tasks that wait elsewhere come here.
    pub(crate) fn pull_first(&mut self, c: usize) {
        let own = self.rank_of(c);
        let more = |s: &Self, t: u32| s.tasks[t].rank() > own && s.tasks[t].may_run_on(c as u32);
        let others = (0..self.cpus.len()).filter(|o| *o != c && !self.cpus[*o].first.is_empty());
        let best = others
            .filter_map(|o| self.most_urgent(o, |t| more(self, t)))
            .max_by_key(|t| (self.tasks[*t].rank(), u32::MAX - *t));
        if let Some(task) = best {
            self.push_waiting(task, c as u32, Some(c));
        }
    }

    fn most_urgent(&self, c: usize, may: impl Fn(u32) -> bool) -> Option<u32> {
        let waiting = self.cpus[c].first.iter().copied();
        waiting.filter(|t| may(*t)).max_by_key(|t| (self.tasks[*t].rank(), u32::MAX - *t))
    }
}
