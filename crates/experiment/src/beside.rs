// SPDX-License-Identifier: GPL-2.0-only
//! A real run of a workload beside a simulated one: `idlewise simulate WORKLOAD --beside RECORDING`.
//!
//! The simulated run is written as a trace, and both traces are read by the same code, cut to the time in which the
//! workload's tasks ran.

mod cells;
mod pair;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use idlewise_model::{Counted, EventKind, HrtimerMode, Ledger as _, Note, NoteId, Piece, TapeCpu, nth};
use idlewise_score::{Score, Tally};
use idlewise_workload::{Event, Workload};
use schemars::JsonSchema;
use serde::Serialize;

use crate::ExperimentError;
use crate::simulate::{SimulateRequest, TraceTo, simulate_on};
use cells::Lengths;
pub use cells::{AgainstMenu, Cell, Share, cells};
use idlewise_explain::convert::Form;
use idlewise_recording::entries::recorded_entry;
use idlewise_recording::governors::offered;
use idlewise_recording::input_files::each_once;
use idlewise_recording::{CommandError, RT_APP_FILE, Recording, RecordingOptions};
pub use pair::{Pair, STAY_LIMITS_NS, TaskMeasures, TraceMeasures};

/// Version of the JSON that this gives.
pub const SCHEMA: &str = "idlewise.beside/3";

/// `HRTIMER_MODE_ABS`, and the function of a timer that a task sleeps by.
const ABSOLUTE: HrtimerMode = HrtimerMode(0);
const SLEEPER: &str = "hrtimer_wakeup";

/// What is compared begins so long after the first task's start, ns: until then a real kernel is busy with having made threads
/// (callbacks of RCU keep ticks, tasks go to their CPUs), which the workload does not describe.
const STARTING_NS: u64 = 100_000_000;

/// The kernel whose scheduler is simulated where a recording does not tell its own.
const KERNEL: &str = "6.12";

/// Simulated runs compared with recordings of the same workload.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BesideReport {
    /// [`SCHEMA`].
    pub schema: String,
    pub version: String,
    pub workload: String,
    /// Seed of the simulated runs.
    pub seed: u64,
    /// What of the workload is not modelled, or only roughly.
    pub notes: Vec<Note>,
    /// One for each recording.
    pub pairs: Vec<Pair>,
    /// One for each machine and governor.
    pub cells: Vec<Cell>,
}

/// Simulates `request` once for each recording, with the machine, the tick and the idle governor of that, and lays both side by side.
/// Of frequency governors and signals the request names one each.
///
/// # Errors
/// [`ExperimentError`] when workload, recordings or what they name cannot be found or used, or when the workload's tasks are
/// not in a recording.
pub fn beside(
    request: &SimulateRequest,
    recordings: &[PathBuf],
    options: &RecordingOptions,
    progress: &dyn Fn(&str),
) -> Result<BesideReport, ExperimentError> {
    for (option, names) in [("--cpufreq", &request.cpufreq), ("--signal", &request.signals)] {
        if names.len() > 1 {
            let count = names.len();
            let why =
                format!("{option} names {count}; the real run had one: with --beside, name only that one");
            return Err(CommandError::conflict(&[option, "--beside"], why).into());
        }
    }
    each_once(recordings)?;
    let workload = idlewise_workload::find(&request.workload)?;
    let mut pairs = Vec::new();
    let mut lengths = Vec::new();
    for path in recordings {
        let (pair, seen) = pair(request, &workload, path, options, progress)?;
        pairs.push(pair);
        lengths.push(seen);
    }
    Ok(BesideReport {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workload: workload.name.clone(),
        seed: request.seed,
        notes: workload.notes.iter().map(|n| NoteId::Workload.note(n)).collect(),
        cells: cells(&pairs, &lengths),
        pairs,
    })
}

