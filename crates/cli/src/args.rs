// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use idlewise_manual::examples;
use idlewise_model::HZ;
use idlewise_recording::{RecordingOptions, ReplaySetup};
use idlewise_report::Format;

use crate::plot::PlotArg;
pub(crate) use idlewise_study::replay::Per;

use crate::schema;

/// The machine of recorded decisions where none is named.
pub(crate) const RECORDED_DECISIONS_ON: &str = "kvm-guest";

/// Headings of the help: what options are about.
const AGAIN: &str = "Repeating a result";
pub(crate) const MACHINE: &str = "Machine";
const RECORDING: &str = "Recording";
const OUTPUT: &str = "Output";

#[derive(Debug, Args)]
#[command(after_help = examples::INFO)]
pub(crate) struct InfoArgs {
    /// A trace in any supported format
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// C files that the user names, too.
#[derive(Debug, Args)]
#[command(next_help_heading = AGAIN)]
pub(crate) struct TrustArgs {
    /// Allow this C file or kernel tree, which RESULT.json names
    ///
    /// Without this, C that a result names is neither compiled nor run.
    #[arg(long, value_name = "FILE|FOLDER")]
    pub(crate) trust: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = examples::REPLAY)]
pub(crate) struct ReplayArgs {
    /// Traces in any supported format, or tapes
    #[arg(required_unless_present = "again", value_name = "TRACE")]
    pub(crate) traces: Vec<PathBuf>,
    /// Governors to compare: menu,teo-util,./mine.c,oracle
    ///
    /// With parameters, teo-util:util_threshold_shift=5; an idle state disabled, menu:disable=1; a latency
    /// limit, teo:latency_limit_us=20. Of a kernel tree: linux:6.12/teo, or the tree's folder. LABEL@GOVERNOR
    /// gives one a name: base@~/linux/teo. oracle and hindsight are bounds.
    #[arg(short, long, value_name = "LIST", default_value = "menu-6.1,teo-6.1,teo-util,shallow,oracle")]
    pub(crate) governor: String,
    /// The governor to compare the others with [default: the first]
    #[arg(short, long, value_name = "GOVERNOR")]
    pub(crate) baseline: Option<String>,
    /// Break the result down
    #[arg(long, value_enum)]
    pub(crate) per: Option<PerArg>,
    /// Replay also with uncertain sleep lengths at their ends
    ///
    /// Shows whether the ranking of the governors depends on sleep lengths that the recording leaves uncertain:
    /// replay is done also with the least and the greatest that it allows.
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// What idle power is worth in clock under a package limit
    ///
    /// A model in closed form, as an interval: the power that each governor frees against the baseline, and by how much the
    /// clock rises for it while the limit binds. pl1=6W:28s, or a range with rows of its own: pl1=4W..8W/1W:28s. Needs a
    /// platform with powers in watts. docs/concepts/power-limits.md has the formula.
    #[arg(long, value_name = "LIMITS")]
    pub(crate) power_limit: Option<String>,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
    /// Repeat the request that a JSON result records
    ///
    /// The files that it names must not have changed.
    #[arg(long, help_heading = AGAIN, value_name = "RESULT.json", conflicts_with_all = ["traces", "governor", "baseline", "per", "sensitivity", "power_limit"], conflicts_with_all = STAGE)]
    pub(crate) again: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    #[command(flatten)]
    pub(crate) decisions: DecisionsArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = examples::SIMULATE)]
