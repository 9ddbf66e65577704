// SPDX-License-Identifier: GPL-2.0-only
//! What is known when a governor is asked.

use idlewise_model::NEVER_NS;

/// Absolute time that never comes, ns: `KTIME_MAX`.
pub const NEVER_AT_NS: u64 = NEVER_NS.unsigned_abs();

/// What the kernel knows about timers when the governor is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timers {
    /// The pending timers, times absolute, [`NEVER_AT_NS`] for none. The sleep length is computed from them.
    Pending {
        /// Earliest hrtimer of this CPU but the tick's own.
        hrtimer_at_ns: u64,
        /// Next expiry of the timer wheel as this CPU sees it.
        wheel_at_ns: u64,
        /// What the clock event is programmed for besides: a timer that was cancelled since (`governor-behaviour.md` 1.8).
        stale_event_at_ns: u64,
        /// RCU, irq_work or the like need the tick: the wheel counts as due one tick after the last.
        tick_needed: bool,
    },
    /// The sleep length query's own two answers, ns, as recorded.
    Known {
        /// Time to the next event if the tick is stopped.
        sleep_length_ns: i64,
        /// Time to the next event if the tick is kept.
        delta_tick_ns: i64,
    },
}

/// The moment at which the governor is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// When the state will be entered, ns.
    pub start_ns: u64,
    pub timers: Timers,
    /// Latency limit in force, ns (`governor-behaviour.md` 1.7).
    pub latency_limit_ns: i64,
    /// Effective utilisation of the CPU, 0..=1024.
    pub util: u32,
    /// Tasks waiting for I/O on this CPU.
    pub iowait: u32,
    /// The random number that the governor gets if it asks for one.
    pub random: u32,
    /// The next event other than the tick, ns, where the driver of the loop knows the future; only the oracle looks.
    pub wake_at_ns: u64,
    /// Whether it pays to stop the tick, where one is due before that, likewise.
    pub stop_pays: bool,
}
