// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use idlewise_machine::diff::{DiffRequest, Meaning, diff};
use idlewise_page as pages;
use idlewise_platform::{CpuListError, parse_cpu_list};
use idlewise_recording::placement::Per;
use idlewise_view as view;

use crate::args::{OutputArgs, PageArgs, PerArg, PerChoice, RecordingArgs};
use crate::output::{Done, Progress, deliver};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArgs {
    /// The earlier snapshot of counters, or the first run
    ///
    /// Or a file that holds both snapshots.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The later snapshot, or the run to compare with
    #[arg(value_name = "AFTER")]
    after: Option<PathBuf>,
    /// How to read the files [default: detected and reported]
    #[arg(long = "as", value_enum, value_name = "MEANING")]
    meaning: Option<MeaningArg>,
    /// The CPUs of a file that names none, in the file's order: 0-3,8
    #[arg(long, value_name = "LIST", value_parser = cpu_list)]
    cpus: Option<CpuList>,
    /// Break the result down
    ///
    /// By CPU, by cluster only, or by state only.
    #[arg(long, value_enum)]
    per: Option<PerArg>,
    #[command(flatten)]
    recording: RecordingArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum MeaningArg {
    /// Two snapshots of one machine: show what happened between them
    #[value(alias = "looks")]
    Snapshots,
    /// Two runs: show how the second differs from the first
    Runs,
}

const EXAMPLES: &str = "\
What did the machine do during a load?
  grep -r . /sys/devices/system/cpu/cpu*/cpuidle > old.txt
  ... the load ...
  grep -r . /sys/devices/system/cpu/cpu*/cpuidle > new.txt
  idlewise diff old.txt new.txt
Bare values of CPU 5, as `cat cpu5/cpuidle/state*/*` prints them (7 to 12 for each state):
  idlewise diff old.txt new.txt --cpus 5
One file with both snapshots; two such files, which are compared as two runs:
  idlewise diff run1.txt
  idlewise diff menu.txt teo.txt
Counters since boot under two kernels:
  idlewise diff linux-6.6.txt linux-6.12.txt --as runs
Compare two recordings by their idle periods:
  idlewise diff menu.dat teo.dat --recorded-on kvm-guest
As Markdown, for an issue (--format csv for a spreadsheet, json for a program):
  idlewise diff old.txt new.txt --format markdown

A snapshot is what `grep . -r` prints, `grep -n`, `head` or `tail` of several files, `cpupower idle-info`, or the bare \
values of `cat`; quoted in a mail or not. Logs of `turbostat`, `cpupower monitor` and `powertop --csv` hold runs. Files of \
different machines, kernels, boots or idle states are two runs. Text is at most 78 columns wide.";

/// CPU numbers of an argument.
#[derive(Clone, Debug)]
struct CpuList(Vec<u32>);

fn cpu_list(text: &str) -> Result<CpuList, String> {
    let cpus = parse_cpu_list(text).map_err(|e| match e {
        CpuListError::NoList(_) => "expected CPUs, such as 0-3,8".to_owned(),
        e => e.to_string(),
    })?;
    let mut known = BTreeSet::new();
    match cpus.iter().find(|cpu| !known.insert(**cpu)) {
        Some(cpu) => Err(format!("CPU {cpu} is named twice")),
        None => Ok(CpuList(cpus)),
    }
}

pub(crate) fn run(a: DiffArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    let PerChoice(per) = a.per.into();
    let request = DiffRequest {
        recording: a.recording.options(),
        before: a.before,
        after: a.after,
        meaning: a.meaning.map(|m| match m {
            MeaningArg::Snapshots => Meaning::Looks,
            MeaningArg::Runs => Meaning::Runs,
        }),
        cpus: a.cpus.map(|list| list.0).unwrap_or_default(),
    };
    let report = {
        let _progress = Progress::new("reading");
        diff(&request)?
    };
    let shown = deliver(&a.output, &view::diff(&report, per), &report)?;
    a.page.write_of(&report, || view::diff(&report, Per::All), |of| pages::diff(&report, of))?;
    Ok(shown)
}
