// SPDX-License-Identifier: GPL-2.0-only
//! Tables of decisions that BPF recorded in a running kernel, with the inputs of its governor, as streams of decisions.
//!
//! The files are CSV (plain, `.gz` or `.xz`), one row per idle period of one CPU; the columns are those of
//! `docs/reference/decisions-format.md`. What the kernel measured of an idle period is in the row that follows it.

mod row;
mod rows;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;

use idlewise_governor::{Governor, GovernorError, Loader, Spec, StateValue};
use idlewise_model::TickGrid;
use idlewise_platform::{Cluster, Platform};

use crate::agreement::Agreement;
use crate::decision::{Decisions, DeviceState, Place, Source, Step, Steps};
use crate::follower::follow;
use idlewise_recording::error::CommandError;
pub use row::Row;
use rows::Rows;

/// Leads a new copy of `spec` through the table at `path`, recorded on CPU `cpu` of `machine`.
///
/// # Errors
/// [`CommandError`] when the file, machine or governor cannot be read or found; a file error names line and column.
pub fn drive(spec: &Spec, path: &Path, machine: &Platform, cpu: u32) -> Result<Agreement, CommandError> {
    drive_governor(&Governor::find(spec)?, path, machine, cpu)
}

/// As [`drive`], with a governor that was found before.
///
/// # Errors
/// As [`drive`].
pub fn drive_governor(
    governor: &Governor,
    path: &Path,
    machine: &Platform,
    cpu: u32,
) -> Result<Agreement, CommandError> {
    // Before a long file is read.
    cluster_of(machine, cpu)?;
    let parts = DecisionTable::read_parts(path, machine, Some(cpu))?;
    if parts.is_empty() {
        let why = format!("{}: no decision of CPU {cpu} in it; --cpu N names another CPU", path.display());
        return Err(CommandError::NoSuchCpu { cpu, why });
    }
    Ok(governor.run(|loader| follow_all(loader, &parts))?)
}

/// Leads a new copy of a governor through each of `parts`.
pub(crate) fn follow_all(
    loader: &Loader<'_>,
    parts: &[DecisionTable<'_>],
) -> Result<Agreement, GovernorError> {
    let mut sum = Agreement::new(Source::DecisionTable);
    for part in parts {
        sum.merge(follow(loader, part)?);
    }
    Ok(sum)
}

/// Rows are kept while they are driven, some 200 bytes each: no more of a file.
const MOST_ROWS: usize = 8_000_000;

/// The rows of one CPU, and where it is.
pub struct DecisionTable<'m> {
    /// Number of the CPU.
    pub cpu: u32,
    pub cluster: &'m Cluster,
    pub grid: TickGrid,
    pub rows: Vec<Row>,
    /// The governor's state after the choice of the first row; nothing where the file does not have it.
    state: Vec<StateValue>,
}

impl<'m> DecisionTable<'m> {
    /// Reads the rows of CPU `cpu` of `machine` from `path`.
    pub fn read(path: &Path, machine: &'m Platform, cpu: u32) -> Result<Self, CommandError> {
        // Before a long file is read.
        let mut whole = Self::empty(machine, cpu)?;
        for part in Self::read_parts(path, machine, Some(cpu))? {
            if whole.rows.is_empty() {
                whole.state = part.state;
            }
            whole.rows.extend(part.rows);
        }
        Ok(whole)
    }

    /// Reads the rows of all CPUs, or of `only` one, from `path`, in the order of their numbers; a CPU comes once more after each gap
    /// in its rows, where the recorder had no room.
    pub(crate) fn read_parts(
        path: &Path,
        machine: &'m Platform,
        only: Option<u32>,
    ) -> Result<Vec<Self>, CommandError> {
        let mut cpus: BTreeMap<u32, Vec<Self>> = BTreeMap::new();
        let mut file = Rows::open(path)?;
        let mut kept = 0;
        while let Some((cpu, raw)) = file.next_row()? {
            if only.is_some_and(|only| only != cpu) {
                continue;
            }
            kept += 1;
            if kept > MOST_ROWS {
                let why = format!(
                    "more than {MOST_ROWS} rows; expected fewer, as they stay in memory: cut the table, or record for less time"
                );
                return Err(CommandError::file(path, why));
            }
            let parts = cpus.entry(cpu).or_default();
            let goes_on = parts.last().and_then(|part| part.rows.last()).is_some_and(|row| !row.is_cut_off);
            if !goes_on {
                parts.push(Self { state: file.state(&raw)?, ..Self::empty(machine, cpu)? });
            }
            if let Some(part) = parts.last_mut() {
                part.rows.push(file.on(&raw, &part.cluster.table)?);
            }
        }
        Ok(cpus.into_values().flatten().collect())
    }

