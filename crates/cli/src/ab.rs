// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

use clap::Args;
use idlewise_ab::{self as ab, AbRequest, Benchmark, ResumeRequest, Stop, Work};
use idlewise_live::Host;
use idlewise_live::load::LOADS;
use idlewise_machine::ab::{AbAnswer, run as measure_kept, understand};
use idlewise_page as pages;
use idlewise_study::replay::split_governors;
use idlewise_view as view;

use crate::args::{OutputArgs, PageArgs};
use crate::output::{Done, Failure, deliver, say_line, warn, warn_lines};
use crate::restore::tell;

const EXAMPLES: &str = "\
Which governor makes a pipe faster? Twelve runs of each, alternating:
  idlewise ab --governor menu,haltpoll --repeat 12 \\
      -- perf bench sched pipe -l 50000
Compare a number that the command prints; more is better:
  idlewise ab --governor menu,ladder \\
      --metric 'ops:higher=([0-9,]+) ops/sec' \\
      -- perf bench sched pipe -l 50000
The same governor with other settings; without a benchmark of your own:
  idlewise ab --load ping-pong \\
      -g haltpoll,haltpoll:guest_halt_poll_ns=200000
What is an idle state worth? The second arm disables it:
  idlewise ab --governor menu,menu:disable=1 --load timer
Does the comparison find a difference where there is none?
  idlewise ab --governor menu --aa --load timer
Several benchmarks, and their mean:
  idlewise ab --governor menu,ladder \\
      --benchmark 'pipe=perf bench sched pipe -l 50000' \\
      --benchmark 'build=make -B'
Continue after an interruption, with the same command; show the result again, as Markdown:
  idlewise ab --resume ab-1 \\
      -- perf bench sched pipe -l 50000
  idlewise ab --show ab-1 --format markdown
Fail if a governor is slower by more than 2 %, or if its p99 wakeup latency is above 100 us:
  idlewise ab --governor menu,ladder --wakeups \\
      --fail-if 'time > +2%' \\
      --fail-if 'wakeup_p99 > 100us' -- make -B

EXPR is METRIC OP VALUE, as in `idlewise compare`. OP is one of > >= < <=. A VALUE with a sign is a \
change from the baseline, which counts only if it is significant; without a sign it is the median's \
own value.
  time, and what is measured in s, ms, us:
      200us, +10us, +2% (ns, us, ms, s)
  shares, such as missed:
      5%, +1pp (percentage points)
  all others, such as trips, ops, energy in J:
      1000, -100, -5%