fn pair(
    request: &SimulateRequest,
    workload: &Workload,
    path: &Path,
    options: &RecordingOptions,
    progress: &dyn Fn(&str),
) -> Result<(Pair, Lengths), ExperimentError> {
    let own = varied(path)?;
    let workload = own.as_ref().unwrap_or(workload);
    let shown = path.display().to_string();
    progress(&format!("reading {shown}"));
    let recording = Recording::open(path, options)?;
    if recording.tape.source.governor.is_empty() {
        let why = format!(
            "{shown}: the idle governor of the recording must be known; say it with --kernel-governor"
        );
        return Err(CommandError::not_given("--kernel-governor", why).into());
    }
    let cpus: BTreeSet<u32> =
        recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable).map(|c| c.cpu).collect();
    // How many CPUs there are, the recording says only where the platform does not.
    let open = recording.machine.clusters.iter().any(|c| c.any_cpu);
    let Look { measures: real, first_timer, lengths: real_lengths } =
        look(&recording, options, workload, &cpus)?;
    let tick_ns = first_timer.and_then(|first| tick_after_start(&recording, workload, &first));
    progress(&format!("simulating {} under {}", workload.name, recording.tape.source.governor));
    let governor = recording.kernels_governor(&offered([], &request.kernel_trees))?;
    let governor = governor.map_err(|why| CommandError::input(path, why))?;
    let request = SimulateRequest {
        platform: recording.machine.id.clone(),
        // One of ours, or one that the user named.
        governors: vec![governor.spec().to_string()],
        kernel: kernel(&recording).unwrap_or_else(|| KERNEL.to_owned()),
        cpus: open.then_some(recording.tape.cpus.len()),
        duration_ns: request.duration_ns.or(workload.global.duration_ns).or(Some(real.window_ns)),
        repeat: 1,
        baseline: None,
        ..request.clone()
    };
    let simulated = simulated(&request, workload, &recording, tick_ns, &cpus)?;
    let pair = Pair {
        recording: shown,
        platform: recording.machine.id.clone(),
        kernel: request.kernel,
        governor: short(&recording.tape.source.governor),
        cpus: cpus.into_iter().collect(),
        real,
        simulated: simulated.measures,
    };
    Ok((pair, [real_lengths, simulated.lengths]))
}

/// The file that rt-app read in a recording of the boot lab, where that is next to it: it may differ from the workload's
/// (`idlewise boot run --starts`).
fn varied(recording: &Path) -> Result<Option<Workload>, ExperimentError> {
    let Some(file) = recording.parent().filter(|_| recording.is_dir()).map(|p| p.join(RT_APP_FILE)) else {
        return Ok(None);
    };
    if !file.is_file() {
        return Ok(None);
    }
    Ok(Some(idlewise_workload::read_files(&[file])?))
}

/// Of a governor's file, its name.
fn short(governor: &str) -> String {
    let name = Path::new(governor).file_name().map(|n| n.to_string_lossy().into_owned());
    name.filter(|n| n.ends_with(".c")).unwrap_or_else(|| governor.to_owned())
}

/// Runs the simulation, and looks at its trace.
fn simulated(
    request: &SimulateRequest,
    workload: &Workload,
    recording: &Recording,
    tick_ns: Option<u64>,
    cpus: &BTreeSet<u32>,
) -> Result<Look, ExperimentError> {
    let temporary = |e: std::io::Error| CommandError::file(&std::env::temp_dir(), e);
    let folder = tempfile::tempdir().map_err(temporary)?;
    let path = folder.path().join("simulated.txt");
    let file = std::fs::File::create(&path).map_err(temporary)?;
    let to = TraceTo { form: Form::Text, file: &file, path: path.clone() };
    simulate_on(&recording.machine, request, workload, tick_ns, Some(&to), &|_, _| ())?;
    let machine = folder.path().join("machine.toml");
    std::fs::write(&machine, recording.machine.to_toml()).map_err(temporary)?;
    let options = RecordingOptions {
        recorded_on: Some(machine.display().to_string()),
        kernel_governor: request.governors.first().cloned(),
        ..RecordingOptions::default()
    };
    look(&Recording::open(&path, &options)?, &options, workload, cpus)
}

