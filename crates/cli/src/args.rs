// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use idlewise_recording::RecordingOptions;
use idlewise_report::Format;
pub(crate) use idlewise_study::replay::Per;

use crate::again::TrustArgs;

/// A laboratory for Linux CPU idle governors: recorded, replayed, simulated, compared on the running machine.
#[derive(Debug, Parser)]
#[command(name = "idlewise", version, max_term_width = 110, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Record this machine under a load, as root; then compare governors on what was recorded:
  idlewise record -o trace.dat -- ./load
  idlewise replay trace.dat --governor menu,teo,teo-util,oracle
What if this load ran there? A trace that does not say which machine was recorded needs --recorded-on:
  idlewise replay trace.dat --governor menu,teo-util --platform skylake-sp
  idlewise replay mailed.dat --governor menu,teo-util --platform skylake-sp --recorded-on kvm-guest
What is in a trace, and what did the kernel itself choose?
  idlewise info trace.dat
  idlewise score trace.dat --per cpu
Where do two governors differ, what does it cost, and why? Exit status 1 if B is worse than that:
  idlewise compare teo-6.1 teo-util --trace trace.dat --fail-if 'too_deep > +1pp' --fail-if 'energy > +2%'
  idlewise explain trace.dat --why-differ menu,teo-util
A governor of your own, and one out of a kernel tree:
  idlewise replay trace.dat --governor ./mine.c,linux:6.12/teo --kernel-tree ~/linux-6.12
