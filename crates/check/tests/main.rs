// SPDX-License-Identifier: GPL-2.0-only
//! Does the verifier find what is wrong, and nothing else?

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod bench;
mod every_property;
mod in_a_kernel;
mod kernels_own;
mod our_governors;
