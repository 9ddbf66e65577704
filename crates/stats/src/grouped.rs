// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use crate::Interval;
use crate::resample::resampled_mean;

/// Changes that come in groups, such as those of recordings by machine. Those in per cent are averaged as logarithms of their
/// ratios, so that a half and twice make none; of one that falls to 0 there is no such mean. Shares, in percentage points, are averaged as
/// they are.
#[derive(Clone, Debug)]
pub struct GroupedChanges {
    are_shares: bool,
    /// In the order given, as they are averaged.
    values: Vec<f64>,
    groups: Vec<Vec<f64>>,
}

impl GroupedChanges {
    /// Of `changes`, each with its group.
    #[must_use]
    pub fn of(changes: &[(&str, f64)], are_shares: bool) -> Self {
        let to = |change: f64| if are_shares { change } else { (change / 100.0).ln_1p() };
        let mut by_name: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (group, change) in changes {
            by_name.entry(group).or_default().push(to(*change));
        }
        let values = changes.iter().map(|(_, change)| to(*change)).collect();
        Self { are_shares, values, groups: by_name.into_values().collect() }
    }

    /// The same with each change a group of its own where all are of one.
    #[must_use]
    pub fn or_each_alone(mut self) -> Self {
        if self.groups.len() == 1 {
            self.groups = self.values.iter().map(|v| vec![*v]).collect();
        }
        self
    }

    /// The mean change; nothing without any, or where a value fell to 0.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let mean = self.values.iter().sum::<f64>() / self.values.len() as f64;
        mean.is_finite().then(|| self.back(mean))
    }

    /// The interval of `level` of the mean, by [`resampled_mean`]; nothing for fewer than five groups, or where a value fell to 0.
    #[must_use]
    pub fn interval(&self, level: f64) -> Option<Interval> {
        let i = resampled_mean(&self.groups, level).filter(|_| self.values.iter().all(|v| v.is_finite()))?;
        Some(Interval { low: self.back(i.low), high: self.back(i.high) })
    }

    fn back(&self, mean: f64) -> f64 {
        if self.are_shares { mean } else { mean.exp_m1() * 100.0 }
    }
}
