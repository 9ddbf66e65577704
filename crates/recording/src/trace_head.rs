// SPDX-License-Identifier: GPL-2.0-only
//! What stands at the top of every result: the recording, how well it is known, what is assumed.

use std::path::Path;

use idlewise_model::{Confidence, Health, HealthCount, HealthKind, NotKnown, Note, NoteId, TapeCpu};
use idlewise_report::percent;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::CommandError;
use crate::recording::Recording;

/// The recording behind a result.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct TraceHead {
    pub name: String,
    /// XXH3-128 of the trace.
    pub hash: String,
    pub format: String,
    /// Kernel release and machine, where the recording names them.
    pub kernel: String,
    pub clock: String,
    /// From first to last event, ns.
    pub span_ns: u64,
    /// Events in the trace.
    pub events: u64,
    /// The machine that was recorded.
    pub recorded_on: String,
    /// An option says which machine was recorded, and the recording does not.
    pub machine_assumed: bool,
    #[serde(skip)]
    pub(crate) machine_option: &'static str,
    /// The machine that the recording names instead, where it names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine_contradicted: Option<String>,
    /// It is replayed as if its kernel had ticked so many times a second (`--hz`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hz_asked: Option<u32>,
    /// What makes all that is said of it doubtful, in sentences: what speaks against the machine that it is said to be of, and a
    /// replay that does not make its kernel's choices.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Note>,
    /// CPUs that are used.
    pub cpus: Vec<u32>,
    /// CPUs that are left out, and why.
    pub left_out: Vec<LeftOut>,
    /// Every input with how well it is known.
    pub inputs: Vec<InputHead>,
    /// What was lost or doubtful.
    pub health: Vec<HealthHead>,
    pub notes: Vec<Note>,
}

/// A CPU that is left out.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct LeftOut {
    pub cpu: u32,
    pub why: String,
}

/// One kind of input.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct InputHead {
    pub name: String,
    /// Values recorded, derived, bounded, assumed.
    pub recorded: u64,
    /// Follow from what is recorded.
    pub derived: u64,
    /// Known from one side only.
    pub bounded: u64,
    /// Not known at all.
    pub assumed: u64,
    /// How it was made.
    pub how: String,
}

/// One kind of dirt.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct HealthHead {
    /// Which, as in [`idlewise_model::HealthKind::name`].
    pub kind: String,
    pub what: String,
    pub count: u64,
    pub first: String,
}

/// How far replay makes the kernel's own choices.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct FidelityHead {
    /// The governor that was replayed for it.
    pub governor: String,
    pub decisions: u64,
    /// Of these, with the kernel's state, %; nothing where none was compared.
    pub same_state_pct: Option<f64>,
    /// Choices with a known keep-or-stop of the tick.
    pub tick_known: u64,
    /// Of these, with the kernel's keep-or-stop, %; nothing where there are none.
    pub same_tick_pct: Option<f64>,
    /// Choices not compared: they depend on what the governor remembered from before the recording.
    pub unknown_memory: u64,
    /// Where they part: reason and count, most frequent first.
    pub partings: Vec<(String, u64)>,
    /// What the recording calls the governor, where its kernel's release selects the version that was replayed.
    pub by_release: Option<ByRelease>,
    /// Another version that repeats the choices clearly better.
    pub better_version: Option<OtherVersion>,
    /// The best of all governors that always choose the same state, and always keep or always stop the tick.
    pub constant: Option<Constant>,
    /// States that governors could choose, of the CPU that has the most.
    pub usable_states: usize,
}

/// A version of a governor by the release of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct ByRelease {
    /// As the kernel calls it.
    pub governor: String,
    /// Kernel release and machine, as the recording has them.
    pub kernel: String,
    /// That kernel's makes the same choices; else the version is the most alike of those that ship with idlewise.
    pub same: bool,
}

/// How many of the kernel's choices another version of its governor repeats.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OtherVersion {
    pub governor: String,
    /// Of states or of keep-or-stop of the tick, whichever is less, %.
    pub same_pct: f64,
}

/// How many of the kernel's choices a constant one repeats.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Constant {
    /// The state's name, or its number where CPUs have several tables.
    pub state: String,
    /// Of states or of keep-or-stop of the tick, whichever is less, %.
    pub same_pct: f64,
}

impl TraceHead {
    /// No CPU of the recording at `path` can be `used` (replayed, scored), and why, CPU by CPU.
    #[must_use]
    pub fn no_cpu_left(&self, path: &Path, used: &str) -> CommandError {
        let why: Vec<String> = self.left_out.iter().map(|l| format!("CPU {}: {}", l.cpu, l.why)).collect();
        CommandError::input(path, format!("no CPU can be {used}. {}", why.join("; ")))
    }

