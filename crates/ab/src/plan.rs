// SPDX-License-Identifier: GPL-2.0-only

/// One run that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// From 0; those of the warm-up are not counted.
    pub(super) round: u32,
    pub(super) benchmark: usize,
    pub(super) arm: usize,
}

/// The order of [`order`] in words, for who reads the result.
pub(super) fn words(arms: &[String], seed: u64) -> String {
    // As many rounds as it takes until they repeat themselves, but no more than can be read.
    let shown = (2 * arms.len()).min(SHOWN);
    let name = |t: &Turn| arms.get(t.arm).map_or("", String::as_str);
    let turns = order(shown as u32, 1, arms.len(), seed);
    let rounds: Vec<String> = turns
        .chunks(arms.len().max(1))
        .map(|round| round.iter().map(name).collect::<Vec<_>>().join(" "))
        .collect();
    format!(
        "each round runs every arm once, in a fixed rotation (--seed {seed}), not at random: {}, ...; a run \
         is compared with the baseline's run of the same round",
        rounds.join(" | ")
    )
}

/// Rounds that are shown.
const SHOWN: usize = 4;

/// The order of `rounds` rounds: in each every benchmark runs under every arm. Two arms take turns as A B, B A, B A, A B,
/// so that neither a steady drift nor one that bends favours one of them; more arms rotate, every second round
/// backwards, and each is as often first as last.
pub(super) fn order(rounds: u32, benchmarks: usize, arms: usize, seed: u64) -> Vec<Turn> {
    let mut out = Vec::new();
    for round in 0..rounds {
        for benchmark in 0..benchmarks {
            let begin = (u64::from(round / 2).wrapping_add(seed) % arms.max(1) as u64) as usize;
            let mut turn: Vec<usize> = (0..arms).map(|i| (begin + i) % arms).collect();
            if round % 2 == 1 {
                turn.reverse();
            }
            out.extend(turn.into_iter().map(|arm| Turn { round, benchmark, arm }));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arms(rounds: u32, arms: usize, seed: u64) -> Vec<usize> {
        order(rounds, 1, arms, seed).iter().map(|t| t.arm).collect()
    }

    #[test]
    fn two_arms_take_turns_as_abba_and_baab() {
        assert_eq!(arms(4, 2, 0), [0, 1, 1, 0, 1, 0, 0, 1]);
        assert_eq!(arms(2, 2, 1), [1, 0, 0, 1]);
    }

    #[test]
    fn the_order_is_told() {
        let arms = ["menu", "teo"].map(str::to_owned);
        assert!(
            words(&arms, 0).contains(": menu teo | teo menu | teo menu | menu teo, ..."),
            "{}",
            words(&arms, 0)
        );
        assert!(words(&arms, 1).contains("(--seed 1), not at random: teo menu | menu teo"));
        assert!(words(&[], 0).starts_with("each round runs every arm once"));
    }

    #[test]
    fn neither_a_steady_nor_a_bent_drift_favours_an_arm() {
        for n in 2..6_usize {
            // A whole cycle; a bend cancels out exactly only for two arms.
            let order = arms(2 * n as u32, n, 3);
            let sum = |arm: usize, power: u32| -> usize {
                order.iter().enumerate().filter(|(_, a)| **a == arm).map(|(i, _)| i.pow(power)).sum()
            };
            for arm in 1..n {
                assert_eq!(sum(arm, 1), sum(0, 1), "{n} arms");
                if n == 2 {
                    assert_eq!(sum(arm, 2), sum(0, 2), "{n} arms");
                }
            }
        }
    }

    #[test]
    fn every_arm_runs_every_benchmark_in_every_round() {
        let all = order(3, 2, 3, 7);
        assert_eq!(all.len(), 18);
        for round in 0..3 {
            for benchmark in 0..2 {
                let mut seen: Vec<usize> = all
                    .iter()
                    .filter(|t| t.round == round && t.benchmark == benchmark)
                    .map(|t| t.arm)
                    .collect();
                seen.sort_unstable();
                assert_eq!(seen, [0, 1, 2]);
            }
        }
    }
}
