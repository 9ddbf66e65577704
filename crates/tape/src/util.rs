// SPDX-License-Identifier: GPL-2.0-only
//! Utilisation of CPUs as their governors see it: PELT of their run queues (`idlewise-signal`), led by events that
//! show what the scheduler did and when (`signal-behaviour.md` A6 to A8).
//!
//! A CPU that a wakeup takes out of idling is busy from the wakeup on, as in the kernel, not from the switch.
//!
//! The averages of CPUs that idle are aged by others: at the scheduler's softirq, and where a CPU goes idle and it is time;
//! without events of softirqs at ticks, too.
//!
//! Time in interrupts is not distinguished, and tasks that ran before the recording contribute nothing.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::TickGrid;
use idlewise_platform::Platform;
use idlewise_signal::pelt::{Leave, Next, Pelt, Rq, Speed, Task, weight};

/// Priorities below this are real-time or deadline tasks.
const FAIR_PRIO: i32 = 100;
/// Priority of nice 0.
const NICE_0_PRIO: i32 = 120;
const FULL: u64 = 1024;
/// Bits of `prev_state`, any of which means that a task sleeps or ends; those above are of preemption and of modifiers.
const SLEEPS: u64 = 0xff;

/// CPUs that idle are aged together so often, ns (`signal-behaviour.md` A7).
const AGE_EVERY_NS: u64 = 32_000_000;

/// A CPU that idles for less than this on average does not age others when it goes idle, ns
/// (`sched_migration_cost_ns`).
const AGE_IDLE_NS: u64 = 500_000;
/// No CPU idles longer than this on average, as the kernel counts it, ns.
const AVG_IDLE_MAX_NS: u64 = 1_000_000;

/// Ways of the kernel that was recorded, and what its recording shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// How it keeps averages.
    pub(crate) pelt: Pelt,
    /// Bits of `prev_state`, any of which means that a task will not run again.
    pub(crate) dead: u64,
    pub(crate) ticks: TickGrid,
    /// Whether the recording has softirqs, those of the scheduler among them.
    pub(crate) shows_softirqs: bool,
    /// Whether it shows when a tick is stopped.
    pub(crate) shows_stops: bool,
}

/// The utilisation of all CPUs.
#[derive(Debug)]
pub(crate) struct Utilisation {
    rules: Rules,
    cpus: BTreeMap<u32, Queue>,
    /// All CPUs have the same capacity.
    alike: bool,
    tasks: BTreeMap<i32, Known>,
    /// Tasks that are not fair.
    others: BTreeSet<i32>,
    /// The tick at which CPUs that idle are aged next.
    next_age: u64,
    /// A tick was stopped that ran before: that is a reason for the scheduler's softirq, too.
    newly_stopped: bool,
    /// Why the last tick of a busy CPU may have asked a CPU that idles to look after all of them.
    asked: Option<Asked>,
}

/// Reasons for the scheduler's softirq on a CPU that idles.
#[derive(Clone, Copy, Debug)]
struct Asked {
    /// The tick that asked.
    tick: u64,
    /// It was time to age the averages.
    due: bool,
    /// A tick had been stopped that ran before.
    newly_stopped: bool,
    /// Idle CPUs may help: a task waited for another, or two CPUs of one cache were busy where all are of one size.
    helps: bool,
}

/// A fair task that the recording has shown.
#[derive(Clone, Copy, Debug)]
struct Known {
    cpu: u32,
    pelt: Task,
}

/// Who runs on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Running {
    #[default]
    Idle,
    Fair(i32),
    RealTime,
    Deadline,
}

/// One CPU's run queue.
#[derive(Debug)]
struct Queue {
    rq: Rq,
    running: Running,
    /// Where no switches are recorded, all that runs there.
    any: Task,
    /// When a task was woken here since the CPU is idle, ns.
    woken_ns: Option<u64>,
    /// The tick is stopped.
    stopped: bool,
    /// Whether it is or was when the CPU last idled, so that others age its averages; nothing until that was seen.
    sleeps: Option<bool>,
    /// Since when it idles, ns.
    idle_since_ns: Option<u64>,
    /// How long it idles, ns: an eighth of it is new.
    avg_idle_ns: u64,
    /// The highest clock, kHz; 0 where utilisation does not depend on the clock.
    max_khz: u64,
    /// The last-level cache, where the machine is known.
    cache: Option<(usize, usize)>,
}

