// SPDX-License-Identifier: GPL-2.0-only
//! Which governor for this machine and load: `idlewise advise`.
//!
//! There are two kinds of evidence: a replay of the load's recording, which knows every governor, and an A/B comparison on the
//! running kernel, which knows those that it has. [`advise`] gathers both, [`judge()`] makes advice of them and touches nothing.

mod candidate;
mod evidence;
mod judge;
mod session;
mod set;
mod situation;
mod untested;

pub use candidate::{Candidate, candidates, specs};
pub use evidence::{Compared, Evidence, Replayed, Row, entered};
pub use judge::{AbBasis, Advice, Answer, Recommendation, ReplayBasis, SCHEMA, Trying, judge};
pub use session::{AdviseRequest, Attendant, Ending, Progress, advise};
pub use set::{Setting, how_to_get};
pub use situation::Situation;
pub use untested::Untested;
