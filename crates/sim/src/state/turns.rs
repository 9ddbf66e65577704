// SPDX-License-Identifier: GPL-2.0-only
use idlewise_parts::timers::NEVER_NS;

/// Whose turn it is.
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) holder: Option<usize>,
    /// Where the round goes on.
    pub(crate) next: usize,
    /// When the turn began, ns.
    pub(crate) since_ns: u64,
    /// How long turns are, ns.
    pub(crate) slice_ns: u64,
    /// In the rest of this round, that is looked at anew for each.
    pub(crate) anew: bool,
    /// When the turn's end was announced for, ns; announcements before `turn` are over.
    pub(crate) end_ns: u64,
    pub(crate) turn: u32,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self { holder: None, next: 0, since_ns: 0, slice_ns: 0, anew: false, end_ns: NEVER_NS, turn: 0 }
    }
}

/// What a CPU does that takes turns, beside its mode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    /// When its segment ends, ns, if it keeps its turn for so long.
    pub(crate) ends_ns: u64,
    /// What was left of it when it lost its turn, ns, and when that was.
    pub(crate) left_ns: u64,
    pub(crate) stopped_ns: u64,
    /// It has begun to leave its idle state.
    pub(crate) leaves: bool,
}
