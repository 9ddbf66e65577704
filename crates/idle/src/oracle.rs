// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::{Choice, Device, Inputs};
use idlewise_model::IdleTable;

use crate::{Chooser, Moment, TickAhead};

/// Knows when the next event comes and takes the deepest enabled state that keeps the latency limit and pays for
/// itself (`governor-behaviour.md` 12.1). It stops the tick whenever the event lies beyond the next tick; where the
/// core keeps the tick all the same, it counts with it. Under the core's own accounting it has no miss, as long as
/// exit latencies are as declared; but a polling loop goes on after an interrupt that wakes nobody, which it does not
/// foresee.
#[derive(Debug)]
pub struct Oracle<'t> {
    table: &'t IdleTable,
    disabled: u16,
    device: Device,
}

impl<'t> Oracle<'t> {
    /// An oracle for a CPU with the states of `table`.
    #[must_use]
    pub fn new(table: &'t IdleTable) -> Self {
        Self { table, disabled: 0, device: Device::default() }
    }
}

/// What the oracle chooses at `moment` among the states of `table` that are not `disabled` (bit i for state i).
#[inline]
#[must_use]
pub fn foresee(table: &IdleTable, disabled: u16, moment: &Moment, tick: TickAhead) -> Choice {
    let wake_at_ns = if tick.may_stop { moment.wake_at_ns } else { moment.wake_at_ns.min(tick.due_ns) };
    let until_ns = wake_at_ns.saturating_sub(moment.start_ns) as i64;
    // It knows what will be refused.
    let off = disabled | table.refused();
    let fits = |i: usize| {
        table.states().get(i).is_some_and(|s| {
            off >> i & 1 == 0
                && s.exit_latency_ns <= moment.latency_limit_ns
                && s.target_residency_ns <= until_ns
        })
    };
    let last_resort = || {
        let on = || table.states().iter().enumerate().filter(|(i, _)| off >> i & 1 == 0);
        // Where none pays, the limit still counts.
        let quick = on().find(|(_, s)| s.exit_latency_ns <= moment.latency_limit_ns);
        quick.or_else(|| on().next()).map_or(0, |(i, _)| i)
    };
    let index = (0..table.len()).rev().find(|&i| fits(i)).unwrap_or_else(last_resort);
    Choice { index: index as i32, stop_tick: moment.wake_at_ns > tick.due_ns, asked_sleep_length: true }
}

impl Chooser for Oracle<'_> {
    #[inline]
    fn select(&mut self, _inputs: &Inputs, moment: &Moment, tick: TickAhead) -> Choice {
        foresee(self.table, self.disabled, moment, tick)
    }

    #[inline]
    fn reflect(&mut self, _entered: usize, _now_ns: u64) {
        self.device.got_tick = false;
    }

    #[inline]
    fn device(&mut self) -> &mut Device {
        &mut self.device
    }

    fn set_disabled(&mut self, mask: u16) {
        self.disabled = mask;
    }
}
