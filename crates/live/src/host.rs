// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

/// Where a machine shows itself and takes orders: the running one, or a tree of files that looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// `/sys`.
    pub sys: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
    /// `/run/idlewise`: notes of what was changed, until it is restored. On a file system that a reboot empties, as a
    /// reboot restores everything else.
    pub run: PathBuf,
}

impl Host {
    /// The usual folders below `root`: `/` for the machine itself, any other for a tree that looks like one.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self {
            sys: root.join("sys"),
            proc: root.join("proc"),
            dev: root.join("dev"),
            run: root.join("run/idlewise"),
        }
    }

    /// The tracing file system.
    #[must_use]
    pub fn tracefs(&self) -> PathBuf {
        self.sys.join("kernel/tracing")
    }
}
