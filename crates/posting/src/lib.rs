// SPDX-License-Identifier: GPL-2.0-only
//! What is found about the code of governors and about patches, as text and mail.

mod bisect;
mod check;
mod effects;
mod notes;
mod reading;
mod review;

pub use bisect::bisect;
pub use check::{check, kunit_written};
pub use review::review;
