// SPDX-License-Identifier: GPL-2.0-only
//! Hardware that sets the clock by itself (HWP). How it does is not published, so each entry is a candidate that states what it
//! assumes; a result names the candidate and, where they were given, its parameters.

use std::collections::VecDeque;

use crate::clock::{Change, Clock};
use crate::governor::{Answer, Governor, GovernorInfo};
use crate::params::{Default, ParamInfo, Params, count, khz, period, us};
use crate::{Relation, Signals};

const EPP: ParamInfo = count(
    "epp",
    0,
    255,
    128,
    "energy-performance preference: 0 wants performance, 255 energy; the load that the clock aims at is (512 + 2 epp) / 1024",
);
const PERIOD: ParamInfo = period("period_us", Default::Number(1000), "from one evaluation to the next");
const MIN: ParamInfo = khz(
    "min_khz",
    Default::Derived("the lowest clock"),
    "the lower end of the range; equal to max_khz pins the clock",
);
const MAX: ParamInfo = khz("max_khz", Default::Derived("the highest clock"), "the upper end of the range");

pub(super) const EWMA: GovernorInfo = GovernorInfo {
    id: "hwp-ewma",
    summary: "a candidate for HWP: the mean demand, weighted exponentially",
    kernel: "none: hardware",
    fed_by: "awake_ns, delivered",
    evaluates: "each period, whether CPUs idle or not",
    notes: "HWP's algorithm is not published: this is a candidate. A CPU's demand is its share of time awake (polling counts, as \
            hardware counts it) times the clock that it had. It goes into a mean that rises with the time constant \
            `up_us` epp / 128 and falls with `down_us`. The clock is the largest mean of the CPUs that share it, over the load \
            aimed at. With the kernel's governor `performance`, intel_pstate sets epp to 0 and the range to its upper end: \
            `hwp-ewma:epp=0,min_khz=...`. All defaults but epp are assumptions.",
    follows_scheduler: false,
    params: &[
        EPP,
        PERIOD,
        MIN,
        MAX,
        us("up_us", Default::Number(8_000), "time constant of the mean's rise, at epp 128"),
        us("down_us", Default::Number(30_000), "time constant of the mean's fall"),
    ],
    contradiction: Some(range),
    new: |params, clock| {
        let (up, down) = (params.us("up_us"), params.us("down_us"));
        Box::new(Hwp::new(
            params,
            clock,
            Memory::Mean { up_ns: up * params.number("epp") / 128, down_ns: down },
        ))
    },
};

pub(super) const WINDOW: GovernorInfo = GovernorInfo {
    id: "hwp-window",
    summary: "a candidate for HWP: the largest demand of a window",
    notes: "HWP's algorithm is not published: this is a candidate. Demand is that of hwp-ewma. What counts is the largest of the \
            last `window_us`, so the clock rises after one period and falls when the window has passed (SDM: HWP has an activity \
            window; hardware chooses it where the field is 0).",
    params: &[
        EPP,
        PERIOD,
        MIN,
        MAX,
        period(
            "window_us",
            Default::Number(30_000),
            "how long a demand counts; at most 1000 periods of it are kept",
        ),
    ],
    new: |params, clock| {
        let periods = (params.us("window_us") / params.us("period_us").max(1)).clamp(1, MOST_PERIODS);
        Box::new(Hwp::new(params, clock, Memory::Window { periods: periods as usize }))
    },
    ..EWMA
};

/// A demand of the highest clock, all the time.
const FULL: u64 = 1 << 20;
const MOST_PERIODS: u64 = 1000;

fn range(params: &Params) -> Option<String> {
    let (min, max) = (params.khz_if_known("min_khz")?, params.khz_if_known("max_khz")?);
    (min > max).then(|| format!("min_khz={min} must not be above max_khz={max}"))
}

/// What of past demands counts.
#[derive(Clone, Copy, Debug)]
enum Memory {
    Mean { up_ns: u64, down_ns: u64 },
    Window { periods: usize },
}

/// Hardware-managed clock with a memory of demand.
#[derive(Clone, Debug)]
struct Hwp {
    memory: Memory,
    period_ns: u64,
    /// The load aimed at, of 1024.
    aim: u64,
    min_khz: u32,
    max_khz: u32,
    next_ns: u64,
    last_ns: u64,
    cpus: Vec<PerCpu>,
}

