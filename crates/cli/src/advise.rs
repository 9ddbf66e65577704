// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

use clap::Args;
use idlewise_ab::Benchmark;
use idlewise_live::Host;
use idlewise_machine::advise::{self, AdviseRequest, Attendant, Ending, advise};
use idlewise_machine::record::RecordReport;
use idlewise_page as pages;
use idlewise_study::replay::listed_governors;
use idlewise_view as view;

use crate::args::{DetailsArgs, OutputArgs, PageArgs, RecordingArgs};
use crate::output::{Done, Failure, Progress, deliver, interrupted, warn};
use crate::page;
use crate::record::show;

const EXAMPLES: &str = "\
For a command: record it, replay it, then run it under the kernel's governors, alternating:
  idlewise advise -- perf bench sched pipe -l 50000
For one of the loads that ship with idlewise (idlewise ab --loads), in a few minutes:
  idlewise advise --load timer --quick
For the current load of this machine, recorded for 30 seconds; no governor is switched:
  idlewise advise --seconds 30
For a recording; no root needed:
  idlewise advise mine.dat
With settings of your own in addition to the kernel's governors; here, an idle state disabled:
  idlewise advise --load timer --also menu:disable=1

Recording and switching need root. Everything is restored at the end, after Ctrl-C, and after a \
crash or SIGKILL.
Exit status: 0 success, whatever the advice is; 2 failure. See docs/guide/advise.md.";

/// Recommend an idle governor for this machine and load
///
/// Records the load, replays it under all governors, compares the governors of this kernel, and prints the answer on
/// one page.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AdviseArgs {
    /// A recording made before, instead of a new one
    #[arg(value_name = "TRACE")]
    recorded: Option<PathBuf>,
    /// The same, as an option
    #[arg(short, long, hide = true, value_name = "TRACE", conflicts_with = "recorded")]
    trace: Option<PathBuf>,
    /// A load that ships with idlewise, instead of a command
    #[arg(short, long, value_name = "NAME", conflicts_with = "command")]
    load: Option<String>,
    /// Seconds of a load [default: 3], of a recording [default: 10]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: Option<u32>,
    /// A number that the command prints
    ///
    /// A pattern with one group. The last match counts; less is better without `:higher`.
    #[arg(short, long, value_name = "NAME[:higher]=REGEX")]
    metric: Vec<String>,
    /// More governors or settings to compare: menu:disable=1
    ///
    /// menu:disable=1 disables a state; teo-util:util_threshold_shift=5 sets a parameter.
    #[arg(long, value_name = "LIST")]
    also: Option<String>,
    /// Record and replay only; switch no governors
    #[arg(long, conflicts_with_all = ["ab_session", "repeat", "foreign", "metric"])]
    no_ab: bool,
    /// A session of `idlewise ab` made before, instead of a new one
    #[arg(long, value_name = "DIR", conflicts_with_all = ["repeat", "foreign", "metric"])]
    ab_session: Option<PathBuf>,
    /// Be quick: eight runs of each governor, loads of one second
    #[arg(long, conflicts_with = "repeat")]
    quick: bool,
    /// Runs of the load under each governor [default: 10]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,
    /// Repeat a run if others take more than this, in %
    ///
    /// The share of the CPUs that other processes, or the host, take [default: 8].
    #[arg(long, value_name = "PCT", value_parser = clap::value_parser!(u32).range(..=100))]
    foreign: Option<u32>,
    /// The folder for all files [default: advise-1, advise-2 ...]
    ///
    /// Recording, runs and results; new or empty. The default is in the current folder.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Files copied from the recorded machine, instead of this one
    ///
    /// A tree of them.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The load: a command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    recording: RecordingArgs,
    #[command(flatten)]
    all: DetailsArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl AdviseArgs {
    fn trace(&self) -> Option<&PathBuf> {
        self.recorded.as_ref().or(self.trace.as_ref())
    }
}

/// Runs are made again when others take more of the CPUs, %, where nothing else is said.
const FOREIGN_PCT: u32 = 8;

static ENDING: Ending = Ending::new();

fn on_ctrl_c() {
    if !ENDING.ask() {
        interrupted();
    }
}

