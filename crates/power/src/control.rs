// SPDX-License-Identifier: GPL-2.0-only
//! Ceilings of clocks, lowered and raised step by step.
//!
//! Each limit has a ceiling of its own for each domain; the lowest of all counts. A limit is sampled when so much of its window
//! has passed, [`SAMPLES`] times a window, but no sooner than a step takes. With the mean power *p* since the last sample and the
//! average *a*:
//!
//! * *a* above the limit, and *p* too: the ceiling is a step below the clock that runs, or was asked for by the ceiling before;
//! * *a* above the limit, *p* not: nothing changes, since the average falls by itself;
//! * else the ceiling rises a step, unless the power with that step would take the average over the limit until the next sample.
//!
//! So a load that draws more than the limit runs freely until the average is there, then alternates between the two steps next to
//! the limit.

use crate::record::{HoldRecord, LimitRecord, PowerRecord, TemperatureRecord};
use crate::{Heat, Limit, Limits, RunningAverage};

/// Samples in a window: 25 steps of 1/1024 of it are short against the window, so that the average goes little above the limit
/// while the ceiling comes down. An assumption; no vendor publishes the loop.
const SAMPLES: u64 = 1024;

/// CPUs that share a clock, as a limit sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockDomain {
    /// Power at each point while all its CPUs run, uW, by rising clock: what a step is worth.
    pub full_uw: Vec<u64>,
    /// The point below which only a limit with a clamp may go: that of the base clock.
    pub base: usize,
    /// The highest point by the number of active cores, by rising number; the last holds for more, too.
    pub turbo: Vec<Turbo>,
}

/// The highest point while no more cores than that are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turbo {
    pub cores: usize,
    pub point: usize,
}

/// What a machine says of limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlSetup {
    pub limits: Limits,
    /// The time from one step of a ceiling to the next, ns, not 0.
    pub step_ns: u64,
    pub domains: Vec<ClockDomain>,
    /// The average at the start where a limit does not say it, uW.
    pub idle_uw: u64,
    /// How it warms up, where that is known.
    pub heat: Option<Heat>,
}

/// What a sample finds.
#[derive(Clone, Copy, Debug)]
pub struct PowerSample<'l> {
    pub now_ns: u64,
    /// All that was drawn since the start, fJ.
    pub drawn_fj: u128,
    /// By domain: the point that was asked for, and the one that runs.
    pub asked: &'l [usize],
    pub running: &'l [usize],
    /// By domain: whether a CPU of it was active since the last sample.
    pub active: &'l [bool],
    /// By domain: the most cores that count for its turbo and were active at a time since the last sample.
    pub cores: &'l [usize],
}

/// Keeps the averages of a package and the ceilings of its clocks.
#[derive(Clone, Debug)]
pub struct Control {
    step_ns: u64,
    domains: Vec<ClockDomain>,
    loops: Vec<Loop>,
    /// By domain: the highest point for the number of active cores.
    turbo_points: Vec<usize>,
    /// The average of power that is its temperature.
    heat: Option<(Heat, RunningAverage)>,
    sampled_ns: u64,
    seen: PowerRecord,
}

/// One limit at work.
#[derive(Clone, Debug)]
struct Loop {
    limit: Limit,
    average: RunningAverage,
    every_ns: u64,
    since_ns: u64,
    since_fj: u128,
    ceilings: Vec<usize>,
    floors: Vec<usize>,
}

