// SPDX-License-Identifier: GPL-2.0-only
//! One CPU's ring buffer: from pages to the events in them, one event ahead.

use idlewise_model::HealthKind;

use super::window::{Fill, Window, Workshop};
use crate::kernel::clock::{Clock, JUMP_NS, seconds};
use crate::kernel::format::PageLayout;
use crate::kernel::order::Order;
use crate::learned::Learned;

/// Bits of the commit word.
const COMMIT_LEN: u64 = (1 << 27) - 1;
const COMMIT_MISSED: u64 = 1 << 31;
const COMMIT_MISSED_STORED: u64 = 1 << 30;

/// What of the commit word is no length.
pub(crate) const COMMIT_FLAGS: u64 = COMMIT_MISSED | COMMIT_MISSED_STORED;

/// A page cannot follow a gap of more events; such a count is damage.
const MOST_MISSED: u64 = 1 << 40;

/// Kinds of entries, the low five bits of their first word; 1 to 28 are events of so many words.
const LONG_EVENT: u32 = 0;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// A time stamp entry has no room for the topmost bits of a time.
const STAMP_BITS: u32 = 59;

/// What all CPUs of a stream share.
pub(crate) struct Shared<O> {
    pub(crate) order: O,
    pub(crate) layout: PageLayout,
    pub(crate) page_size: usize,
    pub(crate) clock: Clock,
    pub(crate) workshop: Workshop,
    pub(crate) learned: Learned,
}

struct PageHead {
    time: u64,
    len: usize,
    missed: Option<u64>,
}

/// One CPU's buffer with its next event.
pub(crate) struct Cpu<'a> {
    pub(crate) cpu: u32,
    window: Window<'a>,
    /// Where the next page starts in the window.
    page: usize,
    /// Where the next entry starts in the window.
    pos: usize,
    /// Where the page's entries end in the window.
    end: usize,
    /// The buffer's own time at `pos`.
    raw: u64,
    /// The next event: its time, and its bytes in the window.
    pub(crate) ts_ns: u64,
    start: usize,
    len: usize,
    /// Events were lost before the next one; 0 if nobody knows how many.
    pub(crate) lost: Option<u64>,
    /// The clock was read.
    started: bool,
    /// The file ends before the CPU's data does.
    cut_off: bool,
}

impl<'a> Cpu<'a> {
    pub(crate) fn new(cpu: u32, window: Window<'a>) -> Self {
        Self {
            cpu,
            window,
            page: 0,
            pos: 0,
            end: 0,
            raw: 0,
            ts_ns: 0,
            start: 0,
            len: 0,
            lost: None,
            started: false,
            cut_off: false,
        }
    }

    /// The bytes of the next event and what follows them in the buffer.
    #[inline(always)]
    pub(crate) fn data(&self) -> &[u8] {
        self.window.buf().get(self.start..).unwrap_or_default()
    }

