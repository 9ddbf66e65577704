// SPDX-License-Identifier: GPL-2.0-only

use idlewise_answer::{Answer, Grade, Reason, ReasonId, Role, Trust, Verdict};
use idlewise_model::NoteId;
use idlewise_score::Measure;

use super::report::{ReplayReport, TraceResult};
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
    let mut out = crate::answer::answer(&seen.collect::<Vec<_>>(), &r.platform, measures);
    for t in r.traces.iter().filter(|t| !t.sensitivity.metrics.is_empty()) {
        of_sensitivity(&mut out, t, r.traces.len() > 1);
    }
    out.trust = Trust::from(std::mem::take(&mut out.trust.reasons));
    let broken = r.traces.iter().flat_map(|t| t.parity.iter().filter(|p| p.is_broken()).map(move |p| (t, p)));
    for (t, p) in broken {
        let words =
            format!("{}: {} does not make the choices that the kernel recorded", t.head.name, p.governor);
        out.warnings.push(NoteId::BrokenParity.note(words));
        out.trust
            .reasons
            .insert(0, Reason::new(Grade::Poor, ReasonId::Parity, "recorded choices are not repeated"));
        out.trust = Trust::from(std::mem::take(&mut out.trust.reasons));
    }
    out
}

/// What other sleep lengths that the recording allows do to the order of governors.
fn of_sensitivity(out: &mut Answer, t: &TraceResult, several: bool) {
    let place = if several { format!("{}: ", t.head.name) } else { String::new() };
    let mut holds = true;
    for m in t.sensitivity.metrics.iter().filter(|m| !m.swaps.is_empty()) {
        holds = false;
        let pairs: Vec<String> = m.swaps.iter().map(|[a, b]| format!("{a} and {b}")).collect();
        let words = format!(
            "{place}by {} the order changes with sleep lengths that the recording leaves open: {}",
            m.metric.replace('_', " "),
            pairs.join(", ")
        );
        out.warnings.push(NoteId::OrderNotShown.note(words));
        let is_against = |v: &&mut Verdict| {
            m.swaps.iter().any(|pair| pair.contains(&v.governor) && pair.contains(&out.baseline))
        };
        for v in out.verdicts.iter_mut().filter(is_against) {
            v.words +=
                &format!("; not shown: by {} it may be the other way round", m.metric.replace('_', " "));
        }
    }
    out.trust.reasons.push(if holds {
        Reason::new(Grade::Good, ReasonId::Sensitivity, "the order holds for all sleep lengths")
    } else {
        Reason::new(Grade::Poor, ReasonId::Sensitivity, "the order depends on uncertain sleep lengths")
    });
}