/// Major and minor version of the kernel that was recorded, where the recording says it.
fn kernel(recording: &Recording) -> Option<String> {
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    let mut parts = recording.tape.source.kernel.split('.').map(digits);
    let (major, minor) = (parts.next()?, parts.next()?);
    (!major.is_empty() && !minor.is_empty()).then(|| format!("{major}.{minor}"))
}

/// How long after the tasks' start the tick comes, ns: rt-app counts the periods of all its timers from one time, and a
/// load whose periods are ticks keeps meeting them or never does. `first` is the first timer that a task set to a time, and
/// whose. Nothing where the trace's clock is not that of timers.
fn tick_after_start(recording: &Recording, workload: &Workload, first: &(String, u64)) -> Option<u64> {
    let task = workload.tasks.iter().find(|t| kept(&t.name) == first.0)?;
    let period = |event: &Event| match event {
        Event::Timer { period_ns, .. } => Some(*period_ns),
        _ => None,
    };
    let period_ns = task.phases.iter().flat_map(|p| &p.events).find_map(period)?;
    let tick = recording.tape.cpus.first().filter(|_| recording.tape.source.clock == "mono")?.tick;
    let start_ns = first.1.checked_sub(period_ns)?;
    Some(tick.after(start_ns) - start_ns)
}

/// The kernel keeps 15 bytes of a name.
fn kept(name: &str) -> String {
    String::from_utf8_lossy(&name.as_bytes()[..name.len().min(15)]).into_owned()
}

/// What the workload's tasks did.
#[derive(Default)]
struct Tasks {
    from_ns: Option<u64>,
    to_ns: u64,
    /// The first timer that one of them set to a time on the clock: whose, and the time, ns.
    first_timer: Option<(String, u64)>,
    /// By name: latencies, and how many.
    latencies_ns: BTreeMap<String, Counted>,
}

impl Tasks {
    /// Of the trace at `path`. Names of tasks are known when all of it was read, so it is read twice.
    fn of(
        path: &Path,
        options: &RecordingOptions,
        names: &BTreeSet<String>,
    ) -> Result<Self, ExperimentError> {
        let trace = options.open(path)?;
        let mut events = trace.events()?;
        let mut seen: BTreeSet<i32> = BTreeSet::new();
        for event in events.by_ref() {
            if let EventKind::SchedSwitch { next_pid, .. } = event.kind {
                seen.insert(next_pid);
            }
        }
        let name = |pid: &i32| events.comm(*pid).filter(|c| names.contains(*c)).map(str::to_owned);
        let own: BTreeMap<i32, String> = seen.iter().filter_map(|pid| Some((*pid, name(pid)?))).collect();
        let mut out = Self::default();
        let mut woken: BTreeMap<i32, u64> = BTreeMap::new();
        for event in trace.events()? {
            match event.kind {
                EventKind::SchedWaking { pid, .. } if own.contains_key(&pid) => {
                    woken.insert(pid, event.ts_ns);
                }
                // Where there are no sched_waking events.
                EventKind::SchedWakeup { pid, new: false, .. } if own.contains_key(&pid) => {
                    woken.entry(pid).or_insert(event.ts_ns);
                }
                EventKind::HrtimerStart { softexpires, mode: ABSOLUTE, function, .. } => {
                    if out.first_timer.is_none()
                        && events.symbol(function) == Some(SLEEPER)
                        && let Some(name) = own.get(&event.pid)
                    {
                        out.first_timer = u64::try_from(softexpires).ok().map(|ns| (name.clone(), ns));
                    }
                }
                EventKind::SchedSwitch { prev_pid, next_pid, .. } => {
                    if own.contains_key(&prev_pid) {
                        out.to_ns = event.ts_ns;
                    }
                    let Some(name) = own.get(&next_pid) else { continue };
                    let from_ns = *out.from_ns.get_or_insert(event.ts_ns + STARTING_NS);
                    if let Some(at_ns) = woken.remove(&next_pid)
                        && event.ts_ns >= from_ns
                    {
                        let ns = event.ts_ns.saturating_sub(at_ns);
                        let times = out.latencies_ns.entry(name.clone()).or_default();
                        times.push(u32::try_from(ns).unwrap_or(u32::MAX));
                    }
                }
                _ => {}
            }
        }
        trace.check_read()?;
        Ok(out)
    }
}

