// SPDX-License-Identifier: GPL-2.0-only
//! What holds for all of a trace: what the survey found out, and what follows from it.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{Confidence, CpuMask, Span, TickGrid};

use crate::io_waits::IoWaits;
use crate::irq_class::IrqClass;
use crate::kernel::Kernel;
use crate::latency_limits::LatencyLimits;
use crate::offset::Offsets;
use crate::rcu_softirq::Shortest;
use crate::unseen::Unseen;

/// Above this an hrtimer's expiry is on `CLOCK_REALTIME`, ns: 2001-09-09, long before any recording.
const REALTIME_NS: i64 = 1_000_000_000_000_000_000;

/// Of so many timers that were armed one was cancelled, if that is recorded: in recordings of kernels it is one in ten.
const MANY_ARMINGS: u64 = 200;

/// What shows that a tick is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TickShownBy {
    /// `tick_stop` events.
    TickStop,
    /// `timer_base_idle` events, since 6.9.
    TimerBaseIdle,
    /// For when the tick's timer is armed: a tick that runs comes at the next place of its grid.
    Armings,
}

/// What the tick's timers show of one CPU.
#[derive(Clone, Debug, Default)]
pub(crate) struct TicksSeen {
    /// For when its tick was armed, ns on `CLOCK_MONOTONIC`: ticks, and after a stop the next event.
    pub(crate) expiries: Vec<i64>,
    /// Of these, the ticks that the tick's own handler armed.
    pub(crate) own: Vec<i64>,
    /// How far these lay behind the one before, ns, and how often.
    pub(crate) steps: BTreeMap<i64, u64>,
    /// What the tick's handler was given as the time, ns on `CLOCK_MONOTONIC`: a little after the tick.
    pub(crate) handled: Vec<i64>,
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
    /// When it went idle, ns, if it is, and its longest idle period, ns.
    pub(crate) idle_since_ns: Option<u64>,
    pub(crate) longest_idle_ns: u64,
}

