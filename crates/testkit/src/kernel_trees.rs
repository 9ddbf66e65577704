// SPDX-License-Identifier: GPL-2.0-only
//! Where the kernel trees are that tests and benchmarks compile governors from.

use std::path::{Path, PathBuf};

/// The top folder of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A kernel tree; says so where it is not there.
pub fn tree(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("IDLEWISE_KERNEL_SOURCES")
        .map_or_else(|| root().join("target/kernel-sources"), PathBuf::from);
    let tree = folder.join(name);
    if tree.join("Makefile").is_file() {
        return Some(tree);
    }
    println!("skipped: no {} (tools/kernel-sources.sh fetches it)", tree.display());
    None
}
