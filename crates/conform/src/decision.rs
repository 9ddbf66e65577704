// SPDX-License-Identifier: GPL-2.0-only
//! The stream of decisions that every kind of recording becomes.

use idlewise_governor::{Device, GovernorError, Inputs, StateValue};
use idlewise_model::{Asked, IdleTable, StateIndex};
use serde::{Deserialize, Serialize};

/// The kind of recording that decisions are from: it says what of a choice is compared, and how a divergence is worded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Source {
    /// A golden file: rows of compiled kernel code.
    #[default]
    GoldenFile,
    /// A table of decisions of a running kernel, recorded by BPF.
    DecisionTable,
    /// A trace with the overlay's events, which hold the inputs.
    Trace,
    /// The tape of a trace: inputs are derived from other events.
    Tape,
}

impl Source {
    /// How many divergences are kept for reading.
    pub(crate) fn kept(self) -> usize {
        match self {
            Self::GoldenFile => 5,
            Self::DecisionTable => 100,
            Self::Trace => 20,
            Self::Tape => 0,
        }
    }

    /// Whether a governor diverges that asks for the sleep length where the kernel's did not. In a golden file that is a
    /// difference in side effects only; in a table it tells versions of menu apart.
    pub(crate) fn compares_questions(self) -> bool {
        self == Self::Trace
    }

    /// Whether a governor diverges that leaves another limit of the polling loop. A table has the limit from before the choice.
    pub(crate) fn compares_poll_limits(self) -> bool {
        matches!(self, Self::GoldenFile | Self::Trace)
    }
}

/// A CPU on which decisions were made.
#[derive(Clone, Copy, Debug)]
pub struct Place<'t> {
    pub table: &'t IdleTable,
    /// 1024 for the fastest CPU of the machine.
    pub capacity: u32,
    /// Time between two ticks, ns.
    pub tick_period_ns: u64,
    /// The kernel's polling loop is that of a kernel before 5.11.
    pub old_polling: bool,
}

impl Place<'_> {
    /// How long the polling loop spins where no governor has set a limit, ns: since 5.11 [`IdleTable::poll_limit_ns`]; before,
    /// the target residency of the first enabled state, whatever it is, else a tick.
    pub(crate) fn poll_limit_ns(&self, disabled: u16) -> u64 {
        if !self.old_polling {
            return self.table.poll_limit_ns(disabled, self.tick_period_ns);
        }
        let mut states = self.table.states().iter().enumerate().skip(1);
        let first = states.find(|(i, _)| disabled >> i & 1 == 0);
        first.map_or(self.tick_period_ns, |(_, s)| s.target_residency_ns.unsigned_abs())
    }
}

/// Decisions of a kernel, in the order of their recording.
pub trait Decisions {
    /// Why they cannot all be read.
    type Error: Into<GovernorError>;

    /// The kind of recording.
    fn source(&self) -> Source;

    /// The tick period that governors are loaded with, ns.
    fn tick_period_ns(&self) -> u64;

    /// A CPU of the recording; nothing for one that no [`Step`] names.
    fn place(&self, cpu: u32) -> Option<Place<'_>>;

    /// What the kernel's governor went through, from the first event to the last.
    fn steps(&self) -> impl Iterator<Item = Result<Step, Self::Error>> + '_;

    /// Whether some [`Step::State`] is among the steps.
    fn has_state(&self) -> bool {
        false
    }

    /// Whether the kernel's governor was in charge before the recording began, in a state that is not known.
    fn begins_in_charge(&self) -> bool {
        false
    }

    /// Whether some decisions have a utilisation that may be off ([`Doubts::util_off`]).
    fn doubts_util(&self) -> bool {
        false
    }

    /// What the kernel's governor may have gone through before the recording began, where that is not known.
    fn histories(&self) -> Vec<Steps<'_, Self::Error>> {
        Vec::new()
    }
}

/// What a governor went through.
pub type Steps<'d, E> = Box<dyn Iterator<Item = Result<Step, E>> + 'd>;

/// One thing that the kernel's governor went through.
#[derive(Clone, Debug)]
pub enum Step {
    /// It was put in charge of a CPU.
    Enabled {
        /// Number of the CPU.
        cpu: u32,
        /// 1024 for the fastest CPU, where the recording says another than the machine.
        capacity: Option<u32>,
        /// The device as other governors had left it.
        device: DeviceState,
    },
    /// It was in charge already: the recording begins with its device in this state.
    InCharge {
        /// Number of the CPU.
        cpu: u32,
        device: DeviceState,
        /// Disabled states, bit i for state i.
        disabled: u16,
    },
    /// It chose a state.
    Decided(Decision),
    /// Its state about a CPU after its last choice there, as far as it decides on later ones. *reflect* leaves that as it is.
    State {
        /// Number of the CPU.
        cpu: u32,
        values: Vec<StateValue>,
    },
    /// Its choice ended, where the recording has that as an event of its own.
    Ended {
        /// Number of the CPU.
        cpu: u32,
        outcome: Outcome,
    },
    /// Events of this CPU are missing.
    Gap {
        /// Number of the CPU.
        cpu: u32,
    },
}

