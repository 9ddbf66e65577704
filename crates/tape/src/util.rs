// SPDX-License-Identifier: GPL-2.0-only
//! Utilisation of CPUs as their governors see it: the root run queue's average of fair tasks, and real-time tasks
//! beside it, on a clock that goes with the CPU's speed (`signal-behaviour.md` A6 to A8). Tasks that move take theirs
//! along.
//!
//! A CPU that a wakeup takes out of idling is busy from the wakeup on, as in the kernel, not from the switch.
//!
//! Time in interrupts is not distinguished, and tasks that ran before the recording contribute nothing.

use std::collections::BTreeMap;

use idlewise_platform::Platform;

use crate::pelt::Pelt;

/// Priorities below this are real-time or deadline tasks.
const FAIR_PRIO: i32 = 100;
const FULL: u64 = 1024;

/// The utilisation of all CPUs.
#[derive(Debug, Default)]
pub(crate) struct Utilisation {
    cpus: BTreeMap<u32, Queue>,
    /// Bits of `prev_state`, any of which means that a task will not run again.
    dead: u64,
    tasks: BTreeMap<i32, Task>,
}

/// A task that the scheduler has switched.
#[derive(Debug, Default)]
struct Task {
    cpu: u32,
    average: Pelt,
}

/// Who runs on a CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Running {
    #[default]
    Idle,
    Fair,
    RealTime,
}

/// One CPU's run queue.
#[derive(Debug)]
struct Queue {
    running: Running,
    fair: Pelt,
    real_time: Pelt,
    /// When a task was last woken here while the CPU was idle, ns.
    woken_ns: u64,
    /// Wall clock of the last update, ns.
    wall_ns: u64,
    /// The clock of the averages: slower than the wall's while a slow CPU runs, and set right when it idles.
    clock_ns: u64,
    /// Time that running slowly took from idling for good, ns.
    lost_ns: u64,
    capacity: u64,
    max_khz: u64,
    /// Speed against the highest clock, 1024 for full.
    speed: u64,
}

impl Queue {
    fn new(capacity: u32, max_khz: u64) -> Self {
        Self {
            running: Running::Idle,
            fair: Pelt::default(),
            real_time: Pelt::default(),
            woken_ns: 0,
            wall_ns: 0,
            clock_ns: 0,
            lost_ns: 0,
            capacity: u64::from(capacity).clamp(1, FULL),
            max_khz,
            speed: FULL,
        }
    }

    /// Ages the averages to `ts_ns`.
    fn update(&mut self, ts_ns: u64) {
        let since = ts_ns.saturating_sub(self.wall_ns);
        self.wall_ns = self.wall_ns.max(ts_ns);
        if self.running == Running::Idle {
            self.clock_ns = self.wall_ns;
        } else {
            // Both shifts lose their fractions, in this order.
            let scaled = |time: u64, by: u64| ((u128::from(time) * u128::from(by)) >> 10) as u64;
            self.clock_ns += scaled(scaled(since, self.capacity), self.speed);
        }
        let now = self.now();
        self.fair.update(now, self.running == Running::Fair);
        self.real_time.update(now, self.running == Running::RealTime);
    }

    fn now(&self) -> u64 {
        self.clock_ns.saturating_sub(self.lost_ns)
    }

    fn run(&mut self, running: Running) {
        if running == Running::Idle && self.running != Running::Idle {
            // What running slowly took from idling is given back, unless there was nothing to take.
            if self.fair.is_full() || self.real_time.is_full() {
                self.lost_ns += self.wall_ns.saturating_sub(self.clock_ns);
            }
            self.clock_ns = self.wall_ns;
        }
        self.running = running;
    }

    /// 0..=1024 of the CPU's own capacity.
    fn share(&self) -> u16 {
        let sum = u64::from(self.fair.util()) + u64::from(self.real_time.util());
        // Rounded up, so that the share times the capacity, rounded down, is the utilisation again.
        (sum * FULL).div_ceil(self.capacity).min(FULL) as u16
    }
}

