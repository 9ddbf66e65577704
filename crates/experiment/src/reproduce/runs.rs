// SPDX-License-Identifier: GPL-2.0-only
//! The runs behind an experiment's cells; cells with the same set-up share one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_workload::Workload;
use rayon::prelude::*;

use super::compute::Computed;
use super::experiment::{Column, Experiment, Over, Row, Setup};
use crate::ExperimentError;
use crate::simulate::{FactSummary, FactUnit, SimulateReport, SimulateRequest, simulate_workload};

/// What to do for a cell.
#[derive(Clone, Debug)]
enum Job {
    Simulate { request: Box<SimulateRequest>, text: Option<String> },
    Compute { what: Computed, kernel: String },
}

/// What came of every job, by a text that tells jobs apart.
#[derive(Debug, Default)]
pub(super) struct Runs {
    done: BTreeMap<String, Result<Vec<FactSummary>, String>>,
}

/// One of our numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ours {
    pub(super) value: f64,
    pub(super) half_width: Option<f64>,
    pub(super) runs: usize,
}

impl Runs {
    /// Does what is not done yet for these cells.
    pub(super) fn ensure(
        &mut self,
        e: &Experiment,
        cells: &[(&Row, &Column)],
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<(), ExperimentError> {
        let mut jobs = BTreeMap::new();
        for (row, column) in cells {
            let job = job(e, row, column)?;
            let key = job.key();
            if !self.done.contains_key(&key) {
                jobs.insert(key, job);
            }
        }
        let (of, count) = (jobs.len(), AtomicUsize::new(0));
        let run = |(key, job): (String, Job)| {
            let result = job.run();
            progress(count.fetch_add(1, Ordering::Relaxed) + 1, of);
            (key, result.map_err(|e| e.to_string()))
        };
        self.done.extend(jobs.into_par_iter().map(run).collect::<Vec<_>>());
        Ok(())
    }

    /// Whether a cell's set-up is whole.
    pub(super) fn can_run(e: &Experiment, row: &Row, column: &Column) -> bool {
        job(e, row, column).is_ok()
    }

    /// A cell's number in the row's unit.
    pub(super) fn number(&self, e: &Experiment, row: &Row, column: &Column) -> Result<Ours, String> {
        let own = self.raw(e, row, column)?;
        let Some(name) = row.percent_of.as_ref().or(row.less.as_ref()) else { return Ok(own) };
        let other = e.column.iter().find(|c| c.name == *name).ok_or_else(|| format!("no column {name}"))?;
        let other = self.raw(e, row, other)?;
        if row.less.is_some() {
            // Both vary, each on its own.
            let half_width = own.half_width.zip(other.half_width).map(|(a, b)| a.hypot(b));
            return Ok(Ours { value: own.value - other.value, half_width, runs: own.runs });
        }
        let value = 100.0 * other.value / own.value;
        let half_width = own.half_width.map(|h| value * h / own.value);
        Ok(Ours { value, half_width, runs: own.runs })
    }

    fn raw(&self, e: &Experiment, row: &Row, column: &Column) -> Result<Ours, String> {
        let key = job(e, row, column).map_err(|e| e.to_string())?.key();
        let facts = self.done.get(&key).ok_or("not run")?.as_ref().map_err(Clone::clone)?;
        let (about, name) = row.fact.split_once(" / ").unwrap_or(("", &row.fact));
        let about = column.about.as_deref().unwrap_or(about);
        let fact = facts.iter().find(|f| f.about == about && f.name == name);
        let fact = fact.ok_or_else(|| format!("the run has no number `{about} / {name}`"))?;
        let scale = scale(fact.unit, &row.unit) * e.value(&row.factor, row)?;
        let offset = e.value(&row.offset, row)?;
        let s = &fact.summary;
        let value = match row.over {
            Over::Mean => s.mean,
            Over::Min => s.min,
            Over::Max => s.max,
        };
        let half_width = s.half_width.filter(|_| row.over == Over::Mean).map(|h| (h * scale).abs());
        Ok(Ours { value: value * scale + offset, half_width, runs: s.n })
    }
}

/// From a fact's unit to a row's.
fn scale(from: FactUnit, to: &str) -> f64 {
    match (from, to) {
        (FactUnit::Ns, "us") => 1e-3,
        (FactUnit::Ns, "ms") | (FactUnit::Khz, "GHz") => 1e-6,
        (FactUnit::Ns, "s") => 1e-9,
        (FactUnit::Khz, "MHz") => 1e-3,
        (FactUnit::Microjoule, "J") => 1e-6,
        _ => 1.0,
    }
}

fn job(e: &Experiment, row: &Row, column: &Column) -> Result<Job, ExperimentError> {
    let s = column.setup.over(&row.setup).over(&e.setup);
    let wrong = |why: &str| ExperimentError::SetUp {
        experiment: e.id.clone(),
        row: row.name.clone(),
        column: column.name.clone(),
        why: why.to_owned(),
    };
    let kernel = s.kernel.clone().unwrap_or_else(|| "6.12".to_owned());
    if let Some(what) = s.compute {
        return Ok(Job::Compute { what, kernel });
    }
    let text = s.json.as_ref().map(|text| e.fill(text, row)).transpose().map_err(|why| wrong(&why))?;
    let workload = match (&s.workload, &text) {
        (Some(name), None) => name.clone(),
        (None, Some(_)) => format!("{}, {}", e.id, row.name),
        _ => return Err(wrong("expected one of workload, json and compute")),
    };
    let governor = s.governor.as_ref().map_or_else(|| Ok("menu".to_owned()), |name| e.governor(name))?;
    let request = request(s, governor, kernel, workload).ok_or_else(|| wrong("expected a platform"))?;
    Ok(Job::Simulate { request: Box::new(request), text })
}

fn request(s: Setup, governor: String, kernel: String, workload: String) -> Option<SimulateRequest> {
    Some(SimulateRequest {
        workload,
        platform: s.platform?,
        governors: vec![governor],
        kernel_trees: Vec::new(),
        cpufreq: vec![s.cpufreq.unwrap_or_else(|| "schedutil".to_owned())],
        signals: vec![s.signal.unwrap_or_else(|| "pelt".to_owned())],
        kernel,
        hz: s.hz,
        cpus: s.cpus,
        duration_ns: s.seconds.map(|s| (s * 1e9) as u64),
        seed: s.seed.unwrap_or(1),
        repeat: s.repeat.unwrap_or(1),
        baseline: None,
        base_mw: None,
    })
}

fn simulated(request: &SimulateRequest, text: Option<&str>) -> Result<SimulateReport, ExperimentError> {
    let workload = match text {
        Some(text) => Workload::from_text(&request.workload, text)?,
        None => idlewise_workload::find(&request.workload)?,
    };
    simulate_workload(request, &workload, None, &|_, _| {})
}

/// Simulates a cell once, with its first seed; nothing where it is computed.
///
/// # Errors
/// [`ExperimentError`] where its set-up makes no sense, or the run fails.
pub fn simulate_once(
    e: &Experiment,
    row: &Row,
    column: &Column,
) -> Result<Option<SimulateReport>, ExperimentError> {
    let Job::Simulate { request, text } = job(e, row, column)? else { return Ok(None) };
    simulated(&SimulateRequest { repeat: 1, ..*request }, text.as_deref()).map(Some)
}

impl Job {
    fn key(&self) -> String {
        format!("{self:?}")
    }

    fn run(&self) -> Result<Vec<FactSummary>, ExperimentError> {
        let report = match self {
            Self::Compute { what, kernel } => return what.facts(kernel),
            Self::Simulate { request, text } => simulated(request, text.as_deref())?,
        };
        let Some(one) = report.combinations.into_iter().next() else {
            unreachable!("a request names one governor, and none was simulated")
        };
        one.failure.map_or(Ok(one.facts), |why| Err(ExperimentError::Run(why)))
    }
}
