// SPDX-License-Identifier: GPL-2.0-only
use idlewise_stats::{Change, Interval};
use schemars::JsonSchema;
use serde::Serialize;

/// What the runs show about an arm and the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, and it is no accident.
    Better,
    Worse,
    /// Within the margin to either side, shown.
    Same,
    /// Not worse by more than the margin, shown; perhaps better.
    NotWorse,
    /// Neither a difference nor its absence is shown.
    Unclear,
    /// Too few runs to show anything.
    TooFew,
}

impl Verdict {
    /// Of a change, with the probability `p` of its test corrected for all that were asked.
    pub(super) fn of(change: &Change, p: f64, margin: f64, more_is_better: bool) -> Self {
        let Some(interval) = change.interval else { return Self::TooFew };
        match differs(interval, p) {
            _ if change.equivalent(margin) => Self::Same,
            true if (interval.low > 0.0) == more_is_better => Self::Better,
            true => Self::Worse,
            false if change.no_worse(margin, more_is_better) => Self::NotWorse,
            false => Self::Unclear,
        }
    }

    /// Of a difference that is no factor, as values may be zero.
    pub(super) fn of_difference(interval: Option<Interval>, p: f64, more_is_better: bool) -> Self {
        match interval {
            None => Self::TooFew,
            Some(i) if differs(i, p) && (i.low > 0.0) == more_is_better => Self::Better,
            Some(i) if differs(i, p) => Self::Worse,
            Some(i) if i.low == 0.0 && i.high == 0.0 => Self::Same,
            Some(_) => Self::Unclear,
        }
    }

    /// In words; `margin` in thousandths.
    #[must_use]
    pub fn words(self, margin_permille: u32) -> String {
        let margin = f64::from(margin_permille) / 10.0;
        match self {
            Self::Better => "better".to_owned(),
            Self::Worse => "worse".to_owned(),
            Self::Same => format!("same within {margin} %"),
            Self::NotWorse => format!("not worse by {margin} %"),
            Self::Unclear => "unclear".to_owned(),
            Self::TooFew => "too few runs".to_owned(),
        }
    }
}

fn differs(interval: Interval, p: f64) -> bool {
    p < 0.05 && (interval.low > 0.0 || interval.high < 0.0)
}
