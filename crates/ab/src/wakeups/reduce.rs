// SPDX-License-Identifier: GPL-2.0-only
use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{Counted, Event, EventKind, nth};

use super::waits::{Waits, Wakeups};

/// A CPU of which tracing hides more than one beginning in so many is left out. Fewer happen on a CPU that is complete but for
/// what some other task is switched from.
const HIDDEN_IN: u64 = 10;

/// From the scheduler's events to how long the tasks of one command waited.
pub(super) struct Reducer {
    /// Who starts the command; not counted itself.
    starter: i32,
    own: BTreeSet<i32>,
    tasks: BTreeMap<i32, Task>,
    cpus: BTreeMap<u32, OnCpu>,
}

#[derive(Default)]
struct Task {
    running: bool,
    /// Woken then, and not seen to run since.
    woken_ns: Option<u64>,
}

/// Of wakeups that ended in running on a CPU.
#[derive(Default)]
struct OnCpu {
    /// It was in its idle task.
    idle: Counted,
    /// It was at work.
    busy: Counted,
    seen: u64,
    /// The task stopped running there, and was not seen to begin.
    hidden: u64,
}

impl Reducer {
    pub(super) fn new(starter: i32) -> Self {
        Self { starter, own: BTreeSet::new(), tasks: BTreeMap::new(), cpus: BTreeMap::new() }
    }

    /// Events come in the order of time.
    pub(super) fn see(&mut self, event: &Event) {
        match event.kind {
            // Told by who started it: the starter, or a process of the command.
            EventKind::SchedWakeup { pid, new: true, .. }
                if event.pid == self.starter || self.own.contains(&event.pid) =>
            {
                self.own.insert(pid);
                self.tasks.insert(pid, Task { running: false, woken_ns: Some(event.ts_ns) });
            }
            EventKind::SchedWaking { pid, .. } if self.own.contains(&pid) => {
                let task = self.tasks.entry(pid).or_default();
                // One that is about to sleep, and is kept from it, never stops running.
                if !task.running {
                    task.woken_ns.get_or_insert(event.ts_ns);
                }
            }
            EventKind::SchedSwitch { prev_pid, next_pid, .. } => {
                self.ends(prev_pid, event.cpu);
                self.begins(next_pid, event, prev_pid == 0);
            }
            _ => {}
        }
    }

    fn ends(&mut self, pid: i32, cpu: u32) {
        let Some(task) = self.tasks.get_mut(&pid) else { return };
        if task.woken_ns.take().is_some() && !task.running {
            self.cpus.entry(cpu).or_default().hidden += 1;
        }
        task.running = false;
    }

    fn begins(&mut self, pid: i32, event: &Event, idle: bool) {
        let Some(task) = self.tasks.get_mut(&pid) else { return };
        task.running = true;
        let Some(woken) = task.woken_ns.take() else { return };
        let cpu = self.cpus.entry(event.cpu).or_default();
        let waited = u32::try_from(event.ts_ns.saturating_sub(woken)).unwrap_or(u32::MAX);
        cpu.seen += 1;
        if idle { cpu.idle.push(waited) } else { cpu.busy.push(waited) }
    }

    /// What it came to; what a trace's buffers tell beside it is left open.
    pub(super) fn done(self) -> Wakeups {
        let hidden = |c: &OnCpu| c.hidden * HIDDEN_IN > c.seen + c.hidden;
        let shown = || self.cpus.values().filter(|c| !hidden(c));
        let left_out = || self.cpus.iter().filter(|(_, c)| hidden(c));
        Wakeups {
            all: Waits::of(shown().flat_map(|c| [&c.idle, &c.busy])),
            idle: Waits::of(shown().map(|c| &c.idle)),
            hidden_cpus: left_out().map(|(cpu, _)| *cpu).collect(),
            hidden: left_out().map(|(_, c)| c.seen).sum::<u64>()
                + self.cpus.values().map(|c| c.hidden).sum::<u64>(),
            ..Wakeups::default()
        }
    }
}

