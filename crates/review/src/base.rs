// SPDX-License-Identifier: GPL-2.0-only
//! The kernel that a series is for.

use std::path::{Path, PathBuf};

use idlewise_boot::source_folders;
use idlewise_recording::CommandError;

use crate::snapshot::Snapshot;

/// A kernel's governors before a series.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    /// What people call it: `linux-6.12.117`, or the name of a C file.
    pub(crate) name: String,
    pub(crate) tree: Snapshot,
    /// Its folder, where it is one.
    pub(crate) folder: Option<PathBuf>,
}

/// What `text` names: a kernel tree, a version of Debian's kernel sources, or a governor's C file.
pub(crate) fn find(text: &str) -> Result<Base, CommandError> {
    let path = Path::new(text);
    if path.is_dir() {
        let tree = Snapshot::of_folder(path)?;
        let name = tree.version().unwrap_or_else(|| text.to_owned());
        return Ok(Base { name, tree, folder: Some(path.to_owned()) });
    }
    if path.extension().is_some_and(|e| e == "c") {
        return Ok(Base { name: text.to_owned(), tree: Snapshot::of_file(path)?, folder: None });
    }
    if path.is_file() {
        let tree = Snapshot::of_archive(path)?;
        let name = tree.version().unwrap_or_else(|| text.to_owned());
        return Ok(Base { name, tree, folder: None });
    }
    of_debian(text)
}

fn of_debian(version: &str) -> Result<Base, CommandError> {
    let is_version = version.split('.').count() == 2
        && version.split('.').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    if !is_version {
        let why = "no such folder or file; expected a kernel tree, a version of Debian's kernel sources (6.12), or a C file";
        return Err(CommandError::option("--base", version, why));
    }
    let package = format!("linux-source-{version}");
    for folder in source_folders() {
        let (unpacked, archive) = (folder.join(&package), folder.join(format!("{package}.tar.xz")));
        let tree = if unpacked.is_dir() {
            Snapshot::of_folder(&unpacked)?
        } else if archive.is_file() {
            Snapshot::of_archive(&archive)?
        } else {
            continue;
        };
        let name = tree.version().unwrap_or(package);
        return Ok(Base { name, tree, folder: None });
    }
    let why = format!(
        "Debian's kernel sources are neither in /usr/src nor in the folder that IDLEWISE_KERNEL_SOURCES names: \
         apt-get install {package}, or name a kernel tree"
    );
    Err(CommandError::option("--base", version, why))
}
