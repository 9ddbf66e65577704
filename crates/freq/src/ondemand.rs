// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock};
use crate::sampler::Sampler;
use crate::{Config, Hook, Relation, Signals};

/// To the highest clock as soon as a sample is nearly all busy, else in proportion to the load (signal-behaviour.md
/// C7).
#[derive(Clone, Debug)]
pub(crate) struct Ondemand {
    pub(crate) sampler: Sampler,
    up_threshold: u64,
    down_factor: u64,
    bias: u64,
    mult: u64,
    /// With a bias: the lower of two clocks that share the time, kHz, and for how long it will run, ns.
    low: Option<(u32, u64)>,
}

impl Ondemand {
    pub(crate) fn new(config: &Config, clock: &Clock) -> Self {
        Self {
            sampler: Sampler::new(config, clock),
            up_threshold: config.number("up_threshold").unwrap_or(95),
            down_factor: config.number("sampling_down_factor").unwrap_or(1),
            bias: config.number("powersave_bias").unwrap_or(0),
            mult: 1,
            low: None,
        }
    }

    pub(crate) fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        self.low = None;
        self.sampler.limits(clock, t_ns)
    }

    pub(crate) fn hook(&mut self, clock: &mut Clock, hook: &Hook, signals: &impl Signals) -> Change {
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
