// SPDX-License-Identifier: GPL-2.0-only
//! What to know of energies: whether an order of governors depends on what the idle loop itself takes, which is known only to lie in a
//! range; and whether one is below the bound.

use idlewise_model::{Note, NoteId};
use idlewise_platform::LOOP_COSTS_RANGE;
use idlewise_score::Score;

use crate::table::Role;

/// Those with a score on a recording.
pub type Scored<'r> = Vec<(&'r str, Role, &'r Score)>;

/// Whether now the one, now the other has less idle energy, over the range of what the idle loop takes.
#[must_use]
pub fn order_depends_on_the_loop(a: &Score, b: &Score) -> bool {
    let [least, most] = LOOP_COSTS_RANGE.map(|times| {
        let at = |s: &Score| s.energy + (times - 1.0) * s.loop_energy;
        at(a) - at(b)
    });
    least.min(most) < 0.0 && least.max(most) > 0.0
}

/// Names, and on how many recordings.
type Counts = Vec<(String, usize)>;

fn count(counts: &mut Counts, name: String) {
    match counts.iter_mut().find(|(known, _)| *known == name) {
        Some((_, n)) => *n += 1,
        None => counts.push((name, 1)),
    }
}

/// Notes about the pairs of governors whose order by energy depends on the idle loop, and about governors that take less than the bound; with
/// on how many of `recordings`.
#[must_use]
pub fn energy_notes<'r>(recordings: impl Iterator<Item = Scored<'r>>) -> Vec<Note> {
    let (mut depending, mut below): (Counts, Counts) = (Vec::new(), Vec::new());
    let mut all = 0;
    for scored in recordings {
        all += 1;
        let bound = scored.iter().find(|(_, role, _)| *role == Role::Bound);
        let governors: Vec<_> = scored.iter().filter(|(_, role, _)| *role != Role::Bound).collect();
        for (n, (a, _, of_a)) in governors.iter().enumerate() {
            for (b, _, of_b) in governors.iter().skip(n + 1) {
                if order_depends_on_the_loop(of_a, of_b) {
                    count(&mut depending, format!("{a} and {b}"));
                }
            }
            // The smallest of differences is one of rounding.
            if bound.is_some_and(|(.., bound)| of_a.energy < bound.energy * 0.999) {
                count(&mut below, (*a).to_string());
            }
        }
    }
    let named = |counts: Counts| -> Option<String> {
        let place = |n: usize| if all > 1 { format!(" in {n} of {all} recordings") } else { String::new() };
        let words: Vec<String> = counts.into_iter().map(|(name, n)| name + &place(n)).collect();
        (!words.is_empty()).then(|| words.join(", "))
    };
    let [least, most] = LOOP_COSTS_RANGE;
    let order = named(depending).map(|names| {
        NoteId::OrderNotShown.note(format!(
            "what the idle loop itself takes, {least} to {most:.0} times what is counted, decides which takes less energy: {names}"
        ))
    });
    let bound = named(below).map(|names| {
        NoteId::OrderNotShown.note(format!(
            "less energy than the oracle: {names}; wake events that came while a state was left found no idle CPU, so there were fewer idle \
             periods (during an exit)"
        ))
    });
    order.into_iter().chain(bound).collect()
}
