// SPDX-License-Identifier: GPL-2.0-only
//! Runs of a governor, in which code that is not ours may go wrong.
//!
//! What a governor that is not ours does reaches nothing but its own memory ([`crate::process`]), so a run of it is done here like any
//! other. Where it goes wrong it is asked no more, and the run has no result but that.

use crate::failure::FirstFailure;
use crate::of_caller::CallerGovernor;
use crate::{Governor, GovernorError, Instance};

/// Loads instances of one governor for a run.
#[derive(Clone, Copy, Debug)]
pub struct Loader<'a> {
    governor: &'a Governor,
    failure: &'a FirstFailure,
    /// Whether the calling program is ready for its own governor.
    in_the_caller: bool,
}

impl<'a> Loader<'a> {
    /// The same run for another governor, or for the same in another build.
    #[must_use]
    pub fn of<'b>(&self, other: &'b Governor) -> Loader<'b>
    where
        'a: 'b,
    {
        Loader { governor: other, ..*self }
    }

    /// As [`Instance::load`].
    ///
    /// # Errors
    /// As [`Instance::load`].
    pub fn load(&self, tick_period_ns: u64) -> Result<Instance, GovernorError> {
        self.instance(tick_period_ns, false)
    }

    /// As [`Instance::load_explaining`].
    ///
    /// # Errors
    /// As [`Instance::load`].
    pub fn load_explaining(&self, tick_period_ns: u64) -> Result<Instance, GovernorError> {
        self.instance(tick_period_ns, true)
    }

    /// Whether something that was loaded in this run has failed. The run then ends with that, and what is still asked means nothing.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failure.is_kept()
    }

    fn instance(&self, tick_period_ns: u64, explaining: bool) -> Result<Instance, GovernorError> {
        if self.governor.is_of_caller() && !self.in_the_caller {
            return Err(GovernorError::Init {
                id: self.governor.name().to_owned(),
                why: "it runs in the program that called, and not together with a governor in C".to_owned(),
            });
        }
        Instance::of(self.governor, tick_period_ns, explaining, self.failure)
    }
}

impl Governor {
    /// Does `job` with this governor. Instances of a foreign one have processes of their own; one of the calling program's runs in it.
    ///
    /// # Errors
    /// What `job` gives; but [`GovernorError::Misbehaved`], or that a foreign governor crashed, did not return or was refused by the
    /// kernel, where that happened.
    pub fn run<T, F>(&self, job: F) -> Result<T, GovernorError>
    where
        F: FnOnce(&Loader<'_>) -> Result<T, GovernorError>,
    {
        let failure = FirstFailure::default();
        let result = match self.own_of_caller() {
            Some(own) => in_the_caller(self, &**own, &failure, job),
            None => job(&Loader { governor: self, failure: &failure, in_the_caller: false }),
        };
        failure.take().map_or(result, Err)
    }
}

fn in_the_caller<T, F>(
    governor: &Governor,
    own: &dyn CallerGovernor,
    failure: &FirstFailure,
    job: F,
) -> Result<T, GovernorError>
where
    F: FnOnce(&Loader<'_>) -> Result<T, GovernorError>,
{
    let (mut job, mut result) = (Some(job), None);
    own.during(&mut || {
        result = job.take().map(|job| job(&Loader { governor, failure, in_the_caller: true }));
    });
    result.unwrap_or_else(|| {
        Err(GovernorError::Lost { id: governor.label(), why: "the program did not run it".to_owned() })
    })
}
