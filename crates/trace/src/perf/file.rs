// SPDX-License-Identifier: GPL-2.0-only
use std::ops::Range;

use super::attr::Attrs;
use crate::input::Input;
use crate::kernel::bytes::Decoders;
use crate::kernel::order::ByteOrder;
use crate::meta::TraceMeta;

pub(super) struct PerfFile {
    pub(super) input: Input,
    pub(super) meta: TraceMeta,
    pub(super) order: ByteOrder,
    pub(super) decoders: Decoders,
    pub(super) attrs: Attrs,
    pub(super) buffers: Vec<(u64, u32)>,
    pub(super) data: Range<u64>,
}

impl PerfFile {
    /// The CPU of the buffer that an id means.
    pub(super) fn cpu_of(&self, id: u64) -> Option<u32> {
        let at = self.buffers.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.buffers.get(at).map(|(_, cpu)| *cpu)
    }
}
