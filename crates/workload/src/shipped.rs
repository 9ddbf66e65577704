// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use idlewise_model::near;

use crate::{Workload, WorkloadError};

const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The workloads that come with idlewise: name and text of each file, by name.
#[must_use]
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    SHIPPED
}

/// The shipped workload of that name, or the file at that path.
///
/// # Errors
/// [`WorkloadError::Unknown`] with the known names and the nearest ones, [`WorkloadError::Read`], or what reading the
/// file says.
pub fn find(name_or_path: &str) -> Result<Workload, WorkloadError> {
    if let Some((name, text)) = SHIPPED.iter().find(|(name, _)| *name == name_or_path) {
        return Workload::from_text(&format!("workloads/{name}.json"), text);
    }
    let path = Path::new(name_or_path);
    let json = path.extension().is_some_and(|e| e == "json");
    if !path.exists() && !json && !name_or_path.contains('/') {
        return Err(unknown(name_or_path));
    }
    read_files(&[path])
}

/// The workload that several files make together ([`Workload::from_texts`]).
///
/// # Errors
/// [`WorkloadError::Read`], or what reading the files says.
pub fn read_files(paths: &[impl AsRef<Path>]) -> Result<Workload, WorkloadError> {
    let mut files = Vec::new();
    for path in paths {
        let shown = path.as_ref().display().to_string();
        let failed = |reason: String| WorkloadError::Read { path: shown.clone(), reason };
        let bytes = idlewise_files::read(path.as_ref()).map_err(|e| failed(e.to_string()))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| failed("not a text file (UTF-8); expected a workload in rt-app's JSON".into()))?;
        files.push((shown, text));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Workload::from_texts(&files)
}

fn unknown(name: &str) -> WorkloadError {
    let known = || SHIPPED.iter().map(|(id, _)| *id);
    WorkloadError::Unknown {
        name: name.to_string(),
        nearest: near(name, known()).into_iter().map(str::to_owned).collect(),
        known: known().map(str::to_owned).collect(),
    }
}
