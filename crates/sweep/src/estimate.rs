// SPDX-License-Identifier: GPL-2.0-only
//! How long a sweep will take: the baseline is run on the first recording, and the clock is read.

use std::time::{Duration, Instant};

use idlewise_recording::CommandError;

use crate::design::BASELINE;
use crate::run::{Sweep, Todo};

/// The baseline is run for so long.
const MEASURED: Duration = Duration::from_millis(200);

/// How much a sweep is, and how long it will take on this machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepEstimate {
    /// Settings, the baseline and the bound among them.
    pub settings: u64,
    /// Recordings, each on a machine.
    pub cases: usize,
    /// Each setting on each recording is one.
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
    /// [`CommandError`] where the first recording cannot be read, or the baseline not be run.
    pub(crate) fn estimate(&self, runs: u64, todo: &[Todo]) -> Result<SweepEstimate, CommandError> {
        let cores = rayon::current_num_threads();
        let nothing = SweepEstimate {
            settings: self.design.len(),
            cases: self.cases.len(),
            runs,
            left: todo.len() as u64,
            decisions: 0.0,
            seconds: 0.0,
            cores,
        };
        let Some(first) = todo.first() else { return Ok(nothing) };
        let first = &self.cases[first.case];
        let begun = now();
        let open = first.open()?;
        let open_s = begun.elapsed().as_secs_f64();
        let baseline = self.design.variant(BASELINE)?;
        // The first run prepares what the others find.
        let outcome = open.outcome(&baseline)?;
        let (begun, mut times) = (now(), 0);
        while times == 0 || begun.elapsed() < MEASURED {
            drop(open.outcome(&baseline)?);
            times += 1;
        }
        let run_s = begun.elapsed().as_secs_f64() / f64::from(times);
        let decisions = outcome.map_err(|why| CommandError::input(&first.file.path, why))?.decisions as f64;
        let mut in_all = vec![0_u64; self.cases.len()];
        todo.iter().for_each(|one| in_all[one.case] += 1);
        // A recording twice as long takes twice as long.
        let share = |case: usize| self.cases[case].bytes as f64 / first.bytes.max(1) as f64;
        let every = || in_all.iter().enumerate().filter(|(_, n)| **n > 0);
        let lengths: f64 = every().map(|(case, n)| share(case) * *n as f64).sum();
        let opened: f64 = every().map(|(case, _)| share(case)).sum();
        Ok(SweepEstimate {
            decisions: decisions * lengths,
            seconds: (run_s * lengths + open_s * opened) / cores as f64,
            ..nothing
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "how long it will take is about real time")]
fn now() -> Instant {
    Instant::now()
}
