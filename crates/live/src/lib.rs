// SPDX-License-Identifier: GPL-2.0-only
//! A running machine: watched through sysfs, recorded through tracefs and BPF, switched to another governor and restored.
//!
//! Everything here works on a [`Host`]: the machine itself, or a tree of files that looks like one.

pub mod clock;
mod error;
pub mod files;
mod host;
pub mod journal;
pub mod limits;
pub mod load;
pub mod perfetto_config;
pub mod power;
pub mod tracefs;
pub mod watch;

pub use error::LiveError;
pub use host::Host;
pub use journal::Journal;
