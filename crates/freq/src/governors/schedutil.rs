// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock, RateRule, passed};
use crate::governor::{Governor, GovernorInfo};
use crate::iowait::IowaitBoost;
use crate::params::{Default, Params, count, us};
use crate::{Hook, Relation, Signals};

const RATE_LIMIT: &str = "least time from one change of the request to the next evaluation";

pub(super) const V6_12: GovernorInfo = GovernorInfo {
    id: "schedutil",
    summary: "follows the scheduler's utilisation with a quarter of headroom",
    kernel: "6.12",
    fed_by: "need: all classes, runnable boost, limits",
    evaluates: "hook, after the rate limit",
    notes: "A request that stays the same does not start the rate limit, so the next hook may evaluate at once. A CPU with \
            a clock of its own is not clocked down before it has idled, unless its upper clamp limits it. A rise of \
            deadline bandwidth does not wait for the rate limit. The boost for I/O goes 128, 256, 512, 1024, halves with \
            each evaluation without a wakeup, and ends after a tick without a call. Without invariance, the base is the \
            present clock and a quarter, on top of the headroom of a quarter. A driver that takes the utilisation itself \
            (`adjust_perf`: intel_pstate, amd-pstate) gets it at every evaluation, which then always starts the rate \
            limit; the model assumes that it chooses the lowest clock that is enough.",
    follows_scheduler: true,
    params: &[us("rate_limit_us", Default::Derived("latency x 1.5; 1000 if unknown"), RATE_LIMIT)],
    contradiction: None,
    new: |params, clock| Box::new(Schedutil::new(Kernel::V6_12, params, clock)),
};

pub(super) const V6_1: GovernorInfo = GovernorInfo {
    id: "schedutil-6.1",
    summary: "schedutil before 6.8: no runnable boost, headroom on the frequency",
    kernel: "6.1",
    fed_by: "freq_util: all classes in one number",
    notes: "One quarter, on the frequency. The boost for I/O is clamped like a task.",
    params: &[us("rate_limit_us", Default::Derived("latency x 1000, at most 10000"), RATE_LIMIT)],
    new: |params, clock| Box::new(Schedutil::new(Kernel::V6_1, params, clock)),
    ..V6_12
};

pub(super) const PIXEL: GovernorInfo = GovernorInfo {
    id: "sched-pixel",
    summary: "Pixel 6's: schedutil of 5.10 with margins and two rate limits",
    kernel: "Pixel 5.10",
    evaluates: "hook, after the shorter rate limit",
    notes: "schedutil-6.1 with Android's two limits and a margin for each clock. The phone sets 5000 us down on its little \
            CPUs. The phone also makes the limit down depend on the ratio of clocks; `down_scale_pow` lengthens it by \
            (old / new)^k and is off by default, since the phone's exact rule is not known.",
    params: &[
        us("up_rate_limit_us", Default::Number(500), "least time before the request may rise"),
        us(
            "down_rate_limit_us",
            Default::Number(20_000),
            "least time before the request may fall; 5000 on the phone's little CPUs",
        ),
        count(
            "down_scale_pow",
            0,
            8,
            0,
            "the limit down is lengthened by this power of old clock / new clock",
        ),
        count("capacity_margin", 1024, 10_240, 1280, "headroom, of 1024"),
    ],
    ..V6_1
};

/// What differs between the kernels that this file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    /// 6.12 (signal-behaviour.md C2): headroom on the utilisation, limits beside it, runnable boost.
    V6_12,
    /// 6.1 (C3): one utilisation, headroom on the frequency; also the base of Pixel's governor (C5).
    V6_1,
}

/// schedutil with the utilisation asked for at each evaluation.
#[derive(Clone, Debug)]
struct Schedutil {
    kernel: Kernel,
    /// Least time since the last change of the request before it may rise, before it may fall, ns.
    up_ns: u64,
    down_ns: u64,
    /// Least time before anything is evaluated, ns.
    evaluate_ns: u64,
    /// Power of the ratio of clocks that lengthens `down_ns`.
    down_scale_pow: u64,
    /// Headroom as a margin of 1024, for Pixel's; `None` is a quarter, computed by a shift.
    margin: Option<u64>,
    next_khz: u32,
    cached_raw: u64,
    /// What a driver that gets the utilisation got last.
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
    fn new(kernel: Kernel, params: &Params, clock: &Clock) -> Self {
        let rule = match kernel {
            Kernel::V6_12 => RateRule::Kernel6_12,
            Kernel::V6_1 => RateRule::Kernel6_1,
        };
        let limit =
            params.us_if_known("rate_limit_us").unwrap_or(rule.limit_us(&clock.driver).saturating_mul(1000));
        let up_ns = params.us_if_known("up_rate_limit_us").unwrap_or(limit);
        let down_ns = params.us_if_known("down_rate_limit_us").unwrap_or(limit);
        Self {
            kernel,
            up_ns,
            down_ns,
            evaluate_ns: up_ns.min(down_ns),
            down_scale_pow: params.if_known("down_scale_pow").unwrap_or(0),
            margin: params.if_known("capacity_margin"),
            next_khz: 0,
            cached_raw: 0,
            told_util: 0,
            last_ns: 0,
            need_update: clock.driver.updates_on_limits,
            limits_changed: false,
            cpus: vec![PerCpu::default(); clock.cpus.len()],
        }
    }

    /// The utilisation that the clock has to be enough for, with its scale: the largest of the policy's CPUs.
    fn util(&mut self, clock: &Clock, hook: &Hook, signals: &dyn Signals) -> (u64, u64) {
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
        signals: &dyn Signals,
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
    fn hold(&mut self, cpu: u32, signals: &dyn Signals) -> bool {
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

impl Governor for Schedutil {
    fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        self.limits_changed = true;
        if clock.driver.fast_switch { Change::None } else { clock.apply_limits(t_ns) }
    }

    fn hook(&mut self, clock: &mut Clock, hook: &Hook, signals: &dyn Signals) -> Change {
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
}
