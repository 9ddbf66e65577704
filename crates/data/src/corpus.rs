// SPDX-License-Identifier: GPL-2.0-only
use idlewise_collect::{CorpusRun, Verification};
use idlewise_columns::DataTable;
use idlewise_corpus::Entry;
use idlewise_score::measure::DECIDING;

use crate::declared::{Declared, FLAG, INTEGER, NUMBER, TEXT, row, table};

pub(crate) const LISTED: &[Declared] = &[
    ("recording", TEXT, "its id in the corpus"),
    ("file", TEXT, "its file, from the corpus's folder"),
    ("sha256", TEXT, "SHA-256 of the file"),
    ("bytes", INTEGER, "length of the file"),
    ("machine", TEXT, "the machine whose idle states it has"),
    ("kernel", TEXT, "release of the kernel that ran"),
    ("workload", TEXT, "the kind of load"),
    ("hz", INTEGER, "ticks per second"),
    ("governor", TEXT, "the governor that chose the recorded states"),
    ("basis", TEXT, "measured, emulated (a real kernel, the machine is a model) or model (simulated)"),
    ("licence", TEXT, "SPDX identifier of its licence"),
    ("origin", TEXT, "who made it, or where it was published"),
    ("command", TEXT, "the command that made it"),
    ("split", TEXT, "train, validation or test"),
    ("span_ns", INTEGER, "from first to last event"),
    ("cpus", INTEGER, "usable CPUs"),
    ("idle_periods", INTEGER, "of these"),
    ("trust", TEXT, "good, fair or poor"),
    ("fidelity_pct", NUMBER, "choices of the kernel that a replay repeats"),
];

pub(crate) const VERIFIED: &[Declared] = &[
    ("recording", TEXT, "its id in the corpus"),
    ("file", TEXT, "its file, from the corpus's folder"),
    ("whole", FLAG, "it is there, with the hash of the index"),
    ("missing", FLAG, "it is not there"),
    ("why", TEXT, "what is wrong with it"),
];

pub(crate) const RAN: &[Declared] = &[
    ("recording", TEXT, "its id in the corpus"),
    ("machine", TEXT, "its machine, on which it was replayed"),
    ("workload", TEXT, "the kind of load"),
    ("basis", TEXT, "measured, emulated or model"),
    ("split", TEXT, "train, validation or test"),
    ("governor", TEXT, "the governor"),
    ("failure", TEXT, "why there is no result"),
    ("regret_pct", NUMBER, "idle energy above the oracle's, % of the oracle's"),
    ("energy", NUMBER, "idle energy, in energy_unit"),
    ("energy_unit", TEXT, "mJ or rel"),
    ("latency_mean_ns", NUMBER, "wakeup latency: mean"),
    ("latency_p99_ns", NUMBER, "wakeup latency: 99th percentile"),
    ("too_deep_pct", NUMBER, "idle periods shorter than the target residency of their state"),
    ("too_shallow_pct", NUMBER, "idle periods that would have paid for a deeper state"),
    ("wakeups", INTEGER, "idle periods that ended"),
];

/// One row for each recording of a corpus.
#[must_use]
pub fn corpus_list(entries: &[&Entry]) -> DataTable {
    let mut t = table(LISTED);
    for e in entries {
        let file = e.file.display().to_string();
        t.push(row![
            &e.id,
            &file,
            &e.sha256,
            e.bytes,
            &e.machine,
            e.kernel.as_deref(),
            &e.workload,
            e.hz.map(i64::from),
            e.governor.as_deref(),
            e.basis.name(),
            &e.licence,
            &e.origin,
            &e.command,
            e.split.name(),
            e.span_ns,
            u64::from(e.cpus),
            e.idle_periods,
            &e.trust,
            e.fidelity_pct,
        ]);
    }
    t
}

/// One row for each recording of a corpus.
#[must_use]
pub fn corpus_verify(v: &Verification) -> DataTable {
    let mut t = table(VERIFIED);
    for r in &v.recordings {
        t.push(row![&r.id, &r.file, r.whole, r.missing, r.why.as_deref()]);
    }
    t
}

/// One row for each recording and governor.
#[must_use]
pub fn corpus_run(run: &CorpusRun) -> DataTable {
    let mut t = table(RAN);
    for recording in &run.recordings {
        for r in &recording.results {
            let known = r.failure.is_none();
            let value = |name: &str| {
                let Some(measure) = DECIDING.iter().find(|m| m.name == name) else {
                    unreachable!("{name} is a deciding measure")
                };
                (measure.of)(&r.score).filter(|_| known).map(|n| n.as_f64())
            };
            t.push(row![
                &recording.id,
                &recording.machine,
                &recording.workload,
                recording.basis.name(),
                recording.split.name(),
                &r.governor,
                r.failure.as_deref(),
                known.then_some(r.regret_pct),
                value("energy"),
                &r.score.energy_unit,
                value("latency_mean"),
                value("latency_p99"),
                value("too_deep"),
                value("too_shallow"),
                known.then_some(r.score.wakeups),
            ]);
        }
    }
    t
}
