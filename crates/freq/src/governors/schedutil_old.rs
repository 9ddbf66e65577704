// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock, RateRule, passed, since};
use crate::governor::{Governor, GovernorInfo};
use crate::params::{Default, Params, percent, switch, us};
use crate::{Hook, Relation, Signals};

pub(super) const V4_8: GovernorInfo = GovernorInfo {
    id: "schedutil-4.8",
    summary: "schedutil of 2016: the fair class alone, evaluations at a fixed distance",
    kernel: "4.7 to 4.9",
    fed_by: "util: fair class; flags of the others",
    evaluates: "hook, a rate limit after the last evaluation",
    notes: "Every evaluation starts the rate limit, so evaluations keep a distance: with the 10 ms that a latency of 10 us \
            makes, and ticks of 4 ms, 12 ms. A CPU without a call during the last tick does not count. While a slow \
            driver is at work it does not evaluate. `iowait_boost=1` is 4.9: the highest clock at once, halved with each \
            evaluation. Without invariance, the base is the present clock; with `highest_base=1` it is the highest, which \
            published numbers of 2016 agree with ([reproducing](../guide/reproducing.md)).",
    follows_scheduler: true,
    params: &[
        us("rate_limit_us", Default::Derived("latency x 1000"), "least time between two evaluations"),
        switch("iowait_boost", 0, "1: a task that waited for I/O asks for the highest clock, as in 4.9"),
        switch(
            "highest_base",
            0,
            "1: the base is the highest clock, as if utilisation were scaled by the clock",
        ),
    ],
    contradiction: None,
    new: |params, clock| Box::new(OldSchedutil::new(false, params, clock)),
};

pub(super) const ANDROID_4_4: GovernorInfo = GovernorInfo {
    id: "schedutil-android-4.4",
    summary: "Android's early schedutil: one rate limit up, one down",
    kernel: "Android 4.4, 4.9",
    fed_by: "util: fair class or WALT; rt_util with PELT",
    evaluates: "hook, after the shorter rate limit",
    notes: "It drops a change that comes before its limit; time counts from the last change. The boost for I/O starts at \
            the lowest clock allowed and doubles.",
    params: &[
        us("up_rate_limit_us", Default::Derived("latency x 1000"), "least time before the request may rise"),
        us(
            "down_rate_limit_us",
            Default::Derived("latency x 1000"),
            "least time before the request may fall",
        ),
        percent(
            "boost",
            0,
            100,
            0,
            "added to the utilisation: this percentage of the difference between it and 1024",
        ),
    ],
    new: |params, clock| Box::new(OldSchedutil::new(true, params, clock)),
    ..V4_8
};

/// What to do about tasks that wake up from I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Iowait {
    /// Nothing: until 4.8.
    None,
    /// At once to the highest clock, halved with each evaluation: 4.9.
    Full,
    /// From the policy's minimum, doubled with each such wake-up: 4.13, and Android's 4.4.
    Ramp,
}

/// schedutil as it was when the hook handed the utilisation over: 4.7 to 4.9 (signal-behaviour.md C4), and Android's
/// 4.4 (C5).
#[derive(Clone, Debug)]
struct OldSchedutil {
    android: bool,
    iowait: Iowait,
    up_ns: u64,
    down_ns: u64,
    evaluate_ns: u64,
    boost_pct: u64,
    /// The highest clock is what the utilisation is a share of, whether it is scaled by the clock or not.
    highest_base: bool,
    /// `None` is "unset", which no frequency equals.
    next_khz: Option<u32>,
    last_ns: u64,
    need_update: bool,
    cpus: Vec<PerCpu>,
}

/// What a CPU's last hook call left behind.
#[derive(Clone, Debug, Default)]
struct PerCpu {
    util: u64,
    capacity: u64,
    last_ns: Option<u64>,
    /// The classes that ask for the highest clock are at work.
    full: bool,
    boost_khz: u64,
    pending: bool,
}

impl OldSchedutil {
    fn new(android: bool, params: &Params, clock: &Clock) -> Self {
        let limit = params
            .us_if_known("rate_limit_us")
            .unwrap_or(RateRule::Kernel4_7.limit_us(&clock.driver).saturating_mul(1000));
        let up_ns = params.us_if_known("up_rate_limit_us").unwrap_or(limit);
        let down_ns = params.us_if_known("down_rate_limit_us").unwrap_or(limit);
        let iowait = match (android, params.is_on("iowait_boost")) {
            (true, _) => Iowait::Ramp,
            (false, true) => Iowait::Full,
            (false, false) => Iowait::None,
        };
        Self {
            android,
            iowait,
            up_ns,
            down_ns,
            evaluate_ns: up_ns.min(down_ns),
            boost_pct: params.if_known("boost").unwrap_or(0),
            highest_base: params.is_on("highest_base"),
            next_khz: None,
            last_ns: 0,
            need_update: false,
            cpus: vec![PerCpu::default(); clock.cpus.len()],
        }
    }

