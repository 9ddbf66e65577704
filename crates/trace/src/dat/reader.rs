// SPDX-License-Identifier: GPL-2.0-only
//! What was read of a `trace.dat` so far.

use idlewise_model::HealthKind;

use super::options::Facts;
use crate::input::Input;
use crate::kernel::bytes::Decoders;
use crate::kernel::files::KernelFiles;
use crate::kernel::format::PageLayout;
use crate::kernel::order::ByteOrder;
use crate::kernel::ring_buffer::Region;
use crate::meta::TraceMeta;
use crate::unpack::{Packing, Unpacker};

/// What the top instance is called in messages; its name in the file is empty.
const TOP: &str = "the top trace instance";

/// The buffer of one trace instance.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    pub(super) name: String,
    /// Empty if the file does not tell.
    pub(super) clock: String,
    pub(super) page_size: u32,
    pub(super) packing: Packing,
    pub(super) regions: Vec<Region>,
    /// It holds the text of a latency tracer.
    pub(super) is_text: bool,
}

impl Buffer {
    pub(super) fn has_data(&self) -> bool {
        self.is_text || self.regions.iter().any(|r| r.size > 0)
    }

    pub(super) fn title(&self) -> String {
        if self.name.is_empty() { TOP.to_owned() } else { format!("trace instance {:?}", self.name) }
    }
}

/// What was read of the headers so far.
pub(super) struct Reader<'a> {
    pub(super) input: &'a Input,
    pub(super) meta: TraceMeta,
    pub(super) order: ByteOrder,
    pub(super) decoders: Decoders,
    pub(super) facts: Facts,
    pub(super) layout: Option<PageLayout>,
    pub(super) page_size: u32,
    pub(super) packing: Packing,
    pub(super) buffers: Vec<Buffer>,
    pub(super) unpacker: Unpacker,
    /// Where the sections end that were read so far.
    pub(super) sections_end: u64,
}

impl Reader<'_> {
    pub(super) fn damage(&mut self, kind: HealthKind, what: String) {
        self.meta.damage(kind, what);
    }

    pub(super) fn files(&mut self) -> KernelFiles<'_> {
        KernelFiles { decoders: &mut self.decoders, meta: &mut self.meta, layout: &mut self.layout }
    }
}
