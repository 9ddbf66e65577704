// SPDX-License-Identifier: GPL-2.0-only
//! From a CPU's records to decisions: what differs from one to the next is what happened in between.

use schemars::JsonSchema;
use serde::Serialize;

use super::layout::{Layout, MemoryLayout, MenuLayout, Place, head};
use super::program::NO_OWN_LIMIT;

/// A governor's decision with what the kernel told it, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub cpu: u32,
    /// When the state was entered, or the idle task gave way; ns of `CLOCK_MONOTONIC`.
    pub at_ns: u64,
    /// The chosen state; of a choice that was taken back it is not known.
    pub state: Option<u32>,
    /// The latency limit in force, ns; nothing where it could not be read.
    pub latency_limit_ns: Option<i64>,
    /// Tasks of the CPU that wait for I/O; nothing where the kernel does not say where it counts them.
    pub iowait: Option<u32>,
    /// Disabled states: bit i for state i.
    pub disabled: u16,
    /// The tick was stopped when the governor was asked.
    pub tick_stopped_before: bool,
    /// The tick is stopped now.
    pub tick_stopped_after: bool,
    /// How often the way of stopping the tick was taken since the record before: 0 or 1, more after choices that left no record.
    pub idle_calls: u64,
    /// The CPU came from another task since the choice before.
    pub new_visit: bool,
    /// The tick has run and no governor has asked whether it has.
    pub got_tick: bool,
    /// The state of which the governor was last told.
    pub last_state: i32,
    /// `last_residency_ns` as the governor found it.
    pub last_residency_ns: u64,
    /// The polling loop's last run came to its limit.
    pub poll_time_limit: bool,
    /// The limit of the polling loop, ns, after the choice.
    pub poll_limit_ns: u64,
    /// The "now" of the sleep length, ns of `CLOCK_MONOTONIC`.
    pub now_ns: i64,
    /// What the CPU's clock is programmed for as the state is entered, ns of `CLOCK_MONOTONIC`.
    pub next_event_ns: i64,
    /// What it was programmed for when the governor was asked.
    pub next_event_before_ns: i64,
    /// What the governor remembers, after the choice.
    pub memory: Memory,
    /// What came of it; nothing of a choice that was taken back, and of each CPU's last.
    pub outcome: Option<Outcome>,
}

/// What a governor remembers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Nothing, or the recorder does not know how to read it.
    None,
    Menu(Menu),
    /// Of ladder: promotions and demotions counted in each state.
    Ladder(Vec<(u32, u32)>),
}

/// What menu remembers (`governor-behaviour.md` 4.1); the kernel's names in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    /// The sleep length that it was given (next_timer_ns); nothing where it did not ask.
    pub sleep_length_ns: Option<i64>,
    /// An idle period was reported and not booked yet: the governor has not been asked since.
    pub needs_update: bool,
    /// The tick had run when it was last notified of a stay.
    pub tick_wakeup: bool,
    /// The correction factor of this choice.
    pub bucket: u32,
    /// The slot that the next idle time takes.
    pub slot: u32,
    pub factors: Vec<u32>,
    /// The recent idle times, us.
    pub intervals: Vec<u32>,
}

/// What came of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// When the state was left, ns after it was entered.
    pub exit_ns: u64,
    /// What the kernel measured, ns.
    pub residency_ns: u64,
    /// The state that was counted: a driver may take another than chosen.
    pub entered: Option<u32>,
    /// Counted as too deep.
    pub above: bool,
    /// Counted as too shallow.
    pub below: bool,
    pub rejected: bool,
}

/// What was seen, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Counts {
    pub entered: u64,
    /// Choices that a reschedule took back before the state was entered.
    pub given_up: u64,
    /// Of these, those that left no record: only what they changed was seen.
    pub given_up_unseen: u64,
    /// Entries that the driver refused.
    pub rejected: u64,
    /// Records for which there was no room.
    pub dropped: u64,
    /// Entries left out because what came before them is not known: each CPU's first, and those after dropped records.
    pub left_out: u64,
}