impl Queue {
    fn new(capacity: u32, max_khz: u64, cache: Option<(usize, usize)>) -> Self {
        Self {
            rq: Rq::new(capacity),
            running: Running::Idle,
            any: Task::new(weight(Some(0)) as u32),
            woken_ns: None,
            stopped: false,
            sleeps: None,
            idle_since_ns: None,
            avg_idle_ns: AVG_IDLE_MAX_NS,
            max_khz,
            cache,
        }
    }

    fn sleeps(&self) -> bool {
        self.sleeps.unwrap_or(true)
    }

    /// 0..=1024 of the CPU's own capacity.
    fn share(&self, pelt: &Pelt) -> u16 {
        // Rounded up, so that the share times the capacity, rounded down, is the utilisation again.
        (pelt.busy(&self.rq) * FULL).div_ceil(u64::from(self.rq.speed().capacity)).min(FULL) as u16
    }
}

impl Utilisation {
    /// `cpus` are their numbers and the highest clock that the recording shows of each, kHz.
    pub(crate) fn new(machine: &Platform, cpus: impl Iterator<Item = (u32, u64)>, rules: Rules) -> Self {
        let all: Vec<(u32, u64)> = cpus.collect();
        // The CPUs of a cluster have the same highest clock, whether or not all of them reached it.
        let mut fastest: BTreeMap<Option<usize>, u64> = BTreeMap::new();
        for (cpu, khz) in &all {
            let khz_of = fastest.entry(machine.cluster_index_of(*cpu)).or_default();
            *khz_of = (*khz_of).max(*khz);
        }
        // A CPU that the machine lacks may be of any cluster.
        let of_all = fastest.values().max().copied();
        let queue = |&(cpu, khz): &(u32, u64)| {
            let index = machine.cluster_index_of(cpu);
            let place = index.and_then(|i| machine.clusters.get(i));
            let (capacity, cache) = (place.map_or(1024, |p| p.capacity), machine.cache_of(cpu));
            let clock = place.and_then(|p| p.clock.as_ref());
            if clock.is_some_and(|c| !c.invariant) {
                // Such a kernel counts time alone.
                return (cpu, Queue::new(capacity, 0, cache));
            }
            let curve = place.and_then(|p| p.power.as_ref()).and_then(|p| p.curve.last());
            let published = clock.and_then(|c| c.points.last()).map(|p| p.khz).or(curve.map(|r| r.khz));
            let recorded = if place.is_none() { of_all } else { fastest.get(&index).copied() };
            let recorded = recorded.unwrap_or(khz);
            (cpu, Queue::new(capacity, published.map_or(recorded, |khz| khz.max(recorded)), cache))
        };
        let cpus: BTreeMap<u32, Queue> = all.iter().map(queue).collect();
        let capacities: BTreeSet<u32> = cpus.values().map(|q| q.rq.speed().capacity).collect();
        Self {
            rules,
            cpus,
            alike: capacities.len() == 1,
            tasks: BTreeMap::new(),
            others: BTreeSet::new(),
            next_age: 0,
            newly_stopped: false,
            asked: None,
        }
    }

    /// Utilisation of `cpu` when it was last updated, 0..=1024 of its own capacity.
    pub(crate) fn of(&self, cpu: u32) -> u16 {
        self.cpus.get(&cpu).map_or(0, |queue| queue.share(&self.rules.pelt))
    }

    /// Until `ts_ns` the CPU ran fair tasks or not; nothing tells which.
    pub(crate) fn spent(&mut self, cpu: u32, ts_ns: u64, busy: bool) {
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        self.rules.pelt.pass(&mut queue.rq, ts_ns, 0, 0);
        if busy {
            self.rules.pelt.dequeue(&mut queue.rq, &mut queue.any, Leave::Sleeps);
            self.rules.pelt.switch(&mut queue.rq, Some(&mut queue.any), Next::Idle);
        } else {
            self.rules.pelt.enqueue(&mut queue.rq, &mut queue.any);
            self.rules.pelt.switch(&mut queue.rq, None, Next::Fair(&mut queue.any));
        }
    }

