// SPDX-License-Identifier: GPL-2.0-only
//! How far the trace's clock is ahead of `CLOCK_MONOTONIC`, on which timers expire. A suspend changes it where only one
//! of the two stands still (trace clock `boot`), and so does a recorder that changes its clock.

/// Handlers run less late than this, or several in a row do not, ns.
const JUMP_NS: i64 = 100_000_000;
/// So many handlers in a row must agree on a new offset.
const ENOUGH: u32 = 4;
/// More changes than these are not followed.
const MOST_PIECES: usize = 64;
/// So many changes are reported one by one.
const MOST_TOLD: usize = 3;

/// From a time on, ns on the trace clock, this is to be added to an expiry, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    from_ns: u64,
    offset_ns: i64,
}

/// Trace clock minus `CLOCK_MONOTONIC` through a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offsets {
    /// In order of time; empty means 0.
    parts: Vec<Part>,
    /// When the first change came that was not followed, ns on the trace clock.
    not_followed_ns: Option<u64>,
}

impl Offsets {
    /// The offset at the start, ns.
    pub(crate) fn first_ns(&self) -> i64 {
        self.part(0).offset_ns
    }

    /// How many times it changes.
    pub(crate) fn changes(&self) -> usize {
        self.parts.len().saturating_sub(1)
    }

    /// When the `n`th change (from 1) comes, ns on the trace clock.
    pub(crate) fn change_ns(&self, n: usize) -> Option<u64> {
        self.parts.get(n).map(|p| p.from_ns)
    }

    /// How much more than at the start the offset is after `n` changes, ns.
    pub(crate) fn moved_ns(&self, n: usize) -> i64 {
        self.part(n).offset_ns.saturating_sub(self.first_ns())
    }

    /// The same for a time on the trace clock.
    pub(crate) fn moved_at(&self, ts_ns: u64) -> i64 {
        self.moved_ns(self.parts.partition_point(|p| p.from_ns <= ts_ns).saturating_sub(1))
    }

    /// The two clocks are one: what is seen at the start are delays only.
    pub(crate) fn start_at_zero(&mut self) {
        let first = self.first_ns();
        for part in &mut self.parts {
            part.offset_ns = part.offset_ns.saturating_sub(first);
        }
    }

    /// What a reader of a result must know of the changes.
    pub(crate) fn notes(&self) -> Vec<idlewise_model::Note> {
        let mut notes: Vec<String> = Vec::new();
        let told = self.parts.windows(2).take(MOST_TOLD);
        for pair in told {
            let [before, after] = pair else { continue };
            let by = after.offset_ns.saturating_sub(before.offset_ns);
            let sign = if by < 0 { "back" } else { "ahead" };
            notes.push(format!(
                "the trace's clock goes {sign} of the timers' (CLOCK_MONOTONIC) by {} s at {} s, as in a suspend: \
                 timers keep their expiry on CLOCK_MONOTONIC, ticks the grid that they had on the trace's \
                 clock, and the idle periods in between are left out",
                seconds(by.unsigned_abs()),
                seconds(after.from_ns),
            ));
        }
        if self.changes() > MOST_TOLD {
            notes.push(format!("and {} more such changes of the clock", self.changes() - MOST_TOLD));
        }
        if let Some(ns) = self.not_followed_ns {
            notes.push(format!(
                "the trace's clock changes more than {} times against the timers': from {} s on, expiries are wrong",
                MOST_PIECES - 1,
                seconds(ns),
            ));
        }
        notes.into_iter().map(|words| idlewise_model::NoteId::ClockChanges.note(words)).collect()
    }

    fn part(&self, n: usize) -> Part {
        self.parts.get(n).copied().unwrap_or(Part { from_ns: 0, offset_ns: 0 })
    }
}

fn seconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1000)
}

/// Finds the offsets from how late the handlers of timers run.
#[derive(Clone, Debug, Default)]
pub(crate) struct OffsetFinder {
    found: Offsets,
    /// The shortest delay of all, ns; it holds where the offset never changes.
    lowest_ns: Option<i64>,
    /// What the last handlers saw, ns: it follows a clock that runs a little fast or slow.
    recent_ns: i64,
    agreed: u32,
    /// Handlers in a row that see another offset.
    other: Option<Other>,
    last_ns: Option<u64>,
    /// The longest time without any event since a handler saw the known offset: when it was over, and how long it was.
    silence: (u64, u64),
}

/// Handlers in a row that agree on another offset than the known one.
#[derive(Clone, Copy, Debug)]
struct Other {
    part: Part,
    handlers: u32,
    /// What the last one was given, ns on `CLOCK_MONOTONIC`: handlers of one interrupt share a delay.
    now: i64,
}

impl OffsetFinder {
    #[inline]
    pub(crate) fn event(&mut self, ts_ns: u64) {
        let silence_ns = ts_ns.saturating_sub(self.last_ns.unwrap_or(ts_ns));
        if silence_ns > self.silence.1 {
            self.silence = (ts_ns, silence_ns);
        }
        self.last_ns = Some(ts_ns);
    }

