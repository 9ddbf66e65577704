// SPDX-License-Identifier: GPL-2.0-only
//! How long a sweep will take: the baseline is run on one recording and one workload, or on the first part of each, and the clock is
//! read.

use std::time::{Duration, Instant};

use idlewise_recording::CommandError;

use crate::case::Case;
use crate::design::BASELINE;
use crate::numbers::Outcome;
use crate::run::{Sweep, Todo};

/// The baseline is run for about so long, on the first part of a case if that is enough.
const MEASURED: Duration = Duration::from_millis(200);
/// The part that is tried first: idle periods of a recording, ns of a workload.
const FIRST_PERIODS: u64 = 5_000;
const FIRST_NS: u64 = 20_000_000;
/// The next part is so many times longer than the last, at most.
const LONGER: f64 = 16.0;
/// The largest recording of at most so many bytes is taken, for it is read as a whole.
const READ: u64 = 32 << 20;

/// How much a sweep is, and how long it will take on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepEstimate {
    /// Settings, the baseline and the bound among them.
    pub settings: u64,
    /// Recordings and workloads, each on a machine.
    pub cases: usize,
    /// How many of these are workloads.
    pub workloads: usize,
    /// Each setting on each of these is one.
    pub runs: u64,
    /// Runs that are not kept.
    pub left: u64,
    /// Decisions of these runs, by the lengths of the recordings' files.
    pub decisions: f64,
    /// For these, on all cores, s.
    pub seconds: f64,
    pub cores: usize,
    /// It is extrapolated from the first part of a run: so much of it, %.
    pub part_pct: Option<f64>,
}

impl Sweep {
    /// How much `todo` is, of so many `runs`.
    ///
    /// # Errors
    /// [`CommandError`] where the first recording or workload cannot be read, or the baseline not be run.
    pub(crate) fn estimate(&self, runs: u64, todo: &[Todo]) -> Result<SweepEstimate, CommandError> {
        let cores = rayon::current_num_threads();
        let mut estimate = SweepEstimate {
            settings: self.design.len(),
            cases: self.cases.len(),
            workloads: self.cases.iter().filter(|case| !case.has_bound()).count(),
            runs,
            left: todo.len() as u64,
            decisions: 0.0,
            seconds: 0.0,
            cores,
            part_pct: None,
        };
        // What a recording takes says nothing about a simulation.
        for kind in [true, false] {
            let own = |one: &&Todo| self.cases[one.case].has_bound() == kind;
            let mut in_all = vec![0_u64; self.cases.len()];
            todo.iter().filter(own).for_each(|one| in_all[one.case] += 1);
            let wanted = self.cases.iter().zip(&in_all).filter(|(_, n)| **n > 0).map(|(case, _)| case);
            let Some(tried) = wanted.min_by_key(|case| (case.size > READ, case.size.abs_diff(READ))) else {
                continue;
            };
            let measured = Measured::of(self, tried)?;
            if measured.share < 1.0 {
                let pct = 100.0 * measured.share;
                estimate.part_pct = Some(estimate.part_pct.map_or(pct, |other| other.min(pct)));
            }
            // A recording twice as long takes twice as long.
            let share = |case: usize| self.cases[case].size as f64 / tried.size.max(1) as f64;
            let every = || in_all.iter().enumerate().filter(|(_, n)| **n > 0);
            let lengths: f64 = every().map(|(case, n)| share(case) * *n as f64).sum();
            let opened: f64 = every().map(|(case, _)| share(case)).sum();
            estimate.decisions += measured.decisions * lengths;
            estimate.seconds += (measured.run_s * lengths + measured.open_s * opened) / cores as f64;
        }
        Ok(estimate)
    }
}

/// A run of the baseline, with the clock read.
struct Measured {
    decisions: f64,
    run_s: f64,
    open_s: f64,
    /// So much of a run was done; the others are extrapolated.
    share: f64,
}

impl Measured {
    /// On `case`.
    fn of(sweep: &Sweep, case: &Case) -> Result<Self, CommandError> {
        let begun = now();
        let open = case.open()?;
        let open_s = begun.elapsed().as_secs_f64();
        let baseline = sweep.design.variant(BASELINE)?;
        let decisions_of = |outcome: Outcome| match outcome {
            Ok(numbers) => Ok(numbers.decisions as f64),
            Err(why) => Err(case.error(&why)),
        };
        let first = if case.has_bound() { FIRST_PERIODS } else { FIRST_NS };
        let mut share = first as f64 / open.length().max(1) as f64;
        while share < 1.0 {
            let begun = now();
            let trial = open.trial(share)?;
            let read_s = if open.is_read_by_runs() { begun.elapsed().as_secs_f64() } else { 0.0 };
            // The first run prepares what the others find.
            let decisions = decisions_of(trial.outcome(&baseline)?)?;
            let begun = now();
            drop(trial.outcome(&baseline)?);
            let run_s = begun.elapsed().as_secs_f64();
            let enough_s = MEASURED.as_secs_f64();
            if run_s >= enough_s {
                let (decisions, run_s) = (decisions / share, (run_s + read_s) / share);
                return Ok(Self { decisions, run_s, open_s, share });
            }
            share *= (1.2 * enough_s / run_s).clamp(2.0, LONGER);
        }
        let decisions = decisions_of(open.outcome(&baseline)?)?;
        let (begun, mut times) = (now(), 0);
        while times == 0 || begun.elapsed() < MEASURED {
            drop(open.outcome(&baseline)?);
            times += 1;
        }
        let run_s = begun.elapsed().as_secs_f64() / f64::from(times);
        Ok(Self { decisions, run_s, open_s, share: 1.0 })
    }
}

#[expect(clippy::disallowed_methods, reason = "how long it will take is about real time")]
fn now() -> Instant {
    Instant::now()
}
