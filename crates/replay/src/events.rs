// SPDX-License-Identifier: GPL-2.0-only
//! The events of a workload: all of them in memory, or put together from the tape each time they are gone through.

use std::borrow::Borrow;
use std::fmt;
use std::sync::{Arc, Mutex};

use idlewise_idle::{SleepQuery, Ticks};
use idlewise_model::{Piece, PieceFlags, PieceIter, Pieces, TickGrid, WakeCause};

use crate::event::{WorkloadEvent, unsure};
use crate::sleep_lengths::SleepLengths;

/// Events that are put together from the tape at a time.
const WINDOW: usize = 512;

/// The events of a [`crate::Workload`] in order of time.
///
/// Where the stays of a tape are in memory its events are too. Otherwise they are made anew by every reader, a few at a
/// time; what was made of them is only true if there is no [`Events::failure`].
#[derive(Clone)]
pub struct Events(Held);

#[derive(Clone)]
enum Held {
    Memory(Vec<WorkloadEvent>, Shared),
    Taped { pieces: Pieces, lengths: SleepLengths, len: usize },
}

/// Queries that a run leaves for the next ones. Nobody waits for it: a process of a foreign governor is a copy of this one, made
/// while other threads run, and what one of them holds at that moment is held there forever.
type Shared = Arc<Mutex<Option<Arc<Queries>>>>;

/// What [`WorkloadEvent::first_query`] gives for each event of a CPU with the ticks of `grid`.
struct Queries {
    grid: TickGrid,
    all: Vec<SleepQuery>,
}

impl Events {
    /// Those of a tape with these stays; where it does not tell for certain how long a CPU might have slept, `lengths`
    /// decides.
    pub(crate) fn new(pieces: &Pieces, lengths: SleepLengths) -> Self {
        let all = EventIter(Source::Taped(Waits::new(pieces), lengths));
        Self(if pieces.in_memory() {
            let mut events = Vec::with_capacity(pieces.len());
            events.extend(all);
            Held::Memory(events, Shared::default())
        } else {
            let len = all.count();
            Held::Taped { pieces: pieces.clone(), lengths, len }
        })
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Held::Memory(all, _) => all.len(),
            Held::Taped { len, .. } => *len,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One after the other.
    #[must_use]
    pub fn iter(&self) -> EventIter<'_> {
        EventIter(match &self.0 {
            Held::Memory(all, _) => Source::Memory(all.iter()),
            Held::Taped { pieces, lengths, .. } => Source::Taped(Waits::new(pieces), *lengths),
        })
    }

    /// All of them, where they are in memory.
    #[must_use]
    pub fn in_memory(&self) -> Option<&[WorkloadEvent]> {
        match &self.0 {
            Held::Memory(all, _) => Some(all),
            Held::Taped { .. } => None,
        }
    }

    /// The same, with what depends on no governor, on a CPU with the ticks of `grid`; `None` where they are not in memory.
    pub(crate) fn prepared(&self, grid: TickGrid) -> Option<Prepared<'_>> {
        let Held::Memory(events, shared) = &self.0 else { return None };
        let left = shared.try_lock().ok().and_then(|queries| queries.clone());
        if let Some(queries) = left.filter(|queries| queries.grid == grid) {
            return Some(Prepared { events, queries });
        }
        let ticks = Ticks::new(grid);
        let all = events.iter().map(|e| e.first_query(&ticks)).collect();
        let queries = Arc::new(Queries { grid, all });
        if let Ok(mut place) = shared.try_lock() {
            *place = Some(Arc::clone(&queries));
        }
        Some(Prepared { events, queries })
    }

    /// Why a reader did not get all of them ([`Pieces::failure`]).
    #[must_use]
    pub fn failure(&self) -> Option<&str> {
        match &self.0 {
            Held::Memory(..) => None,
            Held::Taped { pieces, .. } => pieces.failure(),
        }
    }
}

impl Default for Events {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl From<Vec<WorkloadEvent>> for Events {
    fn from(all: Vec<WorkloadEvent>) -> Self {
        Self(Held::Memory(all, Shared::default()))
    }
}

impl FromIterator<WorkloadEvent> for Events {
    fn from_iter<I: IntoIterator<Item = WorkloadEvent>>(all: I) -> Self {
        Self(Held::Memory(all.into_iter().collect(), Shared::default()))
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Held::Memory(all, _) => f.debug_list().entries(all).finish(),
            Held::Taped { pieces, lengths, len } => write!(f, "{len} of {pieces:?}, {lengths:?}"),
        }
    }
}

impl<'e> IntoIterator for &'e Events {
    type Item = WorkloadEvent;
    type IntoIter = EventIter<'e>;

    fn into_iter(self) -> EventIter<'e> {
        self.iter()
    }
}

/// Goes through [`Events`].
#[derive(Clone, Debug)]
pub struct EventIter<'e>(Source<'e>);

