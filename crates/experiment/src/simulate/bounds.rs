// SPDX-License-Identifier: GPL-2.0-only
//! What a simulation may be asked for, whoever asks: options, an experiment's set-up, a result that is asked again.

use std::ops::RangeInclusive;

use idlewise_workload::MAX_TIME_NS;

use super::SimulateRequest;
use idlewise_recording::CommandError;

/// CPUs, where a platform leaves it open.
pub(crate) const CPUS: RangeInclusive<usize> = 1..=1024;
/// Runs of each combination.
pub(crate) const REPEAT: RangeInclusive<u64> = 1..=10_000;
/// Runs of all combinations together.
const RUNS: u64 = 1_000_000;
/// What a battery supplies besides, mW.
const BASE_MW: RangeInclusive<u64> = 0..=1_000_000;

/// Whether `value` is in `range`; `what` says whose value, and how it is asked for.
///
/// # Errors
/// With both, and the range.
pub(crate) fn within<T: PartialOrd + std::fmt::Display>(
    what: &str,
    value: T,
    range: &RangeInclusive<T>,
) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("{what}: {value}; it must be {} to {}", range.start(), range.end()))
}

/// Whether `seconds` can be simulated, and how many ns they are.
pub(crate) fn seconds(what: &str, seconds: f64) -> Result<u64, String> {
    let most = MAX_TIME_NS as f64 / 1e9;
    if seconds > 0.0 && seconds <= most {
        return Ok((seconds * 1e9) as u64);
    }
    Err(format!("{what}: {seconds} s; it must be more than 0, and {most} at most"))
}

/// Whether the numbers of `request` make sense.
pub(super) fn check(request: &SimulateRequest) -> Result<(), CommandError> {
    let wrong = |why: String| CommandError::Request(why);
    if request.duration_ns == Some(0) {
        return Err(wrong("--seconds: a run needs a length above 0".to_owned()));
    }
    let most_s = MAX_TIME_NS / 1_000_000_000;
    if let Some(ns) = request.duration_ns.filter(|ns| *ns > MAX_TIME_NS) {
        return Err(wrong(format!("--seconds: {} s; {most_s} are the most", ns / 1_000_000_000)));
    }
    request.cpus.map_or(Ok(()), |n| within("--cpus", n, &CPUS)).map_err(wrong)?;
    within("--repeat", request.repeat, &REPEAT).map_err(wrong)?;
    if request.seed.checked_add(request.repeat).is_none() {
        return Err(wrong(format!(
            "--seed: {}; the seeds of {} runs must be numbers of 64 bits",
            request.seed, request.repeat
        )));
    }
    request.base_mw.map_or(Ok(()), |mw| within("--base-mw", mw, &BASE_MW)).map_err(wrong)?;
    let lists = [
        (request.governors.len(), "governor", "--governor"),
        (request.cpufreq.len(), "frequency governor", "--cpufreq"),
        (request.signals.len(), "signal", "--signal"),
    ];
    if let Some((_, what, option)) = lists.iter().find(|(n, ..)| *n == 0) {
        return Err(wrong(format!("no {what} given: name one or more with {option}")));
    }
    let runs = lists.iter().fold(request.repeat, |n, (len, ..)| n.saturating_mul(*len as u64));
    if runs > RUNS {
        return Err(wrong(format!(
            "{runs} runs were requested; at most {RUNS} are allowed: name fewer governors, signals or runs \
             of each"
        )));
    }
    Ok(())
}
