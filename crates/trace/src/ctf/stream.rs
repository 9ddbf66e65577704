// SPDX-License-Identifier: GPL-2.0-only
//! One stream file: from its packets to the events in them, one event ahead.

use std::io;

use idlewise_model::{Event, EventKind, HealthKind};

use super::header::NoHead;
use super::kinds::{EventClass, Kinds, Stream};
use super::packet::{Found, Packet};
use super::program::{Outcome, Payload};
use super::shared::Shared;
use super::window::Window;
use crate::input::Input;
use crate::kernel::clock::{JUMP_NS, seconds};
use crate::kernel::meaning::Values;

/// Why there is no event at a place.
enum NoEvent {
    Beyond,
    Unknown(u64),
    Bad(&'static str),
}

/// One stream file with its next event.
pub(super) struct Reader<'a> {
    input: &'a Input,
    window: Window,
    packet: Packet<'a>,
    /// Where the next event starts, where the content of the packet ends, and what of it is in the window: bits from
    /// the window's origin.
    at: u64,
    content: u64,
    limit: u64,
    ticks: u64,
    /// The next event; its task as far as it says itself, else -1.
    pub(super) next: Event,
    pub(super) id: u16,
    /// Events were lost before the next one; 0 if nobody knows how many.
    pub(super) lost: Option<u64>,
    bases: Vec<u64>,
    last_irq: Option<i32>,
    started: bool,
}

impl<'a> Reader<'a> {
    /// The stream in `input`, of which `stream` is the first packet's kind.
    pub(super) fn new(
        input: &'a Input,
        kinds: &'a Kinds,
        stream: &'a Stream,
        cpu: u32,
        streams: usize,
    ) -> Self {
        let next = Event { ts_ns: 0, cpu, pid: -1, kind: EventKind::Other { id: 0 } };
        Self {
            input,
            window: Window::new(streams),
            packet: Packet::before_first(stream, cpu),
            at: 0,
            content: 0,
            limit: 0,
            ticks: 0,
            next,
            id: 0,
            lost: None,
            bases: vec![0; kinds.bases],
            last_irq: None,
            started: false,
        }
    }

    /// Goes to the next event; `false` when there is none.
    #[inline(always)]
    pub(super) fn advance(&mut self, shared: &mut Shared<'a>) -> bool {
        loop {
            if self.at < self.content {
                match self.decode(shared) {
                    Ok(()) => return true,
                    Err(why) => self.no_event(why, shared),
                }
            } else if !self.next_packet(shared) {
                return false;
            }
        }
    }

    #[inline(always)]
    fn decode(&mut self, shared: &mut Shared<'a>) -> Result<(), NoEvent> {
        let bytes = self.window.bytes();
        let head = match self.packet.stream.header.read(bytes, self.at, self.limit) {
            Ok(head) => head,
            Err(NoHead::Beyond) => return Err(NoEvent::Beyond),
            Err(NoHead::Shapeless) => return Err(NoEvent::Bad("a header that the metadata does not know")),
        };
        let id = head.id.unwrap_or(0);
        let place = self.packet.stream.event(id);
        let class = place.and_then(|p| shared.kinds.events.get(p as usize)).ok_or(NoEvent::Unknown(id))?;
        let program = class.program.as_ref().ok_or(NoEvent::Bad("an event that cannot be read"))?;
        let end = match program.run(bytes, head.end, self.limit, &mut self.bases) {
            Outcome::End(end) if end > self.at => end,
            Outcome::End(_) => return Err(NoEvent::Bad("an event that takes no room")),
            Outcome::Beyond => return Err(NoEvent::Beyond),
            Outcome::NoSuchCase => return Err(NoEvent::Bad("a variant without an option for its tag")),
        };
        if let Some((value, bits)) = head.time {
            self.ticks = after(self.ticks, value, bits);
        }
        let payload = Payload { bytes, bases: &self.bases, limit: self.limit };
        let kind = class.op.kind(class.id, &payload);
        let pid = class.tid.map_or(-1, |tid| payload.i32(tid));
        if class.irq.is_some() || !class.comms.is_empty() {
            learn(class, &payload, &mut self.last_irq, shared);
        }
        let ts_ns = shared.ns(self.ticks);
        if ts_ns.wrapping_sub(self.next.ts_ns) > JUMP_NS && self.started {
            clock_moved(self.packet.cpu, self.next.ts_ns, ts_ns, shared);
        }
        self.started = true;
        self.next = Event { ts_ns, cpu: self.packet.cpu, pid, kind };
        self.id = class.id;
        self.at = end;
        Ok(())
    }

