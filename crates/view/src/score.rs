// SPDX-License-Identifier: GPL-2.0-only
//! The judgement of a recording's own choices as text.

use idlewise_model::{Piece, number_of};
use idlewise_recording::placement::Per;
use idlewise_report::{Line, Report, Table, duration, percent, percent_of, span};
use idlewise_score::{Measure, Place, Score};
use idlewise_study::compare::cell;
use idlewise_study::score::{ScoreReport, VerdictCheck, unsure_words};

use crate::cells::state_table;
use crate::head::{breach_lines, head_lines, input_lines, state_lines};
use crate::{Layout, counters, doomed, unknown};

/// What a recording's states were used for, as wide as `layout` has room.
#[must_use]
pub fn score_by_state(r: &ScoreReport, layout: &Layout) -> Vec<Table> {
    state_table("by state", &[("all", &r.score)]).fitted(layout.width)
}

/// The tables of a score.
#[must_use]
pub fn score(r: &ScoreReport, per: Per) -> Report {
    let mut out =
        Report { preamble: head_lines(&r.head), data: Some(idlewise_data::score(r)), ..Report::default() };
    out.preamble.push(Line::new("machine", &r.head.recorded_on));
    out.preamble.extend(state_lines(&r.not_entered));
    let governor = if r.governor.is_empty() { "not named by the recording" } else { &r.governor };
    out.preamble.push(Line::new(
        "governor",
        format!("{governor} (the kernel's own choices are scored, without replay)"),
    ));
    out.preamble.extend(input_lines(&r.head, true));
    if let Some(a) = &r.agreement {
        out.preamble.extend(verdict_lines(a));
    }
    let unsure = r.unsure_verdicts.filter(|unsure| *unsure > 0);
    out.preamble.extend(unsure.map(|n| Line::new("verdicts", unsure_words(n, r.score.wakeups))));
    out.preamble.extend(r.counters.iter().flat_map(counters::lines));
    out.preamble.extend(tick_line(&r.score));
    out.preamble.push(doomed::line(&r.doomed, &r.head.clock));
    out.preamble.extend(no_state_line(&r.score));
    out.preamble.extend(breach_lines("the kernel's governor", &r.score, r.score.wakeups + r.score.rejected));
    let mut total = Table::new("", vec!["CPUs".into()]);
    total.head.extend(Measure::all_in(Place::Recorded).map(|m| m.label.to_owned()));
    for g in &r.groups {
        total.rows.push(score_row(&g.name, &g.score));
    }
    total.rows.push(score_row("all", &r.score));
    out.tables.push(total);
    match per {
        Per::All | Per::State => out.tables.push(state_table("by state", &[("all", &r.score)])),
        Per::Cpu | Per::Cluster => {
            let rows: Vec<(&str, &Score)> = r.groups.iter().map(|g| (g.name.as_str(), &g.score)).collect();
            out.tables.push(state_table("by state", &rows));
        }
    }
    let mut causes = Table::new("woken by", vec!["cause".into(), "wakes".into(), "%".into()]);
    for (cause, n) in &r.score.causes {
        causes.rows.push(vec![cause.clone(), n.to_string(), percent(percent_of(*n, r.score.wakeups))]);
    }
    out.tables.push(causes);
    out.tables.extend(doomed::table(&r.doomed));
    let groups = r.groups.iter().map(|g| (g.name.as_str(), &g.score));
    out.footer.extend(unknown::lines(&out.tables, groups.chain([("all", &r.score)])));
    let counted = r.counters.iter().map(counters::table).collect::<Vec<_>>();
    out.footer.extend(counters::unknown(&counted));
    out.tables.extend(counted);
    out
}

/// `name`, and every measure that the table of a score has.
fn score_row(name: &str, s: &Score) -> Vec<String> {
    let cells = Measure::all_in(Place::Recorded).map(|m| cell(m.unit, m.value(s)));
    std::iter::once(name.to_owned()).chain(cells).collect()
}

/// Of how many entries nobody knows what became of the tick.
fn tick_line(s: &Score) -> Option<Line> {
    let entries = s.wakeups;
    let words = if s.ticks_kept.is_none() {
        "the recording does not show for any entry whether the tick was kept or stopped".to_owned()
    } else {
        format!(
            "the recording does not show for {} of {} ({} %) whether the tick was kept or \
             stopped: the tick's columns do not count them",
            s.ticks_unknown,
            number_of(entries, "entry"),
            percent(percent_of(s.ticks_unknown, entries))
        )
    };
    (s.ticks_unknown > 0).then(|| Line::new("tick", words))
}

/// Idle periods of which the recording does not show the state, next to others of which it does.
fn no_state_line(s: &Score) -> Option<Line> {
    let u = s.unplaced.get(&Piece::NO_STATE)?;
    let words = format!(
        "{}, {} together, {} not counted below: the recording does not show their states",
        number_of(u.entries, "idle period"),
        span(u.residency_ns),
        if u.entries == 1 { "is" } else { "are" }
    );
    Some(Line::new("WARNING", words))
}

fn verdict_lines(a: &VerdictCheck) -> Vec<Line> {
    let verdict = format!(
        "too shallow: {} recomputed, {} by the kernel; too deep: {} recomputed, {} by the kernel{}",
        a.recomputed_below,
        a.kernel_below,
        a.recomputed_above,
        a.kernel_above,
        if a.disagree == 0 {
            String::new()
        } else {
            format!(
                "; they differ on {} within {} of the limit",
                a.disagree,
                duration(a.largest_margin_ns as f64)
            )
        }
    );
    let mut out = vec![Line::new("misses", verdict)];
    if a.rejected > 0 {
        let text = format!(
            "{} refused by the driver: too deep by the clock but not counted by the kernel; the longest took {}",
            number_of(a.rejected, "entry"),
            duration(a.longest_rejected_ns as f64)
        );
        out.push(Line::new("rejected", text));
    }
    out
}
