// SPDX-License-Identifier: GPL-2.0-only
//! What is done with a running machine, or a booted one: record, ab, advise, diff, boot.

pub mod ab;
pub mod advise;
pub mod boot;
pub mod diff;
pub mod error;
pub mod record;

pub use error::MachineError;
