// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod builds;
mod checksums;
mod common;
mod explaining;
mod foreign_files;
mod foreign_sources;
mod life;
mod lint;
mod misbehaving_governors;
mod of_caller;
mod parameters;
mod properties;
mod specs;
mod taking_over;
mod written_debuginfo;
