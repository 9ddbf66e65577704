// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use clap::Args;
use idlewise_page as pages;
use idlewise_review::{BisectRequest, bisect};

use crate::args::{DetailsArgs, OutputArgs};
use crate::output::{Done, Progress, deliver_of, judged};

#[derive(Debug, Args)]
#[command(after_help = help())]
pub(crate) struct BisectArgs {
    /// The version without it: a commit, or a governor's id
    #[arg(value_name = "GOOD")]
    pub(crate) good: String,
    /// The version with it
    #[arg(value_name = "BAD")]
    pub(crate) bad: String,
    /// Recordings, and folders of them
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) recordings: Vec<PathBuf>,
    /// What BAD meets and GOOD does not; changes are against GOOD
    #[arg(long, value_name = "EXPR")]
    pub(crate) fail_if: String,
    /// The git repository of a kernel whose commits are meant
    ///
    /// Without it, GOOD and BAD are versions that ship with idlewise.
    #[arg(long, value_name = "DIR")]
    pub(crate) kernel_tree: Option<PathBuf>,
    /// The governor [default: the one that the commits change]
    #[arg(short, long, value_name = "NAME", requires = "kernel_tree")]
    pub(crate) governor: Option<String>,
    /// The machine to replay on [default: that of each recording]
    #[arg(short, long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,
    /// The machine that was recorded, of recordings that lack it
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) recorded_on: Option<String>,
    /// Seed of the random numbers that a governor may ask for
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) all: DetailsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

fn help() -> String {
    let grammar = idlewise_study::condition::help();
    let status = "0 BAD does not meet EXPR, 1 the version is found, else 2: failure, or a version could not be judged.";
    format!("{}\n{grammar}\nExit status: {status}", idlewise_manual::examples::BISECT)
}

pub(crate) fn run(a: &BisectArgs) -> Done {
    a.output.check()?;
    let request = BisectRequest {
        good: a.good.clone(),
        bad: a.bad.clone(),
        kernel_tree: a.kernel_tree.clone(),
        governor: a.governor.clone(),
        recordings: a.recordings.clone(),
        platform: a.platform.clone(),
        recorded_on: a.recorded_on.clone(),
        fail_if: a.fail_if.clone(),
        seed: a.seed,
    };
    let report = {
        let progress = Progress::new("reading");
        bisect(&request, &|what, done, of| progress.step(what, done, of))?
    };
    let hashes = pages::bisect_hashes(&report);
    deliver_of(&hashes, &a.output, &idlewise_posting::bisect(&report, a.all.details), &report)?;
    judged(report.culprit.is_some(), report.not_judged())
}
