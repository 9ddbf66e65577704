// SPDX-License-Identifier: GPL-2.0-only
//! The events of a workload: all of them in memory, or put together from the tape each time they are gone through.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::{Arc, Mutex};

use idlewise_idle::{SleepQuery, Ticks};
use idlewise_model::{Piece, PieceFlags, Pieces, PiecesError, TickGrid, WakeCause};

use crate::event::{WorkloadEvent, unsure};
use crate::sleep_lengths::SleepLengths;

/// The events of a [`crate::Workload`] in order of time, read a block at a time.
///
/// Where the idle periods of a tape are in memory its events are too. Otherwise every reader makes them anew, those of one block of
/// idle periods at a time.
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
    /// Those of a tape with these idle periods; where it does not tell for certain how long a CPU might have slept, `lengths`
    /// decides.
    pub(crate) fn new(pieces: &Pieces, lengths: SleepLengths) -> Result<Self, PiecesError> {
        let blocks = || EventBlocks(Source::Taped(Waits::new(pieces), lengths));
        if pieces.in_memory() {
            let mut events = Vec::with_capacity(pieces.len());
            for block in blocks() {
                events.extend_from_slice(&block?);
            }
            return Ok(events.into());
        }
        let mut len = 0;
        for block in blocks() {
            len += block?.len();
        }
        Ok(Self(Held::Taped { pieces: pieces.clone(), lengths, len }))
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

    /// One block after the other; a block may be empty.
    #[must_use]
    pub fn blocks(&self) -> EventBlocks<'_> {
        EventBlocks(match &self.0 {
            Held::Memory(all, _) => Source::Memory(Some(all)),
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

/// Goes through [`Events`].
pub struct EventBlocks<'e>(Source<'e>);

enum Source<'e> {
    Memory(Option<&'e [WorkloadEvent]>),
    Taped(Waits<'e>, SleepLengths),
}

impl<'e> Iterator for EventBlocks<'e> {
    type Item = Result<Cow<'e, [WorkloadEvent]>, PiecesError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (waits, lengths) = match &mut self.0 {
            Source::Memory(all) => return all.take().map(|all| Ok(Cow::Borrowed(all))),
            Source::Taped(waits, lengths) => (waits, *lengths),
        };
        let mut events = Vec::new();
        let read = waits.next_block(|mut event, first| {
            if lengths != SleepLengths::Taped && unsure(&event) {
                lengths.apply(&mut event, first.flags.has(PieceFlags::TIMER_AT_MOST));
            }
            events.push(event);
        })?;
        Some(read.map(|()| Cow::Owned(events)))
    }
}

/// The waits of a tape: events, each with its first idle period.
pub(crate) struct Waits<'t> {
    pieces: &'t Pieces,
    /// Number of the block of idle periods that comes next.
    next: usize,
    /// A wait that is not over, with its first idle period.
    waiting: Option<(WorkloadEvent, Piece)>,
    /// The beginning of the visit was left out: what comes next begins it.
    begin: bool,
}

impl<'t> Waits<'t> {
    pub(crate) fn new(pieces: &'t Pieces) -> Self {
        Self { pieces, next: 0, waiting: None, begin: false }
    }

    /// Calls `wait` with each wait that ends in the next block of idle periods. What the last visit waits for lies beyond the
    /// recording: it is left out.
    pub(crate) fn next_block(
        &mut self,
        mut wait: impl FnMut(WorkloadEvent, &Piece),
    ) -> Option<Result<(), PiecesError>> {
        let block = match self.pieces.block(self.next)? {
            Ok(block) => block,
            Err(e) => return Some(Err(e)),
        };
        self.next += 1;
        for piece in &*block {
            if let Some((event, first)) = self.go_on(*piece) {
                wait(event, &first);
            }
        }
        Some(Ok(()))
    }

    /// The wait that `piece` ends, if it ends one.
    #[inline]
    fn go_on(&mut self, mut piece: Piece) -> Option<(WorkloadEvent, Piece)> {
        // No governor was asked for what began so: none is asked in a replay.
        if piece.state == Piece::NO_GOVERNOR
            && (self.waiting.is_none() || piece.flags.has(PieceFlags::VISIT_START))
        {
            self.waiting = None;
            self.begin = true;
            return None;
        }
        if std::mem::take(&mut self.begin) {
            piece.flags.set(PieceFlags::VISIT_START, true);
        }
        let (event, first) = match self.waiting.take() {
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
            self.waiting = Some((event, first));
            return None;
        }
        event.is_sane().then_some((event, first))
    }
}

/// What a run asks its events of.
pub(crate) trait Ahead {
    /// An event, or where it is.
    type Event: Borrow<WorkloadEvent>;

    /// Event number `n`, which is waited for now; no earlier one will be asked for again.
    fn now(&mut self, n: usize) -> Result<Option<Self::Event>, PiecesError>;

    /// Event number `n`, which is still to come.
    fn later(&mut self, n: usize) -> Result<Option<Self::Event>, PiecesError>;

    /// What [`WorkloadEvent::first_query`] gives for event number `n`, where it is known already.
    fn first_query(&self, n: usize) -> Option<&SleepQuery>;
}

/// Events of a tape that are kept in memory between runs.
pub(crate) struct Prepared<'e> {
    events: &'e [WorkloadEvent],
    queries: Arc<Queries>,
}

impl<'e> Ahead for Prepared<'e> {
    type Event = &'e WorkloadEvent;

    #[inline]
    fn now(&mut self, n: usize) -> Result<Option<&'e WorkloadEvent>, PiecesError> {
        Ok(self.events.get(n))
    }

    #[inline]
    fn later(&mut self, n: usize) -> Result<Option<&'e WorkloadEvent>, PiecesError> {
        Ok(self.events.get(n))
    }

    #[inline]
    fn first_query(&self, n: usize) -> Option<&SleepQuery> {
        Some(&self.queries.all[n])
    }
}

/// A window on events that are put together from the tape.
pub(crate) struct Window<'e> {
    rest: EventBlocks<'e>,
    /// From number `from` on.
    seen: Vec<WorkloadEvent>,
    from: usize,
    /// No earlier one is asked for again.
    now: usize,
}

impl<'e> Window<'e> {
    pub(crate) fn new(events: &'e Events) -> Self {
        Self { rest: events.blocks(), seen: Vec::new(), from: 0, now: 0 }
    }

    /// Reads on until event number `n` is there, or none is left.
    #[cold]
    fn go_on(&mut self, n: usize) -> Result<(), PiecesError> {
        self.seen.drain(..self.seen.len().min(self.now.saturating_sub(self.from)));
        self.from = self.now;
        while n - self.from >= self.seen.len()
            && let Some(block) = self.rest.next()
        {
            self.seen.extend_from_slice(&block?);
        }
        Ok(())
    }
}

impl Ahead for Window<'_> {
    type Event = WorkloadEvent;

    #[inline]
    fn now(&mut self, n: usize) -> Result<Option<WorkloadEvent>, PiecesError> {
        self.now = n;
        self.later(n)
    }

    #[inline]
    fn later(&mut self, n: usize) -> Result<Option<WorkloadEvent>, PiecesError> {
        if n - self.from >= self.seen.len() {
            self.go_on(n)?;
        }
        Ok(self.seen.get(n - self.from).copied())
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
