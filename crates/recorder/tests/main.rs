// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they saw")]

mod bpf_instructions;
mod bpf_listing;
mod btf_blob;
mod kernel_types;
mod left_behind;
mod mixed;
mod recorded_inputs;
mod recorder;
mod what_recording_needs;
