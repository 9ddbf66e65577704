// SPDX-License-Identifier: GPL-2.0-only
use serde::{Deserialize, Serialize};

use crate::{Confidence, WakeCause};

/// What happened to the tick at one idle entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TickChoice {
    Kept,
    /// It was running and was stopped for this idle period.
    Stopped,
    /// It had been stopped earlier in the visit.
    WasStopped,
    /// The recording does not tell.
    Unknown,
}

impl TickChoice {
    /// All of them, in order.
    pub const ALL: [Self; 4] = [Self::Kept, Self::Stopped, Self::WasStopped, Self::Unknown];

    /// The words that JSON uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Stopped => "stopped",
            Self::WasStopped => "was stopped",
            Self::Unknown => "unknown",
        }
    }
}

/// The verdict of the cpuidle core on one idle period (`governor-behaviour.md` 1.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub enum Miss {
    /// The state was right, or no better one was enabled.
    #[default]
    None,
    /// Too deep: the idle period was shorter than the entered state's target residency.
    Above,
    /// Too shallow: the idle period would have paid for the next enabled deeper state.
    Below,
}

/// What is wrong with a choice that the core carries out all the same (`governor-behaviour.md` 1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// A state that is switched off, although another is on.
    pub disabled: bool,
    /// A state above the latency limit, although one that is on keeps it.
    pub over_limit: bool,
    /// No state of the table; the nearest is taken.
    pub no_state: bool,
}

impl Breach {
    /// Nothing is wrong with the choice.
    pub const NONE: Self = Self { disabled: false, over_limit: false, no_state: false };
}

/// How an entry ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The CPU was in state `entered` (which a driver may have made shallower than the selected one).
    Stayed {
        /// Index of the entered state.
        entered: u8,
        miss: Miss,
    },
    Rejected,
}

impl Outcome {
    /// The words of all verdicts.
    pub const VERDICTS: [&'static str; 4] = ["right", "too deep", "too shallow", "rejected"];

    /// Which of [`Outcome::VERDICTS`] it is.
    #[must_use]
    pub fn verdict(self) -> usize {
        match self {
            Self::Stayed { miss: Miss::None, .. } => 0,
            Self::Stayed { miss: Miss::Above, .. } => 1,
            Self::Stayed { miss: Miss::Below, .. } => 2,
            Self::Rejected => 3,
        }
    }
}

/// One line of the ledger: one idle entry, in a recording or a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub cpu: u32,
    /// When the state was entered, ns.
    pub start_ns: u64,
    /// `last_residency_ns` as the kernel measures it; 0 when rejected.
    pub residency_ns: i64,
    /// From entry to the wake event, ns.
    pub wake_ns: i64,
    /// From the wake event to the first instruction after the state, ns.
    pub latency_ns: i64,
    /// For a wake that was only the tick: how long its handlers ran, ns; the CPU was awake for nothing else. 0 for all
    /// others.
    pub tick_ns: i64,
    /// How long the CPU ran for the idle loop alone ([`crate::LoopCosts`]), ns; 0 where that is part of other times.
    pub loop_ns: u32,
    /// What the governor chose.
    pub selected: u8,
    pub outcome: Outcome,
    /// What woke the CPU.
    pub cause: WakeCause,
    /// The tick at this entry.
    pub tick: TickChoice,
    /// What is wrong with the choice, as far as it is known.
    pub breach: Breach,
}

/// One decision of a governor: what it was given, what it answered, and what it could not know. The [`Entry`] that follows says
/// what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunDecision {
    /// When the state will be entered, ns.
    pub start_ns: u64,
    /// Time to the next event if the tick is stopped, ns; [`crate::NEVER_NS`] for none.
    pub sleep_length_ns: i64,
    /// The same if it is kept.
    pub delta_tick_ns: i64,
    /// How well both are known.
    pub timers: Confidence,
    /// The tick had been stopped before.
    pub tick_stopped: bool,
    /// [`crate::NO_LATENCY_LIMIT_NS`] for none.
    pub latency_limit_ns: i64,
    /// Effective utilisation of the CPU, 0..=1024.
    pub util: u32,
    /// Tasks waiting for I/O on the CPU.
    pub iowait: u32,
    /// Bit i for a state that is off.
    pub disabled: u16,
    /// The governor's answer about the tick.
    pub stop_tick: bool,
    /// Whether it asked for the sleep length.
    pub asked_sleep_length: bool,
    /// What the oracle would choose here.
    pub oracle_state: u8,
    /// Its answer about the tick.
    pub oracle_stop_tick: bool,
}

/// Takes a run's entries as they happen, in order of time for each CPU.
pub trait Ledger {
    /// Whether it wants to hear of decisions, too.
    const DECISIONS: bool = false;

    /// Takes one idle period, in the order of time on its CPU.
    fn entry(&mut self, entry: &Entry);

    /// Takes the decision that leads to the next entry; only of a run that has such decisions, and where it wants them.
    fn decision(&mut self, decision: &RunDecision) {
        let _ = decision;
    }

    /// What follows belongs to the wait for the workload's event number `event`, where a run has such events.
    fn waits_for(&mut self, event: usize) {
        let _ = event;
    }

    /// An event came while the CPU was still on its way out of a state, and had to wait for `latency_ns`.
    fn overtaken(&mut self, latency_ns: u64) {
        let _ = latency_ns;
    }
}

/// A pair of ledgers: each takes every entry.
impl<A: Ledger, B: Ledger> Ledger for (A, B) {
    const DECISIONS: bool = A::DECISIONS || B::DECISIONS;

    #[inline]
    fn entry(&mut self, entry: &Entry) {
        self.0.entry(entry);
        self.1.entry(entry);
    }

    #[inline]
    fn decision(&mut self, decision: &RunDecision) {
        self.0.decision(decision);
        self.1.decision(decision);
    }

    #[inline]
    fn waits_for(&mut self, event: usize) {
        self.0.waits_for(event);
        self.1.waits_for(event);
    }

    #[inline]
    fn overtaken(&mut self, latency_ns: u64) {
        self.0.overtaken(latency_ns);
        self.1.overtaken(latency_ns);
    }
}

/// For runs of which nobody asks what happened.
impl Ledger for () {
    #[inline]
    fn entry(&mut self, _: &Entry) {}
}

impl Ledger for Vec<Entry> {
    fn entry(&mut self, entry: &Entry) {
        self.push(*entry);
    }
}
