// SPDX-License-Identifier: GPL-2.0-only
//! First pass over a trace: what holds for all of it.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{Event, EventKind, TickGrid, Vector};
use idlewise_platform::Platform;
use idlewise_trace::{Events, TraceMeta};

use crate::event_cost::EventCost;
use crate::facts::{CpuSeen, Facts};
use crate::grid::{find_grids, hz_by_jiffies, period_after};
use crate::holes::Holes;
use crate::io_waits;
use crate::irq_class::IrqClass;
use crate::kernel::{Kernel, Wheel};
use crate::leaving::Leaving;
use crate::offset::OffsetFinder;
use crate::rcu_softirq;
use crate::standstill::Programs;
use crate::unseen::{Finder, Found, LATEST_NS};

/// Functions that handle the tick's hrtimer: the older and the newer name (`governor-behaviour.md` 14), and the one
/// that 6.8 and 6.9 have in between.
const TICK_HANDLERS: [&str; 3] = ["tick_sched_timer", "tick_nohz_handler", "tick_nohz_highres_handler"];
/// The earliest of many handlers runs no later than this after its expiry, ns.
const NEAR_MONO_NS: i64 = 20_000;
/// Samples kept to find a grid or an offset.
const SAMPLES: usize = 20_000;
/// The first kernel whose idle CPUs leave timers that are not pinned to others (`governor-behaviour.md` 1.8).
const TIMER_MIGRATION: (u32, u32) = (6, 9);
/// A file that describes so many events describes its kernel, not what was recorded: kernels have 400 to 2,300, recordings of
/// idle CPUs up to 130.
const MANY_EVENTS: usize = 300;

/// Collects facts about a whole trace.
pub(crate) struct Survey<'a> {
    meta: &'a TraceMeta,
    facts: Facts,
    finder: Finder,
    holes: Holes,
    offsets: OffsetFinder,
    leaving: Leaving,
    event_cost: EventCost,
    rcu: rcu_softirq::Lengths,
    io_waits: io_waits::Finder,
    wheel: Wheel,
    programs: Programs,
    jiffies: Vec<(u64, u64)>,
    /// The first and the last time that an event has jiffies, and these.
    jiffies_seen: Option<[(u64, u64); 2]>,
    last_ticks: BTreeMap<u32, LastTick>,
    /// By function of wheel timers: whether it wakes the task that armed them.
    wakes_its_task: BTreeMap<u64, bool>,
}

/// What was last seen of a CPU's tick.
#[derive(Clone, Copy, Debug, Default)]
struct LastTick {
    /// For when it is armed, ns.
    armed: Option<i64>,
    /// When something else than its handler armed it, ns.
    started_ns: Option<u64>,
    /// It has fired, and its handler is still to end: when it was due, ns, and whether that was seen; else it is the time that
    /// the handler was given, a little later.
    handled: Option<(i64, bool)>,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(meta: &'a TraceMeta) -> Self {
        let newer = |n: &String| n.starts_with("timer_migration:") || n == "timer:hrtimer_setup";
        let version = meta.kernel_version();
        let timer_migration = match version {
            Some(version) => version >= TIMER_MIGRATION,
            None => meta.event_names.values().any(newer),
        };
        let described = match meta.event_names.len() {
            // So many are all of a kernel's, whatever was recorded.
            MANY_EVENTS.. => BTreeSet::new(),
            _ => meta.event_names.values().cloned().collect(),
        };
        let migration_known = timer_migration || version.is_some();
        let kernel = Kernel::new(meta);
        let kinds_known = !meta.timer_kinds_unknown;
        let facts =
            Facts { timer_migration, migration_known, described, kernel, kinds_known, ..Facts::default() };
        Self {
            meta,
            facts,
            finder: Finder::default(),
            holes: Holes::default(),
            offsets: OffsetFinder::default(),
            leaving: Leaving::default(),
            event_cost: EventCost::default(),
            rcu: rcu_softirq::Lengths::default(),
            io_waits: io_waits::Finder::default(),
            wheel: Wheel::default(),
            programs: Programs::default(),
            jiffies: Vec::new(),
            jiffies_seen: None,
            last_ticks: BTreeMap::new(),
            wakes_its_task: BTreeMap::new(),
        }
    }

