// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]

mod common;
mod cores;
mod energy;
mod limits;
mod machine;
mod placement;
mod rcu;
mod server;
mod tasks;
mod turns;