pub(crate) struct SimulateArgs {
    /// A workload that ships with idlewise, or a file
    ///
    /// Files are in rt-app's grammar (docs/reference/workload-format.md).
    #[arg(value_name = "WORKLOAD", required_unless_present_any = ["again", "list"])]
    pub(crate) workload: Option<String>,
    /// List the workloads that ship with idlewise
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// The machine
    #[arg(help_heading = MACHINE, short, long, value_name = "PLATFORM", default_value = "pixel6")]
    pub(crate) platform: String,
    /// Idle governors to compare: menu,teo-util,./mine.c
    ///
    /// With parameters, teo-util:util_threshold_shift=5; an idle state disabled, menu:disable=1; a latency
    /// limit, teo:latency_limit_us=20. Of a kernel tree: linux:6.12/teo, or the tree's folder. LABEL@GOVERNOR
    /// gives one a name.
    #[arg(short, long, value_name = "LIST", default_value = "menu-6.1,teo-6.1,teo-util,shallow")]
    pub(crate) governor: String,
    /// Frequency governors, with optional parameters
    ///
    /// docs/reference/frequency-governors.md lists them.
    #[arg(long, value_name = "LIST", default_value = "schedutil")]
    pub(crate) cpufreq: String,
    /// Load signals of the frequency governors: pelt,walt
    ///
    /// With parameters: pelt:half_life_ms=8, walt:window_ms=10; walt-3.18 places tasks by busy time; walt-rfc is WALT as posted.
    #[arg(long, value_name = "LIST", default_value = "pelt")]
    pub(crate) signal: String,
    /// Compare the others with this one [default: the first]
    ///
    /// A governor of one of the combinations.
    #[arg(short, long, value_name = "GOVERNOR")]
    pub(crate) baseline: Option<String>,
    /// The kernel version whose scheduler is simulated
    ///
    /// Its load tracking and its fair scheduler.
    #[arg(help_heading = MACHINE, long, value_name = "VERSION", default_value = "6.12")]
    pub(crate) kernel: String,
    #[command(flatten, next_help_heading = MACHINE)]
    pub(crate) kernels: KernelArgs,
    /// Ticks per second [default: the platform's]
    #[arg(help_heading = MACHINE, long, value_name = "N", value_parser = hz)]
    pub(crate) hz: Option<u32>,
    /// Number of CPUs, if the platform does not fix it
    #[arg(help_heading = MACHINE, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) cpus: Option<u32>,
    /// Change a value of the platform's file; may be repeated
    ///
    /// The key is a path with the names of blocks: --set cluster.LITTLE.state.c2.refill_us=100
    /// --set cluster.BIG.clock.max_khz=1500000. docs/reference/platform-format.md has all keys.
    #[arg(help_heading = MACHINE, long, value_name = "KEY=VALUE", value_parser = change, conflicts_with = "trace")]
    pub(crate) set: Vec<(String, String)>,
    /// Power of all parts other than the CPUs [default: the platform's]
    ///
    /// Constant power that the battery supplies to display, memory, radio and so on.
    #[arg(help_heading = MACHINE, long, value_name = "MW", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(crate) base_mw: Option<u64>,
    /// Limit the package's power: pl1=6W:28s,pl2=12W:976us
    ///
    /// A power and its running average's window; or a range, FROM..TO/STEP, with a row of results each:
    /// pl1=4W..8W/1W:28s. After the window, :no-clamp keeps clocks at the base clock or above, and @5W starts the average at 5 W
    /// instead of idle power. What is not given is the platform's; none lifts its limits. docs/concepts/power-limits.md says
    /// what a limit does.
    #[arg(help_heading = MACHINE, long, value_name = "LIMITS")]
    pub(crate) power_limit: Option<String>,
    /// Simulated time [default: the workload's, else 10]
    #[arg(short, long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) seconds: Option<u64>,
    /// Seed of the random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Runs of each combination [default: 5; 1 with --write-trace]
    ///
    /// Each run has the next seed.
    #[arg(short, long, value_name = "R", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) repeat: Option<u64>,
    /// Write a trace of the run, as a kernel would record it
    ///
    /// ftrace text (.txt, .trace) or Perfetto (.perfetto-trace). FILE.toml next to it names the machine and the
    /// governor for `idlewise replay`.
    #[arg(long = "write-trace", alias = "trace", value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Simulate these recordings' runs, and compare
    ///
    /// Recordings of real runs of the workload, by `idlewise boot` or on a machine: each is simulated with its
    /// machine and its idle governor, and the simulation compared with the recording.
    #[arg(long, value_name = "RECORDING", num_args = 1.., conflicts_with_all = ["again", "trace", "tasks", "platform", "governor", "repeat", "baseline", "cpus", "hz", "kernel", "base_mw", "set", "power_limit"])]
    pub(crate) beside: Vec<PathBuf>,
    /// Show all counts for each task
    #[arg(long)]
    pub(crate) tasks: bool,
    /// Repeat the request that a JSON result records
    #[arg(long, help_heading = AGAIN, value_name = "RESULT.json", conflicts_with_all = ["workload", "platform", "governor", "cpufreq", "signal", "baseline", "kernel", "hz", "cpus", "seconds", "seed", "repeat", "base_mw", "set", "trees", "power_limit"])]
    pub(crate) again: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) all: DetailsArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = examples::EXPLAIN)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["at", "after", "decision", "why_differ", "row", "line"]))]