    /// So many armings had no pointer: which timer they are of is a guess.
    pub(crate) fn names_no_timers(&mut self, armings: u64) {
        self.facts.nameless = armings;
    }

    /// Notes which tasks that sleep during a suspend are programs, by the names that the trace has of them.
    pub(crate) fn names_tasks(&mut self, events: &Events<'_>) {
        self.facts.programs = self.programs.pids(|pid| events.comm(pid));
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
        self.holes.event(event, || self.finder.armed().filter(|(_, at)| !Facts::is_realtime(*at)));
        self.finder.event(event);
        self.facts.by_tasks += u64::from(event.pid > 0);
        self.leaving.event(event);
        self.event_cost.event(event);
        self.rcu.event(event);
        self.io_waits.event(event);
        self.wheel.event(event);
        self.programs.event(&event.kind);
        self.offsets.event(event.ts_ns);
        let f = &mut self.facts;
        f.span.add(event);
        let seen = f.cpus.entry(event.cpu).or_default();
        seen.events += 1;
        if let EventKind::VectorExit { .. }
        | EventKind::IrqExit { .. }
        | EventKind::CpuIdle { .. }
        | EventKind::SchedSwitch { .. } = event.kind
            && let Some(last) = self.last_ticks.get_mut(&event.cpu)
        {
            // The tick's handler is over.
            last.handled = None;
        }
        match event.kind {
            EventKind::IpiSendCpu { cpu } => f.sent(event.cpu, cpu),
            EventKind::IpiSendCpumask { cpus } | EventKind::IpiRaise { cpus, .. } => {
                f.sent_beyond |= cpus.beyond();
                cpus.iter().for_each(|cpu| f.sent(event.cpu, cpu));
            }
            EventKind::SchedWaking { target_cpu, .. } if target_cpu != event.cpu => {
                f.sends.entry(target_cpu).or_default().wakings += 1;
                f.wakings_sent += 1;
            }
            EventKind::IdleChosen { cpu, .. } => f.cpus.entry(cpu).or_default().choices += 1,
            EventKind::CpuIdle { state: Some(state), .. } => {
                seen.idle_entries += 1;
                seen.idle_since_ns = Some(event.ts_ns);
                f.deepest_state = f.deepest_state.max(state);
            }
            EventKind::CpuIdle { state: None, .. } => {
                seen.idle_exits += 1;
                let ns = seen.idle_since_ns.take().map_or(0, |since| event.ts_ns.saturating_sub(since));
                seen.longest_idle_ns = seen.longest_idle_ns.max(ns);
            }
            EventKind::CpuIdleMiss { .. } => f.misses += 1,
            EventKind::SchedSwitch { next_pid, .. } => {
                f.switches += 1;
                f.switches_to_tasks += u64::from(next_pid != 0);
                seen.switches_to_idle += u64::from(next_pid == 0);
            }
            EventKind::SoftirqEntry { .. } => f.softirqs += 1,
            EventKind::SoftirqRaise { .. } => f.softirq_raises += 1,
            EventKind::TickStop { .. } => f.tick_stops += 1,
            EventKind::TimerBaseIdle { .. } => f.base_idles += 1,
            EventKind::PmQosUpdateTarget { prev_value, curr_value } => {
                f.latency_limits.changes(event.ts_ns, prev_value, curr_value);
            }
            EventKind::PmQosRequest { .. } => f.latency_limits.requests += 1,
            EventKind::SchedMigrateTask { .. } => f.migrations += 1,
            EventKind::PeltCfs { .. } => f.pelts += 1,
            EventKind::CpuFrequency { cpu, khz } if khz > 0 => {
                f.frequencies += 1;
                let highest = &mut f.cpus.entry(cpu).or_default().highest_khz;
                *highest = (*highest).max(khz.into());
            }
            EventKind::VectorEntry { vector: Vector::LocalTimer } => self.timer_irq(event),
            EventKind::VectorEntry { vector: Vector::Other } => {}
            EventKind::VectorEntry { .. } | EventKind::IpiEntry { .. } => f.ipis_came += 1,
            EventKind::HrtimerStart { hrtimer, function, expires, .. } => {
                f.armings += 1;
                if self.is_tick(function, events) {
                    self.finder.tick_armed(event, hrtimer, expires);
                    self.tick_armed(event, expires);
                }
            }
            EventKind::HrtimerCancel { .. } => f.cancels += 1,
            EventKind::HrtimerRearm { .. } => f.rearms += 1,
            EventKind::TimerCancel { .. } => f.wheel_cancels += 1,
            EventKind::TimerExpireEntry { function, now, .. } => {
                f.wheel_expiries += 1;
                self.jiffies_seen.get_or_insert([(event.ts_ns, now); 2])[1] = (event.ts_ns, now);
                if !self.wakes_its_task(function, events) {
                    self.finder.armed_by_another(event.cpu);
                }
            }
            EventKind::HrtimerExpireEntry { hrtimer, function, now } => {
                self.hrtimer_fired(event, hrtimer, function, now, events)
            }
            EventKind::TimerStart { now, bucket_expiry, .. } => {
                f.wheel_timers += 1;
                // Which it has since before 6.9.
                f.migration_known |= bucket_expiry.is_none();
                self.jiffies_seen.get_or_insert([(event.ts_ns, now); 2])[1] = (event.ts_ns, now);
                if self.jiffies.len() < SAMPLES {
                    self.jiffies.push((event.ts_ns, now));
                }
            }
            _ => {}
        }
    }

