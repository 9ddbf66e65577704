// SPDX-License-Identifier: GPL-2.0-only
//! Charts and pages of the samples that the browser's tests use, too.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

mod built;
mod drawing;
mod pages;
mod samples;
