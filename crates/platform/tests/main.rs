// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod bad_platform_files;
mod bare_values;
mod clocks;
mod device_trees;
mod energy_models;
mod running_machine;
mod shipped_machines;
mod sysfs_dumps;
