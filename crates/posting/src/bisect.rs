// SPDX-License-Identifier: GPL-2.0-only
//! The version that moved a number, and the number along the way.

use idlewise_report::{Line, Report, Table, cut_text};
use idlewise_review::{BisectReport, BisectStep};

use crate::effects::{cell, counted};
use crate::notes;

/// The answer, then a row for each version. `details` shows all notes about recordings.
#[must_use]
pub fn bisect(r: &BisectReport, details: bool) -> Report {
    let mut out = Report { data: Some(idlewise_data::bisect(r)), width: Some(LINE), ..Report::default() };
    out.preamble.push(Line::plain(answer(r)));
    if let Some(step) = r.culprit.and_then(|at| r.steps.get(at)) {
        out.preamble.push(Line::new("commit", format!("{} {}", step.name, step.subject)));
        if !r.suspects.is_empty() {
            let why =
                format!("cannot be judged, so it may be one of them as well: {}", r.suspects.join(", "));
            out.preamble.push(Line::new("or", why));
        }
    }
    if let Some(confidence) = r.confidence() {
        out.preamble.push(Line::new("how sure", confidence));
    }
    if let Some(open) = r.open_lengths() {
        out.preamble.push(Line::new("inputs", open));
    }
    if !r.monotone {
        let way = "the condition also held, or failed again, at other versions on the way: more than one version moves the number";
        out.preamble.push(Line::new("way", format!("not monotone: {way}")));
    }
    out.tables.push(way(r, details));
    let problems = r.steps.iter().filter_map(|s| Some(s.problem.as_ref()?.words(&s.name, &r.governor)));
    out.footer.extend(problems.map(|words| Line::new("!", words)));
    out.footer.extend(r.on.assumes.iter().map(|words| Line::new("note", words)));
    out.footer.extend(notes::lines(&r.on, details));
    if r.without_change > 0 {
        let n = counted(r.without_change, "commit", "commits");
        out.footer
            .push(Line::new("note", format!("{n} on the way without a change of {}'s code", r.governor)));
    }
    let head = format!(
        "> the condition holds; change: against {}; step: against the row above, mean over recordings; \
         differ: recordings with another decision than the row above",
        r.request.good
    );
    out.footer.push(Line::plain(head));
    out
}

fn answer(r: &BisectReport) -> String {
    let q = &r.request;
    let recordings = counted(r.on.recordings.len(), "recording", "recordings");
    let machines = counted(r.on.machines, "machine", "machines");
    let on = format!("{} on {recordings} of {machines}", r.governor);
    match r.culprit.and_then(|at| r.steps.get(at)) {
        Some(step) => format!("{on}: {} since {}", q.fail_if, step.name),
        None => match (r.steps.last(), r.steps.iter().rfind(|s| s.measured.is_some())) {
            (Some(bad), Some(last)) if bad.measured.is_none() => format!(
                "{on}: {} cannot be judged; {}, the last that can be, does not meet {}",
                q.bad, last.name, q.fail_if
            ),
            _ => format!("{on}: {} does not meet {}", q.bad, q.fail_if),
        },
    }
}

/// A row for each version. Subjects are cut where a line has no room for them, but for `details`.
fn way(r: &BisectReport, details: bool) -> Table {
    let head = ["version", "", "change", "step", "differ", "subject"];
    let mut t = Table::new("", head.map(str::to_owned).to_vec());
    t.text_columns = t.head.len();
    let row = |s: &BisectStep| {
        let words = s.measured.as_ref().map_or_else(|| "not judged".to_owned(), |m| m.words.clone());
        let holds = s.measured.as_ref().is_some_and(|m| m.holds);
        vec![
            s.name.clone(),
            if s.problem.is_some() {
                "!"
            } else if holds {
                ">"
            } else {
                ""
            }
            .to_owned(),
            words,
            s.effect.as_ref().map_or_else(String::new, cell),
            s.differing.map_or_else(String::new, |n| n.to_string()),
            String::new(),
        ]
    };
    t.rows = r.steps.iter().map(row).collect();
    let room = if details { usize::MAX } else { LINE.saturating_sub(t.width()).max(LEAST_SUBJECT) };
    for (row, step) in t.rows.iter_mut().zip(&r.steps) {
        row[SUBJECT] = cut_text(&step.subject, room);
    }
    t
}

/// Characters of a line.
const LINE: usize = 80;
/// The column of subjects.
const SUBJECT: usize = 5;
const LEAST_SUBJECT: usize = 20;
