// SPDX-License-Identifier: GPL-2.0-only
//! What recording costs a load: its run time with and without, interleaved ABBA, so that a machine that grows faster or
//! slower meanwhile favours neither.

use std::fs;
use std::time::Duration;

use idlewise_live::Host;
use idlewise_live::journal::Journal;
use idlewise_live::tracefs::Tracefs;
use idlewise_model::Note;
use idlewise_recorder::bpf::RecorderOptions;
use idlewise_recorder::record::{Companion, Costs, Inputs, RunTime, Stop, costs};
use idlewise_stats::Summary;
use serde::Serialize;

use super::inputs::TABLE;
use super::request::{RecordRequest, kept_aside, plan};
use crate::MachineError;

/// Time that recording took from the machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overhead {
    /// From start to end of the command.
    pub wall: Cost,
    /// CPU time of the command.
    pub cpu: Cost,
    /// Events recorded in all runs.
    pub events: u64,
    /// Events lost in all runs.
    pub lost: u64,
    /// What a user should know of the runs.
    pub notes: Vec<Note>,
}

/// One kind of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    pub without_s: Summary,
    pub with_s: Summary,
    /// How much longer with it, in percent, block by block; none where a block without recording took no time that the clock
    /// of this kind shows.
    pub percent: Option<Summary>,
}

impl Cost {
    fn of(blocks: &[[RunTime; 4]], time: fn(&RunTime) -> Duration) -> Self {
        let blocks: Vec<[f64; 4]> =
            blocks.iter().map(|b| b.each_ref().map(|r| time(r).as_secs_f64())).collect();
        let of =
            |pick: fn(&[f64; 4]) -> [f64; 2]| Summary::of(&blocks.iter().flat_map(pick).collect::<Vec<_>>());
        let percent =
            blocks.iter().map(|[a, b, c, d]| (a + d > 0.0).then(|| ((b + c) / (a + d) - 1.0) * 100.0));
        let percent: Option<Vec<f64>> = percent.collect();
        Self {
            without_s: of(|[a, _, _, d]| [*a, *d]),
            with_s: of(|[_, b, c, _]| [*b, *c]),
            percent: percent.map(|all| Summary::of(&all)),
        }
    }
}

/// Runs the command of `request` without, with, with, without recording, `blocks` times. `progress` hears of every run: done
/// and of how many.
///
/// # Errors
/// [`MachineError`] when something is missing or refused, or the command fails.
pub fn overhead(
    host: &Host,
    request: &RecordRequest,
    blocks: usize,
    stop: &mut Stop,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Overhead, MachineError> {
    Tracefs::of(host)?;
    let mut journal = Journal::open(host)?;
    let plan = plan(request);
    let captured = plan.parts.join(TABLE);
    let start = || Inputs::new(host, RecorderOptions::default(), &captured);
    let mut companion = || {
        let _ = fs::remove_file(&captured);
        let inputs = request.inputs.then(start).transpose()?;
        Ok(inputs.map(|i| Box::new(i) as Box<dyn Companion>))
    };
    if request.inputs {
        // Says what is missing before anything is changed.
        start()?;
    }
    let result = costs(host, &plan, &mut journal, &mut companion, blocks, stop, progress);
    journal.restore()?;
    let Costs { blocks, events, lost, moved } = result?;
    let (wall, cpu) = (Cost::of(&blocks, |r| r.wall), Cost::of(&blocks, |r| r.cpu));
    let notes = moved.as_deref().map(kept_aside).into_iter().collect();
    Ok(Overhead { wall, cpu, events, lost, notes })
}