Switching governors and states needs root. Everything is restored at the end, after Ctrl-C, and \
after a crash or SIGKILL.
Exit status: 0 success, 1 --aa found a difference or a --fail-if holds, 2 failure.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct AbArgs {
    /// Governors of this kernel, the first is the baseline
    ///
    /// With settings of their own: haltpoll:guest_halt_poll_ns=200000, menu:disable=1 (a state),
    /// menu:latency_limit_us=20.
    #[arg(short, long, alias = "governors", value_name = "LIST", required_unless_present_any = ["resume", "show", "loads"])]
    governor: Option<String>,
    /// Disable this idle state on all CPUs, in all arms
    #[arg(long, value_name = "N")]
    disable_state: Vec<u32>,
    /// Set a latency limit, in all arms
    #[arg(long, value_name = "US", value_parser = clap::value_parser!(u32).range(..=2_000_000_000))]
    latency_limit: Option<u32>,
    /// Set a parameter of a kernel module, in all arms
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// A load that ships with idlewise (--loads lists them)
    ///
    /// Instead of a command, or as one more benchmark.
    #[arg(short, long, value_name = "NAME")]
    load: Vec<String>,
    /// How long each --load runs, seconds [default: 3]
    #[arg(short, long, value_name = "N", requires = "load", value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: Option<u32>,
    /// A benchmark by name and shell command; may be repeated
    #[arg(long, value_name = "NAME=CMD")]
    benchmark: Vec<String>,
    /// A number that the benchmarks print
    ///
    /// A pattern with one group. The last match counts; less is better without `:higher`.
    #[arg(short, long, value_name = "NAME[:higher]=REGEX")]
    metric: Vec<String>,
    /// Runs of each benchmark under each arm [default: 10]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: Option<u32>,
    /// Warm-up runs of each benchmark, which do not count
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(..=10_000))]
    warm_up: u32,
    /// Pause after each switch, in ms
    #[arg(long, value_name = "MS", default_value_t = 300, value_parser = clap::value_parser!(u32).range(..=3_600_000))]
    settle: u32,
    /// Selects which arm runs first in each round [default: 0]
    ///
    /// 0 keeps the order of --governor.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Repeat a run if others take more than this, in %
    ///
    /// The share of the CPUs that other processes, or the host, take.
    #[arg(long, value_name = "PCT", default_value_t = 8, value_parser = clap::value_parser!(u32).range(..=100))]
    foreign: u32,
    /// Repeat a run at most N times
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(..=10_000))]
    retries: u32,
    /// The difference that does not matter, in %
    ///
    /// An arm within it is the same as the baseline.
    #[arg(long, value_name = "PCT", default_value_t = 1.0, value_parser = margin)]
    margin: f64,
    /// Trace the wakeup latency of the benchmark's tasks
    ///
    /// From wakeup to running; this slows the runs.
    #[arg(long)]
    wakeups: bool,
    /// Compare one governor with itself
    ///
    /// Any difference that is found is an error of the measurement.
    #[arg(long)]
    aa: bool,
    /// Exit with status 1 if this holds; may be repeated
    ///
    /// For an arm in any benchmark.
    #[arg(long, value_name = "EXPR")]
    fail_if: Vec<String>,
    /// Before --fail-if had the grammar of `compare`
    #[arg(long, hide = true, value_name = "PCT", value_parser = gone)]
    fail_if_worse: Option<f64>,
    /// The folder for the runs [default: ab-1, ab-2 ...]
    ///
    /// New or empty; the default is in the current folder.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Continue an interrupted session
    ///
    /// Commands and parameters of kernel modules that its folder names must be given again, or be allowed by
    /// --as-recorded.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["to", "aa", "show", "disable_state", "latency_limit", "metric", "warm_up", "settle", "foreign", "retries", "margin", "wakeups"])]
    resume: Option<PathBuf>,
    /// Allow the commands and parameters in --resume's folder
    #[arg(long, requires = "resume")]
    as_recorded: bool,
    /// Show the results of a session, without any run
    #[arg(long, value_name = "DIR", conflicts_with_all = ["governor", "to", "load", "benchmark", "command", "aa", "disable_state", "latency_limit", "set", "metric", "repeat", "warm_up", "settle", "seed", "foreign", "retries", "margin", "wakeups"])]
    show: Option<PathBuf>,
    /// List every run, even if there are many
    #[arg(long)]
    every: bool,
    /// List the loads
    #[arg(long, exclusive = true)]
    loads: bool,
    /// A folder with sys, proc, dev and run, instead of this machine
    ///
    /// It looks like the root of a machine; what is in it is switched.
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    root: PathBuf,
    /// The benchmark: a command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// How long a load runs, s, where nothing else is said.
const LOAD_SECONDS: u32 = 3;
/// How often each benchmark runs under each arm, where nothing else is said.
const REPEAT: u32 = 10;

/// Ctrl-C ends the session through this; everything is restored.
static STOP: Stop = Stop::new();

fn margin(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "expected a number".to_owned())?;
    if (0.1..=50.0).contains(&value) { Ok(value) } else { Err("expected 0.1 to 50".to_owned()) }
}

fn gone(percent: &str) -> Result<f64, String> {
    Err(format!(
        "--fail-if says it now, by the metric, as in `idlewise compare`: --fail-if 'time > +{percent}%', where more is better \
         --fail-if 'trips < -{percent}%'"
    ))
}