    /// Describes `recording`; `cpu_missing` tells why a CPU has no place on the machine that is replayed on.
    #[must_use]
    pub fn new(recording: &Recording, cpu_missing: impl Fn(u32) -> Option<String>) -> Self {
        let tape = &recording.tape;
        let source = &tape.source;
        let mut cpus = Vec::new();
        let mut left_out = Vec::new();
        for cpu in &tape.cpus {
            match (&cpu.usable, cpu_missing(cpu.cpu)) {
                (TapeCpu::Unusable(why), _) => left_out.push(LeftOut { cpu: cpu.cpu, why: why.clone() }),
                (TapeCpu::Usable, Some(why)) => left_out.push(LeftOut { cpu: cpu.cpu, why }),
                (TapeCpu::Usable, None) => cpus.push(cpu.cpu),
            }
        }
        let inputs = tape.inputs.iter().map(|i| InputHead {
            name: i.name.clone(),
            recorded: i.counts[Confidence::Recorded as usize],
            derived: i.counts[Confidence::Derived as usize],
            bounded: i.counts[Confidence::Bounded as usize],
            assumed: i.counts[Confidence::Assumed as usize],
            how: i.how.clone(),
        });
        let changes_numbers = |n: &Note| {
            use NoteId::{
                LongIdlePeriod, MissingLines, NoNanoseconds, RefusedEntered, SameTime, StoodStill,
                SwitchedCpus,
            };
            let left_out = matches!(n.id, StoodStill | SwitchedCpus | MissingLines);
            left_out || matches!(n.id, LongIdlePeriod | RefusedEntered | NoNanoseconds | SameTime)
        };
        let (of_tape, notes) = tape.notes.iter().cloned().partition(changes_numbers);
        let warnings = [recording.machine_check.warnings.clone(), of_tape].concat();
        Self {
            name: source.name.clone(),
            hash: source.hash.clone(),
            format: source.format.clone(),
            kernel: source.kernel.clone(),
            clock: source.clock.clone(),
            span_ns: tape.span_ns(),
            events: source.events,
            recorded_on: recording.machine.id.clone(),
            machine_assumed: recording.machine_assumed,
            machine_option: recording.machine_option,
            machine_contradicted: recording.machine_contradicted.clone(),
            hz_asked: recording.hz_asked,
            warnings,
            cpus,
            left_out,
            inputs: inputs.collect(),
            health: health_heads(&tape.health),
            notes,
        }
    }

    /// The same where the kernel's own governor was replayed with this result.
    pub fn with_fidelity(mut self, fidelity: &Result<FidelityHead, NotKnown>) -> Self {
        self.warnings.extend(fidelity.as_ref().ok().and_then(FidelityHead::warning));
        self
    }

    /// The warnings that are about the machine, of a result with which the kernel's own governor was replayed.
    pub fn machine_warnings(&self, fidelity: &Result<FidelityHead, NotKnown>) -> Vec<Note> {
        let replay = fidelity.as_ref().ok().and_then(FidelityHead::warning);
        self.warnings.iter().filter(|w| replay.as_ref() != Some(w)).cloned().collect()
    }

    /// The warnings of several recordings.
    pub fn warnings<'h>(heads: impl IntoIterator<Item = &'h Self>) -> Vec<Note> {
        let heads: Vec<&Self> = heads.into_iter().collect();
        let place = |h: &Self| if heads.len() > 1 { format!("{}: ", h.name) } else { String::new() };
        heads.iter().flat_map(|h| h.warnings.iter().map(move |w| w.about(place(h)))).collect()
    }

    /// What was assumed about the recording by hand, as a condition of all that is said of it; nothing where nothing was.
    #[must_use]
    pub fn assumption(&self) -> Option<String> {
        let but = match &self.machine_contradicted {
            Some(other) => format!("though it says {other}"),
            None => "which it does not say".to_owned(),
        };
        let machine = self.machine_assumed.then(|| {
            format!("{} was recorded on {}, {but} ({})", self.name, self.recorded_on, self.machine_option)
        });
        let ticks = self
            .hz_asked
            .map(|hz| format!("the kernel of {} had ticked {hz} times a second (--hz)", self.name));
        let all: Vec<String> = machine.into_iter().chain(ticks).collect();
        (!all.is_empty()).then(|| all.join(", and "))
    }

    /// The assumptions of several recordings in one clause.
    pub fn assumptions<'h>(heads: impl IntoIterator<Item = &'h Self>) -> Option<String> {
        let all: Vec<String> = heads.into_iter().filter_map(Self::assumption).collect();
        (!all.is_empty()).then(|| all.join(", and "))
    }
}

/// Every kind of dirt that was met.
pub fn health_heads(health: &Health) -> Vec<HealthHead> {
    let head = |(kind, c): (HealthKind, &HealthCount)| HealthHead {
        kind: kind.name().to_owned(),
        what: kind.describe().to_owned(),
        count: c.count,
        first: c.first.clone(),
    };
    health.iter().map(head).collect()
}

/// A replay that makes less of the kernel's choices, %, says nothing about that kernel.
pub const LEAST_AGREEMENT_PCT: f64 = 90.0;

impl FidelityHead {
    /// Choices that are repeated, of states or of keep-or-stop of the tick, whichever is less, %: a choice is both.
    #[must_use]
    pub fn same_pct(&self) -> Option<f64> {
        [self.same_state_pct, self.same_tick_pct].into_iter().flatten().reduce(f64::min)
    }

    /// Whether no constant choice repeats as many, as far as choices could differ at all.
    #[must_use]
    pub fn beats_constants(&self) -> bool {
        let constant = self.constant.as_ref().map(|c| c.same_pct);
        self.usable_states > 1 && self.same_pct().zip(constant).is_none_or(|(own, constant)| own > constant)
    }

    /// That the replay is no basis for anything, where it is none.
    fn warning(&self) -> Option<Note> {
        let pct = self.same_state_pct.filter(|pct| *pct < LEAST_AGREEMENT_PCT)?;
        Some(NoteId::LowFidelity.note(format!(
            "replay of {} repeats only {} % of the kernel's own choices (state), less than \
             {LEAST_AGREEMENT_PCT} %: do not trust the table for this recording{}",
            self.governor,
            percent(pct),
            self.better_version.as_ref().map_or_else(String::new, |other| {
                let (name, same) = (&other.governor, percent(other.same_pct));
                format!("; {name} repeats {same} %")
            })
        )))
    }
}
