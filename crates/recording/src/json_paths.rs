// SPDX-License-Identifier: GPL-2.0-only
//! Paths in JSON: what is no UTF-8 in a name is shown as U+FFFD, instead of refusing the whole result.

use std::path::{Path, PathBuf};

use serde::{Serialize as _, Serializer};

/// For `#[serde(serialize_with)]`: a path.
pub fn path<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

/// For `#[serde(serialize_with)]`: several.
pub fn paths<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(paths.iter().map(|p| p.to_string_lossy()))
}

/// For `#[serde(serialize_with)]`: one, or none.
pub fn option<S: Serializer>(path: &Option<PathBuf>, to: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|p| p.to_string_lossy()).serialize(to)
}
