// SPDX-License-Identifier: GPL-2.0-only
//! Where the scheduler's ticks lie: period and phase. What a recording shows counts, whatever machine it is said to be from.

use std::collections::BTreeMap;

use idlewise_model::{Confidence, TickGrid};

use crate::facts::{Facts, TicksSeen};

/// Values of HZ that kernels are built with.
const USUAL_HZ: [u32; 7] = [1000, 500, 300, 250, 200, 100, 24];
/// A count of jiffies that lags some behind is off by less than one in 20.
const ENOUGH_JIFFIES: u64 = 100;
/// Ticks that a grid must explain among the tick's own expiries.
const EXACT_SHARE: (usize, usize) = (9, 10);
/// The kernel rounds the period to the nanosecond; a tick that was put off by a whole number of them lies this near, ns.
const NEAR_NS: i64 = 2_000;
/// So many times must the tick's handler have armed the next tick for its distance to be the period.
const FEW_STEPS: u64 = 3;
/// A tick's handler runs this late at the most, ns, and no later than this part of the period.
const LATE_NS: i64 = 200_000;
const LATE_PART: i64 = 10;
/// A longer period than the true one explains all expiries by chance less often than one in 2 to this power.
const SURE_BITS: u32 = 10;

/// A period for all CPUs and each CPU's phase.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Grids {
    period_ns: u64,
    phases: BTreeMap<u32, u64>,
}

/// Finds period and phase of the ticks: from the tick timer's own expiries, else from the times of timer interrupts and from
/// `counted`, the grid of jiffies, else from `machine_hz`.
pub(crate) fn find_grids(f: &mut Facts, counted: Option<TickGrid>, machine_hz: Option<u32>) {
    let ticks: BTreeMap<u32, &TicksSeen> = f
        .cpus
        .iter()
        .filter(|(_, c)| !(c.ticks.expiries.is_empty() && c.ticks.handled.is_empty()))
        .map(|(cpu, c)| (*cpu, &c.ticks))
        .collect();
    if let Some((grids, how, confidence)) = by_timers(&ticks, f.offsets.first_ns(), machine_hz) {
        let first = grids.phases.values().next().copied().unwrap_or(0);
        for cpu in f.cpus.keys() {
            // A CPU whose own ticks are not recorded has the period of the others; its phase may be another.
            let own = grids.phases.get(cpu).copied();
            let known = if own.is_some() { confidence } else { Confidence::Derived };
            let phase_ns = own.unwrap_or(first);
            f.grids.insert(*cpu, TickGrid { period_ns: grids.period_ns, phase_ns });
            f.grids_known.insert(*cpu, known);
        }
        f.grid_how = how;
        return;
    }
    let irqs: BTreeMap<u32, &[u64]> = f.cpus.iter().map(|(cpu, c)| (*cpu, c.timer_irqs.as_slice())).collect();
    let gathered = by_interrupts(&irqs);
    if let Some(grid) = counted
        && gathered.as_ref().is_none_or(|(g, _)| g.period_ns != grid.period_ns)
    {
        f.same_grid(
            grid,
            Confidence::Bounded,
            format!("{}, from the jiffies of timers", hz_words(grid.period_ns)),
        );
        return;
    }
    if let Some((grid, own)) = gathered {
        let how = format!("{}, from the times of timer interrupts", hz_words(grid.period_ns));
        f.same_grid(grid, Confidence::Bounded, how);
        f.grids.extend(own);
        return;
    }
    let hz = machine_hz.unwrap_or(250);
    let why = if machine_hz.is_some() { "the platform's" } else { "assumed" };
    let seen: usize = ticks.values().map(|t| t.expiries.len() + t.handled.len()).sum();
    let shows = if seen == 0 { "the trace shows no grid of ticks" } else { "the trace shows too few ticks" };
    let how = format!("HZ {hz} ({why}), phase 0 assumed: {shows}");
    f.same_grid(TickGrid::from_hz(hz), Confidence::Assumed, how);
}

