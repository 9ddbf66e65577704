// SPDX-License-Identifier: GPL-2.0-only
//! The catalogue of frequency governors: each file holds its entries and what they make.

mod conservative;
mod hwp;
mod interactive;
mod ondemand;
mod sched_freq;
mod schedutil;
mod schedutil_old;
mod steady;

use crate::governor::GovernorInfo;

/// All frequency governors, in the order of a help text.
#[must_use]
pub fn list() -> &'static [GovernorInfo] {
    LIST
}

static LIST: &[GovernorInfo] = &[
    schedutil::V6_12,
    schedutil::V6_1,
    schedutil_old::V4_8,
    schedutil_old::ANDROID_4_4,
    schedutil::PIXEL,
    sched_freq::V3_18,
    sched_freq::V4_4,
    ondemand::INFO,
    conservative::INFO,
    interactive::INFO,
    hwp::EWMA,
    hwp::WINDOW,
    steady::PERFORMANCE,
    steady::POWERSAVE,
    steady::FIXED,
];
