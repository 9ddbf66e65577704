// SPDX-License-Identifier: GPL-2.0-only
use std::time::Duration;

use clap::Args;
use idlewise_live::load::{LoadRequest, run as play};

use crate::output::{Done, say};

/// A load of `idlewise ab --load`, as the process that is measured.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Name of the load
    #[arg(value_name = "NAME")]
    name: String,
    /// How long it runs
    #[arg(long, value_name = "N", default_value_t = 3)]
    seconds: u32,
    /// Of what is random in it
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

pub(crate) fn run(a: &LoadArgs) -> Done {
    let request = LoadRequest {
        name: a.name.clone(),
        duration: Duration::from_secs(u64::from(a.seconds)),
        seed: a.seed,
        folder: std::env::temp_dir(),
    };
    say(&play(&request)?)?;
    Ok(true)
}
