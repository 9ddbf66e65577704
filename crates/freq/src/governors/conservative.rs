// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock};
use crate::governor::{Answer, Governor, GovernorInfo};
use crate::params::{Params, count, percent};
use crate::sampler::{IO_IS_BUSY, SAMPLING_RATE, Sampler};
use crate::{Hook, Relation, Signals};

pub(super) const INFO: GovernorInfo = GovernorInfo {
    id: "conservative",
    summary: "a step up when busy, a step down when idle",
    kernel: "6.12",
    fed_by: "idle_ns, iowait_ns",
    evaluates: "hook, a sampling period after the last sample",
    notes: "Like ondemand, by steps. Each sampling period of idling takes a step back, if the sample itself is below \
            `down_threshold` (6.12.117).",
    follows_scheduler: false,
    params: &[
        SAMPLING_RATE,
        percent("up_threshold", 1, 100, 80, "a load above this steps up"),
        percent("down_threshold", 0, 99, 20, "a load below this steps down"),
        percent("freq_step", 0, 100, 5, "a step, of the highest clock allowed; 0: the clock stays"),
        count("sampling_down_factor", 1, 10, 1, "this many samples make a step down"),
        IO_IS_BUSY,
    ],
    contradiction: Some(|params| {
        let (up, down) = (params.number("up_threshold"), params.number("down_threshold"));
        (up <= down).then(|| format!("up_threshold={up} must be above down_threshold={down}"))
    }),
    new: |params, clock| Box::new(Conservative::new(params, clock)),
};

/// kHz, where the percentage makes none.
const LEAST_STEP: u32 = 5;

/// A step up, a step down (signal-behaviour.md C8).
#[derive(Clone, Debug)]
struct Conservative {
    sampler: Sampler,
    up_threshold: u64,
    down_threshold: u64,
    down_factor: u64,
    step_pct: u64,
    skipped: u64,
    requested: u32,
}

impl Conservative {
    fn new(params: &Params, clock: &Clock) -> Self {
        Self {
            sampler: Sampler::new(params, clock),
            up_threshold: params.number("up_threshold"),
            down_threshold: params.number("down_threshold"),
            down_factor: params.number("sampling_down_factor"),
            step_pct: params.number("freq_step"),
            skipped: 0,
            requested: clock.cur,
        }
    }
}

impl Governor for Conservative {
    fn start(&mut self, clock: &mut Clock, t_ns: u64, signals: &dyn Signals) -> Answer {
        self.sampler.start(clock, t_ns, signals);
        Answer::default()
    }

    fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        self.sampler.limits(clock, t_ns)
    }

    fn hook(&mut self, clock: &mut Clock, hook: &Hook, signals: &dyn Signals) -> Change {
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