A recording, and what governors did in it, in the Perfetto UI (https://ui.perfetto.dev):
  idlewise convert trace.dat -o trace.perfetto-trace --governor teo-6.1,teo-util
A workload on a simulated machine, where a slow wake delays what comes after it; published tables, repeated:
  idlewise simulate frames --platform pixel6 --governor menu-6.1,teo-util --cpufreq schedutil --repeat 5
  idlewise reproduce rk3399-fio
The running machine: watched, switched between governors around a benchmark, and which of them it should have:
  idlewise top
  idlewise ab --governors menu,teo -- ./benchmark
  idlewise advise -- ./load
In a real kernel, booted on a virtual phone with the idle states of a real one:
  idlewise boot run --platform pixel6 --workload frames --governor linux/menu,teo-6.1,teo-util
A governor's manual page and parameters:
  idlewise governors show teo-util

Exit status: 0 done, 1 a comparison found a difference, 2 not done. A recording with the inputs and choices of
governors is a comparison, too: of the governor in the kernel and the same in user space.";

/// The machine of recorded decisions where none is named.
pub(crate) const RECORDED_DECISIONS_ON: &str = "kvm-guest";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(crate::record::RecordArgs),
    /// Show what a trace holds, what it lacks, and what can be done with it
    Info(InfoArgs),
    /// Run recorded traces under any number of governors and compare them
    Replay(ReplayArgs),
    /// Compare two governors on the same traces, choice by choice
    Compare(CompareArgs),
    /// Explain one decision: the governor's inputs, state and reasons, and what the other governors chose
    Explain(ExplainArgs),
    /// Judge the choices that the kernel itself made in a trace; nothing is replayed
    Score(ScoreArgs),
    /// Keep what governors would have seen of a trace in a small file that replay reads
    Tape(TapeArgs),
    /// Write a trace as Perfetto protobuf or ftrace text, with governors' choices as tracks next to it
    Convert(ConvertArgs),
    /// Run a workload on a simulated machine, under any governors of idle states and frequencies, and compare them
    Simulate(SimulateArgs),
    /// Simulate published experiments, and compare the published numbers with ours
    Reproduce(ReproduceArgs),
    /// Watch the running machine: idle states, wakeups, too deep, too shallow, power
    Top(crate::top::TopArgs),
    /// Subtract two snapshots of the kernel's counters, or compare two runs, as text for a mail
    Diff(crate::diff::DiffArgs),
    /// Compare governors on the running machine: switch between them around a benchmark, many times, and judge the result
    Ab(crate::ab::AbArgs),
    Advise(crate::advise::AdviseArgs),
    /// The same governors in a real kernel: build it, boot it as a machine with idle states, judge what it chose
    #[command(alias = "lab")]
    Boot(BootArgs),
    /// Check a governor, or a load-tracking signal, against what was recorded from kernel code, step by step
    Drive(DriveArgs),
    /// List the governors, or show one's manual page and parameters
    Governors(GovernorsArgs),
    /// List, show, check machines; or describe the running one
    Platform(PlatformArgs),
    /// A load of `ab`
    #[command(hide = true)]
    Load(crate::load::LoadArgs),
    /// Restore what a session that died had changed
    #[command(hide = true)]
    PutBack(crate::put_back::PutBackArgs),
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// A trace, of any format that is read
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Traces, of any format that is read, or tapes
    #[arg(required_unless_present = "again", value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Governors, with parameters where wanted: menu,teo-util:util_threshold_shift=5,./mine.c,linux:6.12/teo,oracle;
    /// with an idle state switched off or a latency limit: menu:disable=1,teo:latency_limit_us=20
    #[arg(short, long, value_name = "LIST", default_value = "menu-6.1,teo-6.1,teo-util,shallow,oracle")]
    pub(crate) governor: String,
    /// The governor to compare the others with [default: the first]
    #[arg(short, long, value_name = "GOVERNOR")]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
    /// Break the result down
    #[arg(long, value_enum)]
    pub(crate) per: Option<PerArg>,
    /// Replay also with the least and the greatest sleep lengths that the recording allows, where it does not show them
    /// for certain: does the ranking of the governors hold?
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// Ask again what a JSON result records of its own making; files must not have changed
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["traces", "governor", "baseline", "per", "sensitivity"], conflicts_with_all = STAGE)]
    pub(crate) again: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// A workload that ships with idlewise, or a file of rt-app's grammar (docs/reference/workload-format.md)
    #[arg(value_name = "WORKLOAD", required_unless_present_any = ["again", "list"])]
    pub(crate) workload: Option<String>,
    /// List the workloads that ship with idlewise
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// The machine
    #[arg(short, long, value_name = "PLATFORM", default_value = "pixel6")]
    pub(crate) platform: String,
    /// Governors of idle states, with parameters where wanted: menu,teo-util:util_threshold_shift=5,./mine.c,linux:6.12/teo;
    /// with an idle state switched off or a latency limit: menu:disable=1,teo:latency_limit_us=20
    #[arg(short, long, value_name = "LIST", default_value = "menu-6.1,teo-6.1,teo-util,shallow")]
    pub(crate) governor: String,
    /// Governors of frequencies, with parameters where wanted (docs/reference/frequency-governors.md)
    #[arg(long, value_name = "LIST", default_value = "schedutil")]
    pub(crate) cpufreq: String,
    /// Signals that these read: pelt, pelt:half_life_ms=8, walt, walt:window_ms=10, walt-rfc
    #[arg(long, value_name = "LIST", default_value = "pelt")]
    pub(crate) signal: String,
    /// The combination to compare the others with, by its governor [default: the first]
    #[arg(short, long, value_name = "GOVERNOR")]
    pub(crate) baseline: Option<String>,
    /// The kernel whose load tracking and fair scheduler the machine has
    #[arg(long, value_name = "VERSION", default_value = "6.12")]
    pub(crate) kernel: String,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Ticks a second [default: what the platform says]
    #[arg(long, value_name = "N")]
    pub(crate) hz: Option<u32>,
    /// CPUs, where the platform leaves it open
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) cpus: Option<u32>,
    /// What the battery supplies to other parts than the CPUs all the time: display, memory, radio [default: what the platform says]
    #[arg(long, value_name = "MW", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(crate) base_mw: Option<u64>,
    /// How long [default: what the workload says, else 10]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<u64>,
    /// Seed of all chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Runs of each combination, with a seed more each time [default: 5; 1 with --trace]
    #[arg(short, long, value_name = "R", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) repeat: Option<u64>,
    /// Write a trace of the run, as a kernel would have recorded it: ftrace text (.txt, .trace) or Perfetto
    /// (.perfetto-trace); next to it goes FILE.toml, which names the machine and the governor for `idlewise replay`
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Recordings of real runs of the workload, with the boot lab or on a machine: simulate the same, with the machine and
    /// the idle governor of each, and compare both
    #[arg(long, value_name = "RECORDING", num_args = 1.., conflicts_with_all = ["again", "trace", "tasks", "platform", "governor", "repeat", "baseline", "cpus", "hz", "kernel", "base_mw"])]
    pub(crate) beside: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    /// Show all that was counted of each task
    #[arg(long)]
    pub(crate) tasks: bool,
    /// Ask again what a JSON result records of its own making
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["workload", "platform", "governor", "cpufreq", "signal", "baseline", "kernel", "hz", "cpus", "seconds", "seed", "repeat", "base_mw", "trees"])]
    pub(crate) again: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Experiments that ship with idlewise, or files of their format (docs/reference/experiments.md); all, with a summary
    /// only, where none is named
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// List the experiments that ship with idlewise
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// Look for the models' parameters again, on the baseline's numbers only, and show what comes out
    #[arg(long)]
    pub(crate) fit: bool,
    /// Compile and run this C file, where an experiment names it as its governor
    #[arg(long, value_name = "FILE", requires = "names")]
    pub(crate) trust: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["at", "after", "decision", "why_differ", "row", "line"]))]
