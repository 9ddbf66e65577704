// SPDX-License-Identifier: GPL-2.0-only
//! Finds, wires, runs, judges: the only room that knows all others.
//!
//! Every public function here is one command of `idlewise` without its printing: a request goes in, a report comes
//! out. [`view`] turns reports into tables.

pub mod ab;
pub mod advise;
pub mod again;
mod arch;
pub mod beside;
pub mod boot;
mod candidate;
pub mod compare;
mod condition;
pub mod convert;
pub mod counters;
mod description;
pub mod diff;
pub mod doomed;
pub mod drive;
pub mod drive_pelt;
mod error;
pub mod explain;
mod fidelity;
mod golden_file;
pub mod governors;
mod head;
pub mod info;
mod limits;
mod lossy;
mod machine_check;
pub mod parity;
pub mod record;
mod recording;
mod refused;
pub mod replay;
pub mod reproduce;
mod scene;
pub mod score;
mod sidecar;
pub mod simulate;
mod steady;
mod tidy;
pub mod true_inputs;
pub mod truth;
pub mod view;
mod waits;
mod what_if;

pub use error::LabError;
pub use head::{FidelityHead, TraceHead};
pub use idlewise_tape::Limits;
pub use idlewise_trace::write::DatForm;
pub use recording::{Recording, RecordingOptions};
