// SPDX-License-Identifier: GPL-2.0-only

/// What a governor decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The state. Governors of this project return one that exists; a foreign one may not, as in a kernel.
    pub index: i32,
    /// The tick shall be stopped.
    pub stop_tick: bool,
    /// The governor asked for the sleep length, which costs time in a kernel and has side effects there.
    pub asked_sleep_length: bool,
}
