// SPDX-License-Identifier: GPL-2.0-only
//! Simulated runs, and runs compared with real ones.

pub mod again;
pub mod beside;
pub mod error;
pub mod simulate;

pub use error::ExperimentError;
