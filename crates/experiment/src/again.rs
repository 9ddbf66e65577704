// SPDX-License-Identifier: GPL-2.0-only
//! A result's request, asked again: a file's words become the user's only after a check.
//!
//! Results are mailed. So the request of one is no request yet: [`RecordedRequest::allow`] makes one of it after the C files
//! that it names were named by the user, too, and are byte for byte those that the result was made with.

use std::path::{Path, PathBuf};
use std::{fs, io};

use idlewise_governor::{Governor, GovernorSource, Hash, Offered, Spec, expand};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{ExperimentError, NamedBy};
use crate::simulate::SimulateRequest;
use idlewise_recording::governors::{ForeignHead, is_bound, labelled};
use idlewise_recording::kernel_governor::other;
use idlewise_recording::{CommandError, TraceHead, limits};
use idlewise_study::compare::CompareRequest;
use idlewise_study::replay::{PlatformHead, ReplayRequest};

/// What the user trusts by `--trust`, for names in files to select.
///
/// # Errors
/// [`CommandError::Argument`] where a file or folder is not there.
pub fn offered(trust: &[PathBuf]) -> Result<Offered, CommandError> {
    trust.iter().try_fold(Offered::nothing(), |offered, path| {
        let there = fs::metadata(path).map_err(|e| {
            let why = format!("{e}; name the C file or the kernel tree");
            CommandError::option("--trust", path.display(), why)
        })?;
        Ok(if there.is_dir() { offered.with_tree(path) } else { offered.with_file(path) })
    })
}

/// The request that the result of `command` at `path` records, and the whole result. C files in it are compiled only if they are
/// `offered`, and have not changed.
///
/// # Errors
/// [`ExperimentError::Again`] where the file is no such result; [`ExperimentError::OfResult`] where its request is not allowed.
pub fn request<R: DeserializeOwned + NamesGovernors>(
    path: &Path,
    command: &str,
    schema: &str,
    offered: &Offered,
) -> Result<(R, Value), ExperimentError> {
    let fail = |why: String| ExperimentError::Again { path: path.to_owned(), why };
    let wanted =
        format!("--again expects the output of `idlewise {command} --format json` (schema {schema})");
    let text = idlewise_files::read_made(path).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidData => fail(format!("is a binary file; {wanted}")),
        _ => fail(e.to_string()),
    })?;
    let value: Value =
        serde_json::from_str(&text).map_err(|e| fail(format!("is not JSON ({e}); {wanted}")))?;
    let Some(found) = value.get("schema").and_then(|s| s.as_str()) else {
        return Err(fail(format!("is JSON without a schema; {wanted}")));
    };
    if !is_or_was(found, schema) {
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
    let request = recorded
        .allow(offered)
        .map_err(|why| ExperimentError::OfResult { path: path.to_owned(), why: Box::new(why) })?;
    Ok((request, value))
}

/// Whether `found` is `schema` or one of its older numbers: requests have not changed since the first.
fn is_or_was(found: &str, schema: &str) -> bool {
    let parts = |s: &str| Some((s.split_once('/')?.0.to_owned(), s.split_once('/')?.1.parse::<u32>().ok()?));
    match (parts(found), parts(schema)) {
        (Some((found, number)), Some((schema, newest))) => found == schema && (1..=newest).contains(&number),
        _ => false,
    }
}

/// The same question is only the same run if traces and machine are the same as when the result at `path` was made;
/// [`request`] has looked at governors.
///
/// # Errors
/// [`ExperimentError::InputChanged`] with the first that is not.
pub fn same_inputs<'h>(
    path: &Path,
    recorded: &Value,
    platform: &PlatformHead,
    traces: impl Iterator<Item = &'h TraceHead>,
) -> Result<(), ExperimentError> {
    let text = |v: Option<&Value>| v.and_then(|v| v.as_str()).unwrap_or("").to_owned();
    let same = |what: String, then: String, now: &str| match then == now {
        true => Ok(()),
        false => {
            Err(ExperimentError::InputChanged { path: path.to_owned(), what, then, now: now.to_owned() })
        }
    };
    let then = text(recorded.pointer("/platform/hash"));
    same(format!("the platform {}", platform.id), then, &platform.hash)?;
    for (i, trace) in traces.enumerate() {
        let then = text(recorded.pointer(&format!("/traces/{i}/head/hash")));
        same(format!("the recording {}", trace.name), then, &trace.hash)?;
    }
    Ok(())
}

/// A request with the names of governors in it.
pub trait NamesGovernors {
    /// Every name that would be opened.
    fn governors(&self) -> Vec<&String>;
    /// The kernel trees that names such as `linux/teo` are looked for in.
    fn kernel_trees(&self) -> &[PathBuf];
}

impl NamesGovernors for ReplayRequest {
    fn governors(&self) -> Vec<&String> {
        self.governors.iter().chain(&self.setup.recording.kernel_governor).collect()
    }

    fn kernel_trees(&self) -> &[PathBuf] {
        &self.setup.kernel_trees
    }
}

