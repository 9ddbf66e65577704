// SPDX-License-Identifier: GPL-2.0-only
//! `trace.dat`, the file of trace-cmd: headers and event formats of the recording kernel, then its ring-buffer pages.

mod cpu;
mod decode;
mod events;
mod format;
mod header;
mod options;
mod unpack;
mod window;

use decode::Decoders;
pub(crate) use events::DatEvents;
use format::PageLayout;
use unpack::Packing;
use window::Region;

use crate::error::TraceError;
use crate::input::Input;
use crate::meta::TraceMeta;

const MAGIC: &[u8; 10] = b"\x17\x08\x44tracing";

/// Whether the input is a `trace.dat` file of any version.
pub(crate) fn is_dat(input: &Input) -> Result<bool, TraceError> {
    let mut head = [0; MAGIC.len()];
    let got = input.read_at(0, &mut head).map_err(|source| TraceError::Read {
        path: input.path().to_path_buf(),
        offset: 0,
        what: "the start",
        source,
    })?;
    Ok(got == head.len() && head == *MAGIC)
}

/// An understood `trace.dat`.
pub(crate) struct DatFile {
    input: Input,
    meta: TraceMeta,
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
        Ok(Self { meta: header.meta, decoders: header.decoders, data: header.data, input })
    }

    pub(crate) fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    pub(crate) fn events(&self) -> DatEvents<'_> {
        DatEvents::new(self)
    }
}
