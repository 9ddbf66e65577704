// SPDX-License-Identifier: GPL-2.0-only
//! Who runs a command: a shell, which reads its text, or a program, which wants its result.
//!
//! A command says, warns and shows how far it is by the functions here, and they know who listens. A program's call is that of
//! its thread: [`caller::begin`], the command, [`caller::end`].

mod boot_watch;
pub mod caller;
mod failure;
pub mod files;
pub mod outcome;
mod progress;
pub mod said;

pub use boot_watch::BootWatch;
pub use caller::{Call, Listener, WarningListener};
pub use failure::{Done, Failure};
pub use outcome::Outcome;
pub use progress::Progress;
pub use said::judged;
