// SPDX-License-Identifier: GPL-2.0-only
//! What a published number is, and how a prediction stands to it.

use idlewise_stats::{Interval, interval_score, quantile};
use schemars::JsonSchema;
use serde::Serialize;

use crate::experiment::{Column, Experiment, Given, Published, Row};
use crate::noise::Noise;

/// Of an interval of predictions.
pub const LEVEL: f64 = 0.9;

/// A prediction of a change has the right size within so many points or per cent,
const POINTS: f64 = 3.0;
/// or within this share of the published change.
const SHARE: f64 = 0.25;

/// What a published number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A difference between the baseline and another column, counted once.
    Difference,
    /// The same number as another's: in another reading, under another assumption.
    Repeat,
    /// Published, and no more than its noise.
    NoEffect,
    /// It follows from what the words mean.
    Definition,
    /// It follows from the load alone.
    Load,
    /// The baseline's: it tells about the unknowns.
    Fit,
    /// The baseline's, or of a table without one.
    Level,
    /// Nothing was published: ours only.
    Unpublished,
}

impl Class {
    /// All of them, in the order in which tables list them.
    pub const ALL: [Self; 8] = [
        Self::Difference,
        Self::Repeat,
        Self::NoEffect,
        Self::Definition,
        Self::Load,
        Self::Fit,
        Self::Level,
        Self::Unpublished,
    ];

    /// The class as tables print it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Difference => "difference",
            Self::Repeat => "repeat",
            Self::NoEffect => "no effect",
            Self::Definition => "definition",
            Self::Load => "load alone",
            Self::Fit => "fit",
            Self::Level => "level",
            Self::Unpublished => "not published",
        }
    }
}

/// Whether what all samples say is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole interval says what was published.
    Right,
    /// The interval covers both answers.
    Undecided,
    /// None of the interval says what was published.
    Wrong,
}

impl Verdict {
    /// The verdict as tables print it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Undecided => "undecided",
            Self::Wrong => "wrong",
        }
    }
}

/// Numbers of all samples.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Predicted {
    pub median: f64,
    /// The middle 90 %.
    pub interval: Interval,
}

impl Predicted {
    /// That of `values`; nothing without any.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let tail = (1.0 - LEVEL) / 2.0;
        let interval = Interval { low: quantile(values, tail)?, high: quantile(values, 1.0 - tail)? };
        Some(Self { median: quantile(values, 0.5)?, interval })
    }
}

/// A change against the baseline, as published and as predicted: per cent, or points where the row's unit is %.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Effect {
    /// The published change; of ranges, that of their middles.
    pub published: f64,
    /// How far it would move if it were measured again.
    pub noise: Noise,
    pub predicted: Predicted,
    /// Changes of the published size: within 3 points or 25 % of it; of ranges, of all that they allow.
    pub right: Interval,
    /// Samples without a number, such as that of a clock that never gets to the top: with any, sign and size are undecided.
    pub missing: usize,
    pub sign: Verdict,
    pub size: Verdict,
    /// Whether the median alone goes the published way.
    pub median_has_sign: bool,
    /// Whether the median alone is as large as published.
    pub median_has_size: bool,
    /// Whether the published change, give or take its noise, is in the predicted interval.
    pub inside: bool,
    /// The width of the interval against the published change.
    pub width: f64,
    /// The interval score of the prediction against that of "nothing changes": below 1 it says more.
    pub score: f64,
    /// "Nothing changes" has the right size, too.
    pub null_in_size: bool,
}

/// What holds of a cell besides its numbers.
pub(crate) fn class(e: &Experiment, row: &Row, column: &Column) -> Class {
    let Some(published) = row.published.get(&column.name) else { return Class::Unpublished };
    if e.is_fitted(row, column) {
        return Class::Fit;
    }
    let base = e.baseline().filter(|b| b.name != column.name).and_then(|b| row.published.get(&b.name));
    match row.given.get(&column.name) {
        Some(Given::Definition) => return Class::Definition,
        Some(Given::Load) => return Class::Load,
        None => {}
    }
    let Some(base) = base else { return Class::Level };
    if e.repeats.is_some() || row.repeats.is_some() || column.repeats.is_some() {
        return Class::Repeat;
    }
    let noise = e.noise(row, column).value;
    let Some(least) = least_change(row, *published, *base) else { return Class::NoEffect };
    if least.abs() > noise { Class::Difference } else { Class::NoEffect }
}

/// The published change: of ranges, the smallest that they allow, which is none where they overlap so.
fn least_change(row: &Row, now: Published, before: Published) -> Option<f64> {
    let [a, b] = changes(row, now, before)?;
    if a * b <= 0.0 {
        return Some(0.0);
    }
    let middle = row.change(now.middle(), before.middle())?;
    Some([a, b, middle].into_iter().min_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(middle))
}

