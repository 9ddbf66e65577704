// SPDX-License-Identifier: GPL-2.0-only
//! The ceilings of a machine's clocks: power limits, and turbo by active cores.

use idlewise_power::{ClockDomain, Control, ControlSetup, PowerRecord, PowerSample, Turbo};

use crate::clock::Clock;
use crate::energy::Meter;
use crate::{ClockSpec, Machine};

/// What holds the clocks of a machine down.
#[derive(Clone, Debug)]
pub struct Ceilings {
    control: Control,
}

impl Ceilings {
    /// Of `machine`; nothing where no ceiling can come to hold.
    #[must_use]
    pub fn new(machine: &Machine<'_>) -> Option<Self> {
        machine.has_ceilings().then(|| {
            let setup = ControlSetup {
                limits: machine.power_limits,
                step_ns: machine.power_step_ns,
                domains: machine.clocks.iter().map(|c| domain(machine, c)).collect(),
                idle_uw: machine.idle_uw(),
                heat: machine.heat,
            };
            Self { control: Control::new(setup) }
        })
    }

    /// When limits are sampled next, ns.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        self.control.next_ns()
    }

    /// The point that a clock runs at whose governor set `asked`.
    #[must_use]
    pub fn point(&self, clock: usize, asked: usize) -> usize {
        asked.min(self.control.ceiling(clock))
    }

    /// Samples what was drawn, and moves the ceilings.
    pub fn sample(&mut self, machine: &Machine<'_>, now_ns: u64, meter: &mut Meter, clocks: &[Clock]) {
        let drawn_fj = meter.drawn_fj(machine, now_ns);
        let (active, cores) = meter.take_activity(machine);
        let asked: Vec<usize> = clocks.iter().map(|c| c.asked).collect();
        let running: Vec<usize> = clocks.iter().map(|c| c.point).collect();
        let sample = PowerSample {
            now_ns,
            drawn_fj,
            asked: &asked,
            running: &running,
            active: &active,
            cores: &cores,
        };
        self.control.sample(&sample);
        meter.leak(now_ns, self.control.more_leakage_uw());
    }

    /// What was seen until the last sample.
    #[must_use]
    pub fn record(&self) -> &PowerRecord {
        self.control.record()
    }
}

fn domain(machine: &Machine<'_>, spec: &ClockSpec<'_>) -> ClockDomain {
    let share = |c: &usize| machine.thread_speed(*c, machine.cpus[*c].core.len());
    let cpus: u64 = spec.cpus.iter().map(share).sum();
    let full = |p: &crate::Point<'_>| {
        p.energy.active_power_uw * cpus / 1000 + p.shared.map_or(0, |s| s.active_power_uw)
    };
    let clock = machine.clusters[spec.cluster].clock.as_ref();
    let turbo = clock.map_or(&[][..], |c| c.turbo.as_slice());
    let at = |khz: u64| clock.map_or(0, |c| c.point_at(khz));
    ClockDomain {
        full_uw: spec.points.iter().map(full).collect(),
        base: clock.and_then(|c| c.base_khz).map_or(0, at),
        turbo: turbo.iter().map(|t| Turbo { cores: t.cores as usize, point: at(t.khz) }).collect(),
    }
}
