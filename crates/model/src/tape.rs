// SPDX-License-Identifier: GPL-2.0-only
use serde::{Deserialize, Serialize};

use crate::{Confidence, Health, Note, Piece, PieceFlags, Pieces, TickGrid};

/// What a governor would have seen during a recording, and what the kernel chose.
#[derive(Clone, Debug, PartialEq)]
pub struct Tape {
    /// Where it came from.
    pub source: Source,
    /// Each input that governors read, with how well it is known and why.
    pub inputs: Vec<TapeInput>,
    /// Sentences that every result made from this tape shows.
    pub notes: Vec<Note>,
    /// What was lost or doubtful in the recording.
    pub health: Health,
    /// The CPUs in order of their numbers; unusable ones too, with the reason.
    pub cpus: Vec<CpuTape>,
    /// So long the machine stood still between first and last event (a suspend, a paused guest), ns.
    pub stood_still_ns: u64,
}

impl Tape {
    /// From first to last event without the time that the machine stood still, ns.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        self.source.last_ns.saturating_sub(self.source.first_ns).saturating_sub(self.stood_still_ns)
    }

    /// The weakest grade of the values of the input of this name; [`Confidence::Assumed`] where nothing is said about it.
    #[must_use]
    pub fn weakest(&self, input: &str) -> Confidence {
        let input = self.inputs.iter().find(|i| i.name == input);
        input.map_or(Confidence::Assumed, TapeInput::weakest)
    }
}

/// Where a tape came from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// File name without its folder.
    pub name: String,
    /// XXH3-128 of the file's bytes, 32 hex digits.
    pub hash: String,
    /// Format in words ("trace.dat version 7, zstd").
    pub format: String,
    /// Kernel release and machine, where the recording names them.
    pub kernel: String,
    pub clock: String,
    /// First event, ns on the trace's clock.
    pub first_ns: u64,
    /// Last event, ns.
    pub last_ns: u64,
    /// Events in the file.
    pub events: u64,
    /// The machine that was recorded, as a platform file (TOML), so that a tape needs nothing beside it.
    pub machine: String,
    /// The idle governor that the kernel ran; empty where nobody said.
    pub governor: String,
}

/// One kind of input and how well it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TapeInput {
    /// Which input ("sleep length", "tick", "utilisation" ...).
    pub name: String,
    /// How many values have each grade, best first.
    pub counts: [u64; 4],
    /// How it was made, or what is assumed.
    pub how: String,
}

impl TapeInput {
    /// The weakest grade that occurs; `Recorded` where there are no values.
    #[must_use]
    pub fn weakest(&self) -> Confidence {
        let used = |c: &&Confidence| self.counts[**c as usize] > 0;
        Confidence::ALL.iter().rev().find(used).copied().unwrap_or(Confidence::Recorded)
    }
}

/// Whether a CPU's part of a recording can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TapeCpu {
    Usable,
    /// It cannot, for the reason given.
    Unusable(String),
}

/// From `at_ns` on, `value` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change<T> {
    /// Since when, ns on the trace's clock.
    pub at_ns: u64,
    pub value: T,
}

/// The value in force at `t_ns`, or `default` before the first change. `changes` are in order of time.
#[must_use]
pub fn at<T: Copy>(changes: &[Change<T>], t_ns: u64, default: T) -> T {
    let n = changes.partition_point(|c| c.at_ns <= t_ns);
    n.checked_sub(1).and_then(|i| changes.get(i)).map_or(default, |c| c.value)
}

/// One CPU's part of a tape.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuTape {
    pub cpu: u32,
    /// Whether it can be used.
    pub usable: TapeCpu,
    pub tick: TickGrid,
    /// How long the tick's handlers take, ns (median of the recording's own, or assumed).
    pub tick_handler_ns: u32,
    /// Idle periods in order of time.
    pub pieces: Pieces,
    /// Changes of the latency limit, ns.
    pub latency: Vec<Change<i64>>,
    /// Changes of the disabled states, bit i for state i.
    pub disabled: Vec<Change<u16>>,
    /// How well it is known when other CPUs sent this one an interrupt; nothing where it is not.
    pub sends: Option<Confidence>,
    /// What the recording of one event takes, ns: an idle period seems that much longer than the kernel measures it. 0 where the
    /// recording does not show it.
    pub event_ns: u32,
}

impl CpuTape {
    /// What the CPU's clock was programmed for during `piece`, ns from its start, or [`crate::NEVER_NS`]: the earliest hrtimer,
    /// the tick's own among them, or one that was cancelled since. May be negative.
    ///
    /// This is not the sleep length that a governor asks for: that leaves the tick out, and counts the timer wheel, which
    /// wakes a CPU only through its tick.
    #[must_use]
    pub fn programmed_ns(&self, piece: &Piece) -> i64 {
        let tick_ns = if piece.flags.has(PieceFlags::STOPPED_AFTER) {
            piece.wheel_ns
        } else {
            let now_ns = piece.start_ns.saturating_sub(piece.entry_lag_ns.into());
            self.tick.after(now_ns).wrapping_sub(piece.start_ns) as i64
        };
        piece.hrtimer_ns.min(piece.stale_event_ns).min(tick_ns)
    }
}
