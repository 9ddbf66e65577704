// SPDX-License-Identifier: GPL-2.0-only
//! A recording with its machine, its counters and what its side-car says, and the governors that are tried on it.
//!
//! [`Recording::open`] (in `opening`) reads a trace or tape; [`placement`] says on which CPUs of which machine it is replayed, and
//! [`candidate`] runs a governor there. [`trace_head`] is what every report says first about a recording.

pub mod arch;
pub mod candidate;
pub mod counter_snapshots;
pub mod counters;
pub mod decisions;
pub mod description;
pub mod entries;
pub mod error;
pub mod file_state;
pub mod governors;
pub mod guest;
pub mod input_files;
mod io_waits;
pub mod json_paths;
pub mod kernel_governor;
pub mod limits;
pub mod machine_check;
mod opening;
pub mod options;
pub mod placement;
pub mod recording;
pub mod refused;
pub mod sidecar;
pub mod trace_head;
pub mod what_if;

pub use error::CommandError;
pub use idlewise_tape::Limits;
pub use idlewise_trace::Meter;
pub use idlewise_trace::write::DatForm;
/// Next to a recording of the boot lab: the file that its rt-app read.
pub const RT_APP_FILE: &str = "rt-app.json";

pub use options::{RecordingOptions, ReplaySetup};
pub use recording::Recording;
pub use trace_head::{FidelityHead, TraceHead};
