// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod common;
mod counted;
mod cpu_list;
mod cpu_mask;
mod event;
mod health;
mod idle_table;
mod loop_costs;
mod near;
mod number_of;
mod pieces;
mod prices;
mod span;
mod tape;
mod tick;
