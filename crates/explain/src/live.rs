// SPDX-License-Identifier: GPL-2.0-only
//! One line of a file of decisions that were recorded on a live kernel, laid open.

use std::path::PathBuf;

use idlewise_governor::Governor;
use idlewise_idle::Hosted;
use idlewise_model::Miss;
use serde::{Deserialize, Serialize};

use super::report::{Came, Chosen, Explanation, Given, Known, Other, StateHead};
use super::run::{ExplainReport, beside, foreign_among, hosted};
use super::watch::{Seen, Watch};
use idlewise_conform::truth::{Answer, Follower, LiveFile, Row};
use idlewise_recording::CommandError;

/// Which line to explain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineRequest {
    /// The file of recorded decisions.
    #[serde(serialize_with = "idlewise_recording::lossy::path")]
    pub decisions: PathBuf,
    /// Its line, from 1, as `idlewise drive` names it.
    pub line: u64,
    /// The machine that was recorded.
    pub platform: String,
    /// The CPU.
    pub cpu: u32,
    /// The governor with its parameters.
    pub governor: String,
    /// Governors to show beside it.
    pub others: Vec<String>,
    /// Folders of kernel trees, for governors such as `linux:6.12/teo`.
    #[serde(serialize_with = "idlewise_recording::lossy::paths")]
    pub kernel_trees: Vec<PathBuf>,
}

/// Leads a governor through recorded decisions up to a line and explains its decision there.
///
/// # Errors
/// [`CommandError`] when the file, the machine or a governor cannot be read or found, or there is no such line.
pub fn explain_line(request: &LineRequest) -> Result<ExplainReport, CommandError> {
    let governor = hosted(&request.governor, &request.kernel_trees)?;
    let others = beside(&governor, &request.others, &request.kernel_trees)?;
    let machine = idlewise_platform::find(&request.platform)?;
    let live = LiveFile::read(&request.decisions, &machine, request.cpu)?;
    let at = live.rows.iter().position(|row| row.line == request.line);
    let (Some(at), Some(row)) = (at, at.and_then(|at| live.rows.get(at))) else {
        return Err(no_such_line(request, &live));
    };
    let (seen, number) = watch(&governor, &live, at)?;
    let Some(seen) = seen else { return Err(no_such_line(request, &live)) };
    let answers = Other::all(&others, |governor| chosen_at(governor, &live, at))?;
    let recorded = Chosen {
        state: i32::try_from(row.state).unwrap_or(i32::MAX),
        // With the tick stopped already the file does not tell the answer about it.
        stop_tick: if row.stopped_before { seen.stop_tick } else { row.stop_path },
        asked_sleep_length: row.sleep_length_ns.is_some(),
    };
    let explanation = Explanation {
        governor: governor.label(),
        cpu: format!("CPU {} ({}, {})", live.cpu, machine.id, live.place.name),
        decision: number,
        decisions: asks(&live, live.rows.len()),
        at_ns: row.start_ns,
        states: StateHead::all(&live.place.table, row.disabled),
        inputs: Given::all(&seen.inputs, &known()),
        chosen: Chosen::of(&seen),
        memory: seen.memory,
        reasons: seen.reasons,
        came: Some(came(row, &live)),
        others: answers,
    };
    let foreign = foreign_among(&governor, &others);
    let source = format!("{}, line {}", request.decisions.display(), row.line);
    Ok(ExplainReport::of_recorded(source, recorded, foreign, explanation))
}

fn no_such_line(request: &LineRequest, live: &LiveFile<'_>) -> CommandError {
    let ends = live.rows.first().zip(live.rows.last());
    let there =
        ends.map_or_else(String::new, |(a, b)| format!("; its lines go from {} to {}", a.line, b.line));
    CommandError::Request(format!(
        "{}: line {} is no decision of CPU {}{there}",
        request.decisions.display(),
        request.line,
        request.cpu
    ))
}

/// The kernel's own inputs; it did not record its utilisation and waiters for I/O.
fn known() -> Known {
    let (recorded, assumed) = ("recorded", "assumed");
    Known {
        timers: recorded,
        latency_limit: recorded,
        util: assumed,
        iowait: assumed,
        disabled: recorded,
        run: Some(recorded),
    }
}

/// How often a governor is asked for the first `rows` rows: more often than there are rows where the kernel asked in vain.
fn asks(live: &LiveFile<'_>, rows: usize) -> u64 {
    let rows = live.rows.iter().take(rows).enumerate();
    rows.map(|(i, row)| 1 + u64::from(i > 0 && row.asked_in_vain_before())).sum()
}

/// What was seen at row `at`, and the decision's number.
fn watch(governor: &Governor, live: &LiveFile<'_>, at: usize) -> Result<(Option<Seen>, u64), CommandError> {
    let number = asks(live, at + 1) - 1;
    let seen = governor.run(|loader| {
        let mut instance = loader.load_explaining(live.grid.period_ns)?;
        let slot = instance.add_cpu(live.cpu, &live.place.table, live.place.capacity)?;
        let mut watch = Watch::new(&mut instance, slot, number);
        let mut follower = Follower::new(&mut watch, live);
        for row in live.rows.iter().take(at + 1) {
            follower.follow(*row);
        }
        Ok(watch.seen)
    })?;
    Ok((seen, number))
}

fn chosen_at(governor: &Governor, live: &LiveFile<'_>, at: usize) -> Result<(i32, bool), CommandError> {
    let (state, stop) = governor.run(|loader| {
        let mut instance = loader.load(live.grid.period_ns)?;
        let slot = instance.add_cpu(live.cpu, &live.place.table, live.place.capacity)?;
        let mut hosted = Hosted::new(&mut instance, slot);
        let mut follower = Follower::new(&mut hosted, live);
        let mut last = Answer::NONE;
        for row in live.rows.iter().take(at + 1) {
            last = follower.follow(*row);
        }
        Ok((last.state, last.stop))
    })?;
    Ok((i32::try_from(state).unwrap_or(i32::MAX), stop))
}

fn came(row: &Row, live: &LiveFile<'_>) -> Came {
    let residency_ns = row.residency_ns.cast_signed();
    let verdict = match live.place.table.verdict(row.state, residency_ns, row.disabled) {
        Miss::None => "right",
        Miss::Above => "too deep",
        Miss::Below => "too shallow",
    };
    let tick = match (row.stopped_before, row.stop_path) {
        (true, _) => "was stopped",
        (false, true) => "stopped",
        (false, false) => "kept",
    };
    Came {
        entered: u8::try_from(row.state).ok(),
        tick,
        cause: "something that the file does not name",
        wake_ns: None,
        residency_ns,
        latency_ns: None,
        verdict,
    }
}
