// SPDX-License-Identifier: GPL-2.0-only
//! Gathers the evidence for an advice: records a load, replays it under all governors, and compares those of the running kernel.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use crate::MachineError;
use idlewise_ab::{self as ab, AbReport, AbRequest, Benchmark, Work};
use idlewise_files::new_file::{WriteError, write_new};
use idlewise_governor::RecordedName;
use idlewise_live::journal::Restoration;
use idlewise_live::limits::LimitWatch;
use idlewise_live::tracefs::Tracefs;
use idlewise_live::watch::Watch;
use idlewise_live::{Host, clock, load};
use idlewise_model::{NotKnown, NoteId};
use idlewise_recorder::record::{Stop, Stopper};
use idlewise_recording::{CommandError, DatForm, Recording, RecordingOptions, ReplaySetup};
use idlewise_report::lines;
use idlewise_study::replay::{ReplayReport, ReplayRequest, replay};
use serde::Serialize;

use super::candidate::{Candidate, candidates, check_named, specs};
use super::evidence::{Evidence, entered};
use super::judge::{Advice, judge};
use super::situation::Situation;
use crate::record::{RecordReport, RecordRequest, record};

/// How long limits are watched where nothing is recorded meanwhile.
const LIMITS_FOR: Duration = Duration::from_secs(1);

/// What to advise on.
#[derive(Clone, Debug)]
pub struct AdviseRequest {
    /// A recording made before, instead of a new one.
    pub trace: Option<PathBuf>,
    /// What is known of the recording besides its events.
    pub recording: RecordingOptions,
    /// What can be run again and again; without it the machine is recorded as it is.
    pub benchmark: Option<Benchmark>,
    /// How long the machine is recorded as it is, s.
    pub seconds: u32,
    /// What the benchmark prints, as in [`AbRequest::metrics`].
    pub metrics: Vec<String>,
    /// More governors to ask about: `menu:disable=1`.
    pub also: Vec<String>,
    /// Leaves the running kernel as it is: records and replays only.
    pub no_ab: bool,
    /// The folder of a comparison made before, instead of a new one.
    pub ab_session: Option<PathBuf>,
    /// Runs of the benchmark under each governor.
    pub repeat: u32,
    /// A run is repeated when others take more of the CPUs, %.
    pub foreign_pct: u32,
    /// The folder for recording, runs and results, new or empty; without it a free name, where there is anything to keep.
    pub to: Option<PathBuf>,
    /// A tree of files that was copied from the machine of the recording, instead of this machine.
    pub root: Option<PathBuf>,
}

/// Ends an advice from a signal's handler or another thread. What runs ends, everything is restored.
#[derive(Debug, Default)]
pub struct Ending {
    asked: AtomicBool,
    /// What is being done ends by itself.
    busy: AtomicBool,
    comparing: ab::Stop,
    recording: Mutex<Option<Stopper>>,
}

impl Ending {
    /// Of an advice that goes on.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            asked: AtomicBool::new(false),
            busy: AtomicBool::new(false),
            comparing: ab::Stop::new(),
            recording: Mutex::new(None),
        }
    }

    /// Ends it. Whether it ends by itself: `false` where nothing was changed, and the caller may end the process at once.
    pub fn ask(&self) -> bool {
        self.asked.store(true, Ordering::SeqCst);
        if !self.busy.load(Ordering::SeqCst) {
            return false;
        }
        self.comparing.now();
        if let Some(stopper) = self.recording.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            stopper.stop();
        }
        true
    }

    fn asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
    }

    /// Does what restores its changes by itself when it is interrupted.
    fn busy<T>(&self, work: impl FnOnce() -> T) -> T {
        self.busy.store(true, Ordering::SeqCst);
        let result = work();
        self.busy.store(false, Ordering::SeqCst);
        result
    }

    fn stops_by(&self, stopper: Option<Stopper>) {
        *self.recording.lock().unwrap_or_else(PoisonError::into_inner) = stopper;
    }
}