/// The changes that published ranges allow at most, down and up.
fn changes(row: &Row, now: Published, before: Published) -> Option<[f64; 2]> {
    let (now, before) = (now.ends(), before.ends());
    Some([row.change(now.0, before.1)?, row.change(now.1, before.0)?])
}

/// How the changes of all samples stand to the published one.
pub(crate) fn effect(e: &Experiment, row: &Row, column: &Column, ours: &[Option<f64>]) -> Option<Effect> {
    let (now, before) = (row.published.get(&column.name)?, row.published.get(&e.baseline()?.name)?);
    let published = row.change(now.middle(), before.middle())?;
    // Ranges leave open how large it is.
    let [low, high] = changes(row, *now, *before)?;
    let spare = POINTS.max(SHARE * published.abs());
    let right = Interval { low: low.min(published) - spare, high: high.max(published) + spare };
    let known: Vec<f64> = ours.iter().copied().flatten().collect();
    let missing = ours.len() - known.len();
    let predicted = Predicted::of(&known)?;
    let noise = e.noise(row, column);
    let open = |verdict| if missing > 0 { Verdict::Undecided } else { verdict };
    let sign = open(self::sign(published, predicted.interval, noise.value));
    let size = open(self::size(predicted.interval, right, sign));
    let median = Interval { low: predicted.median, high: predicted.median };
    let half = missing * 2 < ours.len();
    let median_sign = self::sign(published, median, noise.value);
    let null = Interval { low: -noise.value, high: noise.value };
    let of = |i: Interval| interval_score(i, published, LEVEL);
    let reach = Interval { low: published - noise.value, high: published + noise.value };
    Some(Effect {
        published,
        predicted,
        right,
        missing,
        sign,
        size,
        median_has_sign: half && median_sign == Verdict::Right,
        median_has_size: half && self::size(median, right, median_sign) == Verdict::Right,
        inside: overlap(reach, predicted.interval),
        width: (predicted.interval.high - predicted.interval.low) / published.abs(),
        score: of(predicted.interval) / of(null),
        null_in_size: right.low <= 0.0 && 0.0 <= right.high,
        noise,
    })
}

fn overlap(a: Interval, b: Interval) -> bool {
    a.low <= b.high && b.low <= a.high
}

/// Which way a change goes: up, down or, within the noise, neither.
pub(crate) fn way(change: f64, noise: f64) -> f64 {
    if change.abs() <= noise { 0.0 } else { change.signum() }
}

/// Whether the interval goes the published way.
fn sign(published: f64, ours: Interval, noise: f64) -> Verdict {
    let way = |change| way(change, noise);
    let (low, high) = (way(ours.low), way(ours.high));
    match way(published) {
        p if low == p && high == p => Verdict::Right,
        p if (low..=high).contains(&p) => Verdict::Undecided,
        _ => Verdict::Wrong,
    }
}

/// Whether the interval is as large as published. What goes another way is not.
fn size(ours: Interval, right: Interval, sign: Verdict) -> Verdict {
    if sign == Verdict::Wrong || !overlap(ours, right) {
        Verdict::Wrong
    } else if sign == Verdict::Right && right.low <= ours.low && ours.high <= right.high {
        Verdict::Right
    } else {
        Verdict::Undecided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn i(low: f64, high: f64) -> Interval {
        Interval { low, high }
    }

    #[test]
    fn a_sign_is_right_only_where_the_whole_interval_has_it() {
        assert_eq!(sign(-10.0, i(-20.0, -2.0), 1.0), Verdict::Right);
        assert_eq!(sign(-10.0, i(-20.0, -0.5), 1.0), Verdict::Undecided, "a part is within the noise");
        assert_eq!(sign(-10.0, i(-20.0, 5.0), 1.0), Verdict::Undecided);
        assert_eq!(sign(-10.0, i(-0.5, 0.5), 1.0), Verdict::Wrong);
        assert_eq!(sign(-10.0, i(2.0, 3.0), 1.0), Verdict::Wrong);
        assert_eq!(sign(0.5, i(-0.9, 0.9), 1.0), Verdict::Right, "nothing changes");
    }

    #[test]
    fn a_size_is_right_only_where_the_whole_interval_and_its_sign_are() {
        let right = i(-13.0, -7.0);
        assert_eq!(size(i(-12.0, -8.0), right, Verdict::Right), Verdict::Right);
        assert_eq!(size(i(-14.0, -8.0), right, Verdict::Right), Verdict::Undecided);
        assert_eq!(size(i(-30.0, -20.0), right, Verdict::Right), Verdict::Wrong);
        assert_eq!(size(i(-1.0, 1.0), i(-4.0, 2.0), Verdict::Wrong), Verdict::Wrong);
        assert_eq!(size(i(-3.0, 1.0), i(-4.0, 2.0), Verdict::Undecided), Verdict::Undecided);
    }
}
