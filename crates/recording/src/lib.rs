// SPDX-License-Identifier: GPL-2.0-only
//! A recording with its machine, its counters and what its side-car says, and the governors that are tried on it.

pub mod arch;
pub mod candidate;
pub mod counters;
pub mod decisions;
pub mod description;
pub mod entries;
pub mod error;
pub mod governors;
pub mod head;
pub mod limits;
pub mod lossy;
pub mod machine_check;
pub mod recording;
pub mod refused;
pub mod scene;
pub mod sidecar;
pub mod steady;
pub mod what_if;

pub use error::CommandError;
pub use head::{FidelityHead, TraceHead};
pub use idlewise_tape::Limits;
pub use idlewise_trace::write::DatForm;
pub use recording::{Recording, RecordingOptions};
