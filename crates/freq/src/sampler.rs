// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock, RateRule, passed};
use crate::params::{Default, ParamInfo, Params, period, switch};
use crate::{Hook, Signals};

/// As ondemand and conservative declare it.
pub(crate) const SAMPLING_RATE: ParamInfo = period(
    "sampling_rate",
    Default::Derived("two ticks, or 1.5 x latency if that is longer"),
    "from one sample to the next",
);

/// As all governors declare it that read idle times.
pub(crate) const IO_IS_BUSY: ParamInfo =
    switch("io_is_busy", 0, "1: waiting for I/O counts as busy; the kernel's default for ondemand on Intel");

/// How ondemand and conservative look at their CPUs: from time to time, how much of the time since was not idle
/// (signal-behaviour.md C7). The hook drives it, so that nothing is looked at while all CPUs idle.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    /// us.
    pub(crate) rate_us: u64,
    /// Until the next sample, ns.
    pub(crate) delay_ns: u64,
    last_ns: u64,
    io_is_busy: bool,
    cpus: Vec<PerCpu>,
}

#[derive(Clone, Debug, Default)]
struct PerCpu {
    at_us: u64,
    idle_us: u64,
    /// The load to use again after a long idle, once.
    prev_load: u64,
}

/// What a sample found: the busiest CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// %, where a CPU that idled long says what it said before.
    pub(crate) load: u64,
    /// %, as it was.
    pub(crate) raw: u64,
    /// If a CPU idled for more than two sampling periods: the least number of periods that one of them did.
    pub(crate) idle_periods: Option<u64>,
}

impl Sampler {
    pub(crate) fn new(params: &Params, clock: &Clock) -> Self {
        let least = clock.tick_ns.saturating_mul(2) / 1000;
        let derived = least.max(RateRule::Kernel6_12.limit_us(&clock.driver));
        let rate_us = params.if_known("sampling_rate").unwrap_or(derived).max(1);
        Self {
            rate_us,
            delay_ns: rate_us.saturating_mul(1000),
            last_ns: 0,
            io_is_busy: params.is_on("io_is_busy"),
            cpus: vec![PerCpu::default(); clock.cpus.len()],
        }
    }

    pub(crate) fn start(&mut self, clock: &Clock, t_ns: u64, signals: &dyn Signals) {
        let io_is_busy = self.io_is_busy;
        for (this, &cpu) in self.cpus.iter_mut().zip(&clock.cpus) {
            *this =
                PerCpu { at_us: t_ns / 1000, idle_us: idle_us(signals, cpu, t_ns, io_is_busy), prev_load: 0 };
        }
    }

    /// New limits: the clock goes within them, and the next hook takes a sample.
    pub(crate) fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        self.delay_ns = 0;
        clock.apply_limits(t_ns)
    }

    /// Whether this call is to take a sample. None is taken while the driver is at work.
    pub(crate) fn due(&mut self, clock: &Clock, hook: &Hook) -> bool {
        let due = clock.index(hook.cpu).is_some()
            && clock.hears(hook.from)
            && !clock.busy()
            && passed(hook.t_ns, self.last_ns, self.delay_ns);
        if due {
            self.last_ns = hook.t_ns;
        }
        due
    }

    /// Looks at all CPUs; `period_us` is what idling is long against.
    pub(crate) fn sample(
        &mut self,
        clock: &Clock,
        t_ns: u64,
        period_us: u64,
        signals: &dyn Signals,
    ) -> Sample {
        let mut found = Sample::default();
        let io_is_busy = self.io_is_busy;
        for (this, &cpu) in self.cpus.iter_mut().zip(&clock.cpus) {
            let now =
                PerCpu { at_us: t_ns / 1000, idle_us: idle_us(signals, cpu, t_ns, io_is_busy), prev_load: 0 };
            let elapsed = now.at_us.saturating_sub(this.at_us);
            let idle = now.idle_us.saturating_sub(this.idle_us);
            let long = idle > period_us.saturating_mul(2);
            let raw = match elapsed.saturating_sub(idle).saturating_mul(100).checked_div(elapsed) {
                Some(load) => load,
                None => this.prev_load,
            };
            let again = elapsed != 0 && long && this.prev_load != 0;
            let load = if again { this.prev_load } else { raw };
            let prev_load = if again { 0 } else { load };
            *this = PerCpu { prev_load, ..now };
            found.load = found.load.max(load);
            found.raw = found.raw.max(raw);
            if long {
                let periods = idle / period_us.max(1);
                found.idle_periods = Some(found.idle_periods.map_or(periods, |least| least.min(periods)));
            }
        }
        found
    }
}

/// Idle time as the samplers count it, us.
pub(crate) fn idle_us(signals: &dyn Signals, cpu: u32, t_ns: u64, io_is_busy: bool) -> u64 {
    let iowait = if io_is_busy { 0 } else { signals.iowait_ns(cpu, t_ns) };
    signals.idle_ns(cpu, t_ns).saturating_add(iowait) / 1000
}
