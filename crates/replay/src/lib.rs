// SPDX-License-Identifier: GPL-2.0-only
//! A tape driven through the idle loop under any governor: docs/concepts/replay.md.
//!
//! [`Workload`] is a CPU's tape with the ticks taken out: what would have happened whatever governor ran.
//! [`run`] puts a governor under it and lets the tick come back where the governor keeps it.
//!
//! Replay is an open loop: events do not move in time when a state is slower.

mod event;
mod events;
mod run;
mod sleep_lengths;
mod workload;

pub use event::WorkloadEvent;
pub use events::{EventBlocks, Events};
pub use run::{OutOfRange, RunCounts, Setting, run};
pub use sleep_lengths::SleepLengths;
pub use workload::{Refusal, Workload, unsure_waits};
