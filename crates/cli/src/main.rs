// SPDX-License-Identifier: GPL-2.0-only
//! The idlewise command.
fn main() {}
