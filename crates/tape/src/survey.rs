// SPDX-License-Identifier: GPL-2.0-only
//! First pass over a trace: what holds for all of it.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{Confidence, CpuMask, Event, EventKind, Span, TickGrid, Vector};
use idlewise_platform::Platform;
use idlewise_trace::{Events, TraceMeta};

use crate::causes::IrqClass;
use crate::grid::{TicksSeen, find_grids};
use crate::kernel::{Kernel, Wheel};
use crate::leaving::Leaving;
use crate::offset::{OffsetFinder, Offsets};
use crate::unseen::{Finder, Found, Unseen};

/// Functions that handle the tick's hrtimer: the older and the newer name (`governor-behaviour.md` 14), and the one
/// that 6.8 and 6.9 have in between.
const TICK_HANDLERS: [&str; 3] = ["tick_sched_timer", "tick_nohz_handler", "tick_nohz_highres_handler"];
/// Above this an hrtimer's expiry is on `CLOCK_REALTIME`, ns: 2001-09-09, long before any recording.
const REALTIME_NS: i64 = 1_000_000_000_000_000_000;
/// The earliest of many handlers runs no later than this after its expiry, ns.
const NEAR_MONO_NS: i64 = 20_000;
/// Samples kept to find a grid or an offset.
const SAMPLES: usize = 20_000;

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

/// Collects facts about a whole trace.
pub(crate) struct Survey<'a> {
    meta: &'a TraceMeta,
    facts: Facts,
    finder: Finder,
    offsets: OffsetFinder,
    leaving: Leaving,
    wheel: Wheel,
    jiffies: Vec<(u64, u64)>,
    /// For when each CPU's tick was last armed, and whether it has fired since, its handler still to end.
    last_ticks: BTreeMap<u32, (i64, bool)>,
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

impl<'a> Survey<'a> {
    pub(crate) fn new(meta: &'a TraceMeta) -> Self {
        let timer_migration = meta.event_names.values().any(|n| n.starts_with("timer_migration:"));
        let facts = Facts { timer_migration, kernel: Kernel::new(meta), ..Facts::default() };
        Self {
            meta,
            facts,
            finder: Finder::default(),
            offsets: OffsetFinder::default(),
            leaving: Leaving::default(),
            wheel: Wheel::default(),
            jiffies: Vec::new(),
            last_ticks: BTreeMap::new(),
        }
    }

    /// An interrupt of the given name (where known) came.
    pub(crate) fn irq(&mut self, irq: i32, name: Option<&str>, event: &Event) {
        let class =
            *self.facts.irqs.entry(irq).or_insert_with(|| name.map_or(IrqClass::Device, IrqClass::of));
        if class == IrqClass::Timer {
            self.timer_irq(event);
        }
    }

    fn timer_irq(&mut self, event: &Event) {
        let seen = self.facts.cpus.entry(event.cpu).or_default();
        if seen.timer_irqs.len() < SAMPLES {
            seen.timer_irqs.push(event.ts_ns);
        }
    }

    pub(crate) fn event(&mut self, event: &Event, events: &Events<'_>) {
        self.finder.event(event);
        self.leaving.event(event);
        self.wheel.event(event);
        self.offsets.event(event.ts_ns);
        let f = &mut self.facts;
        f.span.add(event);
        let seen = f.cpus.entry(event.cpu).or_default();
        seen.events += 1;
        match event.kind {
            EventKind::IpiSendCpu { cpu } => f.sent(event.cpu, cpu),
            EventKind::IpiSendCpumask { cpus } | EventKind::IpiRaise { cpus, .. } => {
                f.sent_beyond |= cpus.beyond();
                cpus.iter().for_each(|cpu| f.sent(event.cpu, cpu));
            }
            EventKind::SchedWaking { target_cpu, .. } if target_cpu != event.cpu => {
                f.sends.entry(target_cpu).or_default().wakings += 1;
            }
            EventKind::IdleChosen { cpu, .. } => f.cpus.entry(cpu).or_default().choices += 1,
            EventKind::CpuIdle { state: Some(state), .. } => {
                seen.idle_entries += 1;
                f.deepest_state = f.deepest_state.max(state);
            }
            EventKind::CpuIdle { state: None, .. } => seen.idle_exits += 1,
            EventKind::CpuIdleMiss { .. } => f.misses += 1,
            EventKind::SchedSwitch { next_pid, .. } => {
                f.switches += 1;
                seen.switches_to_idle += u64::from(next_pid == 0);
                if let Some(last) = self.last_ticks.get_mut(&event.cpu) {
                    last.1 = false;
                }
            }
            EventKind::SoftirqEntry { .. } => f.softirqs += 1,
            EventKind::TickStop { .. } => f.tick_stops += 1,
            EventKind::TimerBaseIdle { .. } => f.base_idles += 1,
            EventKind::PmQosUpdateTarget { .. } => f.qos_changes += 1,
            EventKind::SchedMigrateTask { .. } => f.migrations += 1,
            EventKind::PeltCfs { .. } => f.pelts += 1,
            EventKind::CpuFrequency { cpu, khz } => {
                f.frequencies += 1;
                let highest = &mut f.cpus.entry(cpu).or_default().highest_khz;
                *highest = (*highest).max(khz.into());
            }
            EventKind::SchedBlockedReason { pid, io_wait } => {
                f.blocked.entry(pid).or_default().push((event.ts_ns, io_wait));
            }
            EventKind::VectorEntry { vector: Vector::LocalTimer } => self.timer_irq(event),
            EventKind::VectorEntry { vector: Vector::Other } => {}
            EventKind::VectorEntry { .. } | EventKind::IpiEntry { .. } => f.ipis_came += 1,
            EventKind::HrtimerStart { function, expires, .. } => {
                f.hrtimers += 1;
                if self.is_tick(function, events) {
                    self.tick_expiry(event.cpu, expires);
                }
            }
            EventKind::HrtimerExpireEntry { hrtimer, function, now } => {
                self.hrtimer_fired(event, hrtimer, function, now, events)
            }
            EventKind::TimerStart { now, .. } => {
                f.wheel_timers += 1;
                if self.jiffies.len() < SAMPLES {
                    self.jiffies.push((event.ts_ns, now));
                }
            }
            _ => {}
        }
    }

