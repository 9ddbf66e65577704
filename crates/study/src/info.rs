// SPDX-License-Identifier: GPL-2.0-only
//! What a trace holds and what can be done with it: `idlewise info`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use idlewise_model::{Event, EventKind, GovernorName, NotKnown, Note, NoteId, Span, known};
use idlewise_platform::cpu_list;
use idlewise_trace::Events;
use schemars::JsonSchema;
use serde::Serialize;

use crate::doomed::Doomed;
use idlewise_conform::input_accuracy::{self, InputAccuracy};
use idlewise_conform::own_governor::kernels_own;
use idlewise_conform::recorded_governors::{self, RecordedGovernor};
use idlewise_conform::settle_io_waits;
use idlewise_recording::description::Description;
use idlewise_recording::file_state::FileState;
use idlewise_recording::governors::{check_trees, offered};
use idlewise_recording::input_files::is_tape;
use idlewise_recording::input_files::text_of;
use idlewise_recording::sidecar::Sidecar;
use idlewise_recording::trace_head::{HealthHead, health_heads};
use idlewise_recording::{CommandError, FidelityHead, Recording, RecordingOptions, TraceHead};

/// Version of the JSON that an info gives.
pub const SCHEMA: &str = "idlewise.info/2";

/// What a trace holds.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Info {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    #[serde(serialize_with = "idlewise_recording::json_paths::path")]
    #[schemars(with = "PathBuf")]
    pub path: PathBuf,
    pub format: String,
    /// How the file as a whole is packed, if it is.
    pub packed: Option<String>,
    /// Its length, bytes; unpacked, if it is packed as a whole.
    pub bytes: u64,
    /// XXH3-128 of the bytes.
    pub hash: String,
    /// Kernel release and machine, where the recording names them.
    pub kernel: String,
    /// Version of the program that wrote the file, where it is named.
    pub recorder: String,
    /// Trace clock, where the recording names it.
    pub clock: String,
    /// Time of the first event, ns on the trace clock.
    pub first_ns: u64,
    /// From first to last event, ns.
    pub span_ns: u64,
    /// Events in the trace.
    pub events: u64,
    /// Trace instances in the file beside the one that is read.
    pub other_instances: Vec<String>,
    pub cpus: Vec<CpuInfo>,
    /// Each event with its count, the most frequent first.
    pub counts: Vec<EventCount>,
    /// What was lost or doubtful.
    pub health: Vec<HealthHead>,
    pub notes: Vec<Note>,
    /// What each input of a replay would depend on.
    pub inputs: Vec<InputInfo>,
    /// Decisions with the governor's true inputs, by governor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<DecisionCount>,
    /// Whether it can be scored: on which CPUs, or why not.
    pub score: Verdict,
    /// Whether it can be replayed: on which CPUs, or why not.
    pub replay: Verdict,
    /// How well replay knows its inputs and repeats the kernel's choices; where the machine is known.
    pub replayed: Option<Replayed>,
}

/// One CPU's part of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct CpuInfo {
    pub cpu: u32,
    pub events: u64,
    /// Entries into idle states.
    pub idle_entries: u64,
    /// Exits from idle states.
    pub idle_exits: u64,
    /// Switches to the idle task.
    pub switches_to_idle: u64,
    /// Gaps where events were lost.
    pub gaps: u64,
    /// Events lost in these gaps; nothing where the kernel did not count those of a gap.
    pub lost: Option<u64>,
    /// The longest time without any event, ns.
    pub longest_silence_ns: u64,
    /// An exit came behind an entry.
    #[serde(skip)]
    has_periods: bool,
    #[serde(skip)]
    last_ns: Option<u64>,
    /// Nothing but marks yet.
    #[serde(skip)]
    only_marks: bool,
}

/// How often an event came.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct EventCount {
    pub name: String,
    pub count: u64,
}

/// Decisions of a governor of which the trace holds the true inputs.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DecisionCount {
    /// What the kernel calls it; empty where it was switched on before the recording began.
    pub governor: String,
    pub count: u64,
}

/// What an input of a replay would depend on.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct InputInfo {
    pub name: String,
    /// The events here that it depends on.
    pub from: Vec<String>,
    /// Events that would make it better known and are not here.
    pub lacks: Vec<String>,
    /// What stands in for them.
    pub instead: String,
}

/// Whether something can be done with a trace.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Verdict {
    pub yes: bool,
    /// How, or why not.
    pub words: String,
}

