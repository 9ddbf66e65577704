// SPDX-License-Identifier: GPL-2.0-only
//! A recording of ring buffers, as the readers of its formats describe it.

use crate::input::Input;
use crate::kernel::bytes::Decoders;
use crate::kernel::clock::Clock;
use crate::kernel::format::PageLayout;
use crate::kernel::order::ByteOrder;
use crate::meta::TraceMeta;
use crate::unpack::Packing;

/// No page of a ring buffer is larger: the kernel counts what is written to one in 20 bits.
pub(crate) const MAX_PAGE: u32 = 1 << 20;
/// No page is smaller.
pub(crate) const MIN_PAGE: u32 = 64;
/// No machine has more CPUs; the kernel's own limit is 8192.
pub(crate) const MAX_CPUS: u32 = 16_384;

/// Where the data of one CPU lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) cpu: u32,
    /// Which of the inputs holds it.
    pub(crate) input: usize,
    pub(crate) offset: u64,
    pub(crate) size: u64,
}

/// A recording of ring buffers that was understood.
pub(crate) struct RingTrace {
    pub(crate) meta: TraceMeta,
    pub(crate) inputs: Vec<Input>,
    /// One of each CPU, by CPU.
    pub(crate) regions: Vec<Region>,
    pub(crate) order: ByteOrder,
    pub(crate) decoders: Decoders,
    pub(crate) layout: PageLayout,
    pub(crate) page_size: usize,
    pub(crate) packing: Packing,
    pub(crate) clock: Clock,
}