impl Facts {
    fn same_grid(&mut self, grid: TickGrid, known: Confidence, how: String) {
        for cpu in self.cpus.keys() {
            self.grids.insert(*cpu, grid);
            self.grids_known.insert(*cpu, known);
        }
        self.grid_how = how;
    }
}

fn hz_words(period_ns: u64) -> String {
    format!("HZ {}", hz_of(period_ns))
}

fn hz_of(period_ns: u64) -> u64 {
    (1_000_000_000 + period_ns / 2) / period_ns.max(1)
}

/// The HZ of a kernel that counts `jiffies` in `ns`: that of the usual ones which is nearest, where they are enough to tell it from the
/// others. A count may lag behind by some of them.
pub(crate) fn hz_by_jiffies(ns: i128, jiffies: u64) -> Option<u32> {
    let off = |hz: &u32| (i128::from(*hz) * ns - i128::from(jiffies) * 1_000_000_000).abs();
    let nearest = USUAL_HZ.into_iter().min_by_key(off)?;
    (jiffies >= ENOUGH_JIFFIES && off(&nearest) * 20 <= i128::from(nearest) * ns).then_some(nearest)
}

/// What shows the ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// For when their timers are armed, to the nanosecond.
    Armings,
    /// The times that their handlers were given, a little later.
    Handlers,
}

impl Shown {
    /// All such times of a CPU's ticks, ns.
    fn all(self, ticks: &TicksSeen) -> &[i64] {
        match self {
            Self::Armings => &ticks.expiries,
            Self::Handlers => &ticks.handled,
        }
    }

    fn phase(self, ticks: &TicksSeen, offset: i64, period: i64) -> Option<i64> {
        match self {
            // After a stop the timer is armed for another event, which may lie on another CPU's grid.
            Self::Armings => {
                let own = if ticks.own.is_empty() { &ticks.expiries } else { &ticks.own };
                commonest(own.iter().map(|e| e.saturating_add(offset).rem_euclid(period)))
            }
            Self::Handlers => earliest_of_most(&ticks.handled, offset, period, late_ns(period)),
        }
    }

    /// Whether a time that lies `off` behind the grid is a tick's, ns.
    fn near(self, off: i64, period: i64) -> bool {
        match self {
            Self::Armings => off.min(period - off) <= NEAR_NS,
            Self::Handlers => off <= late_ns(period),
        }
    }

    fn words(self, few: bool) -> &'static str {
        match (self, few) {
            (Self::Armings, false) => "the tick timer's expiries",
            (Self::Armings, true) => "few expiries of the tick's timer",
            (Self::Handlers, false) => "when the tick's handlers ran",
            (Self::Handlers, true) => "when few handlers of the tick ran",
        }
    }
}

fn late_ns(period: i64) -> i64 {
    LATE_NS.min(period / LATE_PART)
}

/// The usual period that ends at an arming `ahead_ns` after the handler of the tick before it began.
pub(crate) fn period_after(ahead_ns: i64) -> Option<i64> {
    let periods = USUAL_HZ.iter().filter_map(|hz| i64::try_from(TickGrid::period_of(*hz)).ok());
    periods.into_iter().find(|p| (0..=p / LATE_PART).contains(&p.saturating_sub(ahead_ns)))
}

/// The grid on which the ticks lie, in words, and how well it is known: by what the tick's handlers arm, by all that is armed,
/// or by when the handlers ran.
fn by_timers(
    ticks: &BTreeMap<u32, &TicksSeen>,
    offset: i64,
    machine_hz: Option<u32>,
) -> Option<(Grids, String, Confidence)> {
    let steps = by_steps(ticks);
    if let Some((period_ns, _)) = steps.filter(|(_, times)| *times >= FEW_STEPS) {
        // The handler says it itself; how many of the other expiries lie elsewhere does not matter.
        let (grids, ..) = on_grid(Shown::Armings, ticks, offset, period_ns)?;
        let how = format!("{}, from {}", hz_words(period_ns), Shown::Armings.words(false));
        return Some((grids, how, Confidence::Recorded));
    }
    let by = |shown: Shown| by_all(shown, ticks, offset, machine_hz);
    by(Shown::Armings).or_else(|| by(Shown::Handlers)).or_else(|| {
        let (period_ns, _) = steps?;
        let (grids, ..) = on_grid(Shown::Armings, ticks, offset, period_ns)?;
        let how = format!("{}, from {}", hz_words(period_ns), Shown::Armings.words(true));
        Some((grids, how, Confidence::Derived))
    })
}