/// A trace whose machine is known, understood as replay would.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Replayed {
    /// As at the top of a replay.
    pub head: TraceHead,
    /// Governors that the kernel ran, fed with the recorded inputs of their decisions, where the trace has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parity: Vec<RecordedGovernor>,
    /// How far the kernel's own governor makes the kernel's choices; or why that is not known.
    #[serde(flatten, serialize_with = "known::fidelity")]
    #[schemars(with = "known::FidelityOrWhy<FidelityHead>")]
    pub fidelity: Result<FidelityHead, NotKnown>,
    /// Entries that could not last.
    pub doomed: Doomed,
    /// How right the tape's inputs are, where the trace or a table next to it has the true ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub true_inputs: Vec<InputAccuracy>,
}

/// Looks through the trace at `path`. Where the machine is known (from `options` or a side-car), the trace is also
/// understood as for a replay; governors of kernel trees are looked for in `trees`.
///
/// # Errors
/// [`CommandError`] when the trace cannot be read, or the machine that is named cannot be found.
pub fn info(path: &Path, options: &RecordingOptions, trees: &[PathBuf]) -> Result<Info, CommandError> {
    if is_tape(path)? {
        return Err(CommandError::input(
            path,
            "a tape of idlewise, with the inputs that a trace gives to governors; info is for traces. \
             replay, compare and explain read it, and show its assumptions",
        ));
    }
    check_trees(trees)?;
    let steady = FileState::of(path);
    let trace = options.open(path).map_err(|why| no_trace(path).unwrap_or_else(|| why.into()))?;
    trace.count_into(&options.meter, 1);
    let mut events = trace.events()?;
    let mut seen = Seen::default();
    for event in events.by_ref() {
        seen.event(&event);
    }
    trace.check_read()?;
    let mut health = trace.meta().health.clone();
    health.merge(events.health());
    steady.check()?;
    let counts = counts(&events);
    let (score, replay) = verdicts(&seen);
    let replayed = if replay.yes { replayed(path, options, trees)? } else { None };
    let meta = trace.meta();
    let (first_ns, last_ns) = seen.span.ends_ns().unwrap_or_default();
    // A description that cannot be read says nothing here; what needs it says why.
    let guest = Description::of(path, meta.description.as_deref()).ok().and_then(|d| d.guest());
    let guest = guest.map(|w| NoteId::Guest.note(w));
    let notes = meta.notes.iter().cloned().chain(seen.span.note()).chain(guest).collect();
    let known: BTreeMap<&str, u64> =
        counts.iter().map(|c| (c.name.split_once(':').map_or(c.name.as_str(), |n| n.1), c.count)).collect();
    Ok(Info {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        path: path.to_owned(),
        format: meta.format.clone(),
        packed: trace.packed().map(str::to_owned),
        bytes: meta.bytes,
        hash: meta.hash.clone(),
        kernel: meta.kernel.clone(),
        recorder: meta.recorder.clone(),
        clock: meta.clock.clone(),
        first_ns,
        span_ns: last_ns - first_ns,
        events: counts.iter().map(|c| c.count).sum(),
        other_instances: meta.other_instances.clone(),
        inputs: if replay.yes { INPUTS.iter().map(|i| i.judge(&known)).collect() } else { Vec::new() },
        decisions: seen.decisions(),
        cpus: seen.cpus(&meta.cpus),
        counts,
        // With a machine, as far as it matters to what depends on it, too.
        health: replayed.as_ref().map_or_else(|| health_heads(&health), |r| r.head.health.clone()),
        notes,
        score,
        replay,
        replayed,
    })
}

/// What the file at `path`, which is no trace, is instead, and what takes it; nothing where it is nothing that is known here.
fn no_trace(path: &Path) -> Option<CommandError> {
    let text = text_of(path).ok()??;
    let name = path.display().to_string();
    if text.trim().is_empty() {
        let why =
            if text.is_empty() { "the file is empty" } else { "the file holds nothing but white space" };
        return Some(CommandError::input(path, format!("{why}; was the recording cut off?")));
    }
    let has_lines = text.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    let what = if has_lines && Sidecar::parse(&text, &name).is_ok() {
        "a side-car, which describes a recording. All commands read it with the recording next to it, which \
         has the same name with another ending"
    } else if idlewise_platform::Platform::from_toml(&text, &name).is_ok() {
        "a platform file: a machine and its idle states. `platform show` takes it, and --platform or --recorded-on next to a trace"
    } else if idlewise_platform::SysfsDump::parse(&text, &name).is_ok() {
        "a dump of the kernel's cpuidle counters (sysfs). `diff BEFORE AFTER` subtracts two; `score TRACE --counters BEFORE AFTER` \
         checks a trace against them where lines cpuN/at_ns say when they were read; --sysfs next to a trace takes the machine's idle states from it"
    } else if idlewise_platform::IdleLog::parse(&text, &name).is_ok_and(|log| log.is_some()) {
        "the log of a tool that measures idle states. `diff LOG` shows it, `diff LOG LOG` compares two"
    } else if idlewise_platform::Platform::from_device_tree(&text, &name).is_ok() {
        "the source of a device tree. `platform show` takes it, and --platform or --recorded-on next to a trace"
    } else {
        return None;
    };
    Some(CommandError::input(path, format!("{what}; info is for traces")))
}

