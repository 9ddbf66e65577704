// SPDX-License-Identifier: GPL-2.0-only
//! The words that every other room of idlewise uses: idle tables, trace events, the tape, the ledger.
//!
//! No I/O happens here, and nothing here knows who calls it. Times are nanoseconds and say so in their names
//! (`_ns`); a CPU is its number in the kernel that was recorded.

mod confidence;
mod counted;
mod cpu_list;
mod cpu_mask;
mod event;
mod health;
mod idle_table;
mod kernel_events;
pub mod known;
mod ledger;
mod loop_costs;
mod near;
mod not_known;
mod note;
mod number_of;
mod piece;
mod piece_bytes;
mod pieces;
mod prices;
mod random;
mod span;
mod tape;
mod tick;
mod wake;

pub use confidence::Confidence;
pub use counted::{Counted, nth};
pub use cpu_list::{CpuListError, cpu_list, cpu_ranges, parse_cpu_list};
pub use cpu_mask::CpuMask;
pub use event::{Asked, Event, EventKind, GovernorName, HrtimerMode, Ipi, TimerFlags, Vector};
pub use health::{Health, HealthCount, HealthKind};
pub use idle_table::{IdleState, IdleTable, MAX_STATES, StateIndex, TableError};
pub use ledger::{Breach, Entry, Ledger, Miss, Outcome, RunDecision, TickChoice};
pub use loop_costs::LoopCosts;
pub use near::{did_you_mean, near};
pub use not_known::NotKnown;
pub use note::{Note, NoteId};
pub use number_of::number_of;
pub use piece::{Piece, PieceFlags};
pub use pieces::{PieceStore, Pieces, PiecesError};
pub use prices::{Prices, StatePrice};
pub use random::Random;
pub use span::Span;
pub use tape::{Change, CpuTape, Source, Tape, TapeCpu, TapeInput, at};
pub use tick::{HZ, TickGrid};
pub use wake::WakeCause;

/// The latency limit in force when nobody asked for one, ns: the global CPU latency class has 2 000 000 000 us
/// for "no constraint" and the smaller of the device's and the global limit counts (`governor-behaviour.md` 1.7).
pub const NO_LATENCY_LIMIT_NS: i64 = 2_000_000_000_000;

/// All times of a recording are before this, ns: no clock of a kernel counts 73 years. Sums of two such times fit everywhere.
pub const LATEST_NS: u64 = 1 << 61;

/// The highest number that a CPU can have: far above the most that a kernel can be built for.
pub const HIGHEST_CPU: u32 = 65_535;

/// A time that never comes, ns: the kernel's `KTIME_MAX`.
pub const NEVER_NS: i64 = i64::MAX;