/// A CPU's cpuidle device between two idle periods.
#[derive(Clone, Copy, Debug)]
pub struct DeviceState {
    /// The state that a governor was last notified of; nothing for the -1 that a governor has put there.
    pub last_state: Option<StateIndex>,
    /// Length of the last idle period, ns.
    pub residency_ns: i64,
    /// Limit of the polling loop, ns.
    pub poll_limit_ns: u64,
    /// The last polling ended at its limit.
    pub poll_time_limit: bool,
}

impl DeviceState {
    /// The device of a CPU that no governor has had, with the states of `table`.
    pub(crate) fn fresh(table: &IdleTable) -> Self {
        Self { last_state: table.index(0), residency_ns: 0, poll_limit_ns: 0, poll_time_limit: false }
    }

    pub(crate) fn device(&self) -> Device {
        let mut device = Device::used(self.last_state);
        device.last_residency_ns = self.residency_ns;
        device.poll_limit_ns = self.poll_limit_ns;
        device.poll_time_limit = self.poll_time_limit;
        device
    }
}

/// A decision of the kernel's governor: what it knew, what it chose, what became of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The kind of recording.
    pub source: Source,
    /// Number of the CPU.
    pub cpu: u32,
    /// When, ns on the clock of the recording.
    pub at_ns: u64,
    /// Line of the unpacked file, from 1; 0 in a trace.
    pub line: u64,
    /// The number that a golden file gives it.
    pub step: u64,
    /// What the governor was given.
    pub inputs: Inputs,
    /// Disabled states, bit i for state i.
    pub disabled: u16,
    /// Residency (ns) and "polling ended at its limit", as the governor found them in its device, where they are recorded.
    pub found: Option<(u64, bool)>,
    /// The governor had been asked just before, and a reschedule came before the state was entered; that has no row of its own.
    pub asked_in_vain: bool,
    pub kernel: KernelChoice,
    /// What became of it, where the recording has that with the decision.
    pub outcome: Option<Outcome>,
    /// What makes the recording doubtful here.
    pub doubts: Doubts,
}

impl Decision {
    /// What the recording would show of the tick if the governor had asked to stop it (`ask`), or to keep it: whether it is
    /// stopped.
    pub(crate) fn shown_stop(&self, ask: bool) -> bool {
        match self.kernel.shown {
            Shown::Answer => ask,
            Shown::Effect { may_stop } => self.inputs.tick_stopped || ask && may_stop,
        }
    }
}

/// The choice of the kernel's governor, as far as it is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelChoice {
    /// The state; nothing where the recording does not have it, as of a choice that a reschedule took back.
    pub state: Option<i32>,
    /// The tick was to be stopped.
    pub stop_tick: Option<bool>,
    /// What the governor asked for, bits of [`Asked`].
    pub asked: Option<u32>,
    /// Limit of the polling loop, ns, and when it was read.
    pub poll_limit: Option<(PollLimitAt, u64)>,
    /// Whether these are the governor's answer or its effect.
    pub shown: Shown,
}

impl KernelChoice {
    /// Whether the governor asked for the sleep length, where the recording says.
    #[must_use]
    pub fn asked_sleep_length(&self) -> Option<bool> {
        self.asked.map(|mask| Asked(mask).has(Asked::SLEEP_LENGTH))
    }
}

/// What a governor answers here, as far as the recording shows it of the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema, Serialize, Deserialize)]
pub struct Answer {
    pub state: i32,
    /// The tick is to be stopped.
    pub stop_tick: bool,
    /// It asked for the sleep length; nothing where a recording of that kind never says whether the kernel's did.
    pub asked_sleep_length: Option<bool>,
    /// Limit of the polling loop, ns.
    pub poll_limit_ns: Option<u64>,
}

/// When a limit of the polling loop was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PollLimitAt {
    /// Before the governor was asked. It is compared, and the kernel's is taken.
    Asked,
    /// After it had answered. Likewise.
    Answered,
    /// After the idle period. It is compared only.
    Ended,
}

/// What a recording shows of a governor's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shown {
    #[default]
    Answer,
    /// What the kernel made of it: the state that it entered, the tick that was stopped, then or before.
    Effect {
        /// The tick would be stopped if the governor wanted it.
        may_stop: bool,
    },
}

/// What became of a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// A reschedule came before the state was entered. The governor does not learn of it.
    GivenUp,
    /// The driver refused the state. The governor does not learn of it.
    Refused {
        /// The tick's handler ran.
        tick_ran: bool,
    },
    Left {
        /// The state that was entered; the one chosen here where the recording does not say.
        entered: Option<usize>,
        /// How long, ns.
        residency_ns: i64,
        /// The CPU's clock when the governor learned of it, ns.
        clock_ns: u64,
        /// What is known of the tick.
        tick: TickSeen,
        /// Polling ended at its limit.
        poll_time_limit: bool,
    },
}

/// What a recording says of the tick's handler in an idle period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TickSeen {
    /// Whether it ran in this period.
    Ran(bool),
    /// Whether it had run since a governor last asked.
    Flag(bool),
}

/// What makes a recorded choice doubtful, or helps to tell why another one is made here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubts {
    /// Next to a choice that a reschedule took back: nothing recorded what that did.
    pub next_to_aborted: bool,
    /// Events were lost during the last idle periods.
    pub events_lost: bool,
    /// The timers are bounded or assumed.
    pub unsure_timers: bool,
    /// How far off the utilisation may be, either way, in its unit.
    pub util_off: u32,
    /// States that the kernel entered anywhere in the recording, bit i for state i.
    pub entered: u64,
}
