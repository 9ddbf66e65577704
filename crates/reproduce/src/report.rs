// SPDX-License-Identifier: GPL-2.0-only
//! What came of repeating experiments.

use std::collections::BTreeMap;

use idlewise_experiment::ExperimentError;
use idlewise_stats::{Mode, rank_correlation, two_modes};
use schemars::JsonSchema;
use serde::Serialize;

use crate::experiment::{Column, Compare, Experiment, Lack, Row};
use crate::grade::{Class, Effect, Predicted, Verdict, class, effect, way};
use crate::samples::Samples;
use crate::unknown::{Point, Setting, four_digits};

/// Version of the JSON that this gives.
pub const SCHEMA: &str = "idlewise.reproduce/5";

/// Which published experiments to repeat.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ReproduceRequest {
    /// Experiments by name or path; all that come with idlewise where none is named.
    pub experiments: Vec<String>,
    /// Runs of each cell of an experiment without unknowns; of the others, each sample is run once.
    pub runs: usize,
}

/// Every experiment that was asked for, and what all come to.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ReproduceReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    pub request: ReproduceRequest,
    pub scoreboard: Scoreboard,
    pub experiments: Vec<Reproduced>,
}

/// A published table and ours.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Reproduced {
    pub experiment: Experiment,
    /// Runs of each cell.
    pub points: usize,
    /// What is known of the unknowns; nothing where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<Drawn>,
    /// All cells: also those without a published number, if the experiment has one for them.
    pub cells: Vec<Cell>,
}

/// The samples at which an experiment was run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Drawn {
    /// XXH3 of what they depend on.
    pub hash: String,
    /// Points that were tried.
    pub draws: u64,
    /// How far the baseline's fitted numbers are off at the worst sample, in multiples of their noise (root mean square).
    pub distance: f64,
    /// The model has changed since they were drawn: its numbers are others now.
    pub outdated: bool,
    /// By unknown, in the order of the file: the middle 90 % of a range, or how many samples have each value.
    pub settings: Vec<(String, String)>,
}

impl Drawn {
    pub(crate) fn of(e: &Experiment, s: &Samples) -> Result<Self, ExperimentError> {
        let words = |i: usize| {
            let own: Vec<&Setting> = s.samples.iter().filter_map(|all| all.get(i)).collect();
            settings_words(&own)
        };
        let settings = e.unknown.iter().enumerate().map(|(i, u)| (u.name.clone(), words(i))).collect();
        let outdated = s.is_outdated(e)?;
        Ok(Self { hash: s.hash.clone(), draws: s.draws, distance: s.distance, outdated, settings })
    }
}

/// Numbers as the interval that they lie in, words as how often each comes.
fn settings_words(settings: &[&Setting]) -> String {
    let numbers: Vec<f64> = settings
        .iter()
        .filter_map(|s| match s {
            Setting::Number(n) => Some(*n),
            Setting::Word(_) => None,
        })
        .collect();
    if let Some(p) = Predicted::of(&numbers).filter(|_| numbers.len() == settings.len()) {
        return format!("{} to {}", four_digits(p.interval.low), four_digits(p.interval.high));
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for s in settings {
        *counts.entry(s.to_string()).or_default() += 1;
    }
    let words: Vec<String> = counts.iter().map(|(word, n)| format!("{word} {n}")).collect();
    words.join(", ")
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Cell {
    pub row: String,
    pub column: String,
    pub unit: String,
    pub class: Class,
    /// What was published: from, to; nothing where there is no such number.
    pub published: Option<[f64; 2]>,
    /// Our numbers; nothing where only changes may be compared, or no run has one.
    pub ours: Option<Predicted>,
    /// Of a level: whether the published number, give or take its noise or the tolerance, is in the interval of ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
    /// The change against the baseline; nothing for the baseline itself.
    pub effect: Option<Effect>,
    /// Our change where none was published.
    pub change: Option<Predicted>,
    /// Why a difference is not right in sign and size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Where the published change comes out, of what meets the baseline; of differences that depend on unknowns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
    /// On which unknowns it depends, the strongest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub influences: Vec<Influence>,
    /// Two groups of `values` that are farther apart than either is wide: a result that is bistable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes: Option<[Mode; 2]>,
    /// Each sample's number, or its change where only that may be compared, in the order of the samples.
    pub values: Vec<Option<f64>>,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Why a difference is not right in sign and size.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Reason {
    /// What was published leaves both answers open.
    CannotBeKnown { why: String },
    /// Samples that miss the baseline's own numbers cannot tell.
    MissesBaseline {
        /// How far off they are, in multiples of the numbers' noise (root mean square).
        distance: f64,
        /// Rows whose published number is outside of their interval.
        rows: Vec<String>,
    },
    /// The model says something else: none of its interval is what was published.
    ModelIsWrong {
        /// What it lacks, as far as it is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        lacks: Option<String>,
    },
    /// There is no number of ours.
    NoNumber,
}

impl Reason {
    /// The reason as tables print it.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Self::CannotBeKnown { .. } => "cannot be known",
            Self::MissesBaseline { .. } => "the model misses the baseline",
            Self::ModelIsWrong { .. } => "the model is wrong",
            Self::NoNumber => "no number",
        }
    }
}

/// The part of the samples where a published number comes out.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Region {
    /// Samples in it, and all.
    pub samples: [usize; 2],
    /// By unknown: where it lies there; nothing where no sample is in it.
    pub settings: Vec<(String, String)>,
}

