// SPDX-License-Identifier: GPL-2.0-only
//! Traces that tests and benchmarks make: CTF as LTTng writes it, and large recordings out of small ones.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

pub mod ctf;
pub mod large;
