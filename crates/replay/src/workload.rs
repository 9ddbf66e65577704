// SPDX-License-Identifier: GPL-2.0-only
use idlewise_idle::REFUSED_NS;
use idlewise_model::{Change, CpuTape, PieceFlags, Pieces, PiecesError, TickGrid};

use crate::event::unsure;
use crate::events::{Events, Waits};
use crate::sleep_lengths::SleepLengths;

/// What happens to one CPU whatever governor runs: its tape with the ticks, poll limits and refused entries taken out
/// and the pieces of each wait put together.
#[derive(Clone, Debug)]
pub struct Workload {
    pub cpu: u32,
    pub grid: TickGrid,
    /// How long the tick's handlers take, ns.
    pub tick_handler_ns: u64,
    /// Events in order of time.
    pub events: Events,
    /// Changes of the latency limit.
    pub latency: Vec<Change<i64>>,
    /// Changes of the disabled states.
    pub disabled: Vec<Change<u16>>,
    /// Entries that were refused, in order of time.
    pub refusals: Vec<Refusal>,
}

/// An entry that was refused in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// When, ns.
    pub at_ns: u64,
    /// How long it took, ns.
    pub took_ns: u64,
    pub state: u8,
}

impl Workload {
    /// Takes the ticks out of `tape`.
    ///
    /// # Errors
    /// [`PiecesError`] when the tape cannot be read.
    pub fn new(tape: &CpuTape) -> Result<Self, PiecesError> {
        Self::with(tape, SleepLengths::Taped)
    }

    /// The same; where `tape` does not tell for certain how long a CPU might have slept, `lengths` decides.
    ///
    /// # Errors
    /// As [`Workload::new`].
    pub fn with(tape: &CpuTape, lengths: SleepLengths) -> Result<Self, PiecesError> {
        Ok(Self {
            cpu: tape.cpu,
            grid: tape.tick,
            tick_handler_ns: tape.tick_handler_ns.into(),
            events: Events::new(&tape.pieces, lengths)?,
            latency: tape.latency.clone(),
            disabled: tape.disabled.clone(),
            refusals: refusals(&tape.pieces)?,
        })
    }
}

/// The idle periods whose entry was refused.
fn refusals(pieces: &Pieces) -> Result<Vec<Refusal>, PiecesError> {
    let mut out = Vec::new();
    for block in pieces.blocks() {
        let block = block?;
        let refused = block.iter().filter(|p| p.flags.has(PieceFlags::REJECTED));
        out.extend(refused.map(|p| Refusal { at_ns: p.start_ns, took_ns: p.stay_ns(), state: p.state }));
    }
    Ok(out)
}

impl Workload {
    /// How long an entry takes that is refused, ns: the median of the recording's.
    pub(crate) fn refused_ns(&self) -> u64 {
        let mut took: Vec<u64> = self.refusals.iter().map(|r| r.took_ns).collect();
        took.sort_unstable();
        took.get(took.len() / 2).copied().unwrap_or(REFUSED_NS).max(1)
    }
}

/// How many waits of `tape` have a sleep length that is not certain, and how many there are.
///
/// # Errors
/// [`PiecesError`] when the tape cannot be read.
pub fn unsure_waits(tape: &CpuTape) -> Result<(u64, u64), PiecesError> {
    let (mut unsures, mut all) = (0, 0);
    let mut waits = Waits::new(&tape.pieces);
    while let Some(read) = waits.next_block(|event, _| {
        unsures += u64::from(unsure(&event));
        all += 1;
    }) {
        read?;
    }
    Ok((unsures, all))
}
