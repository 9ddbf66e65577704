// SPDX-License-Identifier: GPL-2.0-only
//! A measure of two governors' scores and how it changes, for tables, JSON and `--fail-if`.

use idlewise_report::{UNKNOWN, duration, percent, signed_duration, signed_percent, signed_points, span};
use idlewise_score::{Measure, Place, Score, Unit};
use schemars::JsonSchema;
use serde::Serialize;

use crate::condition::ComparedMetric;

/// `value`, in this unit, for a table cell; `?` where it is not a number.
#[must_use]
pub fn cell(unit: Unit, value: f64) -> String {
    match unit {
        _ if value.is_nan() => UNKNOWN.to_owned(),
        Unit::Count => format!("{value:.0}"),
        Unit::Share => percent(value),
        Unit::Time => duration(value),
        Unit::Span => span(value as u64),
        Unit::Energy => format!("{value:.3}"),
    }
}

/// A measure of A and of B.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MeasureChange {
    #[serde(rename = "metric", serialize_with = "by_name")]
    #[schemars(with = "String")]
    pub measure: &'static Measure,
    pub a: f64,
    pub b: f64,
    pub change: f64,
    /// The change, % of A; none where A has 0 and B has not.
    pub change_pct: Option<f64>,
}

fn by_name<S: serde::Serializer>(measure: &&'static Measure, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(measure.name)
}

impl MeasureChange {
    /// `measure` of A and of B.
    #[must_use]
    pub fn new(measure: &'static Measure, a: f64, b: f64) -> Self {
        let change_pct = match (a, b) {
            (a, b) if a == b => Some(0.0),
            (a, b) if a.is_nan() || b.is_nan() => None,
            (0.0, _) => None,
            _ => Some((b - a) * 100.0 / a),
        };
        Self { measure, a, b, change: b - a, change_pct }
    }

    /// What a condition is checked against.
    #[must_use]
    pub fn met(&self) -> ComparedMetric<'static> {
        let shown: &dyn Fn(f64) -> String = match self.measure.unit {
            Unit::Energy => &|v| cell(Unit::Energy, v),
            _ => &|v| cell(Unit::Count, v),
        };
        ComparedMetric { a: self.a, b: self.b, change: self.change, change_pct: self.change_pct, shown }
    }

    /// Every measure that is compared.
    pub(crate) fn all(a: &Score, b: &Score) -> Vec<Self> {
        Measure::all_in(Place::Compared).map(|m| Self::new(m, m.value(a), m.value(b))).collect()
    }

    /// The change in words: "+0.42pp", "-40.0 us (-18.20%)", "+569 (+7.46%)".
    #[must_use]
    pub fn words(&self) -> String {
        let relative = self.relative();
        match self.measure.unit {
            _ if self.change.is_nan() => UNKNOWN.to_owned(),
            _ if self.a == self.b => "0".to_owned(),
            Unit::Share => signed_points(self.change),
            Unit::Energy => relative,
            Unit::Count => format!("{:+.0} ({relative})", self.change),
            Unit::Time | Unit::Span => format!("{} ({relative})", signed_duration(self.change)),
        }
    }

    /// The change in percentage points where it is one of shares, else in % of A.
    #[must_use]
    pub fn relative_or_points(&self) -> String {
        match self.measure.unit {
            Unit::Share if self.change.is_nan() => UNKNOWN.to_owned(),
            Unit::Share => signed_points(self.change),
            _ => self.relative(),
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
