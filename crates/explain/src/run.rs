// SPDX-License-Identifier: GPL-2.0-only
use idlewise_conform::settle_io_waits;
use idlewise_recording::governors;
use std::path::PathBuf;

use idlewise_governor::Governor;
use idlewise_idle::Limits;
use idlewise_model::{Confidence, CpuTape, Entry, PiecesError, Tape};
use idlewise_platform::Cluster;
use idlewise_replay::{Setting, Workload, run};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::{Chosen, Explanation, IdleOutcome, InputConfidence, InputValue, Other, StateHead};
use crate::watch::{Keep, Observation, Watch};
use idlewise_recording::candidate::{Book, Bound, Candidate, at_place, is_bound};
use idlewise_recording::governors::{ForeignHead, candidates, find_one, foreign};
use idlewise_recording::limits;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, Recording, ReplaySetup, TraceHead};
use idlewise_study::replay::split_governors;

/// Version of the JSON; it changes when a field changes its meaning or goes away.
pub const SCHEMA: &str = "idlewise.explain/2";

/// How a decision is named on its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DecisionAddress {
    /// By its number on its CPU, from 0.
    Decision(u64),
    /// The last that was made at this time or before, ns on the clock of the recording.
    At(u64),
    /// As [`DecisionAddress::At`], ns after the first event of the recording.
    After(u64),
}

/// The decision to explain, and the governor that makes it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ExplainRequest {
    /// A trace or tape.
    #[serde(serialize_with = "idlewise_recording::json_paths::path")]
    #[schemars(with = "PathBuf")]
    pub trace: PathBuf,
    #[serde(flatten)]
    pub setup: ReplaySetup,
    /// The governor with its parameters.
    pub governor: String,
    /// Governors to show beside it.
    pub others: Vec<String>,
    /// The CPU; needed where the recording has several.
    pub cpu: Option<u32>,
    pub which: DecisionAddress,
}

/// One decision explained: inputs, state of the governor, reasons, and the choices of others.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ExplainReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    /// What was asked; nothing for a row of recorded decisions.
    pub request: Option<ExplainRequest>,
    /// The recording; nothing for a row of recorded decisions.
    pub head: Option<TraceHead>,
    /// Where the governors came from that are none of ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignHead>,
    /// Where the decision is from.
    pub source: String,
    /// What the kernel did, for a row of recorded decisions.
    pub recorded: Option<Chosen>,
    pub explanation: Explanation,
}

impl ExplainReport {
    /// Of a decision that was recorded in a file of its own, at `source`.
    pub(crate) fn of_recorded(
        source: String,
        recorded: Chosen,
        foreign: Vec<ForeignHead>,
        explanation: Explanation,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            request: None,
            head: None,
            foreign,
            source,
            recorded: Some(recorded),
            explanation,
        }
    }

    /// What went wrong with foreign governors that should stand beside the explained one.
    #[must_use]
    pub fn failures(&self) -> Vec<&str> {
        self.explanation.others.iter().filter_map(|o| o.failure.as_deref()).collect()
    }
}

/// Explains what `request` asks for.
///
/// # Errors
/// [`CommandError`] when recording, platform or governor cannot be read or found, or there is no such decision.
pub fn explain(request: &ExplainRequest) -> Result<ExplainReport, CommandError> {
    let mut placement = Placement::open_one(&request.trace, &request.setup)?;
    settle_io_waits(&mut placement.recordings, &governors::offered([], &request.setup.kernel_trees))?;
    let recording = placement.first()?;
    let governor = hosted(&request.governor, &request.setup.kernel_trees)?;
    let others = next_to(&governor, &request.others, &request.setup.kernel_trees)?;
    let workloads = placement.workloads(recording)?;
    let workload = pick_cpu(&workloads, request.cpu)?;
    let cpu = OnCpu::new(&placement, recording, workload, request.setup.seed);
    let explanation = cpu.explain(&governor, request.which, &others)?;
    Ok(ExplainReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        request: Some(request.clone()),
        foreign: foreign_among(&governor, &others),
        source: recording.tape.source.name.clone(),
        head: Some(TraceHead::new(recording, |cpu| placement.missing(cpu))),
        recorded: None,
        explanation,
    })
}

