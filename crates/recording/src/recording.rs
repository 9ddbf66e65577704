// SPDX-License-Identifier: GPL-2.0-only
//! A recording, read: where it comes from, which machine and which governor it has.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use idlewise_governor::{Governor, Offered, RecordedName, Spec};
use idlewise_model::{Confidence, Tape, TapeCpu, TapeInput, TickGrid};
use idlewise_platform::{Platform, cpu_list};
use idlewise_tape::{Limits, file as tape_file};
use idlewise_trace::{Choice, TraceError, TraceFile};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::CommandError;
use crate::arch::Arch;
use crate::counters::{CounterCheck, Looks};
use crate::description::{Description, RecordedMachine};
use crate::governors::{find_one, not_selected};
use crate::machine_check::MachineCheck;
use crate::refused;
use crate::sidecar::InputsBeside;
use crate::steady::Steady;
use crate::decisions::{RecordedDecisions, may_hold};

/// What to know about a recording beside its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingOptions {
    /// The machine that was recorded: a platform's id, a platform file or a sysfs dump; `same`: that of `replayed_on`.
    pub recorded_on: Option<String>,
    /// `recorded_on` was given as `--sysfs`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub by_sysfs: bool,
    /// The idle governor that the kernel ran.
    pub kernel_governor: Option<String>,
    /// The trace instance to read, of a file that holds several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The machine that is replayed on, for `recorded_on` to refer to.
    #[serde(skip)]
    pub replayed_on: Option<String>,
    /// CPUs to take although their trace is not what the kernel counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub despite_counters: Vec<u32>,
    /// Take all CPUs so, whatever the kernel counted: who asks compares both.
    #[serde(skip)]
    pub whatever_counted: bool,
    /// How much of a trace's idle stays to hold in memory; no answer depends on it.
    #[serde(skip)]
    pub limits: Limits,
    /// Replay with so many ticks a second, whatever the recording shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

impl RecordingOptions {
    /// The option that names the machine.
    fn machine_option(&self) -> &'static str {
        if self.by_sysfs { SYSFS } else { RECORDED_ON }
    }
}

/// The options that name the machine that was recorded.
const RECORDED_ON: &str = "--recorded-on";
const SYSFS: &str = "--sysfs";

/// A trace or tape, understood.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The file.
    pub path: PathBuf,
    /// What governors would have seen.
    pub tape: Tape,
    /// The machine that was recorded.
    pub machine: Platform,
    /// The recording does not say that it was made on `machine`: `recorded_on` does.
    pub machine_assumed: bool,
    /// The option that named the machine, where one did.
    pub(crate) machine_option: &'static str,
    /// The processors that were recorded, where the recording shows it.
    pub(crate) arch: Option<Arch>,
    /// The machine that the recording names instead, where it names one.
    pub machine_contradicted: Option<String>,
    /// It is replayed as if its kernel had ticked so many times a second (`--hz`).
    pub hz_asked: Option<u32>,
    /// Decisions with their true inputs, where the trace has them.
    pub decisions: Arc<RecordedDecisions>,
    /// The kernel's idle governor, by who named it.
    pub governor: KernelGovernor,
    /// The governor's true inputs beside the trace, where they were recorded, too.
    pub inputs: Option<InputsBeside>,
    /// The kernel's own counters before and after, where the side-car has them.
    pub looks: Option<Looks>,
    /// What speaks against `machine`; of the CPUs that are not left out.
    pub machine_check: MachineCheck,
}

/// How `--kernel-governor` names a governor that idlewise does not have.
const OTHER: &str = "other:";

/// The name behind [`OTHER`].
pub fn other(name: &str) -> Option<&str> {
    name.strip_prefix(OTHER)
}

/// The kernel's idle governor: by an option of this invocation, or by what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelGovernor {
    /// `--kernel-governor`.
    Given(String),
    /// `--kernel-governor other:NAME`.
    Other(String),
    /// The recording, its description or the tape; empty where they do not say.
    Recorded(RecordedName),
}

