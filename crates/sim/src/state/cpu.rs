// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::Slot;
use idlewise_idle::IdleCpu;
use idlewise_model::WakeCause;
use idlewise_signal::pelt::Rq;

use crate::state::server::FairServer;
use crate::state::turns::Share;
use idlewise_parts::fair::FairQueue;
use idlewise_parts::queue::Irq;
use idlewise_parts::timers::{NEVER_NS, Timers};

/// What a CPU is doing; a *segment* is a part of it that ends at a known time unless something comes between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It does its task's work, since then, ns. Interrupts come between.
    Task { since_ns: u64 },
    /// It is in the kernel. Interrupts wait until the segment's end.
    Kernel(Then),
    /// It sleeps in an idle state.
    Sleep,
    /// It is on its way out of it.
    Exit,
    /// It polls in the idle task. Interrupts come between.
    Poll,
}

/// What follows a segment in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The handlers of the interrupts at hand have their effect.
    Irqs,
    IrqsLeft,
    /// The task's step has its effect.
    Step,
    /// The next task, or the idle task, runs.
    Switched,
    /// The governor is asked.
    Ask,
    /// The tick is stopped, and the state entered.
    Enter,
    /// The driver has refused the state.
    Refused,
    /// The idle task is left.
    Leave,
}

/// A stay in an idle state that is not over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    pub(crate) state: usize,
    /// The state that its core is left from: a shallower one where a thread of it was awake.
    pub(crate) reached: usize,
    pub(crate) start_ns: u64,
    /// When a polling state gives up, ns.
    pub(crate) poll_until_ns: u64,
    /// The wake event, ns, once it came.
    pub(crate) wake_at_ns: u64,
    /// When the state was left, or will be, ns, once it is known.
    pub(crate) exit_at_ns: u64,
    /// What it was, as far as it is known.
    pub(crate) cause: Option<WakeCause>,
    pub(crate) tick_ran: bool,
}

/// One CPU's run queue, clock and idle state during a run.
#[derive(Debug)]
pub(crate) struct Cpu<'t> {
    pub(crate) idle: IdleCpu<'t>,
    pub(crate) slot: Slot,
    pub(crate) mode: Mode,
    /// Segments that were announced before are over.
    pub(crate) turn: u32,
    /// Work done in 2^-20 ns at speed 1024, for each ns.
    pub(crate) speed: u64,
    /// The same while no other thread of the core is busy.
    pub(crate) speed_alone: u64,
    /// It sleeps or polls, and leaves the core to its other threads.
    pub(crate) rests: bool,
    /// How much longer the next task's first work takes, ns: the CPU's caches are cold.
    pub(crate) cold_ns: u64,
    /// Interrupts that wait to be handled, and those that are being handled.
    pub(crate) pending: Vec<Irq>,
    pub(crate) handling: Vec<Irq>,
    pub(crate) need_resched: bool,
    /// Another CPU's interrupt about that is on its way.
    pub(crate) ipi_sent: bool,
    /// The task that it runs; nothing for the idle task.
    pub(crate) curr: Option<u32>,
    /// Up to when `curr`'s time was charged, ns.
    pub(crate) charged_ns: u64,
    pub(crate) fair: FairQueue,
    /// Real-time and deadline tasks that wait, by coming.
    pub(crate) first: Vec<u32>,
    pub(crate) pelt: Rq,
    pub(crate) timers: Timers,
    pub(crate) server: FairServer,
    /// When the tick is due, ns, unless it is stopped.
    pub(crate) tick_at_ns: u64,
    /// What the timer was set to, ns.
    pub(crate) timer_at_ns: u64,
    pub(crate) timer_turn: u32,
    pub(crate) stay: Option<Stay>,
    /// Where CPUs take turns.
    pub(crate) share: Share,
    /// Tasks that ran here and wait for a device.
    pub(crate) iowait: u32,
    /// Times that the idle task was entered.
    pub(crate) idle_entries: u64,
    /// Time that it ran tasks, ns.
    pub(crate) busy_ns: u64,
    /// Time in idle states that do not poll, ns, and since when it is in one.
    pub(crate) asleep_ns: u64,
    pub(crate) asleep_since_ns: Option<u64>,
    /// When a task was woken here since the CPU is idle, ns, if that was seen here: for its averages idling ends then.
    pub(crate) woken_ns: Option<u64>,
}

impl<'t> Cpu<'t> {
    pub(crate) fn new(idle: IdleCpu<'t>, slot: Slot, capacity: u32, tick_at_ns: u64) -> Self {
        Self {
            idle,
            slot,
            mode: Mode::Kernel(Then::Switched),
            turn: 0,
            speed: 1 << 20,
            speed_alone: 1 << 20,
            rests: false,
            cold_ns: 0,
            pending: Vec::new(),
            handling: Vec::new(),
            need_resched: false,
            ipi_sent: false,
            curr: None,
            charged_ns: 0,
            fair: FairQueue::default(),
            first: Vec::new(),
            pelt: Rq::new(capacity),
            timers: Timers::default(),
            server: FairServer::default(),
            tick_at_ns,
            timer_at_ns: NEVER_NS,
            timer_turn: 0,
            stay: None,
            share: Share::default(),
            iowait: 0,
            idle_entries: 0,
            busy_ns: 0,
            asleep_ns: 0,
            asleep_since_ns: None,
            woken_ns: None,
        }
    }

    #[inline]
    pub(crate) fn waiting(&self) -> usize {
        self.fair.waiting().len() + self.first.len()
    }

    /// Nothing runs or waits here.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.curr.is_none() && self.waiting() == 0
    }

    /// How long `ns` of the kernel's own work take here.
    #[inline]
    pub(crate) fn takes(&self, ns: u64) -> u64 {
        if self.speed == 1 << 20 { ns } else { (ns << 20) / self.speed.max(1) }
    }
}
