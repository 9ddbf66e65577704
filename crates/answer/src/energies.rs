// SPDX-License-Identifier: GPL-2.0-only
//! What to know of energies: whether an order of governors depends on what the idle loop itself takes, which is known only to lie in a
//! range; and whether one is below the bound.

use idlewise_model::{Note, NoteId};
use idlewise_platform::LOOP_COSTS_RANGE;
use idlewise_score::Score;

use crate::table::Role;

/// Those with a score on a recording.
pub type Scored<'r> = Vec<(&'r str, Role, &'r Score)>;

/// So many governors, or pairs of them, are named; the others are counted.
const NAMED: usize = 4;
/// Below the bound by less than this share is rounding, or a wake that met the tick's handlers.
const BELOW: f64 = 0.001;

/// Whether now the one, now the other has less idle energy, over the range of what the idle loop takes.
fn order_depends_on_the_loop(a: &Score, b: &Score) -> bool {
    let [least, most] = LOOP_COSTS_RANGE.map(|times| {
        let at = |s: &Score| s.energy + (times - 1.0) * s.loop_energy;
        at(a) - at(b)
    });
    least.min(most) < 0.0 && least.max(most) > 0.0
}

/// Notes about the pairs of governors whose order by energy depends on the idle loop, and about governors that take less than the
/// bound; with on how many of `recordings`. Names come in the order in which they are there.
#[must_use]
pub fn energy_notes<'r>(recordings: impl Iterator<Item = Scored<'r>>) -> Vec<Note> {
    let (mut depending, mut below) = (Counts::default(), Counts::default());
    let mut all = 0;
    for scored in recordings {
        all += 1;
        let bounds =
            scored.iter().filter(|(_, role, _)| *role == Role::Bound).map(|(.., score)| score.energy);
        // The oracle's, where there are others.
        let bound = bounds.reduce(f64::min);
        let governors: Vec<_> = scored.iter().filter(|(_, role, _)| *role != Role::Bound).collect();
        for (n, (a, _, of_a)) in governors.iter().enumerate() {
            let later = governors.iter().skip(n + 1);
            for (b, ..) in later.filter(|(.., of_b)| order_depends_on_the_loop(of_a, of_b)) {
                depending.add(format!("{a} and {b}"));
            }
            if bound.is_some_and(|bound| of_a.energy < bound * (1.0 - BELOW)) {
                below.add((*a).to_owned());
            }
        }
    }
    let [least, most] = LOOP_COSTS_RANGE;
    let order = depending.named(all).map(|names| {
        NoteId::OrderNotShown.note(format!(
            "what the idle loop itself takes, {least} to {most:.0} times what is counted, decides which takes less energy: {names}"
        ))
    });
    let bound = below.named(all).map(|names| {
        NoteId::BelowBound.note(format!(
            "less energy than the oracle, which is no bound where wake events come while a state is left, or interrupts while a CPU \
             polls: {names}"
        ))
    });
    order.into_iter().chain(bound).collect()
}

/// Names in the order in which they came first, each with how often.
#[derive(Default)]
struct Counts(Vec<(String, usize)>);

impl Counts {
    fn add(&mut self, name: String) {
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, n)) => *n += 1,
            None => self.0.push((name, 1)),
        }
    }

    /// `menu and teo in 3 of 7 recordings, ...`; nothing where there is none.
    fn named(&self, all: usize) -> Option<String> {
        let place = |n: usize| if all > 1 { format!(" in {n} of {all} recordings") } else { String::new() };
        let mut words: Vec<String> =
            self.0.iter().take(NAMED).map(|(name, n)| name.clone() + &place(*n)).collect();
        let more = self.0.len().saturating_sub(NAMED);
        if more > 0 {
            words.push(format!("{more} more"));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(energy: f64, loop_energy: f64) -> Score {
        Score { energy, loop_energy, ..Score::of(&[]) }
    }

    fn notes(recordings: &[Vec<(&str, Role, &Score)>]) -> Vec<String> {
        energy_notes(recordings.iter().cloned()).into_iter().map(|note| note.words).collect()
    }

    #[test]
    fn an_order_that_the_range_turns_round_is_told_and_no_other() {
        // At 0.3 times the loop 8.6 and 9.3, at 6 times 20 and 15.
        let (asks, stays, far) = (score(10.0, 2.0), score(10.0, 1.0), score(20.0, 0.5));
        let one = vec![("asks", Role::Baseline, &asks), ("stays", Role::Governor, &stays)];
        assert!(
            notes(std::slice::from_ref(&one))[0].ends_with("decides which takes less energy: asks and stays")
        );
        let other = vec![("asks", Role::Baseline, &stays), ("stays", Role::Governor, &far)];
        assert!(notes(std::slice::from_ref(&other)).is_empty());
        assert!(notes(&[one, other])[0].ends_with("asks and stays in 1 of 2 recordings"));
    }

    #[test]
    fn who_is_below_the_bound_is_named_and_the_bound_is_in_no_pair() {
        let (bound, lower, same) = (score(10.0, 0.0), score(6.0, 0.0), score(9.999, 0.0));
        let all = vec![
            ("same", Role::Baseline, &same),
            ("lower", Role::Governor, &lower),
            ("oracle", Role::Bound, &bound),
        ];
        let said = notes(&[all]);
        assert!(said.len() == 1 && said[0].ends_with("polls: lower"), "{said:?}");
    }

    #[test]
    fn many_pairs_are_counted() {
        let scores: Vec<Score> = (0..6).map(|n| score(10.0, f64::from(n))).collect();
        let names = ["a", "b", "c", "d", "e", "f"];
        let all = names.iter().zip(&scores).map(|(name, score)| (*name, Role::Governor, score)).collect();
        let said = notes(&[all]);
        assert!(said[0].ends_with("a and b, a and c, a and d, a and e, 11 more"), "{said:?}");
    }
}