    fn hrtimer_fired(&mut self, event: &Event, hrtimer: u64, function: u64, now: i64, events: &Events<'_>) {
        self.facts.hrtimers += 1;
        if now >= REALTIME_NS {
            let offset = self.facts.realtime_offset_ns.get_or_insert(i64::MIN);
            *offset = (*offset).max(now.wrapping_sub(event.ts_ns as i64));
        } else {
            self.offsets.handler(event.ts_ns, now);
        }
        if self.is_tick(function, events) {
            if let Some(last) = self.last_ticks.get_mut(&event.cpu) {
                last.1 = true;
            }
            self.finder.tick_fired(event, hrtimer);
        } else {
            self.finder.hrtimer_fired(event, hrtimer, now);
        }
    }

    fn tick_expiry(&mut self, cpu: u32, expires: i64) {
        let seen = &mut self.facts.cpus.entry(cpu).or_default().ticks;
        if seen.expiries.len() < SAMPLES {
            seen.expiries.push(expires);
        }
        let before = self.last_ticks.insert(cpu, (expires, false));
        // The first time after it fired, its own handler arms it.
        if let Some((last, true)) = before
            && seen.own.len() < SAMPLES
        {
            seen.own.push(expires);
            *seen.steps.entry(expires.saturating_sub(last)).or_default() += 1;
        }
    }

    fn is_tick(&mut self, function: u64, events: &Events<'_>) -> bool {
        let named = || events.symbol(function).is_some_and(is_tick_handler);
        *self.facts.tick_functions.entry(function).or_insert_with(named)
    }

    /// Whether anything tells when a CPU was idle: idle events, or in a trace without any, switches to the idle task.
    pub(crate) fn any_idle(&mut self) -> bool {
        let any = |of: fn(&CpuSeen) -> u64| self.facts.cpus.values().any(|c| of(c) > 0);
        let events = any(|c| c.idle_entries.min(c.idle_exits));
        self.facts.by_switches = !any(|c| c.idle_entries + c.idle_exits) && any(|c| c.switches_to_idle);
        events || self.facts.by_switches
    }

    pub(crate) fn finish(self, machine: &Platform) -> Facts {
        let mut f = self.facts;
        // Handlers run a little late: a clock no further away than that is mono by another name (boot, perf's).
        f.offsets = self.offsets.finish();
        if self.meta.clock == "mono" || (0..NEAR_MONO_NS).contains(&f.offsets.first_ns()) {
            f.offsets.start_at_zero();
        }
        f.leaving_ns = self.leaving.least_ns();
        self.wheel.tell(&mut f.kernel);
        let Found { unseen, moved, no_cancels } = self.finder.finish();
        (f.unseen, f.moved, f.no_cancels) = (unseen, moved, no_cancels);
        find_grids(&mut f, machine.hz);
        let period = f.grids.values().next().map_or(TickGrid::period_of(250), |g| g.period_ns);
        let phase = f.grids.values().next().map_or(0, |g| g.phase_ns);
        let zero = |(ts, now): &(u64, u64)| {
            // Jiffies stand still with CLOCK_MONOTONIC.
            i128::from(*ts) - i128::from(f.offsets.moved_at(*ts)) - i128::from(*now) * i128::from(period)
        };
        let lowest = self.jiffies.iter().map(zero).min().unwrap_or_default();
        f.jiffy_zero_ns = lowest - (lowest - i128::from(phase)).rem_euclid(i128::from(period));
        f
    }
}

/// Whether a function of this name handles the tick's hrtimer. Compilers put their own behind a dot (`.llvm.123`, `.cfi_jt`).
fn is_tick_handler(name: &str) -> bool {
    name.split('.').next().is_some_and(|name| TICK_HANDLERS.contains(&name))
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

    fn sent(&mut self, from: u32, to: u32) {
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
    fn the_ticks_handler_is_known_by_all_its_names() {
        let names =
            ["tick_sched_timer", "tick_nohz_handler", "tick_nohz_highres_handler", "tick_sched_timer.cfi_jt"];
        assert!(names.into_iter().all(is_tick_handler));
        assert!(!["hrtimer_wakeup", "tick_sched_timer_dying", ""].into_iter().any(is_tick_handler));
    }

    #[test]
    fn what_a_task_waited_for_is_told_when_it_is_woken() {
        let mut facts = Facts::default();
        facts.blocked.insert(7, vec![(100, true), (200, false)]);
        let waits = [50, 100, 150, 201].map(|ts_ns| facts.waits_for_io(7, ts_ns));
        assert_eq!(waits, [Some(true), Some(true), Some(false), None]);
        assert_eq!(facts.waits_for_io(8, 50), None);
    }
}
