// SPDX-License-Identifier: GPL-2.0-only
//! Drives a governor through a recorded sequence of decisions and compares each.
//!
//! A row carries the recorded outcome, and the governor is driven with that whatever it decided, so one wrong decision
//! does not derail the inputs after it.

use std::fmt;
use std::path::Path;

use idlewise_governor::{Choice, Governor, GovernorError, Inputs, Spec};
use idlewise_idle::{Chooser, Hosted, Moment, NEVER_AT_NS, TickAhead, Timers};
use serde::{Deserialize, Serialize};

pub use crate::golden_file::{DriveError, GoldenFile};
use crate::golden_file::{Row, SideCar};

/// How many mismatches are kept for reading.
const KEEP: usize = 5;

/// One decision that came out differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatch {
    /// The row's own number.
    pub step: u64,
    /// Line of the unpacked file, from 1.
    pub line: u64,
    /// The state recorded.
    pub expected_idx: i64,
    /// The state that the governor chose.
    pub found_idx: i64,
    /// The tick decision recorded.
    pub expected_stop: bool,
    /// The tick decision of the governor.
    pub found_stop: bool,
    /// `dev.poll_limit_ns` after the row, recorded and found, where it is recorded and differs.
    pub poll_limit_ns: Option<(u64, u64)>,
    /// What the governor was asked with.
    pub inputs: Inputs,
    /// Disabled states.
    pub disabled: u16,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tick = |stop| if stop { "stop tick" } else { "keep tick" };
        write!(
            f,
            "step {} (line {}): expected state {}, {}; got state {}, {}",
            self.step,
            self.line,
            self.expected_idx,
            tick(self.expected_stop),
            self.found_idx,
            tick(self.found_stop)
        )?;
        if let Some((expected, found)) = self.poll_limit_ns {
            write!(f, "; expected poll limit {expected} ns, got {found} ns")?;
        }
        let i = &self.inputs;
        write!(
            f,
            "; sleep length {} ns, delta tick {} ns, latency limit {} ns, tick {}, disabled {:#b}, util {}, iowait {}",
            i.sleep_length_ns,
            i.delta_tick_ns,
            i.latency_limit_ns,
            if i.tick_stopped { "stopped" } else { "running" },
            self.disabled,
            i.util,
            i.iowait
        )
    }
}

/// What came of driving one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drive {
    /// Decisions made.
    pub steps: u64,
    /// Decisions that differ from the recorded ones.
    pub mismatches: u64,
    /// The first few of them.
    pub first: Vec<Mismatch>,
    /// Decisions in which the sleep length was asked for where the recording did not, or the reverse. It is a
    /// difference in side effects only, and no mismatch.
    pub sleep_asks_differ: u64,
}

impl fmt::Display for Drive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "steps={} mismatches={}", self.steps, self.mismatches)
    }
}

/// Drives a fresh instance of `spec` through the golden file `csv_gz`.
///
/// # Errors
/// The governor cannot be found or loaded, or it crashed; or the file or its side-car cannot be read or lacks something: then
/// the message says the file, line and column.
pub fn drive(spec: &Spec, csv_gz: &Path) -> Result<Drive, DriveError> {
    drive_governor(&Governor::find(spec)?, csv_gz)
}

/// As [`drive`], with a governor that was found before.
///
/// # Errors
/// As [`drive`].
pub fn drive_governor(governor: &Governor, csv_gz: &Path) -> Result<Drive, DriveError> {
    Ok(drive_golden(governor, &GoldenFile::read(csv_gz)?)?)
}

/// As [`drive_governor`], with a file that was read before.
///
/// # Errors
/// The governor cannot be loaded, or it crashed.
pub fn drive_golden(governor: &Governor, golden: &GoldenFile) -> Result<Drive, GovernorError> {
    as_recorded(governor, &golden.car)?.run(|loader| {
        let mut instance = loader.load(golden.car.tick_nsec)?;
        let slot = instance.add_cpu(0, &golden.car.table, golden.car.cpu_capacity)?;
        let mut run = Run::new(Hosted::new(&mut instance, slot), &golden.car);
        for row in &golden.rows {
            run.step(row);
        }
        Ok(run.result)
    })
}

/// The answers of a fresh instance to every row of a golden file, whatever the file says of them.
///
/// # Errors
/// As [`drive_golden`].
pub fn answers(governor: &Governor, golden: &GoldenFile) -> Result<Vec<RowAnswer>, GovernorError> {
    as_recorded(governor, &golden.car)?.run(|loader| {
        let mut instance = loader.load(golden.car.tick_nsec)?;
        let slot = instance.add_cpu(0, &golden.car.table, golden.car.cpu_capacity)?;
        let mut run = Run::new(Hosted::new(&mut instance, slot), &golden.car);
        let answers = golden.rows.iter().map(|row| {
            let choice = run.step(row);
            RowAnswer {
                state: choice.index,
                stop_tick: choice.stop_tick,
                asked_sleep_length: choice.asked_sleep_length,
                poll_limit_ns: run.governor.device().poll_limit_ns,
            }
        });
        Ok(answers.collect())
    })
}

