// SPDX-License-Identifier: GPL-2.0-only
//! A JSON result holds the request that it answers: `--again` asks it anew.

use std::path::{Path, PathBuf};

use clap::Args;
use idlewise_governor::Offered;
use idlewise_lab::TraceHead;
use idlewise_lab::again::{NamesGovernors, RecordedRequest};
use idlewise_lab::replay::PlatformHead;
use serde::de::DeserializeOwned;

use crate::output::Failure;

/// C files that the user names, too.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Compile and run this C file, or governors of this kernel tree, where the result that is asked again names it
    #[arg(long, value_name = "FILE|FOLDER", requires = "again")]
    trust: Vec<PathBuf>,
}

impl TrustArgs {
    pub(crate) fn offered(&self) -> Offered {
        offered(&self.trust)
    }
}

/// What the user trusts, for names in files to select.
pub(crate) fn offered(trust: &[PathBuf]) -> Offered {
    trust.iter().fold(Offered::nothing(), |offered, path| {
        if path.is_dir() { offered.with_tree(path) } else { offered.with_file(path) }
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
    let text = idlewise_files::read_made(path).map_err(|e| fail(e.to_string()))?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|e| fail(format!("not a JSON result of `idlewise {command}`: {e}")))?;
    let found = value.get("schema").and_then(|s| s.as_str()).unwrap_or("none");
    if found != schema {
        return Err(fail(format!(
            "schema {found}; expected {schema}, as `idlewise {command} --format json` writes"
        )));
    }
    let recorded: RecordedRequest<R> =
        serde_json::from_value(value.clone()).map_err(|e| fail(format!("request: {e}")))?;
    let request = recorded.allow(offered).map_err(|e| fail(e.to_string()))?;
    Ok((request, value))
}

/// The same question is only the same run if traces and machine are the same; [`request`] has looked at governors.
pub(crate) fn same_inputs<'h>(
    recorded: &serde_json::Value,
    platform: &PlatformHead,
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
    for (i, trace) in traces.enumerate() {
        let then = text(recorded.pointer(&format!("/traces/{i}/head/hash")));
        if then != trace.hash {
            return Err(format!("{} has changed since: {then} then, {} now", trace.name, trace.hash).into());
        }
    }
    Ok(())
}