/// So many interrupts do not all come after the recording's end.
const MANY_SENT: u64 = 50;

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
    pub(crate) grids_known: BTreeMap<u32, Confidence>,
    pub(crate) grid_how: String,
    /// Trace-clock time of jiffy 0, ns (mostly negative).
    pub(crate) jiffy_zero_ns: i128,
    /// Timers that fired although nothing was seen to arm them, in order of the time since when they may be armed.
    pub(crate) unseen: Vec<Unseen>,
    /// Hrtimers that fired on another CPU than they were armed on: id and time of arming, ns, then that CPU.
    pub(crate) moved: BTreeMap<(u64, u64), u32>,
    /// Cancels that were part of an expiry although they do not look so: hrtimer and time, ns.
    pub(crate) no_cancels: BTreeSet<(u64, u64)>,
    /// Armings, by hrtimer and time, ns, that fired long after what they were armed for.
    pub(crate) late: BTreeSet<(u64, u64)>,
    /// Times of which lines are missing without a mark, from and to, ns, in their order.
    pub(crate) holes: Vec<(u64, u64)>,
    /// The recording shows which wheel timers are deferrable and which are pinned.
    pub(crate) kinds_known: bool,
    /// Events of a task, and switches to one: where there are such and none of those, what tasks do was left out of the recording.
    pub(crate) by_tasks: u64,
    pub(crate) switches_to_tasks: u64,
    /// When a CPU's tick was started, CPU and ns, so that its handler armed it again: a stopped tick's does not.
    pub(crate) ran_on: BTreeSet<(u32, u64)>,
    /// Tasks that sleep after the begin of a suspend and are no threads of the kernel.
    pub(crate) programs: BTreeSet<i32>,
    /// What the kernel's version says about its events.
    pub(crate) kernel: Kernel,
    /// Since 6.9 timers that are not pinned may be run by another CPU.
    pub(crate) timer_migration: bool,
    /// The recording shows whether they may.
    pub(crate) migration_known: bool,
    /// Events that the file describes, where it describes those alone that were recorded.
    pub(crate) described: BTreeSet<String>,
    pub(crate) switches: u64,
    /// Hrtimers that were armed, cancelled, and that expired.
    pub(crate) armings: u64,
    pub(crate) cancels: u64,
    pub(crate) expiries: u64,
    /// Timers of which the recording has no pointer.
    pub(crate) nameless: u64,
    /// How often a CPU's clock event was programmed.
    pub(crate) rearms: u64,
    /// The same of wheel timers.
    pub(crate) wheel_timers: u64,
    pub(crate) wheel_cancels: u64,
    pub(crate) wheel_expiries: u64,
    pub(crate) softirqs: u64,
    pub(crate) softirq_raises: u64,
    pub(crate) tick_stops: u64,
    pub(crate) base_idles: u64,
    pub(crate) misses: u64,
    pub(crate) latency_limits: LatencyLimits,
    pub(crate) frequencies: u64,
    pub(crate) pelts: u64,
    /// What other CPUs did to wake each, as far as they were recorded.
    pub(crate) sends: BTreeMap<u32, Sends>,
    /// Interrupts sent to another CPU: where such events are recorded, a task that is about to be woken is no evidence of one.
    pub(crate) ipis_sent: u64,
    /// Interrupts of other CPUs that were seen to come.
    pub(crate) ipis_came: u64,
    /// Wakeups that began on another CPU than the task's next.
    pub(crate) wakings_sent: u64,
    /// Some of those sent went to CPUs that a [`CpuMask`] does not tell apart.
    pub(crate) sent_beyond: bool,
    pub(crate) migrations: u64,
    pub(crate) io_waits: IoWaits,
    pub(crate) deepest_state: u32,
    /// The least that it usually takes from the end of a wake's handlers to the switch to a task, ns.
    pub(crate) leaving_ns: Option<u64>,
    /// What the recording of one event takes, ns, or 0.
    pub(crate) event_ns: u32,
    pub(crate) rcu_runs: Shortest,
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

    /// How well a wake is known that no timer's event tells, of which `known` is known where idle events are recorded.
    pub(crate) fn at_best(&self, known: Confidence) -> Confidence {
        if self.by_switches { known.max(Confidence::Bounded) } else { known }
    }

    /// What shows when a tick is stopped, if anything does.
    pub(crate) fn tick_shown_by(&self) -> Option<TickShownBy> {
        if self.tick_stops > 0 || self.described.contains("timer:tick_stop") {
            Some(TickShownBy::TickStop)
        } else if self.timer_migration && self.base_idles > 0 {
            // Before 6.9 the wheel of a CPU counted as idle as soon as a governor had asked how long it may sleep.
            Some(TickShownBy::TimerBaseIdle)
        } else {
            self.cpus.keys().any(|cpu| self.tick_armed(*cpu)).then_some(TickShownBy::Armings)
        }
    }

    /// Whether the recording would show that the tick of `cpu` is stopped.
    pub(crate) fn would_show_stop(&self, cpu: u32) -> bool {
        match self.tick_shown_by() {
            None => false,
            Some(TickShownBy::Armings) => self.tick_armed(cpu),
            Some(_) => true,
        }
    }

    /// How well it is known whether the tick of `cpu` is stopped: where visits are guesses, so is when it was started again.
    pub(crate) fn stops_known(&self, cpu: u32) -> Confidence {
        match self.tick_shown_by() {
            _ if !self.would_show_stop(cpu) || self.switches == 0 => Confidence::Bounded,
            Some(TickShownBy::Armings) => Confidence::Derived,
            _ => Confidence::Recorded,
        }
    }

    /// Whether the recording shows for when the tick's timer of `cpu` is armed.
    fn tick_armed(&self, cpu: u32) -> bool {
        self.cpus.get(&cpu).is_some_and(|c| !c.ticks.expiries.is_empty())
    }

    /// How well the grid of the ticks of `cpu` is known.
    pub(crate) fn grid_known(&self, cpu: u32) -> Confidence {
        self.grids_known.get(&cpu).copied().unwrap_or(Confidence::Assumed)
    }

    /// A tick of `cpu` that goes on at `ts_ns` comes no later than this, ns on the trace clock.
    pub(crate) fn latest_tick_ns(&self, cpu: u32, ts_ns: u64) -> i64 {
        let grid = self.grid(cpu);
        (grid.after(ts_ns) + grid.period_ns / 2) as i64
    }

    /// Whether timer interrupts were recorded.
    pub(crate) fn timer_irqs(&self) -> bool {
        self.cpus.values().any(|c| !c.timer_irqs.is_empty())
    }

    /// Whether hrtimers were recorded at all.
    pub(crate) fn hrtimers(&self) -> bool {
        self.armings + self.expiries > 0
    }

    /// How well it is known which hrtimers are pending: where a kind of their events is missing, some are unseen, or stay that
    /// are gone.
    pub(crate) fn hrtimers_known(&self) -> Confidence {
        match (self.armings, self.expiries) {
            (0, 0) => Confidence::Assumed,
            _ if self.nameless > 0 || self.only_idle_tasks() => Confidence::Bounded,
            // Who armed it does not say which CPU it will expire on.
            (0, _) | (_, 0) => Confidence::Bounded,
            (MANY_ARMINGS.., _) if self.cancels == 0 && !self.described.contains("timer:hrtimer_cancel") => {
                Confidence::Bounded
            }
            _ => Confidence::Recorded,
        }
    }

    /// The same of the timer wheel.
    pub(crate) fn wheel_known(&self) -> Confidence {
        let many = self.wheel_timers >= MANY_ARMINGS;
        let missing = |seen: u64, event: &str| many && seen == 0 && !self.described.contains(event);
        match self.wheel_timers {
            _ if self.nameless > 0 || self.only_idle_tasks() => Confidence::Bounded,
            0 if !self.described.contains("timer:timer_start") => Confidence::Bounded,
            _ if missing(self.wheel_cancels, "timer:timer_cancel") => Confidence::Bounded,
            _ if missing(self.wheel_expiries, "timer:timer_expire_entry") => Confidence::Bounded,
            _ => Confidence::Derived,
        }
    }

    /// Whether the recording has the lines of idle tasks alone, though tasks ran.
    pub(crate) fn only_idle_tasks(&self) -> bool {
        self.by_tasks == 0 && self.switches_to_tasks >= MANY_ARMINGS
    }

    /// Whether the recording shows RCU's softirqs.
    pub(crate) fn softirqs_recorded(&self) -> bool {
        self.softirq_raises > 0 || self.described.contains("irq:softirq_raise")
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

    /// Whether the recording shows when an interrupt of another CPU comes: if fewer come than half of those that are sent, or of the
    /// wakeups that send one as a rule, it shows one kind of several.
    pub(crate) fn ipis_come(&self) -> bool {
        let sent = if self.ipis_sent > 0 { self.ipis_sent } else { self.wakings_sent };
        let vectors = self.ipis_came > 0 && (sent < MANY_SENT || self.ipis_came * 2 >= sent);
        vectors || self.irqs.values().any(|class| *class == IrqClass::Ipi)
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
