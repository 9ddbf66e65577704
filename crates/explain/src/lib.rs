// SPDX-License-Identifier: GPL-2.0-only
//! One decision explained: `idlewise explain`.

pub mod convert;
mod differ;
mod recorded;
mod report;
mod run;
mod watch;

pub use differ::{Moment, SCHEMA as WHY_DIFFER_SCHEMA, WhyDiffer, WhyDifferRequest, why_differ};
pub use recorded::{LineRequest, RowRequest, explain_line, explain_row};
pub use report::{Chosen, Explanation, IdleOutcome, InputValue, Other, StateHead, Unit};
pub use run::{DecisionAddress, ExplainReport, ExplainRequest, SCHEMA, explain};