pub(crate) struct ExplainArgs {
    /// A trace, of any format that is read, or a tape
    #[arg(value_name = "TRACE", required_unless_present_any = ["golden", "decisions"])]
    pub(crate) trace: Option<PathBuf>,
    /// The governor, with parameters where wanted
    #[arg(
        short,
        long,
        value_name = "GOVERNOR",
        required_unless_present = "why_differ",
        conflicts_with = "why_differ"
    )]
    pub(crate) governor: Option<String>,
    /// The CPU [default: the only one]
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// The last decision at this time of the recording or before, s (as `trace-cmd report` prints it)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) at: Option<u64>,
    /// As --at, counted from the first event of the recording
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) after: Option<u64>,
    /// The decision with this number on its CPU, from 0
    #[arg(long, value_name = "N")]
    pub(crate) decision: Option<u64>,
    /// A golden file (see `idlewise drive`) instead of a trace
    #[arg(long, value_name = "FILE", requires = "row", conflicts_with_all = ["trace", "platform", "cluster", "recorded_on", "sysfs", "kernel_governor", "instance", "despite_counters", "seed", "hz", "cpu"])]
    pub(crate) golden: Option<PathBuf>,
    /// The row of the golden file, from 0
    #[arg(long, value_name = "N", requires = "golden", conflicts_with = "trace")]
    pub(crate) row: Option<u64>,
    /// Decisions recorded on a live kernel (see `idlewise drive`) instead of a trace; --platform names the machine
    #[arg(long, value_name = "FILE", requires = "line", conflicts_with_all = ["trace", "golden", "cluster", "recorded_on", "sysfs", "kernel_governor", "instance", "despite_counters", "seed", "hz"])]
    pub(crate) decisions: Option<PathBuf>,
    /// The line of the file of decisions, as `idlewise drive` names it
    #[arg(long, value_name = "N", requires = "decisions", conflicts_with = "trace")]
    pub(crate) line: Option<u64>,
    /// Find where two governors differ: the first choice, and those that cost most energy and latency
    #[arg(long, value_name = "A,B")]
    pub(crate) why_differ: Option<String>,
    /// Governors to show next to it; `none` for none [default: all]
    #[arg(long, value_name = "LIST", conflicts_with = "why_differ")]
    pub(crate) others: Option<String>,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = fail_if())]
pub(crate) struct CompareArgs {
    /// The governor to start from, with parameters where wanted: teo-util:util_threshold_shift=5; or oracle
    #[arg(value_name = "A", required_unless_present = "again")]
    pub(crate) a: Option<String>,
    /// The governor to go to; changes are from A to B
    #[arg(value_name = "B", required_unless_present = "again")]
    pub(crate) b: Option<String>,
    /// Traces, of any format that is read, or tapes
    #[arg(short, long, required_unless_present = "again", value_name = "TRACE", num_args = 1..)]
    pub(crate) trace: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
    /// Break the result down
    #[arg(long, value_enum)]
    pub(crate) per: Option<PartArg>,
    /// Exit status 1 if this holds in any of the traces or in all together; may be given several times
    #[arg(long, value_name = "EXPR")]
    pub(crate) fail_if: Vec<String>,
    /// Ask again what a JSON result records of its own making; files must not have changed
    #[arg(long, value_name = "RESULT.json", conflicts_with_all = ["a", "b", "trace", "per", "fail_if"], conflicts_with_all = STAGE)]
    pub(crate) again: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `12.345` as ns.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "seconds are wanted, such as 12.345 or 0.000000001".to_owned();
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || part.len() > 9 || !digits(whole) || !digits(part) {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let part: u64 = format!("{part:0<9}").parse().map_err(|_| wrong())?;
    whole.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(part)).ok_or_else(wrong)
}

