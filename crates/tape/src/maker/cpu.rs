// SPDX-License-Identifier: GPL-2.0-only
//! What is known of a CPU while its stays are written down.

use idlewise_model::{Confidence, Counted, GovernorName, Piece};

use crate::armed::{REFUTED, REFUTED_OF};
use crate::causes::Evidence;
use crate::rcu_softirq::RunKind;
use crate::spool::Stays;

/// The longest idle period of a CPU, ns.
#[derive(Clone, Copy, Default)]
pub(super) struct Longest {
    pub(super) ns: u64,
    pub(super) start_ns: u64,
    /// The longest time within it in which no CPU has an event.
    pub(super) silence_ns: u64,
}

/// What is known of a CPU so far.
#[derive(Default)]
pub(super) struct Cpu {
    pub(super) stays: Stays,
    pub(super) in_visit: bool,
    /// As it was counted last.
    pub(super) quiet: bool,
    pub(super) first_of_visit: bool,
    /// The kernel's `idle_entrytime`, ns, where the trace shows it.
    pub(super) now_ns: Option<u64>,
    pub(super) stopped: bool,
    pub(super) stopped_at_ns: u64,
    pub(super) stopped_before: bool,
    /// The visit began in sight, or the tick was seen to be stopped in it: before that it may have been stopped already.
    pub(super) tick_seen: bool,
    /// The tick was stopped while a task ran (`NO_HZ_FULL`), and has not been seen to go on since.
    pub(super) off_since_task: bool,
    /// When the tick's handler last ran, ns.
    pub(super) ticked_ns: u64,
    pub(super) gap: bool,
    pub(super) stay: Option<Stay>,
    /// When another CPU last sent this one an interrupt that has not come yet, ns; where such events are not recorded: began to
    /// wake a task for it.
    pub(super) sent_ns: Option<u64>,
    /// The governor in charge, where the recording names it, and how many idle periods it has chosen the state for.
    pub(super) governor: Option<GovernorName>,
    pub(super) governed: u64,
    /// Idle periods, and those that lasted beyond a tick that was not seen to stop.
    pub(super) written: u64,
    pub(super) spanned: u64,
    /// The governor has recorded a choice since the last idle entry.
    pub(super) chosen: bool,
    /// Such a choice would have been seen: the CPU has left an idle state since the recording, or its last gap, began.
    pub(super) choice_due: bool,
    /// When the last stay that was written down ended, ns.
    pub(super) told_to_ns: u64,
    /// All stays together, ns.
    pub(super) idle_ns: u64,
    pub(super) longest: Longest,
    pub(super) iowait: u16,
    pub(super) tick_handlers: Counted,
    /// How well it is known what the clock was programmed for, counted by grade.
    pub(super) programmed: [u64; 4],
    /// How well the times of wakes are known, counted by grade.
    pub(super) wakes: [u64; 4],
    /// RCU's requests for its softirq, as far as they can still matter.
    pub(super) rcu_requests: Vec<RcuRequest>,
    /// The runs of its softirq, likewise, and the last one before.
    pub(super) rcu_runs: Vec<RcuRun>,
    /// When RCU was last seen not to need this CPU's tick, ns.
    pub(super) no_callbacks_ns: u64,
}

impl Cpu {
    /// Whether so many idle periods span a tick that not all that stop it can be recorded.
    pub(super) fn doubts_stops(&self) -> bool {
        self.spanned >= REFUTED && self.spanned.saturating_mul(REFUTED_OF) > self.written
    }

    /// What was known of the visit does not hold any more: events were lost, or the clock jumped.
    pub(super) fn forget(&mut self) {
        self.gap = true;
        self.stay = None;
        self.sent_ns = None;
        self.choice_due = false;
        self.in_visit = false;
        self.stopped = false;
        self.stopped_before = false;
        self.tick_seen = false;
        self.now_ns = None;
    }
}

/// A stay that is not written down yet: its end or what followed is still to come.
pub(super) struct Stay {
    pub(super) piece: Piece,
    /// An interrupt was on its way at the entry.
    pub(super) sent_before: bool,
    /// The machine was suspended, or on its way there or back, at some time of the stay.
    pub(super) in_suspend: bool,
    /// Other CPUs switched this one off or on during the stay.
    pub(super) switched: bool,
    /// When another CPU first sent an interrupt during the stay, ns.
    pub(super) called_ns: Option<u64>,
    /// The tasks that other CPUs began to wake for this one during the stay, and when, ns.
    pub(super) wakings: Vec<(i32, u64)>,
    pub(super) programmed: Confidence,
    pub(super) exit_ns: Option<u64>,
    pub(super) seen: Evidence,
    /// What had been seen when the governor was notified of the stay, where more came after that.
    pub(super) told: Option<Evidence>,
    /// What had been seen when handlers began of which it is not known whether they came before or after that.
    pub(super) before_late: Option<Evidence>,
}

/// RCU's request for its softirq on a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct RcuRequest {
    pub(super) at_ns: u64,
    /// Stays that began since then, with their tick kept, waited for the same.
    pub(super) since_ns: u64,
    /// Stays that began since then may have: none of them stopped its tick.
    pub(super) open_since_ns: u64,
}

/// A run of RCU's softirq on a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct RcuRun {
    pub(super) begin_ns: u64,
    pub(super) kind: RunKind,
    /// Some stay is so near that it may have waited for this.
    pub(super) is_near: bool,
}
