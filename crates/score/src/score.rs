// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::{Counted, WakeCause, nth};
use serde::Serialize;

use crate::Tally;

/// What a table shows of a run, a CPU, a cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Stays that ended: the denominator of the two shares below.
    pub wakeups: u64,
    /// Stays shorter than the entered state's target residency, % of wakeups.
    pub too_deep_pct: f64,
    /// Stays that would have paid for the next enabled deeper state, % of wakeups.
    pub too_shallow_pct: f64,
    /// Refused entries.
    pub rejected: u64,
    /// Time in idle states, ns.
    pub idle_ns: u64,
    /// By state, shallow to deep.
    pub states: Vec<StateScore>,
    /// Wakes that were only the tick.
    pub ticks: u64,
    /// Entries at which the tick went on running.
    pub ticks_kept: u64,
    /// Entries at which the tick was stopped.
    pub ticks_stopped: u64,
    /// Events that came while the CPU was still on its way out of a state: no wakeups, but they had to wait.
    pub overtaken: u64,
    /// Wakeup latency.
    pub latency: Latency,
    /// Energy of the stays, and of being awake for the tick alone, in `energy_unit`.
    pub energy: f64,
    /// "mJ", or "rel" where the platform's powers are relative.
    pub energy_unit: String,
    /// Wakes by cause.
    pub causes: BTreeMap<String, u64>,
}

/// One state's share of a [`Score`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateScore {
    /// The state's name; several where clusters name it differently.
    pub name: String,
    /// Stays.
    pub entries: u64,
    /// Time in the state, ns.
    pub residency_ns: u64,
    /// Time in the state, % of the time in idle states.
    pub residency_pct: f64,
    /// "Too deep" verdicts.
    pub above: u64,
    /// "Too shallow" verdicts.
    pub below: u64,
    /// Refused entries.
    pub rejected: u64,
}

/// Wakeup latency: from the wake event to the first instruction after the idle state, ns. Wakes by the tick or by the
/// poll limit do not count, since nobody waits for them; events that came during an exit do.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Wakes counted.
    pub wakes: u64,
    /// Mean, ns.
    pub mean_ns: f64,
    /// Median, ns.
    pub p50_ns: u64,
    /// 99th percentile, ns.
    pub p99_ns: u64,
    /// Largest, ns.
    pub max_ns: u64,
}

