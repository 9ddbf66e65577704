// SPDX-License-Identifier: GPL-2.0-only
//! Two governors: where they diverge.

use idlewise_chart::{Cell, Hash, Kind, PageData, Table};
use idlewise_study::compare::{CompareReport, Comparison, FJ_PER_UNIT};
use idlewise_study::replay::ReplayDetail;

use crate::replay::add_detail;
use crate::{Source, answer, hashes, source_hashes, title};

/// The page of a comparison.
#[must_use]
pub fn compare(r: &CompareReport, detail: &ReplayDetail, of: Source<'_>) -> PageData {
    let mut out = of.page(Kind::Compare, &title(&r.answer));
    answer::add(&mut out, &r.answer);
    out.hashes = compare_hashes(r);
    add_divergence(&mut out, r);
    add_detail(&mut out, detail);
    out
}

/// The inputs of a comparison.
#[must_use]
pub fn compare_hashes(r: &CompareReport) -> Vec<Hash> {
    let inputs = hashes(&r.platform.id, &r.platform.hash, r.traces.iter().map(|t| &t.head));
    inputs.into_iter().chain(source_hashes(&r.foreign)).collect()
}

/// Adds where two governors diverge, by how and by what ended the idle period.
fn add_divergence(page: &mut PageData, r: &CompareReport) {
    let mut t = Table::of_charts("divergence");
    let each = r.traces.iter().map(|t| (t.head.name.as_str(), &t.comparison));
    for (name, c) in each {
        let unit = c.a.score.energy_unit.as_str();
        for column in t.columns.iter_mut().filter(|c| c.name == "energy_change") {
            unit.clone_into(&mut column.unit);
        }
        t.rows.extend(ways(name, r, c));
    }
    page.tables.extend((!t.rows.is_empty()).then_some(t));
}

fn ways<'c>(
    recording: &'c str,
    r: &'c CompareReport,
    c: &'c Comparison,
) -> impl Iterator<Item = Vec<Cell>> + 'c {
    let differ = c.partings.iter().filter(|p| !matches!(p.kind.as_str(), "same" | "neither"));
    differ.map(move |p| {
        vec![
            recording.into(),
            r.b.as_str().into(),
            r.a.as_str().into(),
            p.words([&r.a, &r.b]).into(),
            p.cost.waits.into(),
            (p.cost.energy_fj() as f64 / FJ_PER_UNIT).into(),
            (p.cost.latency_ns() as f64).into(),
        ]
    })
}
