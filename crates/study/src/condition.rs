// SPDX-License-Identifier: GPL-2.0-only
//! `--fail-if`: a limit that a comparison must not cross, and whether it did. One grammar for all comparisons; which metrics
//! there are is for each to say.

use idlewise_model::Note;
use idlewise_report::{duration, percent, signed_duration, signed_percent, signed_points};
use idlewise_score::{Measure, Place, Unit};
use schemars::JsonSchema;
use serde::Serialize;

use idlewise_recording::CommandError;

/// `METRIC OP VALUE`: `too_deep > +1pp`, `latency_p99 > 200us`. A value with a sign is a change from A to B, one without
/// is B's own.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    text: String,
    /// Which of the metrics that it was read with.
    metric: usize,
    counting: Counting,
    op: Op,
    of: Of,
    /// Per cent, percentage points, ns or a number of things.
    value: f64,
}

/// What a metric is counted in, and so how values of it are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// A share, %.
    Share,
    /// A share of both sides together, which has no change.
    CommonShare,
    /// A time, ns.
    Time,
    /// A number of things.
    Number,
    /// Something whose own value says nothing.
    Relative,
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
    Own,
    Change,
    /// B less A, % of A.
    ChangePct,
}

/// A condition, compared with what was measured.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Check {
    /// The condition as asked.
    pub expression: String,
    pub failed: bool,
    /// What was assumed about the recordings by hand, and what it depends on therefore.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumes: Option<String>,
    /// What makes the recordings doubtful.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Note>,
    /// Where it was looked at: each trace, and all together where there are several; each benchmark under each arm.
    pub measured: Vec<Measured>,
}

/// What a condition met in one place.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Measured {
    /// Name of the trace; "all traces"; the benchmark and the arm.
    pub place: String,
    /// What the condition's value is compared with; none where it is not known, which fails the condition, or where a change
    /// in per cent starts from 0.
    pub value: Option<f64>,
    /// The same in words.
    pub words: String,
    pub holds: bool,
}

/// A metric of A and of B, in its [`Counting`].
pub struct ComparedMetric<'m> {
    pub a: f64,
    pub b: f64,
    pub change: f64,
    /// The same, % of A.
    pub change_pct: Option<f64>,
    /// A number of things in words.
    pub shown: &'m dyn Fn(f64) -> String,
}

/// The measures of a comparison on a recording that conditions may name, in the order of their names in messages.
pub fn measures() -> impl Iterator<Item = &'static Measure> {
    Measure::all_in(Place::Compared).chain(Measure::all_in(Place::Common))
}

/// Their names, with how conditions on them are written.
#[must_use]
pub fn vocabulary() -> Vec<(&'static str, Counting)> {
    measures().map(|m| (m.name, Counting::of(m))).collect()
}

const GRAMMAR: &str = "EXPR is METRIC OP VALUE. OP is one of > >= < <=. A VALUE with a sign is a change from A to B; without a sign it is B's own value.\n";

/// The help of `--fail-if` on these measures: what a condition is, and how values of each are written.
#[must_use]
pub fn help() -> String {
    let mut out = GRAMMAR.to_owned();
    let ways = [Counting::Share, Counting::Time, Counting::Relative, Counting::Number, Counting::CommonShare];
    for way in ways {
        let all = measures().filter(|m| Counting::of(m) == way);
        if way == Counting::CommonShare {
            all.for_each(|m| {
                out += &format!("  {}:\n      {}\n      ({})\n", m.name, values(way), m.meaning)
            });
            continue;
        }
        let names: Vec<&str> = all.map(|m| m.name).collect();
        out += &format!("  {}:\n      {}\n", names.join(", "), values(way));
    }
    out
}

impl Counting {
    fn of(measure: &Measure) -> Self {
        match measure.unit {
            Unit::Share if measure.is_in(Place::Common) => Self::CommonShare,
            Unit::Share => Self::Share,
            Unit::Time | Unit::Span => Self::Time,
            Unit::Count => Self::Number,
            Unit::Energy => Self::Relative,
        }
    }
}

impl Condition {
    /// Reads it; `metrics` are those that there are.
    pub fn read(text: &str, metrics: &[(&str, Counting)]) -> Result<Self, CommandError> {
        let mut scanner = Scanner { text, at: 0, metrics };
        let metric = scanner.metric()?;
        let counting = metrics.get(metric).map_or(Counting::Relative, |(_, c)| *c);
        let op = scanner.op(metric)?;
        let from = scanner.at;
        let (of, value) = scanner.value(metric, counting)?;
        scanner.end(metric)?;
        scanner.can_hold((metric, counting), from, (op, of, value))?;
        Ok(Self { text: text.trim().to_owned(), metric, counting, op, of, value })
    }