/// The user of a long command, as the rooms below see one.
pub trait Attendant {
    /// Prints a line now.
    fn warn(&self, what: &str);
    /// Prints what a new recording holds.
    fn recorded(&self, report: &RecordReport);
    /// Shows that `what` is being done, until the answer is dropped.
    fn begin(&self, what: &'static str) -> Box<dyn Progress>;
}

/// How far something is.
pub trait Progress: Sync {
    /// Something else is being done.
    fn say(&self, what: &str);
    /// `done` of `of` parts of `what` are done.
    fn step(&self, what: &'static str, done: usize, of: usize);
}

/// Advises on the machine `host`, and keeps the evidence in a folder.
///
/// # Errors
/// [`MachineError`] when there is no answer: neither a replay nor a comparison is possible, or it was ended. What was recorded is
/// kept, and the error names it.
pub fn advise(
    host: &Host,
    request: &AdviseRequest,
    ending: &Ending,
    attendant: &dyn Attendant,
) -> Result<Advice, MachineError> {
    let task = Task::new(request, host, ending, attendant)?;
    task.check()?;
    let start = clock::now();
    let limits =
        (request.trace.is_none() || request.root.is_none()).then(|| LimitWatch::begin(host, start.elapsed()));
    let recording = task.recording()?;
    if request.trace.is_some() && limits.as_ref().is_some_and(LimitWatch::sees_something) {
        sleep(LIMITS_FOR);
    }
    let limiting = limits.map(|mut limits| limits.end(start.elapsed()));
    let Opened { recording, mut situation, recorded, entered } = task.open(recording)?;
    situation.limiting = limiting.filter(|_| situation.elsewhere.is_none());
    let session = request.ab_session.as_deref().map(ab::report).transpose()?;
    let mut also = request.also.clone();
    // A session's files are data: they name what the kernel has, never a C file.
    let arms = session.iter().flat_map(|s| s.arms.iter().cloned());
    also.extend(arms.filter(|arm| !RecordedName::new(arm).names_a_file()));
    let mut candidates = candidates(&situation, &recorded, &also);
    if let (Some(dir), Some(first)) = (&request.ab_session, session.as_ref().and_then(|s| s.arms.first()))
        && let Some(current) = candidates.first().filter(|c| c.name != *first)
    {
        let (dir, current) = (dir.display(), &current.name);
        let why = format!("{dir}: compares with {first}, but the governor in force is {current}");
        return Err(CommandError::conflict(&["--ab-session"], why).into());
    }
    for candidate in &mut candidates {
        if session.as_ref().is_some_and(|s| s.arms.contains(&candidate.name)) {
            candidate.in_kernel = Some(true);
        }
    }
    let replayed = recording.and_then(|path| task.replay(&path, &candidates));
    let compared = match session {
        Some(session) => Ok(session),
        None => task.compare(&situation, &candidates)?,
    };
    if let (Err(no_replay), Err(no_ab)) = (&replayed, &compared) {
        attendant.warn(no_replay.why());
        return Err(MachineError::NoAnswer { no_replay: no_replay.clone(), no_ab: no_ab.clone() });
    }
    let mut advice = judge(&Evidence {
        situation,
        load: task.words(),
        candidates,
        entered,
        replay: replayed.as_ref().map_err(Clone::clone),
        ab: compared.as_ref().map_err(Clone::clone),
    });
    if let Some(folder) = &request.to {
        fs::create_dir_all(folder).map_err(|e| CommandError::file(folder, e))?;
    }
    advice.kept = task.kept();
    if let Some(folder) = task.folder.as_ref().filter(|f| f.is_dir()) {
        if let Ok(report) = &replayed {
            write_json(&folder.join("replay.json"), report)?;
        }
        write_json(&folder.join("advice.json"), &advice)?;
    }
    Ok(advice)
}

fn write_json(path: &Path, what: &impl Serialize) -> Result<(), MachineError> {
    let text = serde_json::to_string_pretty(what).map_err(|e| CommandError::file(path, e))?;
    Ok(write_new(path, (lines(&text).into_owned() + "\n").as_bytes(), false)?)
}

/// Whether the governor in force, the first of `candidates`, can be replayed: all others are compared with it.
fn is_replayed(candidates: &[Candidate]) -> Result<(), NotKnown> {
    match candidates.first().filter(|c| c.replay.is_empty()) {
        Some(current) => Err(NotKnown::because(
            NoteId::GovernorNotHere,
            format!("the kernel's governor {} cannot be replayed", current.name),
        )),
        None => Ok(()),
    }
}

/// A recording's path; or why there is none.
type Recorded = Result<PathBuf, NotKnown>;

/// A recording and what it is of.
struct Opened {
    recording: Recorded,
    situation: Situation,
    /// The governor that it names.
    recorded: String,
    /// The idle states that it shows to be enterable.
    entered: Option<BTreeSet<usize>>,
}

/// What is to be done.
struct Task<'a> {
    request: &'a AdviseRequest,
    host: &'a Host,
    ending: &'a Ending,
    attendant: &'a dyn Attendant,
    /// Where the evidence is kept; none for a recording alone.
    folder: Option<PathBuf>,
}

impl<'a> Task<'a> {
    fn new(
        request: &'a AdviseRequest,
        host: &'a Host,
        ending: &'a Ending,
        attendant: &'a dyn Attendant,
    ) -> Result<Self, MachineError> {
        let r = request;
        let measures = r.trace.is_none() || (r.benchmark.is_some() && !r.no_ab && r.ab_session.is_none());
        let folder = (measures || r.to.is_some())
            .then(|| r.to.clone().unwrap_or_else(|| ab::free_folder(Path::new(""), "advise")));
        if let Some(folder) = &folder {
            let failed = |e: std::io::Error| CommandError::file(folder, e);
            if folder.exists() && fs::read_dir(folder).map_err(failed)?.next().is_some() {
                return Err(CommandError::file(folder, "not empty; name a new folder").into());
            }
        }
        Ok(Self { request, host, ending, attendant, folder })
    }

