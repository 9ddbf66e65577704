// SPDX-License-Identifier: GPL-2.0-only
//! Advice: the answer, what it is worth, the settings, the evidence.

use idlewise_chart::{Cell, Column, Kind, PageData, Table};
use idlewise_machine::advise::Advice;

use crate::{Source, answer, call, put_first};

/// What of the text is the answer, by the labels of its lines.
const ANSWER: [&str; 4] = ["advice", "because", "worth", "how sure"];
/// What of the text is a setting.
const SETTINGS: [&str; 4] = ["set now", "at boot", "may try", "may build"];

/// The page of advice.
#[must_use]
pub fn advise(a: &Advice, of: Source<'_>) -> PageData {
    let of_load = if a.load.is_empty() { "this machine".to_owned() } else { a.load.clone() };
    let mut out = of.page(Kind::Advise, &format!("Advice for {of_load}"));
    if let Some(replayed) = &a.replayed {
        answer::add(&mut out, replayed);
    }
    // The advice comes before what the replay's governors come to.
    let of_replay = std::mem::take(&mut out.verdicts);
    let own = a.machine_warnings.iter().chain(&a.warnings).map(|w| &w.words);
    out.warnings.extend(own.filter(|w| !out.warnings.contains(w)).cloned().collect::<Vec<_>>());
    let mut set = Vec::new();
    for note in std::mem::take(&mut out.notes) {
        if ANSWER.contains(&note.label.as_str()) {
            out.verdicts.push(format!("{}: {}", note.label, note.text));
        } else if SETTINGS.contains(&note.label.as_str()) {
            set.push(vec![note.label.into(), note.text.into()]);
        } else if !out.warnings.contains(&note.text) {
            out.notes.push(note);
        }
    }
    out.verdicts.extend(of_replay);
    put_first(&mut out, [settings(set), changes(a)]);
    call(&mut out, "recording", "evidence");
    out
}

fn settings(rows: Vec<Vec<Cell>>) -> Table {
    Table {
        name: "settings".to_owned(),
        title: "Settings".to_owned(),
        columns: vec![Column::text("when", "when"), Column::text("what", "what")],
        rows,
    }
}

/// What the comparison on the running kernel found.
fn changes(a: &Advice) -> Table {
    let mut t = Table::of_charts("changes");
    let margin = a.ab.as_ref().ok().map(|ab| ab.margin_permille);
    for row in &a.rows {
        for c in &row.compared {
            let Some(change) = c.change else { continue };
            t.rows.push(vec![
                c.benchmark.as_str().into(),
                c.metric.as_str().into(),
                row.governor.as_str().into(),
                (100.0 * change.relative).into(),
                change.interval.map(|i| 100.0 * i.low).into(),
                change.interval.map(|i| 100.0 * i.high).into(),
                margin.map(|m| f64::from(m) / 10.0).into(),
                "%".into(),
                if c.more_is_better { "more" } else { "less" }.into(),
                c.verdict.zip(margin).map(|(v, margin)| v.words(margin)).into(),
            ]);
        }
    }
    t
}