impl KernelGovernor {
    fn of(given: Option<&String>, recorded: impl FnOnce() -> String) -> Self {
        match given {
            None => Self::Recorded(RecordedName::new(recorded())),
            Some(given) => match other(given) {
                Some(name) => Self::Other(name.to_owned()),
                None => Self::Given(given.clone()),
            },
        }
    }

    /// The name, to be shown.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Given(name) | Self::Other(name) => name,
            Self::Recorded(name) => name.as_str(),
        }
    }
}

impl RecordingOptions {
    /// The first option among these that was given.
    #[must_use]
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--recorded-on or --sysfs", self.recorded_on.is_some()),
            ("--kernel-governor", self.kernel_governor.is_some()),
            ("--instance", self.instance.is_some()),
            ("--despite-counters", !self.despite_counters.is_empty()),
            ("--hz", self.hz.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// Whether `kernel_governor` names a governor: a misspelt name would stand as a fact in every answer.
    ///
    /// # Errors
    /// [`CommandError::Request`] with the likeliest and all names, and how another governor is written.
    pub fn check_governor(&self) -> Result<(), CommandError> {
        let Some(name) = &self.kernel_governor else { return Ok(()) };
        if let Some(name) = other(name) {
            let why = format!("--kernel-governor {OTHER}{name}: the name is missing");
            return if name.trim().is_empty() { Err(CommandError::Request(why)) } else { Ok(()) };
        }
        let spec: Spec = name.parse()?;
        // Whether a file or a kernel tree is there, its reader says.
        if spec.names_a_file() || spec.id.split(':').next() == Some("linux") {
            return Ok(());
        }
        Governor::find(&spec).map(drop).map_err(|why| {
            CommandError::Request(format!(
                "--kernel-governor: {why}; a governor that idlewise does not have is given as {OTHER}{}",
                spec.id
            ))
        })
    }

    /// Opens the trace at `path`.
    pub fn open(&self, path: &Path) -> Result<TraceFile, TraceError> {
        TraceFile::open_with(path, &Choice { instance: self.instance.clone() })
    }
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
        let overridden = recording.settle(options);
        check_overridden(options, &overridden, std::slice::from_ref(&recording))?;
        Ok(recording)
    }

