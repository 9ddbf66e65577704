// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use idlewise_experiment::again::{request as recorded_request, same_inputs};
use idlewise_page as pages;
use idlewise_study::compare::{CompareReport, CompareRequest, SCHEMA, answer, compare, compare_in_detail};
use idlewise_study::replay::{DecisionsFile, ReplayRequest, Wanted, listed_governors, replay_with};
use idlewise_view as view;

use crate::again::asked_by;
use crate::args::{CompareArgs, PerArg, PerChoice};
use crate::output::{Done, Failure, Progress, deliver_of, warn_lines};
use crate::page;

pub(crate) fn run(a: &CompareArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    a.decisions.check(&a.output, &a.page)?;
    let measures = a.answer.measures()?;
    let again = a.again.as_deref();
    let offered = a.trust.offered(again)?;
    let (request, recorded) = match again {
        Some(path) => {
            let (request, value) = recorded_request(path, "compare", SCHEMA, &offered)?;
            (request, Some(value))
        }
        None => (request(a)?, None),
    };
    let (report, detail) = {
        let progress = Progress::reading("reading", &request.setup.recording.meter);
        let step = |done, of| progress.step("comparing", done, of);
        let done = if a.page.is_asked() {
            compare_in_detail(&request, &step).map(|(report, detail)| (report, Some(detail)))
        } else {
            compare(&request, &step).map(|report| (report, None))
        };
        done.map_err(|e| asked_by(again, e))?
    };
    if let (Some(path), Some(recorded)) = (again, recorded) {
        let heads = report.traces.iter().map(|t| &t.head);
        same_inputs(path, &recorded, &report.platform, heads)?;
    }
    let shown = a.answer.shown(
        &a.output,
        || view::compare(&report),
        |layout| view::compare_answer(&report, &answer(&report, &measures), layout),
    );
    deliver_of(&pages::compare_hashes(&report), &a.output, &shown, &report)?;
    if let Some(detail) = detail {
        let everything = view::compare(&report);
        a.page.write(&pages::compare(&report, &detail, page::source(&report, &everything)?))?;
    }
    if a.decisions.write_decisions.is_some() {
        a.decisions.write(|decisions| once_more(&report, decisions))?;
    }
    if !a.output.is_shown() {
        warn_lines(&view::checks(&report.checks));
    }
    Ok(!report.failed())
}

/// The two governors are replayed once more, for every decision.
fn once_more(report: &CompareReport, decisions: Option<&DecisionsFile<'_>>) -> Result<(), Failure> {
    let progress = Progress::new("replaying");
    let mut governors = vec![report.request.a.clone(), report.request.b.clone()];
    // Of a governor with itself there is no second one.
    governors.truncate(if report.a == report.b { 1 } else { 2 });
    let request = ReplayRequest {
        traces: report.request.traces.clone(),
        setup: report.request.setup.clone(),
        governors,
        ..ReplayRequest::default()
    };
    let step = |done, of| progress.step("replaying", done, of);
    replay_with(&request, &Wanted { detail: false, decisions }, &step)?;
    Ok(())
}

fn request(a: &CompareArgs) -> Result<CompareRequest, Failure> {
    let PerChoice(per) = a.per.map(PerArg::from).into();
    let ([from, to], traces) = asked(a)?;
    Ok(CompareRequest { traces, setup: a.stage.setup(), a: from, b: to, per, fail_if: a.fail_if.clone() })
}

/// The two governors, and the traces: `--governor A,B TRACE...`, or `A B TRACE...`.
fn asked(a: &CompareArgs) -> Result<([String; 2], Vec<PathBuf>), Failure> {
    let wrong = |why: String| Failure::Error(format!("{why}: idlewise compare --governor A,B TRACE..."));
    let (names, rest) = match &a.governor {
        Some(list) => (listed_governors("--governor", list)?, a.traces.as_slice()),
        None => {
            let (names, rest) = a.traces.split_at(a.traces.len().min(2));
            let names: Vec<String> = names.iter().map(|n| n.to_string_lossy().into_owned()).collect();
            (names, rest)
        }
    };
    let traces: Vec<PathBuf> = rest.iter().chain(&a.trace).cloned().collect();
    let [from, to] = names.as_slice() else {
        return Err(wrong(format!("expected two governors, got {}", names.len())));
    };
    if traces.is_empty() {
        return Err(wrong("no trace is named".to_owned()));
    }
    Ok(([from.clone(), to.clone()], traces))
}
