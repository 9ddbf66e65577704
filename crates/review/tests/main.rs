// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]
#![allow(clippy::print_stdout, reason = "tests say what they skip")]

mod finding_a_commit;
mod kernels_own;
mod patch_by_patch;
mod tree;
mod warm_up;
