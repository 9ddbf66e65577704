// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    reason = "a test may fail loudly"
)]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they saw")]

mod advising;
mod beside;
mod counters;
mod kunit;
mod starts;
