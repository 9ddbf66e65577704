// SPDX-License-Identifier: GPL-2.0-only
//! Does a governor choose as the kernel chose?.

pub mod drive;
pub mod drive_pelt;
pub mod fidelity;
pub mod golden_file;
pub mod parity;
pub mod true_inputs;
pub mod truth;
