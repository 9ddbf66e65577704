// SPDX-License-Identifier: GPL-2.0-only
//! Does a governor here choose as the kernel's governor chose?
//!
//! Four kinds of recordings hold decisions of a kernel; each becomes one stream of [`Step`]s:
//!
//! * a golden file: inputs and choices of compiled kernel code ([`golden`]);
//! * a table of decisions that BPF recorded in a running kernel ([`decision_table`]);
//! * a trace of a kernel with the overlay's events, which hold the inputs ([`trace_decisions`]);
//! * any other trace, whose tape says what the inputs must have been ([`tape_decisions`]).
//!
//! A [`Follower`] leads a governor through a stream: the governor gets the inputs that the kernel's governor got, and learns the
//! outcome that the kernel's choice had, whatever it chose itself, so one wrong choice does not derail those after it. Where the
//! recording does not say in which state the kernel's governor began, copies with other histories follow too, and a decision on
//! which they differ is not compared ([`follow`]). What comes out is always an [`Agreement`].
//!
//! [`own_governor`] and [`recorded_governors`] do this for the governor that a recording names; [`input_accuracy`] compares the
//! inputs of a tape with recorded ones; [`io_waits`] decides by them what a recording leaves open. PELT, which is no governor, has golden files too ([`pelt`]).

pub mod agreement;
pub mod decision;
pub mod decision_table;
pub mod divergence;
pub mod drive;
pub mod follower;
pub mod golden;
pub mod golden_file;
pub mod input_accuracy;
pub mod io_waits;
pub mod own_governor;
mod own_table;
pub mod pelt;
pub mod published;
pub mod recorded_governors;
pub mod tape_decisions;
pub mod trace_decisions;

pub use agreement::{Agreement, Divergence, StateKnown};
pub use decision::{Answer, Decision, Decisions, Step};
pub use divergence::DivergenceKind;
pub use follower::{Follower, follow};
pub use io_waits::settle_io_waits;
