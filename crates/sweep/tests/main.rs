// SPDX-License-Identifier: GPL-2.0-only
//! All tests of this crate in one program: it is built and linked once.

#![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

mod axes;
mod kept_lines;
mod results;
mod settings;
mod sweeping;
