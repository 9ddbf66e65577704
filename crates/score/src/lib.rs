// SPDX-License-Identifier: GPL-2.0-only
//! From a ledger to numbers. A recording, a replay and a simulation are judged by the same code.
//!
//! A [`Tally`] takes the entries of one CPU as they happen; [`Score`] is what a table shows of one or more tallies.

pub mod measure;
mod score;
mod tally;

pub use measure::{Better, Measure, Number, Place, Unit};
pub use score::{Latency, Score, StateScore};
pub use tally::{Breaches, Counts, StateTally, Tally, Unplaced, entry_fj};
