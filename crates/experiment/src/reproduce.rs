// SPDX-License-Identifier: GPL-2.0-only
//! Published tables, and the same experiments simulated: `idlewise reproduce`.

mod compute;
mod experiment;
mod fit;
mod grade;
mod runs;

use std::collections::BTreeMap;

use idlewise_governor::Offered;
use schemars::JsonSchema;
use serde::Serialize;

use crate::ExperimentError;
pub use compute::Computed;
pub use experiment::{
    Column, Compare, Document, Experiment, Fit, Fitted, NotReproduced, Over, Published, Row, Setup, Value,
    find, shipped,
};
pub use grade::Grade;
use grade::{Pair, judge};
use idlewise_recording::CommandError;
use runs::Runs;
pub use runs::simulate_once;

/// Version of the JSON that this gives.
pub const SCHEMA: &str = "idlewise.reproduce/3";

/// Which published experiment to repeat, and with which seeds.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ReproduceRequest {
    /// Experiments by name or path; all that come with idlewise where none is named.
    pub experiments: Vec<String>,
    /// Look for the parameters again before.
    pub fit: bool,
}

/// The results of an experiment, each compared with the published number.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ReproduceReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    pub request: ReproduceRequest,
    pub experiments: Vec<Reproduced>,
}

/// A published table with ours beside it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Reproduced {
    pub experiment: Experiment,
    /// All cells: also those without a published number, if the experiment has one for them.
    pub cells: Vec<Cell>,
    /// What was left over of the fit: root mean square of relative differences, per cent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_pct: Option<f64>,
    /// Parameters that were looked for anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refitted: Option<BTreeMap<String, f64>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Cell {
    pub row: String,
    pub column: String,
    pub unit: String,
    /// What was published: from, to; nothing where there is no such number, which is not graded then.
    pub published: Option<[f64; 2]>,
    /// Our number; not a number where there is none.
    pub ours: f64,
    /// Half the width of the 95 % interval of its mean.
    pub half_width: Option<f64>,
    pub runs: usize,
    /// Ours against the published one, per cent; where changes are compared, their difference in points.
    pub difference: f64,
    /// The published change against the baseline, per cent.
    pub published_change_pct: Option<f64>,
    pub our_change_pct: Option<f64>,
    /// Whether both go the same way.
    pub same_sign: Option<bool>,
    /// How ours stands to the published one.
    pub grade: Grade,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl Reproduced {
    /// Why there is no number at all, where that is so: the reason of most cells.
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        if self.cells.iter().any(|c| c.failure.is_none()) {
            return None;
        }
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for why in self.cells.iter().filter_map(|c| c.failure.as_deref()) {
            *reasons.entry(why).or_default() += 1;
        }
        reasons.into_iter().max_by_key(|(_, n)| *n).map(|(why, _)| why)
    }

    /// Cells of that grade.
    #[must_use]
    pub fn count(&self, grade: Grade) -> usize {
        self.cells.iter().filter(|c| c.grade == grade).count()
    }
}

