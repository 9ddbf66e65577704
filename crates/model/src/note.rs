// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A note or a warning of a result. It reads as its words; programs go by its id.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Note {
    pub id: NoteId,
    pub words: String,
}

/// What a note says, whatever its numbers and names are. Each variant's comment is its row in `docs/reference/json.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoteId {
    /// The result holds only if what an option says about a recording is true.
    Assumption,
    /// A replay makes less than 90 % of the choices of the recording's kernel.
    LowFidelity,
    /// Choices that the kernel recorded with their inputs are not repeated.
    BrokenParity,
    /// The kernel's own misses contradict the table of the machine.
    OtherVerdicts,
    /// The recording is of another kind of processor than the machine.
    OtherProcessor,
    /// The machine lacks idle states that the recording has.
    LackingStates,
    /// A governor crashed, did not come back or cannot be run: it has no result.
    GovernorFailed,
    /// A governor chose idle states that were disabled.
    ChoseDisabled,
    /// A governor chose idle states above the latency limit.
    ChoseOverLimit,
    /// A governor's choices are no idle states of the table: the nearest was taken.
    ChoseNoState,
    /// A governor has state that CPUs share, and each CPU ran with a copy of its own.
    SharedState,
    /// A comparison depends on few wake events.
    FewWakeEvents,
    /// A difference of latencies is what remains of larger ones in both directions.
    LatencyCancels,
    /// A difference of energies is what remains of larger ones in both directions.
    EnergyCancels,
    /// The governors differ less often than replay differs from the kernel.
    BelowFidelity,
    /// How the traces of a comparison agree.
    AcrossTraces,
    /// How the CPUs of a comparison agree.
    AcrossCpus,
    /// A part of the workload is not modelled, or only roughly.
    Workload,
    /// The clock frequencies of CPUs are not known: they run at one speed.
    NoFrequencies,
    /// A simulated task never lets time pass and was stopped.
    EndlessTask,
    /// There are too few runs for any difference to be significant.
    FewRuns,
    /// The session of `idlewise ab` is not finished.
    Unfinished,
    /// There are too few rounds for so many questions.
    ManyQuestions,
    /// The runs of an arm differ much.
    Noise,
    /// Values grow or fall during the session, under all arms.
    Drift,
    /// A process holds a latency limit of 0: no governor is asked.
    LatencyLimitZero,
    /// The CPUs entered only the first idle state.
    OnlyFirstState,
    /// Runs count although others used the CPUs.
    ForeignLoad,
    /// Runs were repeated because others used the CPUs.
    Repeated,
    /// CPUs were slowed down because of heat.
    Throttled,
    /// CPUs were below their highest frequency after some runs.
    SlowedDown,
    /// CPUs were below their highest frequency after all runs.
    AlwaysSlow,
    /// There are too few traced wakeups for a percentile.
    FewWakeups,
    /// Tracing hides when tasks begin to run: wakeups are left out.
    HiddenWakeups,
    /// The trace buffers were full before the end of a run.
    BuffersFull,
    /// Lines of a session's file are no runs and are left out.
    OddLines,
    /// A replay prefers no governor, and why.
    NoPreference,
    /// The replay has too few wakeups to prefer a governor.
    FewReplayed,
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