    /// As [`Recording::open`], with all CPUs, whatever the kernel counted.
    fn read(path: &Path, options: &RecordingOptions) -> Result<Self, CommandError> {
        options.check_governor()?;
        if let Some(tape) = read_tape(path)? {
            return Self::of_tape(path, tape, options);
        }
        let steady = Steady::of(path);
        let trace = options.open(path)?;
        let description = Description::of(path, trace.meta().description.as_deref())?;
        let RecordedMachine { machine, assumed, contradicted } = description.machine(options)?;
        let (looks, inputs) = (description.looks(), description.inputs());
        let decisions = if may_hold(trace.meta().event_names.values()) {
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
        tape.notes.extend(refused::find(&mut machine, &tape, looks.as_ref()));
        steady.check()?;
        let arch = Arch::of_trace(&trace)?;
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
                return Err(CommandError::Request(format!(
                    "{} and {} are the same recording, by their content; it would count twice: name it once",
                    other.path.display(),
                    recording.path.display()
                )));
            }
        }
        let names = distinct_names(&all);
        let mut overridden = Vec::new();
        for (recording, name) in all.iter_mut().zip(names) {
            recording.tape.source.name = name;
            overridden.extend(recording.settle(options));
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

    fn of_tape(path: &Path, mut tape: Tape, options: &RecordingOptions) -> Result<Self, CommandError> {
        let not_of_a_tape = [
            ("knows its machine; --recorded-on is", options.recorded_on.is_some()),
            ("has no instances; --instance is", options.instance.is_some()),
        ];
        if let Some((why, _)) = not_of_a_tape.iter().find(|(_, asked)| *asked) {
            return Err(CommandError::Request(format!("{}: a tape {why} for traces", path.display())));
        }
        let name = format!("{}: machine of the tape", path.display());
        let mut machine = Platform::from_toml(&tape.source.machine, &name)?;
        let governor = KernelGovernor::of(options.kernel_governor.as_ref(), || tape.source.governor.clone());
        governor.as_str().clone_into(&mut tape.source.governor);
        tape.notes.extend(refused::find(&mut machine, &tape, None));
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
            decisions: Arc::default(),
            governor,
            inputs: None,
            looks: None,
            machine_check: MachineCheck::default(),
        })
    }

    /// Which CPUs are used is known from here on, and what they say of the machine. Gives the CPUs that are used only because
    /// `options` take them.
    fn settle(&mut self, options: &RecordingOptions) -> Vec<u32> {
        let overridden = self.leave_out_miscounted(options);
        self.machine_check = MachineCheck::of(self);
        overridden
    }

    /// CPUs of which the trace has not the entries that the kernel counted are no basis for anything, but for those in
    /// `options` that are taken despite them: these it gives.
    fn leave_out_miscounted(&mut self, options: &RecordingOptions) -> Vec<u32> {
        let mut overridden = Vec::new();
        if options.whatever_counted {
            return overridden;
        }
        let Some(looks) = &self.looks else { return overridden };
        // What cannot be held against the counters is not refused for that.
        let Ok(check) = CounterCheck::between(self, looks) else { return overridden };
        for (cpu, why) in check.miscounted() {
            if options.despite_counters.contains(&cpu) {
                overridden.push(cpu);
            } else if let Some(tape) = self.tape.cpus.iter_mut().find(|c| c.cpu == cpu) {
                tape.usable =
                    TapeCpu::Unusable(format!("{why} (--despite-counters {cpu} takes it all the same)"));
            }
        }
        overridden
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
    Err(CommandError::Request(format!(
        "--despite-counters {cpu}: there is no CPU {cpu}; {}",
        there.join("; ")
    )))
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
    let why = why.join("; ");
    Err(CommandError::Request(format!("--despite-counters {cpu}: nothing to override: {why}; leave it out")))
}

/// The recordings' names, told apart.
fn distinct_names(all: &[Recording]) -> Vec<String> {
    let all: Vec<(&Path, &str)> =
        all.iter().map(|r| (r.path.as_path(), r.tape.source.name.as_str())).collect();
    distinct(&all)
}

/// Names of files; where several have one name, each with as much of its folders as tells them apart.
pub fn distinct(all: &[(&Path, &str)]) -> Vec<String> {
    let of = |path: &Path, parts: usize| -> String {
        let components: Vec<_> = path.components().collect();
        let from = components.len().saturating_sub(parts);
        components.iter().skip(from).collect::<PathBuf>().display().to_string()
    };
    let name = |(path, name): &(&Path, &str)| {
        let named_alike: Vec<&Path> = all.iter().filter(|(_, n)| n == name).map(|(path, _)| *path).collect();
        if named_alike.len() == 1 {
            return (*name).to_owned();
        }
        let most = path.components().count();
        let alone =
            |parts: &usize| named_alike.iter().filter(|o| of(o, *parts) == of(path, *parts)).count() == 1;
        of(path, (1..most).find(alone).unwrap_or(most))
    };
    all.iter().map(name).collect()
}

/// The input of a tape that says that its machine is assumed, or that the recorded processor is none of its machine's; there is
/// none where the recording says which machine it is and nothing speaks against that.
pub const MACHINE: &str = "machine";

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