pub(crate) struct ExplainArgs {
    /// A trace in any supported format, or a tape
    #[arg(value_name = "TRACE", required_unless_present_any = ["golden", "decisions"])]
    pub(crate) trace: Option<PathBuf>,
    /// The governor, with optional parameters
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
    /// The last decision at or before this time, in s
    ///
    /// A time of the recording, as `trace-cmd report` prints it.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) at: Option<u64>,
    /// As --at, but counted from the first event of the recording
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) after: Option<u64>,
    /// The decision with this number on its CPU, counted from 0
    #[arg(long, value_name = "N")]
    pub(crate) decision: Option<u64>,
    /// A golden file (see `idlewise drive`) instead of a trace
    #[arg(long, value_name = "FILE", requires = "row", conflicts_with_all = ["trace", "platform", "cluster", "recorded_on", "sysfs", "kernel_governor", "instance", "despite_counters", "seed", "hz", "cpu"])]
    pub(crate) golden: Option<PathBuf>,
    /// The row of the golden file, counted from 0
    #[arg(long, value_name = "N", requires = "golden", conflicts_with = "trace")]
    pub(crate) row: Option<u64>,
    /// Decisions recorded on a live kernel, instead of a trace
    ///
    /// As `idlewise drive` reads them; --platform names the machine.
    #[arg(long, value_name = "FILE", requires = "line", conflicts_with_all = ["trace", "golden", "cluster", "recorded_on", "sysfs", "kernel_governor", "instance", "despite_counters", "seed", "hz"])]
    pub(crate) decisions: Option<PathBuf>,
    /// The line of --decisions, as `idlewise drive` names it
    #[arg(long, value_name = "N", requires = "decisions", conflicts_with = "trace")]
    pub(crate) line: Option<u64>,
    /// Find where two governors differ
    ///
    /// The first choice, and those that cost most energy and latency.
    #[arg(long, value_name = "A,B")]
    pub(crate) why_differ: Option<String>,
    /// Show these, too, for the decision; or none [default: all]
    ///
    /// Other governors, for the same decision.
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
    /// Traces in any supported format, or tapes
    ///
    /// Without --governor, the two governors stand before them.
    #[arg(value_name = "TRACE", required_unless_present_any = ["again", "trace"])]
    pub(crate) traces: Vec<PathBuf>,
    /// The governor to change from, and that to change to
    ///
    /// With optional parameters: teo-6.1,teo-util:util_threshold_shift=5; or oracle. As in `idlewise replay`.
    #[arg(short, long, value_name = "A,B")]
    pub(crate) governor: Option<String>,
    /// Traces, as an option
    #[arg(short, long, hide = true, value_name = "TRACE", num_args = 1..)]
    pub(crate) trace: Vec<PathBuf>,
    /// Break the result down
    #[arg(long, value_enum)]
    pub(crate) per: Option<PartArg>,
    /// Exit with status 1 if this holds; may be repeated
    ///
    /// In any trace, or in all together.
    #[arg(long, value_name = "EXPR")]
    pub(crate) fail_if: Vec<String>,
    #[command(flatten)]
    pub(crate) stage: StageArgs,
    /// Repeat the request that a JSON result records
    ///
    /// The files that it names must not have changed.
    #[arg(long, help_heading = AGAIN, value_name = "RESULT.json", conflicts_with_all = ["governor", "traces", "trace", "per", "fail_if"], conflicts_with_all = STAGE)]
    pub(crate) again: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    #[command(flatten)]
    pub(crate) decisions: DecisionsArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Ticks per second, as Linux can have them.
pub(crate) fn hz(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|hz| HZ.contains(hz)).ok_or_else(|| {
        format!("expected {} to {} ticks per second, mostly 100, 250, 300 or 1000", HZ.start(), HZ.end())
    })
}

/// `KEY=VALUE`, of a platform's file.
fn change(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("expected KEY=VALUE, such as hz=1000")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// `12.345` as ns.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || "expected seconds, such as 12.345 or 0.000000001".to_owned();
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
    let grammar = idlewise_study::condition::help();
    format!("{}\n{grammar}\nExit status: 0 success, 1 a --fail-if holds, 2 failure.", examples::COMPARE)
}

#[derive(Debug, Args)]
#[command(after_help = examples::SCORE)]
pub(crate) struct ScoreArgs {
    /// A trace in any supported format, or a tape
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// Check the trace against the kernel's counters
    ///
    /// cpuidle in sysfs before and after it, as `grep -r .` prints it, with a line cpuN/at_ns:TIME for each CPU
    /// (when its counters were read, in ns on the trace's clock).
    #[arg(long, num_args = 2, value_names = ["BEFORE", "AFTER"])]
    pub(crate) counters: Vec<PathBuf>,
    /// Break the result down
    #[arg(long, value_enum)]
    pub(crate) per: Option<PerArg>,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
    #[command(flatten)]
    pub(crate) answer: AnswerArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(after_help = examples::TAPE)]
