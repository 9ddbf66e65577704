// SPDX-License-Identifier: GPL-2.0-only
use idlewise_freq::{Config, Driver, Limits, Policy, Setup, Table};

use crate::{ClockSpec, Machine, SimError};

/// A clock and who sets it.
#[derive(Debug)]
pub struct Clock {
    /// Nothing where the platform knows one point only.
    pub policy: Option<Policy>,
    /// The point that it runs at.
    pub point: usize,
    /// The point that its governor set; the one that it runs at, where no ceiling is below.
    pub asked: usize,
    /// Announcements of timers before are over.
    pub turn: u32,
    /// Announcements of ends of changes before are over.
    pub done_turn: u32,
}

impl Clock {
    /// The clocks of `machine`, each under a governor of `config`. They begin at their lowest point, as where nothing has
    /// run for long.
    ///
    /// # Errors
    /// [`SimError::Frequency`] where a governor cannot work with a clock.
    pub fn all(machine: &Machine<'_>, config: &Config) -> Result<Vec<Self>, SimError> {
        let clock = |spec: &ClockSpec<'_>| {
            let known = machine.clusters.get(spec.cluster).and_then(|c| c.clock.as_ref());
            let Some(clock) = known.filter(|_| spec.points.len() > 1) else {
                return Ok(Self { policy: None, point: 0, asked: 0, turn: 0, done_turn: 0 });
            };
            let khz: Vec<u32> = spec.points.iter().map(|p| p.khz).collect();
            let (lowest, highest) = (khz.first().copied().unwrap_or(0), khz.last().copied());
            let driver = Driver {
                transition_latency_ns: clock.transition_latency_ns,
                transition_delay_us: clock.transition_delay_us,
                fast_switch: clock.fast_switch,
                invariant: clock.invariant,
                reference_khz: highest.filter(|_| clock.invariant),
                any_cpu: true,
                ..Driver::default()
            };
            let setup = Setup {
                cpus: spec.cpus.iter().map(|c| *c as u32).collect(),
                table: Table::new(khz)?,
                limits: Limits {
                    max_khz: clock.max_khz.map_or(Limits::NONE.max_khz, |khz| khz as u32),
                    ..Limits::NONE
                },
                start_khz: lowest,
                driver,
                tick_ns: machine.grid.period_ns,
            };
            let policy = Some(Policy::new(setup, config)?);
            Ok(Self { policy, point: 0, asked: 0, turn: 0, done_turn: 0 })
        };
        machine.clocks.iter().map(clock).collect()
    }
}
