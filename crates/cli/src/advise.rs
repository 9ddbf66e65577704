// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use idlewise_ab::{self as ab, AbReport, AbRequest, Benchmark, Work};
use idlewise_governor::RecordedName;
use idlewise_live::tracefs::Tracefs;
use idlewise_live::watch::Watch;
use idlewise_live::{Host, load};
use idlewise_machine::advise::{Candidate, Evidence, Situation, candidates, entered, judge, specs};
use idlewise_machine::record::{RecordRequest, record};
use idlewise_recorder::record::{Stop, Stopper};
use idlewise_recording::{DatForm, Recording, RecordingOptions};
use idlewise_report::lines;
use idlewise_study::replay::{ReplayReport, ReplayRequest, replay, split_governors};
use idlewise_view as view;
use serde::Serialize;

use crate::ab::{built_in, of_command};
use crate::args::{OutputArgs, RecordingArgs};
use crate::output::{Done, Failure, Progress, deliver, interrupted, none_failed, warn, write_new};
use crate::put_back::tell;
use crate::record::keep;

const EXAMPLES: &str = "\
For a command: it is recorded, replayed, then run under the kernel's governors in turns:
  idlewise advise -- perf bench sched pipe -l 50000
For one of the loads that ship with idlewise (idlewise ab --loads), in a few minutes:
  idlewise advise --load timer --quick
For whatever runs on this machine, 30 seconds of it; nothing is switched:
  idlewise advise --seconds 30
For a recording; no root needed:
  idlewise advise --trace mine.dat
With arms of your own next to the kernel's governors; what a state is worth:
  idlewise advise --load timer --also menu:disable=1

Recording and switching need root. Everything is restored at the end, after Ctrl-C, and after a crash or SIGKILL.
Exit status: 0 done, whatever the advice is; 2 not done. See docs/guide/advise.md.";

/// Which idle governor for this machine and load? Records it, replays it under all governors, compares those of this kernel,
/// and answers on one page
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AdviseArgs {
    /// A recording made before, instead of a new one
    #[arg(short, long, value_name = "RECORDING")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    recording: RecordingArgs,
    /// A load that ships with idlewise, instead of a command
    #[arg(short, long, value_name = "NAME", conflicts_with = "command")]
    load: Option<String>,
    /// How long a load runs, or the machine is recorded as it is [default: 3 and 10]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: Option<u32>,
    /// A number that the command prints: a pattern with one group. The last one counts; less is better unless `:higher`
    #[arg(short, long, value_name = "NAME[:higher]=REGEX")]
    metric: Vec<String>,
    /// More to ask about, with what is particular to each: menu:disable=1 (a state), teo-util:util_threshold_shift=5
    #[arg(long, value_name = "LIST")]
    also: Option<String>,
    /// Do not switch the running kernel: record and replay only
    #[arg(long, conflicts_with_all = ["ab_session", "repeat", "foreign", "metric"])]
    no_ab: bool,
    /// A session of `idlewise ab` made before, instead of a new one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["repeat", "foreign", "metric"])]
    ab_session: Option<PathBuf>,
    /// Eight runs of each, loads of one second
    #[arg(long, conflicts_with = "repeat")]
    quick: bool,
    /// Runs of the load under each governor [default: 10]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,
    /// A run is made again when others, or the host, take more than this of the CPUs, % [default: 8]
    #[arg(long, value_name = "PCT", value_parser = clap::value_parser!(u32).range(..=100))]
    foreign: Option<u32>,
    /// The folder for recording, runs and results, new or empty [default: advise-1, advise-2 ... in this one]
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// A tree of files that was copied from the machine of the recording, instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The load: a command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs are made again when others take more of the CPUs, %, where nothing else is said.
const FOREIGN_PCT: u32 = 8;

/// Ctrl-C was pressed.
static ASKED: AtomicBool = AtomicBool::new(false);
/// Ends the comparison through this.
static COMPARING: ab::Stop = ab::Stop::new();
/// What is being done: ends by itself when it is asked to.
static BUSY: AtomicBool = AtomicBool::new(false);
/// Ends the recording through this.
static RECORDING: Mutex<Option<Stopper>> = Mutex::new(None);

fn on_ctrl_c() {
    ASKED.store(true, Ordering::SeqCst);
    if !BUSY.load(Ordering::SeqCst) {
        interrupted();
    }
    COMPARING.now();
    if let Some(stopper) = RECORDING.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        stopper.stop();
    }
}