    /// Whether there will be an answer, asked before anything is recorded or made.
    fn check(&self) -> Result<(), MachineError> {
        check_named(&Situation::of(self.host), &self.request.also)?;
        if self.request.trace.is_some() || self.request.ab_session.is_some() {
            return Ok(());
        }
        let here = Situation::of(self.host);
        let candidates = candidates(&here, "", &self.request.also);
        let (Err(no_replay), Err(no_ab)) =
            (self.can_replay(&here, &candidates), self.can_compare(&here, &candidates))
        else {
            return Ok(());
        };
        Err(MachineError::NoEvidence { no_replay, no_ab })
    }

    /// Why a recording of this machine could not be made or not be replayed.
    fn can_replay(&self, here: &Situation, candidates: &[Candidate]) -> Result<(), NotKnown> {
        if here.governor.is_none() {
            return Err(NotKnown::because(
                NoteId::GovernorNotNamed,
                "this kernel names no idle governor in force",
            ));
        }
        is_replayed(candidates)?;
        if self.options().recorded_on.is_none() {
            Watch::open(self.host).map_err(|e| {
                NotKnown::because(
                    NoteId::Failed,
                    format!("{e} (--recorded-on names another machine's states)"),
                )
            })?;
        }
        Tracefs::of(self.host).map(drop).map_err(NotKnown::of)
    }

    /// Why governors could not be compared on this kernel.
    fn can_compare(&self, here: &Situation, candidates: &[Candidate]) -> Result<(), NotKnown> {
        self.arms(here, candidates)?;
        Watch::open(self.host).map_err(NotKnown::of)?;
        let file = self.host.sys.join("devices/system/cpu/cpuidle/current_governor");
        match OpenOptions::new().write(true).open(&file) {
            Ok(_) => Ok(()),
            Err(e) => {
                let why = format!("{}: {e}; switching governors needs root", file.display());
                Err(NotKnown::because(NoteId::NeedsRoot, why))
            }
        }
    }

    /// What ran, in words.
    fn words(&self) -> String {
        let a = self.request;
        let load = a.benchmark.as_ref().map(|b| match b.load.as_deref().map(load::find) {
            Some(Ok(load)) => format!("{}: {}", load.name, load.what),
            _ => b.command.join(" "),
        });
        match (&a.trace, load) {
            (Some(trace), Some(load)) => format!("{load}; recording {}", trace.display()),
            (Some(trace), None) => format!("recording {}", trace.display()),
            (None, Some(load)) => load,
            (None, None) => format!("the machine's own load, for {} s", self.as_it_is()),
        }
    }

    fn as_it_is(&self) -> u32 {
        self.request.seconds
    }

    /// Where the recording is, made now where none is given; or why there is none, where something else can be done.
    fn recording(&self) -> Result<Recorded, MachineError> {
        if let Some(trace) = &self.request.trace {
            return Ok(Ok(trace.clone()));
        }
        let Some(folder) = &self.folder else { unreachable!("a recording is made, and nothing is kept") };
        let made_now = !folder.exists();
        fs::create_dir_all(folder).map_err(|e| CommandError::file(folder, e))?;
        let to = folder.join("recording.dat");
        self.attendant.warn(&format!("recording {}", self.words()));
        match self.ending.busy(|| self.record(&to)) {
            Ok(()) if self.ending.asked() => {
                let kept = format!("the recording is kept: idlewise advise {}", to.display());
                Err(MachineError::Interrupted { kept })
            }
            Ok(()) => Ok(Ok(to)),
            Err(closed @ MachineError::Command(CommandError::Write(WriteError::Closed))) => Err(closed),
            Err(why) if self.request.benchmark.is_some() && !self.request.no_ab => Ok(Err(NotKnown::of(why))),
            Err(why) => {
                if made_now {
                    // Only an empty folder goes.
                    let _ = fs::remove_dir(folder);
                }
                Err(MachineError::NotRecorded { why: Box::new(why) })
            }
        }
    }

