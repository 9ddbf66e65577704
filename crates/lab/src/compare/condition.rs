// SPDX-License-Identifier: GPL-2.0-only
//! `--fail-if`: a limit that a comparison must not cross, and whether it did.

use std::str::FromStr;

use idlewise_report::{duration, percent, signed_duration, signed_percent, signed_points};
use serde::Serialize;

use super::metric::{Metric, MetricChange, Unit};
use crate::LabError;

/// `METRIC OP VALUE`: `too_deep > +1pp`, `latency_p99 > 200us`. A value with a sign is a change from A to B, one without
/// is B's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    metric: Metric,
    op: Op,
    of: Of,
    /// Per cent, percentage points, ns or a number of things.
    value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Above,
    AtLeast,
    Below,
    AtMost,
}

/// What the value stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// B's own value.
    Own,
    /// B less A.
    Change,
    /// B less A, % of A.
    ChangePct,
}

/// A condition, held against what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The condition as asked.
    pub expression: String,
    /// It holds somewhere.
    pub failed: bool,
    /// Where it was looked at: each trace, and all together where there are several.
    pub measured: Vec<Measured>,
}

/// What a condition met in one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Name of the trace; "all traces".
    pub place: String,
    /// What the condition's value is held against; none where a change in per cent starts from 0.
    pub value: Option<f64>,
    /// The same in words.
    pub words: String,
    /// The condition holds.
    pub holds: bool,
}

impl Condition {
    /// The condition as asked.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn metric(&self) -> Metric {
        self.metric
    }

    /// Holds the condition against `change` of its metric.
    pub(crate) fn measure(&self, place: &str, change: &MetricChange) -> Measured {
        let value = match self.of {
            Of::Own => Some(change.b),
            Of::Change => Some(change.change),
            Of::ChangePct => change.change_pct,
        };
        // From 0 to something is more than any per cent.
        let measured = value.unwrap_or(f64::INFINITY);
        let holds = match self.op {
            Op::Above => measured > self.value,
            Op::AtLeast => measured >= self.value,
            Op::Below => measured < self.value,
            Op::AtMost => measured <= self.value,
        };
        Measured { place: place.to_owned(), value, words: self.words(change), holds }
    }

    fn words(&self, change: &MetricChange) -> String {
        let own = |v: f64| match self.metric.unit() {
            Unit::Share => format!("{} %", percent(v)),
            Unit::Time => duration(v),
            unit => unit.shown(v),
        };
        let difference = match (self.of, self.metric.unit()) {
            (Of::Own, _) => return own(change.b),
            (Of::ChangePct, _) => change.change_pct.map_or_else(|| "more".to_owned(), signed_percent),
            (Of::Change, Unit::Share) => signed_points(change.change),
            (Of::Change, Unit::Time) => signed_duration(change.change),
            (Of::Change, _) => format!("{:+.0}", change.change),
        };
        format!("{difference} ({} to {})", own(change.a), own(change.b))
    }
}

impl FromStr for Condition {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let mut scanner = Scanner { text, at: 0 };
        let metric = scanner.metric()?;
        let op = scanner.op(metric)?;
        let (of, value) = scanner.value(metric)?;
        scanner.end(metric)?;
        Ok(Self { text: text.trim().to_owned(), metric, op, of, value })
    }
}

struct Scanner<'t> {
    text: &'t str,
    /// Byte offset of what is not read yet.
    at: usize,
}

impl<'t> Scanner<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Passes over blanks, then takes the characters that `of` holds for; tells where they began.
    fn take(&mut self, of: impl Fn(char) -> bool) -> (usize, &'t str) {
        self.at = self.text.len() - self.rest().trim_start().len();
        let (from, rest) = (self.at, self.rest());
        let taken = rest.split(|c| !of(c)).next().unwrap_or_default();
        self.at += taken.len();
        (from, taken)
    }

    fn metric(&mut self) -> Result<Metric, LabError> {
        let (from, name) = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
        Metric::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Metric::ALL.iter().map(|m| m.name()).collect();
            self.wrong(from, &format!("one of {}", names.join(", ")), Metric::TooDeep)
        })
    }

    fn op(&mut self, metric: Metric) -> Result<Op, LabError> {
        let (from, op) = self.take(|c| matches!(c, '<' | '>' | '=' | '!'));
        Ok(match op {
            ">" => Op::Above,
            ">=" => Op::AtLeast,
            "<" => Op::Below,
            "<=" => Op::AtMost,
            _ => return Err(self.wrong(from, "one of > >= < <=", metric)),
        })
    }

    fn value(&mut self, metric: Metric) -> Result<(Of, f64), LabError> {
        let (from, sign) = self.take(|c| matches!(c, '+' | '-'));
        let (_, digits) = self.take(|c| c.is_ascii_digit() || c == '.');
        let number: Option<f64> = digits.parse().ok().filter(|v: &f64| v.is_finite());
        let (Some(number), "" | "+" | "-") = (number, sign) else {
            return Err(self.wrong(from, expects(metric), metric));
        };
        let (_, unit) = self.take(|c| c.is_ascii_alphabetic() || c == '%');
        let (of, scale) = meaning(metric, !sign.is_empty(), unit)
            .ok_or_else(|| self.wrong(from, expects(metric), metric))?;
        Ok((of, if sign == "-" { -number } else { number } * scale))
    }

    fn end(&mut self, metric: Metric) -> Result<(), LabError> {
        let (from, more) = self.take(|_| true);
        if more.is_empty() { Ok(()) } else { Err(self.wrong(from, "nothing more", metric)) }
    }

    fn wrong(&self, at: usize, expected: &str, metric: Metric) -> LabError {
        let position = self.text.get(..at).map_or(0, |before| before.chars().count()) + 1;
        LabError::Request(format!(
            "--fail-if {:?}, at character {position}: expected {expected}; for example `{}`",
            self.text,
            example(metric)
        ))
    }
}