fn fail_if() -> String {
    format!("{}\nExit status: 0 done, 1 a --fail-if holds, 2 not done.", idlewise_study::condition::help())
}

#[derive(Debug, Args)]
pub(crate) struct ScoreArgs {
    /// A trace, of any format that is read, or a tape
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    /// Check the trace against the kernel's counters, as `grep -r .` printed cpuidle in sysfs before and after, with a line
    /// cpuN/at_ns:TIME for each CPU: when they were read, ns on the trace's clock
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    pub(crate) counters: Vec<PathBuf>,
    /// Break the result down
    #[arg(long, value_enum)]
    pub(crate) per: Option<PerArg>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TapeArgs {
    /// A trace, of any format that is read
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The tape to write; an existing file is left alone
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}

#[derive(Debug, Args)]
#[command(after_help = CONVERT)]
pub(crate) struct ConvertArgs {
    /// A trace, of any format that is read
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The file to write; an existing file is left alone
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The format [default: by the ending of FILE: .perfetto-trace, .pftrace; .txt, .trace]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<ConvertTo>,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Governors to replay, with parameters where wanted; each CPU's idle periods become a track (Perfetto only)
    #[arg(short, long, value_name = "LIST")]
    pub(crate) governor: Option<String>,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ConvertTo {
    Text,
    Perfetto,
}

const CONVERT: &str = "\
Look at a recording in the Perfetto UI (https://ui.perfetto.dev, \"Open trace file\"):
  idlewise convert trace.dat -o trace.perfetto-trace
With what two governors would have done in it, in tracks next to the recording:
  idlewise convert trace.dat -o trace.perfetto-trace --governor teo-6.1,teo-util --recorded-on pixel6
As text, as the kernel's own trace file has it:
  idlewise convert trace.perfetto-trace -o trace.txt

Events that idlewise does not understand keep their time, CPU, task and name, and lose their fields.";

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("who").required(true).args(["governor", "signal"]))]
#[command(group = clap::ArgGroup::new("against").required(true).args(["golden", "decisions"]))]
pub(crate) struct DriveArgs {
    /// The governor, with parameters where wanted: one of ours, the path of a C file, linux:6.12/teo
    #[arg(short, long, value_name = "GOVERNOR")]
    pub(crate) governor: Option<String>,
    /// A load-tracking signal instead: pelt, or pelt-6.1 for the PELT of a kernel
    #[arg(long, value_name = "SIGNAL", conflicts_with_all = ["decisions", "trees"])]
    pub(crate) signal: Option<String>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Golden files: decisions of compiled kernel code in a scripted environment, or its updates of a signal (CSV.gz with
    /// side-car)
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["platform", "cpu"])]
    pub(crate) golden: Vec<PathBuf>,
    /// Decisions recorded on a live kernel with the governor's true inputs (CSV, .gz or .xz)
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) decisions: Vec<PathBuf>,
    /// The machine of --decisions
    #[arg(long, value_name = "PLATFORM", default_value = RECORDED_DECISIONS_ON)]
    pub(crate) platform: String,
    /// The CPU of a table of --decisions; a trace names its CPUs [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// Show so many differing steps of each file
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) show: usize,
    /// Form of the result for golden files
    #[arg(short, long, value_enum, value_name = "FORM", default_value_t = DriveForm::Table, conflicts_with = "decisions")]
    pub(crate) format: DriveForm,
}

