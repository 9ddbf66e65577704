// SPDX-License-Identifier: GPL-2.0-only
//! One decision laid open: `idlewise explain`.

pub mod convert;
mod differ;
mod golden;
mod live;
mod report;
mod run;
mod watch;

pub use differ::{Moment, WhyDiffer, WhyDifferRequest, why_differ};
pub use golden::{RowRequest, explain_row};
pub use live::{LineRequest, explain_line};
pub use report::{Came, Chosen, Explanation, Given, Other, StateHead, Unit};
pub use run::{ExplainReport, ExplainRequest, SCHEMA, Which, explain};