impl Control {
    /// Limits of a package whose clocks no ceiling holds yet.
    #[must_use]
    pub fn new(setup: ControlSetup) -> Self {
        let ControlSetup { limits, step_ns, domains, idle_uw, heat } = setup;
        assert!(step_ns > 0, "a step takes time");
        let tops: Vec<usize> = domains.iter().map(ClockDomain::top).collect();
        let turbo = domains.iter().any(|d| !d.turbo.is_empty()).then(HoldRecord::default);
        let at_start = |h: &Heat| {
            let now_mc = h.temperature_mc(idle_uw as f64).round() as i64;
            TemperatureRecord { now_mc, peak_mc: now_mc }
        };
        let mut seen = PowerRecord { turbo, heat: heat.as_ref().map(at_start), ..PowerRecord::default() };
        let mut loops = Vec::new();
        let trip = heat.and_then(|h| h.trip()).map(|limit| ("trip", limit));
        for (name, limit) in limits.named().chain(trip) {
            let start_uw = limit.start_uw.unwrap_or(idle_uw);
            let average = RunningAverage::new(limit.window_ns, start_uw);
            seen.limits.push(LimitRecord {
                name: name.to_owned(),
                cause: HoldRecord::default(),
                average_uw: start_uw,
                peak_uw: start_uw,
                above_ns: 0,
                helpless_ns: 0,
            });
            loops.push(Loop {
                limit,
                average,
                every_ns: (limit.window_ns / SAMPLES).max(step_ns).next_multiple_of(step_ns),
                since_ns: 0,
                since_fj: 0,
                ceilings: tops.clone(),
                floors: domains.iter().map(|d| if limit.clamp { 0 } else { d.base.min(d.top()) }).collect(),
            });
        }
        let heat = heat.map(|h| (h, RunningAverage::new(h.window_ns, idle_uw)));
        Self { step_ns, domains, loops, turbo_points: tops, heat, sampled_ns: 0, seen }
    }

    /// When the next sample is, ns.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        self.sampled_ns + self.step_ns
    }

    /// The highest point that a domain may have.
    #[must_use]
    pub fn ceiling(&self, domain: usize) -> usize {
        let by_limits = self.loops.iter().map(|l| l.ceilings[domain]).min();
        by_limits.map_or(self.turbo_points[domain], |c| c.min(self.turbo_points[domain]))
    }

    /// The longest time from an average's rise above its limit to the ceiling's being where it belongs: all steps, one after the
    /// other, and three windows in which the average forgets what was drawn until then, ns.
    #[must_use]
    pub fn delay_ns(&self, limit: usize) -> u64 {
        let steps = self.domains.iter().map(ClockDomain::top).max().map_or(0, |top| top as u64);
        let l = &self.loops[limit];
        (steps + 1) * l.every_ns + 3 * l.limit.window_ns
    }

    /// Takes a sample and moves ceilings.
    pub fn sample(&mut self, sample: &PowerSample<'_>) {
        if let (Some((heat, average)), Some(seen)) = (&mut self.heat, &mut self.seen.heat)
            && sample.now_ns > self.sampled_ns
        {
            let ns = sample.now_ns - self.sampled_ns;
            average.advance((sample.drawn_fj - self.seen.drawn_fj) as f64 / ns as f64, ns);
            seen.now_mc = heat.temperature_mc(average.uw()).round() as i64;
            seen.peak_mc = seen.peak_mc.max(seen.now_mc);
        }
        self.count(sample);
        for (l, seen) in self.loops.iter_mut().zip(&mut self.seen.limits) {
            // The last sample of a run may come sooner.
            if sample.now_ns >= l.since_ns + l.every_ns {
                l.sample(sample, &self.domains, seen);
            }
        }
        for (d, (point, domain)) in self.turbo_points.iter_mut().zip(&self.domains).enumerate() {
            let fits = domain.turbo.iter().find(|t| sample.cores[d] <= t.cores);
            if let Some(turbo) = fits.or(domain.turbo.last()) {
                *point = turbo.point;
            }
        }
        self.sampled_ns = sample.now_ns;
    }

    /// What the ceilings of the time since the last sample did.
    fn count(&mut self, sample: &PowerSample<'_>) {
        let ns = sample.now_ns - self.sampled_ns;
        let from_ns = self.sampled_ns;
        self.seen.samples += 1;
        self.seen.drawn_fj = sample.drawn_fj;
        let holds = |cause: &mut HoldRecord| {
            cause.held_ns += ns;
            cause.first_ns.get_or_insert(from_ns);
            cause.last_ns = Some(sample.now_ns);
        };
        let mut any = false;
        let held = |d: usize, ceiling: usize| sample.active[d] && sample.asked[d] > ceiling;
        for (i, seen) in self.seen.limits.iter_mut().enumerate() {
            let l = &self.loops[i];
            let lowest = |d: &usize| {
                let others = self.loops.iter().map(|o| o.ceilings[*d]).min();
                held(*d, l.ceilings[*d])
                    && others == Some(l.ceilings[*d])
                    && l.ceilings[*d] < self.turbo_points[*d]
            };
            if (0..self.domains.len()).any(|d| lowest(&d)) {
                holds(&mut seen.cause);
                any = true;
            }
        }
        if let Some(cause) = &mut self.seen.turbo {
            let by_turbo = |d: usize| {
                let limits = self.loops.iter().map(|l| l.ceilings[d]).min();
                held(d, self.turbo_points[d]) && limits.is_none_or(|c| c >= self.turbo_points[d])
            };
            if (0..self.domains.len()).any(by_turbo) {
                holds(cause);
                any = true;
            }
        }
        if any {
            self.seen.held_ns += ns;
        }
    }

    /// What leaks more than at the temperature for which the machine's powers are, uW.
    #[must_use]
    pub fn more_leakage_uw(&self) -> i64 {
        self.heat.as_ref().map_or(0, |(heat, average)| heat.more_leakage_uw(average))
    }

    /// What was seen until now.
    #[must_use]
    pub fn record(&self) -> &PowerRecord {
        &self.seen
    }
}

