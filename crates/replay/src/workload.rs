// SPDX-License-Identifier: GPL-2.0-only
use idlewise_idle::NEVER_AT_NS;
use idlewise_model::{Change, Confidence, CpuTape, NEVER_NS, Piece, PieceFlags, TickGrid, WakeCause};

use crate::events::{Events, Waits};
use crate::sleep_lengths::SleepLengths;

/// One event that wakes a CPU whatever governor runs, with what the kernel knew when the CPU began to wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadEvent {
    /// When the CPU had nothing left to do and would ask its governor, ns.
    pub start_ns: u64,
    /// When the event comes, ns.
    pub at_ns: u64,
    /// Earliest pending hrtimer but the tick's, ns; [`NEVER_AT_NS`] for none.
    pub hrtimer_at_ns: u64,
    /// Next expiry of the timer wheel, ns; [`NEVER_AT_NS`] for none.
    pub wheel_at_ns: u64,
    /// From the event to the exit as recorded, ns.
    pub exit_lag_ns: u32,
    /// From the event to its handler's first instruction as recorded, ns.
    pub response_ns: u32,
    /// From the exit to the end of the interrupt handlers, ns.
    pub handler_ns: u32,
    /// From the kernel's "now" to `start_ns`, ns.
    pub entry_lag_ns: u32,
    /// Utilisation, 0..=1024.
    pub util: u16,
    /// Tasks waiting for I/O.
    pub iowait: u16,
    /// The state in which the recording met this event, or none of a table ([`Piece::NO_STATE`], [`Piece::NO_GOVERNOR`]).
    pub state: u8,
    /// What the event is.
    pub cause: WakeCause,
    /// The CPU came from another task.
    pub visit_start: bool,
    /// The CPU goes to another task.
    pub visit_end: bool,
    /// Until then, from `start_ns` on, the kernel needed the tick for reasons of its own, ns; 0 if it did not.
    pub tick_needed_ns: u32,
}

/// What happens to one CPU whatever governor runs: its tape with the ticks, poll limits and refused entries taken out
/// and the pieces of each wait put together.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The CPU.
    pub cpu: u32,
    /// Its ticks.
    pub grid: TickGrid,
    /// How long the tick's handlers take, ns.
    pub tick_handler_ns: u64,
    /// Events in order of time.
    pub events: Events,
    /// Changes of the latency limit.
    pub latency: Vec<Change<i64>>,
    /// Changes of the disabled states.
    pub disabled: Vec<Change<u16>>,
    /// Entries that were refused, in order of time.
    pub refusals: Vec<Refusal>,
}

/// An entry that was refused in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// When, ns.
    pub at_ns: u64,
    /// How long it took, ns.
    pub took_ns: u64,
    /// Into which state.
    pub state: u8,
}

impl Workload {
    /// Takes the ticks out of `tape`.
    #[must_use]
    pub fn new(tape: &CpuTape) -> Self {
        Self::with(tape, SleepLengths::Taped)
    }

    /// The same; where `tape` does not tell for certain how long a CPU might have slept, `lengths` decides.
    #[must_use]
    pub fn with(tape: &CpuTape, lengths: SleepLengths) -> Self {
        Self {
            cpu: tape.cpu,
            grid: tape.tick,
            tick_handler_ns: tape.tick_handler_ns.into(),
            events: Events::new(&tape.pieces, lengths),
            latency: tape.latency.clone(),
            disabled: tape.disabled.clone(),
            refusals: tape
                .pieces
                .iter()
                .filter(|p| p.flags.has(PieceFlags::REJECTED))
                .map(|p| Refusal { at_ns: p.start_ns, took_ns: p.stay_ns(), state: p.state })
                .collect(),
        }
    }
}

/// How long a refused entry takes where the recording has none, ns. No kernel bounds it; those of a MediaTek MT8196
/// take 34 us at most.
const REFUSED_NS: u64 = 20_000;

