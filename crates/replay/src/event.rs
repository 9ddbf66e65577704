// SPDX-License-Identifier: GPL-2.0-only
use idlewise_idle::{NEVER_AT_NS, SleepQuery, Ticks, Timers};
use idlewise_model::{Confidence, NEVER_NS, Piece, PieceFlags, WakeCause};

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
    /// When the clock event comes that is still programmed for a timer that was cancelled, ns; [`NEVER_AT_NS`] for none.
    pub stale_event_at_ns: u64,
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
    /// The tick is stopped where the visit begins: a task left it so (`NO_HZ_FULL`), or no governor was asked earlier in the visit.
    pub tick_off: bool,
    /// Until then, from `start_ns` on, the kernel needed the tick for reasons of its own, ns; 0 if it did not.
    pub tick_needed_ns: u32,
    /// How well the two timers are known.
    pub timers: Confidence,
}

/// A timer that ends a wait was what the CPU waited for, whatever else is known.
pub(crate) fn unsure(event: &WorkloadEvent) -> bool {
    event.timers >= Confidence::Bounded && !event.cause.is_timer()
}

/// Waits longer than this and times beyond this are no kernel's, ns: an hour, and 146 years. Replaying the ticks of such
/// a wait would take for ever.
const LONGEST_WAIT_NS: u64 = 3_600_000_000_000;
const LATEST_NS: u64 = NEVER_AT_NS / 2;

impl WorkloadEvent {
    pub(crate) fn is_sane(&self) -> bool {
        self.at_ns < LATEST_NS && self.at_ns.saturating_sub(self.start_ns) <= LONGEST_WAIT_NS
    }

    /// The kernel's "now" for a CPU that comes from another task and becomes idle at `ready_ns`, ns.
    #[inline]
    pub(crate) fn now_ns(&self, ready_ns: u64) -> u64 {
        ready_ns.saturating_sub(self.entry_lag_ns.into())
    }

    /// The sleep length query of a CPU that comes from another task and becomes idle as recorded.
    pub(crate) fn first_query(&self, ticks: &Ticks) -> SleepQuery {
        let timers = Timers::Pending {
            hrtimer_at_ns: self.hrtimer_at_ns,
            wheel_at_ns: self.wheel_at_ns,
            stale_event_at_ns: self.stale_event_at_ns,
            tick_needed: self.tick_needed_ns > 0,
        };
        ticks.query(self.now_ns(self.start_ns), self.tick_off, &timers)
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
            stale_event_at_ns: at(p.stale_event_ns),
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
            tick_off: p.flags.has(PieceFlags::VISIT_START) && p.flags.has(PieceFlags::STOPPED_BEFORE),
            tick_needed_ns: if p.flags.has(PieceFlags::TICK_NEEDED) { clip(p.wake_ns) } else { 0 },
            timers: p.timer_confidence(),
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
