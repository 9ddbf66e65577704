// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock, RateRule, passed};
use crate::iowait::IowaitBoost;
use crate::{Config, Hook, Relation, Signals};

/// What differs between the kernels that this file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// 6.12 (signal-behaviour.md C2): headroom on the utilisation, limits beside it, runnable boost.
    V6_12,
    /// 6.1 (C3): one utilisation, headroom on the frequency; also the base of Pixel's governor (C5).
    V6_1,
}

/// schedutil with the utilisation asked for at each evaluation.
#[derive(Clone, Debug)]
pub(crate) struct Schedutil {
    kernel: Kernel,
    /// Least time since the last change of the request before it may rise, before it may fall, ns.
    up_ns: u64,
    down_ns: u64,
    /// Least time before anything is evaluated, ns.
    evaluate_ns: u64,
    /// Power of the ratio of clocks that lengthens `down_ns`.
    down_scale_pow: u32,
    /// Headroom as a margin of 1024, for Pixel's; `None` is a quarter, computed by a shift.
    margin: Option<u64>,
    next_khz: u32,
    cached_raw: u64,
    /// What a driver that is told the utilisation was told last.
    told_util: u64,
    last_ns: u64,
    need_update: bool,
    limits_changed: bool,
    cpus: Vec<PerCpu>,
}

#[derive(Clone, Debug, Default)]
struct PerCpu {
    iowait: IowaitBoost,
    min: u64,
    idle_calls: u64,
}

impl Schedutil {
    pub(crate) fn new(kernel: Kernel, config: &Config, clock: &Clock) -> Self {
        let rule = match kernel {
            Kernel::V6_12 => RateRule::Kernel6_12,
            Kernel::V6_1 => RateRule::Kernel6_1,
        };
        let limit = config.us("rate_limit_us").unwrap_or(rule.limit_us(&clock.driver).saturating_mul(1000));
        let up_ns = config.us("up_rate_limit_us").unwrap_or(limit);
        let down_ns = config.us("down_rate_limit_us").unwrap_or(limit);
        Self {
            kernel,
            up_ns,
            down_ns,
            evaluate_ns: up_ns.min(down_ns),
            down_scale_pow: config.number("down_scale_pow").and_then(|p| u32::try_from(p).ok()).unwrap_or(0),
            margin: config.number("capacity_margin"),
            next_khz: 0,
            cached_raw: 0,
            told_util: 0,
            last_ns: 0,
            need_update: clock.driver.updates_on_limits,
            limits_changed: false,
            cpus: vec![PerCpu::default(); clock.cpus.len()],
        }
    }

