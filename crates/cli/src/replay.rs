// SPDX-License-Identifier: GPL-2.0-only
use idlewise_experiment::again::{request as recorded_request, same_inputs};
use idlewise_page as pages;
use idlewise_recording::CommandError;
use idlewise_study::replay::{
    ReplayReport, ReplayRequest, SCHEMA, Wanted, answer, listed_governors, replay_with,
};
use idlewise_view as view;

use crate::again::asked_by;
use crate::args::{PerChoice, ReplayArgs};
use crate::output::{Done, Progress, deliver_of, none_failed, warn};
use crate::page;

pub(crate) fn run(a: ReplayArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    a.decisions.check(&a.output, &a.page)?;
    let measures = a.answer.measures()?;
    let again = a.again.as_deref();
    let offered = a.trust.offered(again)?;
    let (request, recorded) = match again {
        Some(path) => {
            let (request, value) = recorded_request(path, "replay", SCHEMA, &offered)?;
            (request, Some(value))
        }
        None => (request(&a)?, None),
    };
    let (report, detail) = {
        let progress = Progress::reading("reading", &request.setup.recording.meter);
        let step = |done, of| progress.step("replaying", done, of);
        a.decisions.write(|decisions| {
            let wanted = Wanted { detail: a.page.is_asked(), decisions };
            replay_with(&request, &wanted, &step).map_err(|e| asked_by(again, e))
        })?
    };
    if let (Some(path), Some(recorded)) = (again, recorded) {
        let heads = report.traces.iter().map(|t| &t.head);
        same_inputs(path, &recorded, &report.platform, heads)?;
    }
    let shown = a.answer.shown(
        &a.output,
        || view::replay(&report),
        |layout| view::replay_answer(&report, &answer(&report, &measures), layout),
    );
    deliver_of(&pages::replay_hashes(&report), &a.output, &shown, &report)?;
    if let Some(detail) = detail {
        let everything = view::replay(&report);
        a.page.write(&pages::replay(&report, &detail, page::source(&report, &everything)?))?;
    }
    all_came_through(&report)?;
    let broken = report.traces.iter().flat_map(|t| &t.parity).filter(|p| p.is_broken());
    Ok(broken.inspect(|p| warn(&format!("not the kernel's choices: {}", view::agreement(p)))).count() == 0)
}

/// A governor that crashed takes no other's result away, but it is not done.
fn all_came_through(report: &ReplayReport) -> Done {
    let whys = report.traces.iter().flat_map(|t| t.governors.iter().map(|g| (&t.head.name, &g.failure)));
    let of: Vec<String> = whys.filter_map(|(name, why)| Some(format!("{name}: {}", why.as_ref()?))).collect();
    none_failed(&of.iter().map(String::as_str).collect::<Vec<_>>())
}

fn request(a: &ReplayArgs) -> Result<ReplayRequest, CommandError> {
    let PerChoice(per) = a.per.into();
    Ok(ReplayRequest {
        traces: a.traces.clone(),
        setup: a.stage.setup(),
        governors: listed_governors("--governor", &a.governor)?,
        baseline: a.baseline.clone(),
        per,
        sensitivity: a.sensitivity,
        power_limit: a.power_limit.clone(),
    })
}
