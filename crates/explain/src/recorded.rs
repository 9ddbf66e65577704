// SPDX-License-Identifier: GPL-2.0-only
//! One decision of a kernel explained that is in a file of its own: a row of a golden file, a line of a table of decisions.

use std::convert::Infallible;
use std::path::PathBuf;

use idlewise_governor::{Governor, GovernorError};
use idlewise_idle::Hosted;
use idlewise_model::Miss;
use serde::{Deserialize, Serialize};

use crate::report::{Chosen, Explanation, IdleOutcome, InputConfidence, InputValue, Other, StateHead};
use crate::run::{ExplainReport, foreign_among, hosted, next_to};
use crate::watch::{Observation, Watch};
use idlewise_conform::decision_table::{self, DecisionTable};
use idlewise_conform::drive::is_table;
use idlewise_conform::golden::as_recorded;
use idlewise_conform::golden_file::{GoldenFile, Row};
use idlewise_conform::{Decisions, Follower, Step};
use idlewise_recording::CommandError;
use idlewise_recording::candidate::Candidate;
use idlewise_recording::input_files::text_of;

/// Which row to explain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRequest {
    /// The golden file (`*.csv.gz`).
    #[serde(serialize_with = "idlewise_recording::json_paths::path")]
    pub golden: PathBuf,
    /// The row, by its `step`, from 0.
    pub row: u64,
    /// The governor with its parameters.
    pub governor: String,
    /// Governors to show beside it.
    pub others: Vec<String>,
    /// Folders of kernel trees, for governors such as `linux:6.12/teo`.
    #[serde(serialize_with = "idlewise_recording::json_paths::paths")]
    pub kernel_trees: Vec<PathBuf>,
}

/// Which line to explain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRequest {
    /// The file of recorded decisions.
    #[serde(serialize_with = "idlewise_recording::json_paths::path")]
    pub decisions: PathBuf,
    /// Its line, from 1, as `idlewise drive` names it.
    pub line: u64,
    /// The machine that was recorded.
    pub platform: String,
    pub cpu: u32,
    /// The governor with its parameters.
    pub governor: String,
    /// Governors to show beside it.
    pub others: Vec<String>,
    /// Folders of kernel trees, for governors such as `linux:6.12/teo`.
    #[serde(serialize_with = "idlewise_recording::json_paths::paths")]
    pub kernel_trees: Vec<PathBuf>,
}

/// Drives a governor up to a row of a golden file and explains its decision there.
///
/// # Errors
/// [`CommandError`] when the file or a governor cannot be read or found, or there is no such row.
pub fn explain_row(request: &RowRequest) -> Result<ExplainReport, CommandError> {
    let governor = hosted(&request.governor, &request.kernel_trees)?;
    let others = next_to(&governor, &request.others, &request.kernel_trees)?;
    let golden = GoldenFile::read(&request.golden)?;
    let no_such_row = || {
        let why = format!(
            "{}: there is no row {}; it has {} (they are counted from 0)",
            request.golden.display(),
            request.row,
            golden.rows.len()
        );
        CommandError::NoSuchDecision { why }
    };
    let number = usize::try_from(request.row).map_err(|_| no_such_row())?;
    let row = golden.rows.get(number).ok_or_else(no_such_row)?;
    let asked = Asked::at(&golden, number, |governor| as_recorded(governor, &golden));
    let seen = asked.watch(&governor)?.ok_or_else(no_such_row)?;
    let recorded = Chosen {
        state: i32::try_from(row.sel_idx).unwrap_or(i32::MAX),
        stop_tick: row.stop_tick,
        asked_sleep_length: row.asked,
    };
    let explanation = Explanation {
        governor: governor.label(),
        cpu: "the recorded CPU".to_owned(),
        decision: row.step,
        decisions: asked.all,
        at_ns: seen.now_ns,
        states: StateHead::all(&golden.car.table, row.disabled),
        inputs: InputValue::all(&seen.inputs, &known("recorded")),
        chosen: Chosen::of(&seen),
        memory: seen.memory,
        reasons: seen.reasons,
        came: Some(came_of_row(row)),
        others: asked.answers(&others)?,
    };
    let foreign = foreign_among(&governor, &others);
    let source = format!("{}, line {}", request.golden.display(), row.line);
    Ok(ExplainReport::of_recorded(source, recorded, foreign, explanation))
}

