// SPDX-License-Identifier: GPL-2.0-only
//! How long a sweep will take: the baseline is run on the first recording and the first workload, and the clock is read.

use std::time::{Duration, Instant};

use idlewise_recording::CommandError;

use crate::case::Case;
use crate::design::BASELINE;
use crate::run::{Sweep, Todo};

/// The baseline is run for so long.
const MEASURED: Duration = Duration::from_millis(200);

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
        };
        // What a recording takes says nothing about a simulation.
        for kind in [true, false] {
            let own = |one: &&Todo| self.cases[one.case].has_bound() == kind;
            let Some(first) = todo.iter().find(own) else { continue };
            let first = &self.cases[first.case];
            let measured = Measured::of(self, first)?;
            let mut in_all = vec![0_u64; self.cases.len()];
            todo.iter().filter(own).for_each(|one| in_all[one.case] += 1);
            // A recording twice as long takes twice as long.
            let share = |case: usize| self.cases[case].size as f64 / first.size.max(1) as f64;
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
}

impl Measured {
    /// On `case`.
    fn of(sweep: &Sweep, case: &Case) -> Result<Self, CommandError> {
        let begun = now();
        let open = case.open()?;
        let open_s = begun.elapsed().as_secs_f64();
        let baseline = sweep.design.variant(BASELINE)?;
        // The first run prepares what the others find.
        let outcome = open.outcome(&baseline)?;
        let (begun, mut times) = (now(), 0);
        while times == 0 || begun.elapsed() < MEASURED {
            drop(open.outcome(&baseline)?);
            times += 1;
        }
        let run_s = begun.elapsed().as_secs_f64() / f64::from(times);
        let decisions = outcome.map_err(|why| case.error(&why))?.decisions as f64;
        Ok(Self { decisions, run_s, open_s })
    }
}

#[expect(clippy::disallowed_methods, reason = "how long it will take is about real time")]
fn now() -> Instant {
    Instant::now()
}
