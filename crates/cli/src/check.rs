// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use idlewise_check::{CheckRequest, Property, SEQUENCES, check};
use idlewise_posting as posting;
use idlewise_recording::governors::find_one;

use crate::args::{KernelArgs, OutputArgs};
use crate::output::{Done, Progress, check_new, deliver, is_stdout, say_unless, write_new};

#[derive(Debug, Args)]
#[command(after_help = idlewise_manual::examples::CHECK)]
pub(crate) struct CheckArgs {
    /// The governor: one of ours, a C file, linux:6.12/teo
    ///
    /// With optional parameters.
    #[arg(value_name = "GOVERNOR")]
    pub(crate) governor: String,
    /// Check only these properties [default: all]
    ///
    /// crash, index, disabled, latency, polling, shallow, arithmetic, memory, other-cpu, uninitialised, repeatable,
    /// independent, cost. The guide has what each asks for.
    #[arg(short, long, value_name = "LIST", value_delimiter = ',', value_parser = properties(), hide_possible_values = true)]
    pub(crate) property: Vec<Property>,
    /// Draw new sequences for so many seconds
    ///
    /// Without it their number is fixed, and the same seed gives the same result.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) seconds: Option<u64>,
    /// Which sequences are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) kernels: KernelArgs,
    /// Write a patch with a KUnit test of the violations
    ///
    /// It adds a file next to the governor's in a kernel tree; the lines below the result say how to run it. - for standard
    /// output; an existing file is not overwritten.
    #[arg(long, value_name = "FILE")]
    pub(crate) kunit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Lists the names for completions.
fn properties() -> impl TypedValueParser<Value = Property> {
    PossibleValuesParser::new(Property::ALL.map(Property::name)).try_map(|name| name.parse::<Property>())
}

pub(crate) fn run(a: &CheckArgs) -> Done {
    a.output.check()?;
    if let Some(path) = &a.kunit {
        check_new(path, false)?;
    }
    let mut properties = a.property.clone();
    properties.sort();
    properties.dedup();
    if properties.is_empty() {
        properties = Property::ALL.to_vec();
    }
    let governor = find_one(&a.governor, &a.kernels.trees)?;
    let request = CheckRequest { governor, properties, seed: a.seed, sequences: SEQUENCES };
    #[expect(clippy::disallowed_methods, reason = "--seconds is about real time")]
    let start = Instant::now();
    let more = |_| a.seconds.is_some_and(|seconds| start.elapsed() < Duration::from_secs(seconds));
    let report = {
        let _progress = Progress::new("checking");
        check(&request, more).map_err(|e| e.to_string())?
    };
    deliver(&a.output, &posting::check(&report), &report)?;
    let say = |path: &Path, line: &str| say_unless(is_stdout(path) || !a.output.is_shown(), line);
    match (&a.kunit, &report.kunit) {
        (Some(path), Some(patch)) => {
            write_new(path, patch.as_bytes(), false)?;
            posting::kunit_written(path, is_stdout(path)).iter().try_for_each(|line| say(path, line))?;
        }
        (Some(path), None) => {
            let why = "no violation that a KUnit test can show: a choice on one CPU, or a fault of the code";
            say(path, &format!("{}: nothing is written: {why}", path.display()))?;
        }
        (None, _) => {}
    }
    Ok(!report.has_findings())
}
