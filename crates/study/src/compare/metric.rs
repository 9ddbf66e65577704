// SPDX-License-Identifier: GPL-2.0-only
//! What a comparison measures, one list for tables, JSON and `--fail-if`.

use idlewise_report::{UNKNOWN, duration, percent, signed_duration, signed_percent, signed_points};
use idlewise_score::Score;
use serde::Serialize;

use crate::condition::{Counting, Met};

/// One number of a governor's score, or of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Idle stays that ended.
    Wakeups,
    /// "Too deep" verdicts, % of wakeups.
    TooDeep,
    /// "Too shallow" verdicts, % of wakeups.
    TooShallow,
    /// Wakes that were only the tick.
    Ticks,
    /// Entries at which the tick was stopped.
    TickStopped,
    /// Wakeup latency: mean.
    LatencyMean,
    /// Median.
    LatencyP50,
    /// 99th percentile.
    LatencyP99,
    /// Largest.
    LatencyMax,
    /// Energy of the idle stays.
    Energy,
    /// Waits with another first choice, % of all waits; of both governors, not of one.
    Differ,
}

/// What a metric is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// A share, %.
    Share,
    /// A time, ns.
    Time,
    /// The platform's energy.
    Energy,
}

impl Metric {
    /// All, in the order of the tables.
    pub const ALL: [Self; 11] = [
        Self::Wakeups,
        Self::TooDeep,
        Self::TooShallow,
        Self::Ticks,
        Self::TickStopped,
        Self::LatencyMean,
        Self::LatencyP50,
        Self::LatencyP99,
        Self::LatencyMax,
        Self::Energy,
        Self::Differ,
    ];

    /// The name in `--fail-if`, JSON and CSV.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Wakeups => "wakeups",
            Self::TooDeep => "too_deep",
            Self::TooShallow => "too_shallow",
            Self::Ticks => "ticks",
            Self::TickStopped => "tick_stopped",
            Self::LatencyMean => "latency_mean",
            Self::LatencyP50 => "latency_p50",
            Self::LatencyP99 => "latency_p99",
            Self::LatencyMax => "latency_max",
            Self::Energy => "energy",
            Self::Differ => "differ",
        }
    }

    /// What it is counted in.
    #[must_use]
    pub fn unit(self) -> Unit {
        match self {
            Self::Wakeups | Self::Ticks | Self::TickStopped => Unit::Count,
            Self::TooDeep | Self::TooShallow | Self::Differ => Unit::Share,
            Self::LatencyMean | Self::LatencyP50 | Self::LatencyP99 | Self::LatencyMax => Unit::Time,
            Self::Energy => Unit::Energy,
        }
    }

    /// All names, with how conditions on them are written.
    pub(crate) fn vocabulary() -> [(&'static str, Counting); 11] {
        Self::ALL.map(|m| {
            let counting = match m.unit() {
                _ if m == Self::Differ => Counting::CommonShare,
                Unit::Share => Counting::Share,
                Unit::Time => Counting::Time,
                Unit::Count => Counting::Number,
                Unit::Energy => Counting::Relative,
            };
            (m.name(), counting)
        })
    }

    /// Its value in `score`; nothing for [`Metric::Differ`], which no score has.
    #[must_use]
    pub fn of(self, score: &Score) -> Option<f64> {
        Some(match self {
            Self::Wakeups => score.wakeups as f64,
            Self::TooDeep => score.too_deep_pct,
            Self::TooShallow => score.too_shallow_pct,
            Self::Ticks => score.ticks.map_or(f64::NAN, |n| n as f64),
            Self::TickStopped => score.ticks_stopped.map_or(f64::NAN, |n| n as f64),
            Self::LatencyMean => score.latency.known(score.latency.mean_ns).unwrap_or(f64::NAN),
            Self::LatencyP50 => score.latency.known(score.latency.p50_ns as f64).unwrap_or(f64::NAN),
            Self::LatencyP99 => score.latency.known(score.latency.p99_ns as f64).unwrap_or(f64::NAN),
            Self::LatencyMax => score.latency.known(score.latency.max_ns as f64).unwrap_or(f64::NAN),
            Self::Energy => score.energy,
            Self::Differ => return None,
        })
    }
}

impl Unit {
    /// `value` for a table cell, as a replay's table has it.
    #[must_use]
    pub fn shown(self, value: f64) -> String {
        match self {
            _ if value.is_nan() => UNKNOWN.to_owned(),
            Self::Count => format!("{value:.0}"),
            Self::Share => percent(value),
            Self::Time => duration(value),
            Self::Energy => format!("{value:.3}"),
        }
    }
}

/// A metric of A and of B.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MetricChange {
    /// Which.
    #[serde(serialize_with = "by_name")]
    pub metric: Metric,
    /// With A.
    pub a: f64,
    /// With B.
    pub b: f64,
    /// B less A.
    pub change: f64,
    /// The change, % of A; none where A has 0 and B has not.
    pub change_pct: Option<f64>,
}

fn by_name<S: serde::Serializer>(metric: &Metric, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(metric.name())
}

impl MetricChange {
    /// `metric` of A and of B.
    pub fn new(metric: Metric, a: f64, b: f64) -> Self {
        let change_pct = match (a, b) {
            (a, b) if a == b => Some(0.0),
            (a, b) if a.is_nan() || b.is_nan() => None,
            (0.0, _) => None,
            _ => Some((b - a) * 100.0 / a),
        };
        Self { metric, a, b, change: b - a, change_pct }
    }

    /// For a condition to be held against.
    pub(crate) fn met(&self) -> Met<'static> {
        let shown: &dyn Fn(f64) -> String = match self.metric.unit() {
            Unit::Energy => &|v| Unit::Energy.shown(v),
            _ => &|v| Unit::Count.shown(v),
        };
        Met { a: self.a, b: self.b, change: self.change, change_pct: self.change_pct, shown }
    }

    /// Every metric that a score has.
    pub(crate) fn all(a: &Score, b: &Score) -> Vec<Self> {
        let change = |m: &Metric| Some(Self::new(*m, m.of(a)?, m.of(b)?));
        Metric::ALL.iter().filter_map(change).collect()
    }

    /// The change in words: "+0.42pp", "-40.0 us (-18.20%)", "+569 (+7.46%)".
    #[must_use]
    pub fn words(&self) -> String {
        let relative = self.relative();
        match self.metric.unit() {
            _ if self.change.is_nan() => UNKNOWN.to_owned(),
            _ if self.a == self.b => "0".to_owned(),
            Unit::Share => signed_points(self.change),
            Unit::Energy => relative,
            Unit::Count => format!("{:+.0} ({relative})", self.change),
            Unit::Time => format!("{} ({relative})", signed_duration(self.change)),
        }
    }

    /// The change in % of A.
    #[must_use]
    pub fn relative(&self) -> String {
        match self.change_pct {
            Some(pct) => signed_percent(pct),
            None if self.change.is_nan() => UNKNOWN.to_owned(),
            None => "from 0".to_owned(),
        }
    }
}
