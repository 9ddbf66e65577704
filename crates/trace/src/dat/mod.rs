// SPDX-License-Identifier: GPL-2.0-only
//! `trace.dat`, the file of trace-cmd: headers and event formats of the recording kernel, then its ring-buffer pages.

mod cpu;
mod events;
mod header;
mod options;
mod unpack;
mod window;

pub(crate) use events::DatEvents;

use crate::Source;

use unpack::Packing;
use window::Region;

use crate::error::TraceError;
use crate::input::Input;
use crate::kernel::bytes::Decoders;
use crate::kernel::format::PageLayout;
use crate::kernel::order::{Big, ByteOrder, Little};
use crate::meta::TraceMeta;

/// The first bytes of a `trace.dat` of any version.
pub(crate) const MAGIC: &[u8; 10] = b"\x17\x08\x44tracing";

/// An understood `trace.dat`.
pub(crate) struct DatFile {
    input: Input,
    meta: TraceMeta,
    order: ByteOrder,
    decoders: Decoders,
    data: Data,
}

/// Where the pages are and how to read them.
#[derive(Debug)]
pub(crate) struct Data {
    layout: PageLayout,
    page_size: usize,
    packing: Packing,
    clock: cpu::Clock,
    regions: Vec<Region>,
}

impl DatFile {
    pub(crate) fn open(input: Input) -> Result<Self, TraceError> {
        let hash = input.hash()?;
        let mut header = header::read(&input)?;
        header.meta.hash = hash;
        header.meta.bytes = input.len();
        Ok(Self {
            meta: header.meta,
            order: header.order,
            decoders: header.decoders,
            data: header.data,
            input,
        })
    }

    pub(crate) fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    pub(crate) fn events(&self) -> Source<'_> {
        match self.order {
            ByteOrder::Little => Source::Dat(Box::new(DatEvents::new(self, Little))),
            ByteOrder::Big => Source::Other(Box::new(DatEvents::new(self, Big))),
        }
    }
}
