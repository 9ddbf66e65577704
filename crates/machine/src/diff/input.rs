// SPDX-License-Identifier: GPL-2.0-only
//! Files as they come: dumps of sysfs by `grep` or `cat`, recordings.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use idlewise_model::{Note, NoteId};
use idlewise_platform::{CatDump, IdleLog, Platform, StateCounters, SysfsCounters, SysfsDump, SysfsState};
use idlewise_score::Score;

use super::log;
use super::part::{Parts, States};
use super::report::Run;
use super::request::{DiffRequest, Meaning};
use super::snapshots::{between, by_machine, doubts, other as other_snapshot, since_boot};
use idlewise_recording::counter_snapshots::CounterSnapshots;
use idlewise_recording::description::Description;
use idlewise_recording::input_files::{is_tape, text_of};
use idlewise_recording::kernel_governor::other;
use idlewise_recording::{CommandError, RecordingOptions};
use idlewise_study::score::by_cpu;

/// A file that was read.
pub(super) struct Input {
    pub(super) name: String,
    /// What was taken for granted.
    pub(super) notes: Vec<Note>,
    /// It names no CPU: `--cpus` does.
    pub(super) took_cpus: bool,
    what: InputKind,
}

enum InputKind {
    /// At least one look at sysfs.
    CounterSnapshots(Vec<SysfsDump>),
    /// What a tool measured.
    Log(IdleLog),
    /// A recording, read when it is clear what is asked of it.
    Recording(PathBuf, RecordingOptions),
}

impl Input {
    /// Reads the file at `path`, which is called `name` here.
    pub(super) fn read(path: &Path, name: String, request: &DiffRequest) -> Result<Self, CommandError> {
        let shown = path.display().to_string();
        let recording = || InputKind::Recording(path.to_owned(), request.recording.clone());
        let Some(text) = text_of(path)? else {
            let mut notes = Vec::new();
            let what = sampled(path, request, &name, &mut notes)?.unwrap_or_else(recording);
            return Ok(Self { name, notes, took_cpus: false, what });
        };
        let dump = SysfsDump::parse(&text, &shown);
        if dump.is_err()
            && let Some(log) = IdleLog::parse(&text, &shown)?
        {
            let notes = log::doubts(&log, &name);
            return Ok(Self { name, notes, took_cpus: false, what: InputKind::Log(log) });
        }
        let mut notes = Vec::new();
        let mut took_cpus = false;
        let what = match dump {
            Ok(mut looks) => {
                let left_out = looks.iter().find_map(|l| l.left_out);
                let left_out = left_out.or(IdleLog::parse(&text, &shown).ok().flatten().map(|log| log.tool));
                notes.extend(left_out.map(|form| {
                    NoteId::LeftOut.note(format!("{name}: what it holds of {form}, too, is not read"))
                }));
                let cut = looks.iter_mut().filter_map(SysfsDump::leave_out_the_end);
                notes.extend(cut.map(|words| NoteId::CutOff.note(format!("{name}: {words}"))));
                let skipped: usize = looks.iter().map(|l| l.skipped_lines).sum();
                if skipped > 0 {
                    let words = format!("{name}: lines about something else: {skipped}");
                    notes.push(NoteId::OddLines.note(words));
                }
                InputKind::CounterSnapshots(looks)
            }
            // One line of a dump is damaged: nothing else will be made of it.
            Err(why) if text.contains("cpuidle/state") => return Err(why.into()),
            Err(_) => match CatDump::parse(&text, &shown) {
                Ok(cat) => {
                    took_cpus = true;
                    InputKind::CounterSnapshots(looks_of_cat(&cat, &name, request, &mut notes)?)
                }
                Err(why) if text.trim().is_empty() || !may_be_recording(path, request) => {
                    return Err(why.into());
                }
                Err(_) => recording(),
            },
        };
        if let InputKind::CounterSnapshots(dumps) = &what {
            for dump in dumps {
                let mut own = Vec::new();
                doubts(dump, &name, &mut own);
                own.retain(|n| !notes.contains(n));
                notes.append(&mut own);
            }
        }
        Ok(Self { name, notes, took_cpus, what })
    }

    /// It cannot serve, and why.
    fn refused(&self, why: impl ToString) -> CommandError {
        CommandError::input(Path::new(&self.name), why)
    }

    /// Whether options that say something of recordings are for it.
    pub(super) fn is_recording(&self) -> bool {
        matches!(self.what, InputKind::Recording(..))
    }

    /// How many snapshots it holds; `None` for a recording or a log.
    pub(super) fn looks(&self) -> Option<usize> {
        if let InputKind::CounterSnapshots(looks) = &self.what { Some(looks.len()) } else { None }
    }

