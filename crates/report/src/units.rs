// SPDX-License-Identifier: GPL-2.0-only

/// A time for a table cell: ns below 1 us, else us, else ms, else s, three significant digits or all whole ones.
#[must_use]
pub fn duration(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        v if v < 1_000.0 => (ns, "ns"),
        v if v < 1_000_000.0 => (ns / 1e3, "us"),
        v if v < 1_000_000_000.0 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", significant(value))
}

/// A share for a table cell, two decimals.
#[must_use]
pub fn percent(value: f64) -> String {
    // An empty sum is -0.
    format!("{:.2}", value + 0.0)
}

/// A relative difference for a table cell: sign, two decimals, percent.
#[must_use]
pub fn signed_percent(value: f64) -> String {
    format!("{value:+.2}%")
}

/// A difference of two shares for a table cell: sign, two decimals, percentage points.
#[must_use]
pub fn signed_points(value: f64) -> String {
    format!("{value:+.2}pp")
}

/// A difference of two times for a table cell: as [`duration`], with its sign.
#[must_use]
pub fn signed_duration(ns: f64) -> String {
    let sign = if ns > 0.0 { "+" } else { "" };
    format!("{sign}{}", duration(ns))
}

/// A long time in words: seconds with three decimals.
#[must_use]
pub fn span(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

fn significant(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v >= 99.95 => format!("{value:.0}"),
        v if v >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_significant_digits() {
        let got: Vec<String> =
            [0.0, 1.0, 999.0, 1_000.0, 12_340.0, 455_000.0, 2_000_000.0, 3.5e9].map(duration).to_vec();
        assert_eq!(got, ["0 ns", "1.00 ns", "999 ns", "1.00 us", "12.3 us", "455 us", "2.00 ms", "3.50 s"]);
        let got: Vec<String> = [0.0, 12_340.0, -455_000.0].map(signed_duration).to_vec();
        assert_eq!(got, ["0 ns", "+12.3 us", "-455 us"]);
    }
}
