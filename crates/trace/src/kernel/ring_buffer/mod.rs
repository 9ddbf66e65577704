// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's ring buffers: the pages of every CPU, walked and merged in time order, wherever a recording keeps them.
//! Memory: a window of each CPU's pages, 32 MiB in all at most (packed recordings: a chunk of each CPU).

mod cpu;
mod events;
mod window;

pub(crate) use cpu::{COMMIT_FLAGS, Clock, JUMP_NS};
pub(crate) use events::RingEvents;

use super::bytes::Decoders;
use super::clock;
use super::format::PageLayout;
use super::order::{Big, ByteOrder, Little};
use super::tick;
use crate::Source;
use crate::input::Input;
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

impl RingTrace {
    pub(crate) fn events(&self) -> Source<'_> {
        match self.order {
            ByteOrder::Little => Source::Ring(Box::new(RingEvents::new(self, Little))),
            ByteOrder::Big => Source::Other(Box::new(RingEvents::new(self, Big))),
        }
    }

    /// Fills in what follows from the rest, with remarks for the user of a result.
    pub(crate) fn complete_meta(&mut self) {
        let meta = &mut self.meta;
        meta.cpus = self.regions.iter().map(|r| r.cpu).collect();
        meta.long_size = if self.layout.wide { 8 } else { 4 };
        meta.ts_offset_ns = self.clock.offset;
        if self.regions.is_empty() {
            meta.notes.push("the trace holds no trace data".to_owned());
        }
        if meta.event_names.is_empty() {
            meta.notes.push("the trace describes no events: none can be understood".to_owned());
        }
        meta.notes.extend(clock::remark(&meta.clock, self.clock.scale.is_some()));
        for (cpu, s) in &meta.cpu_stats {
            let lost = s.overrun.saturating_add(s.commit_overrun).saturating_add(s.dropped);
            if lost > 0 {
                meta.notes.push(format!("CPU {cpu}: the kernel says that it lost {lost} events (overrun {}, commit overrun {}, dropped {})", s.overrun, s.commit_overrun, s.dropped));
            }
        }
        self.find_tick();
    }

    /// Without symbols, or where the kernel hid their addresses, the tick's timer is found by what it does.
    fn find_tick(&mut self) {
        let timers = self.meta.event_names.values().any(|name| name == "timer:hrtimer_start");
        if !timers || !self.meta.symbols.is_empty() {
            return;
        }
        let found = match self.order {
            ByteOrder::Little => tick::find(&mut RingEvents::new(self, Little)),
            ByteOrder::Big => tick::find(&mut RingEvents::new(self, Big)),
        };
        if let Some(tick) = found {
            tick.tell(&mut self.meta);
        }
    }
}