/// Does what puts its changes back by itself when it is interrupted.
fn busy<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    BUSY.store(true, Ordering::SeqCst);
    let result = work();
    BUSY.store(false, Ordering::SeqCst);
    result
}

pub(crate) fn run(a: &AdviseArgs) -> Done {
    a.output.check()?;
    // Where no handler can be set, a signal ends the command as it always does, and the guard puts things back.
    let _ = ctrlc::set_handler(on_ctrl_c);
    let host = Host::below(a.root.as_deref().unwrap_or(Path::new("/")));
    let task = Task::new(a, &host)?;
    let given = split_governors(a.also.as_deref().unwrap_or_default());
    task.check(&given)?;
    let Opened { recording, situation, recorded, entered } = task.open(task.recording()?)?;
    let session = a.ab_session.as_deref().map(ab::report).transpose()?;
    let mut also = given;
    // A session's files are data: they name what the kernel has, never a C file.
    let arms = session.iter().flat_map(|s| s.arms.iter().cloned());
    also.extend(arms.filter(|arm| !RecordedName::new(arm).names_a_file()));
    let mut candidates = candidates(&situation, &recorded, &also);
    if let (Some(dir), Some(first)) = (&a.ab_session, session.as_ref().and_then(|s| s.arms.first()))
        && let Some(current) = candidates.first().filter(|c| c.name != *first)
    {
        let (dir, current) = (dir.display(), &current.name);
        return Err(format!("{dir}: compares with {first}, but the governor in force is {current}").into());
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
        let why = format!("nor could anything be compared on this kernel: {no_ab}");
        return none_failed(&[no_replay, &why]);
    }
    let mut advice = judge(&Evidence {
        situation,
        load: task.words(),
        candidates,
        entered,
        replay: replayed.as_ref().map_err(Clone::clone),
        ab: compared.as_ref().map_err(Clone::clone),
    });
    if let Some(folder) = &a.to {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    advice.kept = task.kept();
    if let Some(folder) = task.folder.as_ref().filter(|f| f.is_dir()) {
        if let Ok(report) = &replayed {
            write_json(&folder.join("replay.json"), report)?;
        }
        write_json(&folder.join("advice.json"), &advice)?;
    }
    deliver(&a.output, &view::advise(&advice), &advice)
}

fn write_json(path: &Path, what: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(what).map_err(|e| e.to_string())?;
    write_new(path, (lines(&text).into_owned() + "\n").as_bytes(), false)
}

/// Whether every option that is given says something about what is going to be done.
fn means_something(a: &AdviseArgs) -> Result<(), Failure> {
    let recording = a.recording.options();
    let repeated = a.load.is_some() || !a.command.is_empty();
    let measured_as_it_is = a.trace.is_none() && !repeated;
    let checks = [
        (!a.metric.is_empty() && !repeated, "--metric is of a command: give it after --"),
        (
            a.repeat.is_some() && !repeated,
            "--repeat is of a load that runs again and again: give -- COMMAND or --load",
        ),
        (
            a.foreign.is_some() && !repeated,
            "--foreign is of a load that runs again and again: give -- COMMAND or --load",
        ),
        (a.quick && !repeated, "--quick is of a load that runs again and again: give -- COMMAND or --load"),
        (
            a.seconds.is_some() && a.load.is_none() && !measured_as_it_is,
            "--seconds is of a --load, or of the machine as it is: a command and a recording have their own length",
        ),
        (
            recording.kernel_governor.is_some() && a.trace.is_none(),
            "--kernel-governor is of a recording made before (--trace): the running kernel says which governor it has",
        ),
        (
            recording.instance.is_some() && a.trace.is_none(),
            "--instance is of a recording made before (--trace): a new one has a single instance",
        ),
    ];
    match checks.into_iter().find(|(wrong, _)| *wrong) {
        Some((_, why)) => Err(Failure::Error(why.to_owned())),
        None => Ok(()),
    }
}

/// Whether the governor in force, the first of `candidates`, can be replayed: all others are compared with it.
fn is_replayed(candidates: &[Candidate]) -> Result<(), String> {
    match candidates.first().filter(|c| c.replay.is_empty()) {
        Some(current) => {
            Err(format!("the kernel's governor {} is not among those that can be replayed", current.name))
        }
        None => Ok(()),
    }
}

/// A recording's path; or why there is none.
type Recorded = Result<PathBuf, String>;

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
    args: &'a AdviseArgs,
    host: &'a Host,
    /// What can be run again and again.
    benchmark: Option<Benchmark>,
    /// Where the evidence is kept; none for a recording alone.
    folder: Option<PathBuf>,
}

