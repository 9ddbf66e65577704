// SPDX-License-Identifier: GPL-2.0-only
//! The files that the command carries; see `build.rs`.

include!(concat!(env!("OUT_DIR"), "/files.rs"));
