// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock};
use crate::sampler::Sampler;
use crate::{Config, Hook, Relation, Signals};

/// kHz, where the percentage makes none.
const LEAST_STEP: u32 = 5;

/// A step up, a step down (signal-behaviour.md C8).
#[derive(Clone, Debug)]
pub(crate) struct Conservative {
    pub(crate) sampler: Sampler,
    up_threshold: u64,
    down_threshold: u64,
    down_factor: u64,
    step_pct: u64,
    skipped: u64,
    requested: u32,
}

impl Conservative {
    pub(crate) fn new(config: &Config, clock: &Clock) -> Self {
        Self {
            sampler: Sampler::new(config, clock),
            up_threshold: config.number("up_threshold").unwrap_or(80),
            down_threshold: config.number("down_threshold").unwrap_or(20),
            down_factor: config.number("sampling_down_factor").unwrap_or(1),
            step_pct: config.number("freq_step").unwrap_or(5),
            skipped: 0,
            requested: clock.cur,
        }
    }

    pub(crate) fn hook(&mut self, clock: &mut Clock, hook: &Hook, signals: &impl Signals) -> Change {
        if !self.sampler.due(clock, hook) {
            return Change::None;
        }
        self.sampler.delay_ns = self.sampler.rate_us.saturating_mul(1000);
        let sample = self.sampler.sample(clock, hook.t_ns, self.sampler.rate_us, signals);
        if self.step_pct == 0 {
            return Change::None;
        }
        let (min, max) = (clock.limits.min_khz, clock.limits.max_khz);
        if !(min..=max).contains(&self.requested) {
            self.requested = clock.cur;
        }
        let step = match u32::try_from(u64::from(max) * self.step_pct / 100).unwrap_or(u32::MAX) {
            0 => LEAST_STEP,
            step => step,
        };
        if let Some(periods) = sample.idle_periods.filter(|_| sample.raw < self.down_threshold) {
            let steps = u32::try_from(periods).unwrap_or(u32::MAX).saturating_mul(step);
            self.requested = self.requested.saturating_sub(steps).max(min);
        }
        if sample.load > self.up_threshold {
            self.skipped = 0;
            self.requested = self.requested.saturating_add(step).min(max);
            return clock.drive(hook.t_ns, self.requested, Relation::HighEfficient);
        }
        self.skipped += 1;
        if self.skipped < self.down_factor {
            return Change::None;
        }
        self.skipped = 0;
        if sample.load >= self.down_threshold {
            return Change::None;
        }
        self.requested = self.requested.saturating_sub(step).max(min);
        clock.drive(hook.t_ns, self.requested, Relation::LowEfficient)
    }
}
