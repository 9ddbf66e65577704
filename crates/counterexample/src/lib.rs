// SPDX-License-Identifier: GPL-2.0-only
//! The shortest tape on which one governor is worse than another by so much: `idlewise counterexample`.
//!
//! Idle periods come from recordings, or are drawn as `idlewise check` draws them ([`Origin`]). Sequences on which the two differ
//! enough are made minimal by delta debugging: idle periods are left out, then times made plain, while the difference stays. What is
//! left is a story, a tape that `idlewise replay` reads, and, where only timers wake the CPU, a workload for `idlewise boot`.

mod arena;
mod period;
mod report;
mod request;
mod search;
mod shrink;
mod story;
mod tape;

pub use period::Period;
pub use report::{Choice, Counterexample, Found, MachineHead, SCHEMA, StateHead, StoryRow};
pub use request::{CounterexampleRequest, LONGEST, Origin};
pub use search::{MACHINES, ROUNDS, SearchProgress, find};
pub use shrink::shrink;
