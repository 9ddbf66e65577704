// SPDX-License-Identifier: GPL-2.0-only
//! Simulations: each run as a point.

use idlewise_answer::Quantity;
use idlewise_chart::{Kind, PageData, Table};
use idlewise_experiment::simulate::{Response, SimulateReport};

use crate::{Source, answer, hashes, title};

/// The page of a simulation, with how its signals and clocks follow simple loads.
#[must_use]
pub fn simulate(r: &SimulateReport, responses: &[Response], of: Source<'_>) -> PageData {
    let mut out = of.page(Kind::Simulate, &title(&r.answer));
    answer::add(&mut out, &r.answer);
    out.hashes = hashes(&r.platform.id, &r.platform.hash, std::iter::empty());
    add_runs(&mut out, r);
    add_responses(&mut out, responses);
    out
}

fn add_responses(page: &mut PageData, responses: &[Response]) {
    let mut t = Table::of_charts("response");
    for r in responses {
        let point = |(at_ns, value): &(u64, f64)| {
            vec![r.subject.as_str().into(), r.load.into(), (*at_ns).into(), (*value).into(), r.unit.into()]
        };
        t.rows.extend(r.points.iter().map(point));
    }
    page.tables.extend((!t.rows.is_empty()).then_some(t));
}

/// Adds each run of a simulation: the value of each fact that decides.
fn add_runs(page: &mut PageData, r: &SimulateReport) {
    let mut t = Table::of_charts("points");
    for column in &r.answer.columns {
        for c in &r.combinations {
            let Some(at) = c.facts.iter().position(|f| format!("{}.{}", f.about, f.name) == column.name)
            else {
                continue;
            };
            let unit = match column.quantity {
                Quantity::Time => "ns",
                Quantity::Share => "%",
                Quantity::Rate => "/s",
                _ => column.unit.as_str(),
            };
            for (n, run) in c.runs.iter().enumerate() {
                let Some(value) = run.values.get(at) else { continue };
                t.rows.push(vec![
                    column.label.as_str().into(),
                    r.name(c).into(),
                    (n as f64 + 1.0).into(),
                    (*value).into(),
                    unit.into(),
                ]);
            }
        }
    }
    page.tables.extend((!t.rows.is_empty()).then_some(t));
}
