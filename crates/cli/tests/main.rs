// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they saw")]

mod advising;
mod answers;
mod arguments;
mod boot;
mod broken_parity;
mod cases;
mod checking;
mod circles;
mod citations;
mod commands;
mod common;
mod comparing;
mod corpora;
mod data_tables;
mod decisions_as_data;
mod doc_comments;
mod docs;
mod foreign;
mod guard;
mod help_texts;
mod hostile_names;
mod house;
mod inputs;
mod installing;
mod io_waits;
mod killed;
mod licences;
mod mishaps;
mod misuse;
mod pages;
mod platform_page;
mod power_limits;
mod recording;
mod reference;
mod reports;
mod reviewing;
mod round_trips;
mod schemas;
mod surroundings;
mod sweeping;
mod untrusted;
mod watching;
