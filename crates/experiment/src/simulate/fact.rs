// SPDX-License-Identifier: GPL-2.0-only
//! A number of a run.

use idlewise_model::{Counted, nth};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a number is, for whoever prints or compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactUnit {
    Count,
    /// Per cent: differences are percentage points.
    Percent,
    Ns,
    /// Millijoule or milliwatt, or their relative equivalent.
    Energy,
    PerSecond,
    Khz,
    Microjoule,
    Millijoule,
    Celsius,
    Milliwatt,
    Milliampere,
    MilliampereHour,
}

/// A number of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// What it is about: `idle`, `energy`, `clock LITTLE`, `task RenderThread`, `frames ui`, ...
    pub about: String,
    pub name: String,
    pub unit: FactUnit,
    /// The number; not a number where nothing was there to count.
    pub value: f64,
}

#[derive(Default)]
pub(super) struct Facts {
    all: Vec<Fact>,
}

impl Facts {
    pub(super) fn add(&mut self, about: &str, name: &str, unit: FactUnit, value: f64) {
        self.all.push(Fact { about: about.to_owned(), name: name.to_owned(), unit, value });
    }

    /// Mean and percentiles of times, ns.
    pub(super) fn times(&mut self, about: &str, what: &str, times: &Counted, shares: &[u64]) {
        let ranks = Counted::ranks(std::iter::once(times));
        let n: u64 = ranks.iter().map(|(_, n)| n).sum();
        let sum: u64 = ranks.iter().map(|(v, n)| u64::from(*v) * n).sum();
        let mean = if n == 0 { f64::NAN } else { sum as f64 / n as f64 };
        self.add(about, &format!("{what} mean"), FactUnit::Ns, mean);
        for share in shares {
            // Nearest rank, as everywhere.
            let at = nth(&ranks, (n * share).div_ceil(100).saturating_sub(1));
            let value = at.map_or(f64::NAN, f64::from);
            let name = if *share == 100 { format!("{what} max") } else { format!("{what} p{share}") };
            self.add(about, &name, FactUnit::Ns, value);
        }
    }

    /// In the order in which they came.
    pub(super) fn into_all(self) -> Vec<Fact> {
        self.all
    }
}