impl Waits {
    fn of<'c>(parts: impl Iterator<Item = &'c Counted>) -> Self {
        let ranks = Counted::ranks(parts);
        let count: u64 = ranks.iter().map(|(_, times)| times).sum();
        let us = |ns: u32| f64::from(ns) / 1e3;
        let at = |share: u64| nth(&ranks, (count * share).div_ceil(100).saturating_sub(1)).map_or(0.0, us);
        let mut histogram = Vec::new();
        for (ns, times) in &ranks {
            // 0 below 1 us, 1 below 2 us, 2 below 4 us.
            let step = (u32::BITS - (ns / 1000).leading_zeros()) as usize;
            if histogram.len() <= step {
                histogram.resize(step + 1, 0);
            }
            if let Some(n) = histogram.get_mut(step) {
                *n += times;
            }
        }
        let max_us = ranks.last().map_or(0.0, |(ns, _)| us(*ns));
        Self { count, p50_us: at(50), p99_us: at(99), max_us, histogram }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTER: i32 = 10;

    /// An event of a CPU: who is current, what happens, us.
    fn event(us: u64, cpu: u32, pid: i32, kind: EventKind) -> Event {
        Event { ts_ns: us * 1000, cpu, pid, kind }
    }

    fn new(us: u64, by: i32, pid: i32) -> Event {
        event(us, 0, by, EventKind::SchedWakeup { pid, target_cpu: 0, new: true })
    }

    fn waking(us: u64, by: i32, pid: i32) -> Event {
        event(us, 1, by, EventKind::SchedWaking { pid, target_cpu: 0 })
    }

    fn switch(us: u64, cpu: u32, prev_pid: i32, next_pid: i32) -> Event {
        let kind =
            EventKind::SchedSwitch { prev_pid, prev_prio: 120, prev_state: 1, next_pid, next_prio: 120 };
        event(us, cpu, prev_pid, kind)
    }

    fn reduced(events: &[Event]) -> Wakeups {
        let mut r = Reducer::new(STARTER);
        events.iter().for_each(|e| r.see(e));
        r.done()
    }

    #[test]
    fn waits_are_told_apart_by_what_the_cpu_did() {
        let w = reduced(&[
            new(0, STARTER, 20),
            switch(3, 0, STARTER, 20),
            switch(10, 0, 20, 0),
            waking(100, 7, 20),
            switch(140, 0, 0, 20),
            switch(150, 0, 20, 8),
            waking(200, 7, 20),
            switch(205, 0, 8, 20),
        ]);
        assert_eq!((w.all.count, w.all.p50_us, w.all.max_us), (3, 5.0, 40.0));
        assert_eq!((w.idle.count, w.idle.p50_us, w.idle.p99_us), (1, 40.0, 40.0));
        assert_eq!(w.idle.histogram, [0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(w.all.histogram, [0, 0, 1, 1, 0, 0, 1]);
        assert_eq!((w.hidden, w.hidden_cpus.len()), (0, 0));
    }

    #[test]
    fn children_of_the_command_count_and_nobody_else() {
        let w = reduced(&[
            new(0, STARTER, 20),
            switch(1, 0, STARTER, 20),
            new(10, 20, 21),
            switch(12, 0, 20, 21),
            // Started by somebody else; woken by the command; the starter itself.
            new(20, 5, 22),
            switch(29, 0, 21, 22),
            waking(30, 20, 6),
            switch(39, 0, 22, 6),
            waking(40, 20, STARTER),
            switch(49, 0, 6, STARTER),
        ]);
        assert_eq!((w.all.count, w.all.max_us), (2, 2.0));
    }

    #[test]
    fn a_task_that_is_told_not_to_sleep_has_not_waited() {
        let w = reduced(&[
            new(0, STARTER, 20),
            switch(1, 0, STARTER, 20),
            waking(5, 7, 20),
            switch(400, 0, 20, 8),
            switch(500, 0, 8, 20),
        ]);
        assert_eq!((w.all.count, w.hidden), (1, 0));
        // Woken twice before it runs: it waits since the first.
        let w = reduced(&[new(0, STARTER, 20), waking(3, 7, 20), switch(9, 0, 0, 20)]);
        assert_eq!((w.idle.count, w.idle.max_us), (1, 9.0));
    }

    #[test]
    fn a_cpu_whose_idle_task_is_hidden_is_left_out_whole() {
        let mut events = vec![new(0, STARTER, 20), switch(1, 0, STARTER, 20), switch(2, 0, 20, 0)];
        for n in 1..50 {
            // On CPU 1 tasks are seen to end only, unless something else ran before them.
            events.push(waking(1000 * n, 7, 20));
            if n % 5 == 0 {
                events.push(switch(1000 * n + 700, 1, 8, 20));
            }
            events.push(switch(1000 * n + 900, 1, 20, 0));
        }
        let w = reduced(&events);
        assert_eq!(w.hidden_cpus, [1]);
        assert_eq!((w.all.count, w.hidden), (1, 49));
    }

    #[test]
    fn a_few_hidden_beginnings_are_counted_and_the_cpu_stays() {
        let mut events = vec![new(0, STARTER, 20), switch(1, 0, STARTER, 20), switch(2, 0, 20, 0)];
        for n in 1..50 {
            events.push(waking(1000 * n, 7, 20));
            if n % 25 != 0 {
                events.push(switch(1000 * n + 30, 0, 0, 20));
            }
            events.push(switch(1000 * n + 900, 0, 20, 0));
        }
        let w = reduced(&events);
        assert_eq!((w.hidden_cpus.len(), w.hidden, w.idle.count, w.idle.max_us), (0, 1, 48, 30.0));
    }

    #[test]
    fn nothing_seen_is_nothing_claimed() {
        let w = reduced(&[]);
        assert_eq!(w, Wakeups::default());
        assert!(super::super::METRICS.iter().all(|(_, value)| value(&w).is_none()));
    }
}
