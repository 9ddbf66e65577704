// SPDX-License-Identifier: GPL-2.0-only
//! Replays: distributions, residencies, timelines next to the answer.

use idlewise_chart::{Cell, Hash, Kind, PageData, Table};
use idlewise_study::replay::{ReplayDetail, ReplayReport, ShownPeriod};

use crate::{Source, answer, hashes, source_hashes};

/// The page of a replay.
#[must_use]
pub fn replay(r: &ReplayReport, detail: &ReplayDetail, of: Source<'_>) -> PageData {
    let mut out = of.page(Kind::Replay, &crate::title(&r.answer));
    answer::add(&mut out, &r.answer);
    out.hashes = replay_hashes(r);
    add_detail(&mut out, detail);
    out
}

/// The inputs of a replay.
#[must_use]
pub fn replay_hashes(r: &ReplayReport) -> Vec<Hash> {
    let inputs = hashes(&r.platform.id, &r.platform.hash, r.traces.iter().map(|t| &t.head));
    inputs.into_iter().chain(source_hashes(&r.foreign)).collect()
}

/// Adds what charts show of a replay: distributions, residencies, timelines.
pub(crate) fn add_detail(page: &mut PageData, detail: &ReplayDetail) {
    let mut residency = Table::of_charts("residency");
    let mut periods = Table::of_charts("periods");
    let mut targets = Table::of_charts("targets");
    let mut latency = Table::of_charts("latency");
    let mut timeline = Table::of_charts("timeline");
    for recording in &detail.recordings {
        let name = recording.name.as_str();
        for lengths in &recording.lengths {
            for (from, to, n) in &lengths.bins {
                periods.rows.push(vec![
                    name.into(),
                    lengths.cluster.as_str().into(),
                    (*from).into(),
                    (*to).into(),
                    (*n).into(),
                ]);
            }
            for (i, (state, target_ns)) in lengths.targets.iter().enumerate() {
                let row: Vec<Cell> = vec![
                    lengths.cluster.as_str().into(),
                    state.as_str().into(),
                    (i as u64).into(),
                    (*target_ns).into(),
                ];
                if !targets.rows.contains(&row) {
                    targets.rows.push(row);
                }
            }
        }
        timeline.rows.extend(recording.recorded.iter().map(|p| shown(name, "recorded", "", p)));
        for g in &recording.governors {
            let governor = g.governor.as_str();
            for cpu in &g.residency {
                for (i, (state, pct)) in cpu.states.iter().enumerate() {
                    residency.rows.push(vec![
                        name.into(),
                        governor.into(),
                        cpu.cluster.as_str().into(),
                        cpu.cpu.into(),
                        state.as_str().into(),
                        (i as u64).into(),
                        (*pct).into(),
                    ]);
                }
            }
            for (ns, share) in &g.latencies {
                latency.rows.push(vec![name.into(), governor.into(), (*ns).into(), (*share).into()]);
            }
            timeline.rows.extend(g.timeline.iter().map(|p| shown(name, governor, governor, p)));
        }
    }
    page.tables
        .extend([residency, periods, targets, latency, timeline].into_iter().filter(|t| !t.rows.is_empty()));
    page.sampled.extend(detail.sampled.iter().cloned());
}

fn shown(recording: &str, lane: &str, governor: &str, p: &ShownPeriod) -> Vec<Cell> {
    vec![
        recording.into(),
        p.cpu.into(),
        lane.into(),
        governor.into(),
        p.start_ns.into(),
        p.end_ns.into(),
        p.name.as_str().into(),
        u32::from(p.state).into(),
        p.verdict.into(),
        p.wake.into(),
        p.why.as_str().into(),
    ]
}