    pub(crate) fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        self.limits_changed = true;
        if clock.driver.fast_switch { Change::None } else { clock.apply_limits(t_ns) }
    }

    pub(crate) fn hook(&mut self, clock: &mut Clock, hook: &Hook, signals: &impl Signals) -> Change {
        let Some(at) = clock.index(hook.cpu) else { return Change::None };
        let Some(this) = self.cpus.get_mut(at) else { return Change::None };
        this.iowait.note(hook.t_ns, hook.iowait, clock.tick_ns);
        if signals.dl_bandwidth(hook.cpu) > this.min {
            self.limits_changed = true;
        }
        if !clock.hears(hook.from) {
            return Change::None;
        }
        if self.limits_changed {
            self.limits_changed = false;
            self.need_update = true;
        } else if !passed(hook.t_ns, self.last_ns, self.evaluate_ns) {
            return Change::None;
        }
        let (util, capacity) = self.util(clock, hook, signals);
        if clock.driver.adjust_perf && clock.driver.fast_switch && clock.driver.invariant && !clock.shared() {
            return self.tell(clock, hook, util, capacity, signals);
        }
        let raw_before = self.cached_raw;
        let mut next = self.next(clock, util, capacity);
        if !clock.shared() && self.hold(hook.cpu, signals) && next < self.next_khz && !self.need_update {
            next = self.next_khz;
            self.cached_raw = raw_before;
        }
        self.commit(clock, hook.t_ns, next)
    }

    /// The utilisation that the clock has to be enough for, with its scale: the largest of the policy's CPUs.
    fn util(&mut self, clock: &Clock, hook: &Hook, signals: &impl Signals) -> (u64, u64) {
        let mut largest = (0_u64, signals.capacity(hook.cpu).max(1));
        for (this, &cpu) in self.cpus.iter_mut().zip(&clock.cpus) {
            let capacity = signals.capacity(cpu).max(1);
            let boost = this.iowait.apply(hook.t_ns, capacity, clock.tick_ns);
            match self.kernel {
                Kernel::V6_12 => {
                    let need = signals.need(cpu);
                    this.min = need.min;
                    let util = need.util.max(boost.unwrap_or(0));
                    let with_headroom = util.saturating_add(util >> 2);
                    largest.0 = largest.0.max(need.min.max(with_headroom.min(need.max)));
                }
                Kernel::V6_1 => {
                    this.min = signals.dl_bandwidth(cpu);
                    let (low, high) = signals.clamps(cpu);
                    let boost = boost.map_or(0, |b| b.min(high).max(low));
                    let util = signals.freq_util(cpu).max(boost);
                    let util = self.margin.map_or(util, |margin| util.saturating_mul(margin) >> 10);
                    if util.saturating_mul(largest.1) > largest.0.saturating_mul(capacity) {
                        largest = (util, capacity);
                    }
                }
            }
        }
        largest
    }

    /// Hands the utilisation to the driver, whether it changed or not; a busy CPU's does not fall.
    fn tell(
        &mut self,
        clock: &mut Clock,
        hook: &Hook,
        util: u64,
        capacity: u64,
        signals: &impl Signals,
    ) -> Change {
        let util = self.with_headroom(util);
        let util = if self.hold(hook.cpu, signals) { util.max(self.told_util) } else { util };
        self.told_util = util;
        self.last_ns = hook.t_ns;
        let khz = u64::from(clock.table.highest()).saturating_mul(util).div_ceil(capacity);
        clock.switch(hook.t_ns, u32::try_from(khz).unwrap_or(u32::MAX))
    }

    /// What before 6.8 is put on the frequency, which is the same: a quarter, where there is no margin.
    fn with_headroom(&self, util: u64) -> u64 {
        match (self.kernel, self.margin) {
            (Kernel::V6_1, None) => util.saturating_add(util >> 2),
            _ => util,
        }
    }

    fn next(&mut self, clock: &Clock, util: u64, capacity: u64) -> u32 {
        let cur = u64::from(clock.cur);
        let invariant = clock.driver.invariant;
        let highest = u64::from(clock.table.highest());
        let base = match self.kernel {
            Kernel::V6_12 => match clock.driver.reference_khz {
                Some(khz) => u64::from(khz),
                None if invariant => highest,
                None => cur + (cur >> 2),
            },
            Kernel::V6_1 if invariant => highest,
            Kernel::V6_1 => cur,
        };
        let raw = base.saturating_mul(self.with_headroom(util)) / capacity;
        if raw == self.cached_raw && !self.need_update {
            return self.next_khz;
        }
        self.cached_raw = raw;
        clock.resolve(u32::try_from(raw).unwrap_or(u32::MAX), Relation::LowEfficient)
    }

    /// Whether the CPU has not begun to idle since this was last asked: a busy CPU is not clocked down.
    fn hold(&mut self, cpu: u32, signals: &impl Signals) -> bool {
        if signals.capped(cpu) {
            return false;
        }
        let Some(this) = self.cpus.first_mut() else { return false };
        let calls = signals.idle_calls(cpu);
        let held = calls == this.idle_calls;
        this.idle_calls = calls;
        held
    }

    /// A request that does not change leaves the time of the last one alone, so that the next hook may evaluate at once.
    fn commit(&mut self, clock: &mut Clock, t_ns: u64, next: u32) -> Change {
        if self.need_update {
            self.need_update = false;
            if next == self.next_khz && !clock.driver.updates_on_limits {
                return Change::None;
            }
        } else if next == self.next_khz || self.too_early(t_ns, next) {
            return Change::None;
        }
        self.next_khz = next;
        self.last_ns = t_ns;
        clock.switch(t_ns, next)
    }

    /// Pixel's two limits: a change that comes too early is dropped (C5).
    fn too_early(&mut self, t_ns: u64, next: u32) -> bool {
        let wait = if next > self.next_khz {
            self.up_ns
        } else {
            let mut wait = self.down_ns;
            for _ in 0..self.down_scale_pow {
                wait = wait.saturating_mul(u64::from(self.next_khz)) / u64::from(next.max(1));
            }
            wait
        };
        let early = !passed(t_ns, self.last_ns, wait);
        if early {
            // Or the same raw frequency would be taken for the one requested.
            self.cached_raw = u64::MAX;
        }
        early
    }
}