    /// `cpu` runs at `khz` from now on.
    pub(crate) fn frequency(&mut self, cpu: u32, ts_ns: u64, khz: u32) {
        // Drivers that do not know the clock say 0.
        let Some(queue) = self.cpus.get_mut(&cpu).filter(|q| q.max_khz > 0 && khz > 0) else { return };
        self.rules.pelt.pass(&mut queue.rq, ts_ns, 0, 0);
        let frequency = (u64::from(khz) * FULL / queue.max_khz).min(FULL) as u32;
        queue.rq.set_speed(Speed { frequency, ..queue.rq.speed() });
    }

    /// The tick of `cpu`.
    pub(crate) fn tick(&mut self, cpu: u32, ts_ns: u64) {
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        self.rules.pelt.pass(&mut queue.rq, ts_ns, 0, 0);
        let task = match queue.running {
            Running::Fair(pid) => self.tasks.get_mut(&pid).map(|t| &mut t.pelt),
            _ => None,
        };
        if queue.running != Running::Idle {
            queue.sleeps = Some(queue.sleeps() && !self.rules.shows_stops);
            self.rules.pelt.tick(&mut queue.rq, task);
            let not_fair = matches!(queue.running, Running::RealTime | Running::Deadline);
            let waits = queue.rq.runnable_tasks() + u32::from(not_fair) > 1;
            self.may_ask(cpu, ts_ns, waits);
        }
        if !self.rules.shows_softirqs {
            self.age_idle_if_due(ts_ns);
        }
    }

    /// The tick of `cpu` was stopped.
    pub(crate) fn tick_stopped(&mut self, cpu: u32) {
        if let Some(queue) = self.cpus.get_mut(&cpu) {
            queue.stopped = true;
            self.newly_stopped |= queue.sleeps.replace(true) != Some(true);
        }
    }

    /// The scheduler's softirq runs on `cpu`: for all that idle if its own tick is stopped, since another CPU asked for it then.
    pub(crate) fn balances(&mut self, cpu: u32, ts_ns: u64) {
        let stopped = |q: &Queue| q.stopped || !self.rules.shows_stops && q.running == Running::Idle;
        if self.cpus.get(&cpu).is_some_and(stopped) {
            let asked = self.asked.take().unwrap_or_else(|| self.reasons(cpu, ts_ns, false));
            self.newly_stopped &= !asked.newly_stopped;
            // A tick that was stopped is a reason only to work out when to balance next.
            if asked.due || asked.helps || !asked.newly_stopped {
                self.age_idle(ts_ns);
            }
        } else if let Some(queue) = self.cpus.get_mut(&cpu) {
            self.rules.pelt.pass(&mut queue.rq, ts_ns, 0, 0);
            self.rules.pelt.age(&mut queue.rq);
        }
    }

    fn reasons(&self, cpu: u32, ts_ns: u64, waits: bool) -> Asked {
        let tick = self.tick_number(ts_ns);
        let cache = self.cpus.get(&cpu).and_then(|q| q.cache);
        let two_busy = || self.cpus.values().filter(|q| q.cache == cache && !q.sleeps()).nth(1).is_some();
        let helps = waits || self.alike && two_busy();
        Asked { tick, due: tick >= self.next_age, newly_stopped: self.newly_stopped, helps }
    }

    /// At the tick of a busy CPU. What others ask for at the same tick counts, too.
    fn may_ask(&mut self, cpu: u32, ts_ns: u64, waits: bool) {
        let new = self.reasons(cpu, ts_ns, waits);
        match &mut self.asked {
            Some(asked) if asked.tick == new.tick => asked.helps |= new.helps,
            _ if new.due || new.newly_stopped || new.helps => self.asked = Some(new),
            _ => {}
        }
    }

    fn age_idle_if_due(&mut self, ts_ns: u64) {
        if self.tick_number(ts_ns) >= self.next_age {
            self.age_idle(ts_ns);
        }
    }

    fn tick_number(&self, ts_ns: u64) -> u64 {
        self.rules.ticks.after(ts_ns) / self.rules.ticks.period_ns
    }

