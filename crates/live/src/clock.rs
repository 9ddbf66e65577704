// SPDX-License-Identifier: GPL-2.0-only
//! The clock of measurements.

use std::time::Instant;

/// The clock that measurements are made with; nothing else here may ask it.
#[expect(clippy::disallowed_methods, reason = "a measurement is made with a clock")]
pub fn now() -> Instant {
    Instant::now()
}