/// Leads a governor through recorded decisions up to a line and explains its decision there.
///
/// # Errors
/// [`CommandError`] when the file, the machine or a governor cannot be read or found, or there is no such line.
pub fn explain_line(request: &LineRequest) -> Result<ExplainReport, CommandError> {
    let governor = hosted(&request.governor, &request.kernel_trees)?;
    let others = next_to(&governor, &request.others, &request.kernel_trees)?;
    let machine = idlewise_platform::find(&request.platform)?;
    if !is_table(&request.decisions) && matches!(text_of(&request.decisions), Ok(None)) {
        let why = "expected a table of decisions (.csv), found a binary file; name a trace without --decisions, \
                   with --decision, --at or --after";
        return Err(CommandError::input(&request.decisions, why));
    }
    let table = DecisionTable::read(&request.decisions, &machine, request.cpu)?;
    let no_such_line = || {
        let ends = table.rows.first().zip(table.rows.last());
        let there =
            ends.map_or_else(String::new, |(a, b)| format!("; its lines go from {} to {}", a.line, b.line));
        let why = format!(
            "{}: line {} is no decision of CPU {}{there}",
            request.decisions.display(),
            request.line,
            request.cpu
        );
        CommandError::NoSuchDecision { why }
    };
    let mut rows = table.rows.iter().enumerate();
    let (at, row) = rows.find(|(_, row)| row.line == request.line).ok_or_else(no_such_line)?;
    let asked = Asked::at(&table, at, |governor| Ok(governor.clone()));
    let seen = asked.watch(&governor)?.ok_or_else(no_such_line)?;
    let recorded = Chosen {
        state: i32::try_from(row.state).unwrap_or(i32::MAX),
        // With the tick stopped already the table does not tell the answer about it.
        stop_tick: if row.stopped_before { seen.stop_tick } else { row.stop_path },
        asked_sleep_length: row.sleep_length_ns.is_some(),
    };
    let explanation = Explanation {
        governor: governor.label(),
        cpu: format!("CPU {} ({}, {})", table.cpu, machine.id, table.cluster.name),
        decision: asked.number,
        decisions: asked.all,
        at_ns: row.start_ns,
        states: StateHead::all(&table.cluster.table, row.disabled),
        // A table has neither the utilisation nor the waiters for I/O.
        inputs: InputValue::all(&seen.inputs, &known("assumed")),
        chosen: Chosen::of(&seen),
        memory: seen.memory,
        reasons: seen.reasons,
        came: Some(came_of_line(row, &table)),
        others: asked.answers(&others)?,
    };
    let foreign = foreign_among(&governor, &others);
    let source = format!("{}, line {}", request.decisions.display(), row.line);
    Ok(ExplainReport::of_recorded(source, recorded, foreign, explanation))
}

/// One of the decisions of a file.
struct Asked<'d, D, P> {
    decisions: &'d D,
    /// How many steps with decisions are before it.
    at: usize,
    /// How often a governor is asked before it: more often than there are decisions where the kernel asked in vain.
    number: u64,
    /// How often a governor is asked for all of them.
    all: u64,
    /// A governor as the file's was set up.
    prepared: P,
}

