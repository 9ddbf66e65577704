// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::{Choice, Device, Inputs};
use idlewise_model::{IdleTable, Prices};

use crate::{Chooser, Moment, TickAhead};

/// Knows when the next event comes and takes the state that keeps the latency limit and costs least until then
/// (`governor-behaviour.md` 12.1). It stops the tick where that pays until the end of the visit; where the core keeps the tick all the
/// same, it counts with it.
///
/// Without prices it takes the deepest enabled state that pays by its target residency: under the core's own accounting it then has
/// no miss, as long as exit latencies are as declared; but a polling loop goes on after an interrupt that wakes nobody, which it
/// does not foresee.
#[derive(Debug)]
pub struct Oracle<'t> {
    table: &'t IdleTable,
    prices: Option<Prices>,
    disabled: u16,
    device: Device,
}

impl<'t> Oracle<'t> {
    /// An oracle for a CPU with the states of `table`, whose idle periods cost `prices`.
    #[must_use]
    pub fn new(table: &'t IdleTable, prices: Option<Prices>) -> Self {
        Self { table, prices, disabled: 0, device: Device::default() }
    }
}

/// The states of `table` that the oracle may choose: on (bit i of `disabled` for one that is not), not refused, within the limit; where
/// there is none, the last resort.
#[inline]
#[must_use]
pub fn choosable(table: &IdleTable, disabled: u16, latency_limit_ns: i64) -> u16 {
    // It knows what will be refused.
    let off = disabled | table.refused();
    let on = || table.states().iter().enumerate().filter(|(i, _)| off >> i & 1 == 0);
    let good =
        on().filter(|(_, s)| s.exit_latency_ns <= latency_limit_ns).fold(0, |mask, (i, _)| mask | 1 << i);
    // Nothing keeps the limit: the first that is on, and state 0 where nothing is.
    if good == 0 { 1 << on().next().map_or(0, |(i, _)| i) } else { good }
}

/// What the oracle chooses at `moment` among the states of `table` that are not `disabled` (bit i for state i).
#[inline]
#[must_use]
pub fn foresee(
    table: &IdleTable,
    prices: Option<&Prices>,
    disabled: u16,
    moment: &Moment,
    tick: TickAhead,
) -> Choice {
    let stop_tick = moment.wake_at_ns > tick.due_ns && moment.stop_pays;
    let stopped = stop_tick && tick.may_stop;
    let wake_at_ns = if stopped { moment.wake_at_ns } else { moment.wake_at_ns.min(tick.due_ns) };
    let until_ns = wake_at_ns.saturating_sub(moment.start_ns);
    let among = choosable(table, disabled, moment.latency_limit_ns);
    let best = match prices {
        Some(prices) => prices.cheapest(among, until_ns).map(|(i, _)| i),
        None => {
            let pays =
                |i: &usize| table.states().get(*i).is_some_and(|s| s.target_residency_ns <= until_ns as i64);
            let all = || (0..table.len()).filter(|i| among >> i & 1 == 1);
            // Where none pays, the shallowest.
            all().rev().find(pays).or_else(|| all().next())
        }
    };
    let Some(index) = best else { unreachable!("something can always be chosen") };
    Choice { index: index as i32, stop_tick, asked_sleep_length: false }
}

impl Chooser for Oracle<'_> {
    const FORESEES: bool = true;

    #[inline]
    fn select(&mut self, _inputs: &Inputs, moment: &Moment, tick: TickAhead) -> Choice {
        foresee(self.table, self.prices.as_ref(), self.disabled, moment, tick)
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
