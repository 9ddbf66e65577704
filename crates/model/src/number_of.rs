// SPDX-License-Identifier: GPL-2.0-only

/// A number with its noun: `1 idle entry`, `7 idle entries`.
#[must_use]
pub fn number_of(n: u64, one: &str) -> String {
    match one.strip_suffix('y') {
        _ if n == 1 => format!("{n} {one}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o']) => format!("{n} {stem}ies"),
        _ => format!("{n} {one}s"),
    }
}