    pub(super) fn last_look(&self) -> Result<&SysfsDump, CommandError> {
        let looks = if let InputKind::CounterSnapshots(looks) = &self.what { looks.last() } else { None };
        let kind = if self.is_recording() { "a recording" } else { "a log" };
        looks.ok_or_else(|| self.refused(format!("{kind} is no snapshot of sysfs")))
    }

    /// Whether it is a recording that has the kernel's counters beside it; nothing of what is none.
    pub(super) fn has_counters(&self) -> Result<Option<bool>, CommandError> {
        match &self.what {
            InputKind::Recording(path, options) => Ok(Some(Beside::of(path, options)?.is_some())),
            InputKind::CounterSnapshots(_) | InputKind::Log(_) => Ok(None),
        }
    }

    /// What happened in it by itself: of a recording the kernel's counters beside it, or, if `by_stays` or where it has
    /// none, its own stays.
    pub(super) fn run(&self, by_stays: bool, notes: &mut Vec<Note>) -> Result<Run, CommandError> {
        let mut run = match &self.what {
            InputKind::Recording(path, options) => match Beside::of(path, options)?.filter(|_| !by_stays) {
                Some(beside) => beside.run(options, notes)?,
                None => recorded(path, &self.name, options, notes)?,
            },
            InputKind::Log(log) => log::run(log, &log.whole()),
            InputKind::CounterSnapshots(dumps) => match by_machine(dumps).as_slice() {
                [machine] => self.whole(machine, notes)?,
                several => {
                    let why = format!(
                        "snapshots of {} machines, kernels or boots; give each a file of its own, or this file alone",
                        several.len()
                    );
                    return Err(self.refused(why));
                }
            },
        };
        run.name.clone_from(&self.name);
        Ok(run)
    }

    /// What happened on one machine from the first of its snapshots to the last.
    fn whole(&self, dumps: &[&SysfsDump], notes: &mut Vec<Note>) -> Result<Run, CommandError> {
        match dumps {
            [] => Err(self.refused("no snapshots")),
            [one] => since_boot(one).map_err(|why| self.refused(why)),
            [a, .., b] => {
                if dumps.len() > 2 {
                    let words = format!(
                        "{}: {} snapshots; the first and the last are compared",
                        self.name,
                        dumps.len()
                    );
                    notes.push(NoteId::LeftOut.note(words));
                }
                Ok(between(a, b, notes)?)
            }
        }
    }

    /// What happened in it, in all detail: between each two snapshots of one machine; on several machines, on each from
    /// its first snapshot to its last. With how it was read.
    pub(super) fn runs(&self, meaning: Option<Meaning>, notes: &mut Vec<Note>) -> Result<Runs, CommandError> {
        if let InputKind::Log(log) = &self.what
            && (2..INTERVALS_MAX).contains(&log.intervals.len())
        {
            let named = |(n, i)| Run { name: format!("interval {}", n + 1), ..log::run(log, i) };
            let because = format!("one file: {} intervals of {}", log.intervals.len(), log.tool);
            let runs = log.intervals.iter().enumerate().map(named).collect();
            return Ok(Runs { meaning: Meaning::Looks, because, runs });
        }
        let InputKind::CounterSnapshots(dumps) = &self.what else {
            let run = self.run(false, notes)?;
            return Ok(Runs {
                meaning: Meaning::Looks,
                because: format!("one file: {}", run.basis),
                runs: vec![run],
            });
        };
        let machines = by_machine(dumps);
        let [machine] = machines.as_slice() else {
            let mut runs: Vec<Run> =
                machines.iter().map(|m| self.whole(m, notes)).collect::<Result<_, _>>()?;
            for (n, run) in
                runs.iter_mut().enumerate().filter(|(_, run)| ["", "between"].contains(&run.name.as_str()))
            {
                run.name = format!("machine {}", n + 1);
            }
            if let Some([a, b, ..]) = dumps.windows(2).find(|d| d[0].other_machine(&d[1]).is_some())
                && let Some(differ) = a.other_machine(b)
            {
                notes.push(other_snapshot(&differ, &self.name));
            }
            let of_a_kind = runs.windows(2).all(|r| r[0].basis == r[1].basis);
            let meaning = if runs.len() == 2 && of_a_kind { Meaning::Runs } else { Meaning::Looks };
            let because = format!("one file: {} machines, kernels or boots", machines.len());
            return Ok(Runs { meaning, because, runs });
        };
        if let ([a, b], Some(Meaning::Runs)) = (machine.as_slice(), meaning) {
            let mut runs = vec![since_boot(a)?, since_boot(b)?];
            for (n, run) in runs.iter_mut().enumerate().filter(|(_, run)| run.name.is_empty()) {
                run.name = format!("snapshot {}", n + 1);
            }
            return Ok(Runs { meaning: Meaning::Runs, because: "as asked for".to_owned(), runs });
        }
        if machine.len() < 3 || machine.len() > INTERVALS_MAX {
            let mut run = self.whole(machine, notes)?;
            if run.name.is_empty() || run.name == "between" {
                run.name.clone_from(&self.name);
            }
            return Ok(Runs {
                meaning: Meaning::Looks,
                because: format!("one file: {}", run.basis),
                runs: vec![run],
            });
        }
        let mut runs = Vec::new();
        for (n, pair) in machine.windows(2).enumerate() {
            let [a, b] = pair else { continue };
            let mut run = match between(a, b, notes) {
                Ok(run) => run,
                Err(why) => {
                    notes.push(NoteId::OtherBoot.note(why.to_string()));
                    since_boot(b)?
                }
            };
            if run.name.is_empty() || run.name == "between" {
                run.name = format!("snapshot {} to {}", n + 1, n + 2);
            }
            runs.push(run);
        }
        let because = format!("one file: {} snapshots, each against the one before", machine.len());
        Ok(Runs { meaning: Meaning::Looks, because, runs })
    }
}