/// The same by all times that `shown` gives.
fn by_all(
    shown: Shown,
    ticks: &BTreeMap<u32, &TicksSeen>,
    offset: i64,
    machine_hz: Option<u32>,
) -> Option<(Grids, String, Confidence)> {
    let fits = |hz: &u32| {
        let (grids, near, slots) = on_grid(shown, ticks, offset, TickGrid::period_of(*hz))?;
        let all: usize = ticks.values().map(|t| shown.all(t).len()).sum();
        (all >= 3 && near * EXACT_SHARE.1 >= all * EXACT_SHARE.0).then_some((grids, slots))
    };
    let fitting: Vec<(Grids, usize)> = USUAL_HZ.iter().filter_map(fits).collect();
    let (longest, slots) = fitting.iter().max_by_key(|(g, _)| g.period_ns)?;
    // Few ticks of a short period may all lie on a longer one, by chance.
    let shorter = fitting.iter().map(|(g, _)| g.period_ns).filter(|p| *p < longest.period_ns).max();
    let by_chance = shorter.is_some_and(|p| {
        let times = (longest.period_ns / p.max(1)).max(2);
        u32::try_from(*slots).unwrap_or(u32::MAX).saturating_mul(times.ilog2()) < SURE_BITS
    });
    if !by_chance {
        let how = format!("{}, from {}", hz_words(longest.period_ns), shown.words(false));
        return Some((longest.clone(), how, Confidence::Recorded));
    }
    let told = machine_hz.map(TickGrid::period_of);
    let own =
        fitting.iter().find(|(g, _)| Some(g.period_ns) == told).filter(|_| told != Some(longest.period_ns));
    Some(match own {
        Some((grids, _)) => {
            let how = format!(
                "{} (the platform's), phase from {}, which fit HZ {} too",
                hz_words(grids.period_ns),
                shown.words(true),
                hz_of(longest.period_ns)
            );
            (grids.clone(), how, Confidence::Derived)
        }
        None => {
            let how = format!("{}, from {}", hz_words(longest.period_ns), shown.words(true));
            (longest.clone(), how, Confidence::Derived)
        }
    })
}

/// The distance at which the tick's handler arms the next tick, ns, the period, but where a tick was missed; and how often it
/// did so.
fn by_steps(ticks: &BTreeMap<u32, &TicksSeen>) -> Option<(u64, u64)> {
    let mut steps = BTreeMap::<i64, u64>::new();
    for (step, times) in ticks.values().flat_map(|t| &t.steps) {
        *steps.entry(*step).or_default() += times;
    }
    let all: u64 = steps.values().sum();
    let (step, times) = steps.into_iter().max_by_key(|(step, times)| (*times, std::cmp::Reverse(*step)))?;
    let step = u64::try_from(step).ok()?;
    (times * 2 > all && tick_period(step)).then_some((step, times))
}

/// Whether a kernel can be built so that `step_ns` is its `TICK_NSEC`, for HZ from 24 to 1200.
fn tick_period(step_ns: u64) -> bool {
    u32::try_from(hz_of(step_ns))
        .is_ok_and(|hz| (24..=1200).contains(&hz) && TickGrid::period_of(hz) == step_ns)
}

