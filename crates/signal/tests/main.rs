// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod common;
mod lint;
mod modules;
mod page;
mod pelt_queues;
mod pelt_random;
mod pelt_util;
mod pelt_vectors;
mod walt_demand;
mod walt_golden;
mod walt_parity;
mod walt_random;
mod walt_windows;