    /// A timer's handler began at `ts_ns`, and got `now` as the time.
    pub(crate) fn handler(&mut self, ts_ns: u64, now: i64) {
        let late = (ts_ns as i64).wrapping_sub(now);
        self.lowest_ns = Some(self.lowest_ns.map_or(late, |l| l.min(late)));
        if self.found.parts.is_empty() {
            self.found.parts.push(Part { from_ns: 0, offset_ns: late });
            self.recent_ns = late;
        }
        let off = late.saturating_sub(self.recent_ns);
        if off.saturating_abs() <= JUMP_NS {
            self.agree(ts_ns, late);
        } else if off < 0 && self.agreed < ENOUGH {
            // The first ones were late.
            self.recent_ns = late;
            self.agreed = 0;
            self.agree(ts_ns, late);
        } else if off > 0 && self.silence.1 as i64 >= off - JUMP_NS {
            // Nothing is recorded while the other clock stands still. Without such a silence this is a timer of another
            // clock.
            self.differ(late, now);
        }
    }

    fn agree(&mut self, ts_ns: u64, late: i64) {
        self.agreed = self.agreed.saturating_add(1);
        self.recent_ns = self.recent_ns.saturating_add(late.saturating_sub(self.recent_ns) / 16);
        self.silence = (ts_ns, 0);
        self.other = None;
        if let Some(part) = self.found.parts.last_mut() {
            part.offset_ns = part.offset_ns.min(late);
        }
    }

    fn differ(&mut self, late: i64, now: i64) {
        let from_ns = self.silence.0;
        let fresh = Other { part: Part { from_ns, offset_ns: late }, handlers: 0, now: i64::MIN };
        let mut other = match self.other {
            Some(other) if other.part.offset_ns.abs_diff(late) <= JUMP_NS as u64 => other,
            _ => fresh,
        };
        other.handlers += u32::from(now != other.now);
        other.now = now;
        other.part.offset_ns = other.part.offset_ns.min(late);
        self.other = Some(other);
        if other.handlers < ENOUGH {
            return;
        }
        self.other = None;
        if self.found.parts.len() < MOST_PIECES {
            self.found.parts.push(other.part);
            self.recent_ns = late;
        } else {
            self.found.not_followed_ns.get_or_insert(other.part.from_ns);
        }
    }

    pub(crate) fn finish(mut self) -> Offsets {
        if let ([only], Some(lowest)) = (self.found.parts.as_mut_slice(), self.lowest_ns) {
            only.offset_ns = lowest;
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    /// Handlers each 10 ms, 1 us late and more, on a clock that is `offset(ts)` ahead.
    fn handlers(finder: &mut OffsetFinder, from_ns: u64, n: u64, offset: i64) {
        for k in 0..n {
            let ts_ns = from_ns + k * 10_000_000;
            finder.event(ts_ns);
            finder.handler(ts_ns, ts_ns as i64 - offset - 1_000 - (k % 3) as i64);
        }
    }

    #[test]
    fn an_offset_that_grows_in_a_silence_is_followed_from_its_end_on() {
        let mut finder = OffsetFinder::default();
        handlers(&mut finder, 10 * S, 50, 5);
        finder.event(41 * S);
        handlers(&mut finder, 42 * S, 50, 30 * S as i64);
        let found = finder.finish();
        let parts = [(0, 1_005), (41 * S, 30 * S as i64 + 1_000)];
        assert_eq!(found.parts, parts.map(|(from_ns, offset_ns)| Part { from_ns, offset_ns }));
        assert_eq!((found.moved_at(41 * S - 1), found.moved_at(41 * S)), (0, 30 * S as i64 - 5));
        assert_eq!(found.notes().len(), 1);
    }

    #[test]
    fn handlers_that_are_late_and_timers_of_other_clocks_are_no_change() {
        let mut finder = OffsetFinder::default();
        for k in 0..1000u64 {
            let ts_ns = 10 * S + k * 500_000_000;
            // The first is late by far, then three in a row, a whole interrupt, and timers of another clock.
            let late = match k {
                0 => 400_000_000,
                100..103 => 450_000_000,
                500..800 => 7 * S,
                _ => 2_000,
            };
            finder.event(ts_ns);
            finder.handler(ts_ns, (ts_ns - late) as i64);
        }
        let found = finder.finish();
        assert_eq!((found.first_ns(), found.changes(), found.notes().len()), (2_000, 0, 0));
    }

    #[test]
    fn a_clock_that_runs_fast_is_no_change() {
        let mut finder = OffsetFinder::default();
        for k in 0..10_000u64 {
            let ts_ns = 10 * S + k * 100_000_000;
            finder.event(ts_ns);
            finder.handler(ts_ns, (ts_ns - k * 50_000) as i64);
        }
        assert_eq!(finder.finish().changes(), 0);
    }

    #[test]
    fn more_changes_than_can_be_kept_are_told() {
        let mut finder = OffsetFinder::default();
        for k in 0..100u64 {
            handlers(&mut finder, 10 * S + k * 40 * S, 20, (k * 30 * S) as i64);
        }
        let found = finder.finish();
        assert_eq!((found.parts.len(), found.changes()), (MOST_PIECES, MOST_PIECES - 1));
        let notes = found.notes();
        assert_eq!(notes.len(), MOST_TOLD + 2);
        assert!(notes[MOST_TOLD + 1].contains("from 2570.000 s on"), "{notes:?}");
    }
}
