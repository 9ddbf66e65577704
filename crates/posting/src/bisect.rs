// SPDX-License-Identifier: GPL-2.0-only
//! The version that moved a number, and the number along the way.

use idlewise_report::{Line, Report, Table};
use idlewise_review::{BisectReport, BisectStep};

use crate::effects::{cell, counted};
use crate::notes;

/// The answer, then a row for each version. `details` shows all notes about recordings.
#[must_use]
pub fn bisect(r: &BisectReport, details: bool) -> Report {
    let mut out = Report { data: Some(idlewise_data::bisect(r)), ..Report::default() };
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
    if !r.monotone {
        let way = "the condition also held, or failed again, at other versions on the way: more than one version moves the number";
        out.preamble.push(Line::new("way", format!("not monotone: {way}")));
    }
    out.tables.push(way(r));
    let problems = r.steps.iter().filter_map(|s| Some(s.problem.as_ref()?.words(&s.name, &r.governor)));
    out.footer.extend(problems.map(|words| Line::new("!", words)));
    out.footer.extend(r.on.assumes.iter().map(|words| Line::new("note", words)));
    out.footer.extend(notes::lines(&r.on.warnings, &r.on.left_out, details));
    if r.without_change > 0 {
        let n = counted(r.without_change, "commit", "commits");
        out.footer
            .push(Line::new("note", format!("{n} on the way without a change of {}'s code", r.governor)));
    }
    out.footer
        .push(Line::plain("> the condition holds; step: change against the row above, mean over recordings"));
    out
}

fn answer(r: &BisectReport) -> String {
    let q = &r.request;
    let recordings = counted(r.on.recordings.len(), "recording", "recordings");
    let machines = counted(r.on.machines, "machine", "machines");
    let on = format!("{} on {recordings} of {machines}", r.governor);
    match r.culprit.and_then(|at| r.steps.get(at)) {
        Some(step) => format!("{on}: {} since {}", q.fail_if, step.name),
        None => format!("{on}: {} does not meet {}", q.bad, q.fail_if),
    }
}

fn way(r: &BisectReport) -> Table {
    let head = ["version", "", &format!("against {}", r.request.good), "step", "differ in", "subject"];
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
            s.subject.chars().take(SUBJECT).collect(),
        ]
    };
    t.rows = r.steps.iter().map(row).collect();
    t
}

/// Characters of a subject in the table.
const SUBJECT: usize = 60;