impl<'a> Task<'a> {
    fn new(a: &'a AdviseArgs, host: &'a Host) -> Result<Self, Failure> {
        let seconds = a.seconds.unwrap_or(if a.quick { 1 } else { 3 });
        let benchmark = match &a.load {
            Some(name) => Some(built_in(name, seconds, 0)?),
            None => of_command(&a.command),
        };
        means_something(a)?;
        let measures = a.trace.is_none() || (benchmark.is_some() && !a.no_ab && a.ab_session.is_none());
        let folder = (measures || a.to.is_some())
            .then(|| a.to.clone().unwrap_or_else(|| ab::free_folder(Path::new(""), "advise")));
        if let Some(folder) = &folder {
            let failed = |e: std::io::Error| Failure::Error(format!("{}: {e}", folder.display()));
            if folder.exists() && std::fs::read_dir(folder).map_err(failed)?.next().is_some() {
                let why = format!("{}: not empty; name a new folder", folder.display());
                return Err(Failure::Error(why));
            }
        }
        Ok(Self { args: a, host, benchmark, folder })
    }

    /// Whether there will be an answer, asked before anything is recorded or made.
    fn check(&self, also: &[String]) -> Result<(), Failure> {
        if self.args.trace.is_some() || self.args.ab_session.is_some() {
            return Ok(());
        }
        let here = Situation::of(self.host);
        let candidates = candidates(&here, "", also);
        let (Err(no_replay), Err(no_ab)) =
            (self.can_replay(&here, &candidates), self.can_compare(&here, &candidates))
        else {
            return Ok(());
        };
        Err(Failure::Error(format!(
            "nothing is recorded, since there would be no answer.\n  No replay: {no_replay}\n  No comparison on this kernel: \
             {no_ab}\nAdvice from a recording needs no root: idlewise advise --trace RECORDING"
        )))
    }

    /// Why a recording of this machine could not be made or not be replayed.
    fn can_replay(&self, here: &Situation, candidates: &[Candidate]) -> Result<(), String> {
        if here.governor.is_none() {
            return Err("this kernel names no idle governor in force".to_owned());
        }
        is_replayed(candidates)?;
        if self.options().recorded_on.is_none() {
            Watch::open(self.host)
                .map_err(|e| format!("{e} (--recorded-on names another machine's states)"))?;
        }
        Tracefs::of(self.host).map(drop).map_err(|e| e.to_string())
    }

    /// Why governors could not be compared on this kernel.
    fn can_compare(&self, here: &Situation, candidates: &[Candidate]) -> Result<(), String> {
        self.arms(here, candidates)?;
        Watch::open(self.host).map_err(|e| e.to_string())?;
        let file = self.host.sys.join("devices/system/cpu/cpuidle/current_governor");
        match OpenOptions::new().write(true).open(&file) {
            Ok(_) => Ok(()),
            Err(e) => Err(format!("{}: {e}; switching governors needs root", file.display())),
        }
    }

    /// What ran, in words.
    fn words(&self) -> String {
        let a = self.args;
        let of = |name: &String| load::find(name).map_or("", |l| l.what).to_owned();
        let load = match (&a.load, &self.benchmark) {
            (Some(name), _) => Some(format!("{name}: {}", of(name))),
            (None, Some(_)) => Some(a.command.join(" ")),
            (None, None) => None,
        };
        match (&a.trace, load) {
            (Some(trace), Some(load)) => format!("{load}; recording {}", trace.display()),
            (Some(trace), None) => format!("recording {}", trace.display()),
            (None, Some(load)) => load,
            (None, None) => format!("the machine as it was, {} s of it", self.as_it_is()),
        }
    }