/// What went by in the stream.
#[derive(Default)]
struct Seen {
    span: Span,
    cpus: BTreeMap<u32, CpuInfo>,
    /// The governor that was seen to be put in charge of a CPU.
    in_charge: BTreeMap<u32, GovernorName>,
    decisions: BTreeMap<GovernorName, u64>,
}

impl Seen {
    fn event(&mut self, event: &Event) {
        self.span.add(event);
        let cpu = self.cpu(event.cpu);
        if let EventKind::Lost { count } = event.kind {
            cpu.gaps += 1;
            cpu.lost = cpu.lost.filter(|_| count > 0).map(|lost| lost + count);
            return;
        }
        cpu.events += 1;
        let silence_ns = event.ts_ns.saturating_sub(cpu.last_ns.unwrap_or(event.ts_ns));
        let mark = matches!(event.kind, EventKind::Other { .. });
        if !(Span::is_far(silence_ns) && (mark || cpu.only_marks)) {
            cpu.longest_silence_ns = cpu.longest_silence_ns.max(silence_ns);
        }
        cpu.only_marks &= mark;
        cpu.last_ns = Some(event.ts_ns);
        match event.kind {
            // An idle event names its CPU; the others are of the CPU whose buffer holds them.
            EventKind::CpuIdle { cpu, state: Some(_) } => self.cpu(cpu).idle_entries += 1,
            EventKind::CpuIdle { cpu, state: None } => {
                let cpu = self.cpu(cpu);
                cpu.idle_exits += 1;
                cpu.has_periods |= cpu.idle_entries > 0;
            }
            EventKind::SchedSwitch { next_pid: 0, .. } => cpu.switches_to_idle += 1,
            EventKind::IdleEnabled { cpu, governor, .. } => {
                self.in_charge.insert(cpu, governor);
            }
            EventKind::IdleChosen { cpu, .. } => {
                let governor = self.in_charge.get(&cpu).copied().unwrap_or_default();
                *self.decisions.entry(governor).or_default() += 1;
            }
            _ => {}
        }
    }

    fn cpu(&mut self, cpu: u32) -> &mut CpuInfo {
        self.cpus.entry(cpu).or_insert_with(|| CpuInfo {
            cpu,
            lost: Some(0),
            only_marks: true,
            ..CpuInfo::default()
        })
    }

    fn decisions(&self) -> Vec<DecisionCount> {
        let count =
            |(g, n): (&GovernorName, &u64)| DecisionCount { governor: g.as_str().to_owned(), count: *n };
        self.decisions.iter().map(count).collect()
    }

    fn cpus(mut self, in_file: &[u32]) -> Vec<CpuInfo> {
        for cpu in in_file {
            self.cpu(*cpu);
        }
        self.cpus.into_values().collect()
    }
}

fn counts(events: &Events<'_>) -> Vec<EventCount> {
    let named = |(id, count): (u16, u64)| EventCount {
        name: events.event_name(id).map_or_else(|| format!("event {id}, not described"), str::to_owned),
        count,
    };
    let mut all: Vec<EventCount> = events.counts().into_iter().map(named).collect();
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    all
}

