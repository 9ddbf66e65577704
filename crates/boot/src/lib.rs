// SPDX-License-Identifier: GPL-2.0-only
//! The governors in a real kernel.
//!
//! [`install`] puts them into a kernel tree, beside its own; [`Build`] compiles it; [`Machine`] is a platform as a guest;
//! [`Lab`] boots it under QEMU, deterministically, and brings home a trace, the kernel's idle counters and what
//! the workload said. Everything that is fetched or built stays in a [`LabFolder`].

mod apt;
mod error;
mod files;
mod folder;
mod guest;
mod kernel;
mod machine;
mod overlay;
mod patch;
mod process;
mod qemu;
mod run;
mod tree;
mod user;
mod workload;

pub use error::BootError;
pub use folder::LabFolder;
pub use guest::Guest;
pub use kernel::{Build, Configuration, Kernel};
pub use machine::{IdleDriver, MAX_CPUS, Machine};
pub use overlay::{governor_count, install, kernel_file, remove, written};
pub use patch::patch;
pub use process::{Watch, end_all};
pub use qemu::Qemu;
pub use run::{Lab, Outcome, Run, WINDOW, prepare};
pub use tree::{DEFAULT_VERSION, KernelTree, check_version, source_folders};
pub use user::UserGovernor;
pub use workload::{WORKLOADS, Workload, workload};
