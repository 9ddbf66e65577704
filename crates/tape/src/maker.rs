// SPDX-License-Identifier: GPL-2.0-only
//! Second pass over a trace: follows each CPU's idle task and writes down its stays.

mod cpu;
mod ending;
mod inputs;
mod quiet;
mod rcu;
mod stays;
mod visits;
mod wakes;
mod without_idle_events;

use std::collections::BTreeMap;

use idlewise_model::{Event, EventKind, GovernorName, Health, IdleTable, TickGrid};
use idlewise_platform::Platform;

use crate::armed::Armed;
use crate::facts::{Facts, TickShownBy};
use crate::rcu_softirq::Runs;
use crate::spool::{Limits, Spool};
use crate::standstill::{Standstill, sleeps};
use crate::util::{self, Utilisation};
use cpu::Cpu;
use quiet::Quiet;

/// Makes a tape from the events of a trace in order of time.
pub(crate) struct Maker<'a> {
    facts: &'a Facts,
    machine: &'a Platform,
    cpus: BTreeMap<u32, Cpu>,
    quiet: Quiet,
    armed: Armed<'a>,
    rcu_runs: Runs,
    util: Utilisation,
    spool: Spool,
    /// Without `tick_stop` events, `timer_base_idle` tells.
    base_idle_tells: bool,
    uninterruptible: BTreeMap<i32, u32>,
    /// The CPU that each task is being woken for, as far as that is chosen yet, and since when, ns.
    woken_on: BTreeMap<i32, (u32, u64)>,
    /// Idle periods for which no governor was asked, and their time, ns.
    ungoverned: (u64, u64),
    /// Idle periods whose state a governor chose that was replaced later.
    replaced: u64,
    /// The next of the times of which lines are missing.
    next_hole: usize,
    standstill: Standstill,
    /// Idle periods of CPUs that were switched off or on, and their time, ns.
    switched: (u64, u64),
    /// All stays that were written down, each with the time to the one before, of which an hour counts.
    together_ns: u64,
    health: Health,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(facts: &'a Facts, machine: &'a Platform, limits: Limits) -> Self {
        let begin_ns = facts.span.ends_ns().map_or(0, |(first, _)| first);
        let ticks = facts.cpus.keys().next().map_or(TickGrid::from_hz(250), |cpu| facts.grid(*cpu));
        Self {
            facts,
            machine,
            cpus: facts.cpus.keys().map(|cpu| (*cpu, Cpu::default())).collect(),
            quiet: Quiet::default(),
            armed: Armed::new(facts),
            rcu_runs: Runs::default(),
            util: Utilisation::new(
                machine,
                facts.cpus.iter().map(|(cpu, seen)| (*cpu, seen.highest_khz)),
                util::Rules {
                    pelt: facts.kernel.pelt(),
                    dead: facts.kernel.dead_states(),
                    ticks: TickGrid { phase_ns: ticks.after(begin_ns) - begin_ns, ..ticks },
                    shows_softirqs: facts.softirqs > 0,
                    shows_stops: facts.tick_shown_by().is_some_and(|by| by != TickShownBy::Armings),
                },
            ),
            spool: Spool::new(limits),
            base_idle_tells: facts.tick_shown_by() == Some(TickShownBy::TimerBaseIdle),
            uninterruptible: BTreeMap::new(),
            woken_on: BTreeMap::new(),
            ungoverned: (0, 0),
            replaced: 0,
            next_hole: 0,
            standstill: Standstill::since(begin_ns),
            switched: (0, 0),
            together_ns: 0,
            health: Health::default(),
        }
    }

    pub(crate) fn event(&mut self, e: &Event) {
        while let Some(&(from_ns, to_ns)) =
            self.facts.holes.get(self.next_hole).filter(|(_, to_ns)| *to_ns <= e.ts_ns)
        {
            self.next_hole += 1;
            self.quiet.forget_all(&mut self.cpus);
            self.armed.hole(to_ns);
            self.standstill.hole(from_ns, to_ns);
        }
        self.standstill.event(e.ts_ns);
        let running_ns = self.standstill.running_ns(e.ts_ns);
        if self.armed.clock_jumps(e.ts_ns) {
            // The machine was suspended, or who knows what: no governor's matter.
            self.quiet.forget_all(&mut self.cpus);
        }
        if self.facts.by_switches {
            self.idle_task(e);
        }
        if let Some(run) = self.rcu_runs.event(e) {
            let (grid, kind) = (self.facts.grid(e.cpu), self.facts.rcu_runs.kind(&run));
            self.cpu(e.cpu).rcu_ran(run.begin_ns, kind, grid);
        }
        match e.kind {
            EventKind::CpuIdle { cpu, state: Some(state) } => self.entry(cpu, e.ts_ns, Some(state)),
            EventKind::CpuIdle { cpu, state: None } => self.exit(cpu, e.ts_ns),
            EventKind::CpuIdleMiss { cpu, below, .. } => self.miss(cpu, e.ts_ns, below),
            EventKind::SchedSwitch { prev_pid, prev_state, next_pid, next_prio, .. } => {
                if sleeps(prev_state) && self.facts.programs.contains(&prev_pid) {
                    self.standstill.program_sleeps();
                }
                self.woken_on.remove(&next_pid);
                self.util.switch(e.cpu, running_ns, (prev_pid, prev_state), (next_pid, next_prio));
                self.switch(e, prev_pid, prev_state, next_pid);
            }
            EventKind::SchedWaking { pid, target_cpu } => self.waking(e, pid, target_cpu),
            EventKind::SchedWakeup { pid, target_cpu, new } => {
                self.util.woken(pid, running_ns, target_cpu, new);
                self.woken(e, pid, target_cpu);
            }
            EventKind::SchedBlockedReason { pid, .. } | EventKind::SchedStat { pid, .. } => {
                self.waits_no_more(pid)
            }
            EventKind::SchedMigrateTask { pid, dest_cpu, .. } => {
                self.util.move_to(pid, running_ns, dest_cpu);
                if self.woken_on.contains_key(&pid) {
                    self.chosen_for(e, pid, dest_cpu);
                }
            }
            EventKind::CpuFrequency { cpu, khz } => self.util.frequency(cpu, running_ns, khz),
            EventKind::PeltCfs { cpu, util } => self.util.recorded(cpu, running_ns, util),
            EventKind::SchedWakeIdleWithoutIpi { cpu } => self.remote_wake(cpu),
            EventKind::IpiSendCpu { cpu } => self.sent(e, cpu),
            EventKind::IpiSendCpumask { cpus } | EventKind::IpiRaise { cpus, .. } => {
                cpus.iter().for_each(|cpu| self.sent(e, cpu));
            }
            EventKind::TickStop { success: true, .. } => self.tick_stopped(e, e.cpu),
            EventKind::TimerBaseIdle { is_idle: true, cpu } if self.base_idle_tells => {
                self.tick_stopped(e, cpu);
            }
            EventKind::IdleChosen { cpu, .. } => self.cpu(cpu).chosen = true,
            EventKind::IdleEnabled { cpu, governor, .. } => self.put_in_charge(cpu, governor),
            EventKind::SuspendResume { begins } => self.suspends(begins),
            EventKind::CpuHotplug { cpu } => self.switches(cpu, e.cpu),
            EventKind::Lost { .. } => self.lost(e.cpu),
            _ => {
                if let Some(fired) = self.armed.event(e) {
                    self.fired(e, fired);
                }
                if let EventKind::HrtimerStart { function, .. } = e.kind
                    && self.facts.is_tick(function)
                {
                    self.tick_armed(e.cpu, e.ts_ns);
                }
                self.interrupt(e);
            }
        }
        if e.pid > 0 && self.facts.switches == 0 {
            self.task_seen(e.cpu, e.ts_ns);
        }
        self.quiet.count_if_many(&mut self.cpus, self.facts);
    }

    fn put_in_charge(&mut self, cpu: u32, governor: GovernorName) {
        let c = self.cpu(cpu);
        if c.governor.replace(governor) != Some(governor) {
            let chosen = std::mem::take(&mut c.governed);
            self.replaced += chosen;
        }
    }

    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        self.quiet.touch(cpu);
        self.cpus.entry(cpu).or_default()
    }

    fn table(&self, cpu: u32) -> Option<&'a IdleTable> {
        self.machine.cluster_of(cpu).map(|c| &c.table)
    }

    fn tick_stopped(&mut self, e: &Event, cpu: u32) {
        let ts_ns = e.ts_ns;
        self.util.tick_stopped(cpu);
        if matches!(e.kind, EventKind::TickStop { .. }) && self.armed.stops_again(cpu) {
            self.cpu(cpu).spanned += 1;
        }
        self.armed.tick_stops(cpu);
        let c = self.cpu(cpu);
        if e.pid > 0 && !c.in_visit {
            c.off_since_task = true;
            return;
        }
        if c.stopped && c.stay.as_ref().is_some_and(|s| s.exit_ns.is_some()) {
            // Only one that went on in between is stopped again.
            self.begins_again(cpu, ts_ns);
        }
        let c = self.cpu(cpu);
        c.stopped = true;
        c.tick_seen = true;
        c.stopped_at_ns = ts_ns;
        c.no_callbacks_ns = c.no_callbacks_ns.max(ts_ns);
    }

    /// A step of a suspend begins or ends: who is idle then is so in a suspend.
    fn suspends(&mut self, begins: bool) {
        self.standstill.step(begins);
        let open = self.cpus.values_mut().filter_map(|c| c.stay.as_mut()).filter(|s| s.exit_ns.is_none());
        open.for_each(|stay| stay.in_suspend = true);
    }

    /// `by` switches `cpu` off or on. A CPU that is off has its idle task as the current one, but leaves its idle state before.
    fn switches(&mut self, cpu: u32, by: u32) {
        if cpu == by || !self.facts.by_switches || !self.cpus.contains_key(&cpu) {
            return;
        }
        if let Some(stay) = self.cpu(cpu).stay.as_mut().filter(|s| s.exit_ns.is_none()) {
            stay.switched = true;
        }
    }

    fn lost(&mut self, cpu: u32) {
        self.standstill.lost();
        let c = self.cpu(cpu);
        c.forget();
    }
}

fn clip(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(u32::MAX)
}

fn place(cpu: u32, ts_ns: u64) -> String {
    format!("CPU {cpu} at {}.{:09} s", ts_ns / 1_000_000_000, ts_ns % 1_000_000_000)
}
