// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's ring buffers: the pages of every CPU, walked and merged in time order, wherever a recording keeps them.
//! Memory: a window of each CPU's pages, 32 MiB in all at most (packed recordings: a chunk of each CPU).

mod cpu;
mod events;
mod recording;
mod window;

pub(crate) use cpu::COMMIT_FLAGS;
pub(crate) use events::RingEvents;
pub(crate) use recording::{MAX_CPUS, MAX_PAGE, MIN_PAGE, Region, RingTrace};

use idlewise_model::NoteId;

use super::clock;
use super::order::{Big, ByteOrder, Little};
use super::tick;

impl RingTrace {
    /// Fills in what follows from the rest, with remarks for the user of a result.
    pub(crate) fn complete_meta(&mut self) {
        let meta = &mut self.meta;
        meta.cpus = self.regions.iter().map(|r| r.cpu).collect();
        meta.long_size = if self.layout.wide { 8 } else { 4 };
        meta.ts_offset_ns = self.clock.offset;
        if self.regions.is_empty() {
            meta.note(NoteId::CutOff, "the trace holds no trace data");
        }
        if meta.event_names.is_empty() {
            meta.note(NoteId::UnknownFormat, "the trace describes no events: none can be understood");
        }
        meta.notes.extend(clock::remark(&meta.clock, self.clock.scale.is_some()));
        for (cpu, s) in &meta.cpu_stats {
            let lost = s.overrun.saturating_add(s.commit_overrun).saturating_add(s.dropped);
            if lost > 0 {
                meta.notes.push(NoteId::LostEvents.note(format!("CPU {cpu}: the kernel says that it lost {lost} events (overrun {}, commit overrun {}, dropped {})", s.overrun, s.commit_overrun, s.dropped)));
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
