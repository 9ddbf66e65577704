// SPDX-License-Identifier: GPL-2.0-only
//! Governors on a corpus: what each loses against the oracle and how it differs from the baseline, then all that the text has.

use idlewise_answer::{Column, Quantity, Spread};
use idlewise_chart::{Cell, Kind, PageData, Table};
use idlewise_collect::CorpusRun;
use idlewise_fitness::Fitness;
use idlewise_score::Better;

use crate::{Source, put_first, source_hashes};

/// The page of a run over a corpus.
#[must_use]
pub fn corpus_run(run: &CorpusRun, of: Source<'_>) -> PageData {
    let title = format!("{} on {} recordings", run.governors.join(", "), run.recordings.len());
    page_of(run, &title, of)
}

/// The page of what a governor is worth.
#[must_use]
pub fn fitness(result: &Fitness, of: Source<'_>) -> PageData {
    let title = format!("{} on the {} recordings", result.governor, result.split);
    page_of(&result.run, &title, of)
}

fn page_of(run: &CorpusRun, title: &str, of: Source<'_>) -> PageData {
    let mut out = of.page(Kind::Compare, title);
    out.hashes = source_hashes(&run.foreign).collect();
    let mut changes = Table::of_charts("changes");
    let regret = run.regret.iter();
    changes.rows.extend(regret.map(|s| row(run, "idle energy above the oracle's", s, "%", "less")));
    let columns = Column::deciding("");
    for spread in &run.change {
        let Some(column) = columns.iter().find(|c| c.name == spread.column) else { continue };
        let unit = if column.quantity == Quantity::Share { "points" } else { "%" };
        let better = if column.better == Better::More { "more" } else { "less" };
        let series = format!("{}, against {}", column.label, run.baseline);
        changes.rows.push(row(run, &series, spread, unit, better));
    }
    put_first(&mut out, [changes]);
    out
}

fn row(run: &CorpusRun, series: &str, s: &Spread, unit: &str, better: &str) -> Vec<Cell> {
    vec![
        run.corpus.as_str().into(),
        series.into(),
        s.governor.as_str().into(),
        s.mean.into(),
        s.interval.map(|i| i.low).into(),
        s.interval.map(|i| i.high).into(),
        None::<f64>.into(),
        unit.into(),
        better.into(),
        None::<&str>.into(),
    ]
}
