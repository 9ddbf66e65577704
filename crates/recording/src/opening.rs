// SPDX-License-Identifier: GPL-2.0-only
//! Opens recordings: finds out which machine was recorded and which governor its kernel ran, and which CPUs can be used.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use idlewise_model::{Confidence, CpuTape, NoteId, Tape, TapeCpu, TapeInput};
use idlewise_platform::{Platform, cpu_list};
use rayon::prelude::*;

use crate::arch::Arch;
use crate::counters::CounterCheck;
use crate::decisions::{RecordedDecisions, may_hold};
use crate::description::{Description, RecordedMachine};
use crate::error::CommandError;
use crate::file_state::FileState;
use crate::input_files::{distinct, file_name, read_tape};
use crate::kernel_governor::KernelGovernor;
use crate::options::{RECORDED_ON, RecordingOptions, SYSFS};
use crate::recording::{MACHINE, MachineCheck, Recording};
use crate::refused;

/// Two recordings that have so many idle periods in common are of one: begin and end agree to the nanosecond.
const SHARED: usize = 3;
/// So many are compared of a CPU.
const COMPARED: usize = 10_000;

/// When the first idle periods of `cpu` between two times began, and what woke it when, ns.
fn periods(cpu: &CpuTape, from: u64, to: u64) -> BTreeSet<(u64, u64)> {
    let blocks = cpu.pieces.blocks().map_while(Result::ok);
    let all = blocks.flat_map(|block| block.iter().map(|p| (p.start_ns, p.wake_ns)).collect::<Vec<_>>());
    all.skip_while(|(start, _)| *start < from).take_while(|(start, _)| *start <= to).take(COMPARED).collect()
}

impl Recording {
    /// Opens a trace or a tape.
    ///
    /// The machine that was recorded is, in this order: what `options` say; what the side-car `NAME.toml` beside the
    /// trace says; what the trace says of itself. Where nothing says it, there is no recording to replay.
    ///
    /// # Errors
    /// [`CommandError`] when the file or its machine cannot be read or found.
    pub fn open(path: &Path, options: &RecordingOptions) -> Result<Self, CommandError> {
        let mut recording = Self::read(path, options)?;
        check_taken(&options.despite_counters, std::slice::from_ref(&recording))?;
        let overridden = recording.settle(options)?;
        check_overridden(options, &overridden, std::slice::from_ref(&recording))?;
        Ok(recording)
    }

    /// As [`Recording::open`], with all CPUs, whatever the kernel counted.
    fn read(path: &Path, options: &RecordingOptions) -> Result<Self, CommandError> {
        options.check_governor()?;
        if let Some(tape) = read_tape(path)? {
            return Self::of_tape(path, tape, options);
        }
        let steady = FileState::of(path);
        let trace = options.open(path)?;
        let description = Description::of(path, trace.meta().description.as_deref())?;
        let described = description.machine(options);
        if let Err(CommandError::MachineUnknown { .. }) = described {
            // Who names a machine is not to hear then that no machine helps.
            idlewise_tape::check(&trace, &file_name(path))?;
        }
        let RecordedMachine { machine, assumed, contradicted } = described?;
        let (looks, inputs) = (description.looks(), description.inputs());
        let holds_decisions = may_hold(trace.meta().event_names.values());
        trace.count_into(&options.meter, 2 + u64::from(holds_decisions));
        let decisions = if holds_decisions {
            RecordedDecisions::of(trace.events()?)
        } else {
            RecordedDecisions::default()
        };
        let governor = KernelGovernor::of(options.kernel_governor.as_ref(), || {
            let described = description.governor();
            described.or_else(|| decisions.only_governor().map(str::to_owned)).unwrap_or_default()
        });
        let name = file_name(path);
        let mut tape =
            idlewise_tape::make_within(options.limits, &trace, &name, &machine, governor.as_str())?;
        let mut machine = machine;
        tape.notes.extend(refused::find(&mut machine, &tape, looks.as_ref())?);
        tape.notes.extend(description.guest().map(|w| NoteId::Guest.note(w)));
        steady.check()?;
        let arch = Arch::of_trace(&trace)?;
        trace.check_read()?;
        let (path, decisions) = (path.to_owned(), Arc::new(decisions));
        // A tape has no events to tell it by.
        let other = arch.filter(|arch| Arch::of_platform(&machine).is_some_and(|table| table != *arch));
        if assumed {
            let mut input = assumed_machine(&machine, options.machine_option(), contradicted.as_deref());
            input.how.extend(other.map(Arch::remark));
            tape.inputs.push(input);
        } else if let Some(other) = other {
            tape.inputs.push(named_machine(&machine, other));
        }
        Ok(Self {
            path,
            tape,
            machine,
            machine_assumed: assumed,
            machine_option: options.machine_option(),
            arch,
            machine_contradicted: contradicted,
            hz_asked: None,
            all_io_waits: None,
            decisions,
            governor,
            inputs,
            looks,
            machine_check: MachineCheck::default(),
        })
    }

