// SPDX-License-Identifier: GPL-2.0-only
//! What a recording is good for, CPU by CPU: does the trace tell what the kernel counted?

use std::path::{Path, PathBuf};

use idlewise_model::{Note, NoteId, TapeCpu};
use idlewise_platform::SysfsCounters;
use schemars::JsonSchema;
use serde::Serialize;

use super::inputs::{InputsRecorded, TakenInputs};
use super::request::kept_aside;
use super::taken::Taken;
use idlewise_recording::counters::{CounterCheck, CpuCheck};
use idlewise_recording::{CommandError, Recording, RecordingOptions};
use idlewise_study::info::info;

/// Version of the JSON of a recording's report.
pub const SCHEMA: &str = "idlewise.record/2";

/// What was recorded, and what it is good for.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RecordReport {
    /// `idlewise.record/2`.
    pub schema: String,
    pub version: String,
    pub path: PathBuf,
    /// Its size, bytes.
    pub bytes: u64,
    /// How long it is, s.
    pub seconds: f64,
    /// Events in it, by the kernel's count.
    pub events: u64,
    /// Events that did not fit into the buffers, by the kernel's count.
    pub lost: u64,
    /// The kernel's idle governor.
    pub governor: Option<String>,
    /// The governor's inputs, where they were recorded, too.
    pub inputs: Option<InputsRecorded>,
    /// The machine is described in the trace.
    pub machine_known: bool,
    /// Every CPU that was online.
    pub cpus: Vec<CpuRecorded>,
    /// What a user should know of the recording.
    pub notes: Vec<Note>,
}

/// One CPU of a recording.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CpuRecorded {
    pub cpu: u32,
    /// It can be replayed: the trace has its idle stays.
    pub usable: bool,
    /// Why not, or what differs.
    pub why: Option<String>,
    /// Idle entries that the kernel counted meanwhile; none where it has no counters.
    pub counted: Option<u64>,
    /// Idle entries in the trace of the same time.
    pub traced: u64,
    /// State by state, of a usable CPU.
    pub states: Option<CpuCheck>,
}

