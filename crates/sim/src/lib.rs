// SPDX-License-Identifier: GPL-2.0-only
//! A machine in motion: tasks, timers, devices, a scheduler, load signals, clocks and the idle loop on one time line.
//!
//! Replay cannot move a wake; here a slow one delays what comes after it. A [`Machine`] runs a
//! [`Workload`](idlewise_workload::Workload); each of its CPUs drives the idle loop of `idlewise-idle` and asks the same
//! governors in C as replay does, load is tracked by the C of `signals/`, clocks are set by the governors of
//! `idlewise-freq`. Everything is counted in whole nanoseconds and femtojoules, and chance comes from a seed, so a run is
//! the same to the byte wherever it runs.

mod clock;
mod core;
mod device;
mod engine;
mod idle;
mod place;
mod qos;
mod rcu;
mod run;
mod sched;
mod server;
mod state;
mod steps;
mod turns;

pub use engine::simulate;
pub use run::{Outcome, Setting};
pub use state::load::Signal;
pub use state::task::TaskSeen;