/// What one file shows.
pub(super) struct Runs {
    pub(super) meaning: Meaning,
    pub(super) because: String,
    pub(super) runs: Vec<Run>,
}

/// Of more snapshots than this, only the first and the last are compared: nobody reads so many tables.
const INTERVALS_MAX: usize = 16;

/// The kernel's counters beside a recording, and the machine that they are of.
struct Beside {
    looks: CounterSnapshots,
    machine: Platform,
    governor: Option<String>,
}

impl Beside {
    fn of(path: &Path, options: &RecordingOptions) -> Result<Option<Self>, CommandError> {
        if is_tape(path)? {
            return Ok(None);
        }
        let trace = options.open(path)?;
        let description = Description::of(path, trace.meta().description.as_deref())?;
        let Some(looks) = description.looks() else { return Ok(None) };
        let governor = description.governor();
        Ok(description.told()?.map(|machine| Self { looks, machine, governor }))
    }

    /// What was counted between the two looks, CPUs that tracing hides included.
    fn run(self, options: &RecordingOptions, notes: &mut Vec<Note>) -> Result<Run, CommandError> {
        let (before, after) = (&self.looks.before, &self.looks.after);
        let counted = self.looks.difference()?;
        notes.extend(counted.notes);
        let mut parts = Parts::default();
        for (cpu, counters) in &counted.counters.cpus {
            let place = self.machine.cluster_of(*cpu);
            let table = place.map(|p| SysfsState::of_table(&p.table)).unwrap_or_default();
            let mut states: States = table.into_iter().enumerate().collect();
            // Where the machine has no table of the CPU, its states have numbers.
            for number in 0..counters.len() {
                states.entry(number).or_default();
            }
            parts.add(Some(*cpu), place.map_or("", |p| &p.name), &states, counters);
        }
        let times = after.0.iter().filter_map(|(cpu, at)| at.checked_sub(*before.0.get(cpu)?));
        let seconds = times.max().map(|ns| ns as f64 / 1e9);
        let named = options.kernel_governor.as_deref().map(|name| other(name).unwrap_or(name).to_owned());
        let governor = named.or(self.governor);
        Ok(parts.run("", "recording (with the kernel's counters)", seconds, None, governor)?)
    }
}

/// What a trace without events of its own sampled of the kernel's counters; nothing where it is something else.
fn sampled(
    path: &Path,
    request: &DiffRequest,
    name: &str,
    notes: &mut Vec<Note>,
) -> Result<Option<InputKind>, CommandError> {
    if path.is_dir() || is_tape(path)? {
        return Ok(None);
    }
    // What is no trace is refused where its idle periods are asked for.
    let Ok(trace) = request.recording.open(path) else { return Ok(None) };
    let samples = &trace.meta().cpuidle;
    if samples.is_empty() {
        return Ok(None);
    }
    let has_events = trace.events()?.next().is_some();
    trace.check_read()?;
    if has_events {
        return Ok(None);
    }
    let dumps: Vec<SysfsDump> = samples.iter().map(|s| log::dump(s, samples)).collect();
    if let Some(first) = dumps.first() {
        doubts(first, name, notes);
    }
    Ok(Some(InputKind::CounterSnapshots(dumps)))
}

/// Whether a text is a trace of any kind: the reader knows.
fn may_be_recording(path: &Path, request: &DiffRequest) -> bool {
    !matches!(
        idlewise_recording::Recording::open(path, &request.recording),
        Err(CommandError::Trace(_) | CommandError::Tape(_) | CommandError::TapeFile { .. })
    )
}

