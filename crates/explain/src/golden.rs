// SPDX-License-Identifier: GPL-2.0-only
//! One row of a golden file laid open: what a kernel's compiled governor decided, and how another comes to its choice.

use std::path::{Path, PathBuf};

use idlewise_governor::{Choice, Governor};
use idlewise_idle::Hosted;
use serde::{Deserialize, Serialize};

use super::report::{Came, Chosen, Explanation, Given, Known, Other, StateHead};
use super::run::{ExplainReport, beside, foreign_among, hosted};
use super::watch::{Seen, Watch};
use idlewise_conform::drive::{Run, as_recorded};
use idlewise_conform::golden_file::{GoldenFile, Row};
use idlewise_recording::CommandError;

/// Which row to explain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRequest {
    /// The golden file (`*.csv.gz`).
    #[serde(serialize_with = "idlewise_recording::lossy::path")]
    pub golden: PathBuf,
    /// The row, by its `step`, from 0.
    pub row: u64,
    /// The governor with its parameters.
    pub governor: String,
    /// Governors to show beside it.
    pub others: Vec<String>,
    /// Folders of kernel trees, for governors such as `linux:6.12/teo`.
    #[serde(serialize_with = "idlewise_recording::lossy::paths")]
    pub kernel_trees: Vec<PathBuf>,
}

/// Drives a governor up to a row of a golden file and explains its decision there.
///
/// # Errors
/// [`CommandError`] when the file or a governor cannot be read or found, or there is no such row.
pub fn explain_row(request: &RowRequest) -> Result<ExplainReport, CommandError> {
    let governor = hosted(&request.governor, &request.kernel_trees)?;
    let others = beside(&governor, &request.others, &request.kernel_trees)?;
    let golden = GoldenFile::read(&request.golden)?;
    let number = usize::try_from(request.row).unwrap_or(usize::MAX);
    let row = golden.rows.get(number).ok_or_else(|| no_such_row(&request.golden, request.row, &golden))?;
    let seen =
        watch(&governor, &golden, number)?.ok_or_else(|| CommandError::Request("no decision".to_owned()))?;
    let answers = Other::all(&others, |governor| chosen_at(governor, &golden, number))?;
    let recorded = Chosen {
        state: i32::try_from(row.sel_idx).unwrap_or(i32::MAX),
        stop_tick: row.stop_tick,
        asked_sleep_length: row.asked,
    };
    let explanation = Explanation {
        governor: governor.label(),
        cpu: "the recorded CPU".to_owned(),
        decision: row.step,
        decisions: golden.rows.len() as u64,
        at_ns: seen.now_ns,
        states: StateHead::all(&golden.car.table, row.disabled),
        inputs: Given::all(&seen.inputs, &known()),
        chosen: Chosen::of(&seen),
        memory: seen.memory,
        reasons: seen.reasons,
        came: Some(came(row)),
        others: answers,
    };
    let foreign = foreign_among(&governor, &others);
    let source = format!("{}, line {}", request.golden.display(), row.line);
    Ok(ExplainReport::of_recorded(source, recorded, foreign, explanation))
}

fn no_such_row(path: &Path, row: u64, golden: &GoldenFile) -> CommandError {
    CommandError::Request(format!(
        "{}: there is no row {row}; it has {} (they are counted from 0)",
        path.display(),
        golden.rows.len()
    ))
}

/// Everything in a golden file was recorded.
fn known() -> Known {
    let recorded = "recorded";
    Known {
        timers: recorded,
        latency_limit: recorded,
        util: recorded,
        iowait: recorded,
        disabled: recorded,
        run: Some(recorded),
    }
}

fn watch(governor: &Governor, golden: &GoldenFile, number: usize) -> Result<Option<Seen>, CommandError> {
    let car = &golden.car;
    let governor = as_recorded(governor, car)?;
    Ok(governor.run(|loader| {
        let mut instance = loader.load_explaining(car.tick_nsec)?;
        let slot = instance.add_cpu(0, &car.table, car.cpu_capacity)?;
        let mut run = Run::new(Watch::new(&mut instance, slot, number as u64), car);
        for row in golden.rows.iter().take(number + 1) {
            run.step(row);
        }
        Ok(run.governor.seen)
    })?)
}

fn chosen_at(governor: &Governor, golden: &GoldenFile, number: usize) -> Result<(i32, bool), CommandError> {
    let car = &golden.car;
    let governor = as_recorded(governor, car)?;
    let (state, stop_tick) = governor.run(|loader| {
        let mut instance = loader.load(car.tick_nsec)?;
        let slot = instance.add_cpu(0, &car.table, car.cpu_capacity)?;
        let mut run = Run::new(Hosted::new(&mut instance, slot), car);
        let mut last = Choice { index: 0, stop_tick: false, asked_sleep_length: false };
        for row in golden.rows.iter().take(number + 1) {
            last = run.step(row);
        }
        Ok((last.index, last.stop_tick))
    })?;
    Ok((state, stop_tick))
}

/// What was recorded to have come of the recorded choice.
fn came(row: &Row) -> Came {
    let cause = match row.wake {
        Some('T') => "hrtimer",
        Some('W') => "wheel",
        Some('I') => "irq",
        Some('K') => "tick",
        Some('P') => "poll-limit",
        Some('R') => "the driver, which refused",
        _ => "a script",
    };
    Came {
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