impl NamesGovernors for CompareRequest {
    fn governors(&self) -> Vec<&String> {
        [&self.a, &self.b].into_iter().chain(&self.setup.recording.kernel_governor).collect()
    }

    fn kernel_trees(&self) -> &[PathBuf] {
        &self.setup.kernel_trees
    }
}

impl NamesGovernors for SimulateRequest {
    fn governors(&self) -> Vec<&String> {
        self.governors.iter().collect()
    }

    fn kernel_trees(&self) -> &[PathBuf] {
        &self.kernel_trees
    }
}

/// A request as a result records it, with the C files that the result was made with.
#[derive(Clone, Debug, Deserialize)]
pub struct RecordedRequest<R> {
    request: R,
    #[serde(default)]
    foreign: Vec<ForeignHead>,
}

impl<R: NamesGovernors> RecordedRequest<R> {
    /// The request, if every C file that it names is `offered` by options of this invocation, and has not changed since. Nothing
    /// is compiled before the files are known to be the same, and nothing is run here.
    ///
    /// # Errors
    /// [`ExperimentError`] with the file, and what to do.
    pub fn allow(self, offered: &Offered) -> Result<R, ExperimentError> {
        let files = self.files()?;
        if let Some(unused) = offered.unused(&files, self.request.kernel_trees()) {
            return Err(self.not_named(unused, &files).into());
        }
        // Names in recordings select from these trees, too.
        if let Some(tree) = self.request.kernel_trees().iter().find(|tree| !offered.has_tree(tree)) {
            let path = tree.display().to_string();
            return Err(ExperimentError::Untrusted { path, by: NamedBy::TreeOfResult });
        }
        for source in self.sources()? {
            if let GovernorSource::File(file) = &source {
                self.unchanged(&file.spec().id, offered)?;
                // What the compiler reads besides, it says only when it compiles.
                self.same_as_then(&Governor::open(&source)?)?;
            }
        }
        Ok(self.request)
    }

    /// What the result names as governors.
    fn sources(&self) -> Result<Vec<GovernorSource>, ExperimentError> {
        let mut out = Vec::new();
        for name in
            self.request.governors().into_iter().filter(|name| !is_bound(name) && other(name).is_none())
        {
            let spec: Spec = limits::split(labelled(name).1)?.0.parse()?;
            out.extend(expand(&spec, self.request.kernel_trees())?);
        }
        Ok(out)
    }

    /// The C files among them.
    fn files(&self) -> Result<Vec<PathBuf>, ExperimentError> {
        let file = |source: &GovernorSource| match source {
            GovernorSource::File(file) => Some(PathBuf::from(&file.spec().id)),
            GovernorSource::Shipped(_) => None,
        };
        Ok(self.sources()?.iter().filter_map(file).collect())
    }

    /// Why `--trust path` has no meaning here.
    fn not_named(&self, path: &Path, files: &[PathBuf]) -> CommandError {
        let all = files.iter().chain(self.request.kernel_trees());
        let all: Vec<String> = all.map(|path| path.display().to_string()).collect();
        let why = if all.is_empty() {
            "the result names no C file and no kernel tree; leave --trust out".to_owned()
        } else {
            format!("the result does not name it; for what it names give --trust {}", all.join(" --trust "))
        };
        CommandError::option("--trust", path.display(), why)
    }

    /// Whether the C file at `path` is offered, and what the result was made with.
    fn unchanged(&self, path: &str, offered: &Offered) -> Result<(), ExperimentError> {
        if !offered.has(Path::new(path)) {
            return Err(ExperimentError::Untrusted { path: path.to_owned(), by: NamedBy::Result });
        }
        let head = self.head(path)?;
        let Some(own) = head.sources.first() else { return Err(changed(&head.governor, path)) };
        let canonical = Path::new(path).canonicalize().ok();
        if canonical.is_none() || canonical != Path::new(&own.file).canonicalize().ok() {
            return Err(changed(&head.governor, path));
        }
        for source in &head.sources {
            let now = idlewise_files::read(Path::new(&source.file)).map(|text| Hash::of(&text).to_string());
            if now.ok().as_ref() != Some(&source.hash) {
                return Err(changed(&head.governor, &source.file));
            }
        }
        Ok(())
    }

    fn same_as_then(&self, governor: &Governor) -> Result<(), ExperimentError> {
        let head = self.head(&governor.spec().id)?;
        if governor.source_hash().as_ref() == Some(&head.hash) {
            return Ok(());
        }
        Err(changed(&head.governor, &head.file))
    }

    fn head(&self, path: &str) -> Result<&ForeignHead, ExperimentError> {
        let head = self.foreign.iter().find(|head| head.file == path);
        head.ok_or_else(|| ExperimentError::NoHash { path: path.to_owned() })
    }
}

fn changed(governor: &str, file: &str) -> ExperimentError {
    ExperimentError::Changed { governor: governor.to_owned(), file: file.to_owned() }
}
