// SPDX-License-Identifier: GPL-2.0-only
//! Governors under many settings of their parameters, on many recordings and workloads: `idlewise sweep`.
//!
//! [`SweepRequest`] says which values ([`Axis`]) on which recordings and machines; all are checked before anything runs. Each
//! recording is read once for all settings. What comes of each is kept by its content in a folder ([`Keeping`]), so that a sweep
//! that was interrupted goes on, and one that is repeated runs nothing. [`SweepReport`] has every setting against the baseline, and
//! those that no other beats.
//!
//! A program may have it computed elsewhere: [`parts_of`] gives [`Parts`] with an order, of which a [`Workplace`] is made wherever
//! parts are computed; [`with_known`] makes the report of what came back.

mod args;
mod axis;
mod case;
mod design;
mod elsewhere;
mod estimate;
mod facts;
mod front;
mod key;
mod known;
mod numbers;
mod order;
mod parts;
mod plan;
mod report;
mod request;
mod result;
mod run;
mod sample;
mod simulated;
mod space;
mod store;
mod workplace;

use idlewise_recording::CommandError;

pub use args::SweepArgs;
pub use axis::{Axis, AxisPart};
pub use elsewhere::{parts_of, with_known};
pub use estimate::SweepEstimate;
pub use facts::CaseFacts;
pub use known::KnownCase;
pub use numbers::{Numbers, WORK, measures};
pub use order::SentCode;
pub use parts::{CaseTodo, Parts};
pub use report::{
    CaseLeftOut, CaseNumbers, SCHEMA, SettingChange, SettingResult, SweepCase, SweepReport, SweptGovernor,
};
pub use request::SweepRequest;
pub use run::{Keeping, Shard, SweepProgress};
pub use sample::SampleMethod;
pub use workplace::{PartFailure, ReadRecording, RecordingHere, Workplace};

use run::Sweep;

/// A sweep of so many runs says first how long it will take.
const LARGE: u64 = 5000;

/// More runs are not kept in memory at a time.
const MOST_RUNS: u64 = 20_000_000;

/// What a sweep did.
#[derive(Clone, Debug)]
pub enum Swept {
    All(Box<SweepReport>),
    /// A part, which is kept.
    Part {
        /// How many runs it has, and how many of them it did now.
        runs: u64,
        ran: u64,
        left_out: Vec<CaseLeftOut>,
    },
    /// Nothing: how long it would take.
    Nothing(SweepEstimate),
}

/// Who waits for a sweep.
pub struct SweepListener<'l> {
    pub progress: SweepProgress<'l>,
    /// Hears how long a large sweep will take before it begins.
    pub estimated: &'l dyn Fn(&SweepEstimate),
    /// Hears of kept results that are damaged.
    pub warned: &'l dyn Fn(&str),
}

/// Sweeps what `request` asks for.
///
/// # Errors
/// [`CommandError`] where a governor, value, recording or machine cannot be found or used, no recording is left, or results cannot be
/// kept. What was finished before is kept.
pub fn sweep(
    request: &SweepRequest,
    keeping: &Keeping,
    listener: &SweepListener<'_>,
) -> Result<Swept, CommandError> {
    request.check_workload_options()?;
    let to = keeping.to.as_deref();
    if let Some(folder) = to.filter(|_| elsewhere::wants_parts()) {
        elsewhere::give(Parts::of(request, folder)?);
        return Ok(Swept::Part { runs: 0, ran: 0, left_out: Vec::new() });
    }
    if let Some(cases) = elsewhere::known() {
        let sweep = Sweep::known(request, to, &cases)?;
        sweep.damaged().iter().for_each(|why| (listener.warned)(why));
        return Ok(Swept::All(Box::new(sweep.report(request)?)));
    }
    let mut sweep = Sweep::of(request, to, listener.progress)?;
    sweep.damaged().iter().for_each(|why| (listener.warned)(why));
    let runs: u64 = sweep.runs(keeping.shard).iter().fold(0, |sum, n| sum.saturating_add(*n));
    if runs > MOST_RUNS {
        let why = format!(
            "{runs} runs, and {MOST_RUNS} at most are done at a time: draw some settings with --sample, name fewer values, or run \
             a part of them with --shard"
        );
        return Err(CommandError::conflict(&["--governor", "--sample", "--shard"], why));
    }
    let todo = sweep.todo(keeping.shard)?;
    let ran = todo.len() as u64;
    if keeping.dry_run {
        return Ok(Swept::Nothing(sweep.estimate(runs, &todo)?));
    }
    if ran >= LARGE {
        (listener.estimated)(&sweep.estimate(runs, &todo)?);
    }
    sweep.run(todo, keeping.shard, listener.progress)?;
    if keeping.shard.is_some() {
        return Ok(Swept::Part { runs, ran, left_out: sweep.left_out });
    }
    Ok(Swept::All(Box::new(sweep.report(request)?)))
}