    fn record(&self, to: &Path) -> Result<(), MachineError> {
        let (mut stop, stopper) = Stop::new().map_err(MachineError::Pipe)?;
        self.ending.stops_by(Some(stopper));
        // What the load prints is not our answer.
        let aside = ["sh", "-c", "exec \"$@\" >&2", "sh"].map(OsString::from);
        let command = self.request.benchmark.as_ref().map_or_else(Vec::new, |b| {
            aside.into_iter().chain(b.command.iter().map(OsString::from)).collect()
        });
        let limit = command.is_empty().then(|| Duration::from_secs(self.as_it_is().into()));
        let request = RecordRequest { command, limit, to: to.to_owned(), ..RecordRequest::default() };
        let taken = record(self.host, &request, &mut stop, &mut |_| ());
        self.ending.stops_by(None);
        let taken = taken?;
        let [before, after] = &taken.restored;
        self.report_restored(before, true);
        self.report_restored(after, false);
        let code = taken.ended().code();
        let report = {
            let progress = self.attendant.begin("writing");
            taken.keep(to, false, DatForm::Packed, &|what| progress.say(what))?
        };
        self.attendant.recorded(&report);
        if code != 0 && !self.ending.asked() {
            return Err(MachineError::Load { status: code });
        }
        Ok(())
    }

    fn options(&self) -> RecordingOptions {
        self.request.recording.clone()
    }

    /// The recording if it can be read, the machine, and the governor that the recording names. One of a machine that was
    /// never idle can not be read, and takes nothing from a comparison.
    fn open(&self, recording: Recorded) -> Result<Opened, MachineError> {
        let here = Situation::of(self.host);
        let without = |why, situation| Opened {
            recording: Err(why),
            situation,
            recorded: String::new(),
            entered: None,
        };
        let path = match recording {
            Ok(path) => path,
            Err(why) => return Ok(without(why, here)),
        };
        let opened = {
            let _progress = self.attendant.begin("reading");
            Recording::open(&path, &self.options())
        };
        let opened = match opened {
            Ok(recording) => recording,
            Err(e) if self.request.trace.is_none() || self.request.ab_session.is_some() => {
                return Ok(without(NotKnown::of(e), here));
            }
            Err(e) => return Err(e.into()),
        };
        let entered = entered(&opened).map_err(CommandError::from)?;
        let source = &opened.tape.source;
        let elsewhere = self.request.trace.as_ref().and_then(|_| {
            if self.request.root.is_none() && !here.made(&source.kernel) {
                let of =
                    if source.kernel.is_empty() { "a kernel that it does not name" } else { &source.kernel };
                return Some(format!("it was made on {of}, and here is {}", here.kernel));
            }
            Situation::other_states(self.host, &opened.machine)
        });
        let situation = match elsewhere {
            Some(why) => Situation::recorded(&source.kernel, &source.governor, why),
            // Files of a machine may lack the governor, or be of another time than the recording.
            None if self.options().kernel_governor.is_some()
                && (self.request.root.is_some() || here.governor.is_none()) =>
            {
                Situation {
                    governor: Situation::recorded("", &source.governor, String::new()).governor,
                    ..here
                }
            }
            None => here,
        };
        if situation.governor.is_none() {
            let why = format!(
                "{}: which governor did the kernel run? Give it with --kernel-governor",
                path.display()
            );
            return Err(CommandError::not_given("--kernel-governor", why).into());
        }
        let recorded = source.governor.clone();
        Ok(Opened { recording: Ok(path), situation, recorded, entered: Some(entered) })
    }

    fn replay(&self, path: &Path, candidates: &[Candidate]) -> Result<ReplayReport, NotKnown> {
        is_replayed(candidates)?;
        let request = ReplayRequest {
            traces: vec![path.to_owned()],
            setup: ReplaySetup { recording: self.options(), ..ReplaySetup::default() },
            governors: specs(candidates),
            sensitivity: true,
            ..ReplayRequest::default()
        };
        let progress = self.attendant.begin("reading");
        replay(&request, &|done, of| progress.step("replaying", done, of)).map_err(NotKnown::of)
    }