impl Recording {
    /// Whether it tells the states that the kernel chose, for any stay.
    #[must_use]
    pub fn tells_states(&self) -> bool {
        let usable = self.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable);
        let mut pieces = usable.flat_map(|c| &c.pieces).peekable();
        pieces.peek().is_none() || pieces.any(|p| p.chosen().is_some())
    }

    /// The kernel's governor, if it ships with us or is `offered`; or why it is not run.
    ///
    /// # Errors
    /// [`CommandError::Governor`] where an option of this invocation names one that cannot be had.
    pub fn kernels_governor(&self, offered: &Offered) -> Result<Result<Governor, String>, CommandError> {
        let name = self.governor.as_str();
        match &self.governor {
            KernelGovernor::Recorded(_) if name.is_empty() => Ok(Err(
                "the recording does not name the kernel's idle governor (--kernel-governor)".to_owned(),
            )),
            KernelGovernor::Recorded(recorded) => {
                let folder = self.path.parent();
                // Its parameters are data, too.
                let loads = |governor: Governor| {
                    governor.run(|loader| loader.load(TickGrid::period_of(1000)).map(drop))?;
                    Ok(governor)
                };
                let found = recorded.find(offered, folder).and_then(loads);
                Ok(found.map_err(|why| not_selected(recorded, &why, folder)))
            }
            KernelGovernor::Given(_) => find_one(name, offered.trees()).map(Ok),
            KernelGovernor::Other(_) => {
                Ok(Err(format!("the kernel ran {name}, which is not among the governors here")))
            }
        }
    }

    /// The tape as a file that [`Recording::open`] reads.
    ///
    /// # Errors
    /// [`CommandError::TapeFile`] when the packing library refuses, [`CommandError::Stays`] when the tape cannot be read again.
    pub fn tape_bytes(&self) -> Result<Vec<u8>, CommandError> {
        let path = self.path.display().to_string();
        let bytes = tape_file::write(&self.tape).map_err(|source| CommandError::TapeFile { path, source })?;
        self.check()?;
        Ok(bytes)
    }

    /// What was made of the tape so far was made of all of it. To be asked before it is told to anybody.
    ///
    /// # Errors
    /// [`CommandError::Stays`] when the tape could not be read again.
    pub fn check(&self) -> Result<(), CommandError> {
        let failure = self.tape.cpus.iter().find_map(|c| c.pieces.failure());
        failure.map_or(Ok(()), |why| Err(CommandError::Stays(why.to_owned())))
    }
}

/// The name of the file at `path`, to be shown.
pub fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

/// Other names of standard input, which is read under none.
const STDIN: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// All of its names are refused in the same words, as `-` is (`crates/files`).
pub(crate) fn refuse_stdin(path: &Path) -> Result<(), CommandError> {
    if STDIN.iter().any(|name| path == Path::new(name)) {
        let why = "standard input is not read; write it to a file, and name that";
        return Err(CommandError::File { path: path.display().to_string(), why: why.to_owned() });
    }
    Ok(())
}

/// Whether the file at `path` is a tape.
pub fn is_tape(path: &Path) -> Result<bool, CommandError> {
    refuse_stdin(path)?;
    if path.is_dir() {
        return Ok(false);
    }
    let mut file = idlewise_files::open(path).map_err(|e| CommandError::file(path, e))?;
    let mut start = [0; 8];
    let n = file.read(&mut start).map_err(|e| CommandError::file(path, e))?;
    Ok(tape_file::is_tape(start.get(..n).unwrap_or_default()))
}

/// The text of a file that may be a dump; `None` where it is too large or no text.
pub fn text_of(path: &Path) -> Result<Option<String>, CommandError> {
    refuse_stdin(path)?;
    let wrong = |e: std::io::Error| CommandError::file(path, e);
    if path.is_dir() {
        return Ok(None);
    }
    // A dump of the largest machine has some ten MB; more is a recording.
    let bytes = match idlewise_files::read_within(path, idlewise_files::LARGEST_MADE) {
        Err(e) if e.kind() == std::io::ErrorKind::FileTooLarge => return Ok(None),
        read => read.map_err(wrong)?,
    };
    if bytes.contains(&0) {
        return Ok(None);
    }
    // A mail's other characters do no harm.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// No tape is larger, bytes: a hundred million stays.
const LARGEST_TAPE: u64 = 1 << 30;

fn read_tape(path: &Path) -> Result<Option<Tape>, CommandError> {
    if !is_tape(path)? {
        return Ok(None);
    }
    let bytes = idlewise_files::read_within(path, LARGEST_TAPE).map_err(|e| CommandError::file(path, e))?;
    let wrong = |source| CommandError::TapeFile { path: path.display().to_string(), source };
    tape_file::read(&bytes).map(Some).map_err(wrong)
}
