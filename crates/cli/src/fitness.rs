// SPDX-License-Identifier: GPL-2.0-only
use clap::Args;
use idlewise_findings as view;
use idlewise_fitness::{FitnessArgs, fitness};

use crate::args::OutputArgs;
use crate::output::{Done, Progress, deliver};

#[derive(Debug, Args)]
#[command(after_help = idlewise_manual::examples::FITNESS)]
pub(crate) struct FitnessCommandArgs {
    #[command(flatten)]
    what: FitnessArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(crate) fn run(a: &FitnessCommandArgs) -> Done {
    a.output.check()?;
    let progress = Progress::new("checking");
    let result = fitness(&a.what.request(), &|what, done, of| progress.step(what, done, of))?;
    drop(progress);
    deliver(&a.output, &view::fitness(&result), &result)?;
    Ok(result.passes())
}
