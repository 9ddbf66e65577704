// SPDX-License-Identifier: GPL-2.0-only
//! The first thing that goes wrong in a run of a governor that is not ours.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::GovernorError;

/// The first thing that went wrong in a run of a governor that is not ours.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstFailure(Arc<Mutex<Option<GovernorError>>>);

impl FirstFailure {
    pub(crate) fn take(&self) -> Option<GovernorError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn keep(&self, error: GovernorError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}
