// SPDX-License-Identifier: GPL-2.0-only
//! Takes a recording into a corpus: grades it, refuses what contradicts itself, writes tape and entry.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use idlewise_answer::{Grade, Reason, ReasonId};
use idlewise_corpus::{Basis, Corpus, Entry, Split, StateCount, hash_of};
use idlewise_model::Confidence;
use idlewise_recording::counters::CounterCheck;
use idlewise_recording::trace_head::InputHead;
use idlewise_recording::{CommandError, Recording, RecordingOptions, ReplaySetup};
use idlewise_study::replay::{ORACLE, ReplayReport, ReplayRequest, replay};

use crate::error::CollectError;
use crate::prove::{Proof, prove};
use crate::scrub::{governor_name, scrub_to};

/// A recording for a corpus, and what nobody but its owner knows of it.
#[derive(Clone, Debug)]
pub struct AddRequest {
    /// The folder of the corpus, which is there.
    pub folder: PathBuf,
    pub trace: PathBuf,
    pub options: RecordingOptions,
    /// Its name in the corpus; that of the file without its ending where nothing is given.
    pub id: Option<String>,
    /// The kind of load.
    pub workload: String,
    pub basis: Basis,
    pub licence: String,
    pub origin: String,
    /// The command that made it; may be empty.
    pub command: String,
    /// Release of its kernel, where the recording does not say it.
    pub kernel: Option<String>,
    /// The kernel's counters before and after, as `grep -r .` prints them, where they are not inside the recording.
    pub counters: Option<[PathBuf; 2]>,
    /// The part for its machine, where the corpus has not got it yet.
    pub split: Option<Split>,
    /// The index names the file where it is; nothing is copied, nothing scrubbed.
    pub in_place: bool,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Added {
    pub entry: Entry,
    /// That the scrubbed tape makes the same decisions; nothing where the file was taken in place.
    pub proof: Option<Proof>,
}

/// Grades the recording of `request`, and puts it into the corpus.
///
/// # Errors
/// [`CollectError::Refused`] where the recording cannot be trusted; else when it cannot be read, scrubbed, or written. The corpus is
/// then as before.
pub fn add(request: &AddRequest) -> Result<Added, CollectError> {
    let mut corpus = Corpus::open_or_new(&request.folder)?;
    let recording = Recording::open(&request.trace, &request.options)?;
    if let Some(other) = &recording.machine_contradicted {
        let why = format!("the recording says that it was made on {other}, not on {}", recording.machine.id);
        return Err(CollectError::Refused { path: request.trace.display().to_string(), reasons: vec![why] });
    }
    let id = match &request.id {
        Some(id) => id.clone(),
        None => stem(&request.trace),
    };
    if request.in_place {
        let report = graded(&request.trace, &request.options)?;
        let file = relative(&request.folder, &request.trace)?;
        let entry = entry(request, &corpus, &recording, &report, id, file, &request.trace)?;
        corpus.insert(entry.clone())?;
        return Ok(Added { entry, proof: None });
    }
    let name = format!("{id}.tape");
    let scrubbed = scrub_to(&recording, &name, &request.folder)?;
    let path = scrubbed.file.path();
    let report = graded(path, &RecordingOptions::default())?;
    let entry = entry(request, &corpus, &recording, &report, id, PathBuf::from(&name), path)?;
    let proof = prove(&request.trace, &request.options, path, scrubbed.shift_ns)?;
    corpus.would_take(&entry)?;
    let place = request.folder.join(&name);
    set_mode(path)?;
    scrubbed.file.persist_noclobber(&place).map_err(|e| CollectError::file(&place, e.error))?;
    if let Err(e) = corpus.insert(entry.clone()) {
        // Nobody would know what it is.
        let _ = fs::remove_file(&place);
        return Err(e.into());
    }
    Ok(Added { entry, proof: Some(proof) })
}

/// Temporary files are for their owner only.
fn set_mode(path: &Path) -> Result<(), CollectError> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).map_err(|e| CollectError::file(path, e))
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A replay of the recording on its own machine says how far it can be trusted.
fn graded(path: &Path, options: &RecordingOptions) -> Result<ReplayReport, CollectError> {
    let request = ReplayRequest {
        traces: vec![path.to_owned()],
        setup: ReplaySetup { recording: options.clone(), ..ReplaySetup::default() },
        governors: vec![ORACLE.to_owned()],
        ..ReplayRequest::default()
    };
    Ok(replay(&request, &|_, _| ())?)
}

/// What makes a recording worthless for comparisons. What it merely does not show, such as timers, is a grade.
fn refuses(reason: &Reason) -> bool {
    let contradicts = [
        ReasonId::MachineContradicted,
        ReasonId::Warnings,
        ReasonId::Lost,
        ReasonId::LackingStates,
        ReasonId::FewWakeups,
        ReasonId::Parity,
    ];
    reason.grade == Grade::Poor && contradicts.contains(&reason.id)
}

