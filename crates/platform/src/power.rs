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
    pub active: u64,
    /// Each idle state, shallow to deep, where it depends on the clock.
    pub states: Option<Vec<u64>>,
    /// What the cluster adds once while any CPU of it is on.
    pub shared: Option<u64>,
}

/// Published power of a cluster, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerData {
    /// [`EnergyGrade::Measured`], [`EnergyGrade::Fitted`] or [`EnergyGrade::Assumed`] (numbers are uW), or [`EnergyGrade::PublishedRelative`] (thousandths of a unit).
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
    /// What polling draws, thousandths of running at the same clock; 1000 where nothing is known.
    pub polling: u64,
    /// What becomes of shared power.
    pub shared: Shared,
    /// All published points, by rising clock.
    pub curve: Vec<OperatingPoint>,
}

impl PowerData {
    /// The energy table of one CPU at `khz`, which must be a row of the curve, in a cluster of `cpus` CPUs. What the
    /// cluster shares is split over them or left out, as the file says.
    ///
    /// # Errors
    /// [`PlatformError::Energy`] when there is no such row or it does not give one power per state.
    pub fn energy_at(&self, table: &IdleTable, khz: u64, cpus: usize) -> Result<EnergyTable, PlatformError> {
        let row = self.row(khz)?;
        let split = |total: u64| if self.shared == Shared::Split { total / (cpus.max(1) as u64) } else { 0 };
        let common = self.shared_powers(row, table.len()).unwrap_or_default();
        let part = |i: usize| common.get(i).map_or(0, |&s| split(s));
        let own = self.own_powers(row)?;
        let states: Vec<u64> = own.iter().enumerate().map(|(i, p)| p.saturating_add(part(i))).collect();
        let active = row.active.saturating_add(row.shared.map_or(0, split));
        let shared = match self.shared {
            Shared::Split => format!("; shared power split evenly over {cpus} CPUs"),
            Shared::NotCounted => String::new(),
        };
        EnergyTable::chained(table, &states, active, self.grade, self.basis(khz, &shared))
    }

    /// The energy table of one CPU at `khz` without what the cluster shares. Polling draws its part of what running does.
    pub(crate) fn cpu_at(&self, table: &IdleTable, khz: u64) -> Result<EnergyTable, PlatformError> {
        let row = self.row(khz)?;
        let mut states = self.own_powers(row)?.clone();
        for (power, _) in states.iter_mut().zip(table.states()).filter(|(_, s)| s.polling) {
            *power = row.active * self.polling / 1000;
        }
        EnergyTable::chained(table, &states, row.active, self.grade, self.basis(khz, ""))
    }

    /// The energy table of what the cluster shares at `khz`; none where nothing is published.
    pub(crate) fn shared_at(
        &self,
        table: &IdleTable,
        khz: u64,
    ) -> Result<Option<EnergyTable>, PlatformError> {
        let row = self.row(khz)?;
        let Some(states) = self.shared_powers(row, table.len()) else { return Ok(None) };
        let basis = self.basis(khz, "; the part that the cluster shares");
        EnergyTable::chained(table, &states, row.shared.unwrap_or(0), self.grade, basis).map(Some)
    }

    fn row(&self, khz: u64) -> Result<&OperatingPoint, PlatformError> {
        self.curve.iter().find(|r| r.khz == khz).ok_or_else(|| {
            let known = self.curve.iter().map(|r| r.khz.to_string()).collect::<Vec<_>>().join(", ");
            PlatformError::Energy(format!("the curve has no row at {khz} kHz, only at: {known}"))
        })
    }

    fn own_powers<'a>(&'a self, row: &'a OperatingPoint) -> Result<&'a Vec<u64>, PlatformError> {
        row.states.as_ref().or(self.states.as_ref()).ok_or_else(|| {
            PlatformError::Energy(format!(
                "no state powers at {} kHz: give `states` in the row or in the power block",
                row.khz
            ))
        })
    }

    /// Shared power by the state that the whole cluster is in. Where the file does not say, it stays on until all
    /// CPUs are in the deepest of several states.
    fn shared_powers(&self, row: &OperatingPoint, states: usize) -> Option<Vec<u64>> {
        let on = row.shared;
        let off = |i: usize| states > 1 && i + 1 == states;
        let usual = || Some((0..states).map(|i| if off(i) { 0 } else { on.unwrap_or(0) }).collect());
        self.shared_states.clone().or_else(|| on.and_then(|_| usual()))
    }

    fn basis(&self, khz: u64, shared: &str) -> String {
        format!(
            "{} at {}.{:03} MHz{shared}; transition energy makes each target residency the exact break-even",
            self.what,
            khz / 1000,
            khz % 1000
        )
    }
}
