// SPDX-License-Identifier: GPL-2.0-only
//! Advice: the answer, what it is worth, the settings, the evidence.

use idlewise_answer::{Answer, Cell as Value, Column as Measured, Contender, Group, Role};
use idlewise_chart::{Cell, Column, Kind, PageData, Table};
use idlewise_machine::advise::{Advice, Replayed};

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
    out.warnings = a.machine_warnings.iter().chain(&a.warnings).cloned().collect();
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
    let mut tables = vec![settings(set)];
    tables.extend(answer::tables(&replayed(a)));
    tables.push(changes(a));
    put_first(&mut out, tables);
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

/// The governors in the replay of the load.
fn replayed(a: &Advice) -> Answer {
    let known: Vec<(&str, &Replayed)> = a
        .rows
        .iter()
        .filter_map(|r| Some((r.governor.as_str(), r.replay.as_ref()?.as_ref().ok()?)))
        .collect();
    let Some(base) = a.rows.first().and_then(|r| r.replay.as_ref()?.as_ref().ok()) else {
        return Answer::default();
    };
    let columns = Measured::deciding(&base.energy_unit);
    let value = |r: &Replayed, column: &str| match column {
        "energy" => r.energy,
        "latency_mean" => r.latency_mean_ns,
        "latency_p99" => r.latency_p99_ns as f64,
        "too_deep" => r.too_deep_pct,
        "too_shallow" => r.too_shallow_pct,
        "wakeups" => r.wakeups as f64,
        other => unreachable!("advice has no {other}"),
    };
    let contender = |(governor, r): &(&str, &Replayed)| Contender {
        governor: (*governor).to_owned(),
        role: match r.oracle {
            true => Role::Bound,
            false if std::ptr::eq(*r, base) => Role::Baseline,
            false => Role::Governor,
        },
        failure: None,
        cells: columns
            .iter()
            .map(|c| {
                let now = value(r, &c.name);
                let change = c.change(value(base, &c.name), now);
                Value {
                    value: now,
                    change: if change.is_finite() { change } else { f64::NAN },
                    interval: None,
                }
            })
            .collect(),
        counts: None,
    };
    let group = Group {
        name: "replay".to_owned(),
        machine: String::new(),
        contenders: known.iter().map(contender).collect(),
    };
    Answer { columns, groups: vec![group], ..Answer::default() }
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
