// SPDX-License-Identifier: GPL-2.0-only
//! A JSON result holds the request that it answers: `--again` asks it anew.

use std::path::Path;

use idlewise_experiment::again::offered;
use idlewise_governor::Offered;

use crate::args::TrustArgs;
use crate::output::Failure;

impl TrustArgs {
    /// What a result may select, where one is asked `again`.
    pub(crate) fn offered(&self, again: Option<&Path>) -> Result<Offered, Failure> {
        match (again, self.trust.first()) {
            (None, Some(path)) => Err(Failure::Error(format!(
                "--trust {}: it is for C that a result names, and no result is repeated: give --again \
                 RESULT.json, or \
                 leave --trust out",
                path.display()
            ))),
            _ => Ok(offered(&self.trust)?),
        }
    }
}

/// A failure of what the result at `again` asks for names that result, too.
pub(crate) fn asked_by(again: Option<&Path>, why: impl std::fmt::Display) -> Failure {
    Failure::Error(
        again.map_or_else(|| why.to_string(), |path| format!("{} requests this: {why}", path.display())),
    )
}
