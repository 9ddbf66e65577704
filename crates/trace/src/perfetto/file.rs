// SPDX-License-Identifier: GPL-2.0-only
use super::index::Index;
use crate::input::Input;

/// An understood Perfetto trace.
pub(super) struct PerfettoFile {
    pub(super) input: Input,
    pub(super) index: Index,
}
