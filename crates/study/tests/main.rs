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

mod against_the_kernels_counters;
mod bad_recordings;
mod conditions;
mod curves;
mod decision_columns_page;
mod decisions_as_rows;
mod every_format;
mod kernel_sources;
mod lists_of_governors;
mod lttng;
mod measured_wakeups;
mod power_limits;
mod replay_reports;
mod short_names;
mod swaps;
mod waits;
mod what_if;
mod without_idle_events;
