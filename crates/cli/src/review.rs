// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use clap::Args;
use idlewise_check::SEQUENCES;
use idlewise_page as pages;
use idlewise_posting as posting;
use idlewise_review::{ReviewRequest, review};

use crate::args::{DetailsArgs, OutputArgs, PageArgs};
use crate::output::{Done, Progress, deliver_of, judged, warn_lines};

#[derive(Debug, Args)]
#[command(after_help = help())]
pub(crate) struct ReviewArgs {
    /// The series: mbox, patches, folder of them, A..B, or C files
    ///
    /// An mbox may be packed by gzip, and hold a cover letter and answers. A..B are commits of the repository --base. C files are
    /// versions of one governor.
    #[arg(value_name = "SERIES", required = true)]
    pub(crate) series: Vec<String>,
    /// What it is for: a kernel tree, 6.12, or a C file
    ///
    /// A number is a version of Debian's kernel sources, in /usr/src or where IDLEWISE_KERNEL_SOURCES names.
    #[arg(short, long, value_name = "TREE")]
    pub(crate) base: String,
    /// Recordings, and folders of them
    #[arg(short, long, value_name = "PATH", num_args = 1.., default_value = "corpus")]
    pub(crate) recordings: Vec<PathBuf>,
    /// Judge these governors [default: those that change]
    #[arg(short, long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) governor: Vec<String>,
    /// The machine to replay on [default: that of each recording]
    #[arg(short, long, value_name = "PLATFORM")]
    pub(crate) platform: Option<String>,
    /// The machine that was recorded, of recordings that lack it
    #[arg(long, value_name = "PLATFORM")]
    pub(crate) recorded_on: Option<String>,
    /// Simulate each workload that ships with idlewise so often, with other seeds
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) repeat: u64,
    /// Simulate only these of those workloads [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "no_simulation")]
    pub(crate) workload: Vec<String>,
    /// Check each version with so many random sequences
    ///
    /// On each of the machines that `idlewise check` has, which draws as many. Fewer take less time, and can miss a fault.
    #[arg(long, value_name = "N", default_value_t = SEQUENCES, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) sequences: u64,
    /// Do not simulate those workloads
    #[arg(long, conflicts_with = "repeat")]
    pub(crate) no_simulation: bool,
    /// Also boot every version in a real kernel; recordings go to DIR
    ///
    /// On a virtual machine with an RK3399's idle states, as `idlewise boot run` does: minutes, and a cross compiler. The base twice, so
    /// that a row shows what chance alone gives.
    #[arg(long, value_name = "DIR")]
    pub(crate) boot: Option<PathBuf>,
    /// Exit with status 1 if this holds; may be repeated
    ///
    /// After any patch, against the base.
    #[arg(long, value_name = "EXPR")]
    pub(crate) fail_if: Vec<String>,
    /// Seed of random numbers and of checked sequences
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Also write the result to this file; may be repeated
    ///
    /// In the form of its ending: .json, .md, .csv, .parquet, .arrow. An existing file is not overwritten.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) also: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) all: DetailsArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

fn help() -> String {
    format!("{}\n{}", idlewise_manual::examples::REVIEW, idlewise_review::condition_help())
}

pub(crate) fn run(a: &ReviewArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    let also: Vec<OutputArgs> =
        a.also.iter().map(|file| OutputArgs { format: None, output: Some(file.clone()) }).collect();
    also.iter().try_for_each(OutputArgs::check)?;
    let request = ReviewRequest {
        series: a.series.clone(),
        base: a.base.clone(),
        governors: a.governor.clone(),
        recordings: a.recordings.clone(),
        platform: a.platform.clone(),
        recorded_on: a.recorded_on.clone(),
        repeat: if a.no_simulation { 0 } else { a.repeat },
        workloads: a.workload.clone(),
        check_sequences: Some(a.sequences),
        boot: a.boot.clone(),
        fail_if: a.fail_if.clone(),
        seed: a.seed,
    };
    idlewise_host::files::remove_when_interrupted();
    let progress = Progress::new("reading");
    let report = review(&request, &|what, done, of| progress.step(what, done, of))?;
    drop(progress);
    for to in std::iter::once(&a.output).chain(&also) {
        let text = posting::review(&report, a.all.details, to.form());
        deliver_of(&pages::review_hashes(&report), to, &text, &report)?;
    }
    a.page.write_of(
        &report,
        || posting::review(&report, true, idlewise_report::Format::Mail),
        |of| pages::review(&report, of),
    )?;
    if !a.output.is_shown() {
        warn_lines(&idlewise_view::checks(&report.checks));
    }
    judged(report.failed(), report.not_judged())
}
