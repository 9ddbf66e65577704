// SPDX-License-Identifier: GPL-2.0-only
//! A JSON result holds the request that it answers: `--again` asks it anew.

use std::path::{Path, PathBuf};
use std::{fs, io};

use idlewise_experiment::again::{NamesGovernors, RecordedRequest};
use idlewise_governor::Offered;
use idlewise_recording::TraceHead;
use idlewise_study::replay::PlatformHead;
use serde::de::DeserializeOwned;

use crate::args::TrustArgs;
use crate::output::Failure;

impl TrustArgs {
    /// What a result may select, where one is asked `again`.
    pub(crate) fn offered(&self, again: Option<&Path>) -> Result<Offered, Failure> {
        match (again, self.trust.first()) {
            (None, Some(path)) => Err(Failure::Error(format!(
                "--trust {}: it is for C that a result names, and no result is repeated: give --again \
                 RESULT.json, or \
                 leave --trust out",
                path.display()
            ))),
            _ => offered(&self.trust),
        }
    }
}

/// What the user trusts, for names in files to select.
pub(crate) fn offered(trust: &[PathBuf]) -> Result<Offered, Failure> {
    trust.iter().try_fold(Offered::nothing(), |offered, path| {
        let there = fs::metadata(path).map_err(|e| {
            Failure::Error(format!("--trust {}: {e}; name the C file or the kernel tree", path.display()))
        })?;
        Ok(if there.is_dir() { offered.with_tree(path) } else { offered.with_file(path) })
    })
}

/// The request that the result of `command` at `path` records, and the whole result. C files in it are compiled only if they are
/// `offered`, and have not changed.
pub(crate) fn request<R: DeserializeOwned + NamesGovernors>(
    path: &Path,
    command: &str,
    schema: &str,
    offered: &Offered,
) -> Result<(R, serde_json::Value), Failure> {
    let fail = |why: String| Failure::Error(format!("{}: {why}", path.display()));
    let wanted = format!(
        "--again expects the output of `idlewise {command} --format json` (schema \
        {schema})"
    );
    let text = idlewise_files::read_made(path).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidData => fail(format!("is a binary file; {wanted}")),
        _ => fail(e.to_string()),
    })?;
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| fail(format!("is not JSON ({e}); {wanted}")))?;
    let Some(found) = value.get("schema").and_then(|s| s.as_str()) else {
        return Err(fail(format!("is JSON without a schema; {wanted}")));
    };
    if found != schema {
        let of = ["replay", "compare", "simulate"]
            .into_iter()
            .find(|c| found.starts_with(&format!("idlewise.{c}/")));
        let way = match of {
            Some(of) if of != command => format!("; repeat it with `idlewise {of} --again`"),
            _ => String::new(),
        };
        return Err(fail(format!("has schema {found}; {wanted}{way}")));
    }
    let recorded: RecordedRequest<R> =
        serde_json::from_value(value.clone()).map_err(|e| fail(format!("request: {e}")))?;
    let request = recorded.allow(offered).map_err(|e| fail(e.to_string()))?;
    Ok((request, value))
}

/// A failure of what the result at `again` asks for names that result, too.
pub(crate) fn asked_by(again: Option<&Path>, why: impl std::fmt::Display) -> Failure {
    Failure::Error(
        again.map_or_else(|| why.to_string(), |path| format!("{} requests this: {why}", path.display())),
    )
}

/// The same question is only the same run if traces and machine are the same as when the result at `path` was made;
/// [`request`] has looked at governors.
pub(crate) fn same_inputs<'h>(
    path: &Path,
    recorded: &serde_json::Value,
    platform: &PlatformHead,
    traces: impl Iterator<Item = &'h TraceHead>,
) -> Result<(), Failure> {
    let text = |v: Option<&serde_json::Value>| v.and_then(|v| v.as_str()).unwrap_or("").to_owned();
    let then = text(recorded.pointer("/platform/hash"));
    let changed = |what: String, then: &str, now: &str| {
        Failure::Error(format!(
            "{}: {what} has changed since this result was made: hash {then} then, {now} now; make a new result without --again",
            path.display()
        ))
    };
    if then != platform.hash {
        return Err(changed(format!("the platform {}", platform.id), &then, &platform.hash));
    }
    for (i, trace) in traces.enumerate() {
        let then = text(recorded.pointer(&format!("/traces/{i}/head/hash")));
        if then != trace.hash {
            return Err(changed(format!("the recording {}", trace.name), &then, &trace.hash));
        }
    }
    Ok(())
}