/// Each CPU's phase on a grid of `period_ns`, how many expiries lie on it, and how many of these are more than the first of
/// their CPU at other times.
fn on_grid(
    shown: Shown,
    ticks: &BTreeMap<u32, &TicksSeen>,
    offset: i64,
    period_ns: u64,
) -> Option<(Grids, usize, usize)> {
    let period = i64::try_from(period_ns).ok()?;
    let mut grids = Grids { period_ns, phases: BTreeMap::new() };
    let (mut near, mut slots) = (0, 0);
    for (cpu, seen) in ticks.iter().filter(|(_, seen)| !shown.all(seen).is_empty()) {
        let phase = shown.phase(seen, offset, period)?;
        let mut times: Vec<i64> = Vec::new();
        for e in shown.all(seen).iter().map(|e| e.saturating_add(offset)) {
            if shown.near(e.saturating_sub(phase).rem_euclid(period), period) {
                near += 1;
                times.push(e.saturating_sub(phase).saturating_add(period / 2).div_euclid(period));
            }
        }
        times.sort_unstable();
        times.dedup();
        slots += times.len().saturating_sub(1);
        grids.phases.insert(*cpu, u64::try_from(phase).ok()?);
    }
    (!grids.phases.is_empty()).then_some((grids, near, slots))
}

/// Of the times that lie within `late` behind one of them, folded by `period`, where these are most: the earliest.
fn earliest_of_most(times: &[i64], offset: i64, period: i64, late: i64) -> Option<i64> {
    let mut folded: Vec<i64> = times.iter().map(|t| t.saturating_add(offset).rem_euclid(period)).collect();
    folded.sort_unstable();
    let around = folded.iter().map(|t| t + period);
    let twice: Vec<i64> = folded.iter().copied().chain(around).collect();
    let most = (0..folded.len()).max_by_key(|at| {
        let within = twice.partition_point(|t| *t <= twice[*at] + late) - at;
        (within, std::cmp::Reverse(*at))
    })?;
    folded.get(most).copied()
}

/// The value that comes most often, the least of several; values are below a tick's period.
fn commonest(values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut counts = BTreeMap::<i64, usize>::new();
    values.for_each(|v| *counts.entry(v).or_default() += 1);
    counts.into_iter().max_by_key(|(v, n)| (*n, std::cmp::Reverse(*v))).map(|(v, _)| v)
}

/// The grid at which timer interrupts gather, those of all CPUs together, and grids of single CPUs where they have ticks of
/// their own: skewed, so that together they would seem to come more often, or not to gather at all.
fn by_interrupts(irqs: &BTreeMap<u32, &[u64]>) -> Option<(TickGrid, BTreeMap<u32, TickGrid>)> {
    let together = folded_grid(&irqs.values().flat_map(|of| of.iter().copied()).collect::<Vec<u64>>());
    let own: BTreeMap<u32, TickGrid> =
        irqs.iter().filter_map(|(cpu, of)| Some((*cpu, folded_grid(of)?))).collect();
    let period = commonest(own.values().filter_map(|g| i64::try_from(g.period_ns).ok()));
    let period = period.and_then(|p| u64::try_from(p).ok()).filter(|_| own.len() > 1);
    let agreed: BTreeMap<u32, TickGrid> =
        own.iter().filter(|(_, g)| Some(g.period_ns) == period).map(|(cpu, g)| (*cpu, *g)).collect();
    let skewed = agreed.len() * 2 > own.len() && together.map(|g| g.period_ns) != period;
    match agreed.values().next().copied().filter(|_| skewed) {
        Some(first) => Some((first, agreed)),
        None => Some((together?, BTreeMap::new())),
    }
}

