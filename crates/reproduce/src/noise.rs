// SPDX-License-Identifier: GPL-2.0-only
//! How far a published change would move if it were measured again.

use idlewise_stats::Summary;
use schemars::JsonSchema;
use serde::Serialize;

use crate::experiment::{Column, Experiment, Row};

/// The noise of a published change.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Noise {
    /// Half the width of its 95 % interval: per cent, or points where the row's unit is %.
    pub value: f64,
    /// Where it is from.
    pub from: String,
}

/// What one normal number more or less is of a 95 % interval.
const TWO_SIDED: f64 = 1.96;

/// How much wider the interval of a median is than that of a mean, of normal numbers: sqrt(pi / 2).
const OF_MEDIAN: f64 = 1.2533;

impl Experiment {
    /// The noise of the published change of `column` against the baseline in `row`; of the baseline, that of a change
    /// against itself measured again. From the published single runs where there are such; else from the same measurement
    /// published twice; else what the file says.
    #[must_use]
    pub fn noise(&self, row: &Row, column: &Column) -> Noise {
        let declared = || Noise { value: row.noise, from: row.noise_from.clone() };
        self.of_runs(row, column).or_else(|| self.of_repeated(row)).unwrap_or_else(declared)
    }

    fn of_runs(&self, row: &Row, column: &Column) -> Option<Noise> {
        let relative = |name: &str| {
            let runs = Summary::of(row.runs.get(name)?);
            Some(OF_MEDIAN * runs.half_width? / runs.mean)
        };
        let (own, base) = (relative(&column.name)?, relative(&self.baseline()?.name)?);
        let published = |name: &str| row.published.get(name).map(|p| p.middle());
        let ratio = published(&column.name)? / published(&self.baseline()?.name)?;
        let n = row.runs.get(&column.name)?.len();
        Some(Noise { value: 100.0 * ratio * own.hypot(base), from: format!("{n} published runs of each") })
    }

    fn of_repeated(&self, row: &Row) -> Option<Noise> {
        let names = row.again.rows();
        let again: Vec<&Row> = self.row.iter().filter(|r| names.contains(&r.name)).collect();
        let base = &self.baseline()?.name;
        let change = |row: &Row, name: &String| {
            row.change(row.published.get(name)?.middle(), row.published.get(base)?.middle())
        };
        // The mean square of what two of them differ by.
        let square = |name: &String| {
            let all: Vec<f64> = std::iter::once(&row).chain(&again).filter_map(|r| change(r, name)).collect();
            let pairs = all.iter().enumerate().flat_map(|(i, x)| all.iter().skip(i + 1).map(move |y| x - y));
            let (sum, n) = pairs.fold((0.0, 0.0), |(sum, n), d| (sum + d * d, n + 1.0));
            (n > 0.0).then(|| sum / n)
        };
        let both = row.published.keys().filter(|name| *name != base);
        let apart: Vec<f64> = both.filter_map(square).collect();
        if apart.is_empty() {
            return None;
        }
        let square = apart.iter().sum::<f64>() / apart.len() as f64;
        // A difference of two has twice the variance of one.
        let value = TWO_SIDED * (square / 2.0).sqrt();
        Some(Noise { value, from: format!("the same as published again: {}", names.join("; ")) })
    }
}

impl Row {
    /// Whether changes are in points: the difference of two shares.
    #[must_use]
    pub fn in_points(&self) -> bool {
        self.unit == "%"
    }

    /// The change from `before` to `now`: points where the unit is %, else per cent.
    #[must_use]
    pub fn change(&self, now: f64, before: f64) -> Option<f64> {
        let change = if self.in_points() { now - before } else { (now / before - 1.0) * 100.0 };
        change.is_finite().then_some(change)
    }
}
