// SPDX-License-Identifier: GPL-2.0-only

use idlewise_answer::{Answer, Role};
use idlewise_score::Measure;

use super::report::{CompareReport, RunScore};
use crate::answer::{GovernorRun, RecordingRuns, role};

/// What a comparison comes to in `measures`.
#[must_use]
pub fn answer(r: &CompareReport, measures: &[&'static Measure]) -> Answer {
    let seen = r.traces.iter().map(|t| RecordingRuns {
        head: &t.head,
        same_machine: t.same_machine,
        fidelity: &t.fidelity,
        runs: vec![run(&r.a, Role::Baseline, &t.comparison.a), run(&r.b, role(&r.b), &t.comparison.b)],
    });
    crate::answer::answer(&seen.collect::<Vec<_>>(), &r.platform, measures)
}

fn run<'r>(governor: &'r str, role: Role, run: &'r RunScore) -> GovernorRun<'r> {
    GovernorRun { governor, role, failure: None, score: &run.score, decisions: run.decisions }
}