pub(crate) fn run(a: &AdviseArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    // Where no handler can be set, a signal ends the command as it always does, and the guard restores the machine.
    let _ = ctrlc::set_handler(on_ctrl_c);
    let request = request(a)?;
    if let Some(root) = a.root.as_deref().filter(|root| !root.is_dir()) {
        return Err(Failure::Error(format!(
            "--root {}: not a folder; name one with the machine's sys and proc in it",
            root.display()
        )));
    }
    let host = Host::below(a.root.as_deref().unwrap_or(Path::new("/")));
    let advice = advise(&host, &request, &ENDING, &StandardError)?;
    let everything = view::advise(&advice);
    let all = || everything.clone();
    let shown = a.all.shown(&a.output, all, |layout| view::advise_answer(&advice, layout));
    deliver(&a.output, &shown, &advice)?;
    if a.page.is_asked() {
        a.page.write(&pages::advise(&advice, page::source(&advice, &everything)?))?;
    }
    Ok(true)
}

/// The user at standard error.
struct StandardError;

impl Attendant for StandardError {
    fn warn(&self, what: &str) {
        warn(what);
    }

    fn recorded(&self, report: &RecordReport) {
        // What nobody can read does not end the work.
        let _ = show(&view::record(report));
    }

    fn begin(&self, what: &'static str) -> Box<dyn advise::Progress> {
        Box::new(Progress::new(what))
    }
}

fn request(a: &AdviseArgs) -> Result<AdviseRequest, Failure> {
    let benchmark = match &a.load {
        Some(name) => Some(Benchmark::of_load(name, a.seconds.unwrap_or(if a.quick { 1 } else { 3 }), 0)?),
        None => Benchmark::of_command(&a.command),
    };
    means_something(a)?;
    let also = a.also.as_deref().map(|list| listed_governors("--also", list)).transpose()?;
    Ok(AdviseRequest {
        trace: a.trace().cloned(),
        recording: a.recording.options(),
        benchmark,
        seconds: a.seconds.unwrap_or(10),
        metrics: a.metric.clone(),
        also: also.unwrap_or_default(),
        no_ab: a.no_ab,
        ab_session: a.ab_session.clone(),
        repeat: a.repeat.unwrap_or(if a.quick { 8 } else { 10 }),
        foreign_pct: a.foreign.unwrap_or(FOREIGN_PCT),
        to: a.to.clone(),
        root: a.root.clone(),
    })
}

/// Whether every option that is given says something about what is going to be done.
fn means_something(a: &AdviseArgs) -> Result<(), Failure> {
    let recording = a.recording.options();
    let repeated = a.load.is_some() || !a.command.is_empty();
    let measured_as_it_is = a.trace().is_none() && !repeated;
    let only_evidence = a.no_ab || a.ab_session.is_some() || a.root.is_some();
    let checks = [
        (
            a.trace().is_some() && repeated && only_evidence,
            "--trace gives the recording, and no load runs with --no-ab, --ab-session or --root: leave the load \
             out, or leave --trace out to record it",
        ),
        (!a.metric.is_empty() && !repeated, "--metric needs a command: give it after --"),
        (
            a.repeat.is_some() && !repeated,
            "--repeat needs a load that can be repeated: give -- COMMAND or --load",
        ),
        (
            a.foreign.is_some() && !repeated,
            "--foreign needs a load that can be repeated: give -- COMMAND or --load",
        ),
        (a.quick && !repeated, "--quick needs a load that can be repeated: give -- COMMAND or --load"),
        (
            a.seconds.is_some() && a.load.is_none() && !measured_as_it_is,
            "--seconds is for a --load, or for the machine without a load: a command and a recording have \
             their own length",
        ),
        (
            recording.kernel_governor.is_some() && a.trace().is_none(),
            "--kernel-governor is for an earlier recording (--trace): the running kernel says which \
             governor it has",
        ),
        (
            recording.instance.is_some() && a.trace().is_none(),
            "--instance is for an earlier recording (--trace): a new one has a single instance",
        ),
    ];
    match checks.into_iter().find(|(wrong, _)| *wrong) {
        Some((_, why)) => Err(Failure::Error(why.to_owned())),
        None => Ok(()),
    }
}
