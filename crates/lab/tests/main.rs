// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they saw")]

mod against_the_kernels_counters;
mod bad_recordings;
mod beside;
mod choices_with_a_fault;
mod common;
mod comparisons;
mod converting;
mod counters;
mod doomed_entries;
mod every_format;
mod explain;
mod fidelity;
mod foreign_governors;
mod golden;
mod guide_to_reproducing;
mod hardly_that_machine;
mod hostile_files;
mod inputs_beside_a_trace;
mod kernel_sources;
#[path = "common/kernel_trees.rs"]
mod kernel_trees;
mod limits;
mod long_recordings;
mod lttng;
mod metering;
#[path = "../../live/tests/common/mixed.rs"]
#[allow(dead_code, reason = "the tests of another program use the rest")]
mod mixed;
mod one_file;
mod parity;
mod recorded_inputs;
mod replay_reports;
mod reproducing;
mod scores_that_add_up;
mod sensitivity;
mod simulating;
mod states_never_entered;
mod stories;
#[path = "../../tape/tests/common/mod.rs"]
#[allow(dead_code, reason = "the tests of another program use the rest")]
mod story;
mod true_inputs;
mod without_idle_events;