    fn as_it_is(&self) -> u32 {
        self.args.seconds.unwrap_or(10)
    }

    /// Where the recording is, made now where none is given; or why there is none, where something else can be done.
    fn recording(&self) -> Result<Recorded, Failure> {
        if let Some(trace) = &self.args.trace {
            return Ok(Ok(trace.clone()));
        }
        let Some(folder) = &self.folder else { return Err("no folder for the recording".to_owned().into()) };
        let made_now = !folder.exists();
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let to = folder.join("recording.dat");
        warn(&format!("recording {}", self.words()));
        match busy(|| self.record(&to)) {
            Ok(()) if ASKED.load(Ordering::SeqCst) => Err(Failure::Error(format!(
                "interrupted; the recording is kept: idlewise advise --trace {}",
                to.display()
            ))),
            Ok(()) => Ok(Ok(to)),
            Err(Failure::Error(why)) if self.benchmark.is_some() && !self.args.no_ab => Ok(Err(why)),
            Err(Failure::Error(why)) => {
                if made_now {
                    // Only an empty folder goes.
                    let _ = std::fs::remove_dir(folder);
                }
                Err(Failure::Error(format!(
                    "{why}; advice from a recording needs no root: idlewise advise --trace RECORDING"
                )))
            }
            Err(other) => Err(other),
        }
    }

    fn record(&self, to: &Path) -> Result<(), Failure> {
        let (mut stop, stopper) = Stop::new().map_err(|e| e.to_string())?;
        *RECORDING.lock().unwrap_or_else(PoisonError::into_inner) = Some(stopper);
        // What the load prints is not our answer.
        let aside = ["sh", "-c", "exec \"$@\" >&2", "sh"].map(OsString::from);
        let command = self.benchmark.as_ref().map_or_else(Vec::new, |b| {
            aside.into_iter().chain(b.command.iter().map(OsString::from)).collect()
        });
        let limit = command.is_empty().then(|| Duration::from_secs(self.as_it_is().into()));
        let request = RecordRequest { command, limit, to: to.to_owned(), ..RecordRequest::default() };
        let taken = record(self.host, &request, &mut stop, &mut |_| ());
        *RECORDING.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let taken = taken?;
        let [before, after] = &taken.put_back;
        tell(before, true);
        tell(after, false);
        let code = taken.ended().code();
        keep(taken, to, false, DatForm::Packed)?;
        if code != 0 && !ASKED.load(Ordering::SeqCst) {
            return Err(format!("the load ended with exit status {code}").into());
        }
        Ok(())
    }

    fn options(&self) -> RecordingOptions {
        self.args.recording.options()
    }

