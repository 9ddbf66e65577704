// SPDX-License-Identifier: GPL-2.0-only
//! Whether the decisions of a table are those of the recording that it lies next to.

use idlewise_model::{NotKnown, NoteId, PiecesError, Tape, TapeCpu};
use idlewise_recording::sidecar::InputsBeside;

use crate::decision_table::DecisionTable;

/// A decision and the idle entry that follows it are no further apart, ns.
const NEAR_NS: u64 = 100_000;
/// One in so many decisions has an idle entry near it at least: some entries are lost, and some CPUs' cannot be used.
const ONE_IN: u64 = 3;

/// Why `parts` of `table` are no decisions of the recording of `tape`; nothing where they are.
pub(crate) fn is_of_another(
    table: &InputsBeside,
    tape: &Tape,
    parts: &[DecisionTable<'_>],
) -> Result<Option<NotKnown>, PiecesError> {
    let (mut rows, mut inside, mut near) = (0_u64, 0_u64, 0_u64);
    let from_ns = tape.source.first_ns.saturating_sub(NEAR_NS);
    let span = from_ns..=tape.source.last_ns.saturating_add(NEAR_NS);
    for cpu in tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let mut entries = Vec::new();
        for block in cpu.pieces.blocks() {
            entries.extend(block?.iter().map(|p| p.start_ns));
        }
        let of_cpu = parts.iter().filter(|part| part.cpu == cpu.cpu).flat_map(|part| &part.rows);
        for row in of_cpu.filter(|row| row.given_up != Some(true)) {
            let from = entries.partition_point(|at| at.saturating_add(NEAR_NS) < row.start_ns);
            rows += 1;
            inside += u64::from(span.contains(&row.start_ns));
            near += u64::from(entries.get(from).is_some_and(|at| at.abs_diff(row.start_ns) <= NEAR_NS));
        }
    }
    let is_own = rows == 0 || inside > 0 && near.saturating_mul(ONE_IN) >= inside;
    Ok((!is_own).then(|| {
        NotKnown::because(
            NoteId::InputsIncomplete,
            format!(
                "{} seems to be of another recording: of its {rows} decisions on CPUs of this one {near} have an idle entry \
                 within {} us",
                table.file.display(),
                NEAR_NS / 1000
            ),
        )
    }))
}
