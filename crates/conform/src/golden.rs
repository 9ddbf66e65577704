// SPDX-License-Identifier: GPL-2.0-only
//! Golden files as streams of decisions: rows of compiled kernel code, recorded from its start on.

use std::convert::Infallible;
use std::path::Path;

use idlewise_governor::{Governor, GovernorError, Inputs, Spec};
use idlewise_idle::{Chooser, Hosted};
use idlewise_model::Asked;

use crate::agreement::Agreement;
use crate::decision::{
    Answer, Decision, Decisions, DeviceState, KernelChoice, Outcome, Place, PollLimitAt, Shown, Source, Step,
    TickSeen,
};
use crate::follower::{Follower, follow};
use crate::golden_file::{GoldenError, GoldenFile, Row};

impl Decisions for GoldenFile {
    type Error = Infallible;

    fn source(&self) -> Source {
        Source::GoldenFile
    }

    fn tick_period_ns(&self) -> u64 {
        self.car.tick_nsec
    }

    fn place(&self, cpu: u32) -> Option<Place<'_>> {
        (cpu == 0).then_some(Place {
            table: &self.car.table,
            capacity: self.car.cpu_capacity,
            tick_period_ns: self.car.tick_nsec,
            old_polling: self.car.old_polling,
        })
    }

    fn steps(&self) -> impl Iterator<Item = Result<Step, Infallible>> + '_ {
        let device = DeviceState::fresh(&self.car.table);
        let mut clock_ns = 0;
        let decisions = self.rows.iter().map(move |row| Step::Decided(row.decision(&mut clock_ns)));
        std::iter::once(Step::Enabled { cpu: 0, capacity: None, device }).chain(decisions).map(Ok)
    }
}

impl Row {
    /// `clock_ns` is the CPU's clock, which goes on to the end of the row.
    fn decision(&self, clock_ns: &mut u64) -> Decision {
        let now_ns = clock_ns.wrapping_add_signed(self.busy_ns);
        let idle_ns = if self.entered.is_some() { self.residency_ns } else { 0 };
        *clock_ns = now_ns.wrapping_add_signed(idle_ns).wrapping_add_signed(self.ovh_ns);
        let outcome = match self.entered {
            None => Outcome::Refused { tick_ran: self.tick_ran },
            Some(entered) => Outcome::Left {
                entered: Some(entered.get()),
                residency_ns: self.residency_ns,
                clock_ns: *clock_ns,
                tick: TickSeen::Ran(self.tick_ran),
                poll_time_limit: self.poll_hit == Some(true),
            },
        };
        let kernel = KernelChoice {
            state: i32::try_from(self.sel_idx).ok(),
            stop_tick: Some(self.stop_tick),
            asked: Some(if self.asked { Asked::SLEEP_LENGTH } else { 0 }),
            poll_limit: self.poll_limit_ns.map(|ns| (PollLimitAt::Ended, ns)),
            shown: Shown::Answer,
        };
        Decision {
            source: Source::GoldenFile,
            at_ns: now_ns,
            line: self.line,
            step: self.step,
            inputs: Inputs { now_ns, ..self.inputs },
            disabled: self.disabled,
            kernel,
            outcome: Some(outcome),
            ..Decision::default()
        }
    }
}

/// Leads a new copy of `spec` through the golden file `csv_gz`.
///
/// # Errors
/// The governor cannot be found or loaded, or it crashed; or the file or its side-car cannot be read or lacks something: then
/// the message says the file, line and column.
pub fn drive(spec: &Spec, csv_gz: &Path) -> Result<Agreement, GoldenError> {
    drive_governor(&Governor::find(spec)?, csv_gz)
}

/// As [`drive`], with a governor that was found before.
///
/// # Errors
/// As [`drive`].
pub fn drive_governor(governor: &Governor, csv_gz: &Path) -> Result<Agreement, GoldenError> {
    Ok(drive_golden(governor, &GoldenFile::read(csv_gz)?)?)
}

/// As [`drive_governor`], with a file that was read before.
///
/// # Errors
/// The governor cannot be loaded, or it crashed.
pub fn drive_golden(governor: &Governor, golden: &GoldenFile) -> Result<Agreement, GovernorError> {
    as_recorded(governor, golden)?.run(|loader| follow(loader, golden))
}

/// The answers of a new copy to every row of a golden file, whatever the file says of them, each with the limit of the polling
/// loop after the row, ns.
///
/// # Errors
/// As [`drive_golden`].
pub fn answers(governor: &Governor, golden: &GoldenFile) -> Result<Vec<(Answer, u64)>, GovernorError> {
    as_recorded(governor, golden)?.run(|loader| {
        let mut instance = loader.load(golden.tick_period_ns())?;
        let (slot, mut follower) = Follower::of_only_cpu(&mut instance, golden)?;
        let mut governor = Hosted::new(&mut instance, slot);
        let answers = golden.steps().filter_map(|Ok(step)| {
            let answer = follower.step(&mut governor, &step)?;
            Some((answer, governor.device().poll_limit_ns))
        });
        Ok(answers.collect())
    })
}

/// The governor with the parameters that `golden` was recorded with, as far as it has them and they were not set.
///
/// # Errors
/// The governor cannot be loaded.
pub fn as_recorded(governor: &Governor, golden: &GoldenFile) -> Result<Governor, GovernorError> {
    let recorded = &golden.car.params;
    if recorded.is_empty() {
        return Ok(governor.clone());
    }
    let known: Vec<String> = governor.run(|loader| {
        Ok(loader.load(golden.tick_period_ns())?.params().into_iter().map(|p| p.name).collect())
    })?;
    let set = &governor.spec().params;
    let missing =
        recorded.iter().filter(|(name, _)| known.contains(name) && set.iter().all(|(s, _)| s != name));
    Ok(governor.with_params(missing.cloned()))
}
