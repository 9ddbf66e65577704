// SPDX-License-Identifier: GPL-2.0-only
//! Does the ranking of the governors depend on sleep lengths, or on waits for I/O, that the recording does not show for certain?

use idlewise_recording::CommandError;
use idlewise_recording::candidate::{Bound, Candidate, chunks};
use idlewise_replay::SleepLengths;
use idlewise_score::{Measure, Place, Score};
use rayon::prelude::*;

use super::report::{GovernorSensitivity, MetricSensitivity, ReplayReport, Sensitivity};
use super::stage::{CpuRuns, Stage};

/// The sleep lengths that are tried, in order.
pub const TRIED: [SleepLengths; 3] = [SleepLengths::Least, SleepLengths::Taped, SleepLengths::Most];

/// The measures that rankings are tried by, in the order of their names.
fn measures() -> Vec<&'static Measure> {
    let mut all: Vec<_> = Measure::all_in(Place::Ranking).collect();
    all.sort_by_key(|m| m.name);
    all
}

impl MetricSensitivity {
    /// A metric of which `governors` have these values, with the pairs that swap.
    #[must_use]
    pub fn of(metric: &'static str, governors: Vec<GovernorSensitivity>) -> Self {
        Self { metric, swaps: swaps(&governors), governors }
    }
}

impl Sensitivity {
    /// Compares the scores of `names` under all that was tried; governors without a score do not take part.
    fn compare(&mut self, names: &[&str], scores: &[Vec<Score>]) {
        let scored = |i: &usize| scores.iter().all(|s| s.get(*i).is_some_and(|s| !s.is_nothing()));
        let known: Vec<(usize, &str)> =
            names.iter().copied().enumerate().filter(|(i, _)| scored(i)).collect();
        self.metrics = measures()
            .into_iter()
            .map(|m| {
                let values = |i: usize| scores.iter().filter_map(|s| s.get(i)).map(|s| m.value(s)).collect();
                let governors: Vec<GovernorSensitivity> = known
                    .iter()
                    .map(|(i, name)| GovernorSensitivity { governor: (*name).to_owned(), values: values(*i) })
                    .collect();
                MetricSensitivity::of(m.name, governors)
            })
            .collect();
    }
}

impl Stage<'_> {
    /// Replays with the bounds of the sleep lengths too, and with the other answer to whether tasks wait for I/O, where a recording
    /// leaves them open.
    pub(super) fn try_bounds(&self, report: &mut ReplayReport) -> Result<(), CommandError> {
        // The oracle knows when a CPU wakes and asks for no sleep length.
        let candidates: Vec<&Candidate> =
            self.candidates.iter().filter(|c| !matches!(c, Candidate::Bound(Bound::Oracle))).collect();
        let names: Vec<&str> = candidates.iter().map(|c| c.name()).collect();
        for (recording, trace) in self.placement.recordings.iter().zip(&mut report.traces) {
            let waits_for_io = trace.sensitivity.unsure_io_waits > 0;
            if trace.sensitivity.unsure_waits == 0 && !waits_for_io {
                continue;
            }
            let same_machine = self.placement.same_machine(recording);
            let mut tried = Vec::new();
            for lengths in TRIED {
                tried.push(self.placement.workloads_with(recording, lengths)?);
            }
            if waits_for_io {
                let cpus = recording.other_io_waits();
                tried.push(self.placement.workloads_of(&cpus, SleepLengths::Taped)?);
            }
            let mut scores = Vec::new();
            for workloads in tried {
                let runs = candidates
                    .par_iter()
                    .map(|candidate| {
                        let mut all = CpuRuns::default();
                        for cpus in chunks(&workloads, candidate.is_foreign()) {
                            all.merge(self.run_cpus(candidate, &cpus, same_machine)?);
                        }
                        Ok(all.score())
                    })
                    .collect::<Result<Vec<Score>, CommandError>>()?;
                scores.push(runs);
            }
            trace.sensitivity.compare(&names, &scores);
        }
        Ok(())
    }
}

fn swaps(governors: &[GovernorSensitivity]) -> Vec<[String; 2]> {
    let mut out = Vec::new();
    for (n, a) in governors.iter().enumerate() {
        for b in governors.iter().skip(n + 1) {
            let pairs = || a.values.iter().zip(&b.values);
            if pairs().any(|(x, y)| x < y) && pairs().any(|(x, y)| x > y) {
                out.push([a.governor.clone(), b.governor.clone()]);
            }
        }
    }
    out
}
