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

mod golden;
mod golden_rows;
mod inputs_of_tapes;
mod kernels_choices;
mod measured_residencies;
mod mid_recording;
mod unreadable_periods;
mod why_choices_diverge;