    fn age_idle(&mut self, ts_ns: u64) {
        self.next_age =
            self.tick_number(ts_ns).saturating_add(AGE_EVERY_NS.div_ceil(self.rules.ticks.period_ns));
        let idles = |q: &&mut Queue| q.running == Running::Idle && q.woken_ns.is_none() && q.sleeps();
        for queue in self.cpus.values_mut().filter(idles) {
            self.rules.pelt.pass(&mut queue.rq, ts_ns, 0, 0);
            self.rules.pelt.age(&mut queue.rq);
        }
    }

    /// The CPU is idle. Where a task's own events are missing, its switch away is too, and this shows that it happened.
    pub(crate) fn asleep(&mut self, cpu: u32, ts_ns: u64) {
        let Some(queue) = self.cpus.get(&cpu) else { return };
        match queue.running {
            Running::Fair(pid) => self.switch(cpu, ts_ns, (pid, SLEEPS & !self.rules.dead), (0, NICE_0_PRIO)),
            Running::RealTime | Running::Deadline => self.switch(cpu, ts_ns, (-1, 0), (0, NICE_0_PRIO)),
            Running::Idle if queue.any.is_running() => self.spent(cpu, ts_ns, true),
            Running::Idle => {}
        }
    }

    /// A task was woken that is to run on `cpu`; `new` for the first time.
    pub(crate) fn woken(&mut self, pid: i32, ts_ns: u64, cpu: u32, new: bool) {
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        if queue.running == Running::Idle {
            queue.woken_ns = Some(ts_ns);
        }
        if new {
            self.tasks.remove(&pid);
            self.others.remove(&pid);
        }
        if self.others.contains(&pid) {
            return;
        }
        self.queue(pid, ts_ns, cpu, NICE_0_PRIO, new);
    }

    /// `pid` was taken for a fair task where only its wakeup was seen.
    fn is_not_fair(&mut self, pid: i32, ts_ns: u64) {
        self.others.insert(pid);
        let Some(mut task) = self.tasks.remove(&pid) else { return };
        let Some(queue) = self.cpus.get_mut(&task.cpu) else { return };
        self.rules.pelt.pass(&mut queue.rq, ts_ns, 0, 0);
        self.rules.pelt.dequeue(&mut queue.rq, &mut task.pelt, Leave::Migrates);
        self.rules.pelt.remove(&mut queue.rq, &mut task.pelt, ts_ns);
    }

    /// `pid` waits for `cpu` or runs on it, whether or not it did already.
    fn queue(&mut self, pid: i32, ts_ns: u64, cpu: u32, prio: i32, new: bool) {
        self.move_to(pid, ts_ns, cpu);
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        let nice = i8::try_from(prio - NICE_0_PRIO).ok();
        let task = self
            .tasks
            .entry(pid)
            .or_insert_with(|| Known { cpu, pelt: Task::new(weight(nice.or(Some(0))) as u32) });
        self.rules.pelt.pass(&mut queue.rq, ts_ns, 0, 0);
        if new {
            self.rules.pelt.start(&queue.rq, &mut task.pelt);
        }
        self.rules.pelt.enqueue(&mut queue.rq, &mut task.pelt);
    }

