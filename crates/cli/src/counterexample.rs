// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

use clap::Args;
use idlewise_counterexample::{CounterexampleRequest, LONGEST, MACHINES, Origin, ROUNDS, find};
use idlewise_findings as view;
use idlewise_platform::{Platform, PlatformError};
use idlewise_recording::candidate::{Bound, Candidate};
use idlewise_recording::governors::{candidates, with_trees};
use idlewise_recording::{CommandError, ReplaySetup};
use idlewise_score::measure::MEASURES;
use idlewise_tape::file as tape_file;

use crate::args::{KernelArgs, MACHINE, OutputArgs, RecordingArgs};
use crate::examples;
use crate::output::{Done, Failure, Progress, check_new, deliver, is_stdout, say_unless, write_new};

#[derive(Debug, Args)]
#[command(after_help = examples::COUNTEREXAMPLE)]
pub(crate) struct CounterexampleArgs {
    /// The governor that is to be worse, as in `idlewise replay`
    #[arg(value_name = "A")]
    a: String,
    /// The governor that it is compared with, or oracle
    #[arg(value_name = "B")]
    b: String,
    /// Recordings or tapes where they differ [default: drawn idle periods]
    #[arg(value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// In what A is worse: energy, latency_mean, too_deep, ...
    ///
    /// docs/reference/json.md lists the measures.
    #[arg(short, long, value_name = "MEASURE", default_value = "energy")]
    metric: String,
    /// By how much; of shares percentage points
    #[arg(long, value_name = "PCT", default_value = "5%", value_parser = by)]
    by: f64,
    /// Play the idle periods so many times over
    ///
    /// A has to be worse in all rounds together and in the last, when both have learned what they can. All rounds together have 200 idle periods at most.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=LONGEST as u64))]
    times: u64,
    /// Also write it as a tape, for replay
    #[arg(long, value_name = "FILE")]
    tape: Option<PathBuf>,
    /// Also write it as a file of rt-app, for `boot run`
    ///
    /// Only where every idle period ends by a timer.
    #[arg(long, value_name = "FILE.json")]
    rt_app: Option<PathBuf>,
    /// Draw so many sequences for each cluster
    #[arg(long, value_name = "N", default_value_t = ROUNDS, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rounds: u64,
    /// Which sequences are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Machines to search [default: six of those that ship with idlewise]
    ///
    /// With TRACE one machine, to replay on instead of the recorded one.
    #[arg(help_heading = MACHINE, short, long, value_name = "LIST", value_delimiter = ',')]
    platform: Vec<String>,
    /// Ticks per second [default: the machine's or recording's]
    #[arg(help_heading = MACHINE, long, value_name = "N", value_parser = crate::args::hz)]
    hz: Option<u32>,
    #[command(flatten)]
    kernels: KernelArgs,
    #[command(flatten)]
    recording: RecordingArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// `5%`, `5pp`, `5`.
fn by(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end_matches("pp").trim();
    let wrong = || "expected per cent above 0 and below a million, such as 5%".to_owned();
    number.parse::<f64>().ok().filter(|by| *by > 0.0 && *by < 1e6).ok_or_else(wrong)
}

pub(crate) fn run(a: &CounterexampleArgs) -> Done {
    a.output.check()?;
    for path in a.tape.iter().chain(&a.rt_app) {
        check_new(path, false)?;
    }
    let both = candidates(&with_trees(&[a.a.clone(), a.b.clone()])?, &a.kernels.trees)?;
    let [one, other] = <[Candidate; 2]>::try_from(both).map_err(|all| {
        Failure::Error(format!("{} {}: name {} governors; expected two", a.a, a.b, all.len()))
    })?;
    if matches!(one, Candidate::Bound(_)) || matches!(other, Candidate::Bound(Bound::Hindsight)) {
        let why = "A is a governor that may be worse; the oracle can be B, hindsight cannot";
        return Err(Failure::Error(format!("{} {}: {why}", a.a, a.b)));
    }
    let measure = MEASURES.iter().find(|m| m.name == a.metric).ok_or_else(|| {
        let known = MEASURES.iter().map(|m| m.name).collect::<Vec<_>>().join(", ");
        CommandError::option("--metric", &a.metric, format!("expected one of {known}"))
    })?;
    let origin = if a.traces.is_empty() {
        let named =
            if a.platform.is_empty() { MACHINES.map(str::to_owned).to_vec() } else { a.platform.clone() };
        let machines = named.iter().map(|name| idlewise_platform::find(name));
        let machines: Vec<Platform> =
            machines.collect::<Result<_, PlatformError>>().map_err(CommandError::from)?;
        Origin::Drawn { machines, seed: a.seed, rounds: a.rounds }
    } else {
        if a.platform.len() > 1 {
            let why = "with recordings, one machine to replay on; name one";
            return Err(CommandError::option("--platform", a.platform.join(","), why).into());
        }
        let setup = ReplaySetup {
            recording: a.recording.options(),
            platform: a.platform.first().cloned(),
            ..ReplaySetup::default()
        };
        Origin::Recordings { traces: a.traces.clone(), setup: Box::new(setup) }
    };
    let request = CounterexampleRequest {
        a: one,
        b: other,
        measure,
        by: a.by,
        origin,
        hz: a.hz,
        times: a.times as usize,
    };
    let report = {
        let progress = Progress::new("searching");
        find(&request, &|what, done, of| progress.step(what, done, of))?
    };
    deliver(&a.output, &view::counterexample(&report), &report)?;
    let say = |path: &Path, line: &str| say_unless(is_stdout(path) || !a.output.is_shown(), line);
    if let (Some(path), Some(tape)) = (&a.tape, report.tape()) {
        let source = |source| CommandError::TapeFile { path: path.display().to_string(), source };
        write_new(path, &tape_file::write(&tape).map_err(source)?, false)?;
        say(path, &format!("tape: {}", path.display()))?;
    }
    if let Some(path) = &a.rt_app
        && report.found.is_some()
    {
        match report.workload() {
            Ok(text) => {
                write_new(path, text.as_bytes(), false)?;
                say(path, &format!("rt-app: {}", path.display()))?;
            }
            Err(why) => say(path, &format!("{}: nothing is written: {why}", path.display()))?,
        }
    }
    Ok(report.found.is_some())
}
