// SPDX-License-Identifier: GPL-2.0-only
//! A machine in motion: tasks, timers, devices, a scheduler, load signals, clocks and the idle loop on one time line.
//!
//! Replay cannot move a wake; here a slow one delays what comes after it. A [`Machine`] runs a
//! [`Workload`](idlewise_workload::Workload); each of its CPUs drives the idle loop of `idlewise-idle` and asks the same
//! governors in C as replay does, load is tracked by the C of `signals/`, clocks are set by the governors of
//! `idlewise-freq`. Everything is counted in whole nanoseconds and femtojoules, and chance comes from a seed, so a run is
//! the same to the byte wherever it runs.

mod clock;
mod cpu;
mod device;
mod energy;
mod engine;
mod error;
mod fair;
mod idle;
mod load;
mod machine;
mod place;
mod program;
mod queue;
mod sched;
mod steps;
mod task;
mod timers;
mod turns;
mod watch;

pub use energy::{Counters, Energy, UPDATE_NS};
pub use engine::{Outcome, Setting, simulate};
pub use error::SimError;
pub use idlewise_platform::Costs;
pub use load::Signal;
pub use machine::{ClockSpec, CpuSpec, FairKind, Machine, Point};
pub use place::{Placement, Placing};
pub use task::TaskSeen;
pub use watch::{IrqKind, Seen, Watch};
