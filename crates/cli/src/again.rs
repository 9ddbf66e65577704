// SPDX-License-Identifier: GPL-2.0-only
//! A JSON result holds the request that it answers: `--again` asks it anew.

use std::fs;
use std::path::Path;

use idlewise_lab::TraceHead;
use idlewise_lab::governors::ForeignHead;
use idlewise_lab::replay::PlatformHead;
use serde::de::DeserializeOwned;

use crate::output::Failure;

/// The request that the result of `command` at `path` records, and the whole result.
pub(crate) fn request<R: DeserializeOwned>(
    path: &Path,
    command: &str,
    schema: &str,
) -> Result<(R, serde_json::Value), Failure> {
    let fail = |why: String| Failure::Error(format!("{}: {why}", path.display()));
    let text = fs::read_to_string(path).map_err(|e| fail(e.to_string()))?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|e| fail(format!("not a JSON result of `idlewise {command}`: {e}")))?;
    let found = value.get("schema").and_then(|s| s.as_str()).unwrap_or("none");
    if found != schema {
        return Err(fail(format!(
            "schema {found}; expected {schema}, as `idlewise {command} --format json` writes"
        )));
    }
    let request = value.get("request").cloned().unwrap_or_default();
    let request = serde_json::from_value(request).map_err(|e| fail(format!("request: {e}")))?;
    Ok((request, value))
}

/// The same question is only the same run if traces, machine and the governors that are none of ours are the same.
pub(crate) fn same_inputs<'h>(
    recorded: &serde_json::Value,
    platform: &PlatformHead,
    foreign: &[ForeignHead],
    traces: impl Iterator<Item = &'h TraceHead>,
) -> Result<(), Failure> {
    let text = |v: Option<&serde_json::Value>| v.and_then(|v| v.as_str()).unwrap_or("").to_owned();
    let then = text(recorded.pointer("/platform/hash"));
    if then != platform.hash {
        return Err(format!(
            "platform {} has changed since: {then} then, {} now",
            platform.id, platform.hash
        )
        .into());
    }
    for f in foreign {
        let known = recorded.pointer("/foreign").and_then(|v| v.as_array()).into_iter().flatten();
        let mut known = known.filter(|r| text(r.get("governor")) == f.governor).map(|r| text(r.get("hash")));
        if let Some(then) = known.find(|then| *then != f.hash) {
            let why =
                format!("governor {} has changed since: source {then} then, {} now", f.governor, f.hash);
            return Err(why.into());
        }
    }
    for (i, trace) in traces.enumerate() {
        let then = text(recorded.pointer(&format!("/traces/{i}/head/hash")));
        if then != trace.hash {
            return Err(format!("{} has changed since: {then} then, {} now", trace.name, trace.hash).into());
        }
    }
    Ok(())
}
