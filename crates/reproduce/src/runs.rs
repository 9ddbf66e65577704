// SPDX-License-Identifier: GPL-2.0-only
//! The numbers of cells in one simulated run each; cells with the same set-up share it.

use std::collections::BTreeMap;

use idlewise_experiment::ExperimentError;
use idlewise_experiment::simulate::{
    FactSummary, FactUnit, SimulateReport, SimulateRequest, simulate_workload,
};
use idlewise_workload::Workload;

use crate::compute::Computed;
use crate::experiment::{Column, Experiment, Row, Value, whole_hz};
use crate::unknown::Point;

/// What to do for a cell.
#[derive(Clone, Debug)]
enum Job {
    Simulate { request: Box<SimulateRequest>, text: Option<String> },
    Compute { what: Computed, kernel: String, platform: Option<String> },
}

/// The facts of a run, or why there are none.
type Ran = Result<Vec<FactSummary>, String>;

/// The runs at one point.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    done: BTreeMap<String, Ran>,
    /// They last as long as those that are graded.
    graded: bool,
}

/// A run has no number where nothing of the kind happened.
pub(crate) const NOTHING: &str = "nothing was there to count";

/// A cell's number in the row's unit, or why there is none.
pub(crate) type Number = Result<f64, String>;

impl Runs {
    /// Runs that are graded.
    pub(crate) fn graded() -> Self {
        Self { graded: true, ..Self::default() }
    }

    /// A cell's number at `point`, which is the same in all calls.
    ///
    /// # Errors
    /// Where the cell's set-up makes no sense. That a run fails is its result.
    pub(crate) fn number(
        &mut self,
        e: &Experiment,
        row: &Row,
        column: &Column,
        point: &Point,
    ) -> Result<Number, ExperimentError> {
        let own = self.raw(e, row, column, point)?;
        if let Some(baseline) = e.baseline().filter(|_| row.share.is_some()) {
            let share = row.share.as_ref().map_or(Ok(1.0), |share| e.value(share, row, point));
            let base = self.raw(e, row, baseline, point)?;
            return Ok(share.and_then(|share| {
                let base = base?;
                Ok(base + share * (own? - base))
            }));
        }
        let Some(name) = row.percent_of.as_ref().or(row.less.as_ref()) else { return Ok(own) };
        let Some(other) = e.column.iter().find(|c| c.name == *name) else {
            return Ok(Err(format!("no column {name}")));
        };
        let other = self.raw(e, row, other, point)?;
        let both = own.and_then(|own| Ok((own, other?)));
        Ok(both.map(|(own, other)| if row.less.is_some() { own - other } else { 100.0 * other / own }))
    }

    fn raw(
        &mut self,
        e: &Experiment,
        row: &Row,
        column: &Column,
        point: &Point,
    ) -> Result<Number, ExperimentError> {
        let mut job = job(e, row, column, point)?;
        if let (true, Some(seconds), Job::Simulate { request, .. }) =
            (self.graded, e.graded_seconds, &mut job)
        {
            request.duration_ns = Some((seconds * 1e9) as u64);
        }
        let facts =
            self.done.entry(format!("{job:?}")).or_insert_with(|| job.run().map_err(|e| e.to_string()));
        Ok(facts.as_ref().map_err(Clone::clone).and_then(|facts| number(facts, e, row, column, point)))
    }
}

fn number(facts: &[FactSummary], e: &Experiment, row: &Row, column: &Column, point: &Point) -> Number {
    let fact = e.fill(&row.fact, row, point)?;
    let (about, name) = fact.split_once(" / ").unwrap_or(("", &fact));
    let about = column.about.as_deref().unwrap_or(about);
    let fact = facts.iter().find(|f| f.about == about && f.name == name);
    let fact = fact.ok_or_else(|| format!("the run has no number `{about} / {name}`"))?;
    let scale = scale(fact.unit, &row.unit) * e.value(&row.factor, row, point)?;
    let value = fact.summary.mean * scale + e.value(&row.offset, row, point)?;
    if value.is_finite() { Ok(value) } else { Err(format!("`{about} / {name}`: {NOTHING}")) }
}

