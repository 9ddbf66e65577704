// SPDX-License-Identifier: GPL-2.0-only
use regex_lite::Regex;

use super::Benchmark;
use super::wakeups::METRICS;
use idlewise_live::{LiveError, load};

/// A number that a benchmark gives.
#[derive(Clone, Debug)]
pub(super) struct Metric {
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) more_is_better: bool,
    /// What finds it in the output; nothing for the run time.
    pattern: Option<Regex>,
}

/// The name of the metric that every command has.
pub(super) const TIME: &str = "time";

/// A meter's name among the metrics.
pub(super) fn meter_name(source: &str, name: &str) -> String {
    format!("{source} {name}")
}

impl Metric {
    /// The metrics of `benchmark`: its run time and those of `given` (`NAME=REGEX`, `NAME:higher=REGEX`), or what a load
    /// of ours measures.
    pub(super) fn all(benchmark: &Benchmark, given: &[String]) -> Result<Vec<Self>, LiveError> {
        if let Some(load) = &benchmark.load {
            return load::find(load)?
                .results
                .iter()
                .map(|(name, unit, more)| {
                    let pattern = compile(&format!("(?m)^{name} ([0-9.]+)"))?;
                    let (name, unit) = ((*name).to_owned(), (*unit).to_owned());
                    Ok(Self { name, unit, more_is_better: *more, pattern: Some(pattern) })
                })
                .collect();
        }
        let time = Self { name: TIME.to_owned(), unit: "s".to_owned(), more_is_better: false, pattern: None };
        let mut out = vec![time];
        for text in given {
            let metric = Self::parse(text)?;
            if out.iter().any(|m| m.name == metric.name)
                || METRICS.iter().any(|(name, _)| *name == metric.name)
            {
                return Err(LiveError::argument(format!("--metric {text}"), "the name is used already"));
            }
            out.push(metric);
        }
        Ok(out)
    }

    fn parse(text: &str) -> Result<Self, LiveError> {
        let wrong = |why: &str| LiveError::argument(format!("--metric {text}"), why);
        let (head, pattern) = text
            .split_once('=')
            .ok_or_else(|| wrong("expected NAME=REGEX, or NAME:higher=REGEX where more is better"))?;
        let (name, more_is_better) = match head.rsplit_once(':') {
            None => (head, false),
            Some((name, "higher")) => (name, true),
            Some((name, "lower")) => (name, false),
            Some((_, what)) => {
                return Err(wrong(&format!("`{what}`: expected higher or lower")));
            }
        };
        let pattern = compile(pattern)?;
        if name.is_empty() || pattern.captures_len() != 2 {
            return Err(wrong(
                "expected a name and a pattern with one group around the number, as 'time=Time: ([0-9.]+)'",
            ));
        }
        let (name, unit) = (name.to_owned(), String::new());
        Ok(Self { name, unit, more_is_better, pattern: Some(pattern) })
    }

    /// What finds it in what the benchmark printed, where the last match counts.
    pub(super) fn pattern(&self) -> Option<&Regex> {
        self.pattern.as_ref()
    }

    /// Its value of a run that took `seconds` and printed what its pattern `found`.
    pub(super) fn value(&self, found: Option<&str>, seconds: f64) -> Result<f64, LiveError> {
        let Some(pattern) = &self.pattern else { return Ok(seconds) };
        let number = found.and_then(|m| m.replace(',', "").parse().ok());
        number.filter(|v: &f64| v.is_finite()).ok_or_else(|| {
            let why = format!("the command printed no number that `{pattern}` finds ({})", self.name);
            LiveError::Command { why }
        })
    }
}

fn compile(pattern: &str) -> Result<Regex, LiveError> {
    Regex::new(pattern).map_err(|e| LiveError::argument(format!("`{pattern}`"), e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_what_commands_print() {
        let m = Metric::parse("ops:higher=([0-9,]+) ops/sec").unwrap();
        assert!(m.more_is_better && m.name == "ops");
        let find = |text: &str| m.pattern().unwrap().captures_iter(text).last().map(|c| c[1].to_owned());
        let found = find("  1 ops/sec\n 1,204,117 ops/sec\n");
        assert_eq!(m.value(found.as_deref(), 1.0).unwrap(), 1_204_117.0);
        assert!(m.value(None, 1.0).unwrap_err().to_string().contains("ops"));
    }

    #[test]
    fn metrics_that_mean_nothing_are_refused() {
        for text in ["ops", "ops=[", "ops=no group", "ops=(a)(b)", "=([0-9]+)", "ops:more=([0-9]+)"] {
            assert!(Metric::parse(text).is_err(), "{text}");
        }
    }
}