    fn hrtimer_fired(&mut self, event: &Event, hrtimer: u64, function: u64, now: i64, events: &Events<'_>) {
        self.facts.expiries += 1;
        if Facts::is_realtime(now) {
            let offset = self.facts.realtime_offset_ns.get_or_insert(i64::MIN);
            *offset = (*offset).max(now.wrapping_sub(event.ts_ns as i64));
        } else {
            self.offsets.handler(event.ts_ns, now);
            self.finder.clock(event, now);
            self.holes.clock(event, now);
        }
        if self.is_tick(function, events) {
            let handled = &mut self.facts.cpus.entry(event.cpu).or_default().ticks.handled;
            if handled.len() < SAMPLES {
                handled.push(now);
            }
            let last = self.last_ticks.entry(event.cpu).or_default();
            let due = last.armed.take();
            last.handled = Some((due.unwrap_or(now), due.is_some()));
            self.finder.tick_fired(event, hrtimer);
        } else {
            self.finder.hrtimer_fired(event, hrtimer, now);
        }
    }

    fn tick_armed(&mut self, event: &Event, expires: i64) {
        let cpu = event.cpu;
        let seen = &mut self.facts.cpus.entry(cpu).or_default().ticks;
        if seen.expiries.len() < SAMPLES {
            seen.expiries.push(expires);
        }
        let last = self.last_ticks.entry(cpu).or_default();
        last.armed = Some(expires);
        // The first time after it fired, its own handler arms it.
        let Some((due, seen_armed)) = last.handled.take() else {
            last.started_ns = Some(event.ts_ns);
            return;
        };
        self.facts.ran_on.extend(last.started_ns.take().map(|ts_ns| (cpu, ts_ns)));
        if seen.own.len() < SAMPLES {
            seen.own.push(expires);
            let step = expires.saturating_sub(due);
            if let Some(step) = if seen_armed { Some(step) } else { period_after(step) } {
                *seen.steps.entry(step).or_default() += 1;
            }
        }
    }

    fn is_tick(&mut self, function: u64, events: &Events<'_>) -> bool {
        let named = || events.symbol(function).is_some_and(is_tick_handler);
        *self.facts.tick_functions.entry(function).or_insert_with(named)
    }

    /// Whether wheel timers of `function` wake the task that armed them, as all may where the trace names no functions.
    fn wakes_its_task(&mut self, function: u64, events: &Events<'_>) -> bool {
        let named = || events.symbol(function).is_none_or(|name| name == "process_timeout");
        *self.wakes_its_task.entry(function).or_insert_with(named)
    }

    /// Whether anything tells when a CPU was idle: idle events, or in a trace without any, switches to the idle task.
    pub(crate) fn any_idle(&mut self) -> bool {
        let any = |of: fn(&CpuSeen) -> u64| self.facts.cpus.values().any(|c| of(c) > 0);
        let events = any(|c| c.idle_entries.min(c.idle_exits));
        self.facts.by_switches = !any(|c| c.idle_entries + c.idle_exits) && any(|c| c.switches_to_idle);
        events || self.facts.by_switches
    }