/// What a trace shows, and what only a comparison needs of it.
struct Look {
    measures: TraceMeasures,
    first_timer: Option<(String, u64)>,
    /// Of all idle periods, ns.
    lengths: Counted,
}

fn look(
    recording: &Recording,
    options: &RecordingOptions,
    workload: &Workload,
    cpus: &BTreeSet<u32>,
) -> Result<Look, ExperimentError> {
    let names: BTreeSet<String> = workload.tasks.iter().map(|t| kept(&t.name)).collect();
    let tasks = Tasks::of(&recording.path, options, &names)?;
    let from_ns = tasks.from_ns.filter(|from| tasks.to_ns > *from).ok_or_else(|| {
        let why = format!(
            "none of the workload's tasks ran in it ({}); was it made with this workload, and are sched_switch events in it?",
            names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
        );
        CommandError::input(&recording.path, why)
    })?;
    let mut tallies = Vec::new();
    let mut by_length = [0_u64; 4];
    let mut lengths = Counted::default();
    for cpu in recording.tape.cpus.iter().filter(|c| cpus.contains(&c.cpu)) {
        let Some(place) = recording.machine.cluster_of(cpu.cpu) else { continue };
        let mut tally = Tally::new(&place.table, &place.energy);
        for block in cpu.pieces.blocks() {
            for piece in &*block.map_err(CommandError::from)? {
                let end_ns = piece.start_ns + piece.stay_ns();
                if piece.start_ns < from_ns || end_ns > tasks.to_ns {
                    continue;
                }
                tally.entry(&recorded_entry(cpu, piece, &place.table, recording.verdict_of()));
                by_length[length(piece)] += 1;
                lengths.push(u32::try_from(piece.stay_ns()).unwrap_or(u32::MAX));
            }
        }
        tallies.push(tally);
    }
    let score = Score::of(&tallies.iter().collect::<Vec<_>>());
    let window_ns = tasks.to_ns - from_ns;
    let seconds = window_ns as f64 / 1e9;
    let all: u64 = by_length.iter().sum();
    let measures = TraceMeasures {
        window_ns,
        wakeups_per_s: score.wakeups as f64 / seconds,
        too_deep_pct: score.too_deep_pct,
        too_shallow_pct: score.too_shallow_pct,
        ticks_per_s: score.ticks.map_or(f64::NAN, |n| n as f64 / seconds),
        states: score.states.iter().map(|s| (s.name.clone(), s.residency_pct)).collect(),
        stays_pct: by_length.map(|n| if all == 0 { 0.0 } else { n as f64 * 100.0 / all as f64 }),
        tasks: tasks.latencies_ns.iter().map(|(name, times)| task(name, times, seconds)).collect(),
    };
    Ok(Look { measures, first_timer: tasks.first_timer, lengths })
}

/// Which of [`STAY_LIMITS_NS`] a stay is below.
fn length(piece: &Piece) -> usize {
    STAY_LIMITS_NS.iter().take_while(|limit| piece.stay_ns() >= **limit).count()
}

fn task(name: &str, times: &Counted, seconds: f64) -> TaskMeasures {
    let ranks = Counted::ranks(std::iter::once(times));
    let n: u64 = ranks.iter().map(|(_, n)| n).sum();
    let sum: u64 = ranks.iter().map(|(ns, n)| u64::from(*ns) * n).sum();
    let at = |share: u64| u64::from(nth(&ranks, (n * share).div_ceil(100).saturating_sub(1)).unwrap_or(0));
    TaskMeasures {
        name: name.to_owned(),
        wakeups_per_s: n as f64 / seconds,
        latency_mean_ns: sum as f64 / n.max(1) as f64,
        latency_p50_ns: at(50),
        latency_p99_ns: at(99),
    }
}
