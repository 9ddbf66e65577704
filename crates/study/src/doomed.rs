// SPDX-License-Identifier: GPL-2.0-only
//! Idle entries that could not last: another CPU's interrupt was on its way, and ended the stay.

use idlewise_model::{Confidence, MAX_STATES, Piece, PieceFlags, PiecesError, TapeCpu};
use schemars::JsonSchema;
use serde::Serialize;

use idlewise_recording::Recording;

/// Doomed entries of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Doomed {
    /// Whether the recording shows, for any CPU, when others sent it an interrupt: without that none can be known.
    pub known: bool,
    /// How well: `recorded`; `derived` where interrupts are seen to be sent, not to come; `bounded` where only begun wakeups show
    /// that one may follow; nothing where nothing does.
    pub grade: Option<&'static str>,
    /// CPUs of which it is not known.
    pub not_known: Vec<u32>,
    /// Idle entries of the CPUs of which it is known; of all where it is known of none.
    pub entries: u64,
    /// Of these, doomed (where `bounded`: at most); nothing where the recording does not show it.
    pub doomed: Option<u64>,
    /// From the entry into the state to its end, all doomed ones together, ns.
    pub lost_ns: Option<u64>,
    /// CPUs that have some.
    pub cpus: Vec<DoomedCpu>,
}

/// Doomed entries of one CPU.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DoomedCpu {
    pub cpu: u32,
    pub entries: u64,
    pub doomed: u64,
    /// From entry to end, ns.
    pub lost_ns: u64,
    /// By state: index, name, doomed entries, time lost, ns.
    pub states: Vec<DoomedState>,
}

/// Doomed entries of one CPU into one state.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct DoomedState {
    /// Index of the state.
    pub state: u8,
    /// Its name, where the machine has it.
    pub name: String,
    pub doomed: u64,
    /// From entry to end, ns.
    pub lost_ns: u64,
}

impl Doomed {
    /// Those of `recording`.
    ///
    /// # Errors
    /// [`PiecesError`] when the tape cannot be read.
    pub fn of(recording: &Recording) -> Result<Self, PiecesError> {
        let mut out = Self::default();
        let usable = || recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable);
        let grade = usable().filter_map(|c| c.sends).max();
        out.known = grade.is_some();
        out.grade = grade.map(Confidence::name);
        out.not_known = usable().filter(|c| c.sends.is_none()).map(|c| c.cpu).collect();
        for cpu in usable().filter(|c| grade.is_none() || c.sends.is_some()) {
            let names = recording.machine.cluster_of(cpu.cpu).map_or(&[][..], |c| c.table.states());
            let mut entries = 0;
            let mut by_state = [(0_u64, 0_u64); MAX_STATES];
            for block in cpu.pieces.blocks() {
                for piece in block?.iter().filter(|p| p.state != Piece::NO_GOVERNOR) {
                    entries += 1;
                    if piece.flags.has(PieceFlags::DOOMED)
                        && let Some((doomed, lost_ns)) = by_state.get_mut(usize::from(piece.state))
                    {
                        *doomed += 1;
                        *lost_ns += piece.stay_ns();
                    }
                }
            }
            out.entries += entries;
            let state = |(i, (doomed, lost_ns)): (usize, (u64, u64))| DoomedState {
                state: i as u8,
                name: names.get(i).map_or_else(String::new, |s| s.name.clone()),
                doomed,
                lost_ns,
            };
            let states: Vec<DoomedState> =
                by_state.into_iter().enumerate().filter(|(_, (n, _))| *n > 0).map(state).collect();
            if !states.is_empty() {
                let doomed = states.iter().map(|s| s.doomed).sum();
                let lost_ns = states.iter().map(|s| s.lost_ns).sum();
                out.cpus.push(DoomedCpu { cpu: cpu.cpu, entries, doomed, lost_ns, states });
            }
        }
        out.doomed = out.known.then(|| out.cpus.iter().map(|c| c.doomed).sum());
        out.lost_ns = out.known.then(|| out.cpus.iter().map(|c| c.lost_ns).sum());
        Ok(out)
    }
}