impl ClockDomain {
    fn top(&self) -> usize {
        self.full_uw.len().saturating_sub(1)
    }
}

impl Loop {
    fn sample(&mut self, sample: &PowerSample<'_>, domains: &[ClockDomain], seen: &mut LimitRecord) {
        let ns = sample.now_ns - self.since_ns;
        // fJ over ns are uW.
        let power_uw = (sample.drawn_fj - self.since_fj) as f64 / ns as f64;
        (self.since_ns, self.since_fj) = (sample.now_ns, sample.drawn_fj);
        self.average.advance(power_uw, ns);
        let limit_uw = self.limit.power_uw as f64;
        let above = self.average.uw() > limit_uw;
        if above && power_uw > limit_uw {
            for (d, ceiling) in self.ceilings.iter_mut().enumerate() {
                *ceiling = (*ceiling).min(sample.running[d]).saturating_sub(1).max(self.floors[d]);
            }
        } else if !above
            && self.with_a_step_uw(power_uw, sample, domains)
                <= self.average.power_to_reach(limit_uw, self.every_ns)
        {
            for (ceiling, domain) in self.ceilings.iter_mut().zip(domains) {
                *ceiling = (*ceiling + 1).min(domain.top());
            }
        }
        seen.average_uw = self.average.uw().round() as u64;
        seen.peak_uw = seen.peak_uw.max(seen.average_uw);
        if above {
            seen.above_ns += ns;
            let at_floor = |d: usize| sample.running[d].min(self.ceilings[d]) <= self.floors[d];
            if power_uw > limit_uw && (0..domains.len()).all(at_floor) {
                seen.helpless_ns += ns;
            }
        }
    }

    /// What the package would have drawn since the last sample with each ceiling a step higher, uW: as much more as its domains draw
    /// at full load.
    fn with_a_step_uw(&self, power_uw: f64, sample: &PowerSample<'_>, domains: &[ClockDomain]) -> f64 {
        let (mut now, mut then) = (0.0, 0.0);
        for (d, domain) in domains.iter().enumerate() {
            let up = (self.ceilings[d] + 1).min(domain.top());
            let running = sample.running[d];
            let next = sample.asked[d].min(up).max(running);
            now += domain.full_uw[running] as f64;
            then += domain.full_uw[next] as f64;
        }
        if now > 0.0 { power_uw * then / now } else { power_uw }
    }
}
