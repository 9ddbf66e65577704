// SPDX-License-Identifier: GPL-2.0-only
//! Balancing: a CPU takes tasks from busier ones of its cluster, then of the machine (`signal-behaviour.md` D4).

use super::imbalance::{Amount, Between, Group, amount};
use super::util::{Fit, is_greater};
use crate::state::Sim;
use crate::state::placer::AVG_IDLE_MAX_NS;
use idlewise_parts::watch::{SimEvent, Watch};

/// How many times longer busy CPUs wait (`busy_factor`).
const BUSY_FACTOR: u64 = 16;

/// Most tasks that are looked at in one go (`sched_nr_migrate`).
const LOOK_MAX: usize = 32;

/// Why a CPU balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    RunsDry,
    Idle,
    Busy,
}

impl<W: Watch> Sim<'_, W> {
    /// The scheduler's part of the tick is over, on a busy CPU or an idle one.
    pub(crate) fn spread(&mut self, c: usize) {
        self.mark(c);
        if self.tick_number() >= self.next_balance(c) {
            self.watch.seen(self.now_ns, c as u32, SimEvent::Balances);
            self.age(c, c);
            self.rebalance(c, c);
        }
        self.kick_idle(c);
    }

    /// A fair task was queued: the CPU may have too much to do by that. What is expected of a new task is no reason.
    pub(crate) fn was_queued(&mut self, c: usize, is_new: bool) {
        let cpu = &self.cpus[c];
        self.placer.overloaded |= cpu.waiting() + usize::from(cpu.curr.is_some()) > 1;
        self.placer.overutilized |= !is_new && self.is_overutilized(c);
    }

    pub(super) fn is_overutilized(&self, c: usize) -> bool {
        let view = self.view();
        !self.placer.models.is_empty() && view.fit(view.util_now(c), view.clamps_of(c), c) == Fit::No
    }

    /// Notes whether the CPU has too much to do, and whether what it runs is too large for it.
    fn mark(&mut self, c: usize) {
        self.placer.overutilized |= self.cpus[c].curr.is_some() && self.is_overutilized(c);
        self.mark_misfit(c);
    }

    /// Notes whether what the CPU runs is too large for it.
    pub(crate) fn mark_misfit(&mut self, c: usize) {
        if !self.placer.asymmetric {
            return;
        }
        let capacity = |c: usize| self.machine.cpus[c].capacity;
        let larger = |t: u32| {
            (0..self.cpus.len()).any(|o| capacity(o) > capacity(c) && self.tasks[t].may_run_on(o as u32))
        };
        let too_large =
            |t: &u32| self.tasks[*t].is_fair() && self.view().task_fit(*t, c) != Fit::Yes && larger(*t);
        let misfit = self.cpus[c].curr.filter(too_large).map_or(0, |t| self.tasks[t].pelt.avg().load.max(1));
        self.placer.cpus[c].misfit = misfit;
        self.placer.overloaded |= misfit > 0;
    }

    /// The task that runs on `c` may have been asked to go: where to.
    pub(crate) fn take_push(&mut self, c: usize) -> Option<(u32, u32)> {
        let (task, to) = self.placer.cpus[c].push.take()?;
        let t = &self.tasks[task];
        let runs = self.cpus[c].curr == Some(task) && t.state == crate::state::task::State::Running;
        (runs && t.is_fair() && t.may_run_on(to)).then_some((task, to))
    }

    /// A CPU that would have nothing to do takes a task from another, if it will not be woken up soon anyway.
    pub(crate) fn runs_dry(&mut self, c: usize) {
        let cost_ns = self.machine.placing.newidle_cost_ns;
        self.placer.cpus[c].idle_since_ns = Some(self.now_ns);
        let avg_idle_ns = self.placer.cpus[c].avg_idle_ns;
        if self.placer.overloaded {
            for (level, looks) in [(0, 1), (1, 2)] {
                if avg_idle_ns < cost_ns * looks {
                    break;
                }
                if self.has_level(c, level) && self.even_out(c, level, Why::RunsDry, c) {
                    self.placer.cpus[c].idle_since_ns = None;
                    return;
                }
            }
        }
        self.goes_idle(c, avg_idle_ns);
    }

    /// A CPU has something to do again.
    pub(crate) fn is_busy_again(&mut self, c: usize) {
        let p = &mut self.placer.cpus[c];
        if let Some(since_ns) = p.idle_since_ns.take() {
            let ns = self.now_ns - since_ns;
            // An eighth of what is new, rounded down as a shift does.
            let change = (ns as i64 - p.avg_idle_ns as i64) >> 3;
            p.avg_idle_ns = p.avg_idle_ns.saturating_add_signed(change).min(AVG_IDLE_MAX_NS);
        }
    }

    fn has_level(&self, c: usize, level: usize) -> bool {
        let own = self.placer.clusters[self.machine.cpus[c].cache].len();
        if level == 0 { own > 1 } else { own < self.cpus.len() }
    }

    /// Ticks from one time to the next.
    fn ticks_between(&self, c: usize, level: usize) -> u64 {
        let busy = !self.is_free(c as u32);
        let ms = self.placer.cpus[c].levels[level].wait_ms * if busy { BUSY_FACTOR } else { 1 };
        let period_ns = self.machine.grid.period_ns.max(1);
        let ticks = (ms * 1_000_000).div_ceil(period_ns) - u64::from(busy);
        // A tenth of a second for each CPU.
        ticks.clamp(1, (self.cpus.len() as u64 * 100_000_000 / period_ns).max(1))
    }

    /// The tick at which the CPU looks again.
    pub(super) fn next_balance(&self, c: usize) -> u64 {
        let next = |level: usize| self.placer.cpus[c].levels[level].last + self.ticks_between(c, level);
        (0..2).filter(|level| self.has_level(c, *level)).map(next).min().unwrap_or(u64::MAX)
    }

    /// Balances the domains of `c` whose time has come; `by` does it.
    pub(super) fn rebalance(&mut self, c: usize, by: usize) {
        let tick = self.tick_number();
        for level in 0..2 {
            if !self.has_level(c, level)
                || tick < self.placer.cpus[c].levels[level].last + self.ticks_between(c, level)
            {
                continue;
            }
            if level == 0 || !self.has_level(c, 0) {
                self.set_scan(self.machine.cpus[c].cache);
            }
            let why = if self.cpus[c].is_idle() { Why::Idle } else { Why::Busy };
            self.even_out(c, level, why, by);
            self.placer.cpus[c].levels[level].last = tick;
        }
    }

    /// Of a group, the first idle CPU balances for all, or the first.
    fn balances(&self, c: usize, level: usize) -> bool {
        let cpus = &self.placer.clusters[self.machine.cpus[c].cache];
        let first = cpus.iter().find(|o| self.cpus[**o].is_idle()).or(cpus.first());
        level == 0 || first == Some(&c)
    }

    /// Moves what has to move to `c` within a domain; gives whether tasks came.
    fn even_out(&mut self, c: usize, level: usize, why: Why, by: usize) -> bool {
        if why != Why::RunsDry && !self.balances(c, level) {
            return false;
        }
        let Some((source, what)) = self.busiest(c, level, why) else {
            let l = &mut self.placer.cpus[c].levels[level];
            l.failed = 0;
            if why != Why::RunsDry {
                l.wait_ms = (l.wait_ms * 2).min(2 * l.least_ms);
            }
            return false;
        };
        let came = self.take_from(source, c, level, what, why, by);
        let goes = !came && what == Amount::Misfit && self.ask_for_misfit(source, c, by);
        let l = &mut self.placer.cpus[c].levels[level];
        if came || goes {
            l.failed = 0;
            l.wait_ms = l.least_ms;
        } else if why != Why::RunsDry {
            l.failed = (l.failed + 1).min(16);
            l.wait_ms = (l.wait_ms * 2).min(2 * l.least_ms);
        }
        came
    }

    fn group(&self, cpus: &[usize], asymmetric: bool) -> Group {
        let view = self.view();
        let mut g = Group { cpus: cpus.len() as u64, least_room: u64::MAX, ..Group::default() };
        for &c in cpus {
            let cpu = &self.cpus[c];
            let curr_is_fair = cpu.curr.is_some_and(|t| self.tasks[t].is_fair());
            let room = view.room(c);
            g.idle += u64::from(cpu.is_idle());
            g.tasks += (cpu.waiting() + usize::from(cpu.curr.is_some())) as u64;
            g.fair += (cpu.fair.waiting().len() + usize::from(curr_is_fair)) as u64;
            g.load += cpu.pelt.fair().load;
            g.util += view.util_now(c);
            g.runnable += cpu.pelt.fair().runnable;
            g.room += room;
            g.most_room = g.most_room.max(room);
            g.least_room = g.least_room.min(room);
            if asymmetric {
                g.misfit = g.misfit.max(self.placer.cpus[c].misfit);
            }
        }
        g
    }

    /// The CPU to take from, and how much.
    fn busiest(&mut self, c: usize, level: usize, why: Why) -> Option<(usize, Amount)> {
        let own = self.machine.cpus[c].cache;
        let how = Between {
            idle: why != Why::Busy,
            room: self.view().room(c),
            shares_cache: level == 0,
            spreads: level == 1 && !self.placer.asymmetric,
            asymmetric: level == 1 && self.placer.asymmetric,
        };
        let group = |s: &Self, g: usize| {
            if level == 0 {
                s.group(&s.placer.clusters[own][g..=g], false)
            } else {
                s.group(&s.placer.clusters[g], how.asymmetric)
            }
        };
        let (groups, mine) = if level == 0 {
            let cpus = &self.placer.clusters[own];
            (cpus.len(), cpus.iter().position(|o| *o == c)?)
        } else {
            (self.placer.clusters.len(), own)
        };
        let local = group(self, mine);
        let mut all = (local.load, local.room);
        let mut best: Option<(usize, Group)> = None;
        for g in (0..groups).filter(|g| *g != mine) {
            let other = group(self, g);
            all = (all.0 + other.load, all.1 + other.room);
            if other.is_busier(best.as_ref().map(|(_, b)| b), &local, &how) {
                best = Some((g, other));
            }
        }
        if level == 1 || self.placer.clusters[own].len() == self.cpus.len() {
            self.look_over();
        }
        let (g, busiest) = best?;
        let what = amount(&local, &busiest, all, &how, self.placer.minds_energy())?;
        let clusters = &self.placer.clusters;
        let cpus = if level == 0 { &clusters[own][g..=g] } else { &clusters[g] };
        self.busiest_cpu(cpus, c, what, &how).map(|source| (source, what))
    }

    /// All CPUs are looked at: what is noted of the machine is noted anew.
    fn look_over(&mut self) {
        let over = (0..self.cpus.len()).any(|c| self.is_overutilized(c));
        self.placer.overutilized = over;
        let more = |c: usize| self.cpus[c].waiting() > 0 && !self.is_free(c as u32);
        let overloaded = (0..self.cpus.len()).any(|c| more(c) || self.placer.cpus[c].misfit > 0);
        self.placer.overloaded = overloaded;
    }

    fn busiest_cpu(&self, cpus: &[usize], to: usize, what: Amount, how: &Between) -> Option<usize> {
        let view = self.view();
        let key = |c: usize| {
            let cpu = &self.cpus[c];
            let fair = cpu.fair.waiting().len() as u64
                + u64::from(cpu.curr.is_some_and(|t| self.tasks[t].is_fair()));
            let room = view.room(c);
            if fair == 0 || (how.asymmetric && fair == 1 && !is_greater(how.room, room)) {
                return 0;
            }
            match what {
                Amount::Load(most) if fair == 1 && cpu.pelt.fair().load > most => 0,
                Amount::Load(_) => cpu.pelt.fair().load * 1024 / room,
                Amount::Util(_) if fair == 1 => 0,
                Amount::Util(_) => view.util_now(c).max(1),
                Amount::Tasks(_) => fair,
                Amount::Misfit => self.placer.cpus[c].misfit,
            }
        };
        let all = cpus.iter().copied().filter(|c| *c != to && key(*c) > 0);
        all.max_by_key(|c| (key(*c), usize::MAX - *c))
    }

    /// Tasks that wait on `source` go to `c` until it is enough.
    fn take_from(
        &mut self,
        source: usize,
        c: usize,
        level: usize,
        what: Amount,
        why: Why,
        by: usize,
    ) -> bool {
        let failed = self.placer.cpus[c].levels[level].failed;
        let mut left = match what {
            Amount::Load(n) | Amount::Util(n) | Amount::Tasks(n) => n,
            Amount::Misfit => 1,
        };
        let (mut at, mut looks, mut came) = (0, 0, false);
        while let Some(&task) = self.cpus[source].fair.waiting().get(at) {
            looks += 1;
            let cost = match what {
                Amount::Load(_) => self.tasks[task].pelt.avg().load.max(1),
                Amount::Util(_) => self.view().task_util(task),
                Amount::Tasks(_) => 1,
                Amount::Misfit if self.view().task_fit(task, source) == Fit::Yes => u64::MAX,
                Amount::Misfit => 1,
            };
            if !self.tasks[task].may_run_on(c as u32) || cost >> failed > left {
                at += 1;
            } else {
                self.push_waiting(task, c as u32, Some(by));
                came = true;
                left = left.saturating_sub(cost);
                // The list has closed up: another task is at this place now.
            }
            if left == 0 || looks >= LOOK_MAX || (came && why == Why::RunsDry) {
                break;
            }
        }
        came
    }

    /// The task that runs on `source` and does not fit shall go to `c` (active migration).
    fn ask_for_misfit(&mut self, source: usize, c: usize, by: usize) -> bool {
        let Some(task) = self.cpus[source].curr else { return false };
        let t = &self.tasks[task];
        let moves = t.is_fair()
            && t.may_run_on(c as u32)
            && self.placer.cpus[source].misfit > 0
            && self.placer.cpus[source].push.is_none();
        if moves {
            self.placer.cpus[source].push = Some((task, c as u32));
            self.resched(source, Some(by));
        }
        moves
    }
}