impl RecordReport {
    pub(super) fn of(path: &Path, taken: &Taken) -> Self {
        let made = &taken.made;
        let mut report = Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            path: path.to_owned(),
            bytes: std::fs::metadata(path).map_or(0, |m| m.len()),
            seconds: taken.recorded.span_ns as f64 / 1e9,
            events: taken.recorded.events,
            lost: taken.recorded.lost,
            governor: taken.governor(),
            inputs: taken.inputs.as_ref().map(TakenInputs::report),
            machine_known: taken.machine.is_some(),
            cpus: Vec::new(),
            notes: made.warnings(),
        };
        report.notes.extend(taken.recorded.moved.as_deref().map(kept_aside));
        if taken.machine.is_some() {
            // What differs is reported here state by state.
            let all = RecordingOptions { whatever_counted: true, ..RecordingOptions::default() };
            let recording = Recording::open(path, &all);
            // The trace is written all the same: a load of some milliseconds may well have nothing to replay.
            if let Err(e) = recording.and_then(|r| report.check(&r, taken)) {
                report.cpus = Self::none_usable(taken);
                report.notes.push(NoteId::NotReplayable.note(e.to_string()));
            }
        } else {
            report.without_states(taken);
        }
        report
    }

    /// Notes what the recording of a machine without idle states shows all the same.
    fn without_states(&mut self, taken: &Taken) {
        let shown = "when each CPU was idle, what ended that, and which timer was next";
        let example = "--recorded-on kvm-guest --platform skylake-sp --governor menu,teo";
        match info(&self.path, &RecordingOptions::default(), &[]).map(|read| read.replay) {
            Ok(replay) if replay.yes => self.notes.push(NoteId::NoStates.note(format!(
                "what it shows: {shown} ({}). What it does not: states, and choices to be scored. What governors would have \
                 chosen with the idle states of another machine: `idlewise replay {} {example}`",
                replay.words,
                self.path.display()
            ))),
            replay => {
                let why = replay.map_or_else(|e| e.to_string(), |replay| replay.words);
                self.notes.push(NoteId::NotReplayable.note(format!("it does not show {shown}: {why}")));
                self.cpus = Self::none_usable(taken);
            }
        }
    }

    /// Where no tape could be made of the trace.
    fn none_usable(taken: &Taken) -> Vec<CpuRecorded> {
        let looks = taken.looks();
        let counted = looks.difference().unwrap_or_default();
        let cpu = |&cpu: &u32| {
            CpuRecorded::unusable(cpu, "no idle period in the trace", entries(&counted.counters, cpu))
        };
        taken.recorded.facts.cpus.iter().map(cpu).collect()
    }

    fn check(&mut self, recording: &Recording, taken: &Taken) -> Result<(), CommandError> {
        let looks = taken.looks();
        let counted = looks.difference()?;
        // Without any usable CPU there is nothing to compare.
        let some = recording.tape.cpus.iter().any(|c| c.usable == TapeCpu::Usable);
        let check = some.then(|| CounterCheck::between(recording, &looks)).transpose()?;
        self.notes.extend(check.iter().flat_map(|c| c.notes.iter().cloned()));
        let miscounted: Vec<(u32, String)> = check.iter().flat_map(CounterCheck::miscounted).collect();
        for &cpu in &taken.recorded.facts.cpus {
            let tape = recording.tape.cpus.iter().find(|c| c.cpu == cpu);
            let states = check.as_ref().and_then(|c| c.cpus.iter().find(|c| c.cpu == cpu)).cloned();
            let entries = entries(&counted.counters, cpu);
            self.cpus.push(match tape.map(|t| &t.usable) {
                Some(TapeCpu::Usable) => match miscounted.iter().find(|(c, _)| *c == cpu) {
                    Some((_, why)) => CpuRecorded {
                        usable: false,
                        why: Some(format!("{why}: events are missing")),
                        ..CpuRecorded::usable(cpu, states, entries)
                    },
                    None => CpuRecorded::usable(cpu, states, entries),
                },
                Some(TapeCpu::Unusable(why)) => CpuRecorded::unusable(cpu, why, entries),
                None => CpuRecorded::unusable(cpu, "no events of it at all", entries),
            });
        }
        Ok(())
    }
}

/// All entries of a CPU, those that the driver refused left out.
fn entries(counters: &SysfsCounters, cpu: u32) -> Option<u64> {
    counters.cpus.get(&cpu)?.iter().map(|s| s.usage).sum()
}

impl CpuRecorded {
    fn unusable(cpu: u32, why: &str, counted: Option<u64>) -> Self {
        let why = match counted {
            Some(0) => format!("{why}; the kernel counted no idle entry either"),
            Some(n) => {
                format!("{why}; the kernel counted {n} idle entries meanwhile: tracing hides them here")
            }
            None => why.to_owned(),
        };
        Self { cpu, usable: false, why: Some(why), counted, traced: 0, states: None }
    }

    fn usable(cpu: u32, states: Option<CpuCheck>, counted: Option<u64>) -> Self {
        let traced = states.as_ref().map_or(0, |s| s.states.iter().filter_map(|s| s.usage.trace).sum());
        let why = states.as_ref().and_then(|s| {
            let differ: Vec<String> = s
                .states
                .iter()
                .filter(|s| !s.usage.same())
                .filter_map(|s| {
                    let (kernel, trace) = s.usage.kernel.zip(s.usage.trace)?;
                    Some(format!("{} {kernel} by the kernel, {trace} in the trace", s.name))
                })
                .collect();
            (!differ.is_empty()).then(|| format!("entries differ: {}", differ.join("; ")))
        });
        Self { cpu, usable: true, why, counted, traced, states }
    }
}
