// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they saw")]

mod common;
mod config;
mod hwp;
mod interactive;
mod page;
mod ramps;
mod random;
mod samplers;
mod sched_freq;
mod schedutil;
mod schedutil_old;
mod table;
