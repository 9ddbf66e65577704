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

#[cfg(test)]
mod tests {
    use super::number_of;

    #[test]
    fn one_has_no_plural() {
        let said = [0, 1, 2]
            .map(|n| [number_of(n, "event"), number_of(n, "idle entry"), number_of(n, "delay")].join(", "));
        assert_eq!(
            said,
            [
                "0 events, 0 idle entries, 0 delays",
                "1 event, 1 idle entry, 1 delay",
                "2 events, 2 idle entries, 2 delays"
            ]
        );
    }
}