impl Utilisation {
    /// `cpus` are their numbers and the highest clock that the recording shows of each, kHz; `dead` the bits of `prev_state` of
    /// a task that will not run again.
    pub(crate) fn new(machine: &Platform, cpus: impl Iterator<Item = (u32, u64)>, dead: u64) -> Self {
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
            let published =
                place.and_then(|p| p.power.as_ref()).and_then(|p| p.curve.last()).map_or(0, |r| r.khz);
            let recorded = if place.is_none() { of_all } else { fastest.get(&index).copied() };
            let recorded = recorded.unwrap_or(khz);
            (cpu, Queue::new(place.map_or(1024, |p| p.capacity), published.max(recorded)))
        };
        Self { cpus: all.iter().map(queue).collect(), dead, tasks: BTreeMap::new() }
    }

    /// Utilisation of `cpu` when it was last updated, 0..=1024 of its own capacity.
    pub(crate) fn of(&self, cpu: u32) -> u16 {
        self.cpus.get(&cpu).map_or(0, Queue::share)
    }

    /// Until `ts_ns` the CPU ran fair tasks or not; nothing tells which.
    pub(crate) fn spent(&mut self, cpu: u32, ts_ns: u64, busy: bool) {
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        queue.running = if busy { Running::Fair } else { Running::Idle };
        queue.update(ts_ns);
        queue.run(if busy { Running::Idle } else { Running::Fair });
    }

    /// `cpu` runs at `khz` from now on.
    pub(crate) fn frequency(&mut self, cpu: u32, ts_ns: u64, khz: u32) {
        let Some(queue) = self.cpus.get_mut(&cpu).filter(|q| q.max_khz > 0) else { return };
        queue.update(ts_ns);
        queue.speed = (u64::from(khz) * FULL / queue.max_khz).min(FULL);
    }

    /// The CPU is idle. Where a task's own events are missing, its switch away is too, and this shows that it happened.
    pub(crate) fn asleep(&mut self, cpu: u32, ts_ns: u64) {
        let Some(queue) = self.cpus.get_mut(&cpu).filter(|q| q.running != Running::Idle) else { return };
        queue.update(ts_ns);
        queue.run(Running::Idle);
    }

    /// A task was woken that is to run on `cpu`.
    pub(crate) fn woken(&mut self, cpu: u32, ts_ns: u64) {
        if let Some(queue) = self.cpus.get_mut(&cpu).filter(|q| q.running == Running::Idle) {
            queue.woken_ns = ts_ns;
        }
    }

    /// A task makes way for another.
    pub(crate) fn switch(&mut self, cpu: u32, ts_ns: u64, prev: (i32, u64), next: (i32, i32)) {
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        let (prev_pid, prev_state) = prev;
        let (next_pid, next_prio) = next;
        let ran_fair = queue.running == Running::Fair;
        // The kernel spares the clock's update at the switch that a wakeup asks for: idling ends, and the task runs, as of the
        // wakeup.
        let woken = prev_pid == 0 && queue.woken_ns > queue.wall_ns && queue.woken_ns <= ts_ns;
        let ts_ns = if woken { queue.woken_ns } else { ts_ns };
        queue.update(ts_ns);
        if prev_pid != 0 && ran_fair {
            let task = self.tasks.entry(prev_pid).or_insert_with(|| Task { cpu, ..Task::default() });
            task.average.update(queue.now(), true);
            if prev_state & self.dead != 0 {
                task.average.detach_from(&mut queue.fair);
                self.tasks.remove(&prev_pid);
            }
        }
        let running = match next_pid {
            0 => Running::Idle,
            _ if next_prio < FAIR_PRIO => Running::RealTime,
            _ => Running::Fair,
        };
        queue.run(running);
        if running == Running::Fair {
            self.move_to(next_pid, ts_ns, cpu);
            let now = self.cpus.get(&cpu).map_or(0, Queue::now);
            let task = self.tasks.entry(next_pid).or_insert_with(|| Task { cpu, ..Task::default() });
            task.average.update(now, false);
        }
    }

    /// A task that was known elsewhere belongs to `cpu` from now on.
    pub(crate) fn move_to(&mut self, pid: i32, ts_ns: u64, cpu: u32) {
        let Some(task) = self.tasks.get_mut(&pid).filter(|t| t.cpu != cpu) else { return };
        if let Some(from) = self.cpus.get_mut(&task.cpu) {
            from.update(ts_ns);
            task.average.update(from.now(), false);
            task.average.detach_from(&mut from.fair);
        }
        if let Some(to) = self.cpus.get_mut(&cpu) {
            to.update(ts_ns);
            task.average.attach_to(&mut to.fair);
        }
        task.cpu = cpu;
    }

    /// A new task starts with half of what is left of its CPU.
    pub(crate) fn forked(&mut self, pid: i32, ts_ns: u64, cpu: u32) {
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        queue.update(ts_ns);
        let mut task = Task { cpu, ..Task::default() };
        task.average.set((queue.capacity.saturating_sub(queue.fair.util().into()) / 2) as u16);
        task.average.attach_to(&mut queue.fair);
        self.tasks.insert(pid, task);
    }

    /// The kernel itself said what the run queue's average was.
    pub(crate) fn recorded(&mut self, cpu: u32, ts_ns: u64, util: u32) {
        let Some(queue) = self.cpus.get_mut(&cpu) else { return };
        queue.update(ts_ns);
        queue.fair.set(u16::try_from(util).unwrap_or(u16::MAX));
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
        Utilisation::new(&machine(capacity), [(0, khz), (1, khz)].into_iter(), 0x30)
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
        u.forked(7, MS, 0);
        assert_eq!(u.of(0), 512);
        u.forked(8, MS, 0);
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
        u.woken(0, 4 * MS);
        on(&mut u, 24 * MS, 7);
        off(&mut u, 38 * MS, 7);
        assert!((512..=530).contains(&u.of(0)), "34 ms, {}", u.of(0));
        // A wakeup of before the last switch to idling is an old one.
        let before = u.of(0);
        on(&mut u, 72 * MS, 7);
        assert!(u.of(0).abs_diff(before / 2) <= 10, "{before} {}", u.of(0));
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
