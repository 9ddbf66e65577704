// SPDX-License-Identifier: GPL-2.0-only
//! Choices with a fault, in words.

use idlewise_model::{Note, NoteId};
use idlewise_report::{percent, percent_of};
use idlewise_score::Breaches;

/// What was wrong with choices, of so many.
pub fn breach_words(b: &Breaches, decisions: u64) -> Vec<Note> {
    let all = [
        (b.disabled, NoteId::ChoseDisabled, "a state that was switched off, although another was on"),
        (
            b.over_limit,
            NoteId::ChoseOverLimit,
            "a state above the latency limit, although one that was on kept it",
        ),
        (b.no_state, NoteId::ChoseNoState, "no state of the table (the nearest was taken)"),
    ];
    let note = |(n, id, what): &(u64, NoteId, &str)| {
        id.note(format!(
            "chose {what}: {n} of {decisions} choices ({} %)",
            percent(percent_of(*n, decisions))
        ))
    };
    all.iter().filter(|(n, ..)| *n > 0).map(note).collect()
}
