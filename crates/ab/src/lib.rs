// SPDX-License-Identifier: GPL-2.0-only
//! Governors compared on the running machine: the kernel is switched to and fro around a benchmark, many times, so that
//! whatever else changes in between strikes all of them alike.
//!
//! A session ([`session::run`]) writes each run into a folder as it ends; [`report`] reads such a folder and says
//! what it shows.

mod arm;
#[cfg(test)]
mod claims_tests;
mod foreign;
mod metric;
mod plan;
mod printed;
mod report;
mod request;
mod resume;
mod run;
mod session;
mod slowed;
mod stop;
mod stored;
mod summary;
mod verdict;
mod wakeups;
mod warnings;
mod watcher;

pub use arm::available;
pub use report::{
    AbReport, ArmLimits, ArmPowerLimit, BenchmarkReport, Cell, Found, MetricReport, SCHEMA, Steady,
};
pub use request::{AbRequest, Benchmark};
pub use resume::{ResumeRequest, rest};
pub use run::{Run, StateUse};
pub use session::{Work, free_folder, run};
pub use stop::Stop;
pub use stored::{FILE, Head, Stored, stored};
pub use summary::{metrics, report};
pub use verdict::Verdict;
pub use wakeups::{Waits, Wakeups};