    /// The length of the next event.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn word(&self, order: impl Order, at: usize) -> Option<u32> {
        self.window.buf().get(at..)?.first_chunk::<4>().map(|b| order.u32(*b))
    }

    /// Goes to the next event; `false` when there is none.
    #[inline(always)]
    pub(crate) fn advance(&mut self, shared: &mut Shared<impl Order>) -> bool {
        loop {
            if self.pos >= self.end {
                if !self.next_page(shared) {
                    return false;
                }
                continue;
            }
            let Some(head) = self.word(shared.order, self.pos) else { return false };
            let body = self.pos + 4;
            // Two bit-fields, of five and 27 bits: the order of bytes is that of bit-fields, too.
            let (kind, delta) =
                if shared.order.big() { (head >> 27, head & 0x7ff_ffff) } else { (head & 31, head >> 5) };
            let delta = u64::from(delta);
            let (start, len) = match kind {
                1..=28 => (body, kind as usize * 4),
                LONG_EVENT => {
                    // The length counts its own four bytes; entries start at multiples of four.
                    let len = self.word(shared.order, body).unwrap_or(0) as usize;
                    if len < 4 {
                        self.give_up_page(shared);
                        continue;
                    }
                    (body + 4, (len - 4).next_multiple_of(4))
                }
                _ => {
                    self.special(kind, delta, body, shared);
                    continue;
                }
            };
            let next = start.saturating_add(len);
            if next > self.end {
                self.give_up_page(shared);
                continue;
            }
            self.raw = self.raw.wrapping_add(delta);
            (self.start, self.len, self.pos) = (start, len, next);
            let ts_ns = shared.clock.time(self.raw);
            if ts_ns.wrapping_sub(self.ts_ns) > JUMP_NS {
                self.clock_moved(ts_ns, shared);
            }
            self.ts_ns = ts_ns;
            return true;
        }
    }

    /// The time went back or leapt ahead.
    #[cold]
    fn clock_moved(&mut self, ts_ns: u64, shared: &mut Shared<impl Order>) {
        let kind = if ts_ns < self.ts_ns { HealthKind::ClockBackwards } else { HealthKind::ClockJump };
        let (cpu, before) = (self.cpu, self.ts_ns);
        shared
            .learned
            .health
            .add(kind, 1, || format!("CPU {cpu}: {} after {}", seconds(ts_ns), seconds(before)));
    }

    /// An entry that is no event.
    #[cold]
    fn special(&mut self, kind: u32, delta: u64, body: usize, shared: &mut Shared<impl Order>) {
        let Some(word) = self.word(shared.order, body).filter(|_| body + 4 <= self.end) else {
            // A padding without length fills what is left of a page.
            if kind == PADDING && delta == 0 {
                self.pos = self.end
            } else {
                self.give_up_page(shared)
            }
            return;
        };
        let long = u64::from(word) << 27 | delta;
        match kind {
            PADDING if delta == 0 => self.pos = self.end,
            PADDING => {
                self.raw = self.raw.wrapping_add(delta);
                let next = body.saturating_add(word as usize);
                // The length counts itself; a shorter one would not move on. One that leaves the page fills it.
                if word < 4 { self.give_up_page(shared) } else { self.pos = next }
            }
            TIME_EXTEND => {
                self.raw = self.raw.wrapping_add(long);
                self.pos = body + 4;
            }
            TIME_STAMP => {
                let top = self.raw >> STAMP_BITS << STAMP_BITS;
                let stamp = top | long & ((1 << STAMP_BITS) - 1);
                let wrapped = top != 0 && stamp < self.raw;
                self.raw = if wrapped { stamp.wrapping_add(1 << STAMP_BITS) } else { stamp };
                self.pos = body + 4;
            }
            _ => self.give_up_page(shared),
        }
    }

    #[cold]
    fn give_up_page(&mut self, shared: &mut Shared<impl Order>) {
        let (cpu, at, pos) = (self.cpu, self.ts_ns, self.pos);
        shared.learned.health.add(HealthKind::BadPage, 1, || {
            format!("CPU {cpu} after {}, byte {pos} of the buffer's window", seconds(at))
        });
        self.lost = self.lost.or(Some(0));
        self.pos = self.end;
    }

    /// Goes to the next page that holds anything; `false` at the end.
    fn next_page(&mut self, shared: &mut Shared<impl Order>) -> bool {
        let layout = shared.layout;
        loop {
            if self.page >= self.window.len() {
                if !self.next_window(shared) {
                    return false;
                }
                continue;
            }
            let page = self.page;
            let there = (self.window.len() - page).min(shared.page_size);
            self.page += there;
            (self.pos, self.end) = (page, page);
            if there < layout.data {
                self.short_page(shared);
                continue;
            }
            let Some(head) = self.page_head(shared.order, page, there, layout) else {
                self.short_page(shared);
                continue;
            };
            if layout.data + head.len > shared.page_size {
                self.give_up_page(shared);
                continue;
            }
            if let Some(count) = head.missed {
                self.missed(count, head.time, shared);
            }
            if !std::mem::replace(&mut self.started, true) {
                self.ts_ns = shared.clock.time(head.time);
            }
            self.raw = head.time;
            self.pos = page + layout.data;
            self.end = page + (layout.data + head.len).min(there);
            if layout.data + head.len > there {
                self.short_page(shared);
            }
            if self.pos < self.end {
                return true;
            }
        }
    }

    /// Reads the header of the page at `page`, of which `there` bytes are there.
    fn page_head(
        &self,
        order: impl Order,
        page: usize,
        there: usize,
        layout: PageLayout,
    ) -> Option<PageHead> {
        let buf = self.window.buf().get(page..page + there)?;
        let wide = |at: usize| buf.get(at..)?.first_chunk::<8>().map(|b| order.u64(*b));
        let narrow = |at: usize| buf.get(at..)?.first_chunk::<4>().map(|b| u64::from(order.u32(*b)));
        let long = |at: usize| if layout.wide { wide(at) } else { narrow(at) };
        let (time, commit) = (wide(layout.time)?, long(layout.commit)?);
        let len = (commit & COMMIT_LEN) as usize;
        let stored = if commit & COMMIT_MISSED_STORED == 0 { None } else { long(layout.data + len) };
        let stored = stored.filter(|n| *n <= MOST_MISSED).unwrap_or(0);
        let missed = (commit & COMMIT_MISSED != 0).then_some(stored);
        Some(PageHead { time, len, missed })
    }

    /// The kernel marked the page: events before it were lost.
    fn missed(&mut self, count: u64, time: u64, shared: &mut Shared<impl Order>) {
        self.lost = Some(self.lost.unwrap_or(0).saturating_add(count));
        let (cpu, at) = (self.cpu, shared.clock.time(time));
        shared
            .learned
            .health
            .add(HealthKind::LostEvents, count.max(1), || format!("CPU {cpu} before {}", seconds(at)));
    }

    /// A page that is not all there.
    fn short_page(&mut self, shared: &mut Shared<impl Order>) {
        if self.cut_off {
            return;
        }
        let (cpu, at) = (self.cpu, self.window.next());
        shared
            .learned
            .health
            .add(HealthKind::BadPage, 1, || format!("CPU {cpu}: a page cut short before byte {at}"));
    }

    fn damaged(&self, at: u64, why: &str, shared: &mut Shared<impl Order>) {
        let place = || format!("CPU {}, byte {at} of the file: {why}", self.cpu);
        shared.learned.health.add(HealthKind::BadPage, 1, place);
    }

    /// Fetches more of the file; `false` when there is no more.
    fn next_window(&mut self, shared: &mut Shared<impl Order>) -> bool {
        let cpu = self.cpu;
        self.page = 0;
        match self.window.fill(shared.order, &mut shared.workshop) {
            Fill::Data => true,
            Fill::End => false,
            Fill::CutOff { at } => {
                self.cut_off = true;
                shared
                    .learned
                    .health
                    .add(HealthKind::Truncated, 1, || format!("CPU {cpu}: the file ends at byte {at}"));
                self.window.len() > 0
            }
            Fill::Damaged { at, why } => {
                self.damaged(at, &why, shared);
                self.lost = self.lost.or(Some(0));
                true
            }
            Fill::Broken { at, why } => {
                self.damaged(at, &why, shared);
                false
            }
        }
    }
}
