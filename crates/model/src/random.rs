// SPDX-License-Identifier: GPL-2.0-only

/// Random numbers that are the same on every machine and in every version of idlewise: SplitMix64
/// (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), written out here because the
/// sequence is part of the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: u64,
}

/// The golden ratio's odd neighbour in 64 bits: the step of the sequence.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The sequence of that seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// A sequence of its own for the `n`-th user of a seed, so that one user's draws do not move another's.
    #[must_use]
    pub fn stream(seed: u64, n: u64) -> Self {
        Self { state: mixed(mixed(seed).wrapping_add(mixed(n ^ STEP))) }
    }

    /// The next pseudo-random number, over the full range of `u64`.
    pub fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mixed(self.state)
    }

    /// One of 0 to `n` - 1; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(n)) >> 64) as u64
    }
}

fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