/// The longest usual period at which timer interrupts gather, and where.
fn folded_grid(irqs: &[u64]) -> Option<TickGrid> {
    const BIN_NS: u64 = 20_000;
    const WINDOW: usize = 5;
    if irqs.len() < 50 {
        return None;
    }
    let folded: Vec<(usize, TickGrid)> = USUAL_HZ
        .iter()
        .map(|&hz| {
            let period_ns = TickGrid::period_of(hz);
            let bins = (period_ns / BIN_NS) as usize;
            let mut histogram = vec![0usize; bins + 1];
            for t in irqs {
                if let Some(bin) = histogram.get_mut((t % period_ns / BIN_NS) as usize) {
                    *bin += 1;
                }
            }
            let held =
                |at: usize| (0..WINDOW).map(|i| histogram.get((at + i) % bins).unwrap_or(&0)).sum::<usize>();
            let (at, n) =
                (0..bins).map(|b| (b, held(b))).max_by_key(|(b, n)| (*n, usize::MAX - b)).unwrap_or((0, 0));
            // The tick itself lies before the first interrupts that it causes.
            let first = (at..at + WINDOW)
                .find(|b| histogram.get(b % bins).is_some_and(|h| h * 20 >= n))
                .unwrap_or(at);
            (n, TickGrid { period_ns, phase_ns: first as u64 * BIN_NS % period_ns })
        })
        .collect();
    let most = folded.iter().map(|f| f.0).max()?;
    // A third of all timer interrupts in a tenth of a millisecond of the period is no chance; a longer period that
    // holds nearly as many is the true one.
    if most * 3 < irqs.len() {
        return None;
    }
    folded.iter().rfind(|f| f.0 * 5 >= most * 4).map(|f| f.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn seen(expiries: &[i64]) -> TicksSeen {
        TicksSeen { expiries: expiries.to_vec(), ..TicksSeen::default() }
    }

    fn found(cpus: &[TicksSeen], machine_hz: Option<u32>) -> Option<(Grids, String, Confidence)> {
        by_timers(&(0..).zip(cpus).collect(), 0, machine_hz)
    }

    fn period(cpus: &[TicksSeen], machine_hz: Option<u32>) -> Option<(u64, Confidence)> {
        found(cpus, machine_hz).map(|(g, _, c)| (g.period_ns, c))
    }

    #[test]
    fn the_period_is_the_longest_on_which_all_expiries_lie() {
        let expiries: Vec<i64> = (0..12).map(|k| 1_234 + k * k * 4 * MS).collect();
        let (grids, how, known) = found(&[seen(&expiries)], None).unwrap();
        assert_eq!((grids.period_ns, grids.phases[&0], known), (4_000_000, 1_234, Confidence::Recorded));
        assert_eq!(how, "HZ 250, from the tick timer's expiries");
        assert_eq!(found(&[seen(&[5, 9])], None), None);
    }

    #[test]
    fn jiffies_tell_hz_where_they_are_enough() {
        let second = 1_000_000_000;
        assert_eq!(hz_by_jiffies(4 * second, 999), Some(250));
        assert_eq!(hz_by_jiffies(4 * second + 3_000_000, 1001), Some(250));
        assert_eq!(hz_by_jiffies(2 * second, 199), Some(100));
        assert_eq!(hz_by_jiffies(second / 5, 50), None);
        // No usual one.
        assert_eq!(hz_by_jiffies(second, 128), None);
        assert_eq!(hz_by_jiffies(0, 1000), None);
    }

    #[test]
    fn the_machine_has_no_say_where_the_recording_shows_the_ticks() {
        for hz in [100, 250, 300, 1000] {
            let p = TickGrid::period_of(hz) as i64;
            let every: Vec<i64> = (0..40).map(|k| 77 + k * p).collect();
            let mut steps = seen(&[every[3], every[4], every[5], every[6]]);
            steps.steps = BTreeMap::from([(p, 3), (2 * p, 1)]);
            steps.own = steps.expiries.clone();
            // Idle CPUs tick seldom: every seventh, every thirteenth.
            let seldom: Vec<i64> = (0..20).map(|k| 77 + (k * 7 + k % 3 * 13) * p).collect();
            for machine_hz in [None, Some(100), Some(250), Some(300), Some(1000)] {
                for cpus in [vec![seen(&every)], vec![steps.clone()], vec![seen(&seldom)]] {
                    let told = period(&cpus, machine_hz);
                    assert_eq!(told, Some((p as u64, Confidence::Recorded)), "HZ {hz} on {machine_hz:?}");
                }
            }
        }
    }

    #[test]
    fn few_ticks_that_fit_two_periods_leave_the_machine_a_say() {
        let few = [seen(&[0, 8 * MS, 44 * MS])];
        assert_eq!(period(&few, None), Some((4_000_000, Confidence::Derived)));
        assert_eq!(period(&few, Some(1000)), Some((1_000_000, Confidence::Derived)));
        assert_eq!(period(&few, Some(300)), Some((4_000_000, Confidence::Derived)), "which they do not fit");
        assert_eq!(period(&few, Some(250)), Some((4_000_000, Confidence::Derived)));
        let how = found(&few, Some(1000)).unwrap().1;
        assert!(
            how.starts_with("HZ 1000 (the platform's)") && how.ends_with("which fit HZ 250 too"),
            "{how}"
        );
    }

    #[test]
    fn cpus_with_skewed_ticks_have_phases_of_their_own() {
        let cpus: Vec<TicksSeen> =
            (0..16).map(|cpu| seen(&[0, 1, 2, 5, 9].map(|k| cpu * 125_000 + k * 4 * MS))).collect();
        let (grids, _, known) = found(&cpus, Some(1000)).unwrap();
        assert_eq!((grids.period_ns, known), (4_000_000, Confidence::Recorded));
        assert_eq!(grids.phases.values().copied().collect::<Vec<u64>>()[..3], [0, 125_000, 250_000]);
    }

    #[test]
    fn a_stopped_ticks_timer_may_lie_off_its_own_grid() {
        let mut cpu = seen(&[]);
        cpu.own = (0..10).map(|k| 500_000 + k * 4 * MS).collect();
        cpu.steps = BTreeMap::from([(4 * MS, 10)]);
        cpu.expiries = cpu.own.iter().copied().chain((0..30).map(|k| k * 8 * MS)).collect();
        let (grids, _, known) = found(&[cpu], Some(1000)).unwrap();
        assert_eq!((grids.period_ns, grids.phases[&0], known), (4_000_000, 500_000, Confidence::Recorded));
    }

    #[test]
    fn a_period_is_one_that_a_kernel_can_have() {
        assert!([10_000_000, 4_000_000, 3_333_333, 1_000_000, 976_563].iter().all(|p| tick_period(*p)));
        assert!([0, 1, 4_000_001, 250_000, 50_000_000].iter().all(|p| !tick_period(*p)));
    }

    #[test]
    fn interrupts_of_cpus_with_skewed_ticks_are_folded_apart() {
        for cpus in [4u64, 16] {
            let own: Vec<Vec<u64>> = (0..cpus)
                .map(|cpu| {
                    (1..200).map(|k| k * 4_000_000 + cpu * 2_000_000 / cpus + k * 7919 % 20_000).collect()
                })
                .collect();
            let irqs: BTreeMap<u32, &[u64]> = (0..).zip(own.iter().map(Vec::as_slice)).collect();
            let (grid, phases) = by_interrupts(&irqs).unwrap();
            assert_eq!((grid.period_ns, phases.len() as u64), (4_000_000, cpus));
            assert!(phases[&1].phase_ns.abs_diff(2_000_000 / cpus) <= 40_000, "{:?}", phases[&1]);
        }
        let same: Vec<u64> = (1..200).map(|k| k * 4_000_000 + 30_000).collect();
        let irqs: BTreeMap<u32, &[u64]> = (0..4).map(|cpu| (cpu, same.as_slice())).collect();
        let (grid, phases) = by_interrupts(&irqs).unwrap();
        assert_eq!((grid.period_ns, phases.len()), (4_000_000, 0), "no skew: one phase for all");
    }

    #[test]
    fn interrupts_near_a_grid_give_it_away() {
        let mut irqs: Vec<u64> = (0..400).map(|k| k * 1_000_000 + 440_000 + k * 7919 % 60_000).collect();
        irqs.extend((0..200).map(|k| k * 1_777_777));
        let grid = folded_grid(&irqs).unwrap();
        assert_eq!(grid.period_ns, 1_000_000);
        assert!((420_000..=460_000).contains(&grid.phase_ns), "{grid:?}");
        assert_eq!(folded_grid(&irqs[400..]), None, "no ticks");
    }
}
