// SPDX-License-Identifier: GPL-2.0-only
//! Which settings are run.

use idlewise_recording::CommandError;
use idlewise_recording::candidate::{Candidate, ORACLE};
use idlewise_recording::governors::{self, ForeignHead};

use crate::request::SweepRequest;
use crate::space::{Space, Variant};

/// The settings of a request, in order, with the baseline and the bound before them.
pub(crate) struct Design {
    pub(crate) spaces: Vec<Space>,
    /// The governor of the baseline.
    pub(crate) compared_with: Space,
    pub(crate) baseline: Variant,
}

/// The first settings are the baseline and the oracle.
pub(crate) const BASELINE: u64 = 0;
pub(crate) const BOUND: u64 = 1;
const FIRST: u64 = 2;

impl Design {
    /// # Errors
    /// [`CommandError`] where a governor, a parameter or a value is none.
    pub(crate) fn of(request: &SweepRequest) -> Result<Self, CommandError> {
        let mut spaces: Vec<Space> = Vec::new();
        for text in request.governors.iter().filter(|text| *text != ORACLE) {
            for space in Space::all_of(text, &request.kernel_trees, request.draw())? {
                if spaces.iter().any(|other| other.name == space.name) {
                    let name = space.name.clone();
                    return Err(CommandError::Twice { what: "--governor:".to_owned(), name });
                }
                spaces.push(space);
            }
        }
        let Some(first) = spaces.first() else {
            return Err(CommandError::not_given("--governor", "no governor given"));
        };
        let (compared_with, baseline) = match &request.baseline {
            None => (first.clone(), first.default_variant()),
            Some(text) => {
                let mut found = Space::all_of(text, &request.kernel_trees, None)?;
                match (found.pop(), found.is_empty()) {
                    (Some(one), true) if one.len == 1 => {
                        let baseline = one.variant(&one.picks(0))?;
                        (one, baseline)
                    }
                    _ => {
                        let why = "a baseline is one governor with one value of each parameter";
                        return Err(CommandError::option("--baseline", text, why));
                    }
                }
            }
        };
        Ok(Self { spaces, compared_with, baseline })
    }

    /// Settings, the baseline and the bound among them.
    pub(crate) fn len(&self) -> u64 {
        self.spaces.iter().fold(FIRST, |sum, space| sum.saturating_add(space.len))
    }

    /// The governor and the parameters of setting number `n`.
    pub(crate) fn variant(&self, n: u64) -> Result<Variant, CommandError> {
        match n {
            BASELINE => return Ok(self.baseline.clone()),
            BOUND => return Ok(Variant::oracle()),
            _ => {}
        }
        let (space, picks) = self.place(n);
        space.variant(&picks)
    }

    fn place(&self, n: u64) -> (&Space, Vec<u64>) {
        let mut rest = n - FIRST;
        for space in &self.spaces {
            if rest < space.len {
                return (space, space.picks(rest));
            }
            rest -= space.len;
        }
        unreachable!("setting {n} of {}", self.len())
    }

    /// The settings that a report shows: all but the bound, the baseline once.
    pub(crate) fn shown(&self) -> Result<Vec<u64>, CommandError> {
        let mut out = vec![BASELINE];
        for n in FIRST..self.len() {
            if self.variant(n)?.key != self.baseline.key {
                out.push(n);
            }
        }
        Ok(out)
    }

    /// Where governors came from that are none of ours.
    pub(crate) fn foreign(&self) -> Vec<ForeignHead> {
        let all = self.spaces.iter().map(|space| space.default_variant().candidate);
        let all: Vec<Candidate> = all.chain([self.baseline.candidate.clone()]).collect();
        let mut heads = governors::foreign(&all);
        heads.dedup_by(|a, b| a.file == b.file);
        heads
    }
}
