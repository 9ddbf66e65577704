// SPDX-License-Identifier: GPL-2.0-only
//! What holds for all of a trace: what the survey found out, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{Confidence, CpuMask, Span, TickGrid};

use crate::irq_class::IrqClass;
use crate::kernel::Kernel;
use crate::offset::Offsets;
use crate::unseen::Unseen;

/// Above this an hrtimer's expiry is on `CLOCK_REALTIME`, ns: 2001-09-09, long before any recording.
const REALTIME_NS: i64 = 1_000_000_000_000_000_000;

/// What the tick's timers show of one CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct TicksSeen {
    /// For when its tick was armed, ns on `CLOCK_MONOTONIC`: ticks, and after a stop the next event.
    pub(crate) expiries: Vec<i64>,
    /// Of these, the ticks that the tick's own handler armed.
    pub(crate) own: Vec<i64>,
    /// How far these lay behind the one before, ns, and how often.
    pub(crate) steps: BTreeMap<i64, u64>,
}

/// What a trace shows of one CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct CpuSeen {
    pub(crate) events: u64,
    pub(crate) idle_entries: u64,
    pub(crate) idle_exits: u64,
    pub(crate) switches_to_idle: u64,
    /// Choices that a governor recorded itself (`idle_chosen`).
    pub(crate) choices: u64,
    /// The highest clock that was recorded, kHz.
    pub(crate) highest_khz: u64,
    pub(crate) ticks: TicksSeen,
    pub(crate) timer_irqs: Vec<u64>,
}

/// What other CPUs did that wakes a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sends {
    /// Interrupts that they sent it.
    pub(crate) ipis: u64,
    /// Tasks that they were about to wake for it.
    pub(crate) wakings: u64,
}

/// What holds for all of a trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) span: Span,
    pub(crate) cpus: BTreeMap<u32, CpuSeen>,
    /// Trace clock minus `CLOCK_MONOTONIC`.
    pub(crate) offsets: Offsets,
    /// `CLOCK_REALTIME` minus trace clock, ns, where a timer of that clock fired.
    pub(crate) realtime_offset_ns: Option<i64>,
    pub(crate) tick_functions: BTreeMap<u64, bool>,
    pub(crate) irqs: BTreeMap<i32, IrqClass>,
    pub(crate) grids: BTreeMap<u32, TickGrid>,
    /// How well each CPU's grid is known.
    pub(crate) grid_known: BTreeMap<u32, Confidence>,
    pub(crate) grid_how: String,
    /// Trace-clock time of jiffy 0, ns (mostly negative).
    pub(crate) jiffy_zero_ns: i128,
    /// Timers that fired although nothing was seen to arm them, in order of the time since when they may be armed.
    pub(crate) unseen: Vec<Unseen>,
    /// Hrtimers that fired on another CPU than they were armed on: id and time of arming, ns, then that CPU.
    pub(crate) moved: BTreeMap<(u64, u64), u32>,
    /// Cancels that were part of an expiry although they do not look so: hrtimer and time, ns.
    pub(crate) no_cancels: BTreeSet<(u64, u64)>,
    /// What the kernel's version says about its events.
    pub(crate) kernel: Kernel,
    /// Since 6.9 timers that are not pinned may be run by another CPU.
    pub(crate) timer_migration: bool,
    pub(crate) switches: u64,
    pub(crate) hrtimers: u64,
    pub(crate) wheel_timers: u64,
    pub(crate) softirqs: u64,
    pub(crate) tick_stops: u64,
    pub(crate) base_idles: u64,
    pub(crate) misses: u64,
    pub(crate) qos_changes: u64,
    pub(crate) frequencies: u64,
    pub(crate) pelts: u64,
    /// What other CPUs did to wake each, as far as they were recorded.
    pub(crate) sends: BTreeMap<u32, Sends>,
    /// Interrupts sent to another CPU: where such events are recorded, a task that is about to be woken is no evidence of one.
    pub(crate) ipis_sent: u64,
    /// Interrupts of other CPUs that were seen to come.
    pub(crate) ipis_came: u64,
    /// Some of those sent went to CPUs that a [`CpuMask`] does not tell apart.
    pub(crate) sent_beyond: bool,
    pub(crate) migrations: u64,
    /// When each task was woken from having been blocked, ns, and whether it had waited for I/O.
    pub(crate) blocked: BTreeMap<i32, Vec<(u64, bool)>>,
    pub(crate) deepest_state: u32,
    /// The least that it usually takes from the end of a wake's handlers to the switch to a task, ns.
    pub(crate) leaving_ns: Option<u64>,
    /// No idle events at all: idle is the time of the idle task.
    pub(crate) by_switches: bool,
}