/// What a value with or without sign in `unit` means for `metric`, and how many of the metric's own unit one is.
fn meaning(metric: Metric, signed: bool, unit: &str) -> Option<(Of, f64)> {
    let own_or_change = if signed { Of::Change } else { Of::Own };
    Some(match (metric.unit(), unit) {
        (Unit::Share, "%") if !signed => (Of::Own, 1.0),
        (Unit::Share, "pp") if signed && metric != Metric::Differ => (Of::Change, 1.0),
        (Unit::Time | Unit::Count | Unit::Energy, "%") if signed => (Of::ChangePct, 1.0),
        (Unit::Count, "") => (own_or_change, 1.0),
        (Unit::Time, "ns") => (own_or_change, 1.0),
        (Unit::Time, "us") => (own_or_change, 1e3),
        (Unit::Time, "ms") => (own_or_change, 1e6),
        _ => return None,
    })
}

fn expects(metric: Metric) -> &'static str {
    match metric.unit() {
        _ if metric == Metric::Differ => "a share of the waits without sign (5%)",
        Unit::Share => "a share (5%), or with sign a change in percentage points (+1pp)",
        Unit::Time => "a time in ns, us or ms (200us), or with sign a change (+10us, +2%)",
        Unit::Count => "a number (1000), or with sign a change (+100, +2%)",
        Unit::Energy => "a change in per cent, with its sign (+2%)",
    }
}

fn example(metric: Metric) -> String {
    let value = match metric.unit() {
        _ if metric == Metric::Differ => "5%",
        Unit::Share => "+1pp",
        Unit::Time => "+10us",
        Unit::Count | Unit::Energy => "+2%",
    };
    format!("{} > {value}", metric.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn holds(text: &str, a: f64, b: f64) -> (bool, String) {
        let condition: Condition = text.parse().unwrap();
        let measured = condition.measure("here", &MetricChange::new(condition.metric(), a, b));
        (measured.holds, measured.words)
    }

    #[test]
    fn a_sign_asks_for_the_change_and_none_for_the_value_of_b() {
        let cases = [
            ("too_deep > +1pp", 4.0, 5.5, true, "+1.50pp (4.00 % to 5.50 %)"),
            ("too_deep > 5%", 4.0, 5.5, true, "5.50 %"),
            ("too_deep>6%", 4.0, 5.5, false, "5.50 %"),
            ("  latency_p99 >=  200 us ", 0.0, 200_000.0, true, "200 us"),
            ("latency_p99 > +10us", 200_000.0, 209_000.0, false, "+9.00 us (200 us to 209 us)"),
            ("latency_mean > +2%", 1000.0, 1030.0, true, "+3.00% (1.00 us to 1.03 us)"),
            ("latency_mean > -5%", 1000.0, 930.0, false, "-7.00% (1.00 us to 930 ns)"),
            ("latency_mean > +1000%", 0.0, 1.0, true, "more (0 ns to 1.00 ns)"),
            ("latency_mean > +0%", 0.0, 0.0, false, "+0.00% (0 ns to 0 ns)"),
            ("energy <= -0.5%", 10.0, 9.0, true, "-10.00% (10.000 to 9.000)"),
            ("wakeups < 100", 0.0, 99.0, true, "99"),
            ("ticks > +100", 10.0, 120.0, true, "+110 (10 to 120)"),
            ("differ > 5%", 0.0, 4.0, false, "4.00 %"),
        ];
        for (text, a, b, expected, words) in cases {
            assert_eq!(holds(text, a, b), (expected, words.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_mistake_is_answered_with_its_place_and_an_example() {
        let cases = [
            ("", 1, "too_deep, too_shallow"),
            ("deep > 1%", 1, "too_deep"),
            ("too_deep", 9, "> >= < <="),
            ("too_deep == 5%", 10, "> >= < <="),
            ("too_deep >", 11, "+1pp"),
            ("too_deep > +5%", 12, "percentage points"),
            ("too_deep > 1pp", 12, "a share (5%)"),
            ("too_deep > --5%", 12, "too_deep > +1pp"),
            ("differ > +5pp", 10, "without sign"),
            ("latency_p99 > 200", 15, "ns, us or ms"),
            ("latency_p99 > 200s", 15, "ns, us or ms"),
            ("latency_p99 > 1.2.3us", 15, "200us"),
            ("energy > 5mJ", 10, "energy > +2%"),
            ("wakeups > 5%", 11, "a number"),
            ("too_deep > 5% or so", 15, "nothing more"),
            ("\u{b5}", 1, "one of"),
        ];
        for (text, position, words) in cases {
            let said = text.parse::<Condition>().unwrap_err().to_string();
            assert!(said.contains(&format!("at character {position}:")), "{text}: {said}");
            assert!(said.contains(words) && said.contains("for example"), "{text}: {said}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in ".*") {
            let _ = text.parse::<Condition>();
        }

        #[test]
        fn nearly_right_text_is_read_or_refused(
            metric in "too_deep|latency_p99|energy|differ|ticks",
            op in "[<>=!]{0,3}",
            value in "[-+]{0,2}[0-9.]{0,400}(us|pp|%|ms|\u{b5}s)?",
        ) {
            if let Ok(c) = format!("{metric}{op}{value}").parse::<Condition>() {
                prop_assert!(c.value.is_finite());
            }
        }
    }
}
