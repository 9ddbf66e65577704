// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod replay_by_hand;
mod tapes_that_are_not_in_memory;
mod uncertain_sleep_lengths;
mod workload_without_ticks;
