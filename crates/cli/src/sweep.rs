// SPDX-License-Identifier: GPL-2.0-only
use clap::Args;
use idlewise_findings as view;
use idlewise_manual::examples;
use idlewise_page as pages;
use idlewise_sweep::{CaseLeftOut, SweepArgs, SweepListener, Swept, sweep};

use crate::args::{DetailsArgs, OutputArgs, PageArgs};
use crate::output::{Done, Progress, deliver_of, none_failed, say_line, warn};

#[derive(Debug, Args)]
#[command(after_help = examples::SWEEP)]
pub(crate) struct SweepCommandArgs {
    #[command(flatten)]
    what: SweepArgs,
    #[command(flatten)]
    all: DetailsArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(a: &SweepCommandArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    let (request, keeping) = a.what.request()?;
    let swept = {
        let progress = Progress::new("reading");
        let listener = SweepListener {
            progress: &|what, done, of| progress.step(what, done, of),
            estimated: &|estimate| warn(&view::sweep_estimate(estimate)),
            warned: &|why| warn(why),
        };
        sweep(&request, &keeping, &listener)?
    };
    match swept {
        Swept::All(report) => {
            let hashes = pages::sweep_hashes(&report);
            deliver_of(&hashes, &a.output, &view::sweep(&report, a.all.details), &report)?;
            a.page.write_of(&report, || view::sweep_page(&report), |of| pages::sweep(&report, of))?;
            all_read(&report.left_out)
        }
        Swept::Part { runs, ran, left_out } => {
            say_line(&format!("{runs} runs, {ran} of them now; the same command without --shard shows all"))?;
            all_read(&left_out)
        }
        Swept::Nothing(estimate) => say_line(&view::sweep_estimate(&estimate)).map(|()| true),
    }
}

/// A recording that was named and could not be read, or vanished or changed meanwhile, takes no other's result away, but it is not done.
fn all_read(left_out: &[CaseLeftOut]) -> Done {
    none_failed(&left_out.iter().filter(|l| l.is_missed()).map(|l| l.why.as_str()).collect::<Vec<_>>())
}