/// The looks in values that name no CPU. They are one look, unless both must be in this file: then its two halves, if those can be of the
/// same CPUs.
fn looks_of_cat(
    cat: &CatDump,
    name: &str,
    request: &DiffRequest,
    notes: &mut Vec<Note>,
) -> Result<Vec<SysfsDump>, CommandError> {
    let total: usize = cat.parts.iter().map(Vec::len).sum();
    let flat: Vec<_> = cat.parts.iter().flatten().cloned().collect();
    let may_be_both = request.after.is_none() || request.meaning == Some(Meaning::Runs);
    let both = may_be_both && total.is_multiple_of(2) && request.cpus.len() != total && {
        let (first, second) = flat.split_at(total / 2);
        cat.parts.len() > 1 || first.iter().zip(second).all(|(a, b)| goes_on(a, b))
    };
    let count = if both { total / 2 } else { total };
    let numbers = match request.cpus.as_slice() {
        [] => CatDump::shell_order(count),
        cpus if cpus.len() == count => cpus.iter().copied().map(Some).collect(),
        cpus => {
            let why = format!("{name}: states of {count} CPUs, but --cpus names {}", cpus.len());
            return Err(CommandError::conflict(&["--cpus"], why));
        }
    };
    if cat.foreign_lines > 0 {
        let words = format!("{name}: lines that belong to no state: {}", cat.foreign_lines);
        notes.push(NoteId::OddLines.note(words));
    }
    if both && request.cpus.is_empty() && cat.parts.len() == 1 {
        notes.push(NoteId::AssumedCpus.note(format!(
            "{name}: {total} times a CPU's states, and no counter of the second half is less than in the first: taken as two \
             snapshots of {count}; --cpus with {total} CPUs says that it is one"
        )));
    }
    if request.cpus.is_empty() && count > 1 {
        notes.push(NoteId::AssumedCpus.note(format!(
            "{name}: no CPU is named; {count} are taken in the order of cat cpu*/... (0, 1, 10, ..., 2); --cpus says otherwise"
        )));
    }
    let looks = flat.chunks(count.max(1));
    Ok(looks.map(|cpus| CatDump::look(&[cpus.to_vec()], &numbers)).collect())
}

/// Whether `after` can be of the CPU that `before` is of: the same states, and no counter is less.
fn goes_on(before: &BTreeMap<usize, SysfsState>, after: &BTreeMap<usize, SysfsState>) -> bool {
    let less = |a: Option<u64>, b: Option<u64>| a.zip(b).is_some_and(|(a, b)| b < a);
    before.len() == after.len()
        && before.values().zip(after.values()).all(|(a, b)| {
            a.name == b.name
                && !less(a.usage, b.usage)
                && !less(a.time_us, b.time_us)
                && !less(a.above, b.above)
                && !less(a.below, b.below)
                && !less(a.rejected, b.rejected)
        })
}

/// A recording by its own stays.
fn recorded(
    path: &Path,
    name: &str,
    options: &RecordingOptions,
    notes: &mut Vec<Note>,
) -> Result<Run, CommandError> {
    let judged = by_cpu(path, options)?;
    if judged.cpus.is_empty() {
        let why = format!("no CPU can be judged. {}", judged.left_out.join("; "));
        return Err(CommandError::file(path, why));
    }
    let assumed = |a| NoteId::Assumption.note(format!("{name}: these results are right if {a}"));
    notes.extend(judged.assumption.map(assumed));
    notes.extend(judged.warnings.iter().map(|w| w.about(format!("{name}: WARNING: "))));
    notes.extend(judged.left_out.iter().map(|why| NoteId::LeftOut.note(format!("{name}: {why}"))));
    let counters = |s: &Score| {
        let state = |s: &idlewise_score::StateScore| StateCounters {
            usage: Some(s.entries),
            time_us: Some(s.residency_ns / 1000),
            above: Some(s.above),
            below: Some(s.below),
            rejected: Some(s.rejected),
            ..StateCounters::default()
        };
        s.states.iter().map(state).collect::<Vec<_>>()
    };
    let mut parts = Parts::default();
    let counted = SysfsCounters { cpus: judged.cpus.iter().map(|(c, _, s)| (*c, counters(s))).collect() };
    for (cpu, place, score) in &judged.cpus {
        let named = |s: &idlewise_score::StateScore| SysfsState {
            name: Some(s.name.clone()),
            ..SysfsState::default()
        };
        let states: States = score.states.iter().map(named).enumerate().collect();
        if let Some(counters) = counted.cpus.get(cpu) {
            parts.add(Some(*cpu), place, &states, counters);
        }
    }
    let governor = Some(judged.governor).filter(|g| !g.is_empty());
    Ok(parts.run(
        "",
        "recording (its own idle periods)",
        Some(judged.span_ns as f64 / 1e9),
        None,
        governor,
    )?)
}