/// A governor's answer to one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowAnswer {
    /// The state.
    pub state: i32,
    /// The tick shall be stopped.
    pub stop_tick: bool,
    /// It asked for the sleep length.
    pub asked_sleep_length: bool,
    /// The limit of the polling loop after the row, ns.
    pub poll_limit_ns: u64,
}

/// The governor with the parameters of the recording, as far as it has them and they were not set.
pub fn as_recorded(governor: &Governor, car: &SideCar) -> Result<Governor, GovernorError> {
    if car.params.is_empty() {
        return Ok(governor.clone());
    }
    let known: Vec<String> = governor
        .run(|loader| Ok(loader.load(car.tick_nsec)?.params().into_iter().map(|p| p.name).collect()))?;
    let set = &governor.spec().params;
    let missing =
        car.params.iter().filter(|(name, _)| known.contains(name) && set.iter().all(|(s, _)| s != name));
    Ok(governor.with_params(missing.cloned()))
}

/// A governor on its way through a file.
pub struct Run<'a, C> {
    /// The governor.
    pub governor: C,
    car: &'a SideCar,
    clock_ns: u64,
    result: Drive,
}

impl<'a, C: Chooser> Run<'a, C> {
    /// `governor` must be new, on one CPU with the states of `car`.
    pub fn new(governor: C, car: &'a SideCar) -> Self {
        Self { governor, car, clock_ns: 0, result: Drive::default() }
    }

    /// One row: the governor is asked, then it is told what was recorded.
    pub fn step(&mut self, row: &Row) -> Choice {
        self.governor.set_disabled(row.disabled);
        self.clock_ns = self.clock_ns.wrapping_add_signed(row.busy_ns);
        let inputs = Inputs { now_ns: self.clock_ns, ..row.inputs };
        let tick = TickAhead { due_ns: NEVER_AT_NS, may_stop: true };
        let choice = self.governor.select(&inputs, &moment(&inputs), tick);
        self.live_through(row);
        self.compare(row, inputs, choice);
        choice
    }

    /// The recorded outcome, whatever the governor said.
    fn live_through(&mut self, row: &Row) {
        let device = self.governor.device();
        device.got_tick |= row.tick_ran;
        let Some(entered) = row.entered else {
            device.last_residency_ns = 0;
            self.clock_ns = self.clock_ns.wrapping_add_signed(row.ovh_ns);
            return;
        };
        if let Some(hit) = row.poll_hit {
            if device.poll_limit_ns == 0 {
                device.poll_limit_ns = self.car.poll_limit_ns(row.disabled);
            }
            device.poll_time_limit = hit;
        }
        device.last_residency_ns = row.residency_ns;
        self.clock_ns = self.clock_ns.wrapping_add_signed(row.residency_ns).wrapping_add_signed(row.ovh_ns);
        self.governor.reflect(entered.get(), self.clock_ns);
    }

    fn compare(&mut self, row: &Row, inputs: Inputs, choice: Choice) {
        let poll_limit_ns = self.governor.device().poll_limit_ns;
        let limits = row.poll_limit_ns.map(|recorded| (recorded, poll_limit_ns)).filter(|(a, b)| a != b);
        self.result.steps += 1;
        self.result.sleep_asks_differ += u64::from(choice.asked_sleep_length != row.asked);
        if i64::from(choice.index) == row.sel_idx && choice.stop_tick == row.stop_tick && limits.is_none() {
            return;
        }
        self.result.mismatches += 1;
        if self.result.first.len() < KEEP {
            self.result.first.push(Mismatch {
                step: row.step,
                line: row.line,
                expected_idx: row.sel_idx,
                found_idx: i64::from(choice.index),
                expected_stop: row.stop_tick,
                found_stop: choice.stop_tick,
                poll_limit_ns: limits,
                inputs,
                disabled: row.disabled,
            });
        }
    }
}

/// A row does not know the future, and says what the timers said.
fn moment(inputs: &Inputs) -> Moment {
    Moment {
        start_ns: inputs.now_ns,
        timers: Timers::Known {
            sleep_length_ns: inputs.sleep_length_ns,
            delta_tick_ns: inputs.delta_tick_ns,
        },
        latency_limit_ns: inputs.latency_limit_ns,
        util: inputs.util,
        iowait: inputs.iowait,
        random: inputs.random,
        wake_at_ns: NEVER_AT_NS,
    }
}