/// The governor of `text`; the oracle has nothing to explain.
pub(crate) fn hosted(text: &str, trees: &[PathBuf]) -> Result<Governor, CommandError> {
    if is_bound(text) {
        let why =
            format!("{text} is a bound and has no state: explain a governor, with oracle among --others");
        return Err(CommandError::conflict(&["--governor"], why));
    }
    if let [first, _, ..] = split_governors("--governor", text)?.as_slice() {
        let why = format!(
            "explain takes one governor, and shows others next to it: --governor {first} --others LIST; --why-differ A,B \
             compares two"
        );
        return Err(CommandError::argument("--governor", text, why));
    }
    let (alone, limits) = limits::split(text)?;
    if limits != Limits::NONE {
        let why = format!(
            "explain uses all idle states and latency limits of the recording; explain {alone}, \
             with {text} among --others, or compare the two"
        );
        return Err(CommandError::argument("--governor", text, why));
    }
    find_one(text, trees)
}

/// The governors to show next to `explained`, none of them called as it is; none is no mistake here.
pub(crate) fn next_to(
    explained: &Governor,
    names: &[String],
    trees: &[PathBuf],
) -> Result<Vec<Candidate>, CommandError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut others = candidates(names, trees)?;
    if others.iter().any(|other| matches!(other, Candidate::Bound(Bound::Hindsight))) {
        let why = "hindsight goes by averages over the whole recording, not by one decision; name the oracle"
            .to_owned();
        return Err(CommandError::conflict(&["--others"], why));
    }
    others.iter_mut().for_each(|other| other.keep_apart_from(explained));
    Ok(others)
}

/// Where those came from, of the explained one and the others, that are none of ours.
pub(crate) fn foreign_among(explained: &Governor, others: &[Candidate]) -> Vec<ForeignHead> {
    let explained = Candidate::of(explained.clone());
    foreign(std::iter::once(&explained).chain(others))
}

pub(crate) fn pick_cpu(workloads: &[Workload], cpu: Option<u32>) -> Result<&Workload, CommandError> {
    let all = || {
        let cpus: Vec<u32> = workloads.iter().map(|w| w.cpu).collect();
        idlewise_platform::cpu_list(&cpus)
    };
    match (cpu, workloads) {
        (None, [only]) => Ok(only),
        (None, _) => {
            Err(CommandError::not_given("--cpu", format!("which CPU? Give --cpu, one of {}", all())))
        }
        (Some(cpu), _) => workloads.iter().find(|w| w.cpu == cpu).ok_or_else(|| {
            let why = format!("CPU {cpu} is not among those that can be replayed: {}", all());
            CommandError::NoSuchCpu { cpu, why }
        }),
    }
}

/// One CPU of a placement.
pub(crate) struct OnCpu<'a> {
    tape: &'a Tape,
    cpu_tape: Option<&'a CpuTape>,
    placement: &'a Placement,
    pub(crate) place: &'a Cluster,
    pub(crate) workload: &'a Workload,
    setting: Setting,
}

impl<'a> OnCpu<'a> {
    pub(crate) fn new(
        placement: &'a Placement,
        recording: &'a Recording,
        workload: &'a Workload,
        seed: u64,
    ) -> Self {
        let Some(place) = placement.place(workload.cpu) else {
            unreachable!("CPU {} has a workload, and the platform has no place for it", workload.cpu)
        };
        Self {
            tape: &recording.tape,
            cpu_tape: recording.tape.cpus.iter().find(|c| c.cpu == workload.cpu),
            placement,
            place,
            workload,
            setting: Setting::new(placement.same_machine(recording), seed),
        }
    }

    /// Explains one decision of `governor` and shows `others` beside it.
    pub(crate) fn explain(
        &self,
        governor: &Governor,
        which: DecisionAddress,
        others: &[Candidate],
    ) -> Result<Explanation, CommandError> {
        let number = match which {
            DecisionAddress::Decision(number) => number,
            DecisionAddress::At(at_ns) => self.number_at(governor, at_ns)?,
            DecisionAddress::After(ns) => {
                self.number_at(governor, self.tape.source.first_ns.saturating_add(ns))?
            }
        };
        let (seen, kept) = self.watch(governor, number)?;
        let (Some(seen), Some((_, entry))) = (seen, kept.found) else {
            let why = format!(
                "{} makes {} decisions on CPU {}; there is no number {number} (they are counted from 0)",
                governor.label(),
                kept.count,
                self.workload.cpu
            );
            return Err(CommandError::NoSuchDecision { why });
        };
        let other =
            |candidate: &Candidate| Other::or_failed(candidate, self.other(candidate, entry.start_ns));
        let others: Vec<Option<Other>> = others.par_iter().map(other).collect::<Result<_, _>>()?;
        Ok(Explanation {
            governor: governor.label(),
            cpu: format!("CPU {} ({}, {})", self.workload.cpu, self.placement.platform.id, self.place.name),
            decision: number,
            decisions: kept.count,
            at_ns: entry.start_ns,
            states: StateHead::all(&self.place.table, seen.inputs.disabled),
            inputs: InputValue::all(&seen.inputs, &self.known(&entry)?),
            chosen: Chosen::of(&seen),
            memory: seen.memory,
            reasons: seen.reasons,
            came: Some(IdleOutcome::of(&entry)),
            others: others.into_iter().flatten().collect(),
        })
    }