    /// What is compared on the running kernel, and what runs meanwhile; or why nothing is.
    fn arms(
        &self,
        situation: &Situation,
        candidates: &[Candidate],
    ) -> Result<(Vec<String>, Benchmark), NotKnown> {
        let a = self.request;
        let not = |id: NoteId, why: &str| Err(NotKnown::because(id, why));
        if a.no_ab {
            return not(NoteId::NotAsked, "left out, as asked (--no-ab)");
        }
        if a.root.is_some() && a.trace.is_some() {
            return not(NoteId::NotAtHand, "only files of the machine are at hand");
        }
        if situation.available.is_none() {
            return not(NoteId::NotAtHand, "the recording is of another machine or kernel than this one");
        }
        let Some(benchmark) = self.request.benchmark.clone() else {
            let why = match a.trace {
                Some(_) => "the load of a recording cannot be repeated: give it, too (-- COMMAND or --load)",
                None => "the machine's own load cannot be repeated: give -- COMMAND or --load",
            };
            return not(NoteId::NoLoad, why);
        };
        let offered = candidates.iter().filter(|c| c.in_kernel == Some(true));
        let arms: Vec<String> = offered.map(|c| c.name.clone()).collect();
        if arms.len() < 2 {
            let only = if arms.is_empty() { String::new() } else { format!(" but {}", arms.join(", ")) };
            return Err(NotKnown::because(
                NoteId::NoOtherGovernor,
                format!("this kernel has no other governor{only}"),
            ));
        }
        Ok((arms, benchmark))
    }

    /// The comparison on the running kernel; or why there is none, where that is no failure.
    fn compare(
        &self,
        situation: &Situation,
        candidates: &[Candidate],
    ) -> Result<Result<AbReport, NotKnown>, MachineError> {
        let (arms, benchmark) = match self.arms(situation, candidates) {
            Ok(both) => both,
            Err(why) => return Ok(Err(why)),
        };
        let Some(folder) = self.folder.as_ref().map(|f| f.join("ab")) else {
            unreachable!("a comparison is made, and nothing is kept")
        };
        let request = self.request(arms, benchmark);
        let mut say = |what: &str| self.attendant.warn(what);
        let comparing = &self.ending.comparing;
        let done = self.ending.busy(|| ab::run(self.host, Work::New(request), &folder, comparing, &mut say));
        match done {
            Ok(restored) => self.report_restored(&restored, false),
            Err(why) if self.ending.asked() => {
                let (folder, trace) = (folder.display(), self.recorded().display().to_string());
                let kept = format!(
                    "what was measured is kept: idlewise ab --resume {folder} with the same load or command, then \
                     idlewise advise {trace} --ab-session {folder}"
                );
                return Err(MachineError::kept(why, kept));
            }
            Err(why) => return Ok(Err(NotKnown::of(why))),
        }
        Ok(Ok(ab::report(&folder)?))
    }

    fn request(&self, arms: Vec<String>, benchmark: Benchmark) -> AbRequest {
        let a = self.request;
        AbRequest {
            arms,
            benchmarks: vec![benchmark],
            metrics: a.metrics.clone(),
            repeat: a.repeat,
            warm_up: 1,
            settle_ms: 300,
            foreign_pct: a.foreign_pct,
            retries: 3,
            margin_permille: 10,
            ..AbRequest::default()
        }
    }

    fn recorded(&self) -> PathBuf {
        let made = || self.folder.as_ref().map(|f| f.join("recording.dat")).unwrap_or_default();
        self.request.trace.clone().unwrap_or_else(made)
    }

    fn report_restored(&self, restored: &Restoration, all: bool) {
        restored.lines(all).iter().for_each(|line| self.attendant.warn(line));
    }

    /// The files that hold the evidence.
    fn kept(&self) -> Vec<String> {
        let mut all = vec![self.recorded()];
        all.extend(self.folder.iter().flat_map(|f| [f.join("ab"), f.join("advice.json")]));
        all.extend(self.request.ab_session.clone());
        // The advice itself is written where its folder is.
        let there =
            |p: &PathBuf| p.exists() || (p.ends_with("advice.json") && p.parent().is_some_and(Path::is_dir));
        all.into_iter().filter(there).map(|p| p.display().to_string()).collect()
    }
}
