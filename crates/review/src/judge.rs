// SPDX-License-Identifier: GPL-2.0-only
//! A series judged patch by patch: `idlewise review`.

use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_check::CheckReport;
use idlewise_recording::CommandError;
use idlewise_replay::SleepLengths;
use rayon::prelude::*;

use crate::periods::{self, Found};
use crate::recordings;
use crate::report::{
    ExplainedPeriod, GovernorReview, PatchHead, ReviewReport, ReviewRequest, Row, RowCheck, SCHEMA,
    SimulatedChange,
};
use crate::results::{Results, replayed};
use crate::runs::starts;
use crate::series::{self, Series};
use crate::snapshot::file_of;
use crate::versions::{Lineage, Of};
use crate::{base, booted, conditions, findings, runs, simulated};

/// Judges a series. `progress` hears what is being done, and how much of it is: done and of how many.
///
/// # Errors
/// [`CommandError`] when the base, the series or a recording that was named cannot be read, a condition cannot be understood, or
/// there is no compiler. What is wrong with single patches is in the report.
pub fn review(
    request: &ReviewRequest,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<ReviewReport, CommandError> {
    let conditions = conditions::read(&request.fail_if)?;
    simulated::known(request)?;
    if let Some(missing) = request.recordings.iter().find(|path| !path.exists()) {
        let why = "there is no such file or folder; --recordings names recordings, folders of them, or a corpus (the one that ships with \
                   idlewise is corpus/ of its sources)";
        return Err(CommandError::input(missing, why));
    }
    let files = recordings::named(&request.recordings)?;
    let series = series::read(&request.series, &request.governors, base::find(&request.base)?)?;
    if let Some(folder) = &request.boot {
        booted::check(&series.base.name, folder, progress)?;
    }
    progress("compiling", 0, 1);
    let lineages = lineages(request, &series)?;
    let setup = runs::setup(request.platform.as_ref(), request.recorded_on.as_ref(), request.seed);
    let (runs, left_out) = replayed(&files, &setup, SleepLengths::Taped, &lineages, progress)?;
    let results = Results(&runs);
    let stage = Stage { request, base: &series.base.name, results };
    let mut governors = Vec::new();
    for (at, lineage) in lineages.iter().enumerate() {
        governors.push(stage.governor(at, lineage, progress)?);
    }
    let mut report = ReviewReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        request: request.clone(),
        base: series.base.name.clone(),
        base_commit: series.commit.clone(),
        notes: series.notes.clone(),
        patches: series.patches.iter().enumerate().map(patch_head).collect(),
        on: results.evidence(left_out),
        governors,
        checks: Vec::new(),
    };
    report.checks = conditions.iter().map(|c| conditions::check(&report, c)).collect();
    Ok(report)
}

/// What a row is called: the base's is 0.
pub(crate) fn row_name(row: usize) -> String {
    if row == 0 { "base".to_owned() } else { format!("+{row}") }
}

fn patch_head((i, step): (usize, &series::Step)) -> PatchHead {
    PatchHead {
        row: row_name(i + 1),
        name: step.name.clone(),
        commit: step.commit.clone(),
        judged: step.judged.clone(),
        not_judged: step.others.clone(),
        problem: step.problem.clone(),
    }
}

/// The governors to judge, through all rows: those that are asked for, or whose code some patch changes.
fn lineages(request: &ReviewRequest, series: &Series) -> Result<Vec<Lineage>, CommandError> {
    let names = if request.governors.is_empty() { series.governors() } else { request.governors.clone() };
    for name in &request.governors {
        if series.trees().all(|tree| tree.get(&file_of(name)).is_none()) {
            let mut there: Vec<&str> = series.trees().flat_map(|tree| tree.governors()).collect();
            there.sort_unstable();
            there.dedup();
            let why = format!("{} has no such governor; it has: {}", series.base.name, there.join(", "));
            return Err(CommandError::option("--governor", name, why));
        }
    }
    let of = |name: &String| {
        let rows = series.trees().enumerate().map(|(row, tree)| (row_name(row), tree));
        Lineage::of(name, rows)
    };
    let mut all: Vec<Lineage> = names.par_iter().map(of).collect::<Result<_, _>>()?;
    let is_changed = |lineage: &Lineage| {
        lineage.versions.len() > 1 || lineage.rows.iter().any(|row| matches!(row, Of::Problem(..)))
    };
    if request.governors.is_empty() {
        all.retain(is_changed);
    }
    Ok(all)
}

struct Stage<'a> {
    request: &'a ReviewRequest,
    /// What the base is called.
    base: &'a str,
    results: Results<'a>,
}

