// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

use clap::Args;
use idlewise_experiment::again::offered;
use idlewise_page as pages;
use idlewise_reproduce::{
    Drawing, Experiment, MAY_DRAW, ReproduceRequest, Reproduced, SAMPLES, Samples, asked_for, find, next_to,
    reproduce_with, shipped,
};
use idlewise_view as view;

use crate::args::{OutputArgs, PageArgs};
use crate::output::{Done, Failure, Progress, check_new, deliver, none_failed, say_line};

const DRAWN: &str = "Samples of what was not published";

#[derive(Debug, Args)]
#[command(after_help = idlewise_manual::examples::REPRODUCE)]
pub(crate) struct ReproduceArgs {
    /// Experiments that ship with idlewise, documents by number, or files [default: all]
    ///
    /// Of all, a summary only. Documents: docs/reference/published-documents.md. The format of files: docs/reference/experiments.md.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the experiments that ship with idlewise
    #[arg(long, exclusive = true)]
    list: bool,
    /// Runs of each cell of an experiment without unknowns
    ///
    /// Of the others each sample of the unknowns is run once.
    #[arg(long, value_name = "N", default_value_t = 48, value_parser = clap::value_parser!(u32).range(3..=10_000))]
    runs: u32,
    /// Allow this C file, if an experiment names it
    ///
    /// Without this, C that an experiment names is neither compiled nor run.
    #[arg(long, value_name = "FILE", requires = "names")]
    trust: Vec<PathBuf>,
    /// Show on which unknowns each number depends
    ///
    /// Rank correlations over the samples, from -1 to 1; those nearer to 0 than 0.3 are left out.
    #[arg(long, conflicts_with = "draw")]
    sensitivity: bool,
    /// Show where the published number of a cell would come out: ROW/COLUMN; may be repeated
    #[arg(long, value_name = "CELL", conflicts_with = "draw")]
    region: Vec<String>,
    /// Draw samples of what was not published, instead of repeating
    ///
    /// Those settings stay with which the baseline's published numbers come out within their noise; no other
    /// number is looked at. An interrupted drawing goes on where it was. Samples of a file go next to it, those of
    /// an experiment that ships to --to.
    #[arg(long, help_heading = DRAWN, conflicts_with_all = ["runs", "output", "format", "report", "plot"])]
    draw: bool,
    /// The folder for samples of experiments that ship
    #[arg(long, help_heading = DRAWN, value_name = "DIR", requires = "draw")]
    to: Option<PathBuf>,
    /// Samples to draw, 10 to 10000
    #[arg(long, help_heading = DRAWN, value_name = "N", requires = "draw", default_value_t = SAMPLES as u32, value_parser = clap::value_parser!(u32).range(10..=10_000))]
    samples: u32,
    /// Settings to try at most, 240 to 10000000 [default: as the experiment says, or 40000]
    #[arg(long, help_heading = DRAWN, value_name = "N", requires = "draw", value_parser = clap::value_parser!(u64).range(MAY_DRAW))]
    draws: Option<u64>,
    /// The seed of the drawing
    #[arg(long, help_heading = DRAWN, value_name = "N", requires = "draw", default_value_t = 1)]
    seed: u64,
    /// Overwrite samples
    #[arg(long, help_heading = DRAWN, requires = "draw")]
    force: bool,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(a: &ReproduceArgs) -> Done {
    if a.list {
        return list();
    }
    if a.draw {
        return draw(a);
    }
    a.output.check()?;
    a.page.check(&a.output)?;
    check_regions(a)?;
    let request = ReproduceRequest { experiments: a.names.clone(), runs: a.runs as usize };
    let report = {
        let progress = Progress::new("preparing");
        let offered = offered(&a.trust)?;
        reproduce_with(&request, &offered, &|what, done, of| progress.step(what, done, of))?
    };
    if let Some(name) = view::without_region(&report, &a.region).first() {
        let known = view::with_region(&report).join(", ");
        let why =
            format!("no difference that depends on unknowns is called {name}; expected one of: {known}");
        return Err(Failure::Error(format!("--region: {why}")));
    }
    let shown =
        view::Shown { brief: a.names.is_empty(), sensitivity: a.sensitivity, regions: a.region.clone() };
    deliver(&a.output, &view::reproduce(&report, &shown), &report)?;
    let all = view::Shown { sensitivity: true, ..view::Shown::default() };
    a.page.write_of(&report, || view::reproduce(&report, &all), |of| pages::reproduce(&report, of))?;
    let failed = |r: &Reproduced| {
        let (id, n) = (&r.experiment.id, r.cells.len());
        r.failure().map(|(why, failed)| format!("{id}: {failed} of its {n} cells have no number: {why}"))
    };
    let failures: Vec<String> = report.experiments.iter().filter_map(failed).collect();
    none_failed(&failures.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Refuses names of cells that no experiment has, before anything is simulated.
fn check_regions(a: &ReproduceArgs) -> Result<(), Failure> {
    if a.region.is_empty() {
        return Ok(());
    }
    let all = asked_for(&a.names, &offered(&a.trust)?)?;
    let is_there = |(e, _): &(Experiment, Option<PathBuf>), cell: &str| {
        e.row.iter().any(|r| {
            let column = cell.strip_prefix(r.name.as_str()).and_then(|rest| rest.strip_prefix('/'));
            column.is_some_and(|column| e.column.iter().any(|c| c.name == column))
        })
    };
    match a.region.iter().find(|cell| !all.iter().any(|e| is_there(e, cell))) {
        Some(cell) => {
            Err(Failure::Error(format!("--region: there is no {cell}; expected ROW/COLUMN of a table")))
        }
        None => Ok(()),
    }
}

/// Draws samples of all experiments that have unknowns; those that fail take no other's away.
fn draw(a: &ReproduceArgs) -> Done {
    let how = Drawing { seed: a.seed, samples: a.samples as usize, ..Drawing::default() };
    let all = asked_for(&a.names, &offered(&a.trust)?)?;
    let mut jobs = Vec::new();
    for (e, file) in all.iter().filter(|(e, _)| !e.unknown.is_empty()) {
        let (path, how) = (to(a, e, file.as_deref())?, how.of(e, a.draws));
        if Samples::are_there(e, how, &path)? {
            say_line(&format!("{}: drawn before, with the same model and options", path.display()))?;
            continue;
        }
        check_new(&path, a.force)?;
        jobs.push((e, path, how));
    }
    let mut failures = Vec::new();
    for (e, path, how) in jobs {
        let progress = Progress::new("drawing");
        let drawn = Samples::draw_to(e, how, &path, &|done, of| progress.step(&e.id, done, of));
        drop(progress);
        match drawn {
            Ok(s) => {
                let (path, n) = (path.display(), s.samples.len());
                let missed =
                    if s.distance > 1.0 { ", so it is not met; more --draws may come nearer" } else { "" };
                let baseline = if e.fit.as_ref().is_none_or(|fit| fit.rows.is_empty()) {
                    "nothing of the baseline is fitted".to_owned()
                } else {
                    format!("the baseline is off by {:.2} times its noise{missed}", s.distance)
                };
                say_line(&format!("{path}: {n} samples of {} draws; {baseline}", s.draws))?;
            }
            Err(why) => failures.push(why.to_string()),
        }
    }
    none_failed(&failures.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Where the samples of an experiment go.
fn to(a: &ReproduceArgs, e: &Experiment, file: Option<&Path>) -> Result<PathBuf, Failure> {
    match (file, &a.to) {
        (Some(file), None) => Ok(next_to(file)),
        (Some(file), Some(_)) => Err(Failure::Error(format!(
            "--to: samples of a file go next to it, here to {}; --to is for experiments that ship",
            next_to(file).display()
        ))),
        (None, Some(folder)) => Ok(folder.join(format!("{}.toml", e.id))),
        (None, None) => Err(Failure::Error(format!("{}: name the folder for its samples with --to", e.id))),
    }
}

fn list() -> Done {
    for (id, _) in shipped() {
        let e = find(id)?;
        say_line(&format!("{id:<18} {}: {}", e.document.tables, e.title))?;
    }
    Ok(true)
}
