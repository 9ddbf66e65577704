// SPDX-License-Identifier: GPL-2.0-only
use idlewise_ab::{AbReport, Run, Waits, Wakeups};
use idlewise_report::{Line, Table, percent};

use idlewise_report::number;

/// Steps of the histogram that have a column of their own; the rest is one.
const STEPS: usize = 7;
/// Shorter waits than these, %, begin no column.
const FEW_PCT: f64 = 0.5;

/// What tracing the wakeups came to, and that it is not for nothing.
pub(super) fn traced(r: &AbReport) -> Option<Line> {
    let counted = r.runs.iter().filter(|run| run.left_out.is_none());
    let (mut events, mut seconds) = (0, 0.0);
    for (w, run) in counted.filter_map(|run| Some((run.wakeups.as_ref()?, run))) {
        events += w.events;
        seconds += w.until_s.unwrap_or(run.seconds);
    }
    (seconds > 0.0).then(|| {
        let rate = events as f64 / seconds;
        Line::new(
            "traced",
            format!(
                "the benchmarks' wakeups, {rate:.0} events a second: that slows the runs, so compare other \
                 metrics without --wakeups"
            ),
        )
    })
}

/// How the wakeups of `benchmark` spread, those of an idle CPU where there are any; all runs that count together.
pub(super) fn spread(r: &AbReport, benchmark: &str) -> Option<Table> {
    let of = |arm: usize| {
        let mine = move |run: &&Run| run.arm == arm && run.benchmark == benchmark && run.left_out.is_none();
        r.runs.iter().filter(mine).filter_map(|run| run.wakeups.as_ref())
    };
    let any = |get: fn(&Wakeups) -> &Waits| (0..r.arms.len()).any(|arm| of(arm).any(|w| get(w).count > 0));
    let (get, which): (fn(&Wakeups) -> &Waits, _) = match (any(|w| &w.idle), any(|w| &w.all)) {
        (true, _) => (|w| &w.idle, "wakeups of an idle CPU"),
        (false, true) => (|w| &w.all, "wakeups, none of an idle CPU"),
        (false, false) => return None,
    };
    let arms: Vec<Vec<f64>> = (0..r.arms.len()).map(|arm| shares(of(arm).map(get))).collect();
    let from = arms.iter().filter_map(|shares| {
        let mut sum = 0.0;
        shares.iter().position(|pct| {
            sum += pct;
            sum >= FEW_PCT
        })
    });
    let from = from.min().unwrap_or(0);
    let most = arms.iter().map(Vec::len).max().unwrap_or(0);
    let to = most.min(from + STEPS);
    let mut head = vec!["arm".to_owned(), "wakeups".to_owned(), "longest, us".to_owned()];
    head.extend((from..to).map(|step| format!("< {} us, %", 1_u64 << step)));
    if to < most {
        head.push("longer, %".to_owned());
    }
    let mut table = Table::new(format!("{benchmark}: {which}, by how long they took"), head);
    for (arm, shares) in arms.iter().enumerate() {
        let sum = |steps: &[f64]| percent(steps.iter().sum());
        let longest = of(arm).map(|w| get(w).max_us).fold(0.0, f64::max);
        let mut row = vec![r.arms.get(arm).cloned().unwrap_or_default()];
        row.push(of(arm).map(|w| get(w).count).sum::<u64>().to_string());
        row.push(number(longest));
        // The first column has all that is shorter, too.
        row.extend((from..to).map(|step| {
            let first = if step == from { 0 } else { step };
            sum(shares.get(first..=step.min(shares.len().max(1) - 1)).unwrap_or_default())
        }));
        if to < most {
            row.push(sum(shares.get(to..).unwrap_or_default()));
        }
        table.rows.push(row);
    }
    Some(table)
}

/// By step of the histogram, % of all.
fn shares<'w>(of: impl Iterator<Item = &'w Waits>) -> Vec<f64> {
    let mut sums: Vec<u64> = Vec::new();
    for waits in of {
        if sums.len() < waits.histogram.len() {
            sums.resize(waits.histogram.len(), 0);
        }
        sums.iter_mut().zip(&waits.histogram).for_each(|(sum, n)| *sum += n);
    }
    let all: u64 = sums.iter().sum();
    sums.iter().map(|n| 100.0 * *n as f64 / all.max(1) as f64).collect()
}