/// Whether a cell's set-up is whole.
pub(crate) fn can_run(e: &Experiment, row: &Row, column: &Column) -> bool {
    job(e, row, column, &e.point(0.5)).is_ok()
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

fn job(e: &Experiment, row: &Row, column: &Column, point: &Point) -> Result<Job, ExperimentError> {
    let s = column.setup.over(&row.setup).over(&e.setup);
    let wrong = |why: String| ExperimentError::SetUp {
        experiment: e.id.clone(),
        row: row.name.clone(),
        column: column.name.clone(),
        why,
    };
    let filled =
        |text: &Option<String>| text.as_ref().map(|t| e.fill(t, row, point)).transpose().map_err(wrong);
    let kernel = filled(&s.kernel)?.unwrap_or_else(|| "6.12".to_owned());
    if let Some(what) = s.compute {
        return Ok(Job::Compute { what, kernel, platform: filled(&s.platform)? });
    }
    let text = filled(&s.json)?;
    let workload = match (filled(&s.workload)?, &text) {
        (Some(name), None) => name,
        (None, Some(_)) if row.setup.json.is_some() => format!("{}, {}", e.id, row.name),
        // Rows that share a workload share its run.
        (None, Some(_)) => e.id.clone(),
        _ => return Err(wrong("expected one of workload, json and compute".to_owned())),
    };
    let governor = s.governor.as_ref().map_or_else(|| Ok("menu".to_owned()), |name| e.governor(name))?;
    let hz = s.hz.as_ref().map(|hz| e.value(hz, row, point).and_then(whole_hz)).transpose();
    let changed = |(key, value): (&String, &Value)| {
        let text = machine_value(e, value, row, point);
        Ok((key.clone(), text.map_err(|why| wrong(format!("machine: {key}: {why}")))?))
    };
    let power_limit = filled(&s.power_limit)?;
    if let Some(limit) = power_limit.as_ref().filter(|limit| limit.contains("..")) {
        return Err(wrong(format!("power_limit: {limit}: expected one value of each limit, not a range")));
    }
    let request = SimulateRequest {
        workload,
        changes: s.machine.iter().map(changed).collect::<Result<_, ExperimentError>>()?,
        platform: filled(&s.platform)?.ok_or_else(|| wrong("expected a platform".to_owned()))?,
        governors: vec![governor],
        kernel_trees: Vec::new(),
        cpufreq: vec![filled(&s.cpufreq)?.unwrap_or_else(|| "schedutil".to_owned())],
        signals: vec![filled(&s.signal)?.unwrap_or_else(|| "pelt".to_owned())],
        kernel,
        hz: hz.map_err(|why| wrong(format!("hz: {why}")))?,
        cpus: s.cpus,
        duration_ns: s.seconds.map(|s| (s * 1e9) as u64),
        // Runs of different points have different seeds.
        seed: point.seed.wrapping_mul(e.repeat),
        repeat: e.repeat,
        baseline: None,
        base_mw: None,
        power_limit,
    };
    Ok(Job::Simulate { request: Box::new(request), text })
}

/// A platform's value as TOML: a number, rounded, or a word.
fn machine_value(e: &Experiment, value: &Value, row: &Row, point: &Point) -> Result<String, String> {
    if let Value::Parameter(text) = value
        && !text.contains('*')
    {
        let word = e.fill(text, row, point)?;
        if word.parse::<f64>().is_err() {
            return Ok(format!("{word:?}"));
        }
    }
    Ok(format!("{:.0}", e.value(value, row, point)?.round()))
}

fn simulated(request: &SimulateRequest, text: Option<&str>) -> Result<SimulateReport, ExperimentError> {
    let workload = match text {
        Some(text) => Workload::from_text(&request.workload, text)?,
        None => idlewise_workload::find(&request.workload)?,
    };
    simulate_workload(request, &workload, None, &|_, _| {})
}

/// Simulates a cell once, in the middle of what is unknown and with seed 1; nothing where it is computed.
///
/// # Errors
/// [`ExperimentError`] where its set-up makes no sense, or the run fails.
pub fn simulate_once(
    e: &Experiment,
    row: &Row,
    column: &Column,
) -> Result<Option<SimulateReport>, ExperimentError> {
    let Job::Simulate { request, text } = job(e, row, column, &e.point(0.5))? else { return Ok(None) };
    simulated(&request, text.as_deref()).map(Some)
}

impl Job {
    fn run(&self) -> Result<Vec<FactSummary>, ExperimentError> {
        let report = match self {
            Self::Compute { what, kernel, platform } => return what.facts(kernel, platform.as_deref()),
            Self::Simulate { request, text } => simulated(request, text.as_deref())?,
        };
        let Some(one) = report.combinations.into_iter().next() else {
            unreachable!("a request names one governor, and none was simulated")
        };
        one.failure.map_or(Ok(one.facts), |why| Err(ExperimentError::Run(why)))
    }
}
