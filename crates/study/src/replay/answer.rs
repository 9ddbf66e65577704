// SPDX-License-Identifier: GPL-2.0-only

use idlewise_answer::{Answer, Grade, Reason, Role, Trust};
use idlewise_model::NoteId;
use idlewise_score::Measure;

use super::report::ReplayReport;
use crate::answer::{GovernorRun, RecordingRuns, role};

/// What a replay comes to in `measures`.
#[must_use]
pub fn answer(r: &ReplayReport, measures: &[&'static Measure]) -> Answer {
    let seen = r.traces.iter().map(|t| RecordingRuns {
        head: &t.head,
        same_machine: t.same_machine,
        fidelity: &t.fidelity,
        runs: t
            .governors
            .iter()
            .map(|g| GovernorRun {
                governor: &g.governor,
                role: if g.governor == r.baseline { Role::Baseline } else { role(&g.governor) },
                failure: g.failure.as_ref(),
                score: &g.score,
                decisions: g.decisions,
            })
            .collect(),
    });
    let mut out = crate::answer::answer(&seen.collect::<Vec<_>>(), &r.platform.id, measures);
    let broken = r.traces.iter().flat_map(|t| t.parity.iter().filter(|p| p.is_broken()).map(move |p| (t, p)));
    for (t, p) in broken {
        let words =
            format!("{}: {} does not make the choices that the kernel recorded", t.head.name, p.governor);
        out.warnings.push(NoteId::BrokenParity.note(words));
        out.trust.reasons.insert(0, Reason::new(Grade::Poor, "parity", "recorded choices are not repeated"));
        out.trust = Trust::from(std::mem::take(&mut out.trust.reasons));
    }
    out
}
