// SPDX-License-Identifier: GPL-2.0-only
//! The load signals of a machine, kept by the C of `signals/`: PELT always, since the scheduler itself uses it; WALT
//! beside it where it feeds the frequency governors.

use idlewise_freq::{Need, Signals};
use idlewise_signal::pelt::{Limits, Pelt};
use idlewise_signal::walt::{self, Walt};

use crate::state::cpu::Cpu;
use crate::state::task::{Task, Tasks};
use idlewise_parts::{Machine, SimError};

/// What frequency governors read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The kernel's per-entity load tracking.
    Pelt,
    Walt(walt::Config),
}

#[derive(Debug)]
pub(crate) struct Load {
    pub(crate) pelt: Pelt,
    pub(crate) walt: Option<Walt>,
    /// Tasks have limits of their utilisation.
    pub(crate) clamped: bool,
}

impl Load {
    pub(crate) fn new(
        pelt: Pelt,
        signal: Signal,
        clamped: bool,
        machine: &Machine<'_>,
    ) -> Result<Self, SimError> {
        let cpus = machine.cpus.iter().map(|c| walt::CpuSpec {
            capacity: c.capacity,
            max_freq_khz: machine.clocks[c.clock].points.last().map_or(0, |p| p.khz),
        });
        let walt = match signal {
            Signal::Pelt => None,
            Signal::Walt(config) => Some(Walt::new(config, &cpus.collect::<Vec<_>>())?),
        };
        Ok(Self { pelt, walt, clamped })
    }

    /// Tells WALT, if it listens. What it refuses is a mistake of the simulator's, which would show in its sums.
    ///
    /// # Panics
    /// Then.
    #[inline]
    pub(crate) fn tell(&mut self, what: impl FnOnce(&mut Walt) -> Result<(), walt::WaltError>) {
        if let Some(walt) = &mut self.walt {
            let told = what(walt);
            assert_eq!(told, Ok(()), "WALT refuses what the simulator says");
        }
    }

    /// A task's number in WALT; 0 without.
    pub(crate) fn number(&mut self, cpu: u32) -> u32 {
        let Some(walt) = &mut self.walt else { return 0 };
        match walt.add_task(cpu, None) {
            Ok(number) => number,
            Err(why) => unreachable!("WALT refuses a new task on CPU {cpu}: {why}"),
        }
    }

    /// Time has passed for a CPU's averages.
    #[inline]
    pub(crate) fn pass(&self, cpu: &mut Cpu<'_>, now_ns: u64) {
        self.pelt.pass(&mut cpu.pelt, now_ns, 0, 0);
    }

    /// How busy an idle governor sees its CPU.
    #[inline]
    pub(crate) fn busy(&self, cpu: &Cpu<'_>) -> u32 {
        self.pelt.busy(&cpu.pelt) as u32
    }
}

/// The signals as frequency governors read them; CPUs are places.
pub(crate) struct View<'s, 't> {
    pub(crate) load: &'s Load,
    pub(crate) cpus: &'s [Cpu<'t>],
    pub(crate) tasks: &'s Tasks,
    pub(crate) machine: &'s Machine<'t>,
}

impl View<'_, '_> {
    pub(crate) fn limits(&self, c: usize) -> Limits {
        let cpu = &self.cpus[c];
        let all = cpu.first.iter().chain(&cpu.curr);
        let rank = |t: &u32| self.tasks[*t].rank();
        let (min, max) = self.clamps_of(c);
        Limits {
            real_time: all.clone().any(|t| (1..1000).contains(&rank(t))),
            clamps: self.load.clamped,
            clamp_min: min as u32,
            clamp_max: max as u32,
            ..Limits::default()
        }
    }

    /// The limits of a CPU: the highest of each that its tasks have, deadline tasks aside.
    pub(crate) fn clamps_of(&self, c: usize) -> (u64, u64) {
        if !self.load.clamped {
            return (0, 1024);
        }
        let cpu = &self.cpus[c];
        let all = cpu.first.iter().chain(cpu.fair.waiting()).chain(&cpu.curr).map(|t| &self.tasks[*t]);
        // A task that goes to sleep is no longer queued when governors are asked about it.
        let counts = |t: &&Task| t.rank() < 1000 && (!t.is_fair() || t.pelt.is_queued());
        let widest = |a: (u64, u64), b: (u64, u64)| (a.0.max(b.0), a.1.max(b.1));
        all.filter(counts).map(Task::clamps).reduce(widest).unwrap_or((0, 1024))
    }

