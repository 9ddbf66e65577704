// SPDX-License-Identifier: GPL-2.0-only
//! Simulated runs, published experiments, and both compared with real runs.

pub mod again;
pub mod beside;
pub mod error;
pub mod reproduce;
pub mod simulate;

pub use error::ExperimentError;