    /// Keeps what the call says of its CPU.
    fn note(&mut self, clock: &Clock, at: usize, hook: &Hook, signals: &dyn Signals) {
        let highest = u64::from(clock.table.highest());
        let lowest = u64::from(clock.limits.min_khz);
        let (android, iowait, boost_pct) = (self.android, self.iowait, self.boost_pct);
        let Some(this) = self.cpus.get_mut(at) else { return };
        let capacity = signals.capacity(hook.cpu).max(1);
        let mut util = signals.util(hook.cpu).min(capacity);
        if android {
            util = util.saturating_add(boost_pct * 1024_u64.saturating_sub(util) / 100);
            if !signals.windowed() {
                util = util.saturating_add(signals.rt_util(hook.cpu));
            }
            util = util.min(capacity);
        }
        this.util = util;
        this.capacity = capacity;
        this.full = hook.dl || (hook.rt && !android);
        let asleep = this.last_ns.is_some_and(|last| since(hook.t_ns, last) > tick(clock));
        match (iowait, hook.iowait) {
            (Iowait::None, _) => {}
            (Iowait::Full, true) => this.boost_khz = highest,
            (Iowait::Ramp, true) if this.pending => {}
            (Iowait::Ramp, true) => {
                this.pending = true;
                this.boost_khz =
                    if this.boost_khz == 0 { lowest } else { this.boost_khz.saturating_mul(2).min(highest) };
            }
            (_, false) if asleep => {
                this.boost_khz = 0;
                this.pending = false;
            }
            (_, false) => {}
        }
        this.last_ns = Some(hook.t_ns);
    }

    fn next(&mut self, clock: &Clock, at: usize, t_ns: u64) -> u32 {
        let highest = clock.table.highest();
        let lowest = u64::from(clock.limits.min_khz);
        let ramp = self.iowait == Iowait::Ramp;
        let mut largest = (0_u64, 1_u64);
        for (i, this) in self.cpus.iter_mut().enumerate() {
            let Some(last) = this.last_ns else { continue };
            if i != at && since(t_ns, last) > tick(clock) {
                this.boost_khz = 0;
                this.pending = false;
                continue;
            }
            if this.full {
                return highest;
            }
            let mut of = (this.util, this.capacity);
            if this.apply_boost(ramp, lowest) && above((this.boost_khz, u64::from(highest)), of) {
                of = (this.boost_khz, u64::from(highest));
            }
            if this.boost_khz != 0 && !ramp {
                this.boost_khz >>= 1;
            }
            if above(of, largest) {
                largest = of;
            }
        }
        let base = u64::from(if clock.driver.invariant || self.highest_base { highest } else { clock.cur });
        let raw = (base + (base >> 2)).saturating_mul(largest.0) / largest.1.max(1);
        clock.resolve(u32::try_from(raw).unwrap_or(u32::MAX), Relation::Low)
    }

    fn commit(&mut self, clock: &mut Clock, t_ns: u64, next: u32) -> Change {
        if !self.android {
            // At every evaluation, changed or not: evaluations keep a distance of the rate limit.
            self.last_ns = t_ns;
        }
        match self.next_khz {
            Some(old) if old == next => return Change::None,
            Some(old) if self.android => {
                let wait = if next > old { self.up_ns } else { self.down_ns };
                if !passed(t_ns, self.last_ns, wait) {
                    return Change::None;
                }
            }
            _ => {}
        }
        self.next_khz = Some(next);
        self.last_ns = t_ns;
        clock.switch(t_ns, next)
    }
}

impl Governor for OldSchedutil {
    fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        self.need_update = true;
        if clock.driver.fast_switch { Change::None } else { clock.apply_limits(t_ns) }
    }

    fn hook(&mut self, clock: &mut Clock, hook: &Hook, signals: &dyn Signals) -> Change {
        let Some(at) = clock.index(hook.cpu) else { return Change::None };
        self.note(clock, at, hook, signals);
        if !clock.hears(hook.from) || clock.busy() {
            return Change::None;
        }
        if self.need_update {
            self.need_update = false;
            self.next_khz = None;
        } else if !passed(hook.t_ns, self.last_ns, self.evaluate_ns) {
            return Change::None;
        }
        let next = self.next(clock, at, hook.t_ns);
        self.commit(clock, hook.t_ns, next)
    }
}

impl PerCpu {
    /// Whether there is a boost to count with; the ramp's falls first if nothing woke up since the last evaluation.
    fn apply_boost(&mut self, ramp: bool, lowest: u64) -> bool {
        if ramp && self.boost_khz != 0 && !std::mem::take(&mut self.pending) {
            self.boost_khz >>= 1;
            if self.boost_khz < lowest {
                self.boost_khz = 0;
            }
        }
        self.boost_khz != 0
    }
}

fn tick(clock: &Clock) -> i64 {
    i64::try_from(clock.tick_ns).unwrap_or(i64::MAX)
}

/// Whether the first share is larger than the second.
fn above(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0.saturating_mul(other.1) > other.0.saturating_mul(one.1)
}