pub(crate) struct TapeArgs {
    /// A trace in any supported format
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The tape to write; an existing file is not overwritten
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}

#[derive(Debug, Args)]
#[command(after_help = examples::CONVERT)]
pub(crate) struct ConvertArgs {
    /// A trace in any supported format
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,
    /// The file to write; an existing file is not overwritten
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// The format [default: from the ending of FILE]
    ///
    /// Endings: .perfetto-trace, .pftrace; .txt, .trace.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Option<ConvertTo>,
    /// Overwrite an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Replay these, and make each CPU's choices a track
    ///
    /// Governors, with optional parameters; Perfetto only.
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

#[derive(Debug, Args)]
#[command(after_help = examples::DRIVE)]
#[command(group = clap::ArgGroup::new("who").required(true).args(["governor", "signal"]))]
#[command(group = clap::ArgGroup::new("against").required(true).args(["golden", "decisions"]))]
pub(crate) struct DriveArgs {
    /// The governor: one of ours, a C file, linux:6.12/teo
    ///
    /// With optional parameters.
    #[arg(short, long, value_name = "GOVERNOR")]
    pub(crate) governor: Option<String>,
    /// A load-tracking signal instead: pelt, or pelt-6.1
    ///
    /// pelt-6.1 is the PELT of that kernel.
    #[arg(long, value_name = "SIGNAL", conflicts_with_all = ["decisions", "trees"])]
    pub(crate) signal: Option<String>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Golden files: what compiled kernel code did
    ///
    /// Decisions of compiled kernel code in a scripted environment, or its updates of a signal (CSV.gz with
    /// side-car).
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["platform", "cpu"])]
    pub(crate) golden: Vec<PathBuf>,
    /// Decisions recorded on a live kernel (CSV, .gz or .xz)
    ///
    /// With the governor's true inputs.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) decisions: Vec<PathBuf>,
    /// The machine of --decisions
    #[arg(long, value_name = "PLATFORM", default_value = RECORDED_DECISIONS_ON)]
    pub(crate) platform: String,
    /// The CPU of a --decisions table [default: 0]
    ///
    /// A trace names its CPUs.
    #[arg(long, value_name = "N")]
    pub(crate) cpu: Option<u32>,
    /// Show at most N differing steps of each file
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) show: usize,
    /// Format of the result for golden files
    #[arg(short, long, value_enum, value_name = "FORM", default_value_t = DriveForm::Table, conflicts_with = "decisions")]
    pub(crate) format: DriveForm,
}

/// How `drive` tells what came of golden files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriveForm {
    /// A line for each file, followed by its first mismatches
    Table,
    /// The same as JSON, with all details of the mismatches
    Json,
}

#[derive(Debug, Args)]
#[command(after_help = examples::GOVERNORS)]
pub(crate) struct GovernorsArgs {
    #[command(subcommand)]
    pub(crate) what: Option<GovernorsCommand>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
}