    fn empty(machine: &'m Platform, cpu: u32) -> Result<Self, CommandError> {
        let (cluster, grid) = (cluster_of(machine, cpu)?, TickGrid::from_hz(machine.hz.unwrap_or(250)));
        Ok(Self { cpu, cluster, grid, rows: Vec::new(), state: Vec::new() })
    }
}

fn cluster_of(machine: &Platform, cpu: u32) -> Result<&Cluster, CommandError> {
    machine.cluster_of(cpu).ok_or_else(|| CommandError::no_cpu_on(&machine.id, cpu))
}

impl DecisionTable<'_> {
    /// The governor is put in charge, then come `rows`.
    fn enabled_before<'r>(
        &'r self,
        rows: impl Iterator<Item = Step> + 'r,
    ) -> impl Iterator<Item = Step> + 'r {
        let device = DeviceState::fresh(&self.cluster.table);
        std::iter::once(Step::Enabled { cpu: self.cpu, capacity: None, device }).chain(rows)
    }

    fn decisions(&self) -> impl Iterator<Item = Step> + '_ {
        let before = std::iter::once(None).chain(self.rows.iter().map(Some));
        let after = self.rows.iter().skip(1).map(Some).chain(std::iter::once(None));
        let rows = before.zip(&self.rows).zip(after);
        rows.map(|((before, row), after)| Step::Decided(row.decision(self.cpu, self.grid, before, after)))
    }

    /// A life in which every sleep, of any length, ended as soon as it began; all else was as in `like`.
    fn woken_at_once<'r>(&'r self, like: &Row) -> impl Iterator<Item = Step> + 'r {
        const LENGTHS_NS: [i64; 6] = [5_000, 50_000, 500_000, 5_000_000, 50_000_000, 500_000_000];
        const TIMES: usize = 64;
        let like = like.woken_at_once();
        let lengths = LENGTHS_NS.into_iter().flat_map(|ns| std::iter::repeat_n(ns, TIMES));
        lengths.map(move |ns| {
            let row = Row { sleep_length_ns: Some(ns), ..like };
            Step::Decided(row.decision(self.cpu, self.grid, Some(&row), Some(&row)))
        })
    }
}

impl Decisions for DecisionTable<'_> {
    type Error = Infallible;

    fn source(&self) -> Source {
        Source::DecisionTable
    }

    fn tick_period_ns(&self) -> u64 {
        self.grid.period_ns
    }

    fn place(&self, cpu: u32) -> Option<Place<'_>> {
        let Cluster { table, capacity, .. } = self.cluster;
        let tick_period_ns = self.grid.period_ns;
        (cpu == self.cpu).then_some(Place { table, capacity: *capacity, tick_period_ns, old_polling: false })
    }

    fn steps(&self) -> impl Iterator<Item = Result<Step, Infallible>> + '_ {
        let in_charge = self.rows.first().and_then(|row| row.in_charge(self.cpu));
        let mut decisions = self.decisions();
        let first = decisions.next();
        let values = self.state.clone();
        let state = self.has_state().then_some(Step::State { cpu: self.cpu, values });
        self.enabled_before(in_charge.into_iter().chain(first).chain(state).chain(decisions)).map(Ok)
    }

    fn has_state(&self) -> bool {
        !self.state.is_empty()
    }

    /// The whole table, and a life of the other extreme.
    fn histories(&self) -> Vec<Steps<'_, Infallible>> {
        let Some(first) = self.rows.first() else { return Vec::new() };
        vec![
            Box::new(self.enabled_before(self.decisions()).map(Ok)),
            Box::new(self.enabled_before(self.woken_at_once(first)).map(Ok)),
        ]
    }
}