    /// Which of the metrics.
    pub fn metric(&self) -> usize {
        self.metric
    }

    /// Whether it is about a change from A to B.
    pub fn of_change(&self) -> bool {
        self.of != Of::Own
    }

    /// Holds it against `met` of its metric.
    pub fn measure(&self, place: &str, met: &ComparedMetric<'_>) -> Measured {
        let value = match self.of {
            Of::Own => Some(met.b),
            Of::Change => Some(met.change),
            Of::ChangePct => met.change_pct,
        };
        // From 0 to something is more than any per cent.
        let measured = value.unwrap_or(f64::INFINITY);
        // What nobody knows keeps no condition.
        let unknown = measured.is_nan() || self.of != Of::Own && met.change.is_nan();
        let value = value.filter(|_| !unknown);
        let holds = unknown
            || match self.op {
                Op::Above => measured > self.value,
                Op::AtLeast => measured >= self.value,
                Op::Below => measured < self.value,
                Op::AtMost => measured <= self.value,
            };
        Measured { place: place.to_owned(), value, words: self.words(met), holds }
    }

    /// Whether the condition holds for these values.
    pub fn check(&self, measured: Vec<Measured>) -> Check {
        let failed = measured.iter().any(|m| m.holds);
        Check { expression: self.text.clone(), failed, assumes: None, warnings: Vec::new(), measured }
    }

    fn words(&self, met: &ComparedMetric<'_>) -> String {
        let own = |v: f64| match self.counting {
            Counting::Share | Counting::CommonShare => format!("{} %", percent(v)),
            Counting::Time => duration(v),
            Counting::Number | Counting::Relative => (met.shown)(v),
        };
        let difference = match (self.of, self.counting) {
            (Of::Own, _) if met.b.is_nan() => return "not known".to_owned(),
            (Of::Own, _) => return own(met.b),
            _ if met.change.is_nan() => "not known".to_owned(),
            (Of::ChangePct, _) => met.change_pct.map_or_else(|| "more".to_owned(), signed_percent),
            (Of::Change, Counting::Share | Counting::CommonShare) => signed_points(met.change),
            (Of::Change, Counting::Time) => signed_duration(met.change),
            (Of::Change, _) => {
                let sign = if met.change < 0.0 { '-' } else { '+' };
                format!("{sign}{}", (met.shown)(met.change.abs()))
            }
        };
        format!("{difference} ({} to {})", own(met.a), own(met.b))
    }
}