impl Stage<'_> {
    /// A governor through all rows; `at` is its number among the lineages.
    fn governor(
        &self,
        at: usize,
        lineage: &Lineage,
        progress: &(dyn Fn(&str, usize, usize) + Sync),
    ) -> Result<GovernorReview, CommandError> {
        let versions = lineage.versions.len();
        let runs = |version| self.results.is_usable(at, version);
        progress("checking", 0, versions);
        let done = AtomicUsize::new(0);
        let checked: Vec<Result<CheckReport, String>> = lineage
            .versions
            .par_iter()
            .enumerate()
            .map(|(number, version)| {
                // One that crashes or hangs would do so on every made machine.
                if let Some(problem) = self.results.misbehaviour(at, number, None) {
                    return Err(problem.why);
                }
                let report =
                    starts(&version.governor, version).and_then(|()| findings::of(version, self.request));
                progress("checking", done.fetch_add(1, Ordering::Relaxed) + 1, versions);
                report
            })
            .collect();
        let usable: Vec<usize> = (0..versions).filter(|v| checked[*v].is_ok()).collect();
        let base =
            lineage.base_row(&runs).and_then(|row| lineage.version(row)).filter(|b| usable.contains(b));
        let simulated = match base.filter(|_| self.request.repeat > 0) {
            Some(base) => {
                progress("simulating", 0, 1);
                simulated::all(lineage, base, &usable, self.request)?
            }
            None => vec![Vec::new(); versions],
        };
        let none = || (None, None, vec![None; versions]);
        let (booted, not_booted, changes) = match (&self.request.boot, base) {
            (Some(folder), Some(base)) => {
                let later = usable.iter().copied().filter(|v| *v != base);
                let versions: Vec<usize> = std::iter::once(base).chain(later).collect();
                match booted::all(lineage, &versions, self.base, folder, progress) {
                    Ok((booted, changes)) => (Some(booted), None, changes),
                    Err(why) => (None, Some(why), none().2),
                }
            }
            (Some(_), None) => (None, Some("no version of it runs".to_owned()), none().2),
            (None, _) => none(),
        };
        progress("explaining", 0, 1);
        let rows: Vec<usize> = (0..lineage.rows.len()).collect();
        let row = |row: &usize| {
            let mut out = self.row((at, lineage), *row, &checked, &simulated)?;
            if out.same_as.is_none() {
                out.booted = lineage.version(*row).and_then(|version| changes[version].clone());
            }
            Ok(out)
        };
        Ok(GovernorReview {
            governor: lineage.name.clone(),
            file: file_of(&lineage.name),
            booted,
            not_booted,
            rows: rows.par_iter().map(row).collect::<Result<_, CommandError>>()?,
        })
    }

    fn row(
        &self,
        (at, lineage): (usize, &Lineage),
        row: usize,
        checked: &[Result<CheckReport, String>],
        simulated: &[Vec<SimulatedChange>],
    ) -> Result<Row, CommandError> {
        let mut out = Row { row: row_name(row), ..Row::default() };
        let version = match &lineage.rows[row] {
            Of::Version(version) => *version,
            Of::Problem(problem, text) => {
                let before = row.checked_sub(1).map(|above| &lineage.rows[above]);
                // The same error in other code is another row.
                let again =
                    matches!(before, Some(Of::Problem(above, same)) if above == problem && same == text);
                out.same_as = again.then(|| row_name(row - 1));
                out.problem = Some(problem.clone());
                return Ok(out);
            }
        };
        out.source_hash = Some(lineage.versions[version].hash.clone());
        out.same_as = (0..row).find(|r| lineage.version(*r) == Some(version)).map(row_name);
        if out.same_as.is_some() {
            return Ok(out);
        }
        let runs = |version| self.results.is_usable(at, version);
        let base_row = lineage.base_row(&runs);
        let base = base_row.and_then(|row| lineage.version(row));
        out.problem = self.results.misbehaviour(at, version, checked[version].as_ref().err());
        if let Ok(report) = &checked[version] {
            let before = base.filter(|base| *base != version).and_then(|base| checked[base].as_ref().ok());
            let mut check = findings::against(before, report, &lineage.versions[version]);
            if base == Some(version) {
                // Nothing is new in the base.
                check = RowCheck { old: check.new, new: Vec::new(), ..check };
            }
            out.check = Some(check);
        }
        let blocks = self.results.blocks(at, version);
        let of_base = base.and_then(|base| self.results.blocks(at, base).ok());
        out.blocks_pct = blocks.as_ref().ok().zip(of_base).map(|(b, a)| (b - a) * 100.0 / a);
        (out.blocks, out.blocks_unknown) = match blocks {
            Ok(blocks) => (Some(blocks), None),
            Err(why) => (None, Some(why)),
        };
        let pair = |other: Option<usize>| {
            let row = other.filter(|_| runs(version))?;
            // The first row with that code.
            let of = lineage.version(row)?;
            let first = (0..=row).find(|r| lineage.version(*r) == Some(of))?;
            self.results.against(at, row_name(first), (of, version))
        };
        out.against_base = pair(base_row.filter(|base| *base != row));
        let above = lineage.row_above(row, &runs).filter(|_| runs(version));
        out.against_above = pair(above);
        if let Some(before) = above.and_then(|above| lineage.version(above)) {
            out.periods = self.periods((at, lineage), (before, version))?;
        }
        out.simulated.clone_from(&simulated[version]);
        Ok(out)
    }

    /// Those that move energy and latency most, each in the direction in which its recording moves: others explain the opposite.
    fn periods(
        &self,
        (at, lineage): (usize, &Lineage),
        (a, b): (usize, usize),
    ) -> Result<Vec<ExplainedPeriod>, CommandError> {
        let mut found = Vec::new();
        for (named, run) in self.results.0 {
            let of = &run.lineages[at];
            let (Some(pair), Ok(before), Ok(after)) =
                (of.pairs.get(&(a, b)), &of.versions[a], &of.versions[b])
            else {
                continue;
            };
            let unit = before.score.energy_unit.as_str();
            let [was, is] = [&before.score, &after.score].map(|score| [score.energy, score.latency.mean_ns]);
            for what in 0..was.len() {
                let change_pct = (is[what] - was[what]) * 100.0 / was[what];
                if change_pct == 0.0 || !change_pct.is_finite() {
                    continue;
                }
                let periods = pair.periods.of(what, change_pct > 0.0).iter();
                found.extend(periods.map(|period| Found {
                    named,
                    setup: &run.setup,
                    unit,
                    period: *period,
                    what,
                    change_pct,
                }));
            }
        }
        let versions = [&lineage.versions[a], &lineage.versions[b]];
        let largest = periods::largest(found);
        largest.par_iter().map(|found| periods::explained(found, versions)).collect()
    }
}
