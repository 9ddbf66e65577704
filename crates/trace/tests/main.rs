// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they saw")]

mod clocks_and_guests;
mod common;
mod ctf_damaged;
mod ctf_fields;
mod ctf_same_as_dat;
mod ctf_traces;
mod dat_details;
mod declared_events;
mod generated_tables;
mod hostile_ctf;
mod hostile_input;
mod hostile_text;
mod how_much_is_read;
mod instances;
mod perfetto_by_hand;
mod perfetto_wire;
mod raw_ring_buffers;
mod same_as_babeltrace;
mod same_as_perf;
mod same_as_perfetto;
mod same_as_trace_cmd;
mod synthetic_files;
mod synthetic_perf;
mod text_copied;
mod text_lines;
mod text_long;
mod text_order;
mod text_real_files;
mod text_refused;
mod text_same_as_dat;
mod text_starts;
mod text_values;
mod tick_timers;
mod unreadable_places;
mod writing;
mod writing_dat;
mod wrong_files;
mod zlib;