impl<'d, D: Decisions<Error = Infallible>, P: Fn(&Governor) -> Result<Governor, GovernorError>>
    Asked<'d, D, P>
{
    fn at(decisions: &'d D, at: usize, prepared: P) -> Self {
        let asked = decisions.steps().filter_map(|Ok(step)| match step {
            Step::Decided(decision) => Some(1 + u64::from(decision.asked_in_vain)),
            _ => None,
        });
        let (mut until, mut all) = (0, 0);
        for (i, times) in asked.enumerate() {
            all += times;
            until = if i <= at { all } else { until };
        }
        assert!(until > 0, "the decision is there");
        Self { decisions, at, number: until - 1, all, prepared }
    }

    /// What the governor goes through; the device begins as the file says that the kernel's was.
    fn steps(&self) -> impl Iterator<Item = Step> + 'd {
        self.decisions.steps().map(|Ok(step)| step)
    }

    /// What is seen of `governor` there.
    fn watch(&self, governor: &Governor) -> Result<Option<Observation>, CommandError> {
        Ok((self.prepared)(governor)?.run(|loader| {
            let mut instance = loader.load_explaining(self.decisions.tick_period_ns())?;
            let (slot, mut follower) = Follower::of_only_cpu(&mut instance, self.decisions)?;
            let mut watch = Watch::new(&mut instance, slot, self.number);
            let mut answers = self.steps().filter_map(|step| {
                if let Step::State { values, .. } = &step {
                    watch.restore(values);
                }
                follower.step(&mut watch, &step)
            });
            answers.nth(self.at);
            Ok(watch.seen)
        })?)
    }

    /// What `others` answer there.
    fn answers(&self, others: &[Candidate]) -> Result<Vec<Other>, CommandError> {
        Other::all(others, |governor| {
            let answer = (self.prepared)(governor)?.run(|loader| {
                let mut instance = loader.load(self.decisions.tick_period_ns())?;
                let (slot, mut follower) = Follower::of_only_cpu(&mut instance, self.decisions)?;
                let mut hosted = Hosted::new(&mut instance, slot);
                Ok(self.steps().filter_map(|step| follower.step(&mut hosted, &step)).nth(self.at))
            })?;
            let Some(answer) = answer else { unreachable!("the decision is there") };
            Ok((answer.state, answer.stop_tick))
        })
    }
}

/// Everything but the load was recorded.
fn known(load: &'static str) -> InputConfidence {
    let recorded = "recorded";
    InputConfidence {
        timers: recorded,
        latency_limit: recorded,
        util: load,
        iowait: load,
        disabled: recorded,
        run: Some(recorded),
    }
}

/// What was recorded to have come of the recorded choice.
fn came_of_row(row: &Row) -> IdleOutcome {
    let cause = match row.wake {
        Some('T') => "hrtimer",
        Some('W') => "wheel",
        Some('I') => "irq",
        Some('K') => "tick",
        Some('P') => "poll-limit",
        Some('R') => "the driver, which refused",
        _ => "a script",
    };
    IdleOutcome {
        entered: row.entered.and_then(|i| u8::try_from(i.get()).ok()),
        tick: match (row.inputs.tick_stopped, row.stop_tick) {
            (true, _) => "was stopped",
            (false, true) => "stopped",
            (false, false) => "kept",
        },
        cause,
        wake_ns: None,
        residency_ns: row.residency_ns,
        latency_ns: None,
        verdict: match (row.entered, row.above, row.below) {
            (None, _, _) => "refused by the driver",
            (Some(_), true, _) => "too deep",
            (Some(_), false, true) => "too shallow",
            (Some(_), false, false) => "right",
        },
    }
}

fn came_of_line(row: &decision_table::Row, table: &DecisionTable<'_>) -> IdleOutcome {
    let residency_ns = row.residency_ns.cast_signed();
    let verdict = match table.cluster.table.verdict(row.state, residency_ns, row.disabled) {
        Miss::None => "right",
        Miss::Above => "too deep",
        Miss::Below => "too shallow",
    };
    let tick = match (row.stopped_before, row.stop_path) {
        (true, _) => "was stopped",
        (false, true) => "stopped",
        (false, false) => "kept",
    };
    IdleOutcome {
        entered: u8::try_from(row.state).ok(),
        tick,
        cause: "something that the file does not name",
        wake_ns: None,
        residency_ns,
        latency_ns: None,
        verdict,
    }
}
