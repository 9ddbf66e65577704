// SPDX-License-Identifier: GPL-2.0-only
//! What is seen around a wake: interrupts, handlers, other CPUs.

use idlewise_model::{Event, EventKind, Ipi, Vector, WakeCause};

use super::Maker;
use super::cpu::Stay;
use crate::armed::Fired;
use crate::causes::Evidence;
use crate::irq_class::IrqClass;
use crate::leaving::LATE_NS;
use crate::rcu_softirq::RCU_SOFTIRQ;

/// The softirq that runs wheel timers.
const TIMER_SOFTIRQ: u32 = 1;
const SCHED_SOFTIRQ: u32 = 7;
/// So many tasks that are woken for a CPU in one stay are remembered.
const MOST_WAKINGS: usize = 16;

impl Maker<'_> {
    /// An interrupt or softirq begins or ends.
    pub(super) fn interrupt(&mut self, e: &Event) {
        if let EventKind::VectorEntry { .. } | EventKind::IrqEntry { .. } | EventKind::SoftirqEntry { .. } =
            e.kind
        {
            self.handler_begins(e);
        }
        match e.kind {
            EventKind::SoftirqEntry { vec } => {
                if vec == SCHED_SOFTIRQ {
                    self.util.balances(e.cpu, self.standstill.running_ns(e.ts_ns));
                }
                let runs_wheel = vec == TIMER_SOFTIRQ && self.facts.wheel_timers == 0;
                if runs_wheel {
                    self.see(e, |seen, ts| seen.timer(Fired::Wheel, ts));
                } else {
                    self.see(e, |_, _| ());
                }
            }
            EventKind::SoftirqRaise { vec: RCU_SOFTIRQ } => {
                let grid = self.facts.grid(e.cpu);
                self.cpu(e.cpu).rcu_asks(e.ts_ns, grid);
            }
            EventKind::VectorEntry { vector } => {
                let cause = match vector {
                    Vector::LocalTimer => WakeCause::Timer,
                    Vector::Other => WakeCause::Irq,
                    _ => WakeCause::Ipi,
                };
                self.interrupted(e, cause);
            }
            EventKind::IrqEntry { irq } => {
                let cause = match self.facts.irqs.get(&irq) {
                    Some(IrqClass::Timer) => WakeCause::Timer,
                    Some(IrqClass::Ipi) => WakeCause::Ipi,
                    _ => WakeCause::Irq,
                };
                self.interrupted(e, cause);
            }
            EventKind::IpiEntry { ipi } => {
                let broadcast = ipi == Ipi::TimerBroadcast;
                let cause = if broadcast { WakeCause::Timer } else { WakeCause::Ipi };
                self.interrupted(e, cause);
            }
            EventKind::VectorExit { .. }
            | EventKind::IrqExit { .. }
            | EventKind::IpiExit { .. }
            | EventKind::SoftirqExit { .. } => self.handled(e),
            _ => {}
        }
    }

    pub(super) fn fired(&mut self, e: &Event, fired: Fired) {
        self.see(e, |seen, ts| seen.timer(fired, ts));
        if let Fired::Tick(_) = fired {
            let running_ns = self.standstill.running_ns(e.ts_ns);
            self.util.tick(e.cpu, running_ns);
            let grid = self.facts.grid(e.cpu);
            let c = self.cpu(e.cpu);
            // A stopped tick's timer fires, too, but not twice within two periods.
            c.off_since_task &= e.ts_ns.saturating_sub(c.ticked_ns) > grid.period_ns * 3 / 2;
            c.ticked_ns = e.ts_ns;
        }
    }

    /// The timers of `cpu` are looked after, and what fires then is not recorded.
    pub(super) fn timers_due(&mut self, cpu: u32, ts_ns: u64) {
        for fired in self.armed.due(cpu, ts_ns) {
            if let Some(stay) = self.cpu(cpu).stay.as_mut() {
                stay.seen.timer(fired, ts_ns);
            }
        }
    }

    /// Notes something that was seen while the CPU is idle or just woken.
    pub(super) fn see(&mut self, e: &Event, note: impl FnOnce(&mut Evidence, u64)) {
        if let Some(stay) = self.cpu(e.cpu).stay.as_mut() {
            note(&mut stay.seen, e.ts_ns);
            stay.seen.handled(e.ts_ns);
        }
    }

    pub(super) fn handled(&mut self, e: &Event) {
        let cpu = self.cpu(e.cpu);
        if cpu.in_visit || cpu.stay.is_some() {
            cpu.now_ns = Some(e.ts_ns);
        }
        if let Some(stay) = cpu.stay.as_mut() {
            stay.seen.handled(e.ts_ns);
            stay.seen.in_handler = false;
        }
    }

    /// Handlers long after those of the wake: the governor may have been notified of the stay in between.
    fn handler_begins(&mut self, e: &Event) {
        let Some(stay) = self.cpu(e.cpu).stay.as_mut() else { return };
        if let Some(exit_ns) = stay.exit_ns
            && stay.seen.first.is_some()
            && !stay.seen.in_handler
            && stay.before_late.is_none()
            && e.ts_ns.saturating_sub(exit_ns.max(stay.seen.handled_ns)) > LATE_NS
        {
            stay.before_late = Some(stay.seen);
        }
        stay.seen.in_handler = true;
    }

    /// The tick's timer is armed. Outside of handlers only the idle loop does so: before a stay, or after the governor
    /// was notified of it.
    pub(super) fn tick_armed(&mut self, cpu: u32, ts_ns: u64) {
        let off = self.armed.tick_off(cpu) != Some(false);
        let ran_on = self.facts.ran_on.contains(&(cpu, ts_ns));
        let c = self.cpu(cpu);
        c.off_since_task &= off;
        let stopped = c.stopped;
        let Some(stay) = c.stay.as_mut().filter(|s| s.exit_ns.is_some()) else { return };
        if stay.seen.in_handler {
            return;
        }
        if stay.told.is_none() && stay.seen.first.is_some() {
            stay.told = Some(stay.seen);
        }
        if stopped && ran_on {
            self.begins_again(cpu, ts_ns);
        }
    }

    /// The tick goes on: the idle loop was left, for a task or, without a switch, to begin again.
    pub(super) fn begins_again(&mut self, cpu: u32, ts_ns: u64) {
        self.visit_over(cpu, ts_ns);
        let c = self.cpu(cpu);
        (c.in_visit, c.first_of_visit, c.stopped_before) = (true, true, false);
    }

    /// The CPU switches to a task. If the last handlers ended so shortly before that the governor cannot have been notified of the
    /// stay in between, it was notified before them.
    pub(super) fn told_before_late(&mut self, cpu: u32, switch_ns: u64) {
        let Some(least_ns) = self.facts.leaving_ns else { return };
        let Some(stay) = self.cpu(cpu).stay.as_mut() else { return };
        if stay.told.is_none() && switch_ns.saturating_sub(stay.seen.handled_ns) < least_ns {
            stay.told = stay.before_late;
        }
    }

    pub(super) fn remote_wake(&mut self, cpu: u32) {
        if let Some(stay) = self.open(cpu) {
            stay.seen.remote_wake = true;
        }
    }

    /// The stay of `cpu` that has not ended.
    fn open(&mut self, cpu: u32) -> Option<&mut Stay> {
        self.cpu(cpu).stay.as_mut().filter(|s| s.exit_ns.is_none())
    }

    /// The uninterruptible sleep of `pid` is over: it is woken, what it waited for is recorded, or it runs.
    pub(super) fn waits_no_more(&mut self, pid: i32) {
        if let Some(cpu) = self.uninterruptible.remove(&pid) {
            let waiting = &mut self.cpu(cpu).iowait;
            *waiting = waiting.saturating_sub(1);
        }
    }

    /// A task is about to be woken: on the CPU where it ran last, unless another one is chosen.
    pub(super) fn waking(&mut self, e: &Event, pid: i32, target_cpu: u32) {
        self.waits_no_more(pid);
        self.wakes_on(e, pid, target_cpu);
        self.woken_on.insert(pid, (target_cpu, e.ts_ns));
    }

    /// A task that is woken is there.
    pub(super) fn woken(&mut self, e: &Event, pid: i32, target_cpu: u32) {
        self.waits_no_more(pid);
        self.chosen_for(e, pid, target_cpu);
        self.woken_on.remove(&pid);
    }

    /// A task that is about to be woken goes to `cpu`: the one where it ran last is not woken for it.
    pub(super) fn chosen_for(&mut self, e: &Event, pid: i32, cpu: u32) {
        let Some(&(last, at_ns)) = self.woken_on.get(&pid) else {
            return self.wakes_on(e, pid, cpu);
        };
        if last == cpu {
            return;
        }
        if let Some(stay) = self.open(last) {
            stay.wakings.retain(|(task, _)| *task != pid);
        }
        let sent = self.facts.ipis_sent > 0;
        let sent_ns = &mut self.cpu(last).sent_ns;
        *sent_ns = sent_ns.filter(|ns| *ns != at_ns || sent);
        self.wakes_on(e, pid, cpu);
        self.woken_on.insert(pid, (cpu, e.ts_ns));
    }

    fn wakes_on(&mut self, e: &Event, pid: i32, cpu: u32) {
        if e.cpu != cpu
            && let Some(stay) = self.open(cpu).filter(|stay| stay.wakings.len() < MOST_WAKINGS)
        {
            stay.wakings.push((pid, e.ts_ns));
        }
        // A wakeup that has only begun shows that an interrupt may follow, now or after the entry.
        if self.facts.ipis_sent == 0 && !matches!(e.kind, EventKind::SchedWakeup { .. }) {
            self.sent(e, cpu);
        }
    }

    fn interrupted(&mut self, e: &Event, cause: WakeCause) {
        if cause == WakeCause::Ipi {
            self.cpu(e.cpu).sent_ns = None;
        }
        self.see(e, |seen, ts| seen.interrupt(cause, ts));
        if cause == WakeCause::Timer && self.facts.expiries == 0 {
            self.timers_due(e.cpu, e.ts_ns);
        }
    }

    /// Another CPU sends this one an interrupt, or is about to.
    pub(super) fn sent(&mut self, e: &Event, cpu: u32) {
        if e.cpu != cpu {
            self.cpu(cpu).sent_ns = Some(e.ts_ns);
            let interrupt =
                !matches!(e.kind, EventKind::SchedWaking { .. } | EventKind::SchedMigrateTask { .. });
            if let Some(stay) = self.open(cpu).filter(|_| interrupt) {
                stay.called_ns.get_or_insert(e.ts_ns);
            }
        }
    }
}
