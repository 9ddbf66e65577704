// SPDX-License-Identifier: GPL-2.0-only
//! Published tables, and the same experiments simulated: `idlewise reproduce`.
//!
//! A published number of the baseline tells about what was not published; every other one is predicted, with the interval that
//! this leaves, and graded.

#![expect(clippy::result_large_err, reason = "an error ends the command")]

mod compute;
mod experiment;
mod grade;
mod noise;
mod report;
mod runs;
mod samples;
mod sampling;
mod search;
mod unknown;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_experiment::ExperimentError;
use idlewise_governor::Offered;
use idlewise_recording::CommandError;
use rayon::prelude::*;

pub use compute::Computed;
pub use experiment::{
    Column, Compare, Document, Experiment, Fit, Given, Lack, MAY_DRAW, NotReproduced, Published, Row, Setup,
    Value, find, shipped,
};
pub use grade::{Class, Effect, LEVEL, Predicted, Verdict};
pub use noise::Noise;
pub use report::{
    Cell, Drawn, Influence, Reason, Region, ReproduceReport, ReproduceRequest, Reproduced, SCHEMA,
    Scoreboard, Tally,
};
use runs::Runs;
pub use runs::simulate_once;
pub use samples::{Drawing, SAMPLES, Samples, next_to};
pub use sampling::Population;
pub use unknown::{Point, Scale, Setting, Unknown};

/// Repeats experiments. `progress` hears what is being done, how much of it and of how much.
///
/// # Errors
/// [`ExperimentError`] where an experiment or its samples cannot be found or read, or its set-up makes no sense.
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
    let all = asked_for(&request.experiments, offered)?;
    let samples =
        all.iter().map(|(e, path)| Samples::find(e, path.as_deref())).collect::<Result<Vec<_>, _>>()?;
    let one = |((e, _), samples): ((Experiment, Option<PathBuf>), Option<Samples>)| {
        let id = e.id.clone();
        predicted(e, samples, request.runs, &|done, of| progress(&id, done, of))
    };
    let experiments = all.into_iter().zip(samples).map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(ReproduceReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        request: request.clone(),
        scoreboard: Scoreboard::of(&experiments),
        experiments,
    })
}

/// The experiments of these names, numbers of documents, or paths, all shipped ones where none is given, with the paths of files.
///
/// # Errors
/// [`ExperimentError`] where one cannot be found or read, or names C that is not `offered`.
pub fn asked_for(
    names: &[String],
    offered: &Offered,
) -> Result<Vec<(Experiment, Option<PathBuf>)>, ExperimentError> {
    let mut asked = Vec::new();
    for name in names {
        match of_document(name)?.as_slice() {
            [] => asked.push(name.as_str()),
            some => asked.extend(some),
        }
    }
    let names = if names.is_empty() { shipped().iter().map(|(id, _)| *id).collect() } else { asked };
    let found = |name: &&str| {
        let is_shipped = shipped().iter().any(|(id, _)| id == name);
        Ok((find(name)?, (!is_shipped).then(|| Path::new(name).to_owned())))
    };
    let mut all = names.iter().map(found).collect::<Result<Vec<_>, CommandError>>()?;
    let mut files = Vec::new();
    for (e, _) in &mut all {
        e.offered = offered.clone();
        files.extend(e.check_governors()?);
    }
    if let Some(unused) = offered.unused(&files, &[]) {
        let why = format!("no experiment of {} names it", names.join(", "));
        return Err(CommandError::option("--trust", unused.display(), why).into());
    }
    Ok(all)
}

/// The shipped experiments of the document with this number; none where it is no document's.
fn of_document(number: &str) -> Result<Vec<&'static str>, CommandError> {
    let mut out = Vec::new();
    // No experiment is called by a number, and to read all of them takes its time.
    if !number.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(out);
    }
    for (id, _) in shipped() {
        if find(id)?.document.number.split(", ").any(|n| n == number) {
            out.push(*id);
        }
    }
    Ok(out)
}

/// Numbers by cell, in the order of its points; nothing where a run had none.
type Numbers = Vec<Vec<Result<f64, String>>>;

fn predicted(
    e: Experiment,
    samples: Option<Samples>,
    runs: usize,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Reproduced, ExperimentError> {
    let points = e.points(samples.as_ref(), runs);
    let wanted: Vec<(&Row, &Column)> = e
        .row
        .iter()
        .flat_map(|row| e.column.iter().filter(|c| is_shown(&e, row, c)).map(move |c| (row, c)))
        .collect();
    let done = AtomicUsize::new(0);
    let at = |point: &Point| -> Result<Vec<Result<f64, String>>, ExperimentError> {
        // Whoever hears of it may end the work.
        progress(done.load(Ordering::Relaxed), points.len());
        let mut runs = Runs::graded();
        let numbers = wanted.iter().map(|(row, column)| runs.number(&e, row, column, point)).collect();
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, points.len());
        numbers
    };
    let by_point: Numbers = points.par_iter().map(at).collect::<Result<_, _>>()?;
    let numbers = |row: &Row, column: &Column| -> Option<Vec<&Result<f64, String>>> {
        let i = wanted.iter().position(|(r, c)| r.name == row.name && c.name == column.name)?;
        Some(by_point.iter().filter_map(|all| all.get(i)).collect())
    };
    let cells = wanted.iter().filter_map(|(row, column)| {
        let base = e.baseline().filter(|b| b.name != column.name).and_then(|b| numbers(row, b));
        Cell::of(&e, row, column, &points, &numbers(row, column)?, base.as_deref())
    });
    let mut cells: Vec<Cell> = cells.collect();
    report::give_reasons(&e, &mut cells, samples.as_ref().map_or(0.0, |s| s.distance));
    let drawn = samples.map(|s| Drawn::of(&e, &s)).transpose()?;
    Ok(Reproduced { cells, points: points.len(), samples: drawn, experiment: e })
}

/// Whether there is anything to tell of a cell: what was published, or at least a number of ours, and not that of a column
/// against itself.
fn is_shown(e: &Experiment, row: &Row, column: &Column) -> bool {
    let other = row.percent_of.as_ref().or(row.less.as_ref());
    row.published.contains_key(&column.name) || other != Some(&column.name) && runs::can_run(e, row, column)
}
