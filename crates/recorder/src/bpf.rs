// SPDX-License-Identifier: GPL-2.0-only
//! What a governor is given and what it chooses, read in the running kernel by BPF (`docs/concepts/true-inputs.md`).
//!
//! The programs are written here, instruction by instruction, for the kernel at hand: its own description of its types says where
//! everything is. They depend on raw tracepoints, which hardened kernels leave open where they close the others.

pub mod asm;
pub mod btf;
mod decision;
mod layout;
pub mod listing;
mod program;
mod recorder;
mod spool;
mod sys;
mod table;

pub use decision::{Counts, Decision, Memory, Menu, Outcome};
pub use recorder::{Cost, Recorded, Recorder, RecorderOptions};
pub use spool::Spool;
pub use table::Table;
