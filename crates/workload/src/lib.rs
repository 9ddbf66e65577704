// SPDX-License-Identifier: GPL-2.0-only
//! Workloads as data: what tasks do, in rt-app's JSON and a small extension (`docs/reference/workload-format.md`).
//!
//! A [`Workload`] is plain and owned; every name that matters while it runs is an index into one of its lists.
//! Nothing here is run, scheduled or printed: how long things take on a machine is the simulator's business.

mod distribution;
mod error;
mod event;
mod extension;
mod ids;
mod json;
mod read;
mod shipped;
mod task;
mod varied;
mod workload;

pub use distribution::{Distribution, MAX_TIME_NS};
pub use error::{Fault, WorkloadError};
pub use event::{Event, SleepTimer, TimerMode};
pub use extension::{Arrivals, Completion, Device, Frame, IrqCpu, Source};
pub use idlewise_model::Random;
pub use ids::{DeviceId, FrameId, ResourceId, SourceId, TaskId};
pub use shipped::{find, read_files, shipped};
pub use task::{Phase, Policy, Sched, Task};
pub use varied::varied;
pub use workload::{Calibration, Global, Resource, ResourceKind, Workload};
