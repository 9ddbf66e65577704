// SPDX-License-Identifier: GPL-2.0-only

/// A time for a table cell: ns below 1 us, else us, else ms, else s, three significant digits or all whole ones.
#[must_use]
pub fn duration(ns: f64) -> String {
    if ns.is_nan() {
        return UNKNOWN.to_owned();
    }
    let (value, unit) = match ns.abs() {
        v if v < 1_000.0 => (ns, "ns"),
        v if v < 1_000_000.0 => (ns / 1e3, "us"),
        v if v < 1_000_000_000.0 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    format!("{} {unit}", significant(value))
}

/// What stands for a value that is not known.
pub const UNKNOWN: &str = "?";

/// `part` of `whole` in %; 0 of nothing.
#[must_use]
pub fn percent_of(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// A number of unknown size for a table cell: four digits that count.
#[must_use]
pub fn number(v: f64) -> String {
    if v == 0.0 || !v.is_finite() {
        return v.to_string();
    }
    let digits = 3 - v.abs().log10().floor() as i32;
    format!("{v:.*}", usize::try_from(digits.clamp(0, 9)).unwrap_or(0))
}

/// A share in % for a table cell, two decimals; as [`share`].
#[must_use]
pub fn percent(value: f64) -> String {
    share(value, 2)
}

/// A share in %, so many decimals. Only all is 100 and only none is 0: what is nearly so says that. `?` where there is
/// nothing to have a share of.
#[must_use]
pub fn share(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return UNKNOWN.to_owned();
    }
    // An empty sum is -0.
    let text = format!("{:.decimals$}", value + 0.0);
    let least = 0.1_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
    let rounded: f64 = text.parse().unwrap_or(value);
    if rounded == 0.0 && value > 0.0 {
        format!("<{least:.decimals$}")
    } else if rounded == 100.0 && value < 100.0 {
        format!(">{:.decimals$}", 100.0 - least)
    } else {
        text
    }
}

/// A difference with its sign, so many decimals. Only none is 0: a small one says which way it goes (`+<0.01`). `?` where it is
/// not known.
#[must_use]
pub fn signed(value: f64, decimals: usize) -> String {
    if value.is_nan() {
        return UNKNOWN.to_owned();
    }
    // A difference of -0 is none.
    let text = format!("{:+.decimals$}", value + 0.0);
    let rounds_to_0 = !text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if value != 0.0 && value.is_finite() && rounds_to_0 {
        let least = 0.1_f64.powi(i32::try_from(decimals).unwrap_or(i32::MAX));
        format!("{}<{least:.decimals$}", if value > 0.0 { '+' } else { '-' })
    } else {
        text
    }
}

/// A relative difference for a table cell: sign, two decimals, percent; as [`signed`].
#[must_use]
pub fn signed_percent(value: f64) -> String {
    unit(signed(value, 2), "%")
}

/// A difference of two shares for a table cell: sign, two decimals, percentage points; as [`signed`].
#[must_use]
pub fn signed_points(value: f64) -> String {
    unit(signed(value, 2), "pp")
}

fn unit(value: String, unit: &str) -> String {
    if value == UNKNOWN { value } else { value + unit }
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
    fn only_all_is_100_and_only_none_is_0() {
        let shown =
            [0.0, -0.0, 0.004, 0.005_1, 50.0, 99.994, 99.995_1, 99.999_999, 100.0, f64::NAN].map(percent);
        assert_eq!(
            shown,
            ["0.00", "0.00", "<0.01", "0.01", "50.00", "99.99", ">99.99", ">99.99", "100.00", "?"]
        );
        let whole = [0.0, 0.3, 0.7, 99.4, 99.6, 100.0].map(|v| share(v, 0));
        assert_eq!(whole, ["0", "<1", "1", "99", ">99", "100"]);
        assert_eq!([0.01, 99.96].map(|v| share(v, 1)), ["<0.1", ">99.9"]);
        let nearly = 2_999_999.0 * 100.0 / 3_000_000.0;
        assert_eq!(share(nearly, 4), ">99.9999");
    }

    #[test]
    fn only_no_change_is_a_change_of_0() {
        let shown = [0.0, -0.0, 0.004, -0.004, 0.005_1, -0.3, f64::INFINITY, f64::NAN].map(signed_points);
        assert_eq!(
            shown,
            ["+0.00pp", "+0.00pp", "+<0.01pp", "-<0.01pp", "+0.01pp", "-0.30pp", "+infpp", "?"]
        );
        assert_eq!([1e-9, -1e-9, 12.0].map(signed_percent), ["+<0.01%", "-<0.01%", "+12.00%"]);
        assert_eq!([0.04, -0.04, 0.4].map(|v| signed(v, 0)), ["+<1", "-<1", "+<1"]);
    }

    #[test]
    fn times_have_three_significant_digits() {
        let got: Vec<String> =
            [0.0, 1.0, 999.0, 1_000.0, 12_340.0, 455_000.0, 2_000_000.0, 3.5e9].map(duration).to_vec();
        assert_eq!(got, ["0 ns", "1.00 ns", "999 ns", "1.00 us", "12.3 us", "455 us", "2.00 ms", "3.50 s"]);
        assert_eq!([duration(f64::NAN), signed_duration(f64::NAN)], ["?", "?"]);
        let got: Vec<String> = [0.0, 12_340.0, -455_000.0].map(signed_duration).to_vec();
        assert_eq!(got, ["0 ns", "+12.3 us", "-455 us"]);
    }
}