impl Counts {
    /// Adds what was seen elsewhere.
    pub fn add(&mut self, more: &Self) {
        self.entered += more.entered;
        self.given_up += more.given_up;
        self.given_up_unseen += more.given_up_unseen;
        self.rejected += more.rejected;
        self.dropped += more.dropped;
        self.left_out += more.left_out;
    }
}

/// Puts one CPU's records together.
#[derive(Default)]
pub(super) struct Reader {
    before: Option<Record>,
    pending: Option<Decision>,
}

/// What a record says, without the differences.
struct Record {
    kind: u32,
    decision: Decision,
    drops: u64,
    calls: u64,
    last_tick_ns: i64,
    restarted: Option<u64>,
    exit_ns: u64,
    /// How often the idle task gave way since the record before, up to this record.
    visits: u32,
    /// Usage, time, above, below, rejected of each state.
    usage: Vec<[u64; 5]>,
}

/// `KTIME_MAX`: no timer.
pub(super) const NEVER_NS: i64 = i64::MAX;
const MAX_SLOTS: u64 = 64;

impl Reader {
    /// Takes the CPU's next record, and hands over the decisions that are complete with it.
    pub(super) fn record(
        &mut self,
        layout: &Layout,
        bytes: &[u8],
        counts: &mut Counts,
        mut done: impl FnMut(Decision),
    ) {
        let Some(mut record) = Record::read(layout, bytes) else { return };
        let Some(before) = self.before.as_ref().filter(|b| b.drops == record.drops) else {
            if let Some(pending) = self.pending.take() {
                done(pending);
            }
            counts.dropped +=
                self.before.as_ref().map_or(record.drops, |b| record.drops.saturating_sub(b.drops));
            counts.left_out += u64::from(record.kind == head::ENTERED);
            self.before = Some(record);
            return;
        };
        if record.kind == head::LEFT_IDLE && !record.is_another_choice(before) {
            // The idle task was left again without having chosen anything.
            return;
        }
        record.since(before);
        if let Some(mut pending) = self.pending.take() {
            pending.outcome = record.outcome_of(before, pending.at_ns);
            counts.rejected += u64::from(pending.outcome.is_some_and(|o| o.rejected));
            done(pending);
        }
        let unseen = record.unseen(before);
        counts.given_up += unseen;
        counts.given_up_unseen += unseen;
        for _ in 0..unseen {
            done(Decision { state: None, idle_calls: 0, ..record.decision.clone() });
        }
        if record.kind == head::ENTERED {
            counts.entered += 1;
            self.pending = Some(record.decision.clone());
        } else {
            counts.given_up += 1;
            done(record.decision.clone());
        }
        self.before = Some(record);
    }

    /// Whether a decision's stay has not ended yet.
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// The last decision, whose stay has not ended or was ended at `exit_ns`.
    pub(super) fn finish(self) -> Option<Decision> {
        self.pending
    }
}

/// When a record was written, ns of `CLOCK_MONOTONIC`.
pub(super) fn time_of(record: &[u8]) -> u64 {
    record.first_chunk().map_or(0, |time| u64::from_ne_bytes(*time))
}

