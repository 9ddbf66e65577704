// SPDX-License-Identifier: GPL-2.0-only
//! What governors would have done on a recording: replay, compare, score, info.

mod answer;
pub mod breaches;
pub mod compare;
pub mod condition;
pub mod doomed;
pub mod info;
pub mod replay;
pub mod score;
pub mod waits;
