// SPDX-License-Identifier: GPL-2.0-only
//! What is still to come.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Something that will happen. CPUs, tasks, clocks and sources are indices; `turn` counts how often it was set anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedEvent {
    /// What a CPU does now comes to its end, unless `turn` is over.
    Segment {
        cpu: u32,
        turn: u32,
    },
    /// The timer of a CPU fires, unless it was set anew.
    Timer {
        cpu: u32,
        turn: u32,
    },
    /// An interrupt reaches a CPU.
    Interrupt {
        cpu: u32,
        irq: Irq,
    },
    /// A task is made.
    Start {
        task: u32,
    },
    /// A change of a clock is done, unless `turn` is over.
    ClockSet {
        clock: u32,
        turn: u32,
    },
    /// A frequency governor wants to be asked, unless `turn` is over.
    ClockTimer {
        clock: u32,
        turn: u32,
    },
    /// Power limits are sampled.
    PowerSample,
    /// A request arrives; `left` more of its burst follow.
    Arrival {
        source: u32,
        left: u32,
    },
    /// A CPU's turn on the machine's one thread is over, unless `turn` is over.
    Turn {
        turn: u32,
    },
    End,
}

/// An interrupt that a simulated CPU has to handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Irq {
    /// The CPU's own timer.
    Timer,
    /// Another CPU wants this one to look at its queue.
    Ipi,
    /// A device has finished the request of `task`.
    Device { device: u32, task: u32 },
    /// A request came in.
    Request { source: u32 },
}

/// The greatest is what comes first.
#[derive(Clone, Copy, Debug)]
struct Announced {
    at_ns: u64,
    number: u64,
    what: QueuedEvent,
}

impl Announced {
    /// One number, as one comparison is less than two.
    #[inline]
    fn order(&self) -> u128 {
        u128::from(self.at_ns) << 64 | u128::from(self.number)
    }
}

impl Ord for Announced {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        other.order().cmp(&self.order())
    }
}

impl PartialOrd for Announced {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    #[inline]
    fn le(&self, other: &Self) -> bool {
        other.order() <= self.order()
    }
}

impl PartialEq for Announced {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Announced {}

/// Events in order of time; of the same time, in the order in which they were announced.
#[derive(Debug, Default)]
pub struct Queue {
    heap: BinaryHeap<Announced>,
    announced: u64,
}

impl Queue {
    /// Announces `what` for `at_ns`.
    #[inline]
    pub fn push(&mut self, at_ns: u64, what: QueuedEvent) {
        self.announced += 1;
        self.heap.push(Announced { at_ns, number: self.announced, what });
    }

    /// What comes next, and when, ns.
    #[inline]
    pub fn pop(&mut self) -> Option<(u64, QueuedEvent)> {
        self.heap.pop().map(|next| (next.at_ns, next.what))
    }
}