impl Record {
    fn read(layout: &Layout, bytes: &[u8]) -> Option<Self> {
        let word = |at: i16| {
            let at = usize::try_from(at).ok()?;
            Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
        };
        let double = |at: i16| {
            let at = usize::try_from(at).ok()?;
            Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
        };
        let (device, tick) = (&layout.device, &layout.tick);
        let kind = word(head::KIND)?;
        let mut usage = Vec::with_capacity(device.usage.len());
        let mut disabled = 0;
        for (i, state) in device.usage.iter().enumerate() {
            let rejected = state.rejected.map_or(Some(0), |p| p.read(bytes))?;
            let counters = [&state.usage, &state.time, &state.above, &state.below];
            let [used, time, above, below] = counters.map(|p| p.read(bytes).unwrap_or(0));
            usage.push([used, time, above, below, rejected]);
            disabled |= u16::from(state.disable.read(bytes)? != 0).checked_shl(i as u32).unwrap_or(0);
        }
        let next_event_ns = device.next_event.read(bytes)?.cast_signed();
        let decision = Decision {
            cpu: word(head::CPU)?,
            at_ns: double(head::TIME)?,
            state: (kind == head::ENTERED).then_some(word(head::STATE)?),
            latency_limit_ns: limit_ns(
                word(head::LIMIT)?.cast_signed(),
                word(head::OWN_LIMIT)?.cast_signed(),
            ),
            iowait: u32::try_from(word(head::IOWAIT)?.cast_signed()).ok(),
            disabled,
            tick_stopped_before: false,
            tick_stopped_after: tick.is_stopped(bytes)?,
            idle_calls: 0,
            new_visit: false,
            got_tick: tick.got_tick.read(bytes)? != 0,
            last_state: device.last_state.read(bytes)? as i32,
            last_residency_ns: device.last_residency.read(bytes)?,
            poll_time_limit: device.poll_time_limit.read(bytes)? != 0,
            poll_limit_ns: device.poll_limit.read(bytes)?,
            now_ns: tick.entered.read(bytes)?.cast_signed(),
            next_event_ns,
            next_event_before_ns: next_event_ns,
            memory: memory(layout, bytes)?,
            outcome: None,
        };
        Some(Self {
            kind,
            decision,
            drops: double(head::DROPS)?,
            calls: tick.calls.read(bytes)?,
            last_tick_ns: tick.last_tick.read(bytes)?.cast_signed(),
            restarted: match tick.restarted {
                Some(place) => Some(place.read(bytes)?),
                None => None,
            },
            exit_ns: double(head::EXIT)?,
            visits: word(head::VISITS)?,
            usage,
        })
    }

    /// Fills in what only the record before tells.
    fn since(&mut self, before: &Self) {
        let d = &mut self.decision;
        d.idle_calls = self.calls.saturating_sub(before.calls);
        // A choice that was taken back is seen as its own visit ends.
        let visits = self.visits.saturating_sub(u32::from(self.kind == head::LEFT_IDLE));
        d.new_visit = visits > 0 || before.kind == head::LEFT_IDLE;
        // A stopped tick stays so until the idle task gives way, which leaves its time.
        let restarted = self.kind == head::ENTERED && self.restarted != before.restarted;
        d.tick_stopped_before = before.decision.tick_stopped_after && !d.new_visit && !restarted;
        if d.tick_stopped_after && !d.tick_stopped_before {
            // The tick was to come at `last_tick` had it not been stopped.
            d.next_event_before_ns = d.next_event_ns.min(self.last_tick_ns);
        }
    }

    /// Whether the idle task, which gives way, has chosen something that is not in `before`.
    fn is_another_choice(&self, before: &Self) -> bool {
        before.kind == head::ENTERED
            || self.calls != before.calls
            || self.decision.memory != before.decision.memory
    }

    /// Choices between `before` and this that left no record of their own.
    fn unseen(&self, before: &Self) -> u64 {
        let chosen = match (&self.decision.memory, &before.decision.memory) {
            // Every choice puts one idle time into the ring.
            (Memory::Menu(now), Memory::Menu(then)) => {
                let slots = now.intervals.len().max(1) as u64;
                let pushed = (u64::from(now.slot) + slots).saturating_sub(u64::from(then.slot)) % slots;
                if pushed == 0 { 1 } else { pushed }
            }
            _ => self.decision.idle_calls,
        };
        chosen.saturating_sub(1).min(MAX_SLOTS)
    }

    /// What came of the entry in `before`, at `at_ns`; unknown where the CPU went offline meanwhile: the kernel counts from 0 then.
    fn outcome_of(&self, before: &Self, at_ns: u64) -> Option<Outcome> {
        let mut outcome = Outcome { exit_ns: self.exit_ns.checked_sub(at_ns)?, ..Outcome::default() };
        for (i, (now, then)) in (0..).zip(self.usage.iter().zip(&before.usage)) {
            if now.iter().zip(then).any(|(now, then)| now < then) {
                return None;
            }
            let [used, time, above, below, rejected] =
                std::array::from_fn(|k| match (now.get(k), then.get(k)) {
                    (Some(now), Some(then)) => now - then,
                    _ => 0,
                });
            if used > 0 {
                outcome.entered = Some(i);
            }
            outcome.residency_ns = outcome.residency_ns.saturating_add(time);
            outcome.above |= above > 0;
            outcome.below |= below > 0;
            outcome.rejected |= rejected > 0;
        }
        Some(outcome)
    }
}

