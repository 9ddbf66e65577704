// SPDX-License-Identifier: GPL-2.0-only
//! Settings that are drawn, where a grid has too many.

use std::collections::BTreeSet;

use idlewise_model::Random;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How settings are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum SampleMethod {
    /// Each parameter's values in as many equal parts as settings, one setting in each part
    #[default]
    LatinHypercube,
    /// Each value by chance alone
    Random,
}

impl SampleMethod {
    /// As options have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LatinHypercube => "latin-hypercube",
            Self::Random => "random",
        }
    }
}

/// A request for settings by chance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draw {
    pub(crate) n: u64,
    pub(crate) method: SampleMethod,
    pub(crate) seed: u64,
}

/// Draws settings of parameters with so many values each; a setting that comes twice is there once.
///
/// # Panics
/// Where a parameter has no value.
pub(crate) fn sample(lens: &[u64], draw: Draw) -> Vec<Vec<u64>> {
    let Draw { n, method, seed } = draw;
    assert!(lens.iter().all(|len| *len > 0), "a parameter without a value: {lens:?}");
    let columns: Vec<Vec<u64>> = (0_u64..)
        .zip(lens)
        .map(|(axis, len)| {
            // A parameter's values do not depend on how many others there are.
            let mut random = Random::stream(seed, axis);
            match method {
                SampleMethod::Random => (0..n).map(|_| random.below(*len)).collect(),
                SampleMethod::LatinHypercube => stratified(&mut random, *len, n),
            }
        })
        .collect();
    let mut seen = BTreeSet::new();
    let settings = (0..n as usize).map(|row| columns.iter().map(|column| column[row]).collect::<Vec<u64>>());
    settings.filter(|setting| seen.insert(setting.clone())).collect()
}

/// A value of each of `n` equal parts of 0 to `len` - 1, in an order by chance.
fn stratified(random: &mut Random, len: u64, n: u64) -> Vec<u64> {
    // The part is of `len` in `n`ths; the place in it is drawn in as many steps as a part of 2^32 has.
    let place = |part: u64, within: u64| {
        let at = (u128::from(part) << 32) + u128::from(within);
        u64::try_from(u128::from(len) * at / (u128::from(n) << 32)).unwrap_or(len - 1)
    };
    let mut out: Vec<u64> = (0..n).map(|part| place(part, random.below(1 << 32))).collect();
    for left in (1..out.len()).rev() {
        let other = random.below(left as u64 + 1) as usize;
        out.swap(left, other);
    }
    out
}
