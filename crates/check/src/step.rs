// SPDX-License-Identifier: GPL-2.0-only
//! One idle period of a sequence, as it is given to a governor.

/// How an idle period ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// An event comes. Where the tick is kept and due before, the tick ends the period.
    Woken {
        /// From entry, ns.
        after_ns: u64,
        /// The tick's handler runs, too.
        tick: bool,
    },
    /// The driver refuses to enter the state.
    Rejected,
    /// A reschedule comes before the entry.
    Aborted,
}

/// A decision's inputs, and what happens after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// 0 or 1.
    pub(crate) cpu: u8,
    /// Time to the next event but the tick, ns; what the sleep length query answers.
    pub(crate) timer_ns: i64,
    /// Time to the next tick where it runs, ns.
    pub(crate) tick_in_ns: i64,
    /// Limit of the exit latency, ns.
    pub(crate) limit_ns: i64,
    /// Bit i for state i.
    pub(crate) disabled: u16,
    /// 0 to 1024.
    pub(crate) util: u32,
    /// Tasks that wait for I/O.
    pub(crate) iowait: u32,
    pub(crate) random: u32,
    pub(crate) end: End,
    /// No task was woken: the next idle period of this CPU finds the tick as this one leaves it.
    pub(crate) again: bool,
}