#[derive(Clone, Debug)]
enum Source<'e> {
    Memory(std::slice::Iter<'e, WorkloadEvent>),
    Taped(Waits<'e>, SleepLengths),
}

impl Iterator for EventIter<'_> {
    type Item = WorkloadEvent;

    fn next(&mut self) -> Option<WorkloadEvent> {
        match &mut self.0 {
            Source::Memory(all) => all.next().copied(),
            Source::Taped(waits, lengths) => {
                let (mut event, first) = waits.next()?;
                if *lengths != SleepLengths::Taped && unsure(&event, &first) {
                    lengths.apply(&mut event, first.flags.has(PieceFlags::TIMER_AT_MOST));
                }
                Some(event)
            }
        }
    }
}

/// The waits of a tape: events, each with its first stay.
#[derive(Clone, Debug)]
pub(crate) struct Waits<'t> {
    pieces: PieceIter<'t>,
    /// The beginning of the visit was left out: what comes next begins it.
    begin: bool,
}

impl<'t> Waits<'t> {
    pub(crate) fn new(pieces: &'t Pieces) -> Self {
        Self { pieces: pieces.iter(), begin: false }
    }
}

impl Iterator for Waits<'_> {
    type Item = (WorkloadEvent, Piece);

    #[inline]
    fn next(&mut self) -> Option<(WorkloadEvent, Piece)> {
        let mut waiting: Option<(WorkloadEvent, Piece)> = None;
        for mut piece in self.pieces.by_ref() {
            // No governor was asked for what began so: none is asked in a replay.
            if piece.state == Piece::NO_GOVERNOR
                && (waiting.is_none() || piece.flags.has(PieceFlags::VISIT_START))
            {
                waiting = None;
                self.begin = true;
                continue;
            }
            if std::mem::take(&mut self.begin) {
                piece.flags.set(PieceFlags::VISIT_START, true);
            }
            let (event, first) = match waiting.take() {
                Some((mut e, first)) if !piece.flags.has(PieceFlags::VISIT_START) => {
                    e.take_end_of(&piece);
                    (e, first)
                }
                _ => (WorkloadEvent::from_piece(&piece), piece),
            };
            let over = piece.flags.has(PieceFlags::VISIT_END);
            let not_an_event = piece.flags.has(PieceFlags::REJECTED)
                || piece.cause == WakeCause::Tick && !piece.flags.has(PieceFlags::MORE_CAME)
                || piece.cause == WakeCause::PollLimit;
            if not_an_event && !over {
                waiting = Some((event, first));
            } else if event.is_sane() {
                return Some((event, first));
            }
        }
        // What the last visit waited for lies beyond the recording: it is left out.
        None
    }
}

/// What a run asks its events of.
pub(crate) trait Ahead {
    /// An event, or where it is.
    type Event: Borrow<WorkloadEvent>;

    /// Event number `n`, which is waited for now; no earlier one will be asked for again.
    fn now(&mut self, n: usize) -> Option<Self::Event>;

    /// Event number `n`, which is still to come.
    fn later(&mut self, n: usize) -> Option<Self::Event>;

    /// What [`WorkloadEvent::first_query`] gives for event number `n`, where it is known already.
    fn first_query(&self, n: usize) -> Option<&SleepQuery>;
}

/// Events in memory.
pub(crate) struct Prepared<'e> {
    events: &'e [WorkloadEvent],
    queries: Arc<Queries>,
}

impl<'e> Ahead for Prepared<'e> {
    type Event = &'e WorkloadEvent;

    #[inline]
    fn now(&mut self, n: usize) -> Option<&'e WorkloadEvent> {
        self.events.get(n)
    }

    #[inline]
    fn later(&mut self, n: usize) -> Option<&'e WorkloadEvent> {
        self.events.get(n)
    }

    #[inline]
    fn first_query(&self, n: usize) -> Option<&SleepQuery> {
        Some(&self.queries.all[n])
    }
}

/// A window on events that are put together from the tape.
pub(crate) struct Window<'e> {
    rest: EventIter<'e>,
    /// From number `from` on.
    seen: Vec<WorkloadEvent>,
    from: usize,
    /// No earlier one is asked for again.
    now: usize,
}

impl<'e> Window<'e> {
    pub(crate) fn new(events: &'e Events) -> Self {
        Self { rest: events.iter(), seen: Vec::new(), from: 0, now: 0 }
    }

    #[cold]
    fn go_on(&mut self) {
        self.seen.drain(..self.seen.len().min(self.now.saturating_sub(self.from)));
        self.from = self.now;
        self.seen.extend(self.rest.by_ref().take(WINDOW));
    }
}

impl Ahead for Window<'_> {
    type Event = WorkloadEvent;

    #[inline]
    fn now(&mut self, n: usize) -> Option<WorkloadEvent> {
        self.now = n;
        self.later(n)
    }

    #[inline]
    fn later(&mut self, n: usize) -> Option<WorkloadEvent> {
        if n.wrapping_sub(self.from) >= self.seen.len() {
            self.go_on();
        }
        self.seen.get(n.wrapping_sub(self.from)).copied()
    }

    #[inline]
    fn first_query(&self, _n: usize) -> Option<&SleepQuery> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in a process that was forked while another thread held them.
    #[test]
    fn nobody_waits_for_shared_queries() {
        let events = Events::default();
        let Held::Memory(_, shared) = &events.0 else { unreachable!("no events are in memory") };
        let _held = shared.lock().unwrap();
        assert!(events.prepared(TickGrid::from_hz(250)).is_some());
    }
}