    /// What a trace lacks that does not tell when any CPU was idle.
    pub(crate) fn lacks(&self) -> &'static str {
        let any = |of: fn(&CpuSeen) -> u64| self.facts.cpus.values().any(|c| of(c) > 0);
        match (any(|c| c.idle_entries), any(|c| c.idle_exits)) {
            (true, false) => "cpu_idle events of entries, and none of an exit",
            (false, true) => "cpu_idle events of exits, and none of an entry",
            (true, true) => "cpu_idle events of entries and exits, but on no CPU of both",
            (false, false) => "no cpu_idle events and no switches to the idle task",
        }
    }

    pub(crate) fn finish(self, machine: &Platform) -> Facts {
        let mut f = self.facts;
        // Handlers run a little late: a clock no further away than that is mono by another name (boot, perf's).
        f.offsets = self.offsets.finish();
        if self.meta.clock == "mono" || (0..NEAR_MONO_NS).contains(&f.offsets.first_ns()) {
            f.offsets.start_at_zero();
        }
        f.leaving_ns = self.leaving.least_ns();
        f.event_ns = self.event_cost.ns();
        f.rcu_runs = self.rcu.finish(f.event_ns);
        f.io_waits = self.io_waits.finish(f.described.contains("sched:sched_stat_iowait"));
        // Where the clocks parted, the machine was suspended.
        let together =
            |(from_ns, to_ns): &(u64, u64)| f.offsets.moved_at(*from_ns) == f.offsets.moved_at(*to_ns);
        f.holes = self.holes.finish().into_iter().filter(together).collect();
        self.wheel.tell(&mut f.kernel);
        f.kernel.rearms(f.rearms);
        let Found { unseen, moved, no_cancels, late } = self.finder.finish();
        (f.unseen, f.moved, f.no_cancels) = (unseen, moved, no_cancels);
        let states = machine.clusters.iter().flat_map(|c| c.table.states());
        let latency_ns = states.map(|s| s.exit_latency_ns).fold(0, i64::max);
        f.late = late
            .into_iter()
            .filter(|(_, ns)| *ns > LATEST_NS + latency_ns)
            .map(|(arming, _)| arming)
            .collect();
        // Jiffies stand still with CLOCK_MONOTONIC.
        let monotonic = |ts: u64| i128::from(ts) - i128::from(f.offsets.moved_at(ts));
        let counted = self.jiffies_seen.and_then(|[(from_ns, from), (to_ns, to)]| {
            hz_by_jiffies(monotonic(to_ns) - monotonic(from_ns), to.checked_sub(from)?)
        });
        let counted = counted.and_then(|hz| {
            let period_ns = TickGrid::period_of(hz);
            let behind = |(ts, now): &(u64, u64)| monotonic(*ts) - i128::from(*now) * i128::from(period_ns);
            let seen = self.jiffies.iter().chain(self.jiffies_seen.iter().flatten());
            let earliest = seen.map(behind).min()?;
            Some(TickGrid { period_ns, phase_ns: earliest.rem_euclid(i128::from(period_ns)) as u64 })
        });
        find_grids(&mut f, counted, machine.hz);
        let period = f.grids.values().next().map_or(TickGrid::period_of(250), |g| g.period_ns);
        let phase = f.grids.values().next().map_or(0, |g| g.phase_ns);
        let zero = |(ts, now): &(u64, u64)| {
            i128::from(*ts) - i128::from(f.offsets.moved_at(*ts)) - i128::from(*now) * i128::from(period)
        };
        // A tick that goes on ends an idle period.
        if f.cpus.values().any(|c| c.longest_idle_ns > 2 * period) {
            f.described.remove("timer:tick_stop");
        }
        let lowest = self.jiffies.iter().map(zero).min().unwrap_or_default();
        f.jiffy_zero_ns = lowest - (lowest - i128::from(phase)).rem_euclid(i128::from(period));
        f
    }
}

/// Whether a function of this name handles the tick's hrtimer. Compilers put their own behind a dot (`.llvm.123`, `.cfi_jt`).
fn is_tick_handler(name: &str) -> bool {
    name.split('.').next().is_some_and(|name| TICK_HANDLERS.contains(&name))
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
}