    fn number_at(&self, governor: &Governor, at_ns: u64) -> Result<u64, CommandError> {
        let source = &self.tape.source;
        let s = |ns: u64| ns as f64 / 1e9;
        let goes =
            format!("the recording lasts from {:.9} s to {:.9} s", s(source.first_ns), s(source.last_ns));
        if at_ns > source.last_ns {
            let why = format!("there is no decision at {:.9} s: {goes}", s(at_ns));
            return Err(CommandError::NoSuchDecision { why });
        }
        let keep = self.run(&Candidate::of(governor.clone()), |_, _| Keep::last_at(at_ns))?;
        keep.found.map(|(number, _)| number).ok_or_else(|| {
            let why = format!("CPU {} was not idle yet at {:.9} s; {goes}", self.workload.cpu, s(at_ns));
            CommandError::NoSuchDecision { why }
        })
    }

    /// What `candidate` leaves in the book that `open` opens.
    pub(crate) fn run<B: Book>(
        &self,
        candidate: &Candidate,
        open: impl Fn(&'a Workload, &'a Cluster) -> B,
    ) -> Result<B::Pages, CommandError> {
        let mut runs = candidate.run(&[self.workload], self.placement, self.setting, open)?;
        let Some(ran) = runs.cpus.pop() else {
            unreachable!("a run of CPU {} left nothing", self.workload.cpu)
        };
        Ok(ran.pages)
    }

    fn watch(&self, governor: &Governor, number: u64) -> Result<(Option<Observation>, Keep), CommandError> {
        let (table, capacity) = (&self.place.table, self.place.capacity);
        Ok(governor.run(|loader| {
            let mut instance = loader.load_explaining(self.workload.grid.period_ns)?;
            let slot = instance.add_cpu(self.workload.cpu, table, capacity)?;
            let mut watch = Watch::new(&mut instance, slot, number);
            let mut keep = Keep::number(number);
            let setting = at_place(self.setting, self.place);
            run(self.workload, table, capacity, setting, &mut watch, &mut keep)?;
            Ok((watch.seen, keep))
        })?)
    }

    fn other(&self, candidate: &Candidate, at_ns: u64) -> Result<Option<Other>, CommandError> {
        let keep = self.run(candidate, |_, _| Keep::last_at(at_ns))?;
        Ok(keep.found.map(|(_, entry)| Other {
            governor: candidate.name().to_owned(),
            failure: None,
            asked_before_ns: at_ns - entry.start_ns,
            state: entry.selected.into(),
            tick: IdleOutcome::of(&entry).tick.to_owned(),
            came: Some(IdleOutcome::of(&entry)),
        }))
    }

    /// How well the inputs of the decision that led to `entry` are known.
    fn known(&self, entry: &Entry) -> Result<InputConfidence, PiecesError> {
        let timers = self.timers_known(entry.start_ns)?.unwrap_or(Confidence::Assumed);
        let weakest = |name: &str| self.tape.weakest(name).name();
        Ok(InputConfidence {
            timers: timers.name(),
            latency_limit: weakest("latency limit"),
            util: weakest("utilisation"),
            iowait: weakest("iowait"),
            disabled: weakest("disabled states"),
            run: None,
        })
    }

    /// How well the timers of the wait are known in which a decision fell at `at_ns`: those that were pending when it began, however
    /// often the tick ends a sleep in it.
    fn timers_known(&self, at_ns: u64) -> Result<Option<Confidence>, PiecesError> {
        for events in self.workload.events.blocks() {
            let Some(began_ns) = events?.iter().find(|e| e.at_ns >= at_ns).map(|e| e.start_ns) else {
                continue;
            };
            for pieces in self.cpu_tape.iter().flat_map(|tape| tape.pieces.blocks()) {
                if let Some(piece) = pieces?.iter().find(|p| p.start_ns == began_ns) {
                    return Ok(Some(piece.timer_confidence()));
                }
            }
            break;
        }
        Ok(None)
    }
}