pub(crate) fn run(a: &AbArgs) -> Done {
    if a.loads {
        for load in LOADS {
            say_line(&format!("{:<14} {}", load.name, load.what))?;
        }
        return Ok(true);
    }
    a.output.check()?;
    a.page.check(&a.output)?;
    let folder = match &a.show {
        Some(folder) => folder.clone(),
        None => measure(a)?,
    };
    let answer = AbAnswer::new(ab::report(&folder)?, &a.fail_if)?;
    deliver(&a.output, &view::ab(&answer, a.every), &answer)?;
    // Each value is among the points of the page, of however many runs.
    a.page.write_of(&answer, || view::ab(&answer, a.every), |of| pages::ab(&answer, of))?;
    if !a.output.is_shown() {
        warn_lines(&view::checks(&answer.checks));
    }
    Ok(!answer.failed() && answer.report.aa.as_ref().is_none_or(Vec::is_empty))
}

fn measure(a: &AbArgs) -> Result<PathBuf, Failure> {
    let (work, folder) = match &a.resume {
        Some(folder) => (ab::rest(folder, &given(a)?, &mut warn)?, folder.clone()),
        None => {
            let to = a.to.clone().unwrap_or_else(|| ab::free_folder(Path::new(""), "ab"));
            (Work::New(request(a)?), to)
        }
    };
    let host = Host::below(&a.root);
    let (Work::New(asked) | Work::Rest { recorded: asked, .. }) = &work;
    understand(&a.fail_if, &ab::metrics(&host, asked)?)?;
    // Where no handler can be set, a signal ends the session as it always does, and the guard restores the machine.
    let _ = ctrlc::set_handler(|| STOP.now());
    let mut told = warn;
    let done = measure_kept(&host, work, &folder, &STOP, &mut told)?;
    tell(&done, false);
    Ok(folder)
}

fn request(a: &AbArgs) -> Result<AbRequest, Failure> {
    let arms = AbRequest::arms(arms(a)?.unwrap_or_default(), a.aa)?;
    let benchmarks = benchmarks(a)?;
    Benchmark::check(&benchmarks)?;
    Ok(AbRequest {
        arms,
        benchmarks,
        metrics: a.metric.clone(),
        disable: a.disable_state.clone(),
        latency_limit_us: a.latency_limit,
        set: a.set.clone(),
        repeat: a.repeat.unwrap_or(REPEAT),
        warm_up: a.warm_up,
        settle_ms: a.settle,
        seed: a.seed.unwrap_or(0),
        foreign_pct: a.foreign,
        retries: a.retries,
        margin_permille: (a.margin * 10.0).round() as u32,
        aa: a.aa,
        wakeups: a.wakeups,
    })
}

fn arms(a: &AbArgs) -> Result<Option<Vec<String>>, Failure> {
    Ok(a.governor.as_deref().map(|list| split_governors("--governor", list)).transpose()?)
}

fn given(a: &AbArgs) -> Result<ResumeRequest, Failure> {
    Ok(ResumeRequest {
        benchmarks: benchmarks(a)?,
        arms: arms(a)?,
        repeat: a.repeat,
        seed: a.seed,
        seconds: a.seconds,
        set: a.set.clone(),
        as_recorded: a.as_recorded,
    })
}

/// What this command line names to be run.
fn benchmarks(a: &AbArgs) -> Result<Vec<Benchmark>, Failure> {
    let mut benchmarks = Vec::new();
    benchmarks.extend(Benchmark::of_command(&a.command));
    for text in &a.benchmark {
        benchmarks.push(Benchmark::of_shell(text)?);
    }
    for name in &a.load {
        benchmarks.push(Benchmark::of_load(name, a.seconds.unwrap_or(LOAD_SECONDS), a.seed.unwrap_or(0))?);
    }
    Ok(benchmarks)
}
