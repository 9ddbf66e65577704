// SPDX-License-Identifier: GPL-2.0-only
//! What a simulation may be asked for, whoever asks: options, an experiment's set-up, a result that is asked again.

use std::ops::RangeInclusive;

use idlewise_workload::MAX_TIME_NS;

use super::SimulateRequest;
use idlewise_recording::CommandError;

/// CPUs, where a platform leaves it open.
pub const CPUS: RangeInclusive<usize> = 1..=1024;
/// Runs of each combination.
pub(crate) const REPEAT: RangeInclusive<u64> = 1..=10_000;
/// Runs of all combinations together.
const RUNS: u64 = 1_000_000;
/// What a battery supplies besides, mW.
const BASE_MW: RangeInclusive<u64> = 0..=1_000_000;

/// Whether `value` is in `range`.
///
/// # Errors
/// With both.
pub fn within<T: PartialOrd + std::fmt::Display>(value: T, range: &RangeInclusive<T>) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("{value}; it must be {} to {}", range.start(), range.end()))
}

/// Whether `seconds` can be simulated, and how many ns they are.
///
/// # Errors
/// With the most that can.
pub fn seconds(seconds: f64) -> Result<u64, String> {
    let most = MAX_TIME_NS as f64 / 1e9;
    if seconds > 0.0 && seconds <= most {
        return Ok((seconds * 1e9) as u64);
    }
    Err(format!("{seconds} s; it must be more than 0, and {most} at most"))
}

/// Whether the numbers of `request` make sense.
pub(super) fn check(request: &SimulateRequest) -> Result<(), CommandError> {
    let of = |option| move |why: String| CommandError::argument(option, option, why);
    if request.duration_ns == Some(0) {
        return Err(of("--seconds")("a run needs a length above 0".to_owned()));
    }
    let most_s = MAX_TIME_NS / 1_000_000_000;
    if let Some(ns) = request.duration_ns.filter(|ns| *ns > MAX_TIME_NS) {
        return Err(of("--seconds")(format!("{} s; {most_s} are the most", ns / 1_000_000_000)));
    }
    request.cpus.map_or(Ok(()), |n| within(n, &CPUS)).map_err(of("--cpus"))?;
    within(request.repeat, &REPEAT).map_err(of("--repeat"))?;
    if request.seed.checked_add(request.repeat).is_none() {
        let why =
            format!("{}; the seeds of {} runs must be numbers of 64 bits", request.seed, request.repeat);
        return Err(of("--seed")(why));
    }
    request.base_mw.map_or(Ok(()), |mw| within(mw, &BASE_MW)).map_err(of("--base-mw"))?;
    let lists = [
        (request.governors.len(), "governor", "--governor"),
        (request.cpufreq.len(), "frequency governor", "--cpufreq"),
        (request.signals.len(), "signal", "--signal"),
    ];
    if let Some((_, what, option)) = lists.iter().find(|(n, ..)| *n == 0) {
        let why = format!("no {what} given: name one or more with {option}");
        return Err(CommandError::not_given(option, why));
    }
    runs(request, 1)
}

/// Whether all runs of `request` together are not too many, with so many power limits.
pub(super) fn runs(request: &SimulateRequest, limits: usize) -> Result<(), CommandError> {
    let lists = [request.governors.len(), request.cpufreq.len(), request.signals.len(), limits];
    let runs = lists.iter().fold(request.repeat, |n, len| n.saturating_mul(*len as u64));
    if runs > RUNS {
        let why = format!(
            "{runs} runs were requested; at most {RUNS} are allowed: name fewer governors, signals or runs \
             of each"
        );
        return Err(CommandError::conflict(&["--repeat", "--governor", "--cpufreq", "--signal"], why));
    }
    Ok(())
}