impl Workload {
    /// How long an entry takes that is refused, ns: the median of the recording's.
    pub(crate) fn refused_ns(&self) -> u64 {
        let mut took: Vec<u64> = self.refusals.iter().map(|r| r.took_ns).collect();
        took.sort_unstable();
        took.get(took.len() / 2).copied().unwrap_or(REFUSED_NS).max(1)
    }
}

/// How many waits of `tape` have a sleep length that is not certain, and how many there are.
#[must_use]
pub fn unsure_waits(tape: &CpuTape) -> (u64, u64) {
    Waits::new(&tape.pieces)
        .fold((0, 0), |(unsures, all), (event, first)| (unsures + u64::from(unsure(&event, &first)), all + 1))
}

/// A timer that ends a wait was what the CPU waited for, whatever else is known.
pub(crate) fn unsure(event: &WorkloadEvent, first: &Piece) -> bool {
    first.timer_confidence() >= Confidence::Bounded && !event.cause.is_timer()
}

/// Waits longer than this and times beyond this are no kernel's, ns: an hour, and 146 years. Replaying the ticks of such
/// a wait would take for ever.
const LONGEST_WAIT_NS: u64 = 3_600_000_000_000;
const LATEST_NS: u64 = NEVER_AT_NS / 2;

impl WorkloadEvent {
    pub(crate) fn is_sane(&self) -> bool {
        self.at_ns < LATEST_NS && self.at_ns.saturating_sub(self.start_ns) <= LONGEST_WAIT_NS
    }

    pub(crate) fn from_piece(p: &Piece) -> Self {
        let at = |rel_ns: i64| {
            if rel_ns == NEVER_NS { NEVER_AT_NS } else { p.start_ns.saturating_add_signed(rel_ns) }
        };
        let (cause, at_ns) = what_came(p);
        Self {
            start_ns: p.start_ns,
            at_ns,
            hrtimer_at_ns: at(p.hrtimer_ns),
            wheel_at_ns: at(p.wheel_ns),
            exit_lag_ns: p.exit_lag_ns,
            response_ns: p.response_ns,
            handler_ns: p.handler_ns,
            entry_lag_ns: p.entry_lag_ns,
            util: p.util,
            iowait: p.iowait,
            state: p.state,
            cause,
            visit_start: p.flags.has(PieceFlags::VISIT_START),
            visit_end: p.flags.has(PieceFlags::VISIT_END),
            tick_needed_ns: if p.flags.has(PieceFlags::TICK_NEEDED) { clip(p.wake_ns) } else { 0 },
        }
    }

    /// The wait that began as `self` goes on in `p`.
    pub(crate) fn take_end_of(&mut self, p: &Piece) {
        (self.cause, self.at_ns) = what_came(p);
        self.exit_lag_ns = p.exit_lag_ns;
        self.response_ns = p.response_ns;
        self.handler_ns = p.handler_ns;
        self.state = p.state;
        self.visit_end = p.flags.has(PieceFlags::VISIT_END);
        if p.flags.has(PieceFlags::TICK_NEEDED) {
            self.tick_needed_ns = clip(self.at_ns.saturating_sub(self.start_ns));
        }
    }
}

/// What ended the wait that `p` ends, and when: where something else came after the tick in one wake, that. If the earliest hrtimer
/// was due before the handlers ended, it was that; its expiry is known.
fn what_came(p: &Piece) -> (WakeCause, u64) {
    let wake_at_ns = p.start_ns.saturating_add(p.wake_ns);
    if !p.flags.has(PieceFlags::MORE_CAME) {
        return (p.cause, wake_at_ns);
    }
    let handled_at_ns = p.exit_at_ns().saturating_add(p.handler_ns.into());
    let due_at_ns = p.start_ns.saturating_add_signed(p.hrtimer_ns);
    if p.hrtimer_ns != NEVER_NS && (wake_at_ns..=handled_at_ns).contains(&due_at_ns) {
        (WakeCause::Hrtimer, due_at_ns)
    } else {
        (WakeCause::Irq, wake_at_ns)
    }
}

fn clip(ns: u64) -> u32 {
    u32::try_from(ns).unwrap_or(u32::MAX)
}
