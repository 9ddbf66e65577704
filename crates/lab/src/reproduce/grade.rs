// SPDX-License-Identifier: GPL-2.0-only
use serde::{Deserialize, Serialize};

use super::experiment::{Compare, Published, Row};

/// How a cell of ours stands to the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// It was used to find parameters: no prediction.
    Fit,
    /// Only changes are compared, and this is what they are counted from.
    Baseline,
    /// Within the tolerance, or no change where none was published.
    Matches,
    /// It changes against the baseline as the published one does: up, down, or not.
    SameSign,
    /// Neither.
    Differs,
    /// We have no number.
    Missing,
}

impl Grade {
    /// Words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Baseline => "baseline",
            Self::Matches => "matches",
            Self::SameSign => "same order and sign",
            Self::Differs => "differs",
            Self::Missing => "no number",
        }
    }
}

/// Published and ours, of a cell and of the baseline in its row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) published: Published,
    pub(super) ours: f64,
}

/// What comes of laying them side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Judgement {
    pub(super) published_change_pct: Option<f64>,
    pub(super) our_change_pct: Option<f64>,
    pub(super) same_sign: Option<bool>,
    pub(super) grade: Grade,
}

/// Judges a cell; `base` is that of the baseline, nothing for the baseline itself.
pub(super) fn judge(row: &Row, cell: Pair, base: Option<Pair>) -> Judgement {
    let change = |now: f64, before: f64| Some((now / before - 1.0) * 100.0).filter(|c| c.is_finite());
    let published = base.and_then(|b| change(cell.published.middle(), b.published.middle()));
    let ours = base.and_then(|b| change(cell.ours, b.ours));
    let sign = |c: f64| if c.abs() <= row.noise_pct { 0.0 } else { c.signum() };
    let signs = published.zip(ours).map(|(p, o)| (sign(p), sign(o)));
    let same_sign = signs.map(|(p, o)| p == o);
    let matches = match row.compare {
        Compare::Value => {
            let (from, to) = cell.published.ends();
            let spare = row.tolerance.max(row.tolerance_pct / 100.0 * cell.published.middle().abs());
            (from - spare..=to + spare).contains(&cell.ours)
        }
        Compare::Change => {
            let near = published.zip(ours).is_some_and(|(p, o)| (p - o).abs() <= row.tolerance);
            near || signs == Some((0.0, 0.0))
        }
    };
    let grade = if !cell.ours.is_finite() {
        Grade::Missing
    } else if row.compare == Compare::Change && base.is_none() {
        Grade::Baseline
    } else if matches {
        Grade::Matches
    } else if same_sign == Some(true) {
        Grade::SameSign
    } else {
        Grade::Differs
    };
    Judgement { published_change_pct: published, our_change_pct: ours, same_sign, grade }
}