    /// A task makes way for another.
    pub(crate) fn switch(&mut self, cpu: u32, ts_ns: u64, prev: (i32, u64), next: (i32, i32)) {
        let (prev_pid, prev_state) = prev;
        let (next_pid, next_prio) = next;
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        // The kernel spares the clock's update at the switch that a wakeup asks for: idling ends, and the task runs, as of the
        // wakeup, or of what updated the clock since.
        let woken_ns = queue.woken_ns.take().filter(|_| prev_pid == 0);
        let ts_ns = woken_ns.map_or(ts_ns, |at_ns| at_ns.max(queue.rq.clock().wall_ns).min(ts_ns));
        // Of one whose switch away is missing, nothing more is known.
        let ran = match queue.running {
            Running::Fair(pid) => {
                Some((pid, if pid == prev_pid { prev_state } else { SLEEPS & !self.rules.dead }))
            }
            _ => None,
        };
        let next = match next_pid {
            0 => Running::Idle,
            _ if next_prio < 0 => Running::Deadline,
            _ if next_prio < FAIR_PRIO => Running::RealTime,
            pid => Running::Fair(pid),
        };
        match next {
            Running::Fair(_) if queue.running == next => return self.tick(cpu, ts_ns),
            Running::Fair(pid) => {
                self.others.remove(&pid);
                self.queue(pid, ts_ns, cpu, next_prio, false);
            }
            Running::RealTime | Running::Deadline => self.is_not_fair(next_pid, ts_ns),
            Running::Idle => {}
        }
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        let rq = &mut queue.rq;
        self.rules.pelt.pass(rq, ts_ns, 0, 0);
        let mut before = ran.and_then(|(pid, _)| self.tasks.remove(&pid));
        if let (Some(task), Some((_, state))) = (&mut before, ran)
            && state & SLEEPS != 0
        {
            self.rules.pelt.dequeue(rq, &mut task.pelt, Leave::Sleeps);
        }
        if next == Running::Idle {
            self.rules.pelt.age(rq);
        }
        let of = match next {
            Running::Idle => Next::Idle,
            Running::RealTime => Next::RealTime,
            Running::Deadline => Next::Deadline,
            Running::Fair(pid) => self.tasks.get_mut(&pid).map_or(Next::Idle, |t| Next::Fair(&mut t.pelt)),
        };
        self.rules.pelt.switch(rq, before.as_mut().map(|t| &mut t.pelt), of);
        queue.running = next;
        if let (Some(mut task), Some((pid, state))) = (before, ran) {
            if state & self.rules.dead == 0 {
                self.tasks.insert(pid, task);
            } else {
                self.rules.pelt.remove(rq, &mut task.pelt, ts_ns);
            }
        }
        if next != Running::Idle {
            queue.stopped = false;
            queue.sleeps = Some(queue.sleeps());
            if let Some(since_ns) = queue.idle_since_ns.take() {
                let idle_ns = i64::try_from(ts_ns.saturating_sub(since_ns)).unwrap_or(i64::MAX);
                let change = (idle_ns - queue.avg_idle_ns as i64) >> 3;
                queue.avg_idle_ns = queue.avg_idle_ns.saturating_add_signed(change).min(AVG_IDLE_MAX_NS);
            }
        } else {
            queue.idle_since_ns = Some(ts_ns);
            if queue.avg_idle_ns >= AGE_IDLE_NS {
                self.age_idle_if_due(ts_ns);
            }
        }
    }

    /// A task that was known elsewhere belongs to `cpu` from now on.
    pub(crate) fn move_to(&mut self, pid: i32, ts_ns: u64, cpu: u32) {
        let Some(task) = self.tasks.get_mut(&pid).filter(|t| t.cpu != cpu) else { return };
        let from = task.cpu;
        task.cpu = cpu;
        let was_queued = task.pelt.is_queued();
        if let Some(queue) = self.cpus.get_mut(&from) {
            if was_queued {
                self.rules.pelt.pass(&mut queue.rq, ts_ns, 0, 0);
                self.rules.pelt.dequeue(&mut queue.rq, &mut task.pelt, Leave::Migrates);
            }
            if queue.running == Running::Fair(pid) {
                self.rules.pelt.switch(&mut queue.rq, Some(&mut task.pelt), Next::Idle);
                queue.running = Running::Idle;
            }
            self.rules.pelt.remove(&mut queue.rq, &mut task.pelt, ts_ns);
        }
        if was_queued {
            self.queue(pid, ts_ns, cpu, NICE_0_PRIO, false);
        }
    }

