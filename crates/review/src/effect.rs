// SPDX-License-Identifier: GPL-2.0-only
//! What recordings of several machines show of a change: a mean, its interval, and what can be said.

use idlewise_score::measure::DECIDING;
use idlewise_score::{Better, Measure, Unit};
use idlewise_stats::{GroupedChanges, Interval, median};
use idlewise_study::compare::MeasureChange;
use schemars::JsonSchema;
use serde::Serialize;

/// A change of a measure over all recordings.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Effect {
    /// The name of the measure that changes.
    pub metric: &'static str,
    /// "%" of the value before, or "pp" for shares.
    pub unit: &'static str,
    /// Geometric mean over recordings, of shares the mean; nothing where no recording has it.
    pub mean: Option<f64>,
    /// The middle of the recordings: far from the mean where a few of them carry it.
    pub median: Option<f64>,
    /// In how many recordings it fell, stayed the same, rose.
    pub fell: usize,
    pub same: usize,
    pub rose: usize,
    /// Of 95 %: the wider of two, by resampling the machines of the recordings with replacement, and by resampling their loads where there
    /// are five; nothing for fewer than five machines.
    pub interval: Option<Interval>,
    /// Recordings that tell it.
    pub recordings: usize,
    pub shown: Shown,
    /// Whether it is shown that the measure is worse by no more than 1 % (or one percentage point): a one-sided test of 5 %.
    /// Nothing where there is no interval, or where neither way is better.
    pub not_worse: Option<bool>,
    /// The bound of that test: worse by no more than this, by the one-sided interval of 95 %.
    pub one_sided: Option<f64>,
}

/// What the recordings show of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// It is the same in every recording.
    Same,
    /// The interval is below 0.
    Less,
    /// The interval is above 0.
    More,
    /// The interval holds 0.
    Nothing,
    /// The recordings are of too few machines for an interval.
    NoInterval,
}

/// What nobody notices: % or percentage points.
const MARGIN: f64 = 1.0;

/// The measures that decide.
pub(crate) fn measures() -> impl Iterator<Item = &'static Measure> {
    DECIDING.into_iter()
}

/// What recordings may be alike in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'c> {
    pub(crate) machine: &'c str,
    /// The same load on two machines is no two witnesses.
    pub(crate) load: &'c str,
}

impl Effect {
    /// Of `changes`, each of a recording of the machine and of the load that it comes with.
    pub(crate) fn of<'c>(
        measure: &'static Measure,
        changes: impl IntoIterator<Item = (Origin<'c>, MeasureChange)>,
    ) -> Self {
        let is_share = measure.unit == Unit::Share;
        let mut by_machine: Vec<(&str, f64)> = Vec::new();
        let mut by_load = Vec::new();
        let mut same = true;
        for (origin, change) in changes {
            let value = if is_share { Some(change.change) } else { change.change_pct };
            same &= change.a == change.b;
            if let Some(value) = value.filter(|v| v.is_finite()) {
                by_machine.push((origin.machine, value));
                by_load.push((origin.load, value));
            }
        }
        let [all, loads] = [&by_machine, &by_load].map(|known| GroupedChanges::of(known, is_share));
        let wider = |share: f64| {
            let machines = all.interval(share)?;
            let loads = loads.interval(share).unwrap_or(machines);
            Some(Interval { low: machines.low.min(loads.low), high: machines.high.max(loads.high) })
        };
        let values: Vec<f64> = by_machine.iter().map(|(_, value)| *value).collect();
        let count = |is: fn(f64) -> bool| values.iter().filter(|v| is(**v)).count();
        let (mean, interval) = (all.mean(), wider(0.95));
        let shown = match interval {
            _ if same && mean.is_some() => Shown::Same,
            None => Shown::NoInterval,
            Some(i) if i.high < 0.0 => Shown::Less,
            Some(i) if i.low > 0.0 => Shown::More,
            Some(_) => Shown::Nothing,
        };
        let one_sided = wider(0.90).and_then(|i| match measure.better {
            Better::Less => Some(i.high),
            Better::More => Some(i.low),
            Better::Neither => None,
        });
        let not_worse = one_sided.map(|end| match measure.better {
            Better::More => end >= -MARGIN,
            _ => end <= MARGIN,
        });
        Self {
            metric: measure.name,
            unit: if is_share { "pp" } else { "%" },
            mean,
            median: median(&values),
            fell: count(|v| v < 0.0),
            same: count(|v| v == 0.0),
            rose: count(|v| v > 0.0),
            interval,
            recordings: values.len(),
            shown,
            not_worse,
            one_sided,
        }
    }

