// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::IdleTable;

use crate::{EnergyGrade, EnergyTable, PlatformError};

/// What to do with power that CPUs of a cluster share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shared {
    /// Kept as data, counted nowhere.
    #[default]
    NotCounted,
    /// Split evenly over the cluster's CPUs: right in sum when they sleep together, an approximation otherwise.
    Split,
}

/// One row of a power curve. Powers are uW, or thousandths of the published unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatingPoint {
    /// Clock, kHz.
    pub khz: u64,
    /// One busy CPU.
    pub active: u64,
    /// Each idle state, shallow to deep, where it depends on the clock.
    pub states: Option<Vec<u64>>,
    /// What the cluster adds once while any CPU of it is on.
    pub shared: Option<u64>,
}

/// Published power of a cluster, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerData {
    /// [`EnergyGrade::Measured`] (numbers are uW) or [`EnergyGrade::PublishedRelative`] (thousandths of a unit).
    pub grade: EnergyGrade,
    /// What the numbers are, in a few words.
    pub what: String,
    /// Where they are from.
    pub source: String,
    /// The clock whose row the energy table uses, kHz; a choice.
    pub at_khz: u64,
    /// Each idle state of one CPU, where it does not depend on the clock.
    pub states: Option<Vec<u64>>,
    /// What the cluster draws once when all its CPUs are in the state.
    pub shared_states: Option<Vec<u64>>,
    /// What becomes of shared power.
    pub shared: Shared,
    /// All published points, by rising clock.
    pub curve: Vec<OperatingPoint>,
}

impl PowerData {
    /// The energy table of one CPU at `khz`, which must be a row of the curve, in a cluster of `cpus` CPUs.
    ///
    /// # Errors
    /// [`PlatformError::Energy`] when there is no such row or it does not give one power per state.
    pub fn energy_at(&self, table: &IdleTable, khz: u64, cpus: usize) -> Result<EnergyTable, PlatformError> {
        let Some(row) = self.curve.iter().find(|r| r.khz == khz) else {
            let known = self.curve.iter().map(|r| r.khz.to_string()).collect::<Vec<_>>().join(", ");
            return Err(PlatformError::Energy(format!(
                "the curve has no row at {khz} kHz, only at: {known}"
            )));
        };
        let Some(own) = row.states.as_ref().or(self.states.as_ref()) else {
            return Err(PlatformError::Energy(format!(
                "no state powers at {khz} kHz: give `states` in the row or in the power block"
            )));
        };
        let split = |total: u64| if self.shared == Shared::Split { total / (cpus.max(1) as u64) } else { 0 };
        let part = |i: usize| self.shared_states.as_ref().and_then(|s| s.get(i)).map_or(0, |&s| split(s));
        let states: Vec<u64> = own.iter().enumerate().map(|(i, p)| p.saturating_add(part(i))).collect();
        let active = row.active.saturating_add(row.shared.map_or(0, split));
        let shared = match self.shared {
            Shared::Split => format!("; shared power split evenly over {cpus} CPUs"),
            Shared::NotCounted => String::new(),
        };
        let basis = format!(
            "{} at {}.{:03} MHz{shared}; transition energy makes each target residency the exact break-even",
            self.what,
            khz / 1000,
            khz % 1000
        );
        EnergyTable::chained(table, &states, active, self.grade, basis)
    }
}