/// How strongly a cell depends on an unknown.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Influence {
    pub unknown: String,
    /// Rank correlation of both over the samples, -1 to 1.
    pub correlation: f64,
}

/// Correlations nearer to 0 are chance, with as many samples as there are.
const LEAST_CORRELATION: f64 = 0.3;

impl Cell {
    pub(crate) fn of(
        e: &Experiment,
        row: &Row,
        column: &Column,
        points: &[Point],
        numbers: &[&Result<f64, String>],
        base: Option<&[&Result<f64, String>]>,
    ) -> Option<Self> {
        let ours: Vec<Option<f64>> = numbers.iter().map(|n| n.as_ref().ok().copied()).collect();
        let changes: Option<Vec<Option<f64>>> = base.map(|base| {
            let pairs = ours.iter().zip(base);
            pairs.map(|(now, before)| row.change((*now)?, *before.as_ref().ok()?)).collect()
        });
        let known = |all: &[Option<f64>]| all.iter().copied().flatten().collect::<Vec<f64>>();
        let published = row.published.get(&column.name).map(|p| [p.ends().0, p.ends().1]);
        let class = class(e, row, column);
        let changed = changes.as_deref().map(known);
        let effect = changes.as_ref().and_then(|c| effect(e, row, column, c));
        let failure =
            numbers.iter().find_map(|n| n.as_ref().err().cloned()).filter(|_| known(&ours).is_empty());
        if class == Class::Unpublished && failure.is_some() {
            return None;
        }
        let level = (row.compare == Compare::Value).then(|| Predicted::of(&known(&ours))).flatten();
        let met = level
            .zip(row.published.get(&column.name))
            .filter(|_| matches!(class, Class::Level | Class::Fit))
            .map(|(ours, p)| {
                let (from, to) = p.ends();
                let spare = row.tolerance.max(e.off_by(row, column));
                ours.interval.low - spare <= to && from <= ours.interval.high + spare
            });
        let values = match (row.compare, changes.clone()) {
            (Compare::Change, Some(changes)) => changes,
            _ => ours.clone(),
        };
        Some(Self {
            row: row.name.clone(),
            column: column.name.clone(),
            unit: row.unit.clone(),
            class,
            published,
            ours: level,
            met,
            change: changed.as_deref().and_then(Predicted::of).filter(|_| effect.is_none()),
            region: match (&effect, &changes) {
                (Some(effect), Some(changes)) if class == Class::Difference => {
                    region(e, effect, points, changes)
                }
                _ => None,
            },
            effect,
            reason: None,
            influences: influences(e, points, changes.as_ref().unwrap_or(&values)),
            modes: two_modes(&known(&values), 0.0),
            values,
            failure,
        })
    }

