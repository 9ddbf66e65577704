// SPDX-License-Identifier: GPL-2.0-only
//! An idle period that happens whatever governor runs.

use idlewise_idle::NEVER_AT_NS;
use idlewise_model::{Confidence, Piece, WakeCause};
use idlewise_replay::WorkloadEvent;
use serde::{Deserialize, Serialize};

/// When sequences begin, ns: as scrubbed tapes do.
pub(crate) const BEGINS_NS: u64 = 1_000_000_000;
/// How long the handler of what wakes the CPU runs, ns.
pub(crate) const HANDLER_NS: u32 = 1_000;

/// An idle period, by what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Period {
    /// How long the CPU is busy before, ns, from the end of the handler of the wakeup before.
    pub busy_ns: u64,
    /// From its begin to the wakeup, ns.
    pub woken_ns: u64,
    /// Time to the next timer, ns; nothing where none is armed. A timer that is due at the wakeup is the wakeup.
    pub timer_ns: Option<u64>,
    /// Share of time that the CPU was busy, 0 to 1024.
    pub util: u16,
    /// Tasks that wait for I/O.
    pub iowait: u16,
}

impl Period {
    /// Whether the timer is the wakeup.
    #[must_use]
    pub fn is_timer(&self) -> bool {
        self.timer_ns == Some(self.woken_ns)
    }

    /// Whether it can be: a timer that is due before the wakeup would have been the wakeup, unless somebody cancelled it.
    pub(crate) fn is_plausible(&self) -> bool {
        self.timer_ns.is_none_or(|timer_ns| timer_ns >= self.woken_ns)
    }

    /// What woke the CPU.
    pub(crate) fn cause(&self) -> WakeCause {
        if self.is_timer() { WakeCause::Hrtimer } else { WakeCause::Irq }
    }

    /// The events of a workload that `periods` are, one for each.
    pub(crate) fn events(periods: &[Self]) -> Vec<WorkloadEvent> {
        let mut now_ns = BEGINS_NS;
        let event = |p: &Self| {
            let start_ns = now_ns + p.busy_ns;
            let at_ns = start_ns + p.woken_ns;
            now_ns = at_ns + u64::from(HANDLER_NS);
            WorkloadEvent {
                start_ns,
                at_ns,
                hrtimer_at_ns: p.timer_ns.map_or(NEVER_AT_NS, |timer_ns| start_ns + timer_ns),
                wheel_at_ns: NEVER_AT_NS,
                stale_event_at_ns: NEVER_AT_NS,
                exit_lag_ns: 0,
                response_ns: 0,
                handler_ns: HANDLER_NS,
                entry_lag_ns: 0,
                util: p.util,
                iowait: p.iowait,
                state: Piece::NO_STATE,
                cause: p.cause(),
                visit_start: true,
                visit_end: true,
                tick_off: false,
                tick_needed_ns: 0,
                timers: Confidence::Recorded,
            }
        };
        periods.iter().map(event).collect()
    }

    /// The idle period that waits for `event`; the one before was over at `before_ns`.
    pub(crate) fn of(event: &WorkloadEvent, before_ns: u64) -> Self {
        let timer_at_ns = event.hrtimer_at_ns.min(event.wheel_at_ns);
        let woken_ns = event.at_ns.saturating_sub(event.start_ns).min(LONGEST_NS);
        let timer_ns = timer_at_ns.saturating_sub(event.start_ns);
        let late = event.cause.is_timer() && timer_ns <= woken_ns;
        Self {
            busy_ns: event.start_ns.saturating_sub(before_ns).min(LONGEST_NS),
            woken_ns,
            timer_ns: if late { Some(woken_ns) } else { (timer_at_ns < NEVER_AT_NS / 2).then_some(timer_ns) },
            util: event.util,
            iowait: event.iowait,
        }
    }
}

/// No CPU of a sequence is idle or busy longer, ns: a story gets no clearer by it, and a kept tick would come again and again in each of
/// thousands of trials.
const LONGEST_NS: u64 = 10_000_000_000;
