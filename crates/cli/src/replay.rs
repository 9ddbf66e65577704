// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::path::Path;

use idlewise_lab::replay::{ReplayReport, ReplayRequest, SCHEMA, replay, split_governors};
use idlewise_lab::view;

use crate::args::{PerChoice, ReplayArgs};
use crate::output::{Done, Failure, Progress, deliver};

pub(crate) fn run(a: ReplayArgs) -> Done {
    let (request, recorded) = match &a.again {
        Some(path) => {
            let (request, value) = recorded_request(path)?;
            (request, Some(value))
        }
        None => (request(&a), None),
    };
    let report = {
        let progress = Progress::new("reading");
        replay(&request, &|done, of| progress.step("replaying", done, of))?
    };
    if let Some(recorded) = recorded {
        same_inputs(&recorded, &report)?;
    }
    deliver(&a.output, &view::replay(&report), &report)
}

fn request(a: &ReplayArgs) -> ReplayRequest {
    let PerChoice(per) = a.per.into();
    ReplayRequest {
        traces: a.traces.clone(),
        recording: a.recording.options(),
        platform: a.platform.clone(),
        cluster: a.cluster.clone(),
        governors: split_governors(&a.governor),
        baseline: a.baseline.clone(),
        per,
        seed: a.seed,
    }
}

fn recorded_request(path: &Path) -> Result<(ReplayRequest, serde_json::Value), Failure> {
    let fail = |why: String| Failure::Error(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|e| fail(format!("not a JSON result of `idlewise replay`: {e}")))?;
    let schema = value.get("schema").and_then(|s| s.as_str()).unwrap_or("none");
    if schema != SCHEMA {
        return Err(fail(format!(
            "schema {schema}; expected {SCHEMA}, as `idlewise replay --format json` writes"
        )));
    }
    let request = value.get("request").cloned().unwrap_or_default();
    let request = serde_json::from_value(request).map_err(|e| fail(format!("request: {e}")))?;
    Ok((request, value))
}

/// The same question is only the same run if traces and machine are the same.
fn same_inputs(recorded: &serde_json::Value, now: &ReplayReport) -> Result<(), Failure> {
    let text = |v: Option<&serde_json::Value>| v.and_then(|v| v.as_str()).unwrap_or("").to_owned();
    let platform = text(recorded.pointer("/platform/hash"));
    if platform != now.platform.hash {
        let why = format!(
            "platform {} has changed since: {} then, {} now",
            now.platform.id, platform, now.platform.hash
        );
        return Err(why.into());
    }
    for (i, trace) in now.traces.iter().enumerate() {
        let then = text(recorded.pointer(&format!("/traces/{i}/head/hash")));
        if then != trace.head.hash {
            return Err(format!(
                "{} has changed since: {then} then, {} now",
                trace.head.name, trace.head.hash
            )
            .into());
        }
    }
    Ok(())
}