impl Score {
    /// Whether nothing was scored, not even an empty run.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.states.is_empty()
    }

    /// The score of several CPUs together. Percentiles are exact and do not depend on the order of `tallies`.
    #[must_use]
    pub fn of(tallies: &[&Tally<'_>]) -> Self {
        let states = states(tallies);
        let sum = |get: fn(&Tally<'_>) -> u64| tallies.iter().map(|t| get(t)).sum::<u64>();
        let wakeups: u64 = states.iter().map(|s| s.entries).sum();
        let idle_ns = states.iter().map(|s| s.residency_ns).sum();
        let above: u64 = states.iter().map(|s| s.above).sum();
        let below: u64 = states.iter().map(|s| s.below).sum();
        let causes = WakeCause::ALL.iter().map(|c| {
            let n = tallies.iter().map(|t| t.counts.causes[*c as usize]).sum::<u64>();
            (c.name().to_owned(), n)
        });
        let ticks = tallies.iter().map(|t| t.counts.causes[WakeCause::Tick as usize]).sum();
        let energy_fj: u128 = tallies.iter().map(|t| t.counts.energy_fj).sum();
        let measured = tallies.iter().all(|t| t.energy().unit() == "mJ");
        Self {
            wakeups,
            too_deep_pct: percent(above, wakeups),
            too_shallow_pct: percent(below, wakeups),
            rejected: states.iter().map(|s| s.rejected).sum(),
            idle_ns,
            ticks,
            ticks_kept: sum(|t| t.counts.ticks_kept),
            ticks_stopped: sum(|t| t.counts.ticks_stopped),
            overtaken: sum(|t| t.counts.overtaken),
            latency: Latency::of(tallies),
            energy: tallies.first().map_or(0.0, |t| t.energy().in_unit(energy_fj)),
            energy_unit: if measured { "mJ" } else { "rel" }.to_owned(),
            causes: causes.filter(|(_, n)| *n > 0).collect(),
            states,
        }
    }
}

impl Latency {
    fn of(tallies: &[&Tally<'_>]) -> Self {
        let all = Counted::ranks(tallies.iter().map(|t| &t.counts.latencies_ns));
        let wakes: u64 = all.iter().map(|(_, times)| times).sum();
        let sum: u64 = all.iter().map(|(value, times)| u64::from(*value) * times).sum();
        // Nearest rank: the smallest value that at least this share does not exceed.
        let rank = |share: u64| (wakes * share).div_ceil(100).saturating_sub(1);
        let at = |share: u64| nth(&all, rank(share)).unwrap_or(0).into();
        Self {
            wakes,
            mean_ns: if wakes == 0 { 0.0 } else { sum as f64 / wakes as f64 },
            p50_ns: at(50),
            p99_ns: at(99),
            max_ns: all.last().map_or(0, |(value, _)| u64::from(*value)),
        }
    }
}

fn states(tallies: &[&Tally<'_>]) -> Vec<StateScore> {
    let n = tallies.iter().map(|t| t.table().len()).max().unwrap_or(0);
    let idle_ns: u64 = tallies.iter().flat_map(|t| &t.counts.states).map(|s| s.residency_ns).sum();
    let state = |i: usize| {
        let mut names: Vec<&str> = Vec::new();
        let mut s = StateScore {
            name: String::new(),
            entries: 0,
            residency_ns: 0,
            residency_pct: 0.0,
            above: 0,
            below: 0,
            rejected: 0,
        };
        for t in tallies {
            if let Some(state) = t.table().states().get(i)
                && !names.contains(&state.name.as_str())
            {
                names.push(&state.name);
            }
            let Some(tally) = t.counts.states.get(i) else { continue };
            s.entries += tally.entries;
            s.residency_ns += tally.residency_ns;
            s.above += tally.above;
            s.below += tally.below;
            s.rejected += tally.rejected;
        }
        s.name = names.join("/");
        s.residency_pct = percent(s.residency_ns, idle_ns);
        s
    };
    (0..n).map(state).collect()
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use idlewise_model::{Entry, IdleState, IdleTable, Ledger, Miss, Outcome, TickChoice};
    use idlewise_platform::{EnergyTable, Fall};

    fn table() -> IdleTable {
        let state = |name: &str, us: i64| IdleState {
            name: name.to_owned(),
            exit_latency_ns: us * 400,
            target_residency_ns: us * 1000,
            entry_ns: 0,
            polling: false,
            disabled: false,
        };
        IdleTable::new(vec![state("WFI", 1), state("C2", 1000)]).unwrap()
    }

    fn entry(entered: u8, residency_ns: i64, miss: Miss, cause: WakeCause, latency_ns: i64) -> Entry {
        Entry {
            cpu: 0,
            start_ns: 0,
            residency_ns,
            wake_ns: residency_ns - latency_ns,
            latency_ns,
            tick_ns: if cause == WakeCause::Tick { 10_000 } else { 0 },
            selected: entered,
            outcome: Outcome::Stayed { entered, miss },
            cause,
            tick: TickChoice::Kept,
        }
    }

    #[test]
    fn shares_are_of_all_wakeups_and_latency_leaves_ticks_out() {
        let table = table();
        let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
        let mut tally = Tally::new(&table, &energy);
        tally.entry(&entry(1, 500_000, Miss::Above, WakeCause::Irq, 400_000));
        tally.entry(&entry(0, 3_000_000, Miss::Below, WakeCause::Hrtimer, 400));
        tally.entry(&entry(0, 1_000, Miss::None, WakeCause::Tick, 400));
        tally.entry(&entry(1, 1_500_000, Miss::None, WakeCause::Ipi, 400_000));
        tally.entry(&Entry { outcome: Outcome::Rejected, ..entry(1, 0, Miss::None, WakeCause::Unknown, 0) });
        let score = Score::of(&[&tally]);
        assert_eq!((score.wakeups, score.rejected, score.ticks, score.ticks_kept), (4, 1, 1, 5));
        assert_eq!((score.too_deep_pct, score.too_shallow_pct), (25.0, 25.0));
        assert_eq!((score.latency.wakes, score.latency.p50_ns, score.latency.max_ns), (3, 400_000, 400_000));
        assert_eq!(score.states[1].rejected, 1);
        let fj = |i: usize, t: u64| energy.stay_fj(i, t, 0);
        let expected =
            fj(1, 100_000) + fj(0, 2_999_600) + fj(0, 600) + fj(1, 1_100_000) + energy.active_fj(10_000);
        assert_eq!(tally.counts.energy_fj, expected);
        assert_eq!(score.causes.values().sum::<u64>(), 4);
    }

    #[test]
    fn an_empty_run_has_a_score_of_nothing() {
        let table = table();
        let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
        let score = Score::of(&[&Tally::new(&table, &energy)]);
        assert_eq!((score.wakeups, score.too_deep_pct, score.latency.max_ns), (0, 0.0, 0));
        assert_eq!(Score::of(&[]).states.len(), 0);
    }
}