struct Scanner<'t> {
    text: &'t str,
    /// Byte offset of what is not read yet.
    at: usize,
    metrics: &'t [(&'t str, Counting)],
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

    /// The longest name that stands here: names may hold blanks.
    fn metric(&mut self) -> Result<usize, CommandError> {
        let (from, _) = self.take(|_| false);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let here = |name: &str| self.rest().strip_prefix(name).is_some_and(|after| !after.starts_with(word));
        let found = (0..).zip(self.metrics).filter(|(_, (name, _))| here(name));
        match found.max_by_key(|(_, (name, _))| name.len()) {
            Some((metric, (name, _))) => {
                self.at += name.len();
                Ok(metric)
            }
            None => {
                let names: Vec<&str> = self.metrics.iter().map(|(name, _)| *name).collect();
                Err(self.wrong(from, &format!("one of {}", names.join(", ")), 0))
            }
        }
    }

    fn op(&mut self, metric: usize) -> Result<Op, CommandError> {
        let (from, op) = self.take(|c| matches!(c, '<' | '>' | '=' | '!'));
        Ok(match op {
            ">" => Op::Above,
            ">=" => Op::AtLeast,
            "<" => Op::Below,
            "<=" => Op::AtMost,
            _ => return Err(self.wrong(from, "one of > >= < <=", metric)),
        })
    }

    fn value(&mut self, metric: usize, counting: Counting) -> Result<(Of, f64), CommandError> {
        let (from, sign) = self.take(|c| matches!(c, '+' | '-'));
        let (_, digits) = self.take(|c| c.is_ascii_digit() || c == '.');
        let number: Option<f64> = digits.parse().ok().filter(|v: &f64| v.is_finite());
        let (Some(number), "" | "+" | "-") = (number, sign) else {
            return Err(self.wrong(from, expects(counting), metric));
        };
        let (_, unit) = self.take(|c| c.is_ascii_alphabetic() || c == '%');
        let (of, scale) = meaning(counting, !sign.is_empty(), unit)
            .ok_or_else(|| self.wrong(from, expects(counting), metric))?;
        Ok((of, if sign == "-" { -number } else { number } * scale))
    }

    fn end(&mut self, metric: usize) -> Result<(), CommandError> {
        let (from, more) = self.take(|_| true);
        if more.is_empty() { Ok(()) } else { Err(self.wrong(from, "nothing more", metric)) }
    }

    /// Refuses a value that the metric never has, and a limit that it cannot cross: such a condition says nothing.
    fn can_hold(
        &self,
        (metric, counting): (usize, Counting),
        from: usize,
        (op, of, value): (Op, Of, f64),
    ) -> Result<(), CommandError> {
        let share = matches!(counting, Counting::Share | Counting::CommonShare);
        let (least, most, range) = match of {
            Of::Own if share => (0.0, 100.0, "0% to 100%"),
            Of::Own if counting == Counting::Time => (0.0, f64::INFINITY, "0 or more"),
            Of::Change if share => (-100.0, 100.0, "-100pp to +100pp"),
            // Numbers that a benchmark prints may be negative.
            Of::ChangePct if counting != Counting::Number => (-100.0, f64::INFINITY, "-100% or more"),
            Of::Own | Of::Change | Of::ChangePct => return Ok(()),
        };
        let holds = match op {
            Op::Above => value < most,
            Op::AtLeast | Op::AtMost => true,
            Op::Below => value > least,
        };
        if (least..=most).contains(&value) && holds {
            return Ok(());
        }
        let blanks = self.text.get(from..).map_or(0, |rest| rest.len() - rest.trim_start().len());
        let expected = format!("a limit that it can cross: it is always {range}");
        Err(self.wrong(from + blanks, &expected, metric))
    }

    fn wrong(&self, at: usize, expected: &str, metric: usize) -> CommandError {
        let position = self.text.get(..at).map_or(0, |before| before.chars().count()) + 1;
        let (name, counting) = self.metrics.get(metric).copied().unwrap_or(("time", Counting::Time));
        let given = format!("--fail-if {:?}, at character {position}", self.text);
        let why = format!("expected {expected}; for example `{name} > {}`", example(counting));
        CommandError::argument("--fail-if", given, why)
    }
}

/// What a value with or without sign in `unit` means, and how many of the metric's own unit one is.
fn meaning(counting: Counting, signed: bool, unit: &str) -> Option<(Of, f64)> {
    let own_or_change = if signed { Of::Change } else { Of::Own };
    Some(match (counting, unit) {
        (Counting::Share | Counting::CommonShare, "%") if !signed => (Of::Own, 1.0),
        (Counting::Share, "pp") if signed => (Of::Change, 1.0),
        (Counting::Time | Counting::Number | Counting::Relative, "%") if signed => (Of::ChangePct, 1.0),
        (Counting::Number, "") => (own_or_change, 1.0),
        (Counting::Time, "ns") => (own_or_change, 1.0),
        (Counting::Time, "us") => (own_or_change, 1e3),
        (Counting::Time, "ms") => (own_or_change, 1e6),
        (Counting::Time, "s") => (own_or_change, 1e9),
        _ => return None,
    })
}

fn expects(counting: Counting) -> &'static str {
    match counting {
        Counting::CommonShare => "a share of the wake events without sign (5%)",
        Counting::Share => "a share (5%), or with sign a change in percentage points (+1pp)",
        Counting::Time => "a time in ns, us, ms or s (200us), or with sign a change (+10us, +2%)",
        Counting::Number => "a number (1000), or with sign a change (+100, +2%)",
        Counting::Relative => "a change in per cent, with its sign (+2%)",
    }
}

/// All ways to write a value, for the help.
fn values(counting: Counting) -> &'static str {
    match counting {
        Counting::CommonShare => "5%",
        Counting::Share => "5%, +1pp (percentage points)",
        Counting::Time => "200us, +10us, +2% (ns, us, ms, s)",
        Counting::Number => "1000, +100, +2%",
        Counting::Relative => "+2%",
    }
}

fn example(counting: Counting) -> &'static str {
    match counting {
        Counting::CommonShare => "5%",
        Counting::Share => "+1pp",
        Counting::Time => "+10us",
        Counting::Number | Counting::Relative => "+2%",
    }
}
