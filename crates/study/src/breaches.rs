// SPDX-License-Identifier: GPL-2.0-only
//! Choices with a fault, in words.

use idlewise_report::{percent, percent_of};
use idlewise_score::Breaches;

/// What was wrong with choices, of so many.
pub fn breach_words(b: &Breaches, decisions: u64) -> Vec<String> {
    let all = [
        (b.disabled, "a state that was switched off, although another was on"),
        (b.over_limit, "a state above the latency limit, although one that was on kept it"),
        (b.no_state, "no state of the table (the nearest was taken)"),
    ];
    let words = |(n, what): &(u64, &str)| {
        format!("chose {what}: {n} of {decisions} choices ({} %)", percent(percent_of(*n, decisions)))
    };
    all.iter().filter(|(n, _)| *n > 0).map(words).collect()
}
