// SPDX-License-Identifier: GPL-2.0-only
//! What a governor is worth.

use idlewise_fitness::Fitness;
use idlewise_report::duration;
use idlewise_report::{Line, Report, UNKNOWN};

use crate::corpus::{LINE, many, percent, regret};

/// The number, what it fails, then it and the references in a table.
#[must_use]
pub fn fitness(f: &Fitness) -> Report {
    let run = &f.run;
    let mut out =
        Report { data: Some(idlewise_data::corpus_run(run)), width: Some(LINE), ..Report::default() };
    let on = format!(
        "{} for {} of {}",
        many(run.recordings.len(), "recording"),
        f.split,
        many(run.machines.all, "machine")
    );
    let number = |regret_pct: Option<f64>| regret_pct.map_or_else(|| UNKNOWN.to_owned(), percent);
    out.preamble
        .push(Line::plain(format!("median regret {} on {on}; less is better", number(f.regret_median_pct))));
    let sides = f.medians.iter().map(|m| {
        let latency = m.latency_mean_ns.map_or_else(|| UNKNOWN.to_owned(), duration);
        format!("{} {} and {latency}", m.governor, number(m.regret_pct))
    });
    let sides: Vec<String> = sides.collect();
    let words = format!("{}: regret and mean latency, medians over machines", sides.join(", "));
    out.preamble.push(Line::plain(words));
    for failed in &f.violations {
        out.preamble.push(Line::new("FAILED", format!("{}: {}", failed.property.name(), failed.what)));
    }
    if f.over_limit > 0 {
        let words = format!("latency: {} idle states above the limit in the recordings", f.over_limit);
        out.preamble.push(Line::new("FAILED", words));
    }
    if !run.regret.is_empty() {
        out.tables.extend(regret(run).fitted(LINE));
    }
    let left_out = run.skipped.iter().map(|s| Line::new("left out", format!("{}: {}", s.id, s.why)));
    out.footer.extend(left_out);
    if !f.violations.is_empty() {
        let how = format!("`idlewise check {}` shows the steps that lead to each violation", f.governor);
        out.footer.push(Line::plain(how));
    }
    out
}