    /// Fetches more of a packet, or gives it up.
    #[cold]
    fn no_event(&mut self, why: NoEvent, shared: &mut Shared<'_>) {
        let cpu = self.packet.cpu;
        let at = self.window.origin().saturating_add(self.at / 8);
        if matches!(why, NoEvent::Beyond) && self.limit < self.content {
            let content = self.window.origin().saturating_mul(8).saturating_add(self.content);
            let bit = self.window.origin().saturating_mul(8).saturating_add(self.at);
            match self.window.see_more(self.input, at, self.packet.start) {
                Ok(true) => {
                    self.at = bit.saturating_sub(self.window.origin().saturating_mul(8));
                    self.settle(content);
                    return;
                }
                Ok(false) => {}
                Err(e) => return self.unreadable(&e, at, shared),
            }
        }
        let place = |what: &str| format!("CPU {cpu}, byte {at} of its stream: {what}");
        let health = &mut shared.learned.health;
        match why {
            // The file's end was counted when the packet was opened.
            NoEvent::Beyond if self.packet.cut_off => {}
            NoEvent::Beyond => {
                health.add(HealthKind::BadEvent, 1, || place("an event that is longer than its packet"));
            }
            NoEvent::Unknown(id) => {
                health.add(HealthKind::UnknownEvent, 1, || place(&format!("event id {id}")))
            }
            NoEvent::Bad(what) => health.add(HealthKind::BadEvent, 1, || place(what)),
        }
        // What follows in the packet cannot be found without the length of this event.
        self.lost.get_or_insert(0);
        self.at = self.content;
    }

    /// Sets the content's end, from the start of the file, bits.
    fn settle(&mut self, content: u64) {
        let origin = self.window.origin();
        self.content = content.saturating_sub(origin.saturating_mul(8));
        self.limit = self.content.min(self.window.end().saturating_sub(origin).saturating_mul(8));
    }

    #[cold]
    fn unreadable(&mut self, error: &io::Error, at: u64, shared: &mut Shared<'_>) {
        let cpu = self.packet.cpu;
        let place = || format!("CPU {cpu}, byte {at} of its stream: {error}");
        shared.learned.health.add(HealthKind::BadPage, 1, place);
        self.at = self.content;
        self.packet.next = u64::MAX;
    }

    /// Goes to the next packet; `false` at the end of the stream.
    #[cold]
    fn next_packet(&mut self, shared: &mut Shared<'a>) -> bool {
        let start = self.packet.next;
        match self.packet.open_next(self.input, &mut self.window, shared, &mut self.bases) {
            Found::Packet { at, content } => {
                self.at = at;
                self.settle(content);
            }
            Found::End => return false,
            Found::Broken(kind, what) => {
                let cpu = self.packet.cpu;
                let place = || format!("CPU {cpu}, packet at byte {start} of its stream: {what}");
                shared.learned.health.add(kind, 1, place);
                return false;
            }
        }
        if let Some(ticks) = self.packet.ticks {
            self.ticks = ticks;
        }
        if let Some(count) = self.packet.lost {
            self.lost = Some(self.lost.unwrap_or(0).saturating_add(count));
        }
        true
    }
}

/// The clock after `ticks` whose lowest `bits` bits are `value`: it went on by less than these bits can tell.
#[inline(always)]
fn after(ticks: u64, value: u64, bits: u8) -> u64 {
    if bits >= 64 {
        return value;
    }
    let range = 1u64 << bits;
    let time = ticks & !(range - 1) | value;
    if time < ticks { time.wrapping_add(range) } else { time }
}

/// Names that an event tells.
#[inline(never)]
fn learn(class: &EventClass, payload: &Payload<'_>, last_irq: &mut Option<i32>, shared: &mut Shared<'_>) {
    if let Some((irq, name)) = class.irq {
        let irq = payload.i32(irq);
        if last_irq.replace(irq) != Some(irq) {
            shared.learned.irq(irq, payload.text(name));
        }
    }
    for (pid, comm) in &class.comms {
        let pid = payload.i32(*pid);
        // Every CPU calls its idle task otherwise.
        if pid != 0 {
            shared.comms.learn(pid, payload.text(*comm), &mut shared.learned);
        }
    }
}

/// The time went back or leapt ahead.
#[cold]
fn clock_moved(cpu: u32, before: u64, now: u64, shared: &mut Shared<'_>) {
    let kind = if now < before { HealthKind::ClockBackwards } else { HealthKind::ClockJump };
    let place = || format!("CPU {cpu}: {} after {}", seconds(now), seconds(before));
    shared.learned.health.add(kind, 1, place);
}
