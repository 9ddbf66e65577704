// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A note, a warning or a reason of a result. It reads as its words; programs go by its id.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Note {
    pub id: NoteId,
    pub words: String,
}

macro_rules! ids {
    ($($(#[$what:meta])* $id:ident $name:literal)*) => {
        /// What a note says, whatever its numbers and names are. Each variant's comment is its row in `docs/reference/json.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
        pub enum NoteId {
            $($(#[$what])* #[serde(rename = $name)] $id,)*
        }

        impl NoteId {
            /// As JSON and tapes have it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$id => $name,)*
                }
            }

            /// The id of this name; nothing where there is none.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$id),)*
                    _ => None,
                }
            }
        }
    };
}

ids! {
    /// The result holds only if what an option says about a recording is true.
    Assumption "assumption"
    /// A replay makes less than 90 % of the choices of the recording's kernel.
    LowFidelity "low-fidelity"
    /// Choices that the kernel recorded with their inputs are not repeated.
    BrokenParity "broken-parity"
    /// The kernel's own misses contradict the table of the machine.
    OtherVerdicts "other-verdicts"
    /// The recording is of another kind of processor than the machine.
    OtherProcessor "other-processor"
    /// The machine lacks idle states that the recording has.
    LackingStates "lacking-states"
    /// The order of governors changes with sleep lengths that a recording leaves open, or with what the idle loop itself takes.
    OrderNotShown "order-not-shown"
    /// A governor takes less energy than the oracle, which is then no bound.
    BelowBound "below-bound"
    /// A governor crashed, did not come back or cannot be run: it has no result.
    GovernorFailed "governor-failed"
    /// A governor chose idle states that were disabled.
    ChoseDisabled "chose-disabled"
    /// A governor chose idle states above the latency limit.
    ChoseOverLimit "chose-over-limit"
    /// A governor's choices are no idle states of the table: the nearest was taken.
    ChoseNoState "chose-no-state"
    /// A governor keeps state that CPUs share; each CPU was replayed by itself.
    SharedState "shared-state"
    /// Idle periods during which the machine was suspended, or its guest paused, are left out.
    StoodStill "stood-still"
    /// Lines are missing: this time is left out.
    MissingLines "missing-lines"
    /// One idle period is most of a CPU's idle time, and nothing shows that the machine did not stand still.
    LongIdlePeriod "long-idle-period"
    /// One idle period is most of the idle time of CPUs; others were at work meanwhile.
    QuietCpus "quiet-cpus"
    /// Idle periods in which CPUs were switched off or on are left out.
    SwitchedCpus "switched-cpus"
    /// How many tasks wait for I/O is bounded only, and the kernel's choices tell that none does.
    NoIoWaits "no-io-waits"
    /// A comparison depends on few wake events.
    FewWakeEvents "few-wake-events"
    /// A difference of latencies is what remains of larger ones in both directions.
    LatencyCancels "latency-cancels"
    /// A difference of energies is what remains of larger ones in both directions.
    EnergyCancels "energy-cancels"
    /// The governors differ less often than replay differs from the kernel.
    BelowFidelity "below-fidelity"
    /// How the traces of a comparison agree.
    AcrossTraces "across-traces"
    /// How the CPUs of a comparison agree.
    AcrossCpus "across-cpus"
    /// A part of the workload is not modelled, or only roughly.
    Workload "workload"
    /// The clock frequencies of CPUs are not known: they run at one speed.
    NoFrequencies "no-frequencies"
    /// A simulated task never lets time pass and was stopped.
    EndlessTask "endless-task"
    /// There are too few runs for any difference to be significant.
    FewRuns "few-runs"
    /// The session of `idlewise ab` is not finished.
    Unfinished "unfinished"
    /// There are too few rounds for so many questions.
    ManyQuestions "many-questions"
    /// The runs of an arm differ much.
    Noise "noise"
    /// Values grow or fall during the session, under all arms.
    Drift "drift"
    /// A process holds a latency limit of 0: no governor is asked.
    LatencyLimitZero "latency-limit-zero"
    /// The CPUs entered only the first idle state.
    OnlyFirstState "only-first-state"
    /// Runs count although others used the CPUs.
    ForeignLoad "foreign-load"
    /// Runs were repeated because others used the CPUs.
    Repeated "repeated"
    /// CPUs were slowed down because of heat.
    Throttled "throttled"
    /// A limit of power or heat held clocks down.
    PowerLimited "power-limited"
    /// Whether a power limit held clocks down in runs is not known.
    PowerLimitUnknown "power-limit-unknown"
    /// CPUs were below their highest frequency after some runs.
    SlowedDown "slowed-down"
    /// CPUs were below their highest frequency after all runs.
    AlwaysSlow "always-slow"
    /// There are too few traced wakeups for a percentile.
    FewWakeups "few-wakeups"
    /// Tracing hides when tasks begin to run: wakeups are left out.
    HiddenWakeups "hidden-wakeups"
    /// The trace buffers were full before the end of a run.
    BuffersFull "buffers-full"
    /// Lines of a file are not what it is made of and are left out.
    OddLines "odd-lines"
    /// A replay prefers no governor, and why.
    NoPreference "no-preference"
    /// The replay has too few wakeups to prefer a governor.
    FewReplayed "few-replayed"
    /// Events of a trace are lost: its buffers were full or overwritten.
    LostEvents "lost-events"
    /// A trace is cut off or was not finished, or holds no data.
    CutOff "cut-off"
    /// A file holds more than one recording, buffer or machine; one is read.
    OtherRecording "other-recording"
    /// The times of a trace are coarse, of no known unit, or not of the timers' clock.
    TraceClock "trace-clock"
    /// The times of a trace are in no nanoseconds, and in no unit that is known.
    NoNanoseconds "no-nanoseconds"
    /// A text holds recordings of the same time, of which parts are left out.
    SameTime "same-time"
    /// Events or parts of a trace are of no known format, or lack fields.
    UnknownFormat "unknown-format"
    /// What else the reader of a trace left out, lacked or assumed.
    Reader "reader"
    /// A mark of the recording is far from all that was recorded.
    FarMark "far-mark"
    /// The clocks of trace and timers change against each other.
    ClockChanges "clock-changes"
    /// The kernel stops the tick before it asks its idle governor.
    TickBeforeGovernor "tick-before-governor"
    /// There are no idle events: idle is the time of the idle task.
    NoIdleEvents "no-idle-events"
    /// Rejected entries are recognised by what the kernel did not count.
    RejectedByCount "rejected-by-count"
    /// There are idle periods without a governor.
    NoGovernor "no-governor"
    /// There are idle periods of a governor that was replaced.
    OtherGovernor "other-governor"
    /// An idle state is taken as always refused.
    AlwaysRefused "always-refused"
    /// An idle state that the machine's description has as always refused was entered.
    RefusedEntered "refused-entered"
    /// A guest was recorded, which does not see its host's part.
    Guest "guest"
    /// The ticks are those of `--hz`, not the recorded ones.
    WhatIf "what-if"
    /// A CPU of a recording is left out.
    LeftOut "left-out"
    /// CPUs are not in all snapshots: they went offline or came online.
    CpusChanged "cpus-changed"
    /// The kernel's counters of CPUs were set back.
    CountersBack "counters-back"
    /// A trace without the events that count misses is compared with counters.
    NoMisses "no-misses"
    /// Counters say what cannot be.
    Implausible "implausible"
    /// An idle state was enabled or disabled meanwhile.
    StateSwitched "state-switched"
    /// The governor was changed meanwhile.
    GovernorChanged "governor-changed"
    /// Power meters may be read by root only.
    MetersClosed "meters-closed"
    /// Numbers name no CPU: their order is taken for that of CPUs.
    AssumedCpus "assumed-cpus"
    /// The snapshots are not of one boot.
    OtherBoot "other-boot"
    /// Files or runs are of different machines or kernels, or have different idle states.
    OtherMachine "other-machine"
    /// A snapshot of counters lacks some of them, or states.
    CountersMissing "counters-missing"
    /// An idle state is switched off.
    StateOff "state-off"
    /// The kernel's counters beside a recording are not used.
    CountersUnused "counters-unused"
    /// Inputs of the governor are not recorded, or not all.
    InputsIncomplete "inputs-incomplete"
    /// The kernel hides its symbols: timers have no names.
    NoSymbols "no-symbols"
    /// The machine has no cpuidle driver: no governor is asked.
    NoDriver "no-driver"
    /// The machine shows no idle states.
    NoStates "no-states"
    /// CPUs are closed to this process.
    ClosedCpus "closed-cpus"
    /// The kernel lacks events: they are not recorded.
    MissingEvents "missing-events"
    /// The data of a killed recording is kept in another file.
    KeptAside "kept-aside"
    /// A recording that was made cannot be replayed.
    NotReplayable "not-replayable"
    /// Something of a guest in the boot lab failed.
    GuestFailed "guest-failed"
    /// An attempt failed, for the reason in the words.
    Failed "failed"
    /// The kernel's idle governor is not named.
    GovernorNotNamed "governor-not-named"
    /// A governor is not among those here, or cannot be had as named.
    GovernorNotHere "governor-not-here"
    /// A file that is named is not there.
    FileMissing "file-missing"
    /// Decisions are of other idle states than those of the machine.
    OtherStates "other-states"
    /// No trace was replayed.
    NotReplayed "not-replayed"
    /// It was left out, as asked.
    NotAsked "not-asked"
    /// The machine or kernel is not at hand.
    NotAtHand "not-at-hand"
    /// What was to be done needs root.
    NeedsRoot "needs-root"
    /// There is no load that can be repeated.
    NoLoad "no-load"
    /// The kernel has no other governor.
    NoOtherGovernor "no-other-governor"
    /// The kernel does not have a governor: it was replayed only.
    NotInKernel "not-in-kernel"
    /// The machine has no power meter.
    NoMeters "no-meters"
    /// A replay depends on idle states that the kernel never entered.
    NeverEntered "never-entered"
    /// The machine has too few idle states for a choice between deep ones.
    FewStates "few-states"
    /// Energy is relative: the powers of the states were not measured.
    RelativeEnergy "relative-energy"
    /// What stopping and starting the tick costs is not measured on the machine.
    TickCost "tick-cost"
    /// A replay is an open loop: a late wake delays nothing.
    OpenLoop "open-loop"
}

impl NoteId {
    /// A note of this id.
    #[must_use]
    pub fn note(self, words: impl Into<String>) -> Note {
        Note { id: self, words: words.into() }
    }
}

impl Note {
    /// The same with `place`, which it is about, in front.
    #[must_use]
    pub fn about(&self, place: impl fmt::Display) -> Self {
        self.id.note(format!("{place}{}", self.words))
    }

    /// What `notes` say, for a reader.
    #[must_use]
    pub fn words(notes: &[Self]) -> Vec<String> {
        notes.iter().map(|n| n.words.clone()).collect()
    }
}

/// A note by the name of its id, and its words.
impl TryFrom<(String, String)> for Note {
    type Error = String;

    fn try_from((id, words): (String, String)) -> Result<Self, String> {
        NoteId::from_name(&id).map(|id| id.note(words)).ok_or_else(|| format!("unknown note {id:?}"))
    }
}

impl Deref for Note {
    type Target = str;

    fn deref(&self) -> &str {
        &self.words
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.words)
    }
}

impl PartialEq<&str> for Note {
    fn eq(&self, other: &&str) -> bool {
        self.words == *other
    }
}