    fn walt_util(&self, cpu: u32) -> Option<u64> {
        let known = |util: Option<u32>| match util {
            Some(util) => u64::from(util),
            None => unreachable!("WALT knows no CPU {cpu}"),
        };
        self.load.walt.as_ref().map(|w| known(w.frequency_util(cpu)))
    }
}

impl Signals for View<'_, '_> {
    fn capacity(&self, cpu: u32) -> u64 {
        u64::from(self.machine.cpus[cpu as usize].capacity)
    }

    fn need(&self, cpu: u32) -> Need {
        if let Some(util) = self.walt_util(cpu) {
            return Need { util, min: 0, max: self.capacity(cpu) };
        }
        let c = cpu as usize;
        let rq = &self.cpus[c].pelt;
        let need = self.load.pelt.need(rq, self.load.pelt.cpu_util_boost(rq), &self.limits(c));
        Need { util: need.util, min: need.min, max: need.max }
    }

    fn freq_util(&self, cpu: u32) -> u64 {
        if let Some(util) = self.walt_util(cpu) {
            return util;
        }
        let c = cpu as usize;
        let rq = &self.cpus[c].pelt;
        self.load.pelt.need(rq, self.load.pelt.cpu_util(rq), &self.limits(c)).util
    }

    fn util(&self, cpu: u32) -> u64 {
        self.walt_util(cpu).unwrap_or_else(|| self.cpus[cpu as usize].pelt.fair().util)
    }

    fn windowed(&self) -> bool {
        self.load.walt.is_some()
    }

    fn rt_util(&self, cpu: u32) -> u64 {
        self.cpus[cpu as usize].pelt.real_time().util
    }

    fn clamps(&self, cpu: u32) -> (u64, u64) {
        self.clamps_of(cpu as usize)
    }

    fn capped(&self, cpu: u32) -> bool {
        let rq = &self.cpus[cpu as usize].pelt;
        let max = self.clamps_of(cpu as usize).1;
        max != 1024 && self.load.pelt.cpu_util(rq) + rq.real_time().util >= max
    }

    fn idle_calls(&self, cpu: u32) -> u64 {
        self.cpus[cpu as usize].idle_entries
    }

    fn awake_ns(&self, cpu: u32, now_ns: u64) -> u64 {
        let cpu = &self.cpus[cpu as usize];
        let slept = cpu.asleep_since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        now_ns.saturating_sub(cpu.asleep_ns + slept)
    }

    fn delivered(&self, cpu: u32) -> Option<u64> {
        let c = cpu as usize;
        Some(self.cpus[c].speed_alone / u64::from(self.machine.cpus[c].speed).max(1))
    }

    fn idle_ns(&self, cpu: u32, now_ns: u64) -> u64 {
        let cpu = &self.cpus[cpu as usize];
        let running = if cpu.curr.is_some() { now_ns.saturating_sub(cpu.charged_ns) } else { 0 };
        now_ns.saturating_sub(cpu.busy_ns + running)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use idlewise_signal::{pelt, walt::WaltError};

    fn load() -> Load {
        let spec = walt::CpuSpec { capacity: 1024, max_freq_khz: 2_000_000 };
        let pelt = Pelt::new(pelt::Config::kernel(6, 12).unwrap()).unwrap();
        Load { pelt, walt: Some(Walt::new(walt::Config::android(), &[spec]).unwrap()), clamped: false }
    }

    #[test]
    #[should_panic(expected = "WALT refuses what the simulator says")]
    fn what_walt_refuses_stops_the_simulation() {
        load().tell(|_| Err(WaltError::NoTask(7)));
    }

    #[test]
    #[should_panic(expected = "WALT refuses a new task on CPU 3")]
    fn a_task_that_walt_does_not_take_stops_the_simulation() {
        load().number(3);
    }
}
