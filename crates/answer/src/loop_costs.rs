// SPDX-License-Identifier: GPL-2.0-only
//! Whether an order of governors depends on what the idle loop itself takes, which is known only to lie in a range.

use idlewise_model::{Note, NoteId};
use idlewise_platform::LOOP_COSTS_RANGE;
use idlewise_score::Score;

/// Two governors on a recording, each with its score.
pub type OnRecording<'r> = [(&'r str, &'r Score); 2];

/// Whether now the one, now the other has less idle energy, over the range of what the idle loop takes.
#[must_use]
pub fn order_depends_on_the_loop([(_, a), (_, b)]: OnRecording<'_>) -> bool {
    let [least, most] = LOOP_COSTS_RANGE.map(|times| {
        let at = |s: &Score| s.energy + (times - 1.0) * s.loop_energy;
        at(a) - at(b)
    });
    least.min(most) < 0.0 && least.max(most) > 0.0
}

/// A note about the pairs of governors whose order by energy depends on it, and on how many of the recordings; `pairs` are theirs, in
/// any order.
#[must_use]
pub fn loop_note<'r>(pairs: impl Iterator<Item = OnRecording<'r>>) -> Option<Note> {
    let mut counts: Vec<([&str; 2], [usize; 2])> = Vec::new();
    for pair in pairs {
        let names = pair.map(|(name, _)| name);
        let depends = usize::from(order_depends_on_the_loop(pair));
        match counts.iter_mut().find(|(known, _)| *known == names) {
            Some((_, n)) => *n = [n[0] + depends, n[1] + 1],
            None => counts.push((names, [depends, 1])),
        }
    }
    let [least, most] = LOOP_COSTS_RANGE;
    let depending = counts.into_iter().filter(|(_, n)| n[0] > 0).map(|([a, b], [depends, all])| {
        let place = if all > 1 { format!(" in {depends} of {all} recordings") } else { String::new() };
        format!("{a} and {b}{place}")
    });
    let depending: Vec<String> = depending.collect();
    (!depending.is_empty()).then(|| {
        NoteId::OrderNotShown.note(format!(
            "what the idle loop itself takes, {least} to {most:.0} times what is counted, decides which takes less energy: {}",
            depending.join(", ")
        ))
    })
}