impl Facts {
    /// An hrtimer's expiry on the trace clock as it is at the start, ns; `None` for a clock whose offset is not known.
    pub(crate) fn hrtimer_on_trace_clock(&self, expires: i64) -> Option<i64> {
        if Self::is_realtime(expires) {
            return self.realtime_offset_ns.map(|off| expires.saturating_sub(off));
        }
        Some(expires.saturating_add(self.offsets.first_ns()))
    }

    /// A wheel timer's expiry on the trace clock as it is at the start, ns.
    pub(crate) fn jiffies_on_trace_clock(&self, cpu: u32, jiffies: u64) -> i64 {
        let period = self.grid(cpu).period_ns;
        let at = self.jiffy_zero_ns + i128::from(jiffies) * i128::from(period);
        i64::try_from(at).unwrap_or(i64::MAX)
    }

    /// Whether an hrtimer's expiry is on `CLOCK_REALTIME`, which a suspend does not stop.
    pub(crate) fn is_realtime(expires: i64) -> bool {
        expires >= REALTIME_NS
    }

    /// Whether a task that blocks at `ts_ns` waits for I/O, which is reported when it is woken.
    pub(crate) fn waits_for_io(&self, pid: i32, ts_ns: u64) -> Option<bool> {
        let woken = self.blocked.get(&pid)?;
        woken.get(woken.partition_point(|(at, _)| *at < ts_ns)).map(|(_, io)| *io)
    }

    /// How well a wake is known that no timer's event tells, of which `known` is known where idle events are recorded.
    pub(crate) fn at_best(&self, known: Confidence) -> Confidence {
        if self.by_switches { known.max(Confidence::Bounded) } else { known }
    }

    /// Where the recording tells when a tick is stopped.
    pub(crate) fn tick_told_by(&self) -> Option<&'static str> {
        if self.tick_stops > 0 {
            Some("tick_stop")
        } else {
            // Before 6.9 the wheel of a CPU counted as idle as soon as a governor had asked how long it may sleep.
            (self.timer_migration && self.base_idles > 0).then_some("timer_base_idle")
        }
    }

    /// Whether `function` handles the tick.
    pub(crate) fn is_tick(&self, function: u64) -> bool {
        self.tick_functions.get(&function).copied().unwrap_or(false)
    }

    pub(crate) fn sent(&mut self, from: u32, to: u32) {
        if from != to {
            self.ipis_sent += 1;
            self.sends.entry(to).or_default().ipis += 1;
        }
    }

    /// Whether the recording shows when an interrupt of another CPU comes.
    pub(crate) fn ipis_come(&self) -> bool {
        self.ipis_came > 0 || self.irqs.values().any(|class| *class == IrqClass::Ipi)
    }

    /// How well it is known when other CPUs sent `cpu` an interrupt that had not come yet. A task that is about to be woken shows
    /// only that one may follow; nothing that others did to it shows that they were recorded at all.
    pub(crate) fn sends_to(&self, cpu: u32) -> Option<Confidence> {
        let sends = self.sends.get(&cpu).copied().unwrap_or_default();
        if self.sent_beyond && cpu >= CpuMask::KEPT {
            return None;
        }
        match (self.ipis_sent > 0, sends) {
            (true, Sends { ipis: 1.., .. }) if self.ipis_come() => Some(Confidence::Recorded),
            (true, Sends { ipis: 1.., .. }) => Some(Confidence::Derived),
            (false, Sends { wakings: 1.., .. }) => Some(Confidence::Bounded),
            _ => None,
        }
    }

    /// Whether governors recorded their own choices on `cpu`.
    pub(crate) fn choices_recorded(&self, cpu: u32) -> bool {
        self.cpus.get(&cpu).is_some_and(|seen| seen.choices > 0)
    }

    pub(crate) fn grid(&self, cpu: u32) -> TickGrid {
        self.grids.get(&cpu).copied().unwrap_or(TickGrid::from_hz(250))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_task_waited_for_is_told_when_it_is_woken() {
        let mut facts = Facts::default();
        facts.blocked.insert(7, vec![(100, true), (200, false)]);
        let waits = [50, 100, 150, 201].map(|ts_ns| facts.waits_for_io(7, ts_ns));
        assert_eq!(waits, [Some(true), Some(true), Some(false), None]);
        assert_eq!(facts.waits_for_io(8, 50), None);
    }
}