fn verdicts(seen: &Seen) -> (Verdict, Verdict) {
    let with = |has: fn(&CpuInfo) -> bool| -> Vec<u32> {
        seen.cpus.values().filter(|c| has(c)).map(|c| c.cpu).collect()
    };
    let idle = with(|c| c.has_periods);
    let switched = with(|c| c.switches_to_idle > 0);
    let on = |cpus: &[u32], what: &str| {
        let (of, others) = (|n: usize| if n == 1 { "CPU" } else { "CPUs" }, with(|_| true));
        let others: Vec<u32> = others.into_iter().filter(|cpu| !cpus.contains(cpu)).collect();
        let mut words = format!("on {} {}", of(cpus.len()), cpu_list(cpus));
        if !others.is_empty() {
            words +=
                &format!(", not on {} {}: no {what} recorded there", of(others.len()), cpu_list(&others));
        }
        words
    };
    let verdict = |yes, words: String| Verdict { yes, words };
    if !idle.is_empty() {
        let words = on(&idle, "idle periods");
        return (verdict(true, words.clone()), verdict(true, words));
    }
    let events = with(|c| c.idle_entries + c.idle_exits > 0);
    if !events.is_empty() {
        let why = "nothing here shows how long a CPU was idle: no CPU has a cpu_idle event of an exit behind one of an entry";
        return (verdict(false, why.to_owned()), verdict(false, why.to_owned()));
    }
    if switched.is_empty() {
        let why = "nothing here shows when a CPU was idle: no cpu_idle events, no switches to the idle task";
        return (verdict(false, why.to_owned()), verdict(false, why.to_owned()));
    }
    let score = "no cpu_idle events: which states the kernel chose is not known";
    let by = "idle times from switches to the idle task";
    let replay = format!("{}; {by}", on(&switched, "switches to the idle task"));
    (verdict(false, score.to_owned()), verdict(true, replay))
}

fn replayed(
    path: &Path,
    options: &RecordingOptions,
    trees: &[PathBuf],
) -> Result<Option<Replayed>, CommandError> {
    let mut recording = match Recording::open(path, options) {
        Ok(recording) => recording,
        Err(CommandError::MachineUnknown { .. }) => return Ok(None),
        Err(e) => return Err(e),
    };
    let offered = offered([], trees);
    settle_io_waits([&mut recording], &offered)?;
    let machine = &recording.machine;
    let missing = |cpu: u32| {
        machine.cluster_of(cpu).is_none().then(|| format!("platform {} has no CPU {cpu}", machine.id))
    };
    let governor = recording.kernels_governor(&offered)?;
    let fidelity = kernels_own(&recording, &governor)?;
    let head = TraceHead::new(&recording, missing).with_fidelity(&fidelity);
    let parity = recorded_governors::of_recording(&recording, &governor, &offered)?;
    let true_inputs = input_accuracy::compare(&recording)?;
    let doomed = Doomed::of(&recording)?;
    Ok(Some(Replayed { head, parity, fidelity, doomed, true_inputs }))
}

/// An input of a replay: the events that it is known from, those that it is known better by, and what stands in.
struct Need {
    name: &'static str,
    from: &'static [&'static str],
    better: &'static [&'static str],
    instead: &'static str,
}

/// What replay knows an input from (`docs/concepts/inputs.md`).
const INPUTS: [Need; 7] = [
    Need {
        name: "wake",
        from: &["cpu_idle", "hrtimer_expire_entry", "local_timer_entry", "irq_handler_entry", "ipi_entry"],
        better: &["hrtimer_expire_entry"],
        instead: "the end of the idle period minus the state's exit latency",
    },
    Need {
        name: "sleep length",
        from: &[
            "hrtimer_start",
            "hrtimer_cancel",
            "hrtimer_expire_entry",
            "timer_start",
            "timer_cancel",
            "timer_expire_entry",
        ],
        better: &["hrtimer_start", "timer_start"],
        instead: "the timer that ended an idle period, else the next one seen",
    },
    Need {
        name: "visits",
        from: &["sched_switch"],
        better: &["sched_switch"],
        instead: "short gaps between idle periods",
    },
    Need {
        name: "tick stopped",
        from: &["tick_stop", "timer_base_idle", "hrtimer_start"],
        better: &["tick_stop"],
        instead: "timer_base_idle from 6.9 on, else for when the tick's timer is armed, else idle periods that span a tick",
    },
    Need {
        name: "utilisation",
        from: &["sched_switch", "cpu_frequency"],
        better: &["sched_switch"],
        instead: "all time outside idle periods is busy",
    },
    Need {
        name: "iowait",
        from: &["sched_switch", "sched_blocked_reason", "sched_stat_iowait", "block_rq_issue"],
        better: &["sched_switch"],
        instead: "none",
    },
    Need {
        name: "latency limit",
        from: &["pm_qos_update_target"],
        better: &["pm_qos_update_target"],
        instead: "none, which is right if no process asked for one",
    },
];

impl Need {
    fn judge(&self, known: &BTreeMap<&str, u64>) -> InputInfo {
        let there = |name: &&&str| known.get(**name).is_some_and(|n| *n > 0);
        InputInfo {
            name: self.name.to_owned(),
            from: self.from.iter().filter(there).map(|n| (*n).to_owned()).collect(),
            lacks: self.better.iter().filter(|n| !there(n)).map(|n| (*n).to_owned()).collect(),
            instead: self.instead.to_owned(),
        }
    }
}