/// Repeats experiments. `progress` hears what is being done, how much of it and of how much.
///
/// # Errors
/// [`ExperimentError`] where an experiment cannot be found or read, or its set-up makes no sense.
pub fn reproduce(
    request: &ReproduceRequest,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<ReproduceReport, ExperimentError> {
    reproduce_with(request, &Offered::nothing(), progress)
}

/// As [`reproduce`], of experiments that may name the C files that are `offered`, by options of this invocation.
///
/// # Errors
/// As [`reproduce`].
pub fn reproduce_with(
    request: &ReproduceRequest,
    offered: &Offered,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<ReproduceReport, ExperimentError> {
    let names: Vec<&str> = match request.experiments.as_slice() {
        [] => shipped().iter().map(|(id, _)| *id).collect(),
        some => some.iter().map(String::as_str).collect(),
    };
    let mut all = names.iter().map(|name| find(name)).collect::<Result<Vec<_>, _>>()?;
    let mut files = Vec::new();
    for e in &mut all {
        e.offered = offered.clone();
        files.extend(e.check_governors()?);
    }
    if let Some(unused) = offered.unused(&files, &[]) {
        let why = format!("no experiment of {} names it", names.join(", "));
        return Err(CommandError::option("--trust", unused.display(), why).into());
    }
    let one = |e: Experiment| {
        let id = e.id.clone();
        run(e, request.fit, &|done, of| progress(&id, done, of))
    };
    Ok(ReproduceReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        request: request.clone(),
        experiments: all.into_iter().map(one).collect::<Result<_, _>>()?,
    })
}

fn run(
    mut e: Experiment,
    refit: bool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Reproduced, ExperimentError> {
    let mut runs = Runs::default();
    let mut refitted = None;
    if refit && let Some(found) = fit::fit(&e, &mut runs, progress)? {
        e.parameters.extend(found.clone());
        refitted = Some(found);
    }
    let mut wanted = Vec::new();
    for row in &e.row {
        let used = |c: &&Column| other(row) == Some(&c.name) || c.baseline || is_shown(&e, row, c);
        wanted.extend(e.column.iter().filter(used).map(|column| (row, column)));
    }
    runs.ensure(&e, &wanted, progress)?;
    let residual_pct = match (&e.fit, e.baseline()) {
        (Some(fit), Some(baseline)) => Some(fit::rest(&e, fit, baseline, &mut runs)?),
        _ => None,
    };
    let mut cells = Vec::new();
    for row in &e.row {
        for column in e.column.iter().filter(|c| is_shown(&e, row, c)) {
            cells.extend(cell(&e, &runs, row, column));
        }
    }
    Ok(Reproduced { cells, residual_pct, refitted, experiment: e })
}

/// The column that a row's numbers are put against.
fn other(row: &Row) -> Option<&String> {
    row.percent_of.as_ref().or(row.less.as_ref())
}

/// Whether there is anything to tell of a cell: what was published, or at least a number of ours, and not that of a column
/// against itself.
fn is_shown(e: &Experiment, row: &Row, column: &Column) -> bool {
    row.published.contains_key(&column.name)
        || other(row) != Some(&column.name) && Runs::can_run(e, row, column)
}

/// Nothing where nothing was published and we have no number either.
fn cell(e: &Experiment, runs: &Runs, row: &Row, column: &Column) -> Option<Cell> {
    let (ours, failure) = match runs.number(e, row, column) {
        Ok(ours) => (Some(ours), None),
        Err(why) => (None, Some(why)),
    };
    let value = ours.map_or(f64::NAN, |o| o.value);
    let mut cell = Cell {
        row: row.name.clone(),
        column: column.name.clone(),
        unit: row.unit.clone(),
        published: None,
        ours: value,
        half_width: ours.and_then(|o| o.half_width),
        runs: ours.map_or(0, |o| o.runs),
        difference: f64::NAN,
        published_change_pct: None,
        our_change_pct: None,
        same_sign: None,
        grade: Grade::Unpublished,
        failure,
    };
    let baseline = e.baseline().filter(|b| b.name != column.name);
    let base = baseline.and_then(|b| Some((b, runs.number(e, row, b).ok()?.value)));
    let Some(published) = row.published.get(&column.name).copied() else {
        let change = base.map(|(_, before)| (value / before - 1.0) * 100.0);
        cell.our_change_pct = change.filter(|c| c.is_finite());
        return value.is_finite().then_some(cell);
    };
    let base = base.and_then(|(b, ours)| Some(Pair { published: *row.published.get(&b.name)?, ours }));
    let judged = judge(row, Pair { published, ours: value }, base);
    let (from, to) = published.ends();
    cell.published = Some([from, to]);
    cell.difference = match row.compare {
        Compare::Value => (value / published.middle() - 1.0) * 100.0,
        Compare::Change => {
            judged.our_change_pct.zip(judged.published_change_pct).map_or(f64::NAN, |(o, p)| o - p)
        }
    };
    cell.published_change_pct = judged.published_change_pct;
    cell.our_change_pct = judged.our_change_pct;
    cell.same_sign = judged.same_sign;
    cell.grade = if e.is_fitted(row, column) { Grade::Fit } else { judged.grade };
    Some(cell)
}