#[derive(Debug, Args)]
pub(crate) struct KernelArgs {
    /// A kernel tree, whose governors may be named
    ///
    /// linux:6.12/teo is one, linux:6.12 all of them; linux/teo where it is the only tree.
    #[arg(long = "kernel-tree", value_name = "DIR", global = true)]
    pub(crate) trees: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GovernorsCommand {
    /// List the governors (default)
    List,
    /// Show a governor's manual page and parameters
    Show {
        /// The governor: one of ours, a C file, linux:6.12/teo
        id: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = examples::PLATFORM)]
pub(crate) struct PlatformArgs {
    #[command(subcommand)]
    pub(crate) what: PlatformCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlatformCommand {
    /// List the machines that ship with idlewise
    List,
    /// Show a machine's idle states, power and sources
    Show {
        /// A platform, a platform file (.toml), a sysfs dump or the source of a device tree (.dts)
        platform: String,
        /// Print it as a platform file
        #[arg(long)]
        toml: bool,
    },
    /// Check machines for mistakes
    ///
    /// The exit status is 1 if there are warnings.
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
#[command(next_help_heading = MACHINE)]
pub(crate) struct StageArgs {
    /// The machine to replay on [default: that of the recording]
    ///
    /// A platform, a platform file or a sysfs dump; `--recorded-on same` says that the recording was made on
    /// it, too.
    #[arg(short, long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,
    /// Replay all CPUs as some of this cluster
    ///
    /// A cluster of the machine; every recorded CPU becomes one of it.
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Replay as if the kernel's tick had N Hz [default: as recorded]
    #[arg(long, value_name = "N", value_parser = hz)]
    hz: Option<u32>,
    /// Seed of the random numbers that a governor may ask for
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) recording: RecordingArgs,
}

impl StageArgs {
    pub(crate) fn setup(&self) -> ReplaySetup {
        ReplaySetup {
            recording: RecordingOptions { hz: self.hz, ..self.recording.options() },
            platform: self.platform.clone(),
            cluster: self.cluster.clone(),
            kernel_trees: self.kernels.trees.clone(),
            seed: self.seed,
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = RECORDING)]
pub(crate) struct RecordingArgs {
    /// The machine that was recorded, if the trace lacks it
    ///
    /// A platform, a platform file or a sysfs dump.
    #[arg(long, value_name = "PLATFORM")]
    recorded_on: Option<String>,
    /// A sysfs dump of the machine that was recorded
    ///
    /// `grep . -r /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    #[arg(long, value_name = "FILE", conflicts_with = "recorded_on")]
    sysfs: Option<String>,
    /// The idle governor that the kernel ran
    ///
    /// To show how many of its choices replay repeats; other:NAME for a governor that idlewise does not have.
    #[arg(long, value_name = "GOVERNOR")]
    kernel_governor: Option<String>,
    /// The trace instance of a trace.dat [default: the top one]
    ///
    /// Where it holds several.
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
    /// Use this CPU although its counters differ
    ///
    /// Its idle entries in the trace differ from those that the kernel counted.
    #[arg(long, value_name = "CPU")]
    despite_counters: Vec<u32>,
}

impl RecordingArgs {
    /// Values that may name files.
    pub(crate) fn files(&self) -> Vec<&Path> {
        [&self.recorded_on, &self.sysfs].into_iter().flatten().map(Path::new).collect()
    }

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
#[command(next_help_heading = OUTPUT)]
pub(crate) struct OutputArgs {
    /// table, markdown, mail, csv, json, parquet or arrow [default: table]
    ///
    /// Where --output names a .md, .csv, .json, .parquet, .arrow or .feather, that is the default. Parquet and
    /// Arrow are for data frames, with the columns of csv (docs/reference/data-tables.md).
    #[arg(short, long, value_name = "FORM", value_parser = format_parser(), hide_possible_values = true)]
    pub(crate) format: Option<Format>,
    /// Write the result to a file, - for standard output
    ///
    /// An existing file is not overwritten.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Lists the names for completions.
fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::NAMES).try_map(|name| name.parse::<Format>())
}

/// How much of a result is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct DetailsArgs {
    /// Show everything: all measures, all notes
    ///
    /// Also what the result depends on.
    #[arg(short = 'v', long)]
    pub(crate) details: bool,
}

/// Pictures of a result.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct PageArgs {
    /// Also write a page with charts, for a browser
    ///
    /// One file, which needs no network.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Also draw a chart, as SVG; may be repeated
    ///
    /// Charts: measures, front, front-p99, misses, residency, residency-cpu, periods,
    /// latency, divergence, timeline, response, changes, published, points.
    #[arg(long, value_name = "CHART=FILE.svg")]
    pub(crate) plot: Vec<PlotArg>,
}

/// Every decision of the governors.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct DecisionsArgs {
    /// Also write every decision as a row: FILE.parquet, .arrow, .csv
    ///
    /// With its inputs, what came of it and the oracle's choice, to a new file (docs/guide/decisions-as-data.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) write_decisions: Option<PathBuf>,
}

/// How much of a result is shown, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = OUTPUT)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    pub(crate) all: DetailsArgs,
    /// Measures of the table: energy,latency_p99,too_deep
    ///
    /// docs/reference/json.md lists them.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "details")]
    pub(crate) columns: Vec<String>,
    /// Sort the governors by this measure, the best first
    #[arg(long, value_name = "MEASURE", conflicts_with = "details")]
    pub(crate) sort: Option<String>,
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
#[command(after_help = examples::SCHEMA)]
pub(crate) struct SchemaArgs {
    /// The result: NAME in its field `schema`, idlewise.NAME/VERSION [default: list them]
    ///
    /// That is the command, except: `beside` of simulate --beside, `why-differ` of explain --why-differ, `lab` of boot run
    /// and matrix, `lab-self-test` of boot self-test.
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(schema::names()), hide_possible_values = true)]
    pub(crate) report: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SelfDescribeArgs {
    /// The folder to write to; existing files are overwritten
    #[arg(value_name = "DIR")]
    pub(crate) to: PathBuf,
}
