// SPDX-License-Identifier: GPL-2.0-only
//! How long clocks need up and down.

use idlewise_model::{Counted, Entry, Ledger};
use idlewise_parts::{Machine, SimEvent, Watch};
use serde::{Deserialize, Serialize};

/// The ways of one clock from end to end, ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ramp {
    /// From its first CPU's getting busy at the lowest clock, to the highest.
    pub(crate) total_ns: Counted,
    /// From the first step up, to the highest.
    pub(crate) climb_ns: Counted,
    /// From its last CPU's getting idle at the highest clock, to the lowest.
    pub(crate) decay_ns: Counted,
}

/// Watches all clocks of a machine.
#[derive(Debug)]
pub(crate) struct Ramps {
    ramps: Vec<Ramp>,
    clocks: Vec<Clock>,
    /// The clock of each CPU, by place, and whether the CPU is busy.
    cpus: Vec<(usize, bool)>,
}

#[derive(Clone, Debug, Default)]
struct Clock {
    lowest_khz: u32,
    highest_khz: u32,
    khz: u32,
    /// CPUs that run something.
    busy: u32,
    /// A way up began: all of it, and its first step.
    up: Option<u64>,
    step: Option<u64>,
    /// A way down began.
    down: Option<u64>,
}

impl Ramps {
    pub(crate) fn new(machine: &Machine<'_>) -> Self {
        let clock = |c: &idlewise_parts::ClockSpec<'_>| {
            let khz = |p: Option<&idlewise_parts::Point<'_>>| p.map_or(0, |p| p.khz);
            let lowest_khz = khz(c.points.first());
            Clock { lowest_khz, highest_khz: khz(c.points.last()), khz: lowest_khz, ..Clock::default() }
        };
        Self {
            ramps: vec![Ramp::default(); machine.clocks.len()],
            clocks: machine.clocks.iter().map(clock).collect(),
            cpus: machine.cpus.iter().map(|c| (c.clock, false)).collect(),
        }
    }

    /// What was seen, by clock.
    pub(crate) fn ramps(mut self) -> Vec<Ramp> {
        for ramp in &mut self.ramps {
            for times in [&mut ramp.total_ns, &mut ramp.climb_ns, &mut ramp.decay_ns] {
                times.settle();
            }
        }
        self.ramps
    }

    fn busy(&mut self, cpu: u32, busy: bool, at_ns: u64) {
        let Some((clock, was)) = self.cpus.get_mut(cpu as usize) else { return };
        if std::mem::replace(was, busy) == busy {
            return;
        }
        let Some(c) = self.clocks.get_mut(*clock) else { return };
        c.busy = if busy { c.busy + 1 } else { c.busy.saturating_sub(1) };
        match (busy, c.busy) {
            (true, 1) => {
                c.down = None;
                if c.khz == c.lowest_khz {
                    (c.up, c.step) = (Some(at_ns), None);
                }
            }
            (false, 0) => {
                // What was idle in between is no ramp.
                (c.up, c.step) = (None, None);
                c.down = (c.khz == c.highest_khz).then_some(at_ns);
            }
            _ => {}
        }
    }

    fn clock(&mut self, cpu: u32, khz: u32, at_ns: u64) {
        let Some((clock, _)) = self.cpus.get(cpu as usize) else { return };
        let (Some(c), Some(ramp)) = (self.clocks.get_mut(*clock), self.ramps.get_mut(*clock)) else { return };
        let before = std::mem::replace(&mut c.khz, khz);
        if before == khz {
            return;
        }
        let add = |to: &mut Counted, from: u64| to.push(u32::try_from(at_ns - from).unwrap_or(u32::MAX));
        if khz == c.lowest_khz {
            // It begins anew where a busy CPU falls back.
            (c.up, c.step) = ((c.busy > 0).then_some(at_ns), None);
            if let Some(from) = c.down.take() {
                add(&mut ramp.decay_ns, from);
            }
        } else if let Some(from) = c.up {
            let step = *c.step.get_or_insert(at_ns);
            if khz == c.highest_khz {
                add(&mut ramp.total_ns, from);
                add(&mut ramp.climb_ns, step);
                (c.up, c.step) = (None, None);
            }
        }
    }
}

impl Ledger for Ramps {
    fn entry(&mut self, _: &Entry) {}
}

impl Watch for Ramps {
    #[inline]
    fn seen(&mut self, at_ns: u64, cpu: u32, what: SimEvent) {
        match what {
            SimEvent::Switch { next, .. } => self.busy(cpu, next.is_some(), at_ns),
            SimEvent::Clock { khz } => self.clock(cpu, khz, at_ns),
            _ => {}
        }
    }
}
