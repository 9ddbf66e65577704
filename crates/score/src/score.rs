// SPDX-License-Identifier: GPL-2.0-only
use std::borrow::Cow;
use std::collections::BTreeMap;

use idlewise_model::{Counted, TickChoice, WakeCause, nth};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::{Breaches, Tally, Unplaced};

/// What a table shows of a run, a CPU, a cluster.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Score {
    /// Idle periods that ended: the denominator of the two shares below.
    pub wakeups: u64,
    /// Idle periods shorter than the entered state's target residency, % of wakeups; not a number where there are none.
    pub too_deep_pct: f64,
    /// Idle periods that would have paid for the next enabled deeper state, % of wakeups; not a number where there are none.
    pub too_shallow_pct: f64,
    pub rejected: u64,
    /// Time from these to the refusal, ns.
    pub rejected_ns: u64,
    /// Time in idle states, ns.
    pub idle_ns: u64,
    /// Idle periods that are in none of the other numbers, since no table has their state: by state, 255 for one that
    /// nobody knows.
    pub unplaced: BTreeMap<u8, Unplaced>,
    /// By state, shallow to deep.
    pub states: Vec<StateScore>,
    /// Wakes that were only the tick; nothing where the cause of no wake is known.
    pub ticks: Option<u64>,
    /// Idle periods that were entered with the tick running on, as far as it is known; nothing where it is known of none. This,
    /// the next two and `ticks_unknown` add up to `wakeups`.
    pub ticks_kept: Option<u64>,
    /// Idle periods at whose entry the tick was stopped, likewise.
    pub ticks_stopped: Option<u64>,
    /// Idle periods that were entered with the tick stopped at an earlier entry of the visit, likewise.
    pub ticks_stopped_before: Option<u64>,
    /// Idle periods of which nobody knows what became of the tick.
    pub ticks_unknown: u64,
    /// Choices with which something was wrong.
    pub breaches: Breaches,
    /// Events that came while the CPU was still on its way out of a state: no wakeups, but they had to wait.
    pub overtaken: u64,
    pub latency: Latency,
    /// Energy of the idle periods, of the idle loop, and of being awake for the tick alone, in `energy_unit`.
    pub energy: f64,
    /// Of that, the idle loop's: decisions, sleep lengths, stopping the tick and starting it again, asking again after it.
    pub loop_energy: f64,
    /// Time that CPUs ran for that, ns.
    pub loop_ns: u64,
    /// "mJ", or "rel" where the platform's powers are relative.
    pub energy_unit: String,
    pub causes: BTreeMap<String, u64>,
}

/// One state's share of a [`Score`].
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct StateScore {
    /// The state's name; several where clusters name it differently.
    pub name: String,
    pub entries: u64,
    /// Time in the state, ns.
    pub residency_ns: u64,
    /// Time in the state, % of the time in idle states; not a number where there is none.
    pub residency_pct: f64,
    pub above: u64,
    pub below: u64,
    pub rejected: u64,
}

/// Wakeup latency: from the wake event to the first instruction after the idle state, ns. Wakes by the tick or by the
/// poll limit do not count, since nobody waits for them; events that came during an exit do. Where no wake counts the times
/// are 0 here and nothing in JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
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

/// [`Latency`] in JSON.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Latency")]
struct Known {
    wakes: u64,
    mean_ns: Option<f64>,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl Serialize for Latency {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let known = Known {
            wakes: self.wakes,
            mean_ns: self.known(self.mean_ns),
            p50_ns: self.known(self.p50_ns),
            p99_ns: self.known(self.p99_ns),
            max_ns: self.known(self.max_ns),
        };
        known.serialize(s)
    }
}

impl JsonSchema for Latency {
    fn schema_name() -> Cow<'static, str> {
        Known::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Known::json_schema(generator)
    }
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
        let by_cause = |c: WakeCause| tallies.iter().map(|t| t.counts.causes[c as usize]).sum::<u64>();
        let cause_known = wakeups == 0 || by_cause(WakeCause::Unknown) < wakeups;
        let by_tick = |c: TickChoice| tallies.iter().map(|t| t.counts.ticks[c as usize]).sum::<u64>();
        let (kept, stopped) = (by_tick(TickChoice::Kept), by_tick(TickChoice::Stopped));
        let stopped_before = by_tick(TickChoice::WasStopped);
        let ticks_unknown = by_tick(TickChoice::Unknown);
        assert_eq!(
            kept + stopped + stopped_before + ticks_unknown,
            wakeups,
            "idle periods by what became of the tick add up"
        );
        let tick_known = ticks_unknown == 0 || ticks_unknown < wakeups;
        // Every wakeup has one cause and one state.
        let caused: u64 = WakeCause::ALL.iter().map(|c| by_cause(*c)).sum();
        assert_eq!(caused, wakeups, "wakes by cause and idle periods by state add up");
        let mut unplaced: BTreeMap<u8, Unplaced> = BTreeMap::new();
        for (state, n) in tallies.iter().flat_map(|t| &t.counts.unplaced) {
            let sum = unplaced.entry(*state).or_default();
            sum.entries += n.entries;
            sum.residency_ns += n.residency_ns;
        }
        let mut breaches = Breaches::default();
        tallies.iter().for_each(|t| breaches.merge(&t.counts.breaches));
        let energy_fj: u128 = tallies.iter().map(|t| t.energy_fj()).sum();
        let measured = tallies.iter().all(|t| t.energy().unit() == "mJ");
        Self {
            wakeups,
            too_deep_pct: percent(above, wakeups),
            too_shallow_pct: percent(below, wakeups),
            rejected: states.iter().map(|s| s.rejected).sum(),
            rejected_ns: sum(|t| t.counts.rejected_ns),
            idle_ns,
            unplaced,
            ticks: cause_known.then(|| by_cause(WakeCause::Tick)),
            ticks_kept: tick_known.then_some(kept),
            ticks_stopped: tick_known.then_some(stopped),
            ticks_stopped_before: tick_known.then_some(stopped_before),
            ticks_unknown,
            breaches,
            overtaken: sum(|t| t.counts.overtaken),
            latency: Latency::of(tallies),
            energy: tallies.first().map_or(0.0, |t| t.energy().in_unit(energy_fj)),
            loop_energy: tallies.first().map_or(0.0, |t| {
                let fj = tallies.iter().map(|t| t.energy().active_fj(t.counts.loop_ns)).sum();
                t.energy().in_unit(fj)
            }),
            loop_ns: sum(|t| t.counts.loop_ns),
            energy_unit: if measured { "mJ" } else { "rel" }.to_owned(),
            causes: WakeCause::ALL
                .iter()
                .map(|c| (c.name().to_owned(), by_cause(*c)))
                .filter(|(_, n)| *n > 0)
                .collect(),
            states,
        }
    }
}

impl Latency {
    /// `time`, one of these, where there is any wake that counts.
    #[must_use]
    pub fn known<T>(&self, time: T) -> Option<T> {
        (self.wakes > 0).then_some(time)
    }

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
            s.entries += tally.entries();
            s.residency_ns += tally.residency_ns;
            s.above += tally.above();
            s.below += tally.below();
            s.rejected += tally.rejected;
        }
        s.name = names.join("/");
        s.residency_pct = percent(s.residency_ns, idle_ns);
        s
    };
    (0..n).map(state).collect()
}

/// Not a number where there is no whole.
fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / whole as f64
}