    /// The recording if it can be read, the machine, and the governor that the recording names. One of a machine that was
    /// never idle can not be read, and takes nothing from a comparison.
    fn open(&self, recording: Recorded) -> Result<Opened, Failure> {
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
            let _progress = Progress::new("reading");
            Recording::open(&path, &self.options())
        };
        let opened = match opened {
            Ok(recording) => recording,
            Err(e) if self.args.trace.is_none() || self.args.ab_session.is_some() => {
                return Ok(without(e.to_string(), here));
            }
            Err(e) => return Err(e.into()),
        };
        let entered = entered(&opened);
        let source = &opened.tape.source;
        let elsewhere = self.args.trace.as_ref().and_then(|_| {
            if self.args.root.is_none() && !here.made(&source.kernel) {
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
                && (self.args.root.is_some() || here.governor.is_none()) =>
            {
                Situation {
                    governor: Situation::recorded("", &source.governor, String::new()).governor,
                    ..here
                }
            }
            None => here,
        };
        if situation.governor.is_none() {
            let (path, hint) = (path.display(), "Give it with --kernel-governor");
            return Err(format!("{path}: which governor did the kernel run? {hint}").into());
        }
        let recorded = source.governor.clone();
        Ok(Opened { recording: Ok(path), situation, recorded, entered: Some(entered) })
    }

    fn replay(&self, path: &Path, candidates: &[Candidate]) -> Result<ReplayReport, String> {
        is_replayed(candidates)?;
        let request = ReplayRequest {
            traces: vec![path.to_owned()],
            recording: self.options(),
            governors: specs(candidates),
            sensitivity: true,
            ..ReplayRequest::default()
        };
        let progress = Progress::new("reading");
        replay(&request, &|done, of| progress.step("replaying", done, of)).map_err(|e| e.to_string())
    }

    /// What is compared on the running kernel, and what runs meanwhile; or why nothing is.
    fn arms(
        &self,
        situation: &Situation,
        candidates: &[Candidate],
    ) -> Result<(Vec<String>, Benchmark), String> {
        let a = self.args;
        let not = |why: &str| Err(why.to_owned());
        if a.no_ab {
            return not("left out, as asked (--no-ab)");
        }
        if a.root.is_some() && a.trace.is_some() {
            return not("only files of the machine are at hand");
        }
        if situation.available.is_none() {
            return not("the recording is of another machine or kernel than this one");
        }
        let Some(benchmark) = self.benchmark.clone() else {
            return not(match a.trace {
                Some(_) => "a recording cannot be run again: give its load, too (-- COMMAND or --load)",
                None => "the machine as it is cannot be run again: give -- COMMAND or --load",
            });
        };
        let offered = candidates.iter().filter(|c| c.in_kernel == Some(true));
        let arms: Vec<String> = offered.map(|c| c.name.clone()).collect();
        if arms.len() < 2 {
            let only = if arms.is_empty() { String::new() } else { format!(" but {}", arms.join(", ")) };
            return Err(format!("this kernel offers nothing to switch to{only}"));
        }
        Ok((arms, benchmark))
    }

    /// The comparison on the running kernel; or why there is none, where that is no failure.
    fn compare(
        &self,
        situation: &Situation,
        candidates: &[Candidate],
    ) -> Result<Result<AbReport, String>, Failure> {
        let (arms, benchmark) = match self.arms(situation, candidates) {
            Ok(both) => both,
            Err(why) => return Ok(Err(why)),
        };
        let Some(folder) = self.folder.as_ref().map(|f| f.join("ab")) else {
            return Ok(Err("no folder for its runs".to_owned()));
        };
        let request = self.request(arms, benchmark);
        let mut say = warn;
        let done = busy(|| Ok(ab::run(self.host, Work::New(request), &folder, &COMPARING, &mut say)?));
        let interrupted = ASKED.load(Ordering::SeqCst);
        match done {
            Ok(back) => tell(&back, false),
            Err(Failure::Error(why)) if interrupted => {
                let (folder, trace) = (folder.display(), self.recorded().display().to_string());
                return Err(Failure::Error(format!(
                    "{why}; what was measured is kept: idlewise ab --resume {folder} with the same load or command, then \
                     idlewise advise --trace {trace} --ab-session {folder}"
                )));
            }
            Err(Failure::Error(why)) => return Ok(Err(why)),
            Err(other) => return Err(other),
        }
        Ok(Ok(ab::report(&folder)?))
    }

    fn request(&self, arms: Vec<String>, benchmark: Benchmark) -> AbRequest {
        let a = self.args;
        AbRequest {
            arms,
            benchmarks: vec![benchmark],
            metrics: a.metric.clone(),
            repeat: a.repeat.unwrap_or(if a.quick { 8 } else { 10 }),
            warm_up: 1,
            settle_ms: 300,
            foreign_pct: a.foreign.unwrap_or(FOREIGN_PCT),
            retries: 3,
            margin_permille: 10,
            ..AbRequest::default()
        }
    }

    fn recorded(&self) -> PathBuf {
        let made = || self.folder.as_ref().map(|f| f.join("recording.dat")).unwrap_or_default();
        self.args.trace.clone().unwrap_or_else(made)
    }

    /// The files that hold the evidence.
    fn kept(&self) -> Vec<String> {
        let mut all = vec![self.recorded()];
        all.extend(self.folder.iter().flat_map(|f| [f.join("ab"), f.join("advice.json")]));
        all.extend(self.args.ab_session.clone());
        // The advice itself is written where its folder is.
        let there =
            |p: &PathBuf| p.exists() || (p.ends_with("advice.json") && p.parent().is_some_and(Path::is_dir));
        all.into_iter().filter(there).map(|p| p.display().to_string()).collect()
    }
}
