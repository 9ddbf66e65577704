// SPDX-License-Identifier: GPL-2.0-only
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::experiment::{Compare, Published, Row};

/// How a cell of ours stands to the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// It was used to find parameters: no prediction.
    Fit,
    /// Only changes are compared, and this is what they are counted from.
    Baseline,
    /// Within the tolerance, and the change against the baseline is none that goes the other way; or no change where none
    /// was published.
    Matches,
    /// It changes against the baseline as the published one does: up, down, or not.
    SameSign,
    Differs,
    /// We have no number.
    Missing,
    /// Nothing was published to hold ours against.
    Unpublished,
}

impl Grade {
    /// The grade as tables print it.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Fit => "fit",
            Self::Baseline => "baseline",
            Self::Matches => "matches",
            Self::SameSign => "same order and sign",
            Self::Differs => "differs",
            Self::Missing => "no number",
            Self::Unpublished => "no published number",
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
    let (from, to) = cell.published.ends();
    // Ranges may leave open which way it goes: what lies between the least and the greatest change is no contradiction.
    let way = |now: f64, before: f64| match change(now, before) {
        Some(c) if c.abs() <= row.noise_pct => 0.0,
        _ if now == before => 0.0,
        _ => (now - before).signum(),
    };
    let allowed = base.is_some_and(|b| {
        let (low, high) = b.published.ends();
        (way(from, high)..=way(to, low)).contains(&way(cell.ours, b.ours))
    });
    // A number may come to lie near the published one and have gone another way from the baseline: that is no match,
    // unless neither went further than what counts as the same.
    let matches = match row.compare {
        Compare::Value => {
            let spare = row.tolerance.max(row.tolerance_pct / 100.0 * cell.published.middle().abs());
            let near = (from - spare..=to + spare).contains(&cell.ours);
            let moved = |b: Pair| {
                let published = (cell.published.middle() - b.published.middle()).abs();
                published.max((cell.ours - b.ours).abs()) > spare
            };
            near && (allowed || !base.is_some_and(moved))
        }
        Compare::Change => {
            let near = |p: f64, o: f64| (p - o).abs() <= row.tolerance;
            let small = |p: f64, o: f64| p.abs().max(o.abs()) <= row.tolerance;
            published.zip(ours).is_some_and(|(p, o)| near(p, o) && (allowed || small(p, o)))
                || signs == Some((0.0, 0.0))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Row {
        toml::from_str(&format!("name = \"r\"\nunit = \"u\"\nfact = \"a / b\"\npublished = {{}}\n{text}"))
            .unwrap()
    }

    fn pair(published: f64, ours: f64) -> Pair {
        Pair { published: Published::Number(published), ours }
    }

    fn range(from: f64, to: f64, ours: f64) -> Pair {
        Pair { published: Published::Range([from, to]), ours }
    }

    fn grade(row: &Row, cell: Pair, base: Pair) -> Grade {
        judge(row, cell, Some(base)).grade
    }

    #[test]
    fn a_number_that_is_near_and_went_the_other_way_is_no_match() {
        let r = row("tolerance_pct = 10\nnoise_pct = 3");
        // Published 140 to 116, ours 120 to 125.
        assert_eq!(grade(&r, pair(116.0, 125.0), pair(140.0, 120.0)), Grade::Differs);
        // It fell and ours stayed where it was.
        assert_eq!(grade(&r, pair(100.0, 105.0), pair(120.0, 105.0)), Grade::Differs);
        assert_eq!(grade(&r, pair(100.0, 105.0), pair(120.0, 130.0)), Grade::Matches);
        // Alone, a number is near or not.
        assert_eq!(judge(&r, pair(116.0, 125.0), None).grade, Grade::Matches);
        assert_eq!(judge(&r, pair(116.0, 130.0), None).grade, Grade::Differs);
    }

    #[test]
    fn changes_that_both_are_within_the_tolerance_have_no_sign() {
        let r = row("tolerance = 2\nnoise_pct = 1");
        assert_eq!(grade(&r, pair(101.9, 98.6), pair(100.0, 100.0)), Grade::Differs, "not near");
        assert_eq!(grade(&r, pair(101.9, 100.0), pair(100.0, 101.5)), Grade::Matches);
        assert_eq!(grade(&r, pair(101.9, 100.0), pair(100.0, 102.5)), Grade::Differs, "ours fell by more");
        let r = row("compare = \"change\"\ntolerance = 3\nnoise_pct = 0.5");
        assert_eq!(grade(&r, pair(101.0, 99.0), pair(100.0, 100.0)), Grade::Matches);
        assert_eq!(grade(&r, pair(101.0, 97.0), pair(100.0, 100.0)), Grade::Differs);
        let wide = row("compare = \"change\"\ntolerance = 3\nnoise_pct = 4");
        assert_eq!(grade(&wide, pair(96.5, 103.5), pair(100.0, 100.0)), Grade::Matches, "both are noise");
    }

    #[test]
    fn ranges_that_leave_the_sign_open_contradict_none() {
        let r = row("tolerance = 1\nnoise_pct = 1");
        assert_eq!(grade(&r, range(95.0, 100.0, 99.5), range(95.0, 100.0, 96.0)), Grade::Matches);
        assert_eq!(grade(&r, range(95.0, 100.0, 96.0), range(95.0, 100.0, 99.5)), Grade::Matches);
        // These do not: it fell.
        assert_eq!(grade(&r, range(30.0, 50.0, 40.0), range(60.0, 70.0, 35.0)), Grade::Differs);
        assert_eq!(grade(&r, range(30.0, 50.0, 40.0), range(60.0, 70.0, 65.0)), Grade::Matches);
    }
}
