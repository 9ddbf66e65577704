// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod distributions;
mod hostile_text;
mod page;
mod rt_app_files;
mod shipped_workloads;
mod varied;
mod wrong_files;
