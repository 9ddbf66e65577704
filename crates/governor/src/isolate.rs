// SPDX-License-Identifier: GPL-2.0-only
//! A job with a governor, wherever that runs: what goes wrong there is the job's error.

use crate::apart::Turn;
use crate::position::FirstFailure;
use crate::{Governor, GovernorError, Instance};

/// Loads instances of one governor where it is allowed to run: each in a process of its own if it is foreign.
#[derive(Clone, Copy, Debug)]
pub struct Loader<'a> {
    governor: &'a Governor,
    failure: &'a FirstFailure,
    /// The job runs where the calling program's governors may be asked.
    of_caller: bool,
}

impl<'a> Loader<'a> {
    /// The same job for another governor, or for the same in another build.
    #[must_use]
    pub fn of<'b>(&self, other: &'b Governor) -> Loader<'b>
    where
        'a: 'b,
    {
        Loader { governor: other, ..*self }
    }

    /// Where an instance says what went wrong; nothing where its governor cannot be in this job.
    fn failure(&self) -> Option<&FirstFailure> {
        (self.of_caller || !self.governor.is_of_caller()).then_some(self.failure)
    }

    /// As [`Instance::load`].
    ///
    /// # Errors
    /// As [`Instance::load`].
    pub fn load(&self, tick_period_ns: u64) -> Result<Instance, GovernorError> {
        Instance::of(self.governor, tick_period_ns, false, self.failure())
    }

    /// As [`Instance::load_explaining`].
    ///
    /// # Errors
    /// As [`Instance::load`].
    pub fn load_explaining(&self, tick_period_ns: u64) -> Result<Instance, GovernorError> {
        Instance::of(self.governor, tick_period_ns, true, self.failure())
    }
}

impl Governor {
    /// Does `job` with this governor, here. Each instance of a foreign one is a process of its own, which has nothing but the
    /// governor: `job` asks it, and gets choices. Where one goes wrong, its choices are 0 from then on, and nothing that `job`
    /// gives counts. No instance may be left when `job` ends.
    ///
    /// To start a process costs about as much as a thousand decisions.
    ///
    /// # Errors
    /// What `job` gives, [`GovernorError::Misbehaved`], and for a foreign governor that it crashed, did not come back, took too
    /// much, or that no process can be made.
    pub fn run<T, F>(&self, job: F) -> Result<T, GovernorError>
    where
        F: FnOnce(&Loader<'_>) -> Result<T, GovernorError>,
    {
        let _turn = (self.is_foreign() && !self.is_of_caller()).then(Turn::take);
        let failure = FirstFailure::default();
        let (mut job, mut result) = (Some(job), None);
        let mut work = || {
            let loader = Loader { governor: self, failure: &failure, of_caller: self.is_of_caller() };
            result = job.take().map(|job| job(&loader));
        };
        match self.own_of_caller() {
            Some(own) => own.during(&mut work),
            None => work(),
        }
        match (failure.take(), result) {
            (Some(why), _) => Err(why),
            (None, Some(result)) => result,
            (None, None) => {
                Err(GovernorError::Lost { id: self.label(), why: "the program did not run it".to_owned() })
            }
        }
    }
}