    /// Opens several traces or tapes, each of which is a recording of its own, and tells them apart by their names.
    pub(crate) fn open_all(paths: &[PathBuf], options: &RecordingOptions) -> Result<Vec<Self>, CommandError> {
        let open = |path: &PathBuf| Self::read(path, options);
        let mut all: Vec<Self> = paths.par_iter().map(open).collect::<Result<_, _>>()?;
        check_taken(&options.despite_counters, &all)?;
        for (i, recording) in all.iter().enumerate() {
            let hash = &recording.tape.source.hash;
            let same = |other: &&Self| {
                (!hash.is_empty() && other.tape.source.hash == *hash) || recording.holds_the_same(other)
            };
            if let Some(other) = all.iter().take(i).find(same) {
                return Err(CommandError::SameFiles {
                    first: other.path.display().to_string(),
                    second: recording.path.display().to_string(),
                    why: "the same recording by their content, which would count twice: name it once",
                });
            }
        }
        for (i, recording) in all.iter().enumerate() {
            if let Some(other) = all.iter().take(i).find(|other| recording.overlaps(other)) {
                return Err(CommandError::SameFiles {
                    first: other.path.display().to_string(),
                    second: recording.path.display().to_string(),
                    why: "parts of one recording, which overlap, so that what both hold would count twice: name one \
                          of them, or put both texts into one file",
                });
            }
        }
        let names = distinct_names(&all);
        let mut overridden = Vec::new();
        for (recording, name) in all.iter_mut().zip(names) {
            recording.tape.source.name = name;
            overridden.extend(recording.settle(options)?);
        }
        check_overridden(options, &overridden, &all)?;
        Ok(all)
    }

    /// Whether `other` holds the same idle periods, in whatever format.
    fn holds_the_same(&self, other: &Self) -> bool {
        let (a, b) = (&self.tape, &other.tape);
        let span = |t: &Tape| (t.source.first_ns, t.source.last_ns);
        let periods = |t: &Tape| t.cpus.iter().map(|c| (c.cpu, c.pieces.len())).collect::<Vec<_>>();
        span(a) == span(b) && a.cpus.iter().any(|c| !c.pieces.is_empty()) && periods(a) == periods(b)
    }

    /// Whether `other` holds idle periods of this recording, too: the same on the same CPU, to the nanosecond.
    fn overlaps(&self, other: &Self) -> bool {
        let span = |t: &Tape| (t.source.first_ns, t.source.last_ns);
        let ((a, until_a), (b, until_b)) = (span(&self.tape), span(&other.tape));
        let (from, to) = (a.max(b), until_a.min(until_b));
        let of_both = |cpu: &CpuTape| {
            let its = other.tape.cpus.iter().find(|c| c.cpu == cpu.cpu)?;
            Some(periods(cpu, from, to).intersection(&periods(its, from, to)).count())
        };
        from < to && self.tape.cpus.iter().filter_map(of_both).sum::<usize>() >= SHARED
    }

    fn of_tape(path: &Path, mut tape: Tape, options: &RecordingOptions) -> Result<Self, CommandError> {
        let not_of_a_tape = [
            ("--recorded-on", "knows its machine", options.recorded_on.is_some()),
            ("--instance", "has no instances", options.instance.is_some()),
        ];
        if let Some((option, why, _)) = not_of_a_tape.iter().find(|(_, _, asked)| *asked) {
            let why = format!("{}: a tape {why}; {option} is for traces", path.display());
            return Err(CommandError::conflict(&[option], why));
        }
        let name = format!("{}: machine of the tape", path.display());
        let mut machine = Platform::from_toml(&tape.source.machine, &name)?;
        let governor = KernelGovernor::of(options.kernel_governor.as_ref(), || tape.source.governor.clone());
        governor.as_str().clone_into(&mut tape.source.governor);
        tape.notes.extend(refused::find(&mut machine, &tape, None)?);
        let assumed = tape.inputs.iter().find(|i| i.name == MACHINE && i.weakest() == Confidence::Assumed);
        let machine_assumed = assumed.is_some();
        let by_sysfs = assumed.is_some_and(|i| i.how.contains(&format!(" by {SYSFS};")));
        let named = tape.inputs.iter().find(|i| i.name == MACHINE);
        let arch =
            Arch::of_kernel(&tape.source.kernel).or_else(|| named.and_then(|i| Arch::of_remark(&i.how)));
        let assumed_by = if by_sysfs { SYSFS } else { RECORDED_ON };
        Ok(Self {
            path: path.to_owned(),
            tape,
            machine,
            machine_assumed,
            machine_option: assumed_by,
            arch,
            machine_contradicted: None,
            hz_asked: None,
            all_io_waits: None,
            decisions: Arc::default(),
            governor,
            inputs: None,
            looks: None,
            machine_check: MachineCheck::default(),
        })
    }