    /// The kernel itself said what the run queue's average was.
    pub(crate) fn recorded(&mut self, cpu: u32, ts_ns: u64, util: u32) {
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        self.rules.pelt.pass(&mut queue.rq, ts_ns, 0, 0);
        self.rules.pelt.age(&mut queue.rq);
        self.rules.pelt.set_fair_util(&mut queue.rq, util);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const NORMAL: i32 = 120;

    fn machine(capacity: u32) -> Platform {
        let text = format!(
            "format = 1\nid = \"t\"\nname = \"T\"\nhz = 250\nhz_note = \"chosen\"\nsources = [\"made up\"]\n[[cluster]]\n\
             name = \"all\"\ncpus = \"0-1\"\ncapacity = {capacity}\nsource = \"made up\"\n[[cluster.state]]\n\
             name = \"WFI\"\ndesc = \"\"\nexit_latency_us = 1\nresidency_us = 1\npolling = false\n"
        );
        Platform::from_toml(&text, "t.toml").unwrap()
    }

    fn two_cpus(capacity: u32, khz: u64) -> Utilisation {
        let (pelt, ticks) = (Pelt::default(), TickGrid::from_hz(250));
        let rules = Rules { pelt, dead: 0x30, ticks, shows_softirqs: true, shows_stops: true };
        Utilisation::new(&machine(capacity), [(0, khz), (1, khz)].into_iter(), rules)
    }

    fn on(u: &mut Utilisation, ts_ns: u64, pid: i32) {
        u.switch(0, ts_ns, (0, 0), (pid, NORMAL));
    }

    fn off(u: &mut Utilisation, ts_ns: u64, pid: i32) {
        u.switch(0, ts_ns, (pid, 1), (0, NORMAL));
    }

    /// `signal-behaviour.md` A10: 1024 * (1 - 2^(-t/32)), a little more than 1 ms to the period.
    #[test]
    fn running_for_32_periods_makes_half() {
        let mut u = two_cpus(1024, 0);
        on(&mut u, 0, 7);
        off(&mut u, 34 * MS, 7);
        assert!((512..=530).contains(&u.of(0)), "{}", u.of(0));
        assert_eq!(u.of(1), 0);
    }

    #[test]
    fn a_slow_cpu_takes_longer_to_be_full_and_a_periodic_task_weighs_the_same_work() {
        let busy = |khz: u32, run_ms: u64| {
            let mut u = two_cpus(1024, 2_000_000);
            u.frequency(0, 0, khz);
            for k in 0..100 {
                on(&mut u, k * 16 * MS, 7);
                off(&mut u, (k * 16 + run_ms) * MS, 7);
            }
            u.of(0)
        };
        // Half the speed, twice the time: the same work, and the same utilisation but for the ripple.
        let (fast, slow) = (busy(2_000_000, 4), busy(1_000_000, 8));
        assert!(fast.abs_diff(slow) <= 24, "{fast} {slow}");
        assert!(busy(1_000_000, 4) < fast / 2 + 40);
    }

    /// `signal-behaviour.md` A6: a task that runs all the time at half speed, then idle: no jump.
    #[test]
    fn a_full_cpu_loses_nothing_when_it_goes_idle() {
        let mut u = two_cpus(1024, 2_000_000);
        u.frequency(0, 0, 1_000_000);
        on(&mut u, 0, 7);
        off(&mut u, 1_000 * MS, 7);
        assert!(u.of(0) >= 1020, "{}", u.of(0));
        on(&mut u, 1_000 * MS + 1_000, 7);
        assert!(u.of(0) >= 1020, "{}", u.of(0));
    }

    #[test]
    fn a_small_cpu_is_full_at_its_own_capacity() {
        let mut u = two_cpus(512, 0);
        on(&mut u, 0, 7);
        off(&mut u, 2_000 * MS, 7);
        assert_eq!(u.of(0), 1024, "a share of what it can do");
    }

    /// `signal-behaviour.md` A8: two CPUs, and a task that changes from one to the other.
    #[test]
    fn a_task_takes_its_utilisation_along() {
        let mut u = two_cpus(1024, 0);
        on(&mut u, 0, 7);
        off(&mut u, 100 * MS, 7);
        let before = u.of(0);
        u.move_to(7, 100 * MS, 1);
        // What a task that sleeps takes away is subtracted when its queue is updated, and added where it is woken.
        assert_eq!((u.of(0), u.of(1)), (before, 0));
        u.woken(7, 100 * MS, 1, false);
        u.woken(8, 100 * MS, 0, false);
        assert!(u.of(0) <= 1, "{}", u.of(0));
        assert!(u.of(1).abs_diff(before) <= 1, "{before} {}", u.of(1));
        // Without an event of the move, being switched in shows it.
        u.switch(0, 101 * MS, (0, 0), (7, NORMAL));
        assert_eq!(u.of(1), 0);
        assert!(u.of(0).abs_diff(before) <= 40, "{before} {}", u.of(0));
    }

    #[test]
    fn a_new_task_brings_half_of_what_is_left_and_a_dead_one_takes_its_own_away() {
        let mut u = two_cpus(1024, 0);
        u.woken(7, MS, 0, true);
        assert_eq!(u.of(0), 512);
        u.woken(8, MS, 0, true);
        assert_eq!(u.of(0), 768);
        u.switch(0, MS, (0, 0), (8, NORMAL));
        u.switch(0, MS, (8, 0x10), (0, NORMAL));
        assert_eq!(u.of(0), 512);
    }

    #[test]
    fn a_cpu_that_sleeps_does_not_run_whatever_switch_is_missing() {
        let mut u = two_cpus(1024, 0);
        on(&mut u, 0, 7);
        u.asleep(0, 34 * MS);
        let before = u.of(0);
        assert!((512..=530).contains(&before), "{before}");
        u.asleep(0, 50 * MS);
        assert_eq!(u.of(0), before, "nobody ages it while it sleeps");
        on(&mut u, 68 * MS, 7);
        assert!(u.of(0).abs_diff(before / 2) <= 10, "{before} {}", u.of(0));
    }

    #[test]
    fn a_task_that_ends_idling_runs_from_its_wakeup_on() {
        let mut u = two_cpus(1024, 0);
        u.woken(7, 4 * MS, 0, false);
        on(&mut u, 24 * MS, 7);
        off(&mut u, 38 * MS, 7);
        assert!((512..=530).contains(&u.of(0)), "34 ms, {}", u.of(0));
        // A wakeup of before the last switch to idling is an old one.
        let before = u.of(0);
        on(&mut u, 72 * MS, 7);
        assert!(u.of(0).abs_diff(before / 2) <= 10, "{before} {}", u.of(0));
    }

    #[test]
    fn cpus_that_idle_are_aged_by_others() {
        let busy = || {
            let mut u = two_cpus(1024, 0);
            on(&mut u, 0, 7);
            off(&mut u, 100 * MS, 7);
            u
        };
        let full = busy().of(0);
        // By its own balancing while its tick goes on.
        let mut u = busy();
        u.balances(0, 134 * MS);
        assert!(u.of(0).abs_diff(full / 2) <= 10, "{}", u.of(0));
        // By one whose tick is stopped, and which was asked to by a CPU at work.
        let mut u = busy();
        u.tick_stopped(1);
        u.balances(1, 134 * MS);
        assert!(u.of(0).abs_diff(full / 2) <= 10, "{}", u.of(0));
        // By a CPU that goes idle long after that was done last; not by one whose tasks come at once.
        let mut u = busy();
        for at in [101, 132] {
            u.switch(1, at * MS, (0, 0), (8, NORMAL));
            u.switch(1, at * MS + 1_000, (8, 1), (0, NORMAL));
            assert_eq!(u.of(0) == full, at == 101, "{at}: {}", u.of(0));
        }
        // Not while its tick is known to go on, nor with a task on its way.
        let mut u = busy();
        on(&mut u, 101 * MS, 7);
        u.tick(0, 102 * MS);
        off(&mut u, 102 * MS, 7);
        let before = u.of(0);
        u.tick_stopped(1);
        u.balances(1, 140 * MS);
        assert_eq!(u.of(0), before);
        u.tick_stopped(0);
        u.woken(9, 141 * MS, 0, false);
        let before = u.of(0);
        u.balances(1, 180 * MS);
        assert_eq!(u.of(0), before);
    }

    #[test]
    fn a_cpu_that_was_asked_at_a_tick_ages_for_what_held_then() {
        let asked = |waits: bool, late: bool| {
            let mut u = two_cpus(1024, 0);
            for at_ns in [0, 40 * MS] {
                on(&mut u, at_ns, 7);
                u.tick(0, at_ns + 4 * MS);
                off(&mut u, at_ns + 10 * MS, 7);
            }
            let full = u.of(0);
            u.tick_stopped(0);
            // CPU 1 is busy at one tick, and went idle before the other one has come; that it aged itself is not long ago.
            u.switch(1, 51 * MS, (0, 0), (8, NORMAL));
            if waits {
                u.woken(9, 51 * MS, 1, true);
            }
            u.tick(1, 52 * MS);
            if waits {
                u.switch(1, 52 * MS, (8, 1), (9, NORMAL));
                u.switch(1, 52 * MS, (9, 1), (0, NORMAL));
            } else {
                u.switch(1, 52 * MS, (8, 1), (0, NORMAL));
            }
            if late {
                u.tick_stopped(1);
            }
            u.balances(0, 54 * MS);
            u.of(0) < full
        };
        assert!(!asked(false, false), "only to work out when to balance next");
        assert!(!asked(false, true), "stopped before and after");
        assert!(asked(true, false), "to help: a task waits");
    }

    #[test]
    fn a_kernel_without_frequency_invariance_counts_time_alone() {
        let of = |invariant: bool| {
            let mut platform = machine(1024);
            let clock = "[cluster.clock]\ntransition_latency_us = 10\nfast_switch = true\npolicy = \"cpu\"\nsource = \"made up\"\n\
                         points = [{ khz = 1000000 }, { khz = 2000000 }]\n";
            let text = format!("{}{clock}invariant = {invariant}\n", platform.to_toml());
            platform = Platform::from_toml(&text, "t.toml").unwrap();
            let (pelt, ticks) = (Pelt::default(), TickGrid::from_hz(250));
            let rules = Rules { pelt, dead: 0x30, ticks, shows_softirqs: true, shows_stops: true };
            let mut u = Utilisation::new(&platform, [(0, 1_000_000), (1, 1_000_000)].into_iter(), rules);
            u.frequency(0, 0, 1_000_000);
            on(&mut u, 0, 7);
            off(&mut u, 34 * MS, 7);
            u.of(0)
        };
        assert!((512..=530).contains(&of(false)), "{}", of(false));
        // Half of it, and as long again to be idle in.
        let work = u32::from(of(true));
        assert!((205..=225).contains(&work), "at half its speed: {work}");
    }

    #[test]
    fn one_that_is_seen_to_be_a_real_time_task_takes_its_share_out() {
        let mut u = two_cpus(1024, 0);
        u.woken(9, MS, 0, true);
        assert_eq!(u.of(0), 512);
        u.switch(0, MS, (0, 0), (9, 50));
        assert_eq!(u.of(0), 0);
        u.switch(0, 2 * MS, (9, 1), (0, NORMAL));
        let before = u.of(0);
        u.woken(9, 3 * MS, 0, false);
        u.switch(0, 3 * MS, (0, 0), (9, 50));
        assert!(u.of(0) <= before, "{before} {}", u.of(0));
    }

    #[test]
    fn impossible_times_and_priorities_are_no_panic() {
        let mut u = two_cpus(1024, u64::MAX);
        for at in [0, 1 << 63, u64::MAX, 1, u64::MAX / 2] {
            for (prev, next) in [(0, 7), (7, 0), (0, -1), (-1, 8), (8, 8), (5, 0)] {
                for prio in [i32::MIN, -1, 99, 100, i32::MAX] {
                    u.woken(next, at, 1, prio < 0);
                    u.switch(0, at, (prev, u64::MAX), (next, prio));
                    u.switch(1, at, (next, 0), (next, prio));
                    u.frequency(0, at, u32::MAX);
                    u.recorded(0, at, u32::MAX);
                    u.move_to(next, at, 9);
                    u.tick(0, at);
                    u.balances(1, at);
                    u.spent(1, at, prio < 0);
                    u.asleep(0, at);
                }
            }
        }
        assert!(u.of(0) <= 1024 && u.of(1) <= 1024);
    }

    #[test]
    fn real_time_tasks_count_beside_the_others() {
        let mut u = two_cpus(1024, 0);
        u.switch(0, 0, (0, 0), (9, 50));
        u.switch(0, 34 * MS, (9, 1), (0, NORMAL));
        assert!((512..=530).contains(&u.of(0)), "{}", u.of(0));
        u.move_to(9, 34 * MS, 1);
        assert_eq!(u.of(1), 0, "its average belongs to the CPU, not to the task");
    }

    #[test]
    fn what_the_kernel_recorded_is_taken_and_decays() {
        let mut u = two_cpus(1024, 0);
        u.recorded(0, 5 * MS, 800);
        assert_eq!(u.of(0), 800);
        on(&mut u, 39 * MS, 7);
        assert!((380..=420).contains(&u.of(0)), "{}", u.of(0));
    }
}