/// The limit in force, from the global one and the CPU's own, us.
fn limit_ns(global: i32, own: i32) -> Option<i64> {
    // A global limit below 0 could not be read; the CPU's own counts beside it only.
    match (global, own) {
        (..0, NO_OWN_LIMIT) => None,
        (..0, own) => Some(i64::from(own) * 1000),
        (global, own) => Some(i64::from(global.min(own)) * 1000),
    }
}

fn memory(layout: &Layout, bytes: &[u8]) -> Option<Memory> {
    Some(match &layout.memory {
        MemoryLayout::None => Memory::None,
        MemoryLayout::Menu(menu) => Memory::Menu(menu_of(menu, bytes)?),
        MemoryLayout::Ladder(ladder) => {
            let count = |place: Place| place.read(bytes).map(|n| n as u32);
            let counts = ladder.counts.iter().map(|(up, down)| Some((count(*up)?, count(*down)?)));
            Memory::Ladder(counts.collect::<Option<_>>()?)
        }
    })
}

fn menu_of(menu: &MenuLayout, bytes: &[u8]) -> Option<Menu> {
    let word = |place: Place| place.read(bytes).map(|n| n as u32);
    let words = |places: &[Place]| places.iter().map(|p| word(*p)).collect::<Option<Vec<_>>>();
    let sleep_length_ns = menu.next_timer.read(bytes)?.cast_signed();
    Some(Menu {
        sleep_length_ns: (sleep_length_ns != NEVER_NS).then_some(sleep_length_ns),
        needs_update: word(menu.needs_update)? != 0,
        tick_wakeup: word(menu.tick_wakeup)? != 0,
        bucket: word(menu.bucket)?,
        slot: word(menu.slot)?,
        factors: words(&menu.factors)?,
        intervals: words(&menu.intervals)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::Table;

    /// A record of a CPU whose only state has these counters.
    fn record(at_ns: u64, exit_ns: u64, usage: [u64; 5]) -> Record {
        let decision = Decision {
            cpu: 0,
            at_ns,
            state: Some(0),
            latency_limit_ns: None,
            iowait: None,
            disabled: 0,
            tick_stopped_before: false,
            tick_stopped_after: false,
            idle_calls: 1,
            new_visit: true,
            got_tick: false,
            last_state: 0,
            last_residency_ns: 0,
            poll_time_limit: false,
            poll_limit_ns: 0,
            now_ns: 0,
            next_event_ns: NEVER_NS,
            next_event_before_ns: NEVER_NS,
            memory: Memory::None,
            outcome: None,
        };
        let usage = vec![usage];
        Record {
            kind: head::ENTERED,
            decision,
            drops: 0,
            calls: 1,
            last_tick_ns: 0,
            restarted: None,
            exit_ns,
            visits: 1,
            usage,
        }
    }

    /// The kernel counts from 0 again where a CPU went off and on.
    #[test]
    fn what_came_of_an_entry_is_empty_where_a_counter_went_back() {
        let before = record(1_000, 0, [6_488, 70_000, 5, 4, 3]);
        let after = |usage| record(9_000, 4_000, usage).outcome_of(&before, 1_000);
        let came = after([6_489, 72_500, 6, 4, 3]).unwrap();
        assert_eq!((came.exit_ns, came.residency_ns, came.entered), (3_000, 2_500, Some(0)));
        assert!(came.above && !came.below && !came.rejected);
        for usage in [[581, 9_000, 0, 0, 0], [6_489, 200, 5, 4, 3], [6_489, 72_500, 0, 4, 3]] {
            assert_eq!(after(usage), None, "{usage:?}");
        }
        assert_eq!(record(9_000, 500, [6_489, 72_500, 5, 4, 3]).outcome_of(&before, 1_000), None);
        let mut table = Table::new(Vec::new());
        table.row(&before.decision).unwrap();
        let text = String::from_utf8(table.finish().unwrap()).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        let column = |name| rows[1][rows[0].iter().position(|c| *c == name).unwrap()];
        let came = ["exit_rel_ns", "residency_ns", "entered", "above_inc", "below_inc", "rejected_inc"];
        assert_eq!(came.map(column), [""; 6]);
    }
}
