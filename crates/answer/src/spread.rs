// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::{GroupedChanges, Interval, median};
use schemars::JsonSchema;
use serde::Serialize;

use crate::small::SMALL_PCT;
use crate::table::{Column, Group, Quantity, Role};

/// How a governor changes a column over several recordings. No recording counts for more than another, however long it is.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Spread {
    pub governor: String,
    pub role: Role,
    /// The name of the column.
    pub column: String,
    /// Recordings in which the change is known.
    pub recordings: usize,
    /// The geometric mean of the ratios as a change, %; of shares the mean change, percentage points. Not a number where there is
    /// none.
    pub mean: f64,
    pub median: f64,
    /// The least and the greatest change.
    pub range: [f64; 2],
    /// In how many recordings it fell, stayed the same, rose.
    pub fell: usize,
    pub same: usize,
    pub rose: usize,
    /// The 95 % interval of the mean, resampled over recordings, or over machines where there are several; none for fewer than
    /// five.
    pub interval: Option<Interval>,
    /// What that shows; nothing where there is no interval.
    pub shown: Option<Shown>,
}

/// What the recordings show together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shown {
    /// It falls: the interval is below 0.
    Falls,
    Rises,
    /// At most 1 % (or 1 percentage point) to either side: the 90 % interval is within.
    Equivalent,
    Nothing,
}

/// The spread of each governor but the baseline, in each of `columns`, over `groups`; nothing for fewer than two groups.
#[must_use]
pub fn spreads(columns: &[Column], groups: &[Group]) -> Vec<Spread> {
    let Some(first) = groups.first().filter(|_| groups.len() > 1) else { return Vec::new() };
    let mut out = Vec::new();
    for (g, contender) in first.contenders.iter().enumerate().filter(|(_, c)| c.role != Role::Baseline) {
        for (c, column) in columns.iter().enumerate() {
            let changes = groups.iter().filter_map(|group| {
                let change = group.contenders.get(g)?.cells.get(c)?.change;
                change.is_finite().then_some((group.machine.as_str(), change))
            });
            let changes: Vec<(&str, f64)> = changes.collect();
            out.push(Spread::of(&contender.governor, contender.role, column, &changes));
        }
    }
    out
}

impl Spread {
    /// The spread of `changes`, each with its machine.
    fn of(governor: &str, role: Role, column: &Column, changes: &[(&str, f64)]) -> Self {
        let is_share = column.quantity == Quantity::Share;
        let all = GroupedChanges::of(changes, is_share).or_each_alone();
        let interval = all.interval(0.95);
        let shown = interval.map(|interval| match all.interval(0.90) {
            Some(i) if -SMALL_PCT <= i.low && i.high <= SMALL_PCT => Shown::Equivalent,
            _ if interval.high < 0.0 => Shown::Falls,
            _ if interval.low > 0.0 => Shown::Rises,
            _ => Shown::Nothing,
        });
        let raw: Vec<f64> = changes.iter().map(|(_, change)| *change).collect();
        let count = |is: &dyn Fn(f64) -> bool| raw.iter().filter(|v| is(**v)).count();
        Self {
            governor: governor.to_owned(),
            role,
            column: column.name.clone(),
            recordings: raw.len(),
            mean: all.mean().unwrap_or(f64::NAN),
            median: median(&raw).unwrap_or(f64::NAN),
            range: raw.iter().fold([f64::NAN; 2], |[lo, hi], v| [lo.min(*v), hi.max(*v)]),
            fell: count(&|v| v < 0.0),
            same: count(&|v| v == 0.0),
            rose: count(&|v| v > 0.0),
            interval,
            shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use idlewise_score::measure::{ENERGY, TOO_SHALLOW};

    fn of(column: &Column, changes: &[(&str, f64)]) -> Spread {
        Spread::of("teo", Role::Governor, column, changes)
    }

    fn columns() -> Vec<Column> {
        Column::of([ENERGY, TOO_SHALLOW], "mJ")
    }

    #[test]
    fn half_and_twice_cancel_out() {
        let columns = columns();
        let s = of(&columns[0], &[("a", -50.0), ("a", 100.0)]);
        assert!(s.mean.abs() < 1e-9 && s.median == 25.0, "{s:?}");
        assert_eq!((s.range, s.fell, s.same, s.rose), ([-50.0, 100.0], 1, 0, 1));
        assert_eq!((s.interval, s.shown), (None, None));
        let s = of(&columns[1], &[("a", -1.0), ("a", 3.0)]);
        assert!((s.mean - 1.0).abs() < 1e-12, "{s:?}");
    }

    #[test]
    fn what_recordings_show_needs_several() {
        let columns = columns();
        let down: Vec<(&str, f64)> = [-10.0, -12.0, -9.0, -11.0, -10.5].map(|v| ("a", v)).to_vec();
        assert_eq!(of(&columns[0], &down).shown, Some(Shown::Falls));
        let none: Vec<(&str, f64)> = [-0.2, 0.3, 0.1, -0.1, 0.0].map(|v| ("a", v)).to_vec();
        assert_eq!(of(&columns[0], &none).shown, Some(Shown::Equivalent));
        let either: Vec<(&str, f64)> = [-20.0, 30.0, 5.0, -9.0, 2.0].map(|v| ("a", v)).to_vec();
        assert_eq!(of(&columns[0], &either).shown, Some(Shown::Nothing));
        // Two machines, however many recordings, are two.
        let two: Vec<(&str, f64)> =
            [("a", -10.0), ("a", -11.0), ("a", -9.0), ("b", -10.0), ("b", -12.0)].to_vec();
        assert_eq!(of(&columns[0], &two).shown, None);
    }
}
