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

mod advice;
mod choices_with_a_fault;
mod comparisons;
mod doomed_entries;
mod explain;
mod foreign_governors;
mod hardly_that_machine;
mod hostile_files;
mod inputs_beside_a_trace;
mod measures;
mod memory_as_text;
mod metering;
mod one_file;
mod pasted_counters;
mod pasted_tables;
mod pasted_texts;
mod recorded_choices;
mod scores_that_add_up;
mod sensitivity;
mod simulating;
mod states_never_entered;
mod stories;
mod tables_of_the_lab;
mod why_unknown;
