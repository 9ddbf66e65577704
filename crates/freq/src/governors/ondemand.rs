// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock};
use crate::governor::{Answer, Governor, GovernorInfo};
use crate::params::{Params, count, percent};
use crate::sampler::{IO_IS_BUSY, SAMPLING_RATE, Sampler};
use crate::{Hook, Relation, Signals};

pub(super) const INFO: GovernorInfo = GovernorInfo {
    id: "ondemand",
    summary: "to the highest clock when a sample is busy, else in proportion to the load",
    kernel: "6.12",
    fed_by: "idle_ns, iowait_ns",
    evaluates: "hook, a sampling period after the last sample",
    notes: "The hook drives the samples, so no sample wakes an idle CPU up. After more than two periods of idling the \
            previous load counts once more. With `powersave_bias`, two clocks share the period, the higher first.",
    follows_scheduler: false,
    params: &[
        SAMPLING_RATE,
        percent("up_threshold", 1, 100, 95, "a load above this asks for the highest clock"),
        count(
            "sampling_down_factor",
            1,
            100_000,
            1,
            "at the highest clock samples are this many times farther apart",
        ),
        count(
            "powersave_bias",
            0,
            1000,
            0,
            "the target is lowered by this many thousandths; two clocks share the time",
        ),
        IO_IS_BUSY,
    ],
    contradiction: None,
    new: |params, clock| Box::new(Ondemand::new(params, clock)),
};

/// To the highest clock as soon as a sample is nearly all busy, else in proportion to the load (signal-behaviour.md
/// C7).
#[derive(Clone, Debug)]
struct Ondemand {
    sampler: Sampler,
    up_threshold: u64,
    down_factor: u64,
    bias: u64,
    mult: u64,
    /// With a bias: the lower of two clocks that share the time, kHz, and for how long it will run, ns.
    low: Option<(u32, u64)>,
}

impl Ondemand {
    fn new(params: &Params, clock: &Clock) -> Self {
        Self {
            sampler: Sampler::new(params, clock),
            up_threshold: params.number("up_threshold"),
            down_factor: params.number("sampling_down_factor"),
            bias: params.number("powersave_bias"),
            mult: 1,
            low: None,
        }
    }

    /// The clock to begin a period with, so that on average it runs `bias` thousandths below the target: the higher of the
    /// two next to that average, and the lower later.
    fn share(&mut self, clock: &Clock, target: u32, relation: Relation) -> u32 {
        let asked = u64::from(clock.resolve(target, relation));
        let average = asked - asked * self.bias.min(1000) / 1000;
        let average_khz = u32::try_from(average).unwrap_or(u32::MAX);
        let low = clock.resolve(average_khz, Relation::HighEfficient);
        let high = clock.resolve(average_khz, Relation::LowEfficient);
        if low >= high {
            return low;
        }
        let apart = u64::from(high - low);
        let above = average.saturating_sub(u64::from(low)).min(apart);
        let high_us = above.saturating_mul(self.sampler.rate_us).saturating_add(apart / 2) / apart;
        let low_us = self.sampler.rate_us.saturating_sub(high_us);
        self.low = Some((low, low_us.saturating_mul(1000)));
        high
    }
}

impl Governor for Ondemand {
    fn start(&mut self, clock: &mut Clock, t_ns: u64, signals: &dyn Signals) -> Answer {
        self.sampler.start(clock, t_ns, signals);
        Answer::default()
    }

    fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        self.low = None;
        self.sampler.limits(clock, t_ns)
    }

    fn hook(&mut self, clock: &mut Clock, hook: &Hook, signals: &dyn Signals) -> Change {
        if !self.sampler.due(clock, hook) {
            return Change::None;
        }
        if let Some((khz, for_ns)) = self.low.take() {
            self.sampler.delay_ns = for_ns;
            return clock.drive(hook.t_ns, khz, Relation::HighEfficient);
        }
        let period_us = self.sampler.rate_us.saturating_mul(self.mult);
        let load = self.sampler.sample(clock, hook.t_ns, period_us, signals).load;
        let limits = clock.limits;
        let (khz, relation) = if load > self.up_threshold {
            if clock.cur < limits.max_khz {
                self.mult = self.down_factor;
            }
            if self.bias == 0 {
                (limits.max_khz, Relation::HighEfficient)
            } else {
                (self.share(clock, limits.max_khz, Relation::HighEfficient), Relation::LowEfficient)
            }
        } else {
            self.mult = 1;
            let (lowest, highest) = (clock.table.lowest(), clock.table.highest());
            let part = u64::from(highest - lowest) * load.min(100) / 100;
            let khz = lowest.saturating_add(u32::try_from(part).unwrap_or(u32::MAX));
            let khz = if self.bias == 0 { khz } else { self.share(clock, khz, Relation::LowEfficient) };
            (khz, Relation::CloseEfficient)
        };
        let next_us = self.sampler.rate_us.saturating_mul(self.mult);
        self.sampler.delay_ns = match self.low {
            Some((_, low_ns)) => (self.sampler.rate_us.saturating_mul(1000)).saturating_sub(low_ns),
            None => next_us.saturating_mul(1000),
        };
        clock.drive(hook.t_ns, khz, relation)
    }
}