    /// Whether it is shown to be worse.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        let measure = measures().find(|m| m.name == self.metric);
        match measure.map(|m| m.better) {
            Some(Better::Less) => self.shown == Shown::More,
            Some(Better::More) => self.shown == Shown::Less,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use idlewise_score::measure::ENERGY;

    fn effect(of_machines: &[&[f64]]) -> Effect {
        let names: Vec<String> = (0..of_machines.len()).map(|i| format!("m{i}")).collect();
        let all = of_machines.iter().zip(&names).flat_map(|(values, name)| {
            let origin = Origin { machine: name.as_str(), load: "the same" };
            values.iter().map(move |v| (origin, MeasureChange::new(ENERGY, 100.0, 100.0 + v)))
        });
        Effect::of(ENERGY, all)
    }

    #[test]
    fn the_same_load_on_many_machines_is_one_witness() {
        let loads = ["a", "b", "c", "d", "e"];
        let machines: Vec<String> = (0..10).map(|i| format!("m{i}")).collect();
        // Of five loads one falls by far on each of ten machines, the others do nothing.
        let all = machines.iter().flat_map(|machine| {
            loads.map(|load| {
                let value = if load == "a" { 70.0 } else { 100.2 };
                (Origin { machine, load }, MeasureChange::new(ENERGY, 100.0, value))
            })
        });
        let effect = Effect::of(ENERGY, all);
        assert!(effect.mean.unwrap() < -5.0 && effect.shown == Shown::Nothing, "{effect:?}");
    }

    #[test]
    fn what_is_shown_depends_on_machines_not_on_recordings() {
        let same_way = effect(&[&[-4.0], &[-5.0], &[-3.0], &[-4.5], &[-4.0], &[-3.5]]);
        assert_eq!((same_way.shown, same_way.not_worse), (Shown::Less, Some(true)));
        assert!(!same_way.is_worse());
        let one_machine = effect(&[&[-4.0, -4.1, -4.2, -3.9, -4.0, -4.0]]);
        assert_eq!(
            (one_machine.shown, one_machine.interval, one_machine.not_worse),
            (Shown::NoInterval, None, None)
        );
        let both_ways = effect(&[&[-4.0], &[5.0], &[-3.0], &[4.5], &[-4.0], &[3.5]]);
        assert_eq!((both_ways.shown, both_ways.not_worse), (Shown::Nothing, Some(false)));
        let small = effect(&[&[0.1], &[-0.2], &[0.1], &[0.0], &[0.2]]);
        assert_eq!((small.shown, small.not_worse), (Shown::Nothing, Some(true)));
        assert!(small.one_sided.unwrap() < small.interval.unwrap().high, "{small:?}");
        let worse = effect(&[&[4.0], &[5.0], &[3.0], &[4.5], &[4.0], &[3.5]]);
        assert!(worse.shown == Shown::More && worse.is_worse() && worse.not_worse == Some(false));
    }

    #[test]
    fn one_recording_that_carries_the_mean_is_seen_in_the_median_and_the_counts() {
        let carried = effect(&[&[-0.1, -0.1, 0.0], &[-0.2], &[0.0], &[-0.1], &[-0.1, 900.0]]);
        assert!(carried.mean.unwrap() > 20.0, "{carried:?}");
        assert!((carried.median.unwrap() + 0.1).abs() < 1e-9, "{carried:?}");
        assert_eq!((carried.fell, carried.same, carried.rose), (5, 2, 1));
    }

    #[test]
    fn the_same_and_the_unknown_are_told_apart() {
        assert_eq!(effect(&[&[0.0], &[0.0]]).shown, Shown::Same);
        let unknown = effect(&[]);
        assert_eq!((unknown.shown, unknown.mean, unknown.recordings), (Shown::NoInterval, None, 0));
    }
}