    /// Whether it is a difference with this verdict of its sign.
    #[must_use]
    pub fn has_sign(&self, verdict: Verdict) -> bool {
        self.class == Class::Difference && self.effect.as_ref().is_some_and(|e| e.sign == verdict)
    }

    /// Whether it shows an effect where none was published.
    #[must_use]
    pub fn is_false_alarm(&self) -> bool {
        self.class == Class::NoEffect && self.effect.as_ref().is_some_and(|e| e.sign == Verdict::Wrong)
    }

    /// Whether it is a difference with this verdict of its size.
    #[must_use]
    pub fn has_size(&self, verdict: Verdict) -> bool {
        self.class == Class::Difference && self.effect.as_ref().is_some_and(|e| e.size == verdict)
    }
}

fn influences(e: &Experiment, points: &[Point], values: &[Option<f64>]) -> Vec<Influence> {
    let of = |u: &crate::unknown::Unknown| {
        let pairs = points.iter().zip(values);
        let pairs: Vec<(f64, f64)> =
            pairs.filter_map(|(p, v)| Some((u.share(p.settings.get(&u.name)?), (*v)?))).collect();
        let correlation = rank_correlation(&pairs).filter(|r| r.abs() >= LEAST_CORRELATION)?;
        Some(Influence { unknown: u.name.clone(), correlation })
    };
    let mut out: Vec<Influence> = e.unknown.iter().filter_map(of).collect();
    out.sort_by(|a, b| b.correlation.abs().total_cmp(&a.correlation.abs()));
    out
}

/// Says of each difference that is not right why. `cells` are all of the experiment; `distance` is how far its samples are from the
/// baseline.
pub(crate) fn give_reasons(e: &Experiment, cells: &mut [Cell], distance: f64) {
    let is_missed = |c: &&Cell| c.class == Class::Fit && c.met == Some(false);
    let rows: Vec<String> = cells.iter().filter(is_missed).map(|c| c.row.clone()).collect();
    let missed = (distance > 1.0).then_some(Reason::MissesBaseline { distance, rows });
    for cell in cells {
        cell.reason = reason(e, cell, missed.as_ref());
    }
}

fn reason(e: &Experiment, cell: &Cell, missed: Option<&Reason>) -> Option<Reason> {
    if cell.class != Class::Difference {
        return None;
    }
    let Some(effect) = &cell.effect else { return Some(Reason::NoNumber) };
    if effect.sign == Verdict::Right && effect.size == Verdict::Right {
        return None;
    }
    if effect.sign == Verdict::Wrong || effect.size == Verdict::Wrong {
        let is_about = |l: &&Lack| {
            l.rows.contains(&cell.row) && (l.columns.is_empty() || l.columns.contains(&cell.column))
        };
        let lacks = e.lacks.iter().find(is_about).map(|l| l.what.clone());
        return Some(Reason::ModelIsWrong { lacks });
    }
    if let Some(missed) = missed {
        return Some(missed.clone());
    }
    let why = match effect.sign {
        _ if effect.missing > 0 => {
            format!("of what meets the baseline {} samples have no number", effect.missing)
        }
        Verdict::Undecided => "what meets the baseline goes both ways".to_owned(),
        _ => "what meets the baseline has other sizes, too".to_owned(),
    };
    Some(Reason::CannotBeKnown { why })
}

/// Where the published change comes out in sign and size.
fn region(e: &Experiment, effect: &Effect, points: &[Point], changes: &[Option<f64>]) -> Option<Region> {
    let sign = |change| way(change, effect.noise.value);
    let is_right =
        |c: f64| sign(c) == sign(effect.published) && (effect.right.low..=effect.right.high).contains(&c);
    let inside: Vec<&Point> =
        points.iter().zip(changes).filter(|(_, c)| c.is_some_and(is_right)).map(|(p, _)| p).collect();
    if e.unknown.is_empty() {
        return None;
    }
    let words = |name: &String| {
        let own: Vec<&Setting> = inside.iter().filter_map(|p| p.settings.get(name)).collect();
        (name.clone(), settings_words(&own))
    };
    Some(Region {
        samples: [inside.len(), points.len()],
        settings: e.unknown.iter().filter(|_| !inside.is_empty()).map(|u| words(&u.name)).collect(),
    })
}