#[derive(Clone, Debug, Default)]
struct PerCpu {
    awake_ns: u64,
    mean: u64,
    demands: VecDeque<u64>,
}

impl Hwp {
    fn new(params: &Params, clock: &Clock, memory: Memory) -> Self {
        Self {
            memory,
            period_ns: params.us("period_us"),
            aim: 512 + 2 * params.number("epp"),
            min_khz: params.khz_if_known("min_khz").unwrap_or(clock.table.lowest()),
            max_khz: params.khz_if_known("max_khz").unwrap_or(clock.table.highest()),
            next_ns: 0,
            last_ns: 0,
            cpus: vec![PerCpu::default(); clock.cpus.len()],
        }
    }

    /// What the CPUs want, of [`FULL`].
    fn demand(&mut self, clock: &Clock, t_ns: u64, signals: &dyn Signals) -> u64 {
        let ns = t_ns.saturating_sub(self.last_ns).max(1);
        let asked = u64::from(clock.cur) * 1024 / u64::from(clock.table.highest());
        let mut largest = 0;
        for (this, &cpu) in self.cpus.iter_mut().zip(&clock.cpus) {
            let awake_ns = signals.awake_ns(cpu, t_ns);
            let busy = awake_ns.saturating_sub(this.awake_ns).min(ns).saturating_mul(FULL) / ns;
            this.awake_ns = awake_ns;
            let speed = signals.delivered(cpu).unwrap_or(asked).min(1024);
            largest = largest.max(this.remember(self.memory, busy * speed / 1024, ns));
        }
        self.last_ns = t_ns;
        largest
    }

    fn ask(&self, clock: &mut Clock, demand: u64) -> Change {
        let highest = u64::from(clock.table.highest());
        let khz = highest.saturating_mul(demand) / FULL * 1024 / self.aim;
        let khz = u32::try_from(khz).unwrap_or(u32::MAX).min(self.max_khz).max(self.min_khz);
        let khz = clock.resolve(khz, Relation::Low);
        if khz == clock.cur {
            return Change::None;
        }
        clock.cur = khz;
        Change::Now { khz }
    }
}

impl PerCpu {
    /// What counts after the demand of `ns`.
    fn remember(&mut self, memory: Memory, demand: u64, ns: u64) -> u64 {
        match memory {
            Memory::Mean { up_ns, down_ns } => {
                let constant_ns = if demand > self.mean { up_ns } else { down_ns };
                let part = |by: u64| by.saturating_mul(ns) / constant_ns.saturating_add(ns);
                self.mean = if demand > self.mean {
                    self.mean + part(demand - self.mean)
                } else {
                    self.mean - part(self.mean - demand)
                };
                self.mean
            }
            Memory::Window { periods } => {
                if self.demands.len() == periods {
                    self.demands.pop_front();
                }
                self.demands.push_back(demand);
                self.demands.iter().copied().fold(0, u64::max)
            }
        }
    }
}

impl Governor for Hwp {
    fn start(&mut self, clock: &mut Clock, t_ns: u64, signals: &dyn Signals) -> Answer {
        for (this, &cpu) in self.cpus.iter_mut().zip(&clock.cpus) {
            this.awake_ns = signals.awake_ns(cpu, t_ns);
        }
        (self.last_ns, self.next_ns) = (t_ns, t_ns.saturating_add(self.period_ns));
        Answer { change: self.ask(clock, 0), timers: true }
    }

    /// Hardware needs no CPU to be awake.
    fn next_timer(&self, at: usize, _: bool) -> Option<u64> {
        (at == 0).then_some(self.next_ns)
    }

    fn timer(&mut self, clock: &mut Clock, _: usize, t_ns: u64, signals: &dyn Signals) -> Answer {
        if t_ns < self.next_ns {
            return Answer::default();
        }
        self.next_ns = t_ns.saturating_add(self.period_ns);
        let demand = self.demand(clock, t_ns, signals);
        Answer { change: self.ask(clock, demand), timers: true }
    }

    fn limits(&mut self, clock: &mut Clock, _: u64) -> Change {
        let khz = clock.resolve(clock.cur, Relation::Low);
        if khz == clock.cur {
            return Change::None;
        }
        clock.cur = khz;
        Change::Now { khz }
    }
}
