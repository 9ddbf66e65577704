// SPDX-License-Identifier: GPL-2.0-only
//! The arguments of `idlewise sweep`, but for where its result goes.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use idlewise_experiment::simulate::bounds;
use idlewise_recording::CommandError;
use idlewise_study::replay::split_governors;

use crate::request::SweepRequest;
use crate::run::{Keeping, Shard};
use crate::sample::SampleMethod;

const MACHINE: &str = "Machine";
const WORKLOADS: &str = "Workloads";
/// More settings than this are a grid.
pub(crate) const MOST_DRAWN: u64 = 1_000_000;

/// What is swept, and where results are kept.
#[derive(Debug, Args)]
pub struct SweepArgs {
    /// Recordings, folders of them, folders of a corpus
    #[arg(value_name = "RECORDING", required_unless_present_any = ["plan", "workload"])]
    recordings: Vec<PathBuf>,
    /// Governors with values of parameters: teo:decay_shift=2..5
    ///
    /// A range A..B or A..B/STEP with both ends, or a list A|B|C; several parameters with commas between are swept together. As in
    /// `idlewise replay`, also a C file, a governor of a kernel tree, and what is taken from it: menu:disable=1|2.
    #[arg(short, long, value_name = "LIST", required_unless_present = "plan")]
    governor: Option<String>,
    /// Compare with this one [default: the first, with its defaults]
    #[arg(short, long, value_name = "GOVERNOR")]
    baseline: Option<String>,
    /// Measures of which the front is [default: energy,latency_mean]
    ///
    /// The front are the settings that no other beats: none is as good in all of these measures and better in one. Of energy,
    /// latency_mean, latency_p99, too_deep, too_shallow, wakeups, and of workloads work.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    front: Vec<String>,
    /// Draw N settings of each governor, instead of running all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_DRAWN))]
    sample: Option<u64>,
    /// How they are drawn [default: latin-hypercube]
    #[arg(long, value_name = "METHOD", value_enum, hide_short_help = true)]
    method: Option<SampleMethod>,
    /// Take what is not given here from this file
    ///
    /// TOML with the fields of `request` in JSON: governors, recordings, platforms, sample, ... Recordings are relative to its
    /// folder. It may name governors that ship with idlewise only.
    #[arg(long, value_name = "FILE.toml")]
    plan: Option<PathBuf>,
    /// Keep results in this folder, and compute none that is there
    ///
    /// Each by what it is the result of: recording, governor, parameters, machine, version. Several commands may share a folder.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Run part I of N only; the same without it shows all
    #[arg(long, value_name = "I/N", requires = "to", conflicts_with_all = WHOLE)]
    shard: Option<Shard>,
    /// Say how much it is and how long it takes, and run nothing
    #[arg(long, conflicts_with_all = WHOLE)]
    dry_run: bool,
    /// Workloads to simulate, alone or together with recordings
    ///
    /// Names of `idlewise simulate --list`, or files in rt-app's grammar. Their energy is that of the CPUs, running and idle.
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', help_heading = WORKLOADS)]
    workload: Vec<String>,
    /// Seeds of each, as 1..5 or 1|7 [default: 1..5]
    #[arg(long, value_name = "SEEDS", help_heading = WORKLOADS)]
    seeds: Option<String>,
    /// Simulated time [default: the workload's, else 10]
    #[arg(short, long, value_name = "SECONDS", value_parser = simulated_ns, help_heading = WORKLOADS)]
    seconds: Option<u64>,
    /// Frequency governor, with optional parameters [default: schedutil]
    #[arg(long, value_name = "GOVERNOR", hide_short_help = true, help_heading = WORKLOADS)]
    cpufreq: Option<String>,
    /// The load signal that it reads [default: pelt]
    #[arg(long, value_name = "SIGNAL", hide_short_help = true, help_heading = WORKLOADS)]
    signal: Option<String>,
    /// Machines to replay on [default: that of each recording]
    ///
    /// Platforms, platform files or sysfs dumps. Workloads are simulated on each, on pixel6 where none is named.
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', help_heading = MACHINE)]
    platform: Vec<String>,
    /// The machine that was recorded, of recordings that lack it
    #[arg(long, value_name = "PLATFORM", hide_short_help = true, help_heading = MACHINE)]
    recorded_on: Option<String>,
    /// Replay all CPUs as some of this cluster
    #[arg(long, value_name = "NAME", hide_short_help = true, help_heading = MACHINE)]
    cluster: Option<String>,
    /// Replay as if the kernel's tick had N Hz [default: as recorded]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(HZ), hide_short_help = true, help_heading = MACHINE)]
    hz: Option<u32>,
    /// A kernel tree, whose governors may be named
    #[arg(long = "kernel-tree", value_name = "DIR", hide_short_help = true, help_heading = MACHINE)]
    trees: Vec<PathBuf>,
    /// Seed of what is drawn, and of governors [default: 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

/// The command's options for the whole result: of a part, or of nothing, there is none.
const WHOLE: [&str; 3] = ["report", "plot", "output"];

/// Ticks per second, as Linux can have them.
const HZ: std::ops::RangeInclusive<i64> =
    *idlewise_model::HZ.start() as i64..=*idlewise_model::HZ.end() as i64;

impl SweepArgs {
    /// What they ask for.
    ///
    /// # Errors
    /// [`CommandError`] with the position of an empty item of `--governor`, or the line at fault of the plan.
    pub fn request(&self) -> Result<(SweepRequest, Keeping), CommandError> {
        let plan =
            self.plan.as_deref().map(SweepRequest::read).transpose()?.unwrap_or_else(SweepRequest::default);
        let governors = self.governor.as_ref().map(|list| split_governors("--governor", list)).transpose()?;
        let request = SweepRequest {
            governors: governors.unwrap_or(plan.governors),
            baseline: self.baseline.clone().or(plan.baseline),
            recordings: given(&self.recordings, plan.recordings),
            workloads: given(&self.workload, plan.workloads),
            seeds: self.seeds.clone().or(plan.seeds),
            duration_ns: self.seconds.or(plan.duration_ns),
            cpufreq: self.cpufreq.clone().or(plan.cpufreq),
            signal: self.signal.clone().or(plan.signal),
            platforms: given(&self.platform, plan.platforms),
            recorded_on: self.recorded_on.clone().or(plan.recorded_on),
            cluster: self.cluster.clone().or(plan.cluster),
            hz: self.hz.or(plan.hz),
            kernel_trees: self.trees.clone(),
            sample: self.sample.or(plan.sample),
            method: self.method.unwrap_or(plan.method),
            seed: self.seed.unwrap_or(plan.seed),
            front: given(&self.front, plan.front),
        };
        if request.recordings.is_empty() && request.workloads.is_empty() {
            return Err(CommandError::not_given(
                "RECORDING",
                "no recording and no workload given, neither here nor in the plan",
            ));
        }
        Ok((request, Keeping { to: self.to.clone(), shard: self.shard, dry_run: self.dry_run }))
    }
}

/// Simulated time in ns.
fn simulated_ns(text: &str) -> Result<u64, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected seconds, such as 2 or 0.5".to_owned())?;
    bounds::seconds(seconds)
}

/// What options give, or else the plan.
fn given<T: Clone>(options: &[T], plan: Vec<T>) -> Vec<T> {
    if options.is_empty() { plan } else { options.to_vec() }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((i, n)) if 1 <= i && i <= n => Ok(Self { i, n }),
            _ => Err("expected I/N, part I of N from 1, such as 3/8".to_owned()),
        }
    }
}
