// SPDX-License-Identifier: GPL-2.0-only
/// How many are offered.
const FEW: usize = 3;
/// Distances of long texts cost their product; no word that is known is that long.
const LONGEST: usize = 64;

/// Up to three of the `known` words that somebody who wrote `word` may have meant, the likeliest first: those that are part of it
/// or it of them, then those that a third of their letters, edited, turn into it.
#[must_use]
pub fn near<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    let word: String = word.to_lowercase().chars().take(LONGEST).collect();
    // A known word that is part of a longer one is near, but less so than one that few edits make of it: `teo6.6` is `teo-6.6`.
    let distance = |k: &str| {
        let long = word.len() >= 3 && k.len() >= 3;
        if long && k.contains(&word) { 0 } else { strsim::levenshtein(&word, k) }
    };
    let distance = |k: &str| distance(&k.to_lowercase());
    let part = |k: &str| word.len() >= 3 && k.len() >= 3 && word.contains(&k.to_lowercase());
    let mut ranked: Vec<(usize, &str)> = known
        .into_iter()
        .map(|k| (distance(k), k))
        .filter(|(d, k)| part(k) || *d < k.len() && *d <= k.len().div_ceil(3))
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().take(FEW).map(|(_, k)| k).collect()
}

/// How the message about an unknown word goes on: with the `nearest` words, where any is near, else with `otherwise`, which names
/// the known words or says where they are listed.
#[must_use]
pub fn did_you_mean<W: AsRef<str>>(nearest: &[W], otherwise: &str) -> String {
    let words: Vec<String> = nearest.iter().map(|w| format!("`{}`", w.as_ref())).collect();
    if words.is_empty() {
        format!("; {otherwise}")
    } else {
        format!(" (did you mean {}?)", words.join(" or "))
    }
}
