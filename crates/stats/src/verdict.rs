// SPDX-License-Identifier: GPL-2.0-only
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::distribution::normal_quantile;
use crate::{Interval, RankTest, paired_shift, signed_rank};

/// A difference as a factor needs all values above zero.
fn log_ratios(pairs: &[(f64, f64)]) -> Option<Vec<f64>> {
    let good = |v: f64| v.is_finite() && v > 0.0;
    let positive = !pairs.is_empty() && pairs.iter().all(|(a, b)| good(*a) && good(*b));
    positive.then(|| pairs.iter().map(|(a, b)| (b / a).ln()).collect())
}

/// What pairs of positive numbers, each of one round, say about the factor between them.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Change {
    /// From the baseline, as a factor less one: 0.05 is 5 % more. The shift of the logarithms of the ratios.
    pub relative: f64,
    /// Its interval of 95 %; `None` for too few values.
    pub interval: Option<Interval>,
    /// Its interval of 90 %: both one-sided tests of 5 % at once.
    pub one_sided: Option<Interval>,
    /// Are they different at all?
    pub test: RankTest,
}

impl Change {
    /// From the first to the second value of `pairs`; `None` where a value is not positive, or there is none.
    #[must_use]
    pub fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let ratios = log_ratios(pairs)?;
        let wide = paired_shift(&ratios, 0.95)?;
        let narrow = paired_shift(&ratios, 0.90)?;
        let back = |i: Interval| Interval { low: i.low.exp_m1(), high: i.high.exp_m1() };
        Some(Self {
            relative: wide.estimate.exp_m1(),
            interval: wide.interval.map(back),
            one_sided: narrow.interval.map(back),
            test: signed_rank(&ratios)?,
        })
    }

    /// The same seen from the other side: of seconds a run, what it is of runs a second.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let one = |x: f64| (-x.ln_1p()).exp_m1();
        let both = |i: Interval| Interval { low: one(i.high), high: one(i.low) };
        Self {
            relative: one(self.relative),
            interval: self.interval.map(both),
            one_sided: self.one_sided.map(both),
            test: self.test,
        }
    }

    /// Within `margin` of the baseline (0.01 is 1 %) to either side: two one-sided tests (Schuirmann 1987), each of 5 %,
    /// which is the interval of 90 % within the margin.
    #[must_use]
    pub fn equivalent(&self, margin: f64) -> bool {
        self.one_sided.is_some_and(|i| -margin <= i.low && i.high <= margin)
    }

    /// Not worse than the baseline by more than `margin`: one of those tests, in the direction that is worse.
    #[must_use]
    pub fn no_worse(&self, margin: f64, more_is_better: bool) -> bool {
        self.one_sided.is_some_and(|i| if more_is_better { -margin <= i.low } else { i.high <= margin })
    }

    /// How many pairs it would take, estimated from the spread so far, to tell a difference of the size seen or
    /// to show that there is none beyond `margin`, whichever is easier, with four chances in five. The interval shrinks
    /// with the square root of their number. `None` while there is no interval.
    #[must_use]
    pub fn runs_to_settle(&self, pairs: usize, margin: f64) -> Option<u64> {
        let i = self.interval?;
        let half = ((i.high + 1.0).ln() - (i.low + 1.0).ln()) / 2.0;
        let seen = (self.relative + 1.0).ln().abs();
        let (side, chance) = (normal_quantile(0.975), normal_quantile(0.8));
        let error = half / side;
        let difference = error * (side + chance) / seen;
        let room = margin.ln_1p() - seen;
        let equivalence =
            if room > 0.0 { error * (normal_quantile(0.95) + chance) / room } else { f64::INFINITY };
        let factor = difference.min(equivalence).powi(2);
        factor.is_finite().then(|| (pairs as f64 * factor).ceil().max(1.0) as u64)
    }
}

/// The geometric mean of several changes, and its interval of 95 % for these very benchmarks: the spread of their runs,
/// not of benchmarks that might have been chosen. `None` without any; without interval where one has none.
#[must_use]
pub fn mean_change(changes: &[Change]) -> Option<(f64, Option<Interval>)> {
    if changes.is_empty() {
        return None;
    }
    let n = changes.len() as f64;
    let mean = changes.iter().map(|c| c.relative.ln_1p()).sum::<f64>() / n;
    let halves: Option<Vec<f64>> =
        changes.iter().map(|c| c.interval.map(|i| (i.high.ln_1p() - i.low.ln_1p()) / 2.0)).collect();
    let interval = halves.map(|h| {
        let half = h.iter().map(|x| x * x).sum::<f64>().sqrt() / n;
        Interval { low: (mean - half).exp_m1(), high: (mean + half).exp_m1() }
    });
    Some((mean.exp_m1(), interval))
}
