// SPDX-License-Identifier: GPL-2.0-only
//! What several tests need.

use idlewise_model::{NEVER_NS, Piece, PieceFlags, WakeCause};

/// An idle period with nothing in it.
pub(crate) const EMPTY: Piece = Piece {
    start_ns: 0,
    wake_ns: 0,
    hrtimer_ns: 0,
    wheel_ns: 0,
    stale_event_ns: NEVER_NS,
    exit_lag_ns: 0,
    response_ns: 0,
    handler_ns: 0,
    entry_lag_ns: 0,
    util: 0,
    iowait: 0,
    state: 0,
    cause: WakeCause::Unknown,
    flags: PieceFlags(0),
};
