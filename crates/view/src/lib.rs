// SPDX-License-Identifier: GPL-2.0-only
//! Reports as text: what stands at the top, and the tables.

mod ab;
mod advise;
mod agreement;
mod answer;
mod beside;
mod boot;
mod cells;
mod compare;
mod convert;
mod counters;
mod csv;
mod diff;
mod doomed;
pub mod drive;
pub mod explain;
mod head;
mod info;
mod platform;
mod record;
mod replay;
mod reproduce;
mod score;
mod sensitivity;
mod simulate;
mod top;
mod unknown;
mod wakeups;

pub use ab::ab;
pub use advise::advise;
pub use agreement::words as agreement;
pub use answer::{Layout, MAIL_WIDTH, Provenance, answer};
pub use beside::beside;
pub use boot::{boot, self_test};
pub use compare::{answer as compare_answer, checks, compare};
pub use convert::{carried, convert};
pub use diff::diff;
pub use info::info;
pub use platform::{findings, platform, platforms};
pub use record::{overhead, record};
pub use replay::replay;
pub use reproduce::reproduce;
pub use score::score;
pub use simulate::simulate;
pub use top::{Grouping, power as power_words, top};
