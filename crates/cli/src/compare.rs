// SPDX-License-Identifier: GPL-2.0-only
use idlewise_experiment::again::{request as recorded_request, same_inputs};
use idlewise_study::compare::{CompareRequest, SCHEMA, compare};
use idlewise_view as view;

use crate::again::asked_by;
use crate::args::{CompareArgs, PerArg, PerChoice};
use crate::output::{Done, Progress, deliver, unless_closed, warn_lines};

pub(crate) fn run(a: &CompareArgs) -> Done {
    a.output.check()?;
    let again = a.again.as_deref();
    let offered = a.trust.offered(again)?;
    let (request, recorded) = match again {
        Some(path) => {
            let (request, value) = recorded_request(path, "compare", SCHEMA, &offered)?;
            (request, Some(value))
        }
        None => (request(a), None),
    };
    let report = {
        let progress = Progress::new("reading");
        compare(&request, &|done, of| progress.step("comparing", done, of)).map_err(|e| asked_by(again, e))?
    };
    if let (Some(path), Some(recorded)) = (again, recorded) {
        let heads = report.traces.iter().map(|t| &t.head);
        same_inputs(path, &recorded, &report.platform, heads)?;
    }
    unless_closed(deliver(&a.output, &view::compare(&report), &report).map(drop))?;
    if !a.output.is_shown() {
        warn_lines(&view::checks(&report.checks));
    }
    Ok(!report.failed())
}

fn request(a: &CompareArgs) -> CompareRequest {
    let PerChoice(per) = a.per.map(PerArg::from).into();
    CompareRequest {
        traces: a.trace.clone(),
        setup: a.stage.setup(),
        a: a.a.clone().unwrap_or_default(),
        b: a.b.clone().unwrap_or_default(),
        per,
        fail_if: a.fail_if.clone(),
    }
}
