// SPDX-License-Identifier: GPL-2.0-only
//! What in a recording speaks against the machine that it is said to be of: once for each recording, for every view.

use std::collections::BTreeMap;

use idlewise_model::{Note, NoteId, PiecesError, TapeCpu, number_of};
use idlewise_report::{percent_of, span};

use crate::arch::Arch;
use crate::entries::VerdictCheck;
use crate::recording::{MachineCheck, Recording};

/// So many idle periods that the kernel and the table judge otherwise, and so large a share of all that either judges as a miss,
/// are no matter of when the clock was read: of recordings judged with their own machine's table a few per cent differ at most.
const MANY_JUDGED_OTHERWISE: u64 = 10;
const JUDGED_OTHERWISE_PCT: f64 = 10.0;

impl MachineCheck {
    /// Checks `recording` against its own machine; on which machine it is replayed does not matter.
    pub(crate) fn of(recording: &Recording) -> Result<Self, PiecesError> {
        let (mut agreement, mut lacking) = (VerdictCheck::default(), BTreeMap::new());
        for cpu in recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
            let Some(place) = recording.machine.cluster_of(cpu.cpu) else { continue };
            for block in cpu.pieces.blocks() {
                for piece in &*block? {
                    agreement.compare(piece, &place.table);
                    if piece.chosen().is_some_and(|state| state >= place.table.len()) {
                        let (entries, ns) = lacking.entry(piece.state).or_insert((0_u64, 0_u64));
                        *entries += 1;
                        *ns = ns.saturating_add(piece.stay_ns());
                    }
                }
            }
        }
        let agreement = (agreement.kernel_above + agreement.kernel_below > 0).then_some(agreement);
        let warnings = [
            agreement.as_ref().and_then(|a| judged_otherwise(recording, a)),
            other_kind(recording),
            without_state(recording, &lacking),
        ];
        Ok(Self { agreement, warnings: warnings.into_iter().flatten().collect() })
    }
}

/// The kernel's verdicts are not the table's.
fn judged_otherwise(recording: &Recording, a: &VerdictCheck) -> Option<Note> {
    let id = &recording.machine.id;
    let misses = a.kernel_above + a.kernel_below;
    let pct = percent_of(a.disagree, a.missed);
    (a.disagree >= MANY_JUDGED_OTHERWISE && pct >= JUDGED_OTHERWISE_PCT).then(|| {
        NoteId::OtherVerdicts.note(format!(
            "the kernel counted {misses} misses (cpu_idle_miss); by the table of {id} {} idle periods are \
             judged differently: {id} is probably not the machine that was recorded, and \"too deep\" and \
             \"too shallow\" by its table are not the \
             kernel's (--recorded-on or --sysfs name the machine)",
            a.disagree
        ))
    })
}

/// The recorded kind of processor is not the machine's.
fn other_kind(recording: &Recording) -> Option<Note> {
    let (kernel, table) = (recording.arch?, Arch::of_platform(&recording.machine)?);
    (kernel != table).then(|| {
        NoteId::OtherProcessor.note(format!(
            "the recording is of {}, and {} has idle states of {}: it is not the machine that was recorded",
            kernel.words(),
            recording.machine.id,
            table.words()
        ))
    })
}

/// Idle periods in states that the machine does not have: by state, how many and their length, ns.
fn without_state(recording: &Recording, lacking: &BTreeMap<u8, (u64, u64)>) -> Option<Note> {
    let entries: u64 = lacking.values().map(|(entries, _)| entries).sum();
    let ns = lacking.values().fold(0_u64, |sum, (_, ns)| sum.saturating_add(*ns));
    let states: Vec<String> =
        lacking.iter().map(|(state, (entries, _))| format!("state {state}: {entries}")).collect();
    (entries > 0).then(|| {
        NoteId::LackingStates.note(format!(
            "{}, {} together, {} not counted among the kernel's choices: {} does not \
             have their states \
             ({}); is it the machine that was recorded?",
            number_of(entries, "idle period"),
            span(ns),
            if entries == 1 { "is" } else { "are" },
            recording.machine.id,
            states.join(", ")
        ))
    })
}
