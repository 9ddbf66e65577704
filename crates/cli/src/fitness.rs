// SPDX-License-Identifier: GPL-2.0-only
use clap::Args;
use idlewise_findings as view;
use idlewise_fitness::{FitnessArgs, fitness};
use idlewise_page as pages;

use crate::args::{OutputArgs, PageArgs};
use crate::output::{Done, Progress, deliver};

#[derive(Debug, Args)]
#[command(after_help = idlewise_manual::examples::FITNESS)]
pub(crate) struct FitnessCommandArgs {
    #[command(flatten)]
    what: FitnessArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(a: &FitnessCommandArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    let progress = Progress::new("checking");
    let result = fitness(&a.what.request(), &|what, done, of| progress.step(what, done, of))?;
    drop(progress);
    deliver(&a.output, &view::fitness(&result), &result)?;
    a.page.write_of(&result, || view::fitness(&result), |of| pages::fitness(&result, of))?;
    Ok(result.passes())
}
