// SPDX-License-Identifier: GPL-2.0-only
//! The project's own folder, as tests and benchmarks use it: where it is, where recordings lie that are not part of it, and
//! how kernel C in it is written.
#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

pub mod kernel_style;

use std::path::{Path, PathBuf};

/// The folder of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of recordings that are not part of the project, whether it is there or not.
pub fn shared() -> PathBuf {
    std::env::var_os("IDLEWISE_SHARED").map_or_else(|| root().join("../shared"), PathBuf::from)
}

/// The number in an environment variable that a benchmark is set by.
pub fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}
