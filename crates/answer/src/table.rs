// SPDX-License-Identifier: GPL-2.0-only
use idlewise_score::measure::DECIDING;
use idlewise_score::{Better, Measure, Score, StateScore, Unit};
use idlewise_stats::Interval;
use schemars::JsonSchema;
use serde::Serialize;

/// A measure that decides.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Column {
    /// As in `--fail-if` and `--columns`.
    pub name: String,
    pub label: String,
    pub quantity: Quantity,
    /// The unit of an energy or a power: `mJ`, `mW`, `rel`; empty elsewhere.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub unit: String,
    pub better: Better,
}

/// What a column counts; it decides how cells look and how changes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    Count,
    /// So many each second.
    Rate,
    /// %; changes are percentage points.
    Share,
    /// ns.
    Time,
    /// In [`Column::unit`].
    Energy,
    /// In [`Column::unit`].
    Power,
}

/// The governors on one recording, or in all runs of one workload.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Group {
    pub name: String,
    /// Groups of one machine are alike.
    pub machine: String,
    pub contenders: Vec<Contender>,
}

/// What one governor comes to.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Contender {
    pub governor: String,
    pub role: Role,
    /// Why there is no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// One for each column.
    pub cells: Vec<Cell>,
    /// What mailing lists count, where there is a score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counts: Option<MissCounts>,
}

/// Idle periods and misses, as sysfs and postings count them: `aboves` were too deep, `belows` too shallow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct MissCounts {
    pub idles: u64,
    pub aboves: u64,
    pub belows: u64,
}

impl MissCounts {
    /// Of what a governor did.
    #[must_use]
    pub fn of(score: &Score) -> Self {
        let sum = |of: fn(&StateScore) -> u64| score.states.iter().map(of).sum();
        Self { idles: score.wakeups, aboves: sum(|s| s.above), belows: sum(|s| s.below) }
    }

    /// Too deep and too shallow together.
    #[must_use]
    pub fn misses(self) -> u64 {
        self.aboves + self.belows
    }
}

/// What a governor is in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The others are compared with it.
    Baseline,
    Governor,
    /// It knows the future: no governor, but what governors cannot exceed.
    Bound,
}

/// A value and its change from the baseline.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Cell {
    /// Not a number where it is not known.
    pub value: f64,
    /// % of the baseline's value, of shares percentage points; not a number where it is not known.
    pub change: f64,
    /// The 95 % interval of the change, where there are several runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}

impl Cell {
    /// Whether the interval of the change holds none, too: nothing is shown.
    #[must_use]
    pub fn is_unclear(&self) -> bool {
        self.interval.is_some_and(|i| i.low <= 0.0 && 0.0 <= i.high)
    }
}

impl Column {
    /// The columns of `measures`, with energies in `energy_unit`.
    pub fn of<'m>(measures: impl IntoIterator<Item = &'m Measure>, energy_unit: &str) -> Vec<Self> {
        measures.into_iter().map(|m| Self::new(m, energy_unit)).collect()
    }

    /// The columns that are shown where nobody chose others.
    #[must_use]
    pub fn deciding(energy_unit: &str) -> Vec<Self> {
        Self::of(DECIDING, energy_unit)
    }

    fn new(m: &Measure, energy_unit: &str) -> Self {
        let quantity = match m.unit {
            Unit::Count => Quantity::Count,
            Unit::Share => Quantity::Share,
            Unit::Time | Unit::Span => Quantity::Time,
            Unit::Energy => Quantity::Energy,
        };
        let unit = if quantity == Quantity::Energy { energy_unit } else { "" };
        Self {
            name: m.name.to_owned(),
            label: m.label.trim_end_matches(" %").to_owned(),
            quantity,
            unit: unit.to_owned(),
            better: m.better,
        }
    }

    /// The change from `a` to `b` in this column.
    #[must_use]
    pub fn change(&self, a: f64, b: f64) -> f64 {
        match self.quantity {
            Quantity::Share => b - a,
            _ if a == b => 0.0,
            _ => (b - a) * 100.0 / a,
        }
    }

    /// 1 if less is better, -1 if more is; nothing if neither is.
    #[must_use]
    pub fn direction(&self) -> Option<f64> {
        match self.better {
            Better::Less => Some(1.0),
            Better::More => Some(-1.0),
            Better::Neither => None,
        }
    }
}

impl Contender {
    /// The governor's `score` against that of the baseline.
    #[must_use]
    pub fn of(
        governor: &str,
        role: Role,
        failure: Option<&String>,
        measures: &[&'static Measure],
        [base, score]: [Option<&Score>; 2],
    ) -> Self {
        let cell = |m: &&'static Measure| {
            let column = Column::new(m, "");
            let value = score.map_or(f64::NAN, |s| m.value(s));
            let change = base.map_or(f64::NAN, |b| column.change(m.value(b), value));
            // Not a percentage of nothing.
            Cell { value, change: if change.is_finite() { change } else { f64::NAN }, interval: None }
        };
        let cells = measures.iter().map(cell).collect();
        let counts = score.map(MissCounts::of);
        Self { governor: governor.to_owned(), role, failure: failure.cloned(), cells, counts }
    }
}