    /// Which CPUs are used is known from here on, and what they say of the machine. Gives the CPUs that are used only because
    /// `options` take them.
    fn settle(&mut self, options: &RecordingOptions) -> Result<Vec<u32>, CommandError> {
        let overridden = self.leave_out_miscounted(options)?;
        self.machine_check = MachineCheck::of(self)?;
        Ok(overridden)
    }

    /// CPUs of which the trace has not the entries that the kernel counted are no basis for anything, but for those in
    /// `options` that are taken despite them: these it gives.
    fn leave_out_miscounted(&mut self, options: &RecordingOptions) -> Result<Vec<u32>, CommandError> {
        let mut overridden = Vec::new();
        if options.whatever_counted {
            return Ok(overridden);
        }
        let Some(looks) = &self.looks else { return Ok(overridden) };
        let check = match CounterCheck::between(self, looks) {
            Ok(check) => check,
            Err(e @ CommandError::IdlePeriods(_)) => return Err(e),
            // What cannot be compared with the counters is not refused for that.
            Err(_) => return Ok(overridden),
        };
        for (cpu, why) in check.miscounted() {
            if options.despite_counters.contains(&cpu) {
                overridden.push(cpu);
            } else if let Some(tape) = self.tape.cpus.iter_mut().find(|c| c.cpu == cpu) {
                tape.usable =
                    TapeCpu::Unusable(format!("{why} (--despite-counters {cpu} uses it nevertheless)"));
            }
        }
        Ok(overridden)
    }
}

/// CPUs that are to be taken despite their counters have to be there.
fn check_taken(taken: &[u32], recordings: &[Recording]) -> Result<(), CommandError> {
    let has = |cpu: &u32| recordings.iter().flat_map(|r| &r.tape.cpus).any(|c| c.cpu == *cpu);
    let Some(cpu) = taken.iter().find(|cpu| !has(cpu)) else { return Ok(()) };
    let there = |r: &Recording| {
        let cpus: Vec<u32> = r.tape.cpus.iter().map(|c| c.cpu).collect();
        format!("{} has CPUs {}", r.path.display(), cpu_list(&cpus))
    };
    let there: Vec<String> = recordings.iter().map(there).collect();
    let why = format!("--despite-counters {cpu}: there is no CPU {cpu}; {}", there.join("; "));
    Err(CommandError::NoSuchCpu { cpu: *cpu, why })
}

/// CPUs that are to be taken despite their counters have to be ones that the counters speak against.
fn check_overridden(
    options: &RecordingOptions,
    overridden: &[u32],
    recordings: &[Recording],
) -> Result<(), CommandError> {
    let idle = options.despite_counters.iter().find(|cpu| !overridden.contains(cpu));
    let Some(cpu) = idle.filter(|_| !options.whatever_counted) else { return Ok(()) };
    let why = |r: &Recording| {
        let path = r.path.display();
        match r.looks {
            None => format!("{path} has no counters of the kernel"),
            Some(_) => format!("{path} uses CPU {cpu} without it"),
        }
    };
    let why: Vec<String> = recordings.iter().map(why).collect();
    let why = format!("--despite-counters {cpu}: nothing to override: {}; leave it out", why.join("; "));
    Err(CommandError::conflict(&["--despite-counters"], why))
}

/// The recordings' names, distinguished.
fn distinct_names(all: &[Recording]) -> Vec<String> {
    let all: Vec<(&Path, &str)> =
        all.iter().map(|r| (r.path.as_path(), r.tape.source.name.as_str())).collect();
    distinct(&all)
}

fn assumed_machine(machine: &Platform, option: &str, contradicted: Option<&str>) -> TapeInput {
    let instead = match contradicted {
        Some(other) => format!("the recording says {other}"),
        None => "the recording does not say".to_owned(),
    };
    let mut counts = [0; 4];
    counts[Confidence::Assumed as usize] = 1;
    TapeInput { name: MACHINE.to_owned(), counts, how: format!("{} by {option}; {instead}", machine.id) }
}

/// A machine that the recording names, with another processor than was recorded.
fn named_machine(machine: &Platform, recorded: Arch) -> TapeInput {
    let mut counts = [0; 4];
    counts[Confidence::Recorded as usize] = 1;
    let how = format!("{}, as the recording says{}", machine.id, recorded.remark());
    TapeInput { name: MACHINE.to_owned(), counts, how }
}
