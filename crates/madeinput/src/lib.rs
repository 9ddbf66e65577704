// SPDX-License-Identifier: GPL-2.0-only
//! What tests give the idle loop and the makers of tapes: stories of a few CPUs, written as traces, and a governor that
//! answers as scripted, with small tables of states.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

pub mod idle_loop;
pub mod story;