fn entry(
    request: &AddRequest,
    corpus: &Corpus,
    recording: &Recording,
    report: &ReplayReport,
    id: String,
    file: PathBuf,
    path: &Path,
) -> Result<Entry, CollectError> {
    let [trace] = report.traces.as_slice() else { unreachable!("one trace was asked for") };
    let head = &trace.head;
    let trust = &report.answer.trust;
    let reasons = trust.reasons.iter().filter(|r| refuses(r));
    let mut against: Vec<String> = reasons.map(|r| r.words.clone()).collect();
    if !against.is_empty() {
        against.extend(head.warnings.iter().map(|w| w.words.clone()));
        against.push("`idlewise info` says more".to_owned());
        return Err(CollectError::Refused { path: request.trace.display().to_string(), reasons: against });
    }
    let hash = hash_of(path).map_err(|e| CollectError::file(path, e))?;
    let usable: Vec<_> = recording.tape.cpus.iter().filter(|c| head.cpus.contains(&c.cpu)).collect();
    let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let release = recording.tape.source.kernel.split_whitespace().next().unwrap_or("");
    let version: String = release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let machine = recording.machine.id.clone();
    Ok(Entry {
        split: request.split.unwrap_or_else(|| corpus.index().split_of(&machine)),
        id,
        file,
        sha256: hash.sha256,
        bytes: hash.bytes,
        machine,
        kernel: known(version.trim_end_matches('.')).or_else(|| request.kernel.clone()),
        workload: request.workload.clone(),
        hz: usable.first().and_then(|c| ticks_per_second(c.tick.period_ns)),
        governor: known(&governor_name(&recording.tape.source.governor)),
        basis: request.basis,
        licence: request.licence.clone(),
        origin: request.origin.clone(),
        command: request.command.clone(),
        span_ns: head.span_ns,
        cpus: u32::try_from(usable.len()).map_err(|e| CommandError::file(path, e))?,
        idle_periods: usable.iter().map(|c| c.pieces.len() as u64).sum(),
        trust: trust.grade.word().to_owned(),
        reasons: trust.reasons.iter().filter(|r| r.grade != Grade::Good).map(|r| r.words.clone()).collect(),
        fidelity_pct: trace.fidelity.as_ref().ok().and_then(|f| f.same_state_pct).map(hundredths),
        grades: head.inputs.iter().map(|i| (i.name.clone(), weakest(i).to_owned())).collect(),
        counters: counted(request, recording)?,
    })
}

/// Of a tick's period, ns, which is never 0.
fn ticks_per_second(period_ns: u64) -> Option<u32> {
    u32::try_from((1_000_000_000 + period_ns / 2) / period_ns).ok()
}

/// With two digits behind the point, as it is read.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn weakest(input: &InputHead) -> &'static str {
    let counts = [input.recorded, input.derived, input.bounded, input.assumed];
    let used = Confidence::ALL.iter().rev().find(|c| counts[**c as usize] > 0);
    used.unwrap_or(&Confidence::Recorded).name()
}

/// What the kernel counted during the recording, of the usable CPUs by state.
fn counters(check: &CounterCheck) -> Vec<StateCount> {
    let mut out: BTreeMap<usize, StateCount> = BTreeMap::new();
    for (i, state) in check.cpus.iter().flat_map(|cpu| cpu.states.iter().enumerate()) {
        let first = !out.contains_key(&i);
        let sum = out.entry(i).or_default();
        if first {
            sum.state.clone_from(&state.name);
        } else if !sum.state.split('/').any(|n| n == state.name) {
            sum.state = format!("{}/{}", sum.state, state.name);
        }
        let counts = [
            (&mut sum.above, state.above.kernel),
            (&mut sum.below, state.below.kernel),
            (&mut sum.rejected, state.rejected.kernel),
        ];
        for (to, from) in counts {
            *to = if first { from } else { to.zip(from).map(|(sum, n)| sum + n) };
        }
        // `counted` has refused those without.
        let (Some(usage), Some(time_us)) = (state.usage.kernel, state.time_us) else {
            unreachable!("a state without a usage or a time")
        };
        sum.usage += usage;
        sum.time_us += time_us;
    }
    out.into_values().collect()
}

/// The recording compared with what the kernel counted meanwhile; nothing where nobody kept that. A CPU whose entries differ would make
/// every number doubtful.
fn counted(request: &AddRequest, recording: &Recording) -> Result<Vec<StateCount>, CollectError> {
    let check = match (&request.counters, &recording.looks) {
        (Some([before, after]), _) => CounterCheck::of(recording, before, after)?,
        (None, Some(looks)) => CounterCheck::between(recording, looks)?,
        (None, None) => return Ok(Vec::new()),
    };
    let wrong: Vec<String> = check.miscounted().map(|(cpu, why)| format!("CPU {cpu}: {why}")).collect();
    let states = || check.cpus.iter().flat_map(|cpu| cpu.states.iter().map(|s| (cpu.cpu, s)));
    let unknown = states().find(|(_, s)| s.usage.kernel.is_none() || s.time_us.is_none());
    let unknown =
        unknown.map(|(cpu, s)| format!("CPU {cpu}: the counters lack the usage or the time of {}", s.name));
    let reasons: Vec<String> = wrong.into_iter().chain(unknown).collect();
    if !reasons.is_empty() {
        return Err(CollectError::Refused { path: request.trace.display().to_string(), reasons });
    }
    Ok(counters(&check))
}

/// The way from the folder `from` to the file `to`.
fn relative(from: &Path, to: &Path) -> Result<PathBuf, CollectError> {
    let whole = |path: &Path| fs::canonicalize(path).map_err(|e| CollectError::file(path, e));
    let (from, to) = (whole(from)?, whole(to)?);
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    Ok(up.chain(to.components().skip(common)).collect())
}