impl Reproduced {
    /// `12 differences, sign right in 9, size in 3`.
    #[must_use]
    pub fn answer(&self) -> String {
        let count = |is: &dyn Fn(&&Cell) -> bool| self.cells.iter().filter(is).count();
        format!(
            "{} differences, sign right in {}, size in {}",
            count(&|c| c.class == Class::Difference),
            count(&|c| c.has_sign(Verdict::Right)),
            count(&|c| c.has_size(Verdict::Right))
        )
    }

    /// Why cells have no number, where there are any: the reason of most, and how many have none.
    #[must_use]
    pub fn failure(&self) -> Option<(&str, usize)> {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for why in self.cells.iter().filter_map(|c| c.failure.as_deref()) {
            *reasons.entry(why).or_default() += 1;
        }
        let all = reasons.values().sum();
        reasons.into_iter().max_by_key(|(_, n)| *n).map(|(why, _)| (why, all))
    }
}

/// What all differences come to.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Scoreboard {
    /// By document, in order, and of all under `all`; after that the documents that are summed up apart.
    pub rows: Vec<(String, Tally)>,
    /// How many cells of all documents are of each class.
    pub classes: Vec<(Class, usize)>,
    /// Of those without a published effect, how many show one: the whole interval is beyond the noise. Of all documents.
    pub false_alarms: usize,
}

/// How many published differences come out, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Tally {
    pub differences: usize,
    /// How many have the sign right, undecided and wrong.
    pub sign: [usize; 3],
    /// How many have the size right, undecided and wrong.
    pub size: [usize; 3],
    /// How many have the sign and how many the size right by the median of the samples alone.
    pub by_median: [usize; 2],
    /// Of which "nothing changes" has the right size.
    pub null: usize,
    /// Of which the published change is in the interval.
    pub inside: usize,
    /// Of which the interval says more than "nothing changes".
    pub better_than_null: usize,
    /// That cannot be known from what was published.
    pub cannot_be_known: usize,
    /// Where the model is wrong, or misses the baseline.
    pub model_is_wrong: usize,
}

impl Tally {
    fn add(&mut self, cell: &Cell) {
        self.differences += 1;
        match cell.reason {
            Some(Reason::CannotBeKnown { .. }) => self.cannot_be_known += 1,
            Some(Reason::ModelIsWrong { .. } | Reason::MissesBaseline { .. }) => self.model_is_wrong += 1,
            _ => {}
        }
        let Some(e) = &cell.effect else { return };
        self.sign[e.sign as usize] += 1;
        self.size[e.size as usize] += 1;
        self.by_median[0] += usize::from(e.median_has_sign);
        self.by_median[1] += usize::from(e.median_has_size);
        self.null += usize::from(e.null_in_size);
        self.inside += usize::from(e.inside);
        self.better_than_null += usize::from(e.score < 1.0);
    }
}

impl Scoreboard {
    pub(crate) fn of(all: &[Reproduced]) -> Self {
        let (mut by, mut apart) = (BTreeMap::<String, Tally>::new(), BTreeMap::<String, Tally>::new());
        let (mut sum, mut classes, mut false_alarms) = (Tally::default(), BTreeMap::new(), 0);
        for one in all {
            for cell in &one.cells {
                let document = one.experiment.document_of(&cell.row);
                false_alarms += usize::from(cell.is_false_alarm());
                *classes.entry(cell.class).or_default() += 1;
                if one.experiment.document.apart {
                    if cell.class == Class::Difference {
                        apart.entry(document).or_default().add(cell);
                    }
                    continue;
                }
                if cell.class == Class::Difference {
                    by.entry(document).or_default().add(cell);
                    sum.add(cell);
                }
            }
        }
        let rows = by.into_iter().chain(std::iter::once(("all".to_owned(), sum))).chain(apart).collect();
        let classes = Class::ALL.into_iter().filter_map(|c| Some((c, *classes.get(&c)?))).collect();
        Self { rows, classes, false_alarms }
    }
}