/// How `drive` tells what came of golden files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriveForm {
    /// A line for each file, its first mismatches below
    Table,
    /// The same with all that is known of these, as JSON
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct GovernorsArgs {
    #[command(subcommand)]
    pub(crate) what: Option<GovernorsCommand>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// A kernel tree, for its own governors: linux:6.12/teo, linux:6.12 for all, linux/teo if it is the only tree
    #[arg(long = "kernel-tree", value_name = "DIR", global = true)]
    pub(crate) trees: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GovernorsCommand {
    /// A line for each governor (default)
    List,
    /// A governor's manual page and parameters
    Show {
        /// The governor: one of ours, the path of a C file, linux:6.12/teo
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct PlatformArgs {
    #[command(subcommand)]
    pub(crate) what: PlatformCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlatformCommand {
    /// A line for each machine that ships with idlewise
    List,
    /// Idle states, capacities, power and sources of a machine
    Show {
        /// A platform, a platform file (.toml) or a sysfs dump
        platform: String,
        /// As a platform file
        #[arg(long)]
        toml: bool,
    },
    /// Look for mistakes and oddities; exit status 1 if there are warnings
    Check {
        /// Platforms, platform files or sysfs dumps
        #[arg(required = true)]
        platforms: Vec<String>,
    },
    /// Describe the running machine as a platform file
    Scan,
}

/// What of [`StageArgs`] a result that is asked again has told already.
const STAGE: [&str; 10] = [
    "platform",
    "cluster",
    "seed",
    "recorded_on",
    "sysfs",
    "kernel_governor",
    "instance",
    "despite_counters",
    "trees",
    "hz",
];

/// Where governors are run.
#[derive(Debug, Args)]
pub(crate) struct StageArgs {
    /// The machine to replay on: a platform, a platform file or a sysfs dump; `--recorded-on same` says that it is the recorded
    /// one, too [default: the recorded one]
    #[arg(short, long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,
    /// Put every recorded CPU on this cluster of the machine
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Replay as if the kernel ticked N times a second [default: as the recording shows]
    #[arg(long, value_name = "N")]
    hz: Option<u32>,
    /// Seed of the random numbers that a governor may ask for
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
}

impl StageArgs {
    /// What is known of the recordings beside their files, and asked of them.
    pub(crate) fn recording(&self) -> RecordingOptions {
        RecordingOptions { hz: self.hz, ..self.recording.options() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RecordingArgs {
    /// The machine that was recorded, where the recording does not say: a platform, a platform file or a sysfs dump
    #[arg(long, value_name = "PLATFORM")]
    recorded_on: Option<String>,
    /// A sysfs dump of the machine that was recorded (`grep . -r /sys/devices/system/cpu/cpu*/cpuidle`)
    #[arg(long, value_name = "FILE", conflicts_with = "recorded_on")]
    sysfs: Option<String>,
    /// The idle governor that the kernel ran, to see how far replay repeats its choices; other:NAME for one that idlewise does
    /// not have
    #[arg(long, value_name = "GOVERNOR")]
    kernel_governor: Option<String>,
    /// The trace instance to read, of a trace.dat that holds several [default: the top one]
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Take this CPU although the trace has other idle entries of it than the kernel counted meanwhile
    #[arg(long, value_name = "CPU")]
    despite_counters: Vec<u32>,
}

impl RecordingArgs {
    pub(crate) fn options(&self) -> RecordingOptions {
        RecordingOptions {
            recorded_on: self.recorded_on.clone().or_else(|| self.sysfs.clone()),
            by_sysfs: self.recorded_on.is_none() && self.sysfs.is_some(),
            kernel_governor: self.kernel_governor.clone(),
            instance: self.instance.clone(),
            despite_counters: self.despite_counters.clone(),
            ..RecordingOptions::default()
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Form of the result: table, markdown, csv or json [default: what the name of --output ends in, .md, .csv or .json;
    /// else table]
    #[arg(short, long, value_name = "FORM")]
    pub(crate) format: Option<Format>,
    /// Write the result to a file, - for standard output; an existing file is left alone
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PerArg {
    Cpu,
    Cluster,
    State,
}

/// A part of the machine.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum PartArg {
    Cpu,
    Cluster,
}

impl From<PartArg> for PerArg {
    fn from(part: PartArg) -> Self {
        match part {
            PartArg::Cpu => Self::Cpu,
            PartArg::Cluster => Self::Cluster,
        }
    }
}

impl From<Option<PerArg>> for PerChoice {
    fn from(arg: Option<PerArg>) -> Self {
        Self(match arg {
            None => Per::All,
            Some(PerArg::Cpu) => Per::Cpu,
            Some(PerArg::Cluster) => Per::Cluster,
            Some(PerArg::State) => Per::State,
        })
    }
}

/// [`Per`] from an optional argument.
pub(crate) struct PerChoice(pub(crate) Per);

#[derive(Debug, Args)]
pub(crate) struct BootArgs {
    #[command(subcommand)]
    pub(crate) what: BootCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BootCommand {
    /// Build the guest's kernel with the governors in it
    Build(BootBuildArgs),
    /// Boot a machine under each governor, let a workload run, and compare what the kernel chose
    Run(BootRunArgs),
    /// As run, for every platform with every workload
    Matrix(BootRunArgs),
    /// Does the lab hold here what it claims? KUnit's tests of the governors in a guest; the same run twice, byte by byte
    SelfTest(BootSelfTestArgs),
    /// A shell in a guest (poweroff -f ends it)
    Shell(BootShellArgs),
    /// Put the governors into a kernel tree of yours, or take them out again
    Overlay {
        /// Top of the tree
        #[arg(value_name = "TREE")]
        tree: PathBuf,
        /// Take them out
        #[arg(long)]
        remove: bool,
    },
    /// List the workloads of guests
    Workloads,
}

/// Which kernel, and where the lab keeps what it fetched and built.
#[derive(Debug, Args)]
pub(crate) struct BootBuildArgs {
    /// A kernel tree of yours, with the governors put into it by `idlewise boot overlay` [default: Debian's source of the
    /// version that --linux names, fetched if need be]
    #[arg(long, value_name = "TREE")]
    pub(crate) kernel_tree: Option<PathBuf>,
    /// Which of Debian's kernels, such as 6.1 or 7.3 [default: 6.12]
    #[arg(long, value_name = "VERSION", conflicts_with = "kernel_tree")]
    pub(crate) linux: Option<String>,
    /// The folder for sources, builds and guests; some 3 GB [default: $IDLEWISE_LAB, else idlewise/lab in the cache folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Compilers at the same time [default: one for each CPU]
    #[arg(short, long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}

/// The machine.
#[derive(Debug, Args)]
pub(crate) struct BootMachineArgs {
    /// Platforms: their idle states and CPUs
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', default_value = "pixel6")]
    pub(crate) platform: Vec<String>,
    /// CPUs of the guest, at most 8 [default: as many as the platform has]
    #[arg(long, value_name = "N")]
    pub(crate) cpus: Option<u32>,
    /// Who puts CPUs to sleep
    #[arg(long, value_enum, default_value = "synth")]
    pub(crate) driver: DriverArg,
    /// Refuse every Nth entry into a deeper state (synth only)
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) reject: u32,
    /// A cpufreq governor for all CPUs
    #[arg(long, value_name = "NAME")]
    pub(crate) cpufreq: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BootRunArgs {
    #[command(flatten)]
    pub(crate) machine: BootMachineArgs,
    /// Governors: ours with parameters where wanted, the kernel's own as linux/menu, linux/teo, linux/ladder, yours by the
    /// paths of their files, as ./mine.c
    #[arg(short, long, value_name = "LIST", default_value = "linux/menu,teo-6.1,teo-util")]
    pub(crate) governor: String,
    /// Workloads (see `idlewise boot workloads`)
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', default_value = "timer")]
    pub(crate) workload: Vec<String>,
    /// How long each workload runs, seconds of the guest
    #[arg(short, long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    /// What the workload rt-app reads
    #[arg(long, value_name = "FILE.json")]
    pub(crate) rt_app_file: Option<PathBuf>,
    /// Do not record the inputs of governors (the events idlewise:*)
    #[arg(long)]
    pub(crate) without_true_inputs: bool,
    /// Where the recordings go: a folder for each governor in one for each platform and workload
    #[arg(long, value_name = "DIR", default_value = "lab-runs")]
    pub(crate) to: PathBuf,
    /// Break the result down
    #[arg(long, value_enum)]
    pub(crate) per: Option<PerArg>,
    #[command(flatten)]
    pub(crate) build: BootBuildArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BootSelfTestArgs {
    /// Platforms, each booted twice under every idle driver that it can have
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', default_value = "pixel6,rk3399")]
    pub(crate) platform: Vec<String>,
    /// The governor of these runs
    #[arg(short, long, value_name = "GOVERNOR", default_value = "teo-util")]
    pub(crate) governor: String,
    /// Their workload
    #[arg(short, long, value_name = "NAME", default_value = "timer")]
    pub(crate) workload: String,
    /// How long it runs, seconds of the guest
    #[arg(short, long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
    #[command(flatten)]
    pub(crate) build: BootBuildArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BootShellArgs {
    #[command(flatten)]
    pub(crate) machine: BootMachineArgs,
    #[command(flatten)]
    pub(crate) build: BootBuildArgs,
}

/// An idle driver.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DriverArg {
    /// Our own: any idle states, latencies spent for real
    Synth,
    /// The kernel's, for arm64 firmware: latencies declared only
    Psci,
}
