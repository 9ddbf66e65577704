// SPDX-License-Identifier: GPL-2.0-only
//! Changes with their intervals, for tables and sentences.

use idlewise_report::UNKNOWN;
use idlewise_review::{Effect, Shown};

/// What stands where nothing is shown.
pub(crate) const NOTHING: &str = "~";

/// So many of something.
pub(crate) fn counted(n: usize, one: &str, several: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { several })
}

/// A number with its sign, and no more decimals than it needs.
pub(crate) fn signed(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:+.0}"),
        v if v >= 0.95 => format!("{value:+.1}"),
        v if v > 0.0 && v < 0.005 => format!("{}<0.01", if value < 0.0 { '-' } else { '+' }),
        0.0 => "0".to_owned(),
        _ => format!("{value:+.2}"),
    }
}

/// A change with that end of its interval that is nearer to 0: `-2.1% <-1.3`, `+9.4% >1.2`.
pub(crate) fn at_least(mean: f64, unit: &str, low: f64, high: f64) -> String {
    // The end lies on the side of the mean.
    let (sign, end) = if mean < 0.0 { ('<', high) } else { ('>', low) };
    let end = if end.abs() < 0.005 { "0".to_owned() } else { signed(end) };
    format!("{}{unit} {sign}{}", signed(mean), end.trim_start_matches('+'))
}

/// A change for a table: `-2.1% <-1.3` with the end of its interval, `~` where nothing is shown, `-2.1% ?` without an interval.
pub(crate) fn cell(e: &Effect) -> String {
    let Some(mean) = e.mean else { return UNKNOWN.to_owned() };
    match (e.shown, e.interval) {
        (Shown::Same, _) => "same".to_owned(),
        (Shown::Nothing, _) => NOTHING.to_owned(),
        (_, Some(i)) => at_least(mean, e.unit, i.low, i.high),
        (_, None) => format!("{}{} ?", signed(mean), e.unit),
    }
}

/// The mean of some of the recordings: `-2.1%`, with ` ~` where nothing is shown, ` ?` without an interval.
pub(crate) fn mean(e: &Effect) -> String {
    let Some(mean) = e.mean else { return UNKNOWN.to_owned() };
    let mark = match e.shown {
        Shown::Same => return "same".to_owned(),
        Shown::Nothing => " ~",
        Shown::NoInterval => " ?",
        Shown::Less | Shown::More => "",
    };
    format!("{}{}{mark}", signed(mean), e.unit)
}

/// The middle of the recordings.
pub(crate) fn middle(e: &Effect) -> String {
    e.median.map_or_else(|| UNKNOWN.to_owned(), |median| format!("{}{}", signed(median), e.unit))
}

/// In how many recordings it fell, stayed the same, rose: `61:13:8`.
pub(crate) fn counts(e: &Effect) -> String {
    format!("{}:{}:{}", e.fell, e.same, e.rose)
}

/// What measures are called in sentences.
pub(crate) fn name(metric: &str) -> &str {
    match metric {
        "latency_mean" => "latency",
        "latency_p99" => "p99",
        "too_deep" => "too deep",
        "too_shallow" => "too shallow",
        other => other,
    }
}

/// A change in words: `energy -2.1 % (-2.9 to -1.3), median -0.40, 61:13:8`, `latency ~ (not worse by 1 %: shown)`.
pub(crate) fn words(e: &Effect) -> String {
    let called = name(e.metric);
    let unit = if e.unit == "pp" { "pp" } else { " %" };
    let margin = if e.unit == "pp" { "1pp" } else { "1 %" };
    let not_worse = match (e.not_worse, e.one_sided) {
        (Some(true), Some(end)) => format!("; not worse by {margin}: shown, one-sided {}", signed(end)),
        (Some(_), Some(end)) => format!("; not worse by {margin}: not shown, one-sided {}", signed(end)),
        _ => String::new(),
    };
    let Some(mean) = e.mean else { return format!("{called} {UNKNOWN}") };
    let recordings = match e.median {
        Some(median) if e.recordings > 1 => format!(", median {}, {}", signed(median), counts(e)),
        _ => String::new(),
    };
    match (e.shown, e.interval) {
        (Shown::Same, _) => format!("{called} the same"),
        (Shown::Nothing, Some(i)) => {
            format!(
                "{called} {NOTHING} ({} to {}{unit}{not_worse}){recordings}",
                signed(i.low),
                signed(i.high)
            )
        }
        (_, Some(i)) => {
            format!("{called} {}{unit} ({} to {}){recordings}", signed(mean), signed(i.low), signed(i.high))
        }
        (_, None) => format!("{called} {}{unit} ?{recordings}", signed(mean)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_as_many_decimals_as_they_need() {
        let shown = [-120.4, -3.04, 0.96, 0.3, -0.001, 0.0].map(signed);
        assert_eq!(shown, ["-120", "-3.0", "+1.0", "+0.30", "-<0.01", "0"]);
        assert_eq!(at_least(-2.1, "%", -2.9, -1.3), "-2.1% <-1.3");
        assert_eq!(at_least(9.4, "%", 1.2, 22.3), "+9.4% >1.2");
    }
}
