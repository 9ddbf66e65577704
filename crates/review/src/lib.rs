// SPDX-License-Identifier: GPL-2.0-only
//! A patch series judged patch by patch: `idlewise review`; and the version that moved a number: `idlewise bisect`.
//!
//! The governors of a base, and what they include, are taken out of a kernel tree; each patch is applied to them, and what differs
//! is compiled. Every version is checked for what a governor must keep, replayed on recordings, and simulated. [`ReviewReport`]
//! has a row for the base and one after each patch, so that the patch that moves a number is seen. [`BisectReport`] has one for each
//! version between two. Nothing of a kernel is built.

mod base;
mod bisect;
mod booted;
mod conditions;
mod effect;
mod findings;
mod git;
mod judge;
mod mails;
mod patch;
mod periods;
mod recordings;
mod report;
mod results;
mod runs;
mod series;
mod simulated;
mod snapshot;
mod versions;

pub use bisect::{BISECT_SCHEMA, BisectReport, BisectRequest, BisectStep, bisect};
pub use conditions::condition_help;
pub use effect::{Effect, Shown};
pub use judge::review;
pub use patch::{Problem, ProblemKind};
pub use report::{
    Against, BasisEffects, Booted, BootedChange, BootedNumber, Evidence, ExplainedPeriod, Finding,
    GovernorReview, LeftOut, Moved, PatchHead, RecordingChange, RecordingHead, ReviewReport, ReviewRequest,
    Row, RowCheck, SCHEMA, SimulatedChange,
};
pub use simulated::WORKLOADS;
